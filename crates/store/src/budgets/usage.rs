//! Usage in a period: tokens and costs of model calls, and skill calls.

pub mod questions;
pub mod role_history;

use adjutant_types::{ConversationId, PersonId};
use sqlx::FromRow;

use crate::{Batch, Result, Store};

/// The model calls of one person or one model.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ModelUse {
    /// A person's id or a model's name.
    pub id: String,
    pub name: String,
    pub calls: i64,
    /// How many of them had no answer.
    pub failed: i64,
    pub prompt: i64,
    /// Request tokens from the provider's cache.
    pub cached: i64,
    pub completion: i64,
    pub cost_usd: f64,
    /// How many calls have no known cost: neither the provider nor the configuration has a price.
    pub unpriced: i64,
    /// The sound that was transcribed or spoken, in milliseconds.
    pub audio_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SkillUse {
    pub name: String,
    pub calls: i64,
    /// How many of them failed, timed out, or have an unknown outcome.
    pub failed: i64,
    pub duration_ms: i64,
}

/// The agents of one role that have ended.
#[derive(Debug, Clone, Default, PartialEq, FromRow)]
pub struct RoleUse {
    pub name: String,
    pub agents: i64,
    pub completed: i64,
    /// How many a limit ended: tool calls, model calls, time, agents, and tokens or money.
    pub out_of_tool_calls: i64,
    pub out_of_model_calls: i64,
    pub out_of_time: i64,
    pub out_of_agents: i64,
    pub out_of_budget: i64,
    pub duration_ms: i64,
    pub calls: i64,
    pub prompt: i64,
    pub completion: i64,
    pub cost_usd: f64,
}

/// A model call that belongs to no turn, such as compacting a conversation's history.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundCall {
    pub id: String,
    /// The conversation it compacts; empty for a call from the command line.
    pub conversation_id: ConversationId,
    pub person_id: PersonId,
    pub purpose: String,
    pub model: String,
    /// Why there was no answer.
    pub error: Option<String>,
    /// Tokens of the request, those of them from the cache, and tokens of the answer.
    pub tokens: [i64; 3],
    pub cost_usd: f64,
    pub started_at: i64,
    pub duration_ms: i64,
    pub audio_ms: i64,
}

pub fn insert_background_call(batch: &mut Batch, call: &BackgroundCall) {
    let [prompt, cached, completion] = call.tokens;
    batch.run(
        "INSERT INTO background_calls (id, conversation_id, person_id, model, error, prompt_tokens, cached_tokens, \
         completion_tokens, cost_usd, started_at, duration_ms, audio_ms, purpose) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values! {
            &call.id, &call.conversation_id, &call.person_id, &call.model, call.error.clone(), prompt,
            cached, completion, call.cost_usd, call.started_at, call.duration_ms, call.audio_ms,
            &call.purpose
        },
    );
}

/// All model calls in a period, in turns or in the background, with their person. A plan that no model made is no call.
macro_rules! all_calls {
    () => {
        "(SELECT t.person_id, k.model, k.error, k.prompt_tokens, k.cached_tokens, k.completion_tokens, k.cost_usd, \
          CAST(0 AS BIGINT) AS audio_ms FROM calls k JOIN executions e ON e.id = k.execution_id JOIN turns t ON t.id = e.turn_id \
          WHERE k.started_at >= $1 AND k.started_at < $2 AND k.model <> 'none' UNION ALL \
          SELECT person_id, model, error, prompt_tokens, cached_tokens, completion_tokens, cost_usd, audio_ms \
          FROM background_calls WHERE started_at >= $1 AND started_at < $2) c "
    };
}

macro_rules! of_models {
    ($id:literal, $name:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $id,
            " AS id, ",
            $name,
            " AS name, count(*) AS calls, \
             CAST(sum(CASE WHEN c.error IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS failed, \
             CAST(sum(c.prompt_tokens) AS BIGINT) AS prompt, CAST(sum(c.cached_tokens) AS BIGINT) AS cached, \
             CAST(sum(c.completion_tokens) AS BIGINT) AS completion, sum(c.cost_usd) AS cost_usd, \
             CAST(sum(CASE WHEN c.cost_usd = 0 AND c.prompt_tokens + c.completion_tokens > 0 THEN 1 ELSE 0 END) \
             AS BIGINT) AS unpriced, \
             CAST(sum(CASE WHEN c.error IS NULL THEN c.audio_ms ELSE 0 END) AS BIGINT) AS audio_ms FROM ",
            all_calls!(),
            $rest,
            " ORDER BY cost_usd DESC, prompt DESC, name"
        )
    };
}

/// Model calls from `from` until before `to`, by model, the most expensive first.
pub async fn by_model(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>> {
    const SQL: &str = of_models!(
        "c.model",
        "CASE WHEN c.model = '' THEN '(no answer)' ELSE c.model END",
        "GROUP BY c.model"
    );
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Model calls from `from` until before `to`, by person, the most expensive first.
pub async fn by_person(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>> {
    const SQL: &str = of_models!(
        "c.person_id",
        "coalesce(nullif(p.name, ''), nullif(c.person_id, ''), '(command line)')",
        "LEFT JOIN people p ON p.id = c.person_id GROUP BY c.person_id, p.name"
    );
    store.all(SQL, &[from.into(), to.into()]).await
}

/// The model calls of the orchestrator from `from` until before `to`: their number, tokens and cost.
pub async fn of_orchestrator(store: &Store, from: i64, to: i64) -> Result<(i64, i64, f64)> {
    const SQL: &str = "SELECT count(*) AS calls, \
        CAST(coalesce(sum(k.prompt_tokens + k.completion_tokens), 0) AS BIGINT) AS tokens, \
        CAST(coalesce(sum(k.cost_usd), 0) AS DOUBLE PRECISION) AS cost_usd \
        FROM calls k JOIN executions e ON e.id = k.execution_id \
        WHERE e.kind = 'orchestrator' AND k.model <> 'none' AND k.started_at >= $1 AND k.started_at < $2";
    Ok(store.first(SQL, &[from.into(), to.into()]).await?.unwrap_or_default())
}

/// The mean cost of a person's turns since then, in US dollars; none where no call has a price.
pub async fn mean_turn_cost(store: &Store, person: &PersonId, since: i64) -> Result<Option<f64>> {
    const SQL: &str = "SELECT count(DISTINCT e.turn_id) AS turns, \
        CAST(coalesce(sum(k.cost_usd), 0) AS DOUBLE PRECISION) AS cost_usd FROM turns t \
        JOIN executions e ON e.turn_id = t.id JOIN calls k ON k.execution_id = e.id \
        WHERE t.person_id = $1 AND t.started_at >= $2 AND k.cost_usd > 0";
    let row: Option<(i64, f64)> = store.first(SQL, &[person.into(), since.into()]).await?;
    Ok(row.filter(|(turns, _)| *turns > 0).map(|(turns, cost_usd)| cost_usd / turns as f64))
}

/// Skill calls from `from` until before `to`, the most frequent first.
pub async fn by_skill(store: &Store, from: i64, to: i64) -> Result<Vec<SkillUse>> {
    const SQL: &str = "SELECT skill AS name, count(*) AS calls, \
        CAST(sum(CASE WHEN status IN ('failed', 'timeout', 'unknown') THEN 1 ELSE 0 END) AS BIGINT) AS failed, \
        CAST(sum(coalesce(ended_at, started_at) - started_at) AS BIGINT) AS duration_ms \
        FROM executions WHERE kind = 'skill' AND skill IS NOT NULL AND started_at >= $1 AND started_at < $2 \
        GROUP BY skill ORDER BY calls DESC, name";
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Agents with a role that started from `from` until before `to` and have ended, by role, the most expensive first.
pub async fn by_role(store: &Store, from: i64, to: i64) -> Result<Vec<RoleUse>> {
    const SQL: &str = "SELECT e.role AS name, count(*) AS agents, \
        CAST(sum(CASE WHEN e.status = 'completed' THEN 1 ELSE 0 END) AS BIGINT) AS completed, \
        CAST(sum(CASE WHEN e.bailout = 'tool_calls' THEN 1 ELSE 0 END) AS BIGINT) AS out_of_tool_calls, \
        CAST(sum(CASE WHEN e.bailout = 'model_calls' THEN 1 ELSE 0 END) AS BIGINT) AS out_of_model_calls, \
        CAST(sum(CASE WHEN e.bailout = 'time' THEN 1 ELSE 0 END) AS BIGINT) AS out_of_time, \
        CAST(sum(CASE WHEN e.bailout = 'agents' THEN 1 ELSE 0 END) AS BIGINT) AS out_of_agents, \
        CAST(sum(CASE WHEN e.bailout IN ('tokens', 'cost') THEN 1 ELSE 0 END) AS BIGINT) AS out_of_budget, \
        CAST(sum(e.ended_at - e.started_at) AS BIGINT) AS duration_ms, \
        CAST(sum(coalesce(k.calls, 0)) AS BIGINT) AS calls, \
        CAST(sum(coalesce(k.prompt, 0)) AS BIGINT) AS prompt, \
        CAST(sum(coalesce(k.completion, 0)) AS BIGINT) AS completion, \
        CAST(sum(coalesce(k.cost_usd, 0)) AS DOUBLE PRECISION) AS cost_usd \
        FROM executions e LEFT JOIN (SELECT execution_id, count(*) AS calls, sum(prompt_tokens) AS prompt, \
        sum(completion_tokens) AS completion, sum(cost_usd) AS cost_usd FROM calls WHERE started_at >= $1 \
        GROUP BY execution_id) k ON k.execution_id = e.id \
        WHERE e.kind = 'agent' AND e.role IS NOT NULL AND e.started_at >= $1 AND e.started_at < $2 \
        AND e.ended_at IS NOT NULL GROUP BY e.role ORDER BY cost_usd DESC, agents DESC, name";
    store.all(SQL, &[from.into(), to.into()]).await
}
