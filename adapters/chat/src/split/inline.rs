//! Cuts running text between lines, then words, then characters.

use super::largest;
use crate::{Inline, inline_text};

/// Takes from the front what fits, at least one character.
pub(super) fn take(mut text: Vec<Inline>, fits: &dyn Fn(Vec<Inline>) -> bool) -> (Vec<Inline>, Vec<Inline>) {
    let most = loop {
        let length = text.iter().map(length).sum();
        let most = largest(length, |count| fits(cut(&text, count).0));
        if most > 0 || length == 0 {
            break most;
        }
        // Not one character fits with its form around it: drop the form, then the limit.
        match unwrap_first(&text) {
            Some(plainer) => text = plainer,
            None => break 1,
        }
    };
    let chars: Vec<char> = inline_text(&text).chars().collect();
    let (head, mut rest) = cut(&text, cut_point(&chars, most));
    // The end of the part replaces the new line.
    if rest.first() == Some(&Inline::Break) && rest.len() > 1 {
        rest.remove(0);
    }
    (head, rest)
}

/// The best place to cut at or before `most`, but not so far back that parts become tiny.
fn cut_point(chars: &[char], most: usize) -> usize {
    if most >= chars.len() {
        return chars.len();
    }
    let back = |wanted: &dyn Fn(usize) -> bool| (most / 2 + 1..=most).rev().find(|at| wanted(*at));
    back(&|at| chars[at] == '\n')
        .or_else(|| back(&|at| chars[at - 1].is_whitespace() || chars[at].is_whitespace()))
        .or_else(|| back(&|at| !joined(chars[at - 1], chars[at])))
        .unwrap_or(most)
}

/// Whether two characters are shown as one.
fn joined(before: char, after: char) -> bool {
    let extends = |char| matches!(char, '\u{200d}' | '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    before == '\u{200d}' || extends(after)
}

fn length(inline: &Inline) -> usize {
    match inline {
        Inline::Text(text) | Inline::Code(text) => text.chars().count(),
        Inline::Bold(inner) | Inline::Italic(inner) | Inline::Strike(inner) => inner.iter().map(length).sum(),
        Inline::Link { text, .. } => text.iter().map(length).sum(),
        Inline::Break => 1,
    }
}

/// The first `count` characters and the others, each with their form around them.
fn cut(text: &[Inline], count: usize) -> (Vec<Inline>, Vec<Inline>) {
    let mut left = count;
    for (place, inline) in text.iter().enumerate() {
        let length = length(inline);
        if length > left || (left == 0 && count > 0) {
            let (mut head, mut rest) = (text[..place].to_vec(), text[place + 1..].to_vec());
            if left == 0 {
                rest.insert(0, inline.clone());
            } else {
                let (first, second) = cut_one(inline, left);
                head.push(first);
                rest.insert(0, second);
            }
            return (head, rest);
        }
        left -= length;
    }
    (text.to_vec(), Vec::new())
}

fn cut_one(inline: &Inline, count: usize) -> (Inline, Inline) {
    let chars = |text: &str, form: fn(String) -> Inline| {
        let at = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
        (form(text[..at].to_owned()), form(text[at..].to_owned()))
    };
    let both = |inner: &[Inline], form: &dyn Fn(Vec<Inline>) -> Inline| {
        let (head, rest) = cut(inner, count);
        (form(head), form(rest))
    };
    match inline {
        Inline::Text(text) => chars(text, Inline::Text),
        Inline::Code(text) => chars(text, Inline::Code),
        Inline::Bold(inner) => both(inner, &Inline::Bold),
        Inline::Italic(inner) => both(inner, &Inline::Italic),
        Inline::Strike(inner) => both(inner, &Inline::Strike),
        Inline::Link { to, text } => both(text, &|text| Inline::Link { to: to.clone(), text }),
        Inline::Break => (Inline::Break, Inline::Text(String::new())),
    }
}

/// The text without the form of its first element; nothing if that is plain already.
fn unwrap_first(text: &[Inline]) -> Option<Vec<Inline>> {
    let (first, others) = text.split_first()?;
    let plainer = match first {
        Inline::Text(_) | Inline::Break => return None,
        Inline::Code(code) => vec![Inline::Text(code.clone())],
        Inline::Bold(inner) | Inline::Italic(inner) | Inline::Strike(inner) => inner.clone(),
        Inline::Link { to, text } if *to == inline_text(text) => text.clone(),
        Inline::Link { to, text } => [text.clone(), vec![Inline::Text(format!(" ({to})"))]].concat(),
    };
    Some([plainer, others.to_vec()].concat())
}
