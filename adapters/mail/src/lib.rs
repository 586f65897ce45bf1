//! Email: composes messages, sends them by SMTP, and finds and reads them by IMAP; for evaluations, all in memory.
//!
//! Whatever comes from a server or is in a message is untrusted: sizes and counts are limited, every exchange has a
//! timeout, and passwords and tokens are never shown.

mod address;
mod bounce;
mod compose;
mod connection;
mod headers;
mod html;
mod imap;
mod memory;
mod message;
mod mx;
mod nesting;
mod parts;
mod reply;
mod smtp;
mod utf7;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_credential::Credential;

pub use adjutant_credential::ErrorKind;

pub use address::{Address, is_inside};
pub use bounce::{Bounce, FailedRecipient};
pub use compose::{Attachment, Composed, Draft, Envelope, message_id};
pub use headers::Headline;
pub use html::readable;
pub use imap::{
    FlagChange, Folder, FolderKind, Found, Imap, MailMark, MailNews, MailboxWatch, MessageLocation, Query,
};
pub use memory::MemoryMailbox;
pub use message::{AttachmentInfo, MAX_TEXT, Message};
pub use mx::{accepts_mail, service_host};
pub use parts::decoded;
pub use reply::{Reply, unquoted};
pub use smtp::Smtp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS from the first byte (RFC 8314): ports 465 and 993.
    Implicit,
    /// Upgraded by STARTTLS; required.
    StartTls,
    /// None; for loopback addresses only.
    None,
}

#[derive(Debug, Clone)]
pub struct Server {
    /// Its name, which its certificate must match, or its address.
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub username: String,
    pub credential: Credential,
    /// A file with PEM certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// How long one exchange may take: connecting, or a command and its response.
    pub timeout: Duration,
    /// Which addresses may be connected to; none: all.
    pub address_filter: Option<fn(IpAddr) -> bool>,
}

impl Server {
    /// What to log in with; another token than `refused`.
    pub(crate) async fn secret(&self, refused: Option<&str>) -> Result<String> {
        let token = self.credential.secret(refused).await;
        token.map_err(|error| MailError::new((&error).into(), error.to_string()))
    }

    /// The error of a login that the server has refused. Servers speak of passwords even if it was a token.
    pub(crate) fn refused(&self, error: MailError) -> MailError {
        let message = match &self.credential {
            Credential::Password(_) => error.message,
            Credential::Bearer(_) => format!("the server rejected the access token: {}", error.message),
        };
        MailError::new(ErrorKind::Auth, message)
    }

    /// Whether a login that ended so is worth another attempt, with a new token.
    pub(crate) fn is_worth_renewing(&self, error: &MailError) -> bool {
        error.kind == ErrorKind::Auth && self.credential.is_renewable()
    }
}

/// An error: its kind and one line of text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MailError {
    pub kind: ErrorKind,
    /// One line of bounded length, with the server's own text if there is one.
    pub message: String,
    /// The response to a change was lost, so it may have taken effect. When false, it certainly didn't.
    pub may_have_happened: bool,
}

pub type Result<T, E = MailError> = std::result::Result<T, E>;

/// The longest error message, in characters.
const MAX_MESSAGE: usize = 500;

impl MailError {
    pub(crate) fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        let words = message.as_ref().split(|c: char| c.is_whitespace() || c.is_control());
        let message = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        Self { kind, message: message.chars().take(MAX_MESSAGE).collect(), may_have_happened: false }
    }

    pub(crate) fn params(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Params, message)
    }

    pub(crate) fn network(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Network, message)
    }

    pub(crate) fn not_found(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The server failed, or sent something invalid.
    pub(crate) fn tool(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Tool, message)
    }

    /// The same error of a change that may have taken effect.
    pub(crate) fn outcome_unknown(self) -> Self {
        Self { may_have_happened: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::MailError;

    #[test]
    fn an_error_is_one_line() {
        let error = MailError::tool(format!("no\r\n550  such\tuser {}", "é".repeat(1000)));
        assert_eq!(error.message.chars().count(), 500);
        assert!(error.message.starts_with("no 550 such user é"));
    }
}
