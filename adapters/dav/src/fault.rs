//! What can go wrong, in the words of the one who refused.

use std::time::Duration;

/// The longest text a fault carries, in characters.
const LONGEST_WORDS: usize = 300;

/// What kind of fault it is, which decides whether trying again makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name or the password is refused.
    Auth,
    /// What we were asked to do makes no sense.
    Params,
    /// Not reached, or cut off.
    Network,
    /// Too much at once; see [`Fault::retry_after`].
    RateLimit,
    /// Logged in, but not allowed to.
    Permission,
    /// It is not there.
    NotFound,
    /// No answer in time.
    Timeout,
    /// The server failed, or answered what can't be read.
    Tool,
}

/// A fault: its kind and one line of words, the service's own where it said any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Fault {
    /// What kind it is.
    pub kind: Kind,
    /// One line, capped.
    pub words: String,
    /// How long the service asked us to wait.
    pub retry_after: Option<Duration>,
    /// A write that may have taken effect: its answer was lost. Without this it surely has not.
    pub may_have_happened: bool,
}

impl Fault {
    pub(crate) fn new(kind: Kind, words: impl AsRef<str>) -> Self {
        Self { kind, words: one_line(words.as_ref()), retry_after: None, may_have_happened: false }
    }

    pub(crate) fn params(words: impl AsRef<str>) -> Self {
        Self::new(Kind::Params, words)
    }

    /// A text of the server's that can't be read.
    pub(crate) fn unreadable(words: impl AsRef<str>) -> Self {
        Self::new(Kind::Tool, words)
    }
}

/// A text on one line, capped.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (count, word) in text.split(|c: char| c.is_whitespace() || c.is_control()).enumerate() {
        if count > 0 && !word.is_empty() && !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * LONGEST_WORDS {
            break;
        }
    }
    match line.char_indices().nth(LONGEST_WORDS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_short_line() {
        assert_eq!(Fault::params(" a\r\n\tb\u{7}c ").words, "a b c");
        assert_eq!(Fault::params("ü".repeat(9_000_000)).words.chars().count(), LONGEST_WORDS + 1);
        assert_eq!(Fault::params("ü ".repeat(9_000)).words.chars().count(), LONGEST_WORDS + 1);
    }
}
