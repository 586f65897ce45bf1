//! Texts made to fit.

pub use adjutant_chat::count;

/// The beginning of a text, at most that many characters; what is cut ends with "…".
pub fn shortened(text: &str, max: usize) -> String {
    text.char_indices().nth(max).map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}

/// The words of a text in one line, at most that many characters.
pub fn one_line(text: &str, max: usize) -> String {
    // A letter takes four bytes at most: what is far behind the end isn't looked at.
    let beginning = &text[..text.floor_char_boundary(max.saturating_mul(8))];
    let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    match beginning.len() < text.len() && line.chars().count() <= max {
        true => format!("{line}…"),
        false => shortened(&line, max),
    }
}

/// The words of a text: letters and digits, whatever stands between them.
pub fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(one_line(" Grüße\n\taus  Köln ", 10), "Grüße aus …");
        assert_eq!(one_line("Grüße", 5), "Grüße");
        assert_eq!(shortened("a\nb", 2), "a\n…");
    }
}
