//! Changes in a mailbox. A change whose outcome is unknown is never repeated.

use async_imap::imap_proto::rfc4315::UidSetMember;
use async_imap::imap_proto::{Outcome, Response, ResponseCode};

use super::session::{Command, Session};
use super::{FlagChange, FolderKind, Imap, MessageLocation, MessageRef, location_id, run};
use crate::compose::message_id;
use crate::{ErrorKind, MailError, Result};

/// Storing a message may take this many times the timeout.
const TIMEOUT_FACTOR: u32 = 4;

impl Imap {
    pub async fn flag(&self, id: &str, change: FlagChange) -> Result<()> {
        let name: MessageRef = id.parse()?;
        let how = match change {
            FlagChange::Read => "+FLAGS.SILENT (\\Seen)",
            FlagChange::Unread => "-FLAGS.SILENT (\\Seen)",
            FlagChange::Flagged => "+FLAGS.SILENT (\\Flagged)",
            FlagChange::Unflagged => "-FLAGS.SILENT (\\Flagged)",
            FlagChange::Answered => "+FLAGS.SILENT (\\Seen \\Answered)",
        };
        run!(self, |session| {
            let at = session.locate(&name).await?;
            session.change(&Command::new(&format!("UID STORE {} {how}", at.uid)), |_| {}).await
        })
    }

    /// Moves a message to a folder, given by its name or purpose; an archive is made if there is none. Returns its new
    /// location if the server tells.
    pub async fn move_to(&self, id: &str, folder: &str) -> Result<Option<MessageLocation>> {
        let name: MessageRef = id.parse()?;
        run!(self, |session| {
            let folder = match session.folder_named(folder).await {
                Err(error) if error.kind == ErrorKind::NotFound && folder.eq_ignore_ascii_case("archive") => {
                    session.archive().await?
                }
                found => found?.name,
            };
            let at = session.locate(&name).await?;
            if at.folder == folder {
                return Ok(Some(at.found()));
            }
            let mut now = None;
            let on_response = |response: &Response<'_>| now = now.or_else(|| copied(response));
            if session.can("MOVE") {
                let all = Command::new(&format!("UID MOVE {} ", at.uid))
                    .folder(&folder)
                    .timeout_factor(TIMEOUT_FACTOR);
                session.change(&all, on_response).await?;
            } else {
                session.copy_and_delete(at.uid, &folder).await?;
            }
            Ok(now.map(|(validity, uid)| MessageLocation { id: location_id(uid, validity, &folder), folder }))
        })
    }

    /// Stores a message in the folder of a kind, unless one with its Message-ID is already there, so it is safe to
    /// repeat. Returns its location if the server tells.
    pub async fn append(
        &self,
        kind: FolderKind,
        message: &[u8],
        is_read: bool,
    ) -> Result<Option<MessageLocation>> {
        let headers = mail_parser::MessageParser::default().parse_headers(message);
        let id = headers.as_ref().and_then(|headers| headers.message_id()).and_then(message_id);
        let id = id.ok_or_else(|| MailError::params("the message has no Message-ID"))?;
        run!(self, |session| {
            let folder = session.folder_for(kind).await?;
            if let Some(at) = session.find_by_message_id(&id, std::slice::from_ref(&folder)).await? {
                return Ok(Some(at.found()));
            }
            let mut flags = Vec::new();
            flags.extend(is_read.then_some("\\Seen"));
            flags.extend((kind == FolderKind::Drafts).then_some("\\Draft"));
            let append = Command::new("APPEND ").folder(&folder).text(&format!(" ({}) ", flags.join(" ")));
            session.change(&append.literal(message).timeout_factor(TIMEOUT_FACTOR), |_| {}).await?;
            let at = session.find_by_message_id(&id, std::slice::from_ref(&folder)).await;
            // It is stored, even if its location is unknown.
            Ok(at.ok().flatten().map(super::Located::found))
        })
    }
}

impl Session {
    /// A move on a server without MOVE (RFC 6851 §3.3).
    async fn copy_and_delete(&mut self, uid: u32, folder: &str) -> Result<()> {
        let copy = Command::new(&format!("UID COPY {uid} ")).folder(folder).timeout_factor(TIMEOUT_FACTOR);
        self.change(&copy, |_| {}).await?;
        self.change(&Command::new(&format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)")), |_| {}).await?;
        // Without UIDPLUS, EXPUNGE would also delete what others have marked.
        if self.can("UIDPLUS") {
            self.change(&Command::new(&format!("UID EXPUNGE {uid}")), |_| {}).await?;
        }
        Ok(())
    }
}

/// The UIDVALIDITY and UID of the copy (RFC 4315).
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
