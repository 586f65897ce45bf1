//! What was used in a time: tokens and money of model calls, and the calls of skills.

use sqlx::FromRow;

use super::{Batch, Store, StoreError};
use crate::domain::{ConversationId, PersonId};

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

/// A model call that belongs to no turn, such as the folding of a conversation's history.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundCall {
    /// Our id.
    pub id: String,
    /// Which one's history; empty for a call of the command line.
    pub conversation_id: ConversationId,
    /// Who brought it about.
    pub person_id: PersonId,
    /// Who answered.
    pub model: String,
    /// Why there was no answer.
    pub error: Option<String>,
    /// Tokens of the request, those of them from the provider's cache, and those of the answer.
    pub tokens: [i64; 3],
    /// US dollars.
    pub cost_usd: f64,
    /// When it was made.
    pub started_at: i64,
    /// How long it took.
    pub duration_ms: i64,
}

/// Adds a model call that belongs to no turn.
pub fn insert_background_call(batch: &mut Batch, aside: &BackgroundCall) {
    let [question, cached, completion] = aside.tokens;
    batch.run(
        "INSERT INTO background_calls (id, conversation_id, person_id, model, error, prompt_tokens, cached_tokens, \
         completion_tokens, cost_usd, started_at, duration_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        [
            (&aside.id).into(),
            (&aside.conversation_id).into(),
            (&aside.person_id).into(),
            (&aside.model).into(),
            aside.error.clone().into(),
            question.into(),
            cached.into(),
            completion.into(),
            aside.cost_usd.into(),
            aside.started_at.into(),
            aside.duration_ms.into(),
        ],
    );
}

/// All model calls of a time, those of turns and the others, with whose they are.
macro_rules! all_calls {
    () => {
        "(SELECT t.person_id, k.model, k.error, k.prompt_tokens, k.cached_tokens, k.completion_tokens, k.cost_usd \
          FROM calls k JOIN executions e ON e.id = k.execution_id JOIN turns t ON t.id = e.turn_id \
          WHERE k.started_at >= $1 AND k.started_at < $2 UNION ALL \
          SELECT person_id, model, error, prompt_tokens, cached_tokens, completion_tokens, cost_usd \
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
             CAST(sum(c.completion_tokens) AS BIGINT) AS completion, sum(c.cost_usd) AS cost_usd FROM ",
            all_calls!(),
            $rest,
            " ORDER BY cost_usd DESC, prompt DESC, name"
        )
    };
}

/// Model calls begun from `from` on and before `to`, by model, the dearest first.
pub async fn by_model(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>, StoreError> {
    const SQL: &str = of_models!("c.model", "c.model", "GROUP BY c.model");
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Model calls begun from `from` on and before `to`, by the person of their turn, the dearest first.
pub async fn by_person(store: &Store, from: i64, to: i64) -> Result<Vec<ModelUse>, StoreError> {
    const SQL: &str = of_models!(
        "c.person_id",
        "coalesce(p.name, c.person_id)",
        "LEFT JOIN people p ON p.id = c.person_id GROUP BY c.person_id, p.name"
    );
    store.all(SQL, &[from.into(), to.into()]).await
}

/// Skill calls begun from `from` on and before `to`, the most used first.
pub async fn by_skill(store: &Store, from: i64, to: i64) -> Result<Vec<SkillUse>, StoreError> {
    const SQL: &str = "SELECT skill AS name, count(*) AS calls, \
        CAST(sum(CASE WHEN status IN ('failed', 'timeout', 'unknown') THEN 1 ELSE 0 END) AS BIGINT) AS failed, \
        CAST(sum(coalesce(ended_at, started_at) - started_at) AS BIGINT) AS duration_ms \
        FROM executions WHERE kind = 'skill' AND skill IS NOT NULL AND started_at >= $1 AND started_at < $2 \
        GROUP BY skill ORDER BY calls DESC, name";
    store.all(SQL, &[from.into(), to.into()]).await
}
