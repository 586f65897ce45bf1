//! What the clients of mail, calendars and contacts share: what they log in with, and their errors.
//!
//! A client logs in with a password, or with access tokens, which end after an hour. Where tokens come from is none of
//! its business: it asks for one before it logs in, and for another one if the server refuses it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

/// Gives an access token; another one than the given one, which the server has refused.
pub type TokenSource =
    Arc<dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, NoToken>> + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// The person has to log in again.
    #[error("the login has ended")]
    Ended,
    /// The provider, or whoever keeps the tokens, gave none now.
    #[error("no access token: {0}")]
    Unreachable(String),
}

/// What kind of error it is, which decides whether a retry makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The server rejected the name, the password or the token, or there is no token.
    Auth,
    /// The request itself is invalid.
    Params,
    /// The server can't be reached or trusted, or the connection was lost.
    Network,
    /// Not now; it may work later.
    RateLimit,
    /// Logged in, but not allowed to do that.
    Permission,
    NotFound,
    /// The server refuses this recipient of a mail for good.
    Recipient,
    Timeout,
    /// The server failed, or its response is invalid.
    Tool,
}

/// The longest message of an error, in characters.
const MAX_MESSAGE: usize = 500;

/// An error: its kind and one line of text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ServiceError {
    pub kind: ErrorKind,
    /// One line of bounded length, with the server's own text if there is one.
    pub message: String,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// The answer to a change was lost, so it may have taken effect. When false, it certainly didn't.
    pub may_have_happened: bool,
}

impl ServiceError {
    /// An error of which nothing else is known.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: one_line(message.as_ref()), retry_after: None, may_have_happened: false }
    }

    pub fn params(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Params, message)
    }

    pub fn network(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Network, message)
    }

    pub fn not_found(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The server failed, or sent something invalid.
    pub fn tool(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Tool, message)
    }

    /// The same error of a change that may have taken effect.
    pub fn outcome_unknown(self) -> Self {
        Self { may_have_happened: true, ..self }
    }
}

impl From<NoToken> for ServiceError {
    fn from(error: NoToken) -> Self {
        let kind = match error {
            NoToken::Ended => ErrorKind::Auth,
            NoToken::Unreachable(_) => ErrorKind::Network,
        };
        Self::new(kind, error.to_string())
    }
}

/// A text on one line, cut at the longest message.
fn one_line(text: &str) -> String {
    // A server's text can be megabytes; a letter takes four bytes at most.
    let text = &text[..text.floor_char_boundary(8 * MAX_MESSAGE)];
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What a client logs in with. `Debug` hides it.
#[derive(Clone)]
pub enum Credential {
    Password(String),
    /// An access token (RFC 6750) before each login.
    Bearer(TokenSource),
}

impl Credential {
    /// The password, or an access token; another one than `refused`, if the server has refused that.
    pub async fn secret(&self, refused: Option<&str>) -> Result<String, NoToken> {
        match self {
            Self::Password(password) => Ok(password.clone()),
            Self::Bearer(source) => source(refused.map(str::to_owned)).await,
        }
    }

    /// Whether another attempt makes sense after the server has refused it.
    pub fn is_renewable(&self) -> bool {
        matches!(self, Self::Bearer(_))
    }
}

impl<T: Into<String>> From<T> for Credential {
    fn from(password: T) -> Self {
        Self::Password(password.into())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_short_line() {
        assert_eq!(ServiceError::params(" a\r\n\tb\u{7}c ").message, "a b c");
        for long in ["ü".repeat(9_000_000), "ü ".repeat(9_000)] {
            assert_eq!(ServiceError::params(long).message.chars().count(), MAX_MESSAGE + 1);
        }
    }
}
