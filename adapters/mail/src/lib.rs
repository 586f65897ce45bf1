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

pub use adjutant_credential::{ErrorKind, ServiceError as MailError};

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
        Ok(self.credential.secret(refused).await?)
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

pub type Result<T, E = MailError> = std::result::Result<T, E>;
