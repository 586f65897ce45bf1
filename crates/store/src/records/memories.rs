//! Memories. Each query limits what a person may recall in a place.

use adjutant_types::{ConversationId, MemoryId, PersonId, TurnId};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::people::Conversation;
use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Six characters, for people to type.
    pub id: MemoryId,
    /// `fact`, `preference`, `person` or `note`.
    pub kind: String,
    /// `private`, or `room` for the room it was said in.
    pub scope: String,
    pub text: String,
    /// JSON: a list of words.
    pub tags: String,
    /// What single thing of the person it tells, as the sorted stems of its words: `home town`; empty if none.
    #[serde(default)]
    pub topic: String,
    pub created_at: i64,
}

impl MemoryRow {
    /// Whether it is told to the model whatever the person writes about.
    pub fn is_preference(&self) -> bool {
        self.kind == "preference"
    }
}

pub fn insert(batch: &mut Batch, person: &PersonId, conversation: &ConversationId, memory: &MemoryRow) {
    batch.run(
        "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, topic, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        values! {
            &memory.id, person, &memory.scope, conversation, &memory.kind, &memory.text, &memory.tags,
            &memory.topic, memory.created_at
        },
    );
}

pub fn delete(batch: &mut Batch, person: &PersonId, id: &MemoryId) {
    let sql = "DELETE FROM memories WHERE id = $1 AND person_id = $2";
    batch.must(Stale::MemoryGone, sql, [id.into(), person.into()]);
}

/// The newest memories that may be recalled here.
pub async fn list(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    kind: &str,
    limit: i64,
) -> Result<Vec<MemoryRow>> {
    let sql = "SELECT id, kind, scope, text, tags, topic, created_at FROM memories WHERE person_id = $1 \
        AND ((scope = 'private' AND $2 = 0) OR (scope = 'room' AND conversation_id = $3)) \
        AND ($4 = '' OR kind = $4) ORDER BY seq DESC LIMIT $5 + 0";
    store.all(sql, &[person.into(), here.shared.into(), (&here.id).into(), kind.into(), limit.into()]).await
}

/// One of a person's memories, wherever it may be recalled.
pub async fn by_id(store: &Store, person: &PersonId, id: &MemoryId) -> Result<Option<MemoryRow>> {
    const SQL: &str = "SELECT id, kind, scope, text, tags, topic, created_at FROM memories WHERE id = $1 \
                       AND person_id = $2";
    store.first(SQL, &[id.into(), person.into()]).await
}

/// Where a memory was saved, and may be recalled if it is a room's.
pub async fn place_of(store: &Store, id: &MemoryId) -> Result<Option<ConversationId>> {
    store.value("SELECT conversation_id FROM memories WHERE id = $1", &[id.into()]).await
}

/// Gives a memory another text, whose words are kept anew.
pub fn rewrite(batch: &mut Batch, person: &PersonId, id: &MemoryId, text: &str) {
    let sql = "UPDATE memories SET text = $1, indexed = 0 WHERE id = $2 AND person_id = $3";
    batch.must(Stale::MemoryGone, sql, [text.into(), id.into(), person.into()]);
}

/// The turns of a person that saved, found or listed a memory.
pub async fn turns_about(store: &Store, person: &PersonId, memory: &MemoryId) -> Result<Vec<i64>> {
    let sql = "SELECT seq FROM turns WHERE person_id = $1 AND id IN (SELECT e.turn_id FROM executions e \
        WHERE e.skill LIKE 'memory.%' AND e.data LIKE '%\"id\":\"' || $2 || '\"%')";
    store.column(sql, &[person.into(), memory.into()]).await
}

/// The turns of a person that say a memory, each with its message and its answer.
pub async fn turns_that_say(
    store: &Store,
    person: &PersonId,
    memory: &MemoryId,
) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT seq, text || ' ' || coalesce(answer, '') AS said FROM turns WHERE person_id = $1 \
        AND id IN (SELECT s.turn_id FROM memory_turns s WHERE s.memory_id = $2)";
    store.all(sql, &[person.into(), memory.into()]).await
}

/// The turns of a person whose first messages showed a memory, or which searched for it, each with its message, its answer, and what its model
/// asked for.
pub async fn turns_that_knew(
    store: &Store,
    person: &PersonId,
    memory: &MemoryId,
) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT t.seq, t.text || ' ' || coalesce(t.answer, '') || ' ' || coalesce((SELECT string_agg(a.arguments, ' ') \
        FROM tool_calls a JOIN executions x ON x.id = a.execution_id WHERE x.turn_id = t.id), '') AS said \
        FROM turns t WHERE t.person_id = $1 \
        AND t.forgotten_at IS NULL AND (EXISTS (SELECT 1 FROM executions e JOIN calls c ON c.execution_id = e.id \
        WHERE e.turn_id = t.id AND e.kind = 'orchestrator' AND c.n = 0 AND c.first_messages LIKE '%[' || $2 || ']%') \
        OR EXISTS (SELECT 1 FROM executions s WHERE s.turn_id = t.id AND s.skill IN ('memory.search', 'memory.list') \
        AND s.data LIKE '%\"' || $2 || '\"%'))";
    store.all(sql, &[person.into(), memory.into()]).await
}

/// Empties the first messages of every ended turn that knew a memory.
pub fn hide_from_traces(batch: &mut Batch, person: &PersonId, memory: &MemoryId) {
    let sql = "UPDATE calls SET first_messages = NULL WHERE first_messages LIKE '%[' || $1 || ']%' \
        AND execution_id IN (SELECT e.id FROM executions e JOIN turns t ON t.id = e.turn_id \
        WHERE t.person_id = $2 AND t.ended_at IS NOT NULL)";
    batch.run(sql, [memory.into(), person.into()]);
}

/// Empties the lists with a button to forget a memory.
pub fn hide_from_lists(batch: &mut Batch, person: &PersonId, memory: &MemoryId) {
    let sql = "UPDATE outbox SET text = '', choices = '[]' WHERE turn_id IS NULL AND state IN ('sent', 'dead') \
        AND choices LIKE '%\"memory:' || $1 || '%' \
        AND conversation_id IN (SELECT id FROM conversations WHERE person_id = $2)";
    batch.run(sql, [memory.into(), person.into()]);
}

/// Lets no model see a turn's texts any more; in a room, a turn of that room only. A summary that was made from it goes,
/// and so do the first messages of later turns, which may repeat it.
pub fn forget_turn(batch: &mut Batch, here: Option<&Conversation>, turn: i64, now: i64) {
    let room = here.filter(|here| here.shared).map(|here| here.id.to_string()).unwrap_or_default();
    batch.run(
        "UPDATE turns SET forgotten_at = $1 WHERE seq = $2 AND forgotten_at IS NULL \
         AND ($3 = '' OR conversation_id = $3)",
        [now.into(), turn.into(), (&room).into()],
    );
    batch.run(
        "UPDATE conversations SET summary = '', summary_taint = '' WHERE compacted_to >= $1 \
         AND id = (SELECT conversation_id FROM turns WHERE seq = $1) AND ($2 = '' OR id = $2)",
        [turn.into(), (&room).into()],
    );
    batch.run(
        "UPDATE calls SET first_messages = NULL WHERE first_messages IS NOT NULL AND execution_id IN (SELECT e.id FROM turns f \
         JOIN turns t ON t.conversation_id = f.conversation_id AND t.seq > f.seq JOIN executions e ON e.turn_id = t.id \
         WHERE f.seq = $1 AND t.ended_at IS NOT NULL AND ($2 = '' OR f.conversation_id = $2))",
        [turn.into(), (&room).into()],
    );
}

/// The same for the turn that forgets, whose question and answer name what is forgotten.
pub fn forget_own_turn(batch: &mut Batch, turn: &TurnId, now: i64) {
    batch.run("UPDATE turns SET forgotten_at = $1 WHERE id = $2", [now.into(), turn.into()]);
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct KnownRow {
    #[sqlx(flatten)]
    pub memory: MemoryRow,
    /// The words it was taken from; none if it was told.
    pub quote: Option<String>,
}

/// The newest memories that may be recalled here, preferences first, with where they come from.
pub async fn with_origins(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    limit: i64,
) -> Result<Vec<KnownRow>> {
    let sql = "SELECT m.id, m.kind, m.scope, m.text, m.tags, m.topic, m.created_at, o.quote FROM memories m \
        LEFT JOIN memory_origins o ON o.memory_id = m.id WHERE m.person_id = $1 \
        AND ((m.scope = 'private' AND $2 = 0) OR (m.scope = 'room' AND m.conversation_id = $3)) \
        ORDER BY CASE WHEN m.kind = 'preference' THEN 0 ELSE 1 END, m.seq DESC LIMIT $4 + 0";
    store.all(sql, &[person.into(), here.shared.into(), (&here.id).into(), limit.into()]).await
}

/// A memory as its keeper sees it.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct KeptRow {
    pub person_id: PersonId,
    pub name: String,
    #[sqlx(flatten)]
    pub memory: MemoryRow,
    /// The words it was taken from; none if it was told.
    pub quote: Option<String>,
}

/// Everything that is remembered, by person, oldest first.
pub async fn kept(store: &Store) -> Result<Vec<KeptRow>> {
    let sql = "SELECT m.person_id, coalesce(p.name, '') AS name, o.quote, m.id, m.kind, m.scope, m.text, m.tags, \
        m.topic, m.created_at FROM memories m LEFT JOIN people p ON p.id = m.person_id \
        LEFT JOIN memory_origins o ON o.memory_id = m.id ORDER BY m.person_id, m.seq";
    store.all(sql, &[]).await
}
