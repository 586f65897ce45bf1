//! The report of a run that hasn't ended, from the journal.

use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::runs::RunRow;
use adjutant_store::{Result, Store};
use adjutant_types::{ExecutionStatus, RunStatus};

use super::report::{Report, RunReport, StepReport, StepStatus, count};
use crate::definition::{Step, StepKind, Workflow};
use crate::parse;
use crate::run::keys;

/// The report of a run so far; `waits` is whether its turn waits for a person.
pub async fn status(store: &Store, run: &RunRow, waits: bool) -> Result<Report> {
    let workflow = parse(&run.file, &run.text).ok();
    let (name, rows) = rows(store, run).await?;
    let units = |step: &Step| units(&format!("{name}/{}", step.id), &rows);
    let status = if waits { RunStatus::Waiting } else { run.status };
    let seed: serde_json::Map<String, serde_json::Value> =
        run.seed.as_deref().and_then(|seed| serde_json::from_str(seed).ok()).unwrap_or_default();
    let mut steps = Vec::new();
    for step in workflow.iter().flat_map(|workflow| &workflow.steps) {
        let agent = workflow.as_ref().and_then(|workflow| workers(workflow, step));
        let mut line = step_report(step, agent, &units(step), store.now());
        let dependants = workflow.iter().flat_map(|workflow| &workflow.steps);
        let mut dependants = dependants.filter(|other| other.depends_on.contains(&step.id));
        // A step without work of its own has ended once a dependent step has begun.
        if line.status == StepStatus::Pending
            && (seed.contains_key(&step.id) || dependants.any(|other| !units(other).is_empty()))
        {
            line.status = StepStatus::Completed;
        }
        steps.push(line);
    }
    let by_agents = workflow.iter().flat_map(|workflow| &workflow.steps).filter(|step| is_by_agents(step));
    let agents = by_agents.flat_map(units).filter(|(row, _)| !row.direct).count();
    let retries = steps.iter().map(|step| step.attempts.saturating_sub(1) as usize).sum();
    Ok(Report {
        run: RunReport {
            id: run.id.to_string(),
            workflow: run.workflow.clone(),
            status,
            steps_total: steps.len(),
            steps_completed: count(&steps, StepStatus::Completed),
            steps_failed: count(&steps, StepStatus::Failed),
            agents,
            retries,
            duration_ms: (run.ended_at.unwrap_or_else(|| store.now()) - run.started_at).max(0),
            ..RunReport::default()
        },
        steps,
    })
}

/// Whether agents run for a step: the rows of questions and sub-workflows aren't agents.
pub(crate) fn is_by_agents(step: &Step) -> bool {
    !matches!(step.kind, StepKind::Approval(_) | StepKind::Workflow(_) | StepKind::Skill(_))
}

/// The agents or the skill of a step, for people.
pub(crate) fn workers(workflow: &Workflow, step: &Step) -> Option<String> {
    match &step.kind {
        StepKind::Skill(call) => Some(call.skill.clone()),
        StepKind::Workflow(sub) => Some(sub.name.clone()),
        work => {
            let agents = work.agents();
            let names = agents.iter().map(|id| workflow.agent(id).map_or(*id, |agent| &agent.name));
            (!agents.is_empty()).then(|| names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A run's name in its turn, and its units of work.
async fn rows(store: &Store, run: &RunRow) -> Result<(String, Vec<ExecutionRow>)> {
    let mut rows = executions::of_turn(store, &run.turn_id).await?;
    let name = rows.iter().find(|row| row.id == run.id).and_then(|row| row.agent_id.clone());
    rows.retain(|row| row.parent_id.as_ref() == Some(&run.id));
    Ok((name.unwrap_or_default(), rows))
}

/// The units of work of a step, each with what follows the step's name in its key.
fn units<'r>(name: &str, rows: &'r [ExecutionRow]) -> Vec<(&'r ExecutionRow, &'r str)> {
    let unit = |row: &'r ExecutionRow| Some((row, keys::after(row.agent_id.as_deref()?, name)?));
    rows.iter().filter_map(unit).collect()
}

fn step_report(step: &Step, agent: Option<String>, units: &[(&ExecutionRow, &str)], now: i64) -> StepReport {
    let has = |status: ExecutionStatus| units.iter().any(|(row, _)| row.status == status);
    let last = units.last().map(|(row, _)| row);
    let status = match last.map(|row| row.status) {
        None => StepStatus::Pending,
        Some(_) if has(ExecutionStatus::Waiting) => StepStatus::Waiting,
        Some(_) if units.iter().any(|(row, _)| !row.status.has_ended()) => StepStatus::Running,
        Some(status) if status.ended_well() => StepStatus::Completed,
        Some(ExecutionStatus::Cancelled) => StepStatus::Cancelled,
        Some(_) => StepStatus::Failed,
    };
    let began = units.iter().filter_map(|(row, _)| row.started_at).min();
    let ended = units.iter().map(|(row, _)| row.ended_at.unwrap_or(now)).max();
    let error = last.and_then(|row| row.error.as_deref()).filter(|_| status == StepStatus::Failed);
    let error = error.map(|error| match serde_json::from_str::<serde_json::Value>(error) {
        Ok(error) => error["message"].as_str().unwrap_or_default().to_owned(),
        Err(_) => error.to_owned(),
    });
    StepReport {
        id: step.id.clone(),
        agent,
        status,
        attempts: units.iter().map(|(_, rest)| keys::number(rest)).max().unwrap_or(0),
        duration_ms: began.zip(ended).map_or(0, |(began, ended)| (ended - began).max(0)),
        output_bytes: last.and_then(|row| row.result.as_ref()).map_or(0, String::len),
        error,
        ..StepReport::default()
    }
}
