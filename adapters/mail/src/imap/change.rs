//! Changing what is in a mailbox. What may have been done and was not answered is never done again by us.

use async_imap::imap_proto::rfc4315::UidSetMember;
use async_imap::imap_proto::{Outcome, Response, ResponseCode};

use super::run;
use super::session::{Command, Session};
use super::{FolderKind, Found, Imap, Mark, Name, place};
use crate::compose::message_id;
use crate::{Fault, Kind};

/// Putting a letter into a folder may take so many times the usual.
const PATIENCE: u32 = 4;

impl Imap {
    /// Marks a letter.
    ///
    /// # Errors
    /// When it isn't there any more, or the server can't be asked or does not allow it.
    pub async fn mark(&self, id: &str, mark: Mark) -> Result<(), Fault> {
        let name: Name = id.parse()?;
        let how = match mark {
            Mark::Read => "+FLAGS.SILENT (\\Seen)",
            Mark::Unread => "-FLAGS.SILENT (\\Seen)",
            Mark::Flagged => "+FLAGS.SILENT (\\Flagged)",
            Mark::Unflagged => "-FLAGS.SILENT (\\Flagged)",
        };
        run!(self, |session| {
            let at = session.locate(&name).await?;
            session.change(&Command::new(&format!("UID STORE {} {how}", at.uid)), |_| {}).await
        })
    }

    /// Moves a letter to a folder, which is named, or said by what it is for. Returns where it lies now; its id
    /// only when the server tells.
    ///
    /// # Errors
    /// When it isn't there any more, there is no such folder, or the server can't be asked.
    pub async fn move_to(&self, id: &str, folder: &str) -> Result<Option<Found>, Fault> {
        let name: Name = id.parse()?;
        run!(self, |session| {
            let folder = session.folder_named(folder).await?;
            let at = session.locate(&name).await?;
            if at.folder == folder {
                return Ok(Some(at.found()));
            }
            let mut now = None;
            let hear = |response: &Response<'_>| now = now.or_else(|| copied(response));
            if session.can("MOVE") {
                let all = Command::new(&format!("UID MOVE {} ", at.uid)).folder(&folder).patiently(PATIENCE);
                session.change(&all, hear).await?;
            } else {
                session.copy_and_delete(at.uid, &folder).await?;
            }
            Ok(now.map(|(validity, uid)| Found { id: place(uid, validity, &folder), folder }))
        })
    }

    /// Puts a letter into the folder of a kind, unless one with its Message-ID is there already; so it may be
    /// asked again when the outcome was not known. Returns where it lies; its id only when the server tells.
    ///
    /// # Errors
    /// When it has no Message-ID, there is no such folder, or the server can't be asked.
    pub async fn append(
        &self,
        kind: FolderKind,
        letter: &[u8],
        is_read: bool,
    ) -> Result<Option<Found>, Fault> {
        let headers = mail_parser::MessageParser::default().parse_headers(letter);
        let id = headers.as_ref().and_then(|headers| headers.message_id()).and_then(message_id);
        let id = id.ok_or_else(|| Fault::new(Kind::Params, "the letter has no Message-ID"))?;
        run!(self, |session| {
            let folder = session.folder_for(kind).await?;
            if let Some(at) = session.look_for(&id, std::slice::from_ref(&folder)).await? {
                return Ok(Some(at.found()));
            }
            let mut flags = Vec::new();
            flags.extend(is_read.then_some("\\Seen"));
            flags.extend((kind == FolderKind::Drafts).then_some("\\Draft"));
            let append = Command::new("APPEND ").folder(&folder).text(&format!(" ({}) ", flags.join(" ")));
            session.change(&append.literal(letter).patiently(PATIENCE), |_| {}).await?;
            let at = session.look_for(&id, std::slice::from_ref(&folder)).await;
            // It is there; only what it is called there is not known.
            Ok(at.ok().flatten().map(super::At::found))
        })
    }
}

impl Session {
    /// What a server without MOVE is asked for instead (RFC 6851 §3.3).
    async fn copy_and_delete(&mut self, uid: u32, folder: &str) -> Result<(), Fault> {
        let copy = Command::new(&format!("UID COPY {uid} ")).folder(folder).patiently(PATIENCE);
        self.change(&copy, |_| {}).await?;
        self.change(&Command::new(&format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)")), |_| {}).await?;
        // Without UIDPLUS an EXPUNGE would also take what others have marked.
        if self.can("UIDPLUS") {
            self.change(&Command::new(&format!("UID EXPUNGE {uid}")), |_| {}).await?;
        }
        Ok(())
    }
}

/// The UIDVALIDITY and the number of what was copied (RFC 4315).
fn copied(response: &Response<'_>) -> Option<(u32, u32)> {
    let Response::Data {
        outcome: Outcome { code: Some(ResponseCode::CopyUid(validity, _, now)), .. }, ..
    } = response
    else {
        return None;
    };
    match now.first()? {
        UidSetMember::Uid(uid) => Some((*validity, *uid)),
        UidSetMember::UidRange(range) => Some((*validity, *range.start())),
    }
}
