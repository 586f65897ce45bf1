//! Files that people sent.

pub mod parts;

use adjutant_chat::RemoteFile;
use adjutant_types::{ConversationId, FileId, FileKind, FileProblem, InstanceId, PersonId, TurnId};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::inbox::InboxRow;
use crate::{Batch, Result, Stale, Store};

/// A file of a message that is still to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFile {
    /// Its name, as its sender wrote it.
    pub name: String,
    /// Where it came from, as people are told.
    pub source: String,
    /// Its text, if that came with the message.
    pub text: Option<String>,
    pub remote: Option<RemoteFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct FileRow {
    /// Its id, and its name in the data folder.
    pub id: FileId,
    /// Its name, without anything that isn't part of a name.
    pub name: String,
    pub kind: FileKind,
    pub media_type: String,
    pub bytes: i64,
    pub pages: Option<i64>,
    /// Why it isn't there, or can't be read.
    pub problem: Option<FileProblem>,
    pub content: Option<String>,
    /// Where it came from, as people are told.
    pub source: String,
    pub created_at: i64,
}

/// The biggest picture that models take, in bytes.
const MAX_OF_PICTURE: i64 = 5 << 20;

impl FileRow {
    /// Whether it is a picture that can be shown to a model.
    pub fn is_picture(&self) -> bool {
        self.kind == FileKind::Picture && self.problem.is_none() && self.bytes <= MAX_OF_PICTURE
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT a.id, a.name, a.kind, a.media_type, a.bytes, a.pages, a.problem, a.content, a.source, a.created_at \
             FROM attachments a ",
            $rest
        )
    };
}

/// Stores a message's files. From then on it belongs to `instance`; the batch fails if it didn't wait for them.
pub fn fetched(batch: &mut Batch, row: &InboxRow, instance: &InstanceId, files: &[FileRow]) {
    let sql =
        "UPDATE inbox SET files = NULL, instance = $2 WHERE id = $1 AND state = 'new' AND files IS NOT NULL";
    batch.must(Stale::MessageTaken, sql, [row.id.into(), instance.into()]);
    for (number, file) in (0_i64..).zip(files) {
        insert(batch, (&row.person_id, &row.conversation_id, &row.event), number, file);
    }
}

/// Adds a file: of which person, in which conversation, and with which message it came. One that is there already stays
/// as it is, from now on for as long as a new one.
pub fn insert(
    batch: &mut Batch,
    (person, conversation, event): (&PersonId, &ConversationId, &str),
    number: i64,
    file: &FileRow,
) {
    batch.run(
            "INSERT INTO attachments (id, person_id, conversation_id, event, number, name, kind, media_type, bytes, pages, \
             problem, content, source, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO UPDATE \
             SET created_at = excluded.created_at",
            values! {
                &file.id, person, conversation, event, number, &file.name, file.kind, &file.media_type,
                file.bytes, file.pages, file.problem, file.content.clone(), &file.source, file.created_at
            },
        );
}

/// The id of a file with this digest: ten characters that nobody can guess who doesn't know what it was made of.
pub fn id_of(digest: &[u8]) -> FileId {
    const DIGITS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
    let digits = digest.iter().take(10).map(|byte| char::from(DIGITS[usize::from(byte & 31)]));
    digits.collect::<String>().into()
}

pub async fn came_with(store: &Store, row: &InboxRow) -> Result<bool> {
    let of_row = "SELECT count(*) FROM attachments WHERE event = $1";
    Ok(store.count(of_row, &[(&row.event).into()]).await? > 0)
}

/// The files that a person sent, the newest first.
pub async fn of_person(store: &Store, person: &PersonId, limit: i64) -> Result<Vec<FileRow>> {
    let sql = select!(
        "WHERE a.person_id = $1 AND a.event NOT LIKE ' %' ORDER BY a.created_at DESC, a.number LIMIT $2 + 0"
    );
    store.all(sql, &[person.into(), limit.into()]).await
}

pub async fn of_sender(store: &Store, id: &FileId, person: &PersonId) -> Result<Option<FileRow>> {
    store.first(select!("WHERE a.id = $1 AND a.person_id = $2"), &[id.into(), person.into()]).await
}

pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Vec<FileRow>> {
    let sql = select!("JOIN inbox i ON i.event = a.event WHERE i.turn_id = $1 ORDER BY i.id, a.number");
    store.all(sql, &[turn.into()]).await
}

/// A file that somebody sent in this conversation, or this person to us alone, or that they had fetched from a mail.
pub async fn by_id(
    store: &Store,
    id: &FileId,
    person: &PersonId,
    conversation: &ConversationId,
) -> Result<Option<FileRow>> {
    let sql = select!(
        "JOIN conversations c ON c.id = a.conversation_id JOIN conversations h ON h.id = $3 \
         WHERE a.id = $1 AND ((a.conversation_id = $3 AND (a.person_id = $2 OR a.event NOT LIKE ' %')) \
         OR (a.person_id = $2 AND h.shared = 0 AND c.shared = 0))"
    );
    store.first(sql, &[id.into(), person.into(), conversation.into()]).await
}

/// The newest files that this person sent in this conversation, or, where nobody else reads, anywhere to us alone.
pub async fn newest(
    store: &Store,
    person: &PersonId,
    conversation: &ConversationId,
    limit: i64,
) -> Result<Vec<FileRow>> {
    let sql = select!(
        "JOIN conversations c ON c.id = a.conversation_id JOIN conversations h ON h.id = $2 \
         WHERE (a.conversation_id = $2 AND (a.person_id = $1 OR a.event NOT LIKE ' %')) \
         OR (a.person_id = $1 AND h.shared = 0 AND c.shared = 0) \
         ORDER BY a.created_at DESC, a.number LIMIT $3 + 0"
    );
    store.all(sql, &[person.into(), conversation.into(), limit.into()]).await
}

pub async fn ids(store: &Store, person: Option<&PersonId>) -> Result<Vec<FileId>> {
    match person {
        Some(person) => {
            store.column("SELECT id FROM attachments WHERE person_id = $1", &[person.into()]).await
        }
        None => store.column("SELECT id FROM attachments", &[]).await,
    }
}

/// Deletes the files that were sent before a time, and counts them.
pub async fn delete_before(store: &Store, before: i64) -> Result<usize> {
    let old = store.count("SELECT count(*) FROM attachments WHERE created_at < $1", &[before.into()]).await?;
    if old > 0 {
        store.write(Batch::of("DELETE FROM attachments WHERE created_at < $1", [before.into()])).await?;
    }
    Ok(usize::try_from(old).unwrap_or_default())
}
