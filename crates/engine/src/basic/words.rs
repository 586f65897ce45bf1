//! A sentence as words with their positions.

use std::ops::Range;

/// A word, a punctuation mark that separates, or everything between two quotation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case.
    pub(super) text: String,
    /// Its bytes in the sentence, quotation marks included.
    pub(super) range: Range<usize>,
    /// Whether it stood in quotation marks, and so means what it says.
    pub(super) is_quoted: bool,
}

/// Splits a sentence into words.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip) {
        let rest = &text[start..];
        if let Some(end) = quoted(rest) {
            push(&mut words, text, start..start + end, true);
            at = start + end;
            continue;
        }
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let bare = text[start..end].trim_end_matches([',', ':', ';']);
        if !bare.is_empty() {
            push(&mut words, text, start..start + bare.len(), false);
        }
        if start + bare.len() < end {
            push(&mut words, text, start + bare.len()..end, false);
        }
        at = end;
    }
    words
}

fn push(words: &mut Vec<Word>, text: &str, range: Range<usize>, is_quoted: bool) {
    let lower = text[range.clone()].to_lowercase().replace('’', "'");
    words.push(Word { text: lower, range, is_quoted });
}

/// Where the quotation ends with which a text begins.
fn quoted(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let close = match open {
        '"' => '"',
        '“' | '„' => '”',
        _ => return None,
    };
    let inside = &text[open.len_utf8()..];
    let end = inside.find(close).filter(|end| !inside[..*end].trim().is_empty())?;
    Some(open.len_utf8() + end + close.len_utf8())
}
