//! IMAP (RFC 3501): folders, searching, reading and changing messages.

mod change;
mod fetch;
mod folders;
mod idle;
mod search;
mod session;

use std::str::FromStr;

use tokio::sync::Mutex;

pub use folders::{Folder, FolderKind};
pub use idle::{MailMark, MailNews, MailboxWatch};
pub use search::{Found, Query};

use crate::compose::message_id;
use crate::{MailError, Result, Server};
use session::{Command, Session};

/// How many folders are searched for a Message-ID.
const MAX_FOLDERS: usize = 50;

/// A client for a mailbox. It keeps one connection, which one caller uses at a time.
#[derive(Debug)]
pub struct Imap {
    server: Server,
    session: Mutex<Option<Session>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageLocation {
    /// Our id for it, valid until it is moved.
    pub id: String,
    pub folder: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagChange {
    Read,
    Unread,
    Flagged,
    Unflagged,
    /// Marks it as answered, and so as read.
    Answered,
}

/// A reference to a message: `uid:uidvalidity:folder`, or its Message-ID.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MessageRef {
    Location { uid: u32, validity: u32, folder: String },
    MessageId(String),
}

impl FromStr for MessageRef {
    type Err = MailError;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(3, ':');
        if let (Some(Ok(uid)), Some(Ok(validity)), Some(folder)) =
            (parts.next().map(str::parse), parts.next().map(str::parse), parts.next())
        {
            return Ok(Self::Location { uid, validity, folder: folder.to_owned() });
        }
        let id = message_id(text).map(Self::MessageId);
        id.ok_or_else(|| MailError::params(format!("`{text}` isn't a message id")))
    }
}

fn location_id(uid: u32, validity: u32, folder: &str) -> String {
    format!("{uid}:{validity}:{folder}")
}

/// A message in the selected folder.
struct Located {
    uid: u32,
    validity: u32,
    folder: String,
}

impl Located {
    fn found(self) -> MessageLocation {
        MessageLocation { id: location_id(self.uid, self.validity, &self.folder), folder: self.folder }
    }
}

/// Runs exchanges on the connection. A dead connection is replaced once, unless it died during a change, whose outcome
/// is then unknown. (A macro, because the future of an `impl AsyncFn` can't be declared `Send` yet.)
macro_rules! run {
    ($imap:expr, |$session:ident| $job:block) => {{
        let mut kept = $imap.session.lock().await;
        loop {
            let was_kept = $imap.ready(&mut kept).await?;
            let Some($session) = kept.as_mut() else { continue };
            let done = $crate::connection::guarded(async { $job }).await;
            let (is_broken, is_outcome_unknown) =
                kept.as_ref().map_or((true, false), |it| (it.is_broken, it.is_outcome_unknown));
            match done {
                Err(error) if is_outcome_unknown => break Err(error.outcome_unknown()),
                Err(_) if is_broken && was_kept => {}
                done => break done,
            }
        }
    }};
}
use run;

impl Imap {
    pub fn new(server: Server) -> Self {
        Self { server, session: Mutex::new(None) }
    }

    /// Tests the login on a new connection.
    pub async fn check(&self) -> Result<()> {
        let session = Session::open(&self.server).await?;
        *self.session.lock().await = Some(session);
        Ok(())
    }

    /// All folders that can hold messages, with their purpose.
    pub async fn folders(&self) -> Result<Vec<Folder>> {
        run!(self, |session| { session.folders().await })
    }

    /// Finds a message by its Message-ID, in these folders or, if there are none, in the inbox, Sent, Archive and then
    /// all others.
    pub async fn find(&self, id: &str, folders: &[FolderKind]) -> Result<Option<MessageLocation>> {
        let id = message_id(id).ok_or_else(|| MailError::params(format!("`{id}` isn't a Message-ID")))?;
        let found: Result<Option<Located>> = run!(self, |session| {
            let mut names = Vec::new();
            for kind in folders {
                names.push(session.folder_for(*kind).await?);
            }
            if folders.is_empty() {
                names = all_folders(session).await?;
            }
            session.find_by_message_id(&id, &names).await
        });
        Ok(found?.map(Located::found))
    }

    /// Makes the connection ready. Returns whether it is an old one, which may be dead.
    async fn ready(&self, kept: &mut Option<Session>) -> Result<bool> {
        if kept.as_ref().is_some_and(|session| !session.is_broken) {
            return Ok(true);
        }
        *kept = None;
        *kept = Some(Session::open(&self.server).await?);
        Ok(false)
    }
}

/// The names of all folders, the most likely ones first.
async fn all_folders(session: &mut Session) -> Result<Vec<String>> {
    let mut folders = session.folders().await?;
    let first = FolderKind::SEARCHED;
    let place = |folder: &Folder| first.iter().position(|kind| folder.kind == Some(*kind));
    folders.sort_by_key(|folder| place(folder).unwrap_or(first.len()));
    Ok(folders.into_iter().take(MAX_FOLDERS).map(|folder| folder.name).collect())
}

impl Session {
    async fn locate(&mut self, name: &MessageRef) -> Result<Located> {
        let (uid, validity, folder) = match name {
            MessageRef::MessageId(id) => {
                let names = all_folders(self).await?;
                let found = self.find_by_message_id(id, &names).await?;
                return found.ok_or_else(|| MailError::not_found(format!("there is no message {id}")));
            }
            MessageRef::Location { uid, validity, folder } => (*uid, *validity, folder.clone()),
        };
        let opened = self.select(&folder).await?;
        let is_there = opened.validity == validity
            && !self.uids(&Command::new(&format!("UID SEARCH UID {uid}"))).await?.is_empty();
        if !is_there {
            let message =
                format!("message {uid} is no longer in {folder}; search again or use its Message-ID");
            return Err(MailError::not_found(message));
        }
        Ok(Located { uid, validity, folder })
    }

    /// Finds a message by its Message-ID and selects its folder.
    async fn find_by_message_id(&mut self, id: &str, names: &[String]) -> Result<Option<Located>> {
        for folder in names {
            let opened = self.select(folder).await?;
            let search = Command::new("UID SEARCH HEADER Message-ID ").string(id);
            if let Some(uid) = self.uids(&search).await?.into_iter().max() {
                return Ok(Some(Located { uid, validity: opened.validity, folder: folder.clone() }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::MessageRef;

    #[test]
    fn a_letter_is_named_by_its_place_or_its_message_id() {
        let name = |text: &str| text.parse::<MessageRef>().ok();
        let location = MessageRef::Location { uid: 3, validity: 17, folder: "A:b@c".to_owned() };
        assert_eq!(name("3:17:A:b@c"), Some(location));
        for id in ["<1.2@example.test>", "1.2@example.test"] {
            assert_eq!(name(id), Some(MessageRef::MessageId("<1.2@example.test>".to_owned())));
        }
        assert_eq!(name("the first one"), None);
        assert_eq!(name("<a@b>\r\nx"), None);
    }
}
