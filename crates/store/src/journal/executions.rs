//! The execution journal: each piece of work, and how it ended.

use adjutant_types::{
    AccountId, Bailout, Basis, ConversationId, ExecutionId, ExecutionKind, ExecutionStatus, Flag,
    NOTHING_TO_TELL, PersonId, Taint, TurnId,
};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

/// A skill call, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct UndoRow {
    pub id: ExecutionId,
    pub kind: ExecutionKind,
    pub status: ExecutionStatus,
    pub skill: String,
    /// One line for people.
    pub result: String,
    /// The outside sources of what it was given and read.
    pub taint: Taint,
    /// The account that it worked with; empty if there is none.
    pub account: AccountId,
    /// JSON: how to take its effect back; none if that is impossible.
    pub undo: Option<String>,
    /// The call that took it back.
    pub undone_by: Option<ExecutionId>,
    /// JSON: why it failed after it had begun.
    pub error: Option<String>,
}

/// The skill calls of a turn, in the order of their creation.
pub async fn effects_of(store: &Store, turn: &TurnId) -> Result<Vec<UndoRow>> {
    let sql = "SELECT id, kind, status, skill, coalesce(result, '') AS result, taint, account, undo, undone_by, \
        CASE WHEN basis IS NOT NULL THEN error END AS error FROM executions WHERE turn_id = $1 AND skill IS NOT NULL ORDER BY seq";
    store.all(sql, &[turn.into()]).await
}

/// JSON: how to take back what a call of this person did; empty if that is impossible.
pub async fn undo_of(store: &Store, id: &ExecutionId, person: &PersonId) -> Result<String> {
    const SQL: &str = "SELECT coalesce(e.undo, '') FROM executions e JOIN turns t ON t.id = e.turn_id \
                       WHERE e.id = $1 AND t.person_id = $2";
    Ok(store.value(SQL, &[id.into(), person.into()]).await?.unwrap_or_default())
}

pub fn set_undo(batch: &mut Batch, id: &ExecutionId, undo: &str) {
    batch.run("UPDATE executions SET undo = $1 WHERE id = $2", [undo.into(), id.into()]);
}

/// Records that a call was taken back; the whole batch fails if it was before.
pub fn mark_undone(batch: &mut Batch, id: &ExecutionId, by: &ExecutionId) {
    let sql = "UPDATE executions SET undone_by = $1 WHERE id = $2 AND undone_by IS NULL";
    batch.must(Stale::ExecutionUndone, sql, [by.into(), id.into()]);
}

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct ExecutionRow {
    pub id: ExecutionId,
    pub turn_id: TurnId,
    pub parent_id: Option<ExecutionId>,
    pub kind: ExecutionKind,
    pub status: ExecutionStatus,
    /// The number of the model call that requested it.
    pub call_n: Option<i64>,
    /// The position among that call's tool calls.
    pub call_idx: Option<i64>,
    pub agent_id: Option<String>,
    /// JSON: an agent's task.
    pub task: Option<String>,
    pub skill: Option<String>,
    /// JSON: a skill call's arguments.
    pub parameters: Option<String>,
    pub role: Option<String>,
    /// JSON: the structured part of an agent's answer.
    pub answer: Option<String>,
    /// An agent that runs its one skill without a model.
    #[sqlx(try_from = "Flag")]
    pub direct: bool,
    /// One line for people.
    pub result: Option<String>,
    /// JSON for executions that depend on it.
    pub data: Option<String>,
    /// JSON: the contract's error.
    pub error: Option<String>,
    /// The limit that ended a partial execution.
    pub bailout: Option<Bailout>,
    /// Result or data come from outside.
    #[sqlx(try_from = "Flag")]
    pub untrusted: bool,
    /// The outside sources of what it was given; once it has ended, of what it read too.
    pub taint: Taint,
    /// What allowed a skill call; none while nobody has decided, and of one made by an earlier version.
    pub basis: Option<Basis>,
    /// The account that a skill call works with, fixed when the row is written; empty if there is none.
    pub account: AccountId,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, turn_id, parent_id, kind, status, call_n, call_idx, agent_id, task, skill, parameters, role, answer, \
             direct, result, data, error, bailout, untrusted, taint, basis, account, started_at, ended_at FROM executions ",
            $rest
        )
    };
}

impl ExecutionRow {
    /// An execution that hasn't started.
    pub fn new(id: ExecutionId, turn: &TurnId, kind: ExecutionKind) -> Self {
        Self { id, turn_id: turn.clone(), kind, ..Self::default() }
    }

    /// Its position in the order in which everything of its turn was dispatched.
    pub fn path(&self, rows: &[Self]) -> Vec<(Option<i64>, Option<i64>)> {
        let parent = rows.iter().find(|row| self.parent_id.as_ref() == Some(&row.id));
        let mut path = parent.map_or_else(Vec::new, |parent| parent.path(rows));
        // The agents of a run's steps stand in their own order.
        let at = || rows.iter().position(|row| row.id == self.id).and_then(|at| i64::try_from(at).ok());
        // What follows a call of this answer comes behind all of them.
        path.push((self.call_n, self.call_idx.or_else(|| self.call_n.map_or_else(at, |_| Some(i64::MAX)))));
        path
    }

    /// The row as it is after [`close`].
    pub fn closed(&self, status: ExecutionStatus, closing: &Closing, now: i64) -> Self {
        Self {
            status,
            result: closing.result.clone(),
            answer: closing.answer.clone(),
            data: closing.data.clone(),
            error: closing.error.clone(),
            bailout: closing.bailout,
            untrusted: closing.untrusted,
            taint: closing.taint.clone(),
            started_at: self.started_at.or(closing.started_at).or(Some(now)),
            ended_at: Some(now),
            ..self.clone()
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closing {
    pub result: Option<String>,
    pub answer: Option<String>,
    pub data: Option<String>,
    pub error: Option<String>,
    pub bailout: Option<Bailout>,
    pub untrusted: bool,
    /// The outside sources of what it was given and read.
    pub taint: Taint,
    /// JSON: how to take its effect back.
    pub undo: Option<String>,
    /// When it started, if its row doesn't say so yet.
    pub started_at: Option<i64>,
}

/// For whom calls since a time changed an event.
pub async fn changers_of(store: &Store, uid: &str, since: i64) -> Result<Vec<PersonId>> {
    // A join would look through all turns.
    const SQL: &str = "SELECT DISTINCT person_id FROM turns WHERE id IN (SELECT turn_id FROM (SELECT turn_id, \
                       coalesce(parameters, '') || coalesce(data, '') AS whole FROM executions WHERE started_at >= $1 \
                       AND skill IN ('calendar.create_event', 'calendar.update_event', 'calendar.delete_event')) c \
                       WHERE replace(whole, $2, '') <> whole)";
    store.column(SQL, &[since.into(), uid.into()]).await
}

/// The conversation and arguments of a skill call that sent an email, and whose conversation it is.
pub async fn sent_by(store: &Store, id: &ExecutionId) -> Result<Option<(ConversationId, String, PersonId)>> {
    let sql = "SELECT e.conversation_id, e.parameters, c.person_id FROM executions e \
        JOIN conversations c ON c.id = e.conversation_id \
        WHERE e.id = $1 AND e.kind = 'skill' AND e.phase IS NOT NULL AND e.parameters IS NOT NULL";
    store.first(sql, &[id.into()]).await
}

/// For whom a call wrote an email, the outside sources of what it was given and read, and its data.
pub async fn written_for(
    store: &Store,
    id: &ExecutionId,
) -> Result<Option<(PersonId, Taint, Option<String>)>> {
    const SQL: &str = "SELECT t.person_id, e.taint, e.data FROM executions e JOIN turns t ON t.id = e.turn_id \
                       WHERE e.id = $1 AND e.kind = 'skill'";
    store.first(SQL, &[id.into()]).await
}

/// When another turn sent the draft that this call wrote; 0 if nobody knows whether it did.
pub async fn sent_at(store: &Store, draft: &ExecutionId, turn: &TurnId) -> Result<Option<i64>> {
    const SQL: &str = "SELECT max(CASE status WHEN 'completed' THEN ended_at ELSE 0 END) FROM executions \
                       WHERE seq > (SELECT seq FROM executions WHERE id = $1) AND skill = 'email.send' \
                       AND phase IS NOT NULL AND turn_id <> $2 AND replace(parameters, $1, '') <> parameters";
    Ok(store.value::<Option<i64>>(SQL, &[draft.into(), turn.into()]).await?.flatten())
}

/// The progress of a call that must not be made twice.
pub async fn phase(store: &Store, id: &ExecutionId) -> Result<Option<String>> {
    let sql = "SELECT phase FROM executions WHERE id = $1";
    Ok(store.value::<Option<String>>(sql, &[id.into()]).await?.flatten())
}

pub fn set_phase(batch: &mut Batch, id: &ExecutionId, phase: Option<&str>) {
    let sql = "UPDATE executions SET phase = $1 WHERE id = $2 AND ended_at IS NULL";
    batch.must(Stale::ExecutionEnded, sql, [phase.into(), id.into()]);
}

/// Adds a new row. A row that has ended already includes its outcome.
pub fn insert(batch: &mut Batch, row: &ExecutionRow, conversation: &ConversationId) {
    batch.must(
        Stale::ExecutionExists,
        "INSERT INTO executions (id, turn_id, conversation_id, parent_id, kind, status, call_n, call_idx, \
         agent_id, task, skill, parameters, direct, result, data, error, bailout, untrusted, taint, started_at, ended_at, \
         role, answer, basis, account) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, \
         $25) \
         ON CONFLICT DO NOTHING",
        values! {
            &row.id, &row.turn_id, conversation, row.parent_id.clone(), row.kind, row.status, row.call_n,
            row.call_idx, row.agent_id.clone(), row.task.clone(), row.skill.clone(), row.parameters.clone(),
            row.direct, row.result.clone(), row.data.clone(), row.error.clone(), row.bailout, row.untrusted,
            &row.taint, row.started_at, row.ended_at, row.role.clone(), row.answer.clone(),
            row.basis.as_ref(), &row.account
        },
    );
}

/// Saves what allowed a call that is in the journal already.
pub fn set_basis(batch: &mut Batch, id: &ExecutionId, basis: &Basis) {
    batch.run("UPDATE executions SET basis = $1 WHERE id = $2", [Some(basis).into(), id.into()]);
}

/// Fixes the account that a skill call works with, if its row was written before that was known.
pub fn set_account(batch: &mut Batch, id: &ExecutionId, account: &AccountId) {
    batch.run("UPDATE executions SET account = $1 WHERE id = $2", [account.into(), id.into()]);
}

/// The outside sources of what an execution was given and read; clean if it isn't there.
pub async fn taint(store: &Store, id: &ExecutionId) -> Result<Taint> {
    Ok(store.value("SELECT taint FROM executions WHERE id = $1", &[id.into()]).await?.unwrap_or_default())
}

pub fn set_taint(batch: &mut Batch, id: &ExecutionId, taint: &Taint) {
    batch.run("UPDATE executions SET taint = $1 WHERE id = $2", [taint.into(), id.into()]);
}

pub fn start(batch: &mut Batch, id: &ExecutionId, now: i64) {
    let sql = "UPDATE executions SET status = 'running', started_at = coalesce(started_at, $1) \
        WHERE id = $2 AND ended_at IS NULL";
    batch.must(Stale::ExecutionEnded, sql, [now.into(), id.into()]);
}

pub fn wait(batch: &mut Batch, id: &ExecutionId) {
    batch.run("UPDATE executions SET status = 'waiting' WHERE id = $1 AND ended_at IS NULL", [id.into()]);
}

/// Marks an approved call as pending again, because of a limit.
pub fn postpone(batch: &mut Batch, id: &ExecutionId) {
    batch.run("UPDATE executions SET status = 'pending' WHERE id = $1 AND ended_at IS NULL", [id.into()]);
}

pub fn close(batch: &mut Batch, id: &ExecutionId, status: ExecutionStatus, closing: &Closing, now: i64) {
    batch.must(
        Stale::ExecutionEnded,
        "UPDATE executions SET status = $1, result = $2, data = $3, error = $4, bailout = $5, \
         untrusted = $6, taint = $7, undo = $8, started_at = coalesce(started_at, $9), ended_at = $10, answer = $11, \
         asked = NULL \
         WHERE id = $12 AND ended_at IS NULL",
        values! {
            status, closing.result.clone(), closing.data.clone(), closing.error.clone(), closing.bailout,
            closing.untrusted, &closing.taint, closing.undo.clone(), closing.started_at.unwrap_or(now), now,
            closing.answer.clone(), id
        },
    );
}

/// Ends all open executions of a turn, when the turn itself ends.
pub fn close_all(batch: &mut Batch, turn: &TurnId, orchestrator: ExecutionStatus, now: i64) {
    let sql = "UPDATE executions SET ended_at = $1, \
        status = CASE kind WHEN 'orchestrator' THEN $2 ELSE 'cancelled' END \
        WHERE turn_id = $3 AND ended_at IS NULL";
    batch.run(sql, [now.into(), orchestrator.into(), turn.into()]);
}

/// All executions of a turn, in the order of their creation.
pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Vec<ExecutionRow>> {
    store.all(select!("WHERE turn_id = $1 ORDER BY seq"), &[turn.into()]).await
}

/// The skill calls that other turns of the turn's person have completed here since this time, and nobody has undone.
pub async fn done_elsewhere(store: &Store, turn: &TurnId, since: i64) -> Result<Vec<ExecutionRow>> {
    let sql = select!(
        "WHERE kind = 'skill' AND status = 'completed' AND ended_at >= $2 AND undone_by IS NULL AND turn_id IN \
         (SELECT t.id FROM turns own JOIN turns t ON t.conversation_id = own.conversation_id \
         AND t.person_id = own.person_id AND t.id <> own.id WHERE own.id = $1 AND t.forgotten_at IS NULL) \
         ORDER BY seq"
    );
    store.all(sql, &[turn.into(), since.into()]).await
}

/// How many agents of a turn have a name that begins like this.
pub async fn agents_named(store: &Store, turn: &TurnId, beginning: &str) -> Result<i64> {
    let letters = i64::try_from(beginning.chars().count()).unwrap_or(i64::MAX);
    let sql = "SELECT count(*) FROM executions WHERE turn_id = $1 AND kind = 'agent' \
        AND substr(agent_id, 1, CAST($2 AS INTEGER)) = $3";
    store.count(sql, &[turn.into(), letters.into(), beginning.into()]).await
}

/// The skill calls of one agent and the agents below it, in the order of their creation.
pub async fn of_agent(store: &Store, agent: &ExecutionId) -> Result<Vec<ExecutionRow>> {
    store.all(select!("WHERE parent_id = $1 ORDER BY seq"), &[agent.into()]).await
}

/// A completed skill call with data, in a turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct PastCall {
    pub turn_seq: i64,
    pub skill: String,
    /// JSON: what it returned.
    pub data: String,
}

/// The completed skill calls of a conversation's turns from this one on, in order. Files that came with a turn's messages
/// count as found by `files.sent`.
pub async fn calls_since(store: &Store, conversation: &ConversationId, from: i64) -> Result<Vec<PastCall>> {
    // A file's name has neither quotes nor backslashes.
    let sql = "SELECT turn_seq, skill, data FROM (SELECT t.seq AS turn_seq, e.seq AS place, e.skill, e.data \
        FROM turns t JOIN executions e ON e.turn_id = t.id \
        WHERE t.conversation_id = $1 AND t.seq >= $2 AND t.ended_at IS NOT NULL AND e.kind = 'skill' \
        AND e.status = 'completed' AND e.data IS NOT NULL \
        UNION ALL SELECT t.seq, a.number, 'files.sent', '{\"id\":\"' || a.id || '\",\"name\":\"' || a.name || '\"}' \
        FROM attachments a JOIN inbox i ON i.event = a.event JOIN turns t ON t.id = i.turn_id \
        WHERE a.conversation_id = $1 AND t.seq >= $2 AND t.ended_at IS NOT NULL) past ORDER BY turn_seq, place";
    store.all(sql, &[conversation.into(), from.into()]).await
}

/// A completed skill call of a person, with its result.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct PersonsResult {
    pub skill: String,
    /// JSON: what it returned.
    pub data: String,
}

/// What was shown to a person in a conversation before a turn of theirs, the newest first: nothing of turns that ended without
/// a word, unless that was told later, as after quiet hours.
pub async fn shown_to(
    store: &Store,
    (conversation, person): (&ConversationId, &PersonId),
    turn: &TurnId,
    limit: i64,
) -> Result<Vec<PersonsResult>> {
    let sql = "SELECT e.skill, e.data FROM executions e JOIN turns t ON t.id = e.turn_id \
        JOIN conversations c ON c.id = t.conversation_id \
        WHERE t.conversation_id = $1 AND t.person_id = $2 AND t.seq < (SELECT seq FROM turns WHERE id = $3) \
        AND (t.ended_at IS NOT NULL OR t.status = 'waiting') AND t.seq > c.history_from AND t.forgotten_at IS NULL AND e.kind = 'skill' AND e.status = 'completed' \
        AND (coalesce(t.answer, '') <> $5 OR EXISTS (SELECT 1 FROM watch_items w WHERE w.person_id = t.person_id AND w.key = t.id AND w.state = 'told')) \
        AND e.data IS NOT NULL ORDER BY e.seq DESC LIMIT $4 + 0";
    store.all(sql, &values! { conversation, person, turn, limit, NOTHING_TO_TELL }).await
}
