//! What agents of a role took so far, so that a plan can say what it will take.

use sqlx::FromRow;

use crate::{Result, Store};

/// How many agents are looked at.
const NEWEST: i64 = 100;
/// How far back they may be, in executions of any kind: a role that hardly works isn't searched for in the whole journal.
const WITHIN: i64 = 50_000;

/// What one agent of a role took, with all agents below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct Took {
    /// Agents: itself and those below.
    pub agents: i64,
    pub skill_calls: i64,
    pub model_calls: i64,
    pub prompt: i64,
    pub completion: i64,
}

/// The newest agents of a role that came to their end.
pub async fn of_role(store: &Store, role: &str) -> Result<Vec<Took>> {
    const SQL: &str = "WITH RECURSIVE newest AS (SELECT id FROM executions WHERE kind = 'agent' AND role = $1 \
         AND status IN ('completed', 'partial') AND seq > (SELECT coalesce(max(seq), 0) FROM executions) - ($2 + 0) \
         ORDER BY seq DESC LIMIT $3 + 0), \
         tree (root, id, kind) AS (SELECT id, id, 'agent' FROM newest UNION ALL \
         SELECT t.root, e.id, e.kind FROM executions e JOIN tree t ON e.parent_id = t.id) \
         SELECT CAST(sum(CASE t.kind WHEN 'agent' THEN 1 ELSE 0 END) AS BIGINT) AS agents, \
         CAST(sum(CASE t.kind WHEN 'skill' THEN 1 ELSE 0 END) AS BIGINT) AS skill_calls, \
         CAST(coalesce(sum(c.calls), 0) AS BIGINT) AS model_calls, \
         CAST(coalesce(sum(c.prompt), 0) AS BIGINT) AS prompt, \
         CAST(coalesce(sum(c.completion), 0) AS BIGINT) AS completion \
         FROM tree t LEFT JOIN (SELECT execution_id, count(*) AS calls, sum(prompt_tokens) AS prompt, \
         sum(completion_tokens) AS completion FROM calls WHERE execution_id IN (SELECT id FROM tree) \
         GROUP BY execution_id) c ON c.execution_id = t.id GROUP BY t.root";
    store.all(SQL, &[role.into(), WITHIN.into(), NEWEST.into()]).await
}
