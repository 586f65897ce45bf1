//! How a run stands that has not ended: what the journal has of its steps.

use super::definition::{Step, Work, Workflow};
use super::report::{Report, RunReport, StepReport, count};
use super::{keys, parse};
use crate::domain::{ExecutionStatus, RunStatus};
use crate::store::executions::{self, ExecutionRow};
use crate::store::runs::RunRow;
use crate::store::{Store, StoreError};

/// How a run stands; `waits` is whether its turn waits for a person. Of one that was cut off, how far it had come.
pub async fn standing(store: &Store, kept: &RunRow, waits: bool) -> Result<Report, StoreError> {
    let workflow = parse(&kept.file, &kept.text).ok();
    let (name, rows) = rows(store, kept).await?;
    let pieces = |step: &Step| pieces(&format!("{name}/{}", step.id), &rows);
    let status = if waits { RunStatus::Waiting } else { kept.status }.as_str();
    let seed: serde_json::Map<String, serde_json::Value> =
        kept.seed.as_deref().and_then(|seed| serde_json::from_str(seed).ok()).unwrap_or_default();
    let mut steps = Vec::new();
    for step in workflow.iter().flat_map(|workflow| &workflow.steps) {
        let agent = workflow.as_ref().and_then(|workflow| workers(workflow, step));
        let mut line = step_report(step, agent, &pieces(step), store.now());
        let dependants = workflow.iter().flat_map(|workflow| &workflow.steps);
        let mut dependants = dependants.filter(|other| other.depends_on.contains(&step.id));
        // One without work of its own is over when what depends on it has begun.
        if line.status == "pending"
            && (seed.contains_key(&step.id) || dependants.any(|other| !pieces(other).is_empty()))
        {
            "completed".clone_into(&mut line.status);
        }
        steps.push(line);
    }
    let by_agents = workflow.iter().flat_map(|workflow| &workflow.steps).filter(|step| is_by_agents(step));
    let agents = by_agents.flat_map(pieces).filter(|(row, _)| row.direct == 0).count();
    let retries = steps.iter().map(|step| step.attempts.saturating_sub(1) as usize).sum();
    Ok(Report {
        run: RunReport {
            id: kept.id.to_string(),
            workflow: kept.workflow.clone(),
            status: status.to_owned(),
            steps_total: steps.len(),
            steps_completed: count(&steps, "completed"),
            steps_failed: count(&steps, "failed"),
            steps_skipped: 0,
            agents,
            retries,
            duration_ms: (kept.ended_at.unwrap_or_else(|| store.now()) - kept.started_at).max(0),
            output: String::new(),
            warnings: Vec::new(),
        },
        steps,
    })
}

/// Whether agents work for a step: a question and a run below this one have rows of their own, and are none.
pub(super) fn is_by_agents(step: &Step) -> bool {
    !matches!(step.work, Work::Approval(_) | Work::Workflow(_) | Work::Skill(_))
}

/// Who works for a step, as people know them.
pub(super) fn workers(workflow: &Workflow, step: &Step) -> Option<String> {
    match &step.work {
        Work::Skill(call) => Some(call.skill.clone()),
        Work::Workflow(sub) => Some(sub.name.clone()),
        work => {
            let agents = work.agents();
            let names = agents.iter().map(|id| workflow.agent(id).map_or(*id, |agent| &agent.name));
            (!agents.is_empty()).then(|| names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What a run is called in its turn, and its pieces of work.
async fn rows(store: &Store, kept: &RunRow) -> Result<(String, Vec<ExecutionRow>), StoreError> {
    let mut rows = executions::of_turn(store, &kept.turn_id).await?;
    let name = rows.iter().find(|row| row.id == kept.id).and_then(|row| row.agent_id.clone());
    rows.retain(|row| row.parent_id.as_ref() == Some(&kept.id));
    Ok((name.unwrap_or_default(), rows))
}

/// The pieces of a step: what is called as it is, and what follows its name for attempts, members and turns.
fn pieces<'r>(name: &str, rows: &'r [ExecutionRow]) -> Vec<(&'r ExecutionRow, &'r str)> {
    let its = |row: &'r ExecutionRow| Some((row, keys::after(row.agent_id.as_deref()?, name)?));
    rows.iter().filter_map(its).collect()
}

fn step_report(step: &Step, agent: Option<String>, pieces: &[(&ExecutionRow, &str)], now: i64) -> StepReport {
    let has = |status: ExecutionStatus| pieces.iter().any(|(row, _)| row.status == status);
    let last = pieces.last().map(|(row, _)| row);
    let status = match last.map(|row| row.status) {
        None => "pending",
        Some(_) if has(ExecutionStatus::Waiting) => "waiting",
        Some(_) if pieces.iter().any(|(row, _)| !row.status.has_ended()) => "running",
        Some(status) if status.ended_well() => "completed",
        Some(ExecutionStatus::Cancelled) => "cancelled",
        Some(_) => "failed",
    };
    let began = pieces.iter().filter_map(|(row, _)| row.started_at).min();
    let ended = pieces.iter().map(|(row, _)| row.ended_at.unwrap_or(now)).max();
    let error = last.and_then(|row| row.error.as_deref()).filter(|_| status == "failed");
    let error = error.map(|error| match serde_json::from_str::<serde_json::Value>(error) {
        Ok(error) => error["message"].as_str().unwrap_or_default().to_owned(),
        Err(_) => error.to_owned(),
    });
    StepReport {
        id: step.id.clone(),
        agent,
        status: status.to_owned(),
        attempts: pieces.iter().map(|(_, rest)| keys::number(rest)).max().unwrap_or(0),
        duration_ms: began.zip(ended).map_or(0, |(began, ended)| (ended - began).max(0)),
        output_bytes: last.and_then(|row| row.result.as_ref()).map_or(0, String::len),
        error,
    }
}
