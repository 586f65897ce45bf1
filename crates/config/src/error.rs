//! What's wrong with a configuration.

use std::fmt;

use adjutant_chat::suggest::nearest;

use crate::document::{Problem, lines};

/// All problems of a configuration, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// One problem that isn't about a line of a file.
    pub fn one(key: Option<&str>, problem: impl Into<String>) -> Self {
        let problem = Problem { key: key.map(str::to_owned), ..Problem::of_file("", problem) };
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lines(&self.problems))
    }
}

impl std::error::Error for ConfigError {}

/// The end of a sentence about an unknown word: the nearest known one, or all of them.
pub(super) fn suggestion(word: &str, allowed: &[&str]) -> String {
    match nearest(word, allowed.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", allowed.join(", ")),
    }
}
