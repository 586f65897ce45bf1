//! Where memories come from that were taken from what somebody wrote, and how far that has got.

use adjutant_types::{ConversationId, MemoryId, PersonId, TurnId};
use sqlx::FromRow;

use crate::memories::{self, MemoryRow};
use crate::{Batch, Result, Stale, Store};

/// A conversation in which somebody wrote enough for facts to be taken.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DueConversation {
    pub id: ConversationId,
    pub person_id: PersonId,
    /// Facts were taken up to this turn's number.
    pub extracted_to: i64,
}

/// A conversation of one person with `enough` new turns since `since`, or with any if the last ended before `rested`.
pub async fn due(store: &Store, since: i64, rested: i64, enough: i64) -> Result<Option<DueConversation>> {
    let sql = "SELECT c.id, c.person_id, c.extracted_to FROM conversations c JOIN turns t ON t.conversation_id = c.id \
        WHERE c.shared = 0 AND t.seq > c.extracted_to AND t.started_at >= $1 AND t.ended_at IS NOT NULL \
        GROUP BY c.id, c.person_id, c.extracted_to HAVING count(*) >= $3 OR max(t.ended_at) < $2 \
        ORDER BY max(t.seq) LIMIT 1";
    store.first(sql, &[since.into(), rested.into(), enough.into()]).await
}

/// A message that somebody wrote themselves.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct WrittenRow {
    /// Its turn's number.
    pub seq: i64,
    pub id: TurnId,
    pub text: String,
    pub started_at: i64,
}

/// The next ended turns of a conversation: with the texts of those alone that the person wrote themselves.
pub async fn written(
    store: &Store,
    due: &DueConversation,
    since: i64,
    limit: i64,
) -> Result<Vec<WrittenRow>> {
    let sql = "SELECT t.seq, t.id, CASE WHEN t.text_taint = '' AND t.status = 'completed' AND t.bodies_emptied_at IS NULL \
        AND t.forgotten_at IS NULL \
        AND t.person_id = $2 AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id \
         AND e.skill IN ('memory.save', 'memory.forget')) AND NOT EXISTS (SELECT 1 FROM inbox i \
         WHERE i.turn_id = t.id AND i.event LIKE ' page:%') THEN t.text ELSE '' END AS text, t.started_at \
        FROM turns t WHERE t.conversation_id = $1 AND t.seq > $3 AND t.started_at >= $4 \
        AND t.ended_at IS NOT NULL ORDER BY t.seq LIMIT $5 + 0";
    store.all(sql, &values! { &due.id, &due.person_id, due.extracted_to, since, limit }).await
}

/// Records that facts were taken up to a turn. Stale if another process was faster.
pub fn advance(batch: &mut Batch, due: &DueConversation, to: i64) {
    let sql = "UPDATE conversations SET extracted_to = $1 WHERE id = $2 AND extracted_to = $3 AND shared = 0";
    batch.must(Stale::TurnMoved, sql, [to.into(), (&due.id).into(), due.extracted_to.into()]);
}

/// From where a memory was taken.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct OriginRow {
    pub memory_id: MemoryId,
    /// The turn whose message says it.
    pub turn_id: TurnId,
    pub quote: String,
    pub topic: String,
    /// How often it was said.
    pub strength: i64,
}

pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<OriginRow>> {
    const SQL: &str =
        "SELECT memory_id, turn_id, quote, topic, strength FROM memory_origins WHERE person_id = $1";
    store.all(SQL, &[person.into()]).await
}

pub fn insert(batch: &mut Batch, due: &DueConversation, memory: &MemoryRow, origin: &OriginRow) {
    memories::insert(batch, &due.person_id, &due.id, memory);
    batch.run(
        "INSERT INTO memory_origins (memory_id, person_id, turn_id, quote, topic, strength) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        values! {
            &origin.memory_id, &due.person_id, &origin.turn_id, &origin.quote, &origin.topic, origin.strength
        },
    );
    say(batch, &due.person_id, &origin.memory_id, &origin.turn_id);
}

/// Counts that a memory was said again, so many times.
pub fn strengthen(batch: &mut Batch, memory: &MemoryId, times: i64) {
    let sql = "UPDATE memory_origins SET strength = strength + $1 WHERE memory_id = $2";
    batch.run(sql, [times.into(), memory.into()]);
}

/// Notes that a turn says a memory, so that it is forgotten with it.
pub fn say(batch: &mut Batch, person: &PersonId, memory: &MemoryId, turn: &TurnId) {
    let sql =
        "INSERT INTO memory_turns (memory_id, person_id, turn_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    batch.run(sql, [memory.into(), person.into(), turn.into()]);
}

/// Notes that the turns that say a memory also say the one that takes its place, and what it was.
pub fn pass_on(batch: &mut Batch, (from, was): (&MemoryId, &str), to: &MemoryId) {
    batch.run(
        "INSERT INTO memory_turns (memory_id, person_id, turn_id) SELECT $1, person_id, turn_id FROM memory_turns \
         WHERE memory_id = $2 ON CONFLICT DO NOTHING",
        [to.into(), from.into()],
    );
    batch.run(
        "INSERT INTO memory_formers (memory_id, former_id, person_id, text) SELECT $1, former_id, person_id, text \
         FROM memory_formers WHERE memory_id = $2 AND former_id <> $1 ON CONFLICT DO NOTHING",
        [to.into(), from.into()],
    );
    batch.run(
        "INSERT INTO memory_formers (memory_id, former_id, person_id, text) SELECT $1, id, person_id, $3 \
         FROM memories WHERE id = $2 ON CONFLICT DO NOTHING",
        [to.into(), from.into(), was.into()],
    );
}

/// What a memory was, or one that it was joined with.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct FormerRow {
    pub memory_id: MemoryId,
    pub former_id: MemoryId,
    /// Its text then, without the history that it had.
    pub text: String,
}

pub async fn formers(store: &Store, person: &PersonId) -> Result<Vec<FormerRow>> {
    const SQL: &str = "SELECT memory_id, former_id, text FROM memory_formers WHERE person_id = $1 \
                       ORDER BY memory_id, former_id";
    store.all(SQL, &[person.into()]).await
}

/// Takes the words from an origin; its turn stays.
pub fn unquote(batch: &mut Batch, memory: &MemoryId) {
    batch.run("UPDATE memory_origins SET quote = '' WHERE memory_id = $1", [memory.into()]);
}

pub fn forget_former(batch: &mut Batch, memory: &MemoryId, former: &MemoryId) {
    let sql = "DELETE FROM memory_formers WHERE memory_id = $1 AND former_id = $2";
    batch.run(sql, [memory.into(), former.into()]);
}

/// Those of whom something was taken from what they wrote.
pub async fn people(store: &Store) -> Result<Vec<PersonId>> {
    const SQL: &str = "SELECT DISTINCT person_id FROM memory_origins ORDER BY person_id";
    store.column(SQL, &[]).await
}

/// All of a person's private memories, which their new facts are compared with.
pub async fn private(store: &Store, person: &PersonId) -> Result<Vec<MemoryRow>> {
    let sql = "SELECT id, kind, scope, text, tags, topic, created_at FROM memories WHERE person_id = $1 \
        AND scope = 'private' ORDER BY seq DESC LIMIT 5000";
    store.all(sql, &[person.into()]).await
}
