//! The events of a turn, for machines (the contract's JSON) and for people (a drawing).

mod calls;
mod draw;
mod spans;
#[cfg(test)]
pub mod tests;
pub mod text;
mod transcript;

use std::collections::{BTreeMap, HashMap};

use futures::try_join;
use serde::Serialize;
use serde_json::{Value, json};

pub use calls::{ModelCall, Request, Response};
pub use draw::{Style, draw, for_chat};
pub use spans::spans;
pub use text::one_line;
pub use text::{cost, count, duration};

use adjutant_models::Usage;
use adjutant_store::calls::CallRow;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::people::{self, Conversation};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Result, Store, retention};
use adjutant_turn::trust::Wishes;
use adjutant_types::clock::rfc3339;
use adjutant_types::{
    Bailout, ExecutionId, ExecutionKind, ExecutionStatus, PersonId, Taint, TurnId, TurnStatus,
};

use crate::agents::AgentTask;

/// A turn and all that was undertaken in it; as JSON the contract's `trace --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    pub turn: Turn,
    /// Its executions, each followed by what it asked for.
    pub executions: Vec<Execution>,
}

/// A turn and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub id: TurnId,
    /// The chat, by the channel's own name for it.
    pub conversation: String,
    pub channel: String,
    /// The person, as the channel calls them.
    pub user: String,
    /// One of the contract's words for a turn.
    pub status: TurnStatus,
    pub text: String,
    /// What the person asked for, where it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wishes: Option<Wishes>,
    pub answer: Option<String>,
    pub started_at: String,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    /// Calls of all its models, failed ones too.
    pub model_calls: usize,
    /// Skill calls, refused ones too.
    pub skill_calls: usize,
    pub agents: usize,
    /// Tokens of all its model calls.
    pub tokens: Usage,
    pub cost_usd: f64,
    /// What of it was emptied because it was old, by name, and when: `texts`, `trace`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub emptied: BTreeMap<&'static str, String>,
    #[serde(skip)]
    started: i64,
}

/// The orchestrator, an agent, or a skill call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Execution {
    pub id: ExecutionId,
    pub parent_id: Option<ExecutionId>,
    /// How far it lies below the orchestrator.
    pub depth: usize,
    /// `orchestrator`, `agent` or `skill`.
    pub kind: ExecutionKind,
    /// An agent's name within the turn.
    pub agent_id: Option<String>,
    /// What an agent is, for people.
    pub role: Option<String>,
    pub mission: Option<String>,
    pub skill: Option<String>,
    /// Arguments of a skill call, or of an agent that runs its one skill without a model.
    pub parameters: Option<Value>,
    /// The agents whose results it needed.
    pub depends_on: Vec<String>,
    pub status: ExecutionStatus,
    /// The outside texts that it was given or has read.
    #[serde(skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// The permission for a skill call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<String>,
    /// What came out, or why it was skipped.
    pub result: Option<String>,
    /// Why it did not end well: `kind`, `message`, `skill`, `recoverable`, `retry_after_s`.
    pub error: Option<Value>,
    /// What an agent with a role said besides its summary: `details`, `data`, `warnings`, `suggestions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Skill calls it made.
    pub tool_calls_used: usize,
    /// How many an agent with a role could make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// The model that answered it last.
    pub model: Option<String>,
    /// Its model calls, failed ones too.
    pub model_calls: usize,
    pub tokens: Usage,
    pub cost_usd: f64,
    /// The limit that ended it early.
    pub bailout: Option<Bailout>,
    pub started_at: Option<String>,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    /// The model's requests and answers, when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<ModelCall>>,
    /// From when to when it was open, and from when to when its model was at work.
    #[serde(skip)]
    span: Option<(i64, i64)>,
    /// When it ended, also if it never began.
    #[serde(skip)]
    ended: Option<i64>,
    #[serde(skip)]
    model_spans: Vec<ModelSpan>,
}

impl Execution {
    /// From when to when it was open, if it has begun.
    pub fn open(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// From when to when its models were at work.
    pub fn at_work(&self) -> impl Iterator<Item = (i64, i64)> {
        self.model_spans.iter().map(|call| (call.from, call.to))
    }
}

/// From when to when a model was at work, and with what.
#[derive(Debug, Clone, PartialEq)]
struct ModelSpan {
    from: i64,
    to: i64,
    model: String,
    tokens: Usage,
    has_failed: bool,
}

/// Reads a turn's trace; `with_calls` includes the requests to its models and their answers.
pub async fn load(store: &Store, turn: &TurnRow, with_calls: bool) -> Result<Trace> {
    let (conversation, rows, all_calls, emptied, wishes) = try_join!(
        people::conversation_by_id(store, &turn.conversation_id),
        executions::of_turn(store, &turn.id),
        async {
            match with_calls {
                true => adjutant_store::calls::of_turn(store, &turn.id).await,
                false => adjutant_store::calls::taken_in(store, &turn.id).await,
            }
        },
        retention::emptied(store, &turn.id),
        turns::wishes(store, &turn.id)
    )?;
    let user = user(store, &conversation, &turn.person_id).await?;
    let mut calls_of: HashMap<ExecutionId, Vec<CallRow>> = HashMap::new();
    for call in all_calls {
        calls_of.entry(call.execution_id.clone()).or_default().push(call);
    }
    let now = turn.ended_at.unwrap_or_else(|| store.now());
    let made = calls_made(&rows);
    let mut executions = Vec::with_capacity(rows.len());
    for (at, depth) in tree_order(&rows) {
        let row = &rows[at];
        let calls = calls_of.remove(&row.id).unwrap_or_default();
        let mut execution = execution(row, depth, made.get(&row.id).copied().unwrap_or(0), &calls, now);
        if row.kind == ExecutionKind::Orchestrator {
            execution.result.clone_from(&turn.answer);
        }
        if with_calls {
            execution.calls = Some(calls::rebuild(store, &row.id, calls).await?);
        }
        executions.push(execution);
    }
    let mut whole = whole(turn, conversation, user, now, &executions);
    whole.wishes = wishes.and_then(|wishes| serde_json::from_str(&wishes).ok());
    let (texts, trace) = emptied;
    let emptied = [("texts", texts), ("trace", trace)];
    whole.emptied = emptied.into_iter().filter_map(|(what, at)| Some((what, rfc3339(at?)))).collect();
    Ok(Trace { turn: whole, executions })
}

/// The model calls of one execution, each with its whole request.
pub async fn calls_of(store: &Store, execution: &ExecutionId) -> Result<Vec<ModelCall>> {
    let rows = adjutant_store::calls::of_execution(store, execution).await?;
    calls::rebuild(store, execution, rows).await
}

/// The person as the channel calls them; our own id when they have no account there any more.
async fn user(store: &Store, conversation: &Conversation, person: &PersonId) -> Result<String> {
    let prefix = format!("{}:", conversation.channel);
    let mut accounts = people::accounts(store, person).await?;
    accounts.sort();
    let here = accounts.iter().find_map(|account| account.strip_prefix(&prefix));
    Ok(here.unwrap_or(person).to_owned())
}

fn whole(
    turn: &TurnRow,
    conversation: Conversation,
    user: String,
    now: i64,
    executions: &[Execution],
) -> Turn {
    let of_kind = |kind: ExecutionKind| executions.iter().filter(|execution| execution.kind == kind).count();
    let mut tokens = Usage::default();
    executions.iter().for_each(|execution| tokens += execution.tokens);
    Turn {
        id: turn.id.clone(),
        conversation: conversation.place,
        channel: conversation.channel,
        user,
        status: turn.status,
        text: turn.text.clone(),
        wishes: None,
        answer: turn.answer.clone(),
        started_at: rfc3339(turn.started_at),
        duration_ms: (now - turn.started_at).max(0),
        model_calls: executions.iter().map(|execution| execution.model_calls).sum(),
        skill_calls: of_kind(ExecutionKind::Skill),
        agents: of_kind(ExecutionKind::Agent),
        tokens,
        cost_usd: dollars(executions.iter().map(|execution| execution.cost_usd)),
        emptied: BTreeMap::new(),
        started: turn.started_at,
    }
}

/// How many skill calls each execution made. Counted once for all: a turn may have thousands.
fn calls_made(rows: &[ExecutionRow]) -> HashMap<&ExecutionId, usize> {
    let mut made = HashMap::new();
    for row in rows.iter().filter(|row| row.kind == ExecutionKind::Skill) {
        if let Some(parent) = &row.parent_id {
            *made.entry(parent).or_default() += 1;
        }
    }
    made
}

fn execution(
    row: &ExecutionRow,
    depth: usize,
    tool_calls_used: usize,
    calls: &[CallRow],
    now: i64,
) -> Execution {
    let task: Option<AgentTask> = row.task.as_deref().and_then(|task| serde_json::from_str(task).ok());
    let task = task.unwrap_or_default();
    let parameters = match &row.parameters {
        // What can't be read is shown as it is.
        Some(text) => Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))),
        None => task.arguments,
    };
    let mut tokens = Usage::default();
    calls.iter().map(usage).for_each(|usage| tokens += usage);
    let span = row.started_at.map(|from| (from, row.ended_at.unwrap_or(now).max(from)));
    Execution {
        id: row.id.clone(),
        parent_id: row.parent_id.clone(),
        depth,
        kind: row.kind,
        agent_id: row.agent_id.clone(),
        role: task.role,
        mission: row.task.is_some().then_some(task.mission),
        skill: row.skill.clone(),
        parameters,
        depends_on: task.depends_on,
        status: row.status,
        taint: row.taint.clone(),
        allowed_by: row.basis.as_ref().map(ToString::to_string),
        result: row.result.clone(),
        error: row.error.as_deref().map(error),
        answer: row.answer.as_deref().and_then(|json| serde_json::from_str(json).ok()),
        tool_calls_used,
        max_tool_calls: task.max_tool_calls.filter(|_| row.role.is_some()),
        model: calls.iter().rev().map(|call| call.model.clone()).find(|model| !model.is_empty()),
        model_calls: calls.len(),
        tokens,
        cost_usd: dollars(calls.iter().map(|call| call.cost_usd)),
        bailout: row.bailout,
        started_at: row.started_at.map(rfc3339),
        duration_ms: span.map_or(0, |(from, to)| to - from),
        calls: None,
        span,
        ended: row.ended_at,
        model_spans: calls.iter().map(model_span).collect(),
    }
}

fn model_span(call: &CallRow) -> ModelSpan {
    ModelSpan {
        from: call.started_at,
        to: call.started_at.saturating_add(call.duration_ms),
        model: call.model.clone(),
        tokens: usage(call),
        has_failed: call.error.is_some(),
    }
}

/// A sum that is 0 when there is nothing to add; the standard library's is -0.
fn dollars(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |sum, part| sum + part)
}

fn usage(call: &CallRow) -> Usage {
    let count = |tokens: i64| u64::try_from(tokens).unwrap_or(0);
    Usage {
        prompt: count(call.prompt_tokens),
        cached: count(call.cached_tokens),
        completion: count(call.completion_tokens),
    }
}

fn error(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(error)) => Value::Object(error),
        _ => json!({"kind": "tool", "message": text}),
    }
}

/// The position of each row in the tree: its index and depth, every row exactly once. A row whose parent is
/// missing stands at the top, so that a damaged journal is shown whole too.
fn tree_order(rows: &[ExecutionRow]) -> Vec<(usize, usize)> {
    let indices: HashMap<&str, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.id.as_str(), at)).collect();
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut tops = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match row.parent_id.as_deref().and_then(|parent| indices.get(parent)) {
            Some(&parent) => children.entry(parent).or_default().push(at),
            None => tops.push(at),
        }
    }
    let mut order = Vec::with_capacity(rows.len());
    let mut seen = vec![false; rows.len()];
    // Rows that are one another's parents hang on no top; they come last.
    for top in tops.into_iter().chain(0..rows.len()) {
        let mut stack = vec![(top, 0)];
        while let Some((at, depth)) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            order.push((at, depth));
            let own = children.get(&at).into_iter().flatten().rev();
            stack.extend(own.map(|&child| (child, depth + 1)));
        }
    }
    order
}
