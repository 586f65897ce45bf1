//! Errors, with the server's own words where it gave any.

use std::time::Duration;

use adjutant_credential::{ErrorKind, NoToken};

/// The longest message, in characters.
const MAX_LENGTH: usize = 300;

/// An error: its kind and one line of text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DavError {
    pub kind: ErrorKind,
    /// One line of bounded length.
    pub message: String,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// The answer to a write was lost, so it may have taken effect. When false, it certainly didn't.
    pub may_have_happened: bool,
}

pub type Result<T, E = DavError> = std::result::Result<T, E>;

impl DavError {
    /// An error of which nothing else is known.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: one_line(message.as_ref()), retry_after: None, may_have_happened: false }
    }

    pub(crate) fn params(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Params, message)
    }

    pub(crate) fn unreadable(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Tool, message)
    }
}

impl From<NoToken> for DavError {
    fn from(error: NoToken) -> Self {
        Self::new((&error).into(), error.to_string())
    }
}

/// A text on one line, cut at the longest message.
fn one_line(text: &str) -> String {
    // A server's text can be megabytes; a letter takes four bytes at most.
    let text = &text[..text.floor_char_boundary(8 * MAX_LENGTH)];
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_short_line() {
        assert_eq!(DavError::params(" a\r\n\tb\u{7}c ").message, "a b c");
        assert_eq!(DavError::params("ü".repeat(9_000_000)).message.chars().count(), MAX_LENGTH + 1);
        assert_eq!(DavError::params("ü ".repeat(9_000)).message.chars().count(), MAX_LENGTH + 1);
    }
}
