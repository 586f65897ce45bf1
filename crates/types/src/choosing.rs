//! Which option of a list a person means by a few words.

use std::collections::BTreeSet;

use crate::text;

/// So many words may mean an option of which they aren't the label.
const FEW: usize = 5;
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

fn words(text: &str) -> BTreeSet<String> {
    text::words(text).map(str::to_lowercase).collect()
}

/// The index of the only option that has a word which the person says, in a few words without a no: “the shop one”.
pub fn meant(text: &str, options: &[&str]) -> Option<usize> {
    let text_words = words(text);
    let is_no = ["not", "no", "don", "dont", "never", "nor", "neither", "except", "but"];
    let options: Vec<BTreeSet<String>> = options.iter().map(|option| words(option)).collect();
    let having = |word: &str| options.iter().filter(|option| option.contains(word)).count();
    if text_words.len() > FEW || is_no.iter().any(|no| text_words.contains(*no) && having(no) == 0) {
        return None;
    }
    let own: Vec<&String> = text_words.iter().filter(|word| having(word) == 1).collect();
    let is_meant = |option: &BTreeSet<String>| own.iter().any(|word| option.contains(*word));
    let mut meant = (0..).zip(&options).filter(|(_, option)| is_meant(option));
    let (index, _) = meant.next()?;
    meant.next().is_none().then_some(index)
}

/// The same where other texts may be said, too: only what points at a list, “the second one”, “the shop one”.
pub fn pointed_at(text: &str, options: &[&str]) -> Option<usize> {
    let text = text.trim().to_lowercase();
    let text = text.trim_end_matches(['.', '!']).trim_end_matches(" please").trim_end_matches(',');
    let text = ["i take ", "take ", "i mean ", "i meant "]
        .iter()
        .find_map(|verb| text.strip_prefix(verb))
        .unwrap_or(text);
    let which = text.strip_prefix("the ").unwrap_or(text).strip_suffix(" one")?.trim();
    meant(which, options).or_else(|| match which {
        "last" => options.len().checked_sub(1),
        which => ORDINALS.iter().position(|ordinal| *ordinal == which).filter(|index| *index < options.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_points_at_one_option_chooses_it() {
        let options = ["The shop in town", "The market in town", "Nowhere"];
        for (text, index) in [
            ("the shop one", Some(0)),
            ("Shop one please.", Some(0)),
            ("take the market one!", Some(1)),
            ("the second one", Some(1)),
            ("I mean the last one", Some(2)),
            ("the fourth one", None),
            ("the town one", None),
            ("not the shop one", None),
            ("the shop", None),
            ("buy milk in the shop", None),
            ("the one", None),
            ("which one", None),
            ("no one", None),
        ] {
            assert_eq!(pointed_at(text, &options), index, "{text}");
        }
        assert_eq!(pointed_at("the last one", &[]), None);
        assert_eq!(
            pointed_at("the first one", &["the second", "the first"]),
            Some(1),
            "its word before its place"
        );
    }
}
