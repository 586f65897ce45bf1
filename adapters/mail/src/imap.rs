//! A mailbox as its owner finds, reads and keeps it, by IMAP (RFC 3501).

mod change;
mod fetch;
mod folders;
mod search;
mod session;

use std::str::FromStr;

use tokio::sync::Mutex;

pub use folders::{Folder, FolderKind};
pub use search::Query;

use crate::compose::message_id;
use crate::connect::guarded;
use crate::{Fault, Kind, Server};
use session::{Command, Session};

/// Where a Message-ID is looked for first.
const FIRST: [FolderKind; 3] = [FolderKind::Inbox, FolderKind::Sent, FolderKind::Archive];

/// A letter is looked for in so many folders.
const PLACES: usize = 50;

/// A mailbox on a server. One connection is kept and used by one caller at a time.
#[derive(Debug)]
pub struct Imap {
    server: Server,
    session: Mutex<Option<Session>>,
}

/// Where a letter lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Our own name for it, good until it is moved.
    pub id: String,
    /// The folder.
    pub folder: String,
}

/// How a letter is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Somebody has read it.
    Read,
    /// Nobody has read it.
    Unread,
    /// It is important.
    Flagged,
    /// It is not.
    Unflagged,
}

/// What a letter is called: `uid:uidvalidity:folder`, or its Message-ID.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Place { uid: u32, validity: u32, folder: String },
    MessageId(String),
}

impl FromStr for Name {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let mut parts = text.splitn(3, ':');
        if let (Some(Ok(uid)), Some(Ok(validity)), Some(folder)) =
            (parts.next().map(str::parse), parts.next().map(str::parse), parts.next())
        {
            return Ok(Self::Place { uid, validity, folder: folder.to_owned() });
        }
        let id = message_id(text).map(Self::MessageId);
        id.ok_or_else(|| Fault::new(Kind::Params, format!("`{text}` is no letter's id")))
    }
}

fn place(uid: u32, validity: u32, folder: &str) -> String {
    format!("{uid}:{validity}:{folder}")
}

/// A letter found and its folder open.
struct At {
    uid: u32,
    validity: u32,
    folder: String,
}

impl At {
    fn found(self) -> Found {
        Found { id: place(self.uid, self.validity, &self.folder), folder: self.folder }
    }
}

impl Imap {
    /// Nothing is connected yet.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server, session: Mutex::new(None) }
    }

    /// Logs in anew and asks for nothing.
    ///
    /// # Errors
    /// When the server can't be reached, isn't trusted, or doesn't accept the login.
    pub async fn check(&self) -> Result<(), Fault> {
        let session = Session::open(&self.server).await?;
        *self.session.lock().await = Some(session);
        Ok(())
    }

    /// All folders that letters can lie in, with what they are for.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn folders(&self) -> Result<Vec<Folder>, Fault> {
        self.run(async |session| session.folders().await).await
    }

    /// Where the letter with a Message-ID lies, looked for in these folders, or, when none is named, in the
    /// inbox, Sent, Archive and then everywhere.
    ///
    /// # Errors
    /// When the server can't be asked or there is no such folder. That it is nowhere is no error.
    pub async fn find(&self, id: &str, folders: &[FolderKind]) -> Result<Option<Found>, Fault> {
        let id =
            message_id(id).ok_or_else(|| Fault::new(Kind::Params, format!("`{id}` is no Message-ID")))?;
        let found = async |session: &mut Session| {
            let mut places = Vec::new();
            for kind in folders {
                places.push(session.folder_for(*kind).await?);
            }
            if folders.is_empty() {
                places = everywhere(session).await?;
            }
            session.look_for(&id, &places, false).await
        };
        Ok(self.run(found).await?.map(At::found))
    }

    /// Runs exchanges on the one connection. When the connection turns out dead it is made anew once, unless
    /// a change was begun on it: whether that has happened nobody knows.
    async fn run<T>(&self, job: impl AsyncFn(&mut Session) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_mut().filter(|session| !session.is_broken) {
            let done = guarded(job(session)).await;
            match done {
                Err(fault) if session.is_unsure => return Err(fault.unsure()),
                Err(_) if session.is_broken => {}
                done => return done,
            }
        }
        *kept = None;
        let mut session = Session::open(&self.server).await?;
        let done = guarded(job(&mut session)).await;
        let is_unsure = session.is_unsure;
        if !session.is_broken {
            *kept = Some(session);
        }
        done.map_err(|fault| if is_unsure { fault.unsure() } else { fault })
    }
}

/// All folders, those first where letters mostly are.
async fn everywhere(session: &mut Session) -> Result<Vec<String>, Fault> {
    let mut folders = session.folders().await?;
    folders.sort_by_key(|folder| {
        FIRST.iter().position(|kind| folder.kind == Some(*kind)).unwrap_or(FIRST.len())
    });
    Ok(folders.into_iter().take(PLACES).map(|folder| folder.name).collect())
}

impl Session {
    /// Opens the folder that a letter lies in.
    async fn locate(&mut self, name: &Name, to_change: bool) -> Result<At, Fault> {
        let (uid, validity, folder) = match name {
            Name::MessageId(id) => {
                let places = everywhere(self).await?;
                let found = self.look_for(id, &places, to_change).await?;
                return found.ok_or_else(|| Fault::new(Kind::NotFound, format!("there is no letter {id}")));
            }
            Name::Place { uid, validity, folder } => (*uid, *validity, folder.clone()),
        };
        let opened = self.select(&folder, to_change).await?;
        let is_there = opened.validity == validity
            && !self.uids(&Command::new(&format!("UID SEARCH UID {uid}"))).await?.is_empty();
        if !is_there {
            let words =
                format!("the letter {uid} is no more in {folder}; look for it again, or by its Message-ID");
            return Err(Fault::new(Kind::NotFound, words));
        }
        Ok(At { uid, validity, folder })
    }

    /// Where the letter with a Message-ID lies; its folder is open then.
    async fn look_for(&mut self, id: &str, places: &[String], to_change: bool) -> Result<Option<At>, Fault> {
        for folder in places {
            let opened = self.select(folder, to_change).await?;
            let search = Command::new("UID SEARCH HEADER Message-ID ").string(id);
            if let Some(uid) = self.uids(&search).await?.into_iter().max() {
                return Ok(Some(At { uid, validity: opened.validity, folder: folder.clone() }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_letter_is_named_by_its_place_or_its_message_id() {
        let name = |text: &str| text.parse::<Name>().ok();
        let place = Name::Place { uid: 3, validity: 17, folder: "A:b@c".to_owned() };
        assert_eq!(name("3:17:A:b@c"), Some(place));
        for id in ["<1.2@example.test>", "1.2@example.test"] {
            assert_eq!(name(id), Some(Name::MessageId("<1.2@example.test>".to_owned())));
        }
        assert_eq!(name("the first one"), None);
        assert_eq!(name("<a@b>\r\nx"), None);
    }
}
