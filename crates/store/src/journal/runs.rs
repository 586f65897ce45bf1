//! Runs of workflows.

use adjutant_types::{ExecutionId, PersonId, RunStatus, TurnId};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct RunRow {
    pub id: ExecutionId,
    pub turn_id: TurnId,
    pub workflow: String,
    pub file: String,
    /// The file's text when the run began.
    pub text: String,
    /// JSON: its inputs, as an object.
    pub inputs: String,
    /// The run whose outputs it reuses.
    pub rerun_of: Option<ExecutionId>,
    /// JSON: the reused outputs.
    pub seed: Option<String>,
    /// `running`, `complete`, `partial`, `failed` or `cancelled`.
    pub status: RunStatus,
    /// JSON: the report, once it has ended.
    pub report: Option<String>,
    /// JSON: each step's output, once the run has ended or waits.
    pub outputs: Option<String>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    /// The version of its plan that it runs, if it was planned.
    pub plan_version: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, turn_id, workflow, file, text, inputs, rerun_of, seed, status, report, outputs, started_at, \
             ended_at, plan_version FROM runs ",
            $rest
        )
    };
}

pub fn insert(batch: &mut Batch, row: &RunRow) {
    batch.run(
        "INSERT INTO runs (id, turn_id, workflow, file, text, inputs, rerun_of, seed, status, started_at, \
         plan_version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', $9, $10)",
        values! {
            &row.id, &row.turn_id, &row.workflow, &row.file, &row.text, &row.inputs, row.rerun_of.clone(),
            row.seed.clone(), row.started_at, row.plan_version
        },
    );
}

/// Lets a run go on with another version of its plan.
pub fn change(batch: &mut Batch, id: &ExecutionId, text: &str, plan_version: i64) {
    let sql = "UPDATE runs SET text = $1, plan_version = $2 WHERE id = $3 AND ended_at IS NULL";
    batch.run(sql, [text.into(), plan_version.into(), id.into()]);
}

pub fn end(batch: &mut Batch, id: &ExecutionId, status: RunStatus, report: &str, outputs: &str, now: i64) {
    let sql = "UPDATE runs SET status = $1, report = $2, outputs = $3, ended_at = $4 WHERE id = $5 AND ended_at IS NULL";
    batch.run(sql, [status.into(), report.into(), outputs.into(), now.into(), id.into()]);
}

/// Saves the outputs of a run that starts to wait: if it is ended there, a rerun can start at a later step.
pub fn save_outputs(batch: &mut Batch, id: &ExecutionId, outputs: &str) {
    batch.run("UPDATE runs SET outputs = $1 WHERE id = $2 AND ended_at IS NULL", [outputs.into(), id.into()]);
}

pub fn cancel_all(batch: &mut Batch, turn: &TurnId, now: i64) {
    let sql = "UPDATE runs SET status = 'cancelled', ended_at = $1 WHERE turn_id = $2 AND ended_at IS NULL";
    batch.run(sql, [now.into(), turn.into()]);
}

pub async fn by_id(store: &Store, id: &ExecutionId) -> Result<Option<RunRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

/// Runs whose id begins with a text, newest first.
pub async fn beginning_with(store: &Store, beginning: &str, limit: i64) -> Result<Vec<RunRow>> {
    let sql = select!("WHERE substr(id, 1, length($1)) = $1 ORDER BY seq DESC LIMIT $2 + 0");
    store.all(sql, &[beginning.into(), limit.into()]).await
}

pub async fn newest(store: &Store, limit: i64) -> Result<Vec<RunRow>> {
    store.all(select!("ORDER BY seq DESC LIMIT $1 + 0"), &[limit.into()]).await
}

/// The newest runs of a person, or of everybody, each with whose it is.
pub async fn newest_of(
    store: &Store,
    whose: Option<&PersonId>,
    limit: i64,
) -> Result<Vec<(RunRow, PersonId)>> {
    const SQL: &str = "SELECT r.id, t.person_id FROM runs r JOIN turns t ON t.id = r.turn_id \
                       WHERE $1 = '' OR t.person_id = $1 ORDER BY r.seq DESC LIMIT $2 + 0";
    let found: Vec<(ExecutionId, PersonId)> =
        store.all(SQL, &[whose.map_or("", |whose| whose.as_str()).into(), limit.into()]).await?;
    let mut rows = Vec::with_capacity(found.len());
    for (id, person) in found {
        rows.extend(by_id(store, &id).await?.map(|row| (row, person)));
    }
    Ok(rows)
}

/// When a person's last run of the same workflow began that had ended well before this one.
pub async fn last_before(store: &Store, person: &PersonId, run: &RunRow) -> Result<Option<i64>> {
    const SQL: &str = "SELECT r.started_at FROM runs r JOIN turns t ON t.id = r.turn_id WHERE t.person_id = $1 \
        AND r.workflow = $2 AND r.ended_at <= $3 AND r.status IN ('complete', 'partial') ORDER BY t.seq DESC, r.seq DESC LIMIT 1";
    store.value(SQL, &[person.into(), (&run.workflow).into(), run.started_at.into()]).await
}

/// The runs of a turn, oldest first.
pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Vec<RunRow>> {
    store.all(select!("WHERE turn_id = $1 ORDER BY seq"), &[turn.into()]).await
}

/// One version of a plan that a person is asked about. Once it runs, the run has the same id.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct PlanRow {
    pub id: ExecutionId,
    /// From 1; each change makes another.
    pub version: i64,
    pub turn_id: TurnId,
    /// What it is for, in the person's words.
    pub goal: String,
    /// JSON: the plan.
    pub body: String,
    pub created_at: i64,
}

macro_rules! select_plan {
    ($rest:literal) => {
        concat!("SELECT p.id, p.version, p.turn_id, p.goal, p.body, p.created_at FROM plans p ", $rest)
    };
}

pub fn insert_plan(batch: &mut Batch, row: &PlanRow) {
    let sql =
        "INSERT INTO plans (id, version, turn_id, goal, body, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
    batch.run(sql, values! { &row.id, row.version, &row.turn_id, &row.goal, &row.body, row.created_at });
}

/// Deletes a plan whose turn has ended, in all its versions. Its run stays.
pub fn delete_plan(batch: &mut Batch, id: &ExecutionId) {
    let sql = "DELETE FROM plans WHERE id = $1 \
        AND EXISTS (SELECT 1 FROM turns t WHERE t.id = plans.turn_id AND t.ended_at IS NOT NULL)";
    batch.must(Stale::TurnMoved, sql, [id.into()]);
}

/// The newest version of a plan.
pub async fn plan(store: &Store, id: &ExecutionId) -> Result<Option<PlanRow>> {
    store.first(select_plan!("WHERE p.id = $1 ORDER BY p.version DESC LIMIT 1"), &[id.into()]).await
}

pub async fn plan_version(store: &Store, id: &ExecutionId, version: i64) -> Result<Option<PlanRow>> {
    store.first(select_plan!("WHERE p.id = $1 AND p.version = $2"), &[id.into(), version.into()]).await
}

/// The version of its plan that a run is of; none if it wasn't planned.
pub async fn plan_of(store: &Store, run: &RunRow) -> Result<Option<PlanRow>> {
    match run.plan_version {
        Some(version) => plan_version(store, &run.id, version).await,
        None => plan(store, &run.id).await,
    }
}

/// The newest plans whose ids begin with a text, each in its newest version.
pub async fn plans_beginning_with(store: &Store, beginning: &str, limit: i64) -> Result<Vec<PlanRow>> {
    let sql = select_plan!(
        "WHERE substr(p.id, 1, length($1)) = $1 AND NOT EXISTS \
         (SELECT 1 FROM plans later WHERE later.id = p.id AND later.version > p.version) \
         ORDER BY p.seq DESC LIMIT $2 + 0"
    );
    store.all(sql, &[beginning.into(), limit.into()]).await
}

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct AgentCost {
    pub agent_id: String,
    pub calls: i64,
    pub tokens: i64,
    pub cost_usd: f64,
}

/// The cost of the agents of a turn, by their names.
pub async fn costs(store: &Store, turn: &TurnId) -> Result<Vec<AgentCost>> {
    let sql = "SELECT e.agent_id, count(*) AS calls, \
        CAST(sum(c.prompt_tokens + c.completion_tokens) AS BIGINT) AS tokens, sum(c.cost_usd) AS cost_usd \
        FROM calls c JOIN executions e ON e.id = c.execution_id \
        WHERE e.turn_id = $1 AND e.agent_id IS NOT NULL GROUP BY e.agent_id";
    store.all(sql, &[turn.into()]).await
}
