//! What was used in a time: tokens and money of model calls, and the calls of skills.

use sqlx::FromRow;

use super::{Store, StoreError};

/// Model calls of one person or of one model.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ModelUse {
    /// Whose: a person's id, or a model's name.
    pub id: String,
    /// What to call it.
    pub name: String,
    /// How many calls.
    pub calls: i64,
    /// How many of them brought no answer.
    pub failed: i64,
    /// Tokens of requests.
    pub prompt: i64,
    /// Those of them from the provider's cache.
    pub cached: i64,
    /// Tokens of answers.
    pub completion: i64,
    /// US dollars.
    pub cost_usd: f64,
}

/// Calls of one skill.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SkillUse {
    /// Its name.
    pub name: String,
    /// How many calls.
    pub calls: i64,
    /// How many of them failed, took too long, or ended nobody knows how.
    pub failed: i64,
    /// How long they took together, in milliseconds.
    pub duration_ms: i64,
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
             CAST(sum(c.completion_tokens) AS BIGINT) AS completion, sum(c.cost_usd) AS cost_usd FROM calls c ",
            $rest,
            " ORDER BY cost_usd DESC, prompt DESC, name"
        )
    };
}

/// Model calls begun from `from` on and before `to`, by model, the dearest first.
///
/// # Errors
/// When the store fails.
pub async fn by_model(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>, StoreError> {
    const SQL: &str =
        of_models!("c.model", "c.model", "WHERE c.started_at >= $1 AND c.started_at < $2 GROUP BY c.model");
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Model calls begun from `from` on and before `to`, by the person of their turn, the dearest first.
///
/// # Errors
/// When the store fails.
pub async fn by_person(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>, StoreError> {
    const SQL: &str = of_models!(
        "t.person_id",
        "coalesce(p.name, t.person_id)",
        "JOIN executions e ON e.id = c.execution_id JOIN turns t ON t.id = e.turn_id \
         LEFT JOIN people p ON p.id = t.person_id \
         WHERE c.started_at >= $1 AND c.started_at < $2 GROUP BY t.person_id, p.name"
    );
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Skill calls begun from `from` on and before `to`, the most used first.
///
/// # Errors
/// When the store fails.
pub async fn by_skill(store: &Store, from: i64, to: i64) -> Result<Vec<SkillUse>, StoreError> {
    const SQL: &str = "SELECT skill AS name, count(*) AS calls, \
        CAST(sum(CASE WHEN status IN ('failed', 'timeout', 'unknown') THEN 1 ELSE 0 END) AS BIGINT) AS failed, \
        CAST(sum(coalesce(ended_at, started_at) - started_at) AS BIGINT) AS duration_ms \
        FROM executions WHERE kind = 'skill' AND skill IS NOT NULL AND started_at >= $1 AND started_at < $2 \
        GROUP BY skill ORDER BY calls DESC, name";
    store.all(SQL, &[from.into(), to.into()]).await
}
