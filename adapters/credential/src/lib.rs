//! What the clients of mail, calendars and contacts share: what they log in with, and the kinds of their errors.
//!
//! A client logs in with a password, or with access tokens, which end after an hour. Where tokens come from is none of
//! its business: it asks for one before it logs in, and for another one if the server refuses it.

use std::fmt;
use std::sync::Arc;

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

impl From<&NoToken> for ErrorKind {
    fn from(error: &NoToken) -> Self {
        match error {
            NoToken::Ended => Self::Auth,
            NoToken::Unreachable(_) => Self::Network,
        }
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
