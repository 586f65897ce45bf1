//! The model calls of an execution. Each request is stored as what it adds to the ones before it.

use adjutant_types::{ExecutionId, TurnId};
use sqlx::FromRow;

use super::first_messages;
use crate::{Batch, Result, Store};

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct CallRow {
    pub execution_id: ExecutionId,
    /// Its number within the execution, from 0.
    pub n: i64,
    /// The hash of its request's stable prefix.
    pub prefix: String,
    /// JSON: the messages between the prefix and the first answer; on call 0 only.
    pub first_messages: Option<String>,
    pub text: String,
    pub model: String,
    /// Why there was no answer.
    pub error: Option<String>,
    pub prompt_tokens: i64,
    /// Request tokens from the provider's cache.
    pub cached_tokens: i64,
    pub completion_tokens: i64,
    pub cost_usd: f64,
    pub started_at: i64,
    pub duration_ms: i64,
}

/// A tool call of a model's answer, and its result.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ToolCallRow {
    pub execution_id: ExecutionId,
    /// The model call.
    pub n: i64,
    /// The position in the answer.
    pub idx: i64,
    pub call_id: String,
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    pub result: Option<String>,
}

pub fn insert(batch: &mut Batch, row: &CallRow) {
    batch.run(
        "INSERT INTO calls (execution_id, n, prefix, first_messages, text, model, error, prompt_tokens, cached_tokens, \
         completion_tokens, cost_usd, started_at, duration_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values! {
            &row.execution_id, row.n, &row.prefix, row.first_messages.clone(), &row.text, &row.model,
            row.error.clone(), row.prompt_tokens, row.cached_tokens, row.completion_tokens, row.cost_usd,
            row.started_at, row.duration_ms
        },
    );
}

pub fn insert_tool_call(batch: &mut Batch, row: &ToolCallRow) {
    batch.run(
        "INSERT INTO tool_calls (execution_id, n, idx, call_id, name, arguments, result) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values! {
            &row.execution_id, row.n, row.idx, &row.call_id, &row.name, &row.arguments, row.result.clone()
        },
    );
}

pub fn set_tool_result(batch: &mut Batch, row: &ToolCallRow) {
    let sql = "UPDATE tool_calls SET result = $1 WHERE execution_id = $2 AND n = $3 AND idx = $4 AND result IS NULL";
    batch.run(sql, [row.result.clone().into(), (&row.execution_id).into(), row.n.into(), row.idx.into()]);
}

/// Replaces the result of a tool call by one that goes on where it ended: with what the person has written meanwhile, which
/// may be stored for the second time and more.
pub fn extend_tool_result(batch: &mut Batch, row: &ToolCallRow) {
    let sql = "UPDATE tool_calls SET result = $1 WHERE execution_id = $2 AND n = $3 AND idx = $4";
    batch.run(sql, [row.result.clone().into(), (&row.execution_id).into(), row.n.into(), row.idx.into()]);
}

/// Adds a stable prefix, unless it is stored already.
pub fn insert_prefix(batch: &mut Batch, hash: &str, system: &str, tools: &str) {
    let sql = "INSERT INTO prefixes (hash, system, tools) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    batch.run(sql, [hash.into(), system.into(), tools.into()]);
}

/// The stable prefix with a hash: the system text, and the tools as JSON.
pub async fn prefix(store: &Store, hash: &str) -> Result<Option<(String, String)>> {
    store.first("SELECT system, tools FROM prefixes WHERE hash = $1", &[hash.into()]).await
}

pub async fn of_execution(store: &Store, execution: &ExecutionId) -> Result<Vec<CallRow>> {
    let sql = "SELECT execution_id, n, prefix, first_messages, text, model, error, prompt_tokens, cached_tokens, \
        completion_tokens, cost_usd, started_at, duration_ms FROM calls WHERE execution_id = $1 ORDER BY n";
    let mut rows = store.all(sql, &[execution.into()]).await?;
    first_messages::complete(store, &mut rows).await?;
    Ok(rows)
}

pub async fn tools_of_execution(store: &Store, execution: &ExecutionId) -> Result<Vec<ToolCallRow>> {
    let sql = "SELECT execution_id, n, idx, call_id, name, arguments, result FROM tool_calls \
        WHERE execution_id = $1 ORDER BY n, idx";
    store.all(sql, &[execution.into()]).await
}

/// The texts beside the tool calls of a turn's orchestrator that its person hasn't been shown, in order, each with the
/// number of its model call.
pub async fn unshown(store: &Store, turn: &TurnId) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT c.n, c.text FROM calls c JOIN executions e ON e.id = c.execution_id JOIN turns t ON t.id = e.turn_id \
        WHERE e.turn_id = $1 AND e.kind = 'orchestrator' AND c.n > t.shown_round AND c.text <> '' AND EXISTS \
        (SELECT 1 FROM tool_calls r WHERE r.execution_id = c.execution_id AND r.n = c.n) ORDER BY c.n";
    store.all(sql, &[turn.into()]).await
}

/// The cost of the model calls of a turn, without their texts.
pub async fn taken_in(store: &Store, turn: &TurnId) -> Result<Vec<CallRow>> {
    let sql = "SELECT c.execution_id, c.n, c.prefix, '' AS first_messages, '' AS text, c.model, c.error, c.prompt_tokens, \
        c.cached_tokens, c.completion_tokens, c.cost_usd, c.started_at, c.duration_ms FROM calls c \
        JOIN executions e ON e.id = c.execution_id WHERE e.turn_id = $1 ORDER BY e.seq, c.n";
    store.all(sql, &[turn.into()]).await
}

pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Vec<CallRow>> {
    let sql = "SELECT c.execution_id, c.n, c.prefix, c.first_messages, c.text, c.model, c.error, c.prompt_tokens, \
        c.cached_tokens, c.completion_tokens, c.cost_usd, c.started_at, c.duration_ms FROM calls c \
        JOIN executions e ON e.id = c.execution_id WHERE e.turn_id = $1 ORDER BY e.seq, c.n";
    let mut rows = store.all(sql, &[turn.into()]).await?;
    first_messages::complete(store, &mut rows).await?;
    Ok(rows)
}
