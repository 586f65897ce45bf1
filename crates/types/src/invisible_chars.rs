//! Characters that people don't see and models read. One rule for all: what is from outside loses them, what a person is
//! asked shows them, and no address has one.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use crate::text::shortened;

/// What Unicode says has no picture of its own: format, tag, filler and control characters, variation selectors, private
/// ones. Arabic's number signs are format characters too, but seen.
const HIDDEN: &str = r"[[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]--[\n\t\p{Prepended_Concatenation_Mark}]]";

static HIDDEN_CHARS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(HIDDEN).ok());

/// The hidden characters of a text as the first group. What is part of an emoji is seen; half a flag isn't.
static IN_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let look = r"(?:\x{FE0E}|\x{FE0F}|\p{Emoji_Modifier})?";
    let emoji = format!(r"\p{{Extended_Pictographic}}{look}(?:\x{{200D}}\p{{Extended_Pictographic}}{look})*");
    let flag = r"\p{Regional_Indicator}{2}";
    Regex::new(&format!(r"{emoji}|[0-9#*]\x{{FE0F}}\x{{20E3}}|{flag}|({HIDDEN}|\p{{Regional_Indicator}})"))
        .ok()
});

/// Whether a character, by itself, isn't seen.
pub fn is_hidden(char: char) -> bool {
    match char.is_ascii() {
        true => char.is_ascii_control() && !matches!(char, '\n' | '\t'),
        false => HIDDEN_CHARS.as_ref().is_none_or(|hidden| hidden.is_match(char.encode_utf8(&mut [0; 4]))),
    }
}

pub fn has_hidden(text: &str) -> bool {
    matches!(removed(text), Cow::Owned(_))
}

/// The text without such characters.
pub fn removed(text: &str) -> Cow<'_, str> {
    with_hidden(text, |_| String::new())
}

/// The text with each such character as its number, so that a person sees it.
pub fn shown(text: &str) -> String {
    with_hidden(text, |hidden| hidden.as_str().chars().flat_map(char::escape_unicode).collect()).into_owned()
}

fn with_hidden(text: &str, instead: impl Fn(Match<'_>) -> String) -> Cow<'_, str> {
    let has_any = HIDDEN_CHARS.as_ref().is_none_or(|hidden| hidden.is_match(text));
    if !has_any && !text.contains(|char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&char)) {
        return Cow::Borrowed(text);
    }
    let replaced = |found: &Captures<'_>| match found.get(1) {
        Some(hidden) => instead(hidden),
        None => found[0].to_owned(),
    };
    let Some(in_text) = IN_TEXT.as_ref() else { return Cow::Owned(String::new()) };
    match in_text.replace_all(text, replaced) {
        Cow::Owned(other) if other != text => Cow::Owned(other),
        _ => Cow::Borrowed(text),
    }
}

/// The text in one line without such characters, cut at that many characters.
pub fn line(text: &str, max: usize) -> String {
    let line = removed(&text.replace('\r', "\n")).split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, max)
}

/// The name of somebody or of a place as models may read it among our own words: one short line without brackets.
pub fn display_name(name: &str) -> String {
    unbracketed(name, 80)
}

/// The text in one line without brackets and what isn't seen, of at most that many characters.
pub fn unbracketed(text: &str, max: usize) -> String {
    const BRACKETS: &str =
        "[]{}<>()［］｛｝＜＞（）【】〔〕〖〗〚〛⟦⟧⟨⟩⟪⟫❲❳❴❵❨❩⦋⦌⁅⁆﹝﹞﹙﹚﹛﹜「」『』〈〉《》";
    line(&text.replace(|char| BRACKETS.contains(char), ""), usize::MAX).chars().take(max).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_nobody_sees_is_shown_to_people_and_kept_from_models() {
        let text = "Search\u{200b} \u{202e}things\u{e0041}\nnow\u{7}";
        assert_eq!(shown(text), "Search\\u{200b} \\u{202e}things\\u{e0041}\nnow\\u{7}");
        assert_eq!(removed(text), "Search things\nnow");
        assert_eq!(line(text, 100), "Search things now");
        assert_eq!(line("Größe zählt", 5), "Größe…");
        for hidden in "\u{ad}\u{34f}\u{61c}\u{115f}\u{180b}\u{2028}\u{2066}\u{3164}\u{fe0f}\u{feff}\u{fff9}\u{1d173}\u{e000}\u{e0100}\u{10fffe}\r\u{9b}".chars() {
            assert!(is_hidden(hidden) && has_hidden(&format!("a{hidden}b")), "{hidden:?}");
        }
        assert_eq!(
            removed("a\u{1f1e9}b \u{1f1e9}\u{1f1ea}\u{1f1e9}"),
            "ab \u{1f1e9}\u{1f1ea}",
            "half a flag"
        );
    }

    #[test]
    fn what_people_write_stays() {
        for plain in [
            "👩🏽\u{200d}⚕\u{fe0f} ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} 🇩🇪🇫🇷 ©\u{fe0f}",
            "日本語\tνέα\nעברית",
            "\u{600}١٢",
            "e\u{301}",
        ] {
            assert_eq!((removed(plain), shown(plain)), (plain.into(), plain.to_owned()));
        }
        assert_eq!(
            removed("🏴\u{e0067}\u{e007f}a\u{fe0f}👩\u{200d}x"),
            "🏴a👩x",
            "outside an emoji nothing is hidden"
        );
    }

    #[test]
    fn a_name_is_one_short_line_without_brackets() {
        assert_eq!(display_name("[end\u{200b} of]\n<x> 【y】\u{202e}"), "end of x y");
        assert_eq!(display_name(&"x".repeat(99)).chars().count(), 80);
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in "(\\PC|[\n\r\u{200d}\u{fe0f}\u{1f1e6}\u{202e}\u{e0041}👩🏽❤1]|.){0,60}") {
            let clean = removed(&text).into_owned();
            prop_assert_eq!(removed(&clean), clean.as_str());
            prop_assert!(!has_hidden(&clean) && !has_hidden(&shown(&text)));
            let is_emoji_part = |char: char| matches!(char, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
            prop_assert!(clean.chars().all(|char| !is_hidden(char) || is_emoji_part(char)));
            // What is taken out is all that changes.
            let mut rest = text.chars();
            prop_assert!(clean.chars().all(|char| rest.any(|other| other == char)));
            prop_assert!(!has_hidden(&line(&text, 20)) && !has_hidden(&display_name(&text)));
        }
    }
}
