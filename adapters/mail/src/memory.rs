//! A mailbox in memory, for evaluations of models: what is sent from it goes nowhere.

use std::cmp::Reverse;
use std::sync::Arc;

use chrono::NaiveDate;
use tokio::sync::Mutex;

use crate::compose::message_id;
use crate::{
    Address, AttachmentInfo, Bounce, Envelope, FlagChange, FolderKind, Found, MailError, Message,
    MessageLocation, Query, Result,
};

const FOLDERS: [FolderKind; 6] = [
    FolderKind::Inbox,
    FolderKind::Sent,
    FolderKind::Drafts,
    FolderKind::Archive,
    FolderKind::Trash,
    FolderKind::Junk,
];

/// Clones share their messages.
#[derive(Debug, Clone, Default)]
pub struct MemoryMailbox {
    messages: Arc<Mutex<Vec<Stored>>>,
}

/// A message; its Message-ID is its id.
#[derive(Debug)]
struct Stored {
    message: Message,
    kind: FolderKind,
    bytes: Vec<u8>,
}

impl MemoryMailbox {
    /// There is no login.
    pub async fn check(&self) -> Result<()> {
        Ok(())
    }

    pub async fn send(
        &self,
        envelope: &Envelope,
        before_data: impl Future<Output = Result<(), String>>,
    ) -> Result<String> {
        if envelope.to.is_empty() {
            return Err(MailError::params("the message has no recipients"));
        }
        before_data.await.map_err(|error| MailError::tool(format!("not sent: {error}")))?;
        Ok("accepted".to_owned())
    }

    /// Finds messages, newest first.
    pub async fn search(&self, query: &Query) -> Result<Found> {
        let within = query.folder.as_deref().map(folder_named).transpose()?;
        let is_there = |stored: &&Stored| match within {
            Some(kind) => stored.kind == kind,
            None if query.unarchived && stored.kind == FolderKind::Archive => false,
            None => FolderKind::SEARCHED.contains(&stored.kind),
        };
        let messages = self.messages.lock().await;
        let found = messages.iter().filter(is_there).map(Stored::shown);
        let mut found: Vec<Message> = found.filter(|message| fits(query, message)).collect();
        found.sort_by_key(|message| Reverse(message.date));
        Ok(Found { total: found.len(), messages: Found::newest(found, query.limit), is_exact: true })
    }

    /// Reads a message, without marking it as read.
    pub async fn read(&self, id: &str) -> Result<Message> {
        self.with(id, |stored| stored.shown()).await
    }

    /// Finds a message by its Message-ID, in these folders or, if there are none, in all.
    pub async fn find(&self, id: &str, kinds: &[FolderKind]) -> Result<Option<MessageLocation>> {
        let found = self.with(id, |stored| (stored.kind, stored.location())).await.ok();
        Ok(found.filter(|(kind, _)| kinds.is_empty() || kinds.contains(kind)).map(|(_, at)| at))
    }

    /// An attachment of a message, by its number from 1, if it has at most so many bytes.
    pub async fn attachment(
        &self,
        id: &str,
        number: usize,
        most: usize,
    ) -> Result<(AttachmentInfo, Vec<u8>)> {
        let found = self.with(id, |stored| Message::attachment_of_file(&stored.bytes, number)).await?;
        let found = found.filter(|(_, bytes)| bytes.len() <= most);
        found.ok_or_else(|| MailError::not_found(format!("the message has no attachment {number}")))
    }

    pub async fn flag(&self, id: &str, change: FlagChange) -> Result<()> {
        let set = |stored: &mut Stored| {
            let message = &mut stored.message;
            match change {
                FlagChange::Read => message.unread = false,
                FlagChange::Unread => message.unread = true,
                FlagChange::Flagged => message.flagged = true,
                FlagChange::Unflagged => message.flagged = false,
                FlagChange::Answered => (message.unread, message.answered) = (false, true),
            }
        };
        self.with(id, set).await
    }

    /// Moves a message to a folder. Returns its new location.
    pub async fn move_to(&self, id: &str, folder: &str) -> Result<Option<MessageLocation>> {
        let kind = folder_named(folder)?;
        let set = |stored: &mut Stored| {
            stored.kind = kind;
            stored.location()
        };
        self.with(id, set).await.map(Some)
    }

    /// Stores a message in the folder of a kind, unless it is there already.
    pub async fn append(
        &self,
        kind: FolderKind,
        bytes: &[u8],
        is_read: bool,
    ) -> Result<Option<MessageLocation>> {
        let message = Message::parse(bytes);
        let missing = || MailError::params("the message has no Message-ID");
        let id = message.message_id.clone().ok_or_else(missing)?;
        if let Some(at) = self.find(&id, &[kind]).await? {
            return Ok(Some(at));
        }
        let message = Message { id, unread: !is_read, ..message };
        let stored = Stored { message, kind, bytes: bytes.to_vec() };
        let at = stored.location();
        self.messages.lock().await.push(stored);
        Ok(Some(at))
    }

    /// Nothing bounces.
    pub async fn bounces(&self, _: Option<NaiveDate>, _: u32, _: usize) -> Result<Vec<Bounce>> {
        Ok(Vec::new())
    }

    /// Does something with the message of an id. The newest one counts: a sent copy may have come in, too.
    async fn with<T>(&self, id: &str, work: impl FnOnce(&mut Stored) -> T) -> Result<T> {
        let wanted = message_id(id);
        let mut messages = self.messages.lock().await;
        let found = messages.iter_mut().rev().find(|stored| Some(&stored.message.id) == wanted.as_ref());
        found.map(work).ok_or_else(|| MailError::not_found(format!("there is no message {id}")))
    }
}

impl Stored {
    fn location(&self) -> MessageLocation {
        MessageLocation { id: self.message.id.clone(), folder: format!("{:?}", self.kind) }
    }

    fn shown(&self) -> Message {
        let folder = format!("{:?}", self.kind);
        Message { is_sent: self.kind == FolderKind::Sent, folder, ..self.message.clone() }
    }
}

fn folder_named(name: &str) -> Result<FolderKind> {
    let found = FOLDERS.into_iter().find(|kind| name.eq_ignore_ascii_case(&format!("{kind:?}")));
    found.ok_or_else(|| MailError::not_found(format!("there is no folder `{name}`; there are {FOLDERS:?}")))
}

fn fits(query: &Query, message: &Message) -> bool {
    let has = |wanted: &Option<String>, text: &str| {
        let (words, text) = (wanted.as_deref().unwrap_or_default().to_lowercase(), text.to_lowercase());
        words.split_whitespace().all(|word| text.contains(word))
    };
    let parties = |all: &[Address]| all.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
    let from = parties(&message.from);
    let to = format!("{}, {}", parties(&message.to), parties(&message.cc));
    let mut thread = message.message_id.iter().chain(&message.in_reply_to).chain(&message.references);
    query.is_in_time(message.date, message.date)
        && has(&query.from, &from)
        && has(&query.to, &to)
        && has(&query.subject, &message.subject)
        && has(&query.text, &format!("{from} {to} {} {}", message.subject, message.text))
        && (!query.unread || message.unread)
        && (!query.unanswered || !message.answered)
        && (query.thread.is_empty() || thread.any(|id| query.thread.contains(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(number: u32, from: &str) -> String {
        format!(
            "From: {from}\r\nTo: ada@x.test\r\nSubject: Matter {number}\r\nMessage-ID: <{number}@y.test>\r\n\
             Date: {number} Nov 2026 09:00:00 +0000\r\n\r\nHi\r\n"
        )
    }

    #[tokio::test]
    async fn what_is_put_in_is_found_read_marked_and_moved() {
        let mailbox = MemoryMailbox::default();
        for (number, from) in [(1, "bob@y.test"), (2, "eve@y.test")] {
            mailbox.append(FolderKind::Inbox, letter(number, from).as_bytes(), false).await.unwrap();
        }
        let found = async |query: Query| {
            let found = mailbox.search(&Query { limit: 10, ..query }).await.unwrap();
            found.messages.into_iter().map(|message| message.subject).collect::<Vec<_>>()
        };
        assert_eq!(found(Query::default()).await, ["Matter 2", "Matter 1"]);
        assert_eq!(found(Query { from: Some("BOB".into()), ..Query::default() }).await, ["Matter 1"]);
        mailbox.flag("<2@y.test>", FlagChange::Read).await.unwrap();
        assert_eq!(found(Query { unread: true, ..Query::default() }).await, ["Matter 1"]);
        let moved = mailbox.move_to("1@y.test", "trash").await.unwrap().unwrap();
        assert_eq!((moved.id.as_str(), moved.folder.as_str()), ("<1@y.test>", "Trash"));
        assert_eq!(found(Query::default()).await, ["Matter 2"]);
        mailbox.move_to("<2@y.test>", "archive").await.unwrap();
        let archive = Query { folder: Some("archive".into()), unarchived: true, ..Query::default() };
        assert_eq!(found(archive).await, ["Matter 2"]);
        assert_eq!(found(Query::default()).await, ["Matter 2"]);
        assert_eq!(found(Query { unarchived: true, ..Query::default() }).await, [""; 0]);
        assert_eq!(mailbox.read("<1@y.test>").await.unwrap().text.trim(), "Hi");
        assert_eq!(mailbox.find("<1@y.test>", &[FolderKind::Inbox]).await.unwrap(), None);
        let missing = mailbox.read("<3@y.test>").await.unwrap_err();
        assert_eq!(missing.kind, crate::ErrorKind::NotFound);
        assert!(mailbox.move_to("<2@y.test>", "Invoices").await.is_err());
    }

    #[tokio::test]
    async fn nothing_is_sent_if_it_could_not_be_noted() {
        let mailbox = MemoryMailbox::default();
        let envelope = Envelope { from: "ada@x.test".into(), to: vec!["bob@y.test".into()] };
        assert!(mailbox.send(&envelope, async { Ok(()) }).await.is_ok());
        let error = mailbox.send(&envelope, async { Err("no journal".to_owned()) }).await.unwrap_err();
        assert_eq!((error.message.as_str(), error.may_have_happened), ("not sent: no journal", false));
    }
}
