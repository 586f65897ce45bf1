//! What a search finds, and notes.

use url::form_urlencoded::byte_serialize;

use super::Moment;

/// What was found of a kind, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    pub title: String,
    pub hits: Vec<Hit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub text: String,
    /// More about it, in a line.
    pub about: String,
    pub at: Option<Moment>,
    /// Where it is on our pages.
    pub to: String,
}

/// A note, as a version of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub path: String,
    pub text: String,
    pub version: String,
}

impl Note {
    pub fn address(path: &str) -> String {
        format!("/note?path={}", byte_serialize(path.as_bytes()).collect::<String>())
    }
}
