//! Characters that people don't see and models read.

/// Whether a character has no picture of its own: a control character, a mark that turns the writing direction, a
/// zero-width or tag character.
pub(crate) fn is_hidden(one: char) -> bool {
    (one.is_control() && !matches!(one, '\n' | '\t'))
        || matches!(u32::from(one),
            0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180E | 0x200B..=0x200F
            | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF9..=0xFFFB
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// The text with each such character as its number, so that a person sees it.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        if is_hidden(one) {
            shown.extend(one.escape_unicode());
        } else {
            shown.push(one);
        }
    }
    shown
}

/// The text in one line without such characters, cut at that many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let visible: String = text.chars().filter(|one| !is_hidden(*one)).collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_shown_to_people_and_kept_from_models() {
        let text = "Search\u{200b} \u{202e}things\u{e0041}\nnow\u{7}";
        assert_eq!(shown(text), "Search\\u{200b} \\u{202e}things\\u{e0041}\nnow\\u{7}");
        assert_eq!(line(text, 100), "Search things now");
        assert_eq!(line("Größe zählt", 5), "Größe…");
    }
}
