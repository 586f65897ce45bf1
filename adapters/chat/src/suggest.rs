//! "Did you mean": the known word closest to a mistyped one.

/// Longer words are not compared: it would be slow, and nobody mistypes that much.
const MAX_LENGTH: usize = 200;

/// How many letters were left out, added, replaced or swapped between two words.
pub fn distance(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

/// The known word that was probably meant: at most a third of its letters differ, or it begins with the word.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > MAX_LENGTH {
        return None;
    }
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let limit = (letters / 3).clamp(1, 3).min(letters.saturating_sub(1));
    let score = |name: &'k str| {
        let lower = name.to_lowercase();
        let letters_apart = distance(&word, &lower);
        let is_beginning = letters > 3 && lower.starts_with(&word);
        (letters_apart <= limit || is_beginning).then_some((letters_apart, name))
    };
    known.into_iter().filter_map(score).min().map(|(_, name)| name)
}

/// The end of an error about an unknown word: `; did you mean 'x'?`, or nothing.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_word_and_another_word_finds_none() {
        let known = ["weather.run", "weather", "tasks.create", "morning-briefing", "y"];
        for (word, near) in [
            ("wether.run", Some("weather.run")),
            ("Weathr", Some("weather")),
            ("tasks.craete", Some("tasks.create")),
            ("morning", Some("morning-briefing")),
            ("qqqq", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), near, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(201), known), None);
        assert_eq!(did_you_mean("weathr", known), "; did you mean 'weather'?");
        assert_eq!(did_you_mean("qqqq", known), "");
    }
}
