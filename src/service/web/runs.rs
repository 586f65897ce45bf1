//! A run on its workflow's drawing, and the files behind messages.

use adjutant_chat::OutgoingFile;
use adjutant_l10n::page_talk;
use adjutant_store::runs::{self, RunRow};
use adjutant_store::{Result, retention, timeline};
use adjutant_types::{ExecutionId, OutboxId, RunStatus};
use adjutant_web::views::{Badge, Run, RunStep, Started, Viewer};
use adjutant_workflows::trace::{duration, one_line};
use adjutant_workflows::view::report::{Report, StepReport, StepStatus};
use adjutant_workflows::{Workflow, parse, status};
use serde_json::Value;

use super::workflows::{drawing, run_badge};
use super::{ROWS, WebBackend};

impl WebBackend {
    /// What is known by this name: a plan, a run, or the request for one.
    pub(super) async fn find_started(&self, viewer: &Viewer, key: &str) -> Result<Option<Started>> {
        if let Some(found) = self.by_execution(viewer, &key.into()).await? {
            return Ok(Some(found));
        }
        let event = format!("{} {}-{key}", self.channel, viewer.person);
        let turn = match timeline::turn_of_event(&self.store, &event).await? {
            None => return Ok(None),
            Some(None) => return Ok(Some(Started::Waiting)),
            Some(Some(turn)) => turn,
        };
        let run = runs::of_turn(&self.store, &turn).await?.into_iter().next().map(|row| row.id);
        let made = timeline::plan_of_turn(&self.store, &turn).await?.or(run);
        if let Some(id) = made {
            return self.by_execution(viewer, &id).await;
        }
        let Some(row) = self.visible(viewer, &turn).await? else { return Ok(None) };
        let turn = self.view(viewer).await?.turn(&row, 0, ROWS).await?;
        Ok(Some(Started::Turn(Box::new(turn))))
    }

    async fn by_execution(&self, viewer: &Viewer, id: &ExecutionId) -> Result<Option<Started>> {
        if let Some(row) = runs::plan(&self.store, id).await? {
            return Ok(self.plan_of(viewer, row).await?.map(|plan| Started::Plan(Box::new(plan))));
        }
        let Some(row) = runs::by_id(&self.store, id).await? else { return Ok(None) };
        Ok(self.run_of(viewer, row).await?.map(|run| Started::Run(Box::new(run))))
    }

    async fn run_of(&self, viewer: &Viewer, row: RunRow) -> Result<Option<Run>> {
        let Some(turn) = self.visible(viewer, &row.turn_id).await? else { return Ok(None) };
        let view = self.view(viewer).await?;
        let workflow = parse(&row.file, &row.text).ok();
        let waits = view.waits(&row).await?;
        let report = self.report_of(&row, waits).await?;
        let steps = report.as_ref().map(|report| report.steps.as_slice()).unwrap_or_default();
        let state = |name: &str| steps.iter().find(|step| step.id == name).map(step_state);
        let is_own = turn.person_id.as_str() == viewer.person;
        let runner = &self.conversations.orchestrator.runner;
        let is_known = runner.workflows.current().get(&row.workflow).is_some();
        let can_rerun = is_own && is_known && row.ended_at.is_some() && row.outputs.is_some();
        let ended = row.ended_at.unwrap_or_else(|| self.store.now());
        let mut figures = vec![duration((ended - row.started_at).max(0))];
        figures.extend(report.iter().map(|report| page_talk::agents(report.run.agents)));
        let run = report.as_ref().map(|report| &report.run);
        Ok(Some(Run {
            key: row.id.to_string(),
            workflow: one_line(&row.workflow),
            is_known,
            badge: run_badge(if waits { RunStatus::Waiting } else { row.status }),
            at: view.moment(row.started_at),
            inputs: inputs(&row.inputs),
            drawing: workflow
                .as_ref()
                .map(|workflow: &Workflow| drawing(workflow, &inputs(&row.inputs), state))
                .unwrap_or_default(),
            figures,
            warnings: run.map(|run| run.warnings.clone()).unwrap_or_default(),
            output: run.map(|run| run.output.clone()).unwrap_or_default(),
            again: steps.iter().filter(|_| can_rerun).map(|step| step.id.clone()).collect(),
            steps: steps.iter().map(step_line).collect(),
            turn: view.turn(&turn, 0, ROWS).await?,
        }))
    }

    /// The report, or the progress so far; none once it was emptied.
    pub(super) async fn report_of(&self, row: &RunRow, waits: bool) -> Result<Option<Report>> {
        if let Some(report) = &row.report {
            return Ok(serde_json::from_str(report).ok());
        }
        if let (_, Some(_)) = retention::emptied(&self.store, &row.turn_id).await? {
            return Ok(None);
        }
        status(&self.store, row, waits).await.map(Some)
    }

    /// The message that asks for another run from a step on.
    pub(super) async fn rerun_request(
        &self,
        viewer: &Viewer,
        key: &str,
        from: &str,
    ) -> Result<Option<String>> {
        let Some(row) = runs::by_id(&self.store, &key.into()).await? else { return Ok(None) };
        let Some(run) = self.run_of(viewer, row).await? else { return Ok(None) };
        let is_there = run.again.iter().any(|step| step == from);
        Ok(is_there.then(|| format!("/run {} --of {} --from {from}", run.workflow, run.key)))
    }

    pub(super) async fn file_of(&self, viewer: &Viewer, message: &OutboxId) -> Result<Option<OutgoingFile>> {
        let Some((turn, person)) = timeline::place_of(&self.store, message).await? else { return Ok(None) };
        let is_visible = match turn {
            Some(turn) => self.visible(viewer, &turn).await?.is_some(),
            None => person.as_str() == viewer.person,
        };
        let row = timeline::reply(&self.store, message).await?.filter(|_| is_visible);
        Ok(row.and_then(|row| serde_json::from_str(&row.file?).ok()))
    }
}

fn inputs(json: &str) -> Vec<(String, String)> {
    let table: serde_json::Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let all = table.into_iter().map(|(name, value)| (name, text(value)));
    all.filter(|(_, value)| !value.is_empty() && value != "null").collect()
}

pub(super) fn step_badge(status: StepStatus) -> Badge {
    match status {
        StepStatus::Pending => Badge::Pending,
        StepStatus::Running => Badge::Running,
        StepStatus::Waiting => Badge::Waiting,
        StepStatus::Completed => Badge::Done,
        StepStatus::Failed => Badge::Failed,
        StepStatus::Skipped | StepStatus::Cancelled => Badge::Stopped,
    }
}

/// How a step is doing, and for how long it has, for the drawing.
pub(super) fn step_state(step: &StepReport) -> (Badge, String) {
    let lasted = if step.duration_ms > 0 { duration(step.duration_ms) } else { String::new() };
    (step_badge(step.status), lasted)
}

fn step_line(step: &StepReport) -> RunStep {
    let lasted = (step.duration_ms > 0).then(|| duration(step.duration_ms));
    let attempts = (step.attempts > 1).then(|| page_talk::attempts(step.attempts));
    let error = step.error.as_deref().map(one_line);
    RunStep {
        name: step.id.clone(),
        by: step.agent.clone().unwrap_or_default(),
        badge: step_badge(step.status),
        notes: [lasted, attempts, error].into_iter().flatten().collect(),
    }
}
