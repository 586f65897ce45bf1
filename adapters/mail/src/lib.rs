//! A mailbox on open standards: letters are composed, sent by SMTP, found and read by IMAP.
//!
//! It knows nothing of who uses it. What comes from a server or stands in a letter is untrusted: sizes and
//! counts are capped, every exchange has a time-out, and a password is never shown.

mod bounce;
mod compose;
mod connect;
mod html;
mod imap;
mod letter;
mod mx;
mod reply;
mod smtp;
mod utf7;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use bounce::{Bounce, Failed};
pub use compose::{Attachment, Composed, Draft, Envelope, Party};
pub use html::readable;
pub use imap::{Folder, FolderKind, Found, Imap, Mark, Query};
pub use letter::{Attached, Letter, Summary, TEXT_CAP};
pub use mx::takes_mail;
pub use reply::Reply;
pub use smtp::Smtp;

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS from the first byte (RFC 8314): ports 465 and 993.
    Implicit,
    /// An upgrade by STARTTLS; without one nothing is sent.
    StartTls,
    /// None: to loopback addresses only.
    None,
}

/// A password, shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl<T: Into<String>> From<T> for Password {
    fn from(password: T) -> Self {
        Self(password.into())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where a server is and how one logs in there.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name, which its certificate must bear, or its address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub tls: Tls,
    /// Who logs in.
    pub username: String,
    /// With what.
    pub password: Password,
    /// A file with the PEM certificates to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// So long one exchange may take: connecting, a command and its answer.
    pub timeout: Duration,
}

/// What kind a fault is of, which says what may be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The server does not accept the name or the password.
    Auth,
    /// What was asked for is wrong in itself.
    Params,
    /// The server can't be reached, is not who it should be, or the connection was cut.
    Network,
    /// Not now; later it may work.
    RateLimit,
    /// The server does not allow it.
    Permission,
    /// There is no such letter, folder or recipient.
    NotFound,
    /// The server did not answer in time.
    Timeout,
    /// The server failed or refused in another way.
    Tool,
}

/// Something that did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Fault {
    /// What kind it is of.
    pub kind: Kind,
    /// What went wrong, with the server's own words: one line, of bounded length.
    pub words: String,
    /// Whether what was to be done may have happened all the same. When not, it surely has not.
    pub may_have_happened: bool,
}

/// Characters of a fault's words.
const WORDS: usize = 500;

impl Fault {
    pub(crate) fn new(kind: Kind, words: impl AsRef<str>) -> Self {
        let words = words.as_ref().split(|c: char| c.is_whitespace() || c.is_control());
        let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        Self { kind, words: words.chars().take(WORDS).collect(), may_have_happened: false }
    }

    /// The same, of something that may have happened.
    pub(crate) fn unsure(self) -> Self {
        Self { may_have_happened: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Kind, Password};

    #[test]
    fn a_fault_is_one_line_and_a_password_is_not_shown() {
        let fault = Fault::new(Kind::Tool, format!("no\r\n550  such\tuser {}", "é".repeat(1000)));
        assert_eq!(fault.words.chars().count(), 500);
        assert!(fault.words.starts_with("no 550 such user é"));
        assert_eq!(format!("{:?}", Password::from("secret")), "***");
    }
}
