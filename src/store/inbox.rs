//! What arrived, once each.

use sqlx::FromRow;

use super::{Batch, Store, StoreError};

/// A journalled message or press.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct InboxRow {
    /// Order of arrival.
    pub id: i64,
    /// Channel and the platform's name of the message, with a blank between.
    pub event: String,
    /// Where.
    pub conversation_id: String,
    /// Who.
    pub person_id: String,
    /// `said`, `command`, `press` or `answer`.
    pub kind: String,
    /// The text, or the button's id.
    pub text: String,
    /// The prompt that a press or typed answer is for.
    pub prompt_id: Option<String>,
    /// When, in milliseconds.
    pub received_at: i64,
}

impl InboxRow {
    /// The platform's own name of the message.
    pub fn event_id(&self) -> &str {
        self.event.split_once(' ').map_or(self.event.as_str(), |(_, event)| event)
    }
}

/// What is to be journalled.
#[derive(Debug, Clone)]
pub struct NewRow<'a> {
    /// Channel and the platform's name of the message.
    pub event: String,
    /// Where.
    pub conversation_id: &'a str,
    /// Who.
    pub person_id: &'a str,
    /// `said`, `command`, `press` or `answer`.
    pub kind: &'static str,
    /// The text, or the button's id.
    pub text: &'a str,
    /// The prompt that it is for.
    pub prompt_id: Option<String>,
    /// The journalling instance.
    pub instance: &'a str,
}

/// Journals a row. None when the same message was journalled before.
///
/// # Errors
/// When the store fails: then the platform must not be told that we have it.
pub async fn insert(store: &Store, row: &NewRow<'_>) -> Result<Option<InboxRow>, StoreError> {
    let now = store.now();
    let mut batch = Batch::new();
    batch.returning(
        "INSERT INTO inbox (event, conversation_id, person_id, kind, text, prompt_id, instance, received_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (event) DO NOTHING RETURNING id",
        [
            (&row.event).into(),
            row.conversation_id.into(),
            row.person_id.into(),
            row.kind.into(),
            row.text.into(),
            row.prompt_id.clone().into(),
            row.instance.into(),
            now.into(),
        ],
    );
    let ids = store.write(batch).await?;
    Ok(ids.first().and_then(super::Value::as_int).map(|id| InboxRow {
        id,
        event: row.event.clone(),
        conversation_id: row.conversation_id.to_owned(),
        person_id: row.person_id.to_owned(),
        kind: row.kind.to_owned(),
        text: row.text.to_owned(),
        prompt_id: row.prompt_id.clone(),
        received_at: now,
    }))
}

/// The rows of a conversation that wait for a turn or a hand, oldest first: our own, and those whose
/// instance is gone.
///
/// # Errors
/// When the store fails.
pub async fn waiting(store: &Store, conversation: &str, instance: &str) -> Result<Vec<InboxRow>, StoreError> {
    store
        .all(
            "SELECT id, event, conversation_id, person_id, kind, text, prompt_id, received_at FROM inbox \
             WHERE state = 'new' AND conversation_id = $1 \
             AND (instance = $2 OR instance NOT IN (SELECT id FROM instances)) ORDER BY id LIMIT 50",
            &[conversation.into(), instance.into()],
        )
        .await
}

/// Fixes that a turn took a row.
pub fn take(batch: &mut Batch, id: i64, turn: &str) {
    batch.must(
        "the message was taken already",
        "UPDATE inbox SET state = 'taken', turn_id = $1 WHERE id = $2 AND state = 'new'",
        [turn.into(), id.into()],
    );
}

/// Marks a row that needs no turn as settled.
pub fn settle(batch: &mut Batch, id: i64, turn: Option<&str>) {
    batch.must(
        "the message was settled already",
        "UPDATE inbox SET state = 'done', turn_id = $1 WHERE id = $2 AND state = 'new'",
        [turn.into(), id.into()],
    );
}

/// Whether a row needs nobody any more.
///
/// # Errors
/// When the store fails.
pub async fn is_settled(store: &Store, id: i64) -> Result<bool, StoreError> {
    Ok(store.count("SELECT count(*) FROM inbox WHERE id = $1 AND state <> 'new'", &[id.into()]).await? > 0)
}

/// Marks the rows of a turn that ended.
pub fn finish(batch: &mut Batch, turn: &str, dead: bool) {
    let state = if dead { "dead" } else { "done" };
    batch.run(
        "UPDATE inbox SET state = $1 WHERE turn_id = $2 AND state = 'taken'",
        [state.into(), turn.into()],
    );
}

/// Whether this person wrote a message here after a time, other than what the asking turn took; then a
/// bare "yes" no longer answers what was asked before it.
///
/// # Errors
/// When the store fails.
pub async fn spoke_since(
    store: &Store,
    conversation: &str,
    person: &str,
    since: i64,
    turn: &str,
) -> Result<bool, StoreError> {
    let count = store
        .count(
            "SELECT count(*) FROM (SELECT received_at, turn_id FROM inbox WHERE conversation_id = $1 \
             AND person_id = $2 AND kind = 'said' ORDER BY id DESC LIMIT 1) last \
             WHERE received_at >= $3 AND coalesce(turn_id, '') <> $4",
            &[conversation.into(), person.into(), since.into(), turn.into()],
        )
        .await?;
    Ok(count > 0)
}
