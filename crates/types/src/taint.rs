//! The origin of a text.

use std::collections::BTreeSet;

use adjutant_l10n::sources;
use serde::{Deserialize, Serialize};

use super::invisible_chars::{display_name, line};

/// How many sources are named; the others are counted as one more.
const NAMED: usize = 20;
/// The longest name of a source, in characters.
const MAX_LENGTH: usize = 160;

/// The outside sources that went into a text: none for what the person said, what is ours, and the configuration.
/// Whatever is made from a tainted text is tainted by the same sources; only a person can clear it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Taint(BTreeSet<String>);

impl Taint {
    /// Of one source, as people are told: `the mail “Offsite” from dana@example.test`.
    pub fn by(source: &str) -> Self {
        let name: String = line(source, usize::MAX).chars().take(MAX_LENGTH).collect();
        Self(BTreeSet::from([if name.is_empty() { sources::other_texts() } else { name }]))
    }

    /// What a person said in a room, for everybody else there.
    pub fn said_by(name: &str) -> Self {
        Self::by(&sources::room_message(display_name(name)))
    }

    /// Whether nothing from outside went into it.
    pub fn is_clean(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the sources of another text.
    pub fn add(&mut self, other: &Self) {
        for source in &other.0 {
            if self.0.len() < NAMED || self.0.contains(source) {
                self.0.insert(source.clone());
            } else {
                self.0.insert(sources::other_texts());
                return;
            }
        }
    }

    /// With the sources of another text.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The sources in a few words, for the head of a block.
    pub fn label(&self) -> String {
        if self.is_clean() { "outside".to_owned() } else { self.sources().collect::<Vec<_>>().join("; ") }
    }

    /// The form in the store: a line for each source.
    pub fn stored(&self) -> String {
        self.sources().collect::<Vec<_>>().join("\n")
    }

    pub fn read(stored: &str) -> Self {
        Self(stored.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }
}

impl<'a> FromIterator<&'a Taint> for Taint {
    fn from_iter<I: IntoIterator<Item = &'a Self>>(all: I) -> Self {
        all.into_iter().fold(Self::default(), Self::and)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_source_is_one_short_line() {
        let taint = Taint::by("the mail “a\nb\u{7}”\r\n from\tx");
        assert_eq!(taint.sources().collect::<Vec<_>>(), ["the mail “a b” from x"]);
        assert!(!Taint::by(" \n ").is_clean());
        assert_eq!(Taint::by(&"x".repeat(9_999)).stored().len(), MAX_LENGTH);
    }

    proptest! {
        #[test]
        fn what_is_added_stays_and_reads_back(lists in prop::collection::vec(prop::collection::vec(".{0,12}", 0..8), 0..8)) {
            let mut whole = Taint::default();
            for source in lists.iter().flatten() {
                let single = Taint::by(source);
                whole.add(&single);
                let is_named = whole.0.is_superset(&single.0) || whole.0.contains(&sources::other_texts());
                prop_assert!(is_named && whole.0.len() <= NAMED + 1);
            }
            prop_assert_eq!(whole.is_clean(), lists.iter().all(Vec::is_empty));
            prop_assert_eq!(Taint::read(&whole.stored()), whole);
        }
    }
}
