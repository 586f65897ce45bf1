//! The execution journal: what was undertaken, and how it ended.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{Batch, Store, StoreError};

/// How an execution stands; the contract's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not started.
    Pending,
    /// At work.
    Running,
    /// Waits for a person.
    Waiting,
    /// Done.
    Completed,
    /// Ended before it was done, with something to show.
    Partial,
    /// Not done.
    Failed,
    /// Its time was up.
    Timeout,
    /// Not started because what it depends on did not end well.
    Skipped,
    /// Its turn was stopped.
    Cancelled,
    /// It may have happened and must not be done twice.
    Unknown,
}

impl Status {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// From the contract's word; what is unreadable is unknown, never done again.
    pub fn parse(word: &str) -> Self {
        match word {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "waiting" => Self::Waiting,
            "completed" => Self::Completed,
            "partial" => Self::Partial,
            "failed" => Self::Failed,
            "timeout" => Self::Timeout,
            "skipped" => Self::Skipped,
            "cancelled" => Self::Cancelled,
            _ => Self::Unknown,
        }
    }

    /// Whether nothing more will happen.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Waiting)
    }

    /// Whether what depends on it may start.
    pub fn ended_well(self) -> bool {
        matches!(self, Self::Completed | Self::Partial)
    }
}

/// An execution's row.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ExecutionRow {
    /// Our id.
    pub id: String,
    /// Its turn.
    pub turn_id: String,
    /// The execution that asked for it.
    pub parent_id: Option<String>,
    /// `orchestrator`, `agent` or `skill`.
    pub kind: String,
    /// See [`Status`].
    pub status: String,
    /// The number of the model call that asked for it.
    pub call_n: Option<i64>,
    /// The place among that call's tool calls.
    pub call_idx: Option<i64>,
    /// An agent's name within the turn.
    pub agent_id: Option<String>,
    /// JSON: what an agent was told.
    pub task: Option<String>,
    /// A skill call's skill.
    pub skill: Option<String>,
    /// JSON: a skill call's arguments.
    pub parameters: Option<String>,
    /// 1 for an agent that runs its one skill without a model.
    pub direct: i64,
    /// The one line for people.
    pub result: Option<String>,
    /// JSON for what depends on it.
    pub data: Option<String>,
    /// JSON: the contract's error.
    pub error: Option<String>,
    /// Which limit ended a partial one.
    pub bailout: Option<String>,
    /// 1 when result or data come from outside the house.
    pub untrusted: i64,
    /// When it first started.
    pub started_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
}

impl ExecutionRow {
    /// An execution that has not begun.
    pub fn new(id: String, turn: &str, kind: &str) -> Self {
        Self {
            id,
            turn_id: turn.to_owned(),
            parent_id: None,
            kind: kind.to_owned(),
            status: Status::Pending.as_str().to_owned(),
            call_n: None,
            call_idx: None,
            agent_id: None,
            task: None,
            skill: None,
            parameters: None,
            direct: 0,
            result: None,
            data: None,
            error: None,
            bailout: None,
            untrusted: 0,
            started_at: None,
            ended_at: None,
        }
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        Status::parse(&self.status)
    }

    /// Itself as it is once [`close`] is written.
    pub fn closed(&self, status: Status, closing: &Closing, now: i64) -> Self {
        Self {
            status: status.as_str().to_owned(),
            result: closing.result.clone(),
            data: closing.data.clone(),
            error: closing.error.clone(),
            bailout: closing.bailout.clone(),
            untrusted: i64::from(closing.untrusted),
            started_at: self.started_at.or(closing.started_at).or(Some(now)),
            ended_at: Some(now),
            ..self.clone()
        }
    }
}

/// What is written when an execution ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closing {
    /// One line for people.
    pub result: Option<String>,
    /// JSON for what depends on it.
    pub data: Option<String>,
    /// JSON: the contract's error.
    pub error: Option<String>,
    /// Which limit ended it.
    pub bailout: Option<String>,
    /// Whether result or data come from outside the house.
    pub untrusted: bool,
    /// When it started, if its row does not say so yet.
    pub started_at: Option<i64>,
}

/// Where, and with which arguments, a skill was called that wrote a mail.
pub async fn sent_by(store: &Store, id: &str) -> Result<Option<(String, String)>, StoreError> {
    store
        .first(
            "SELECT conversation_id, parameters FROM executions \
             WHERE id = $1 AND kind = 'skill' AND phase IS NOT NULL AND parameters IS NOT NULL",
            &[id.into()],
        )
        .await
}

/// How far a call has come that must not be made twice.
pub async fn phase(store: &Store, id: &str) -> Result<Option<String>, StoreError> {
    let row: Option<(Option<String>,)> =
        store.first("SELECT phase FROM executions WHERE id = $1", &[id.into()]).await?;
    Ok(row.and_then(|(phase,)| phase))
}

/// Adds how far a call has come.
pub fn set_phase(batch: &mut Batch, id: &str, phase: Option<&str>) {
    batch.must(
        "the call has ended already",
        "UPDATE executions SET phase = $1 WHERE id = $2 AND ended_at IS NULL",
        [phase.into(), id.into()],
    );
}

/// Adds a new row. Ended rows carry their closing at once.
pub fn insert(batch: &mut Batch, row: &ExecutionRow, conversation: &str) {
    batch.must(
        "the execution exists already",
        "INSERT INTO executions (id, turn_id, conversation_id, parent_id, kind, status, call_n, call_idx, \
         agent_id, task, skill, parameters, direct, result, data, error, bailout, untrusted, started_at, ended_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
         ON CONFLICT DO NOTHING",
        [
            (&row.id).into(),
            (&row.turn_id).into(),
            conversation.into(),
            row.parent_id.clone().into(),
            (&row.kind).into(),
            (&row.status).into(),
            row.call_n.into(),
            row.call_idx.into(),
            row.agent_id.clone().into(),
            row.task.clone().into(),
            row.skill.clone().into(),
            row.parameters.clone().into(),
            row.direct.into(),
            row.result.clone().into(),
            row.data.clone().into(),
            row.error.clone().into(),
            row.bailout.clone().into(),
            row.untrusted.into(),
            row.started_at.into(),
            row.ended_at.into(),
        ],
    );
}

/// Adds that an execution is at work.
pub fn start(batch: &mut Batch, id: &str, now: i64) {
    batch.must(
        "the execution has ended",
        "UPDATE executions SET status = 'running', started_at = coalesce(started_at, $1) \
         WHERE id = $2 AND ended_at IS NULL",
        [now.into(), id.into()],
    );
}

/// Adds that an execution waits for a person.
pub fn wait(batch: &mut Batch, id: &str) {
    batch.run("UPDATE executions SET status = 'waiting' WHERE id = $1 AND ended_at IS NULL", [id.into()]);
}

/// Adds that a call which somebody said yes to is held back by a limit.
pub fn hold(batch: &mut Batch, id: &str) {
    batch.run("UPDATE executions SET status = 'pending' WHERE id = $1 AND ended_at IS NULL", [id.into()]);
}

/// Adds the end of an execution.
pub fn close(batch: &mut Batch, id: &str, status: Status, closing: &Closing, now: i64) {
    batch.must(
        "the execution has ended",
        "UPDATE executions SET status = $1, result = $2, data = $3, error = $4, bailout = $5, \
         untrusted = $6, started_at = coalesce(started_at, $7), ended_at = $8 \
         WHERE id = $9 AND ended_at IS NULL",
        [
            status.as_str().into(),
            closing.result.clone().into(),
            closing.data.clone().into(),
            closing.error.clone().into(),
            closing.bailout.clone().into(),
            closing.untrusted.into(),
            closing.started_at.unwrap_or(now).into(),
            now.into(),
            id.into(),
        ],
    );
}

/// Adds the end of everything of a turn that is still open, when the turn itself ends.
pub fn close_all(batch: &mut Batch, turn: &str, orchestrator: Status, now: i64) {
    batch.run(
        "UPDATE executions SET ended_at = $1, \
         status = CASE kind WHEN 'orchestrator' THEN $2 ELSE 'cancelled' END \
         WHERE turn_id = $3 AND ended_at IS NULL",
        [now.into(), orchestrator.as_str().into(), turn.into()],
    );
}

/// All rows of a turn in the order of their making.
pub async fn of_turn(store: &Store, turn: &str) -> Result<Vec<ExecutionRow>, StoreError> {
    store
        .all(
            "SELECT id, turn_id, parent_id, kind, status, call_n, call_idx, agent_id, task, skill, parameters, \
             direct, result, data, error, bailout, untrusted, started_at, ended_at FROM executions \
             WHERE turn_id = $1 ORDER BY seq",
            &[turn.into()],
        )
        .await
}

/// The skill calls of one agent in the order of their making.
pub async fn of_agent(store: &Store, agent: &str) -> Result<Vec<ExecutionRow>, StoreError> {
    store
        .all(
            "SELECT id, turn_id, parent_id, kind, status, call_n, call_idx, agent_id, task, skill, parameters, \
             direct, result, data, error, bailout, untrusted, started_at, ended_at FROM executions \
             WHERE parent_id = $1 ORDER BY seq",
            &[agent.into()],
        )
        .await
}

/// How many skill calls a conversation made since a time, counted up to `most`.
pub async fn skill_calls_since(
    store: &Store,
    conversation: &str,
    since: i64,
    most: u32,
) -> Result<i64, StoreError> {
    store
        .count(
            "SELECT count(*) FROM (SELECT 1 FROM executions WHERE kind = 'skill' AND conversation_id = $1 \
             AND started_at >= $2 LIMIT $3 + 0) counted",
            &[conversation.into(), since.into(), i64::from(most).into()],
        )
        .await
}
