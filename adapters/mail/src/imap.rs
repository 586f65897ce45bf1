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

/// Runs exchanges on the one connection. When a kept connection turns out dead it is made anew once, unless a
/// change was begun on it: whether that has happened nobody knows. (A macro, because the compiler can't see yet
/// that what an `impl AsyncFn` returns may go to another thread.)
macro_rules! run {
    ($imap:expr, |$session:ident| $job:block) => {{
        let mut kept = $imap.session.lock().await;
        loop {
            let was_kept = $imap.ready(&mut kept).await?;
            let Some($session) = kept.as_mut() else { continue };
            let done = $crate::connect::guarded(async { $job }).await;
            let (is_broken, is_unsure) =
                kept.as_ref().map_or((true, false), |it| (it.is_broken, it.is_unsure));
            match done {
                Err(fault) if is_unsure => break Err(fault.unsure()),
                Err(_) if is_broken && was_kept => {}
                done => break done,
            }
        }
    }};
}
use run;

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
        run!(self, |session| { session.folders().await })
    }

    /// Where the letter with a Message-ID lies, looked for in these folders, or, when none is named, in the
    /// inbox, Sent, Archive and then everywhere.
    ///
    /// # Errors
    /// When the server can't be asked or there is no such folder. That it is nowhere is no error.
    pub async fn find(&self, id: &str, folders: &[FolderKind]) -> Result<Option<Found>, Fault> {
        let id =
            message_id(id).ok_or_else(|| Fault::new(Kind::Params, format!("`{id}` is no Message-ID")))?;
        let found: Result<Option<At>, Fault> = run!(self, |session| {
            let mut places = Vec::new();
            for kind in folders {
                places.push(session.folder_for(*kind).await?);
            }
            if folders.is_empty() {
                places = everywhere(session).await?;
            }
            session.look_for(&id, &places).await
        });
        Ok(found?.map(At::found))
    }

    /// The connection for the exchanges to come, and whether it was used before: a kept one may be dead.
    async fn ready(&self, kept: &mut Option<Session>) -> Result<bool, Fault> {
        if kept.as_ref().is_some_and(|session| !session.is_broken) {
            return Ok(true);
        }
        *kept = None;
        *kept = Some(Session::open(&self.server).await?);
        Ok(false)
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
    async fn locate(&mut self, name: &Name) -> Result<At, Fault> {
        let (uid, validity, folder) = match name {
            Name::MessageId(id) => {
                let places = everywhere(self).await?;
                let found = self.look_for(id, &places).await?;
                return found.ok_or_else(|| Fault::new(Kind::NotFound, format!("there is no letter {id}")));
            }
            Name::Place { uid, validity, folder } => (*uid, *validity, folder.clone()),
        };
        let opened = self.select(&folder).await?;
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
    async fn look_for(&mut self, id: &str, places: &[String]) -> Result<Option<At>, Fault> {
        for folder in places {
            let opened = self.select(folder).await?;
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
