//! How a run ends: its report, and everything below it closed in one commit.

use std::collections::BTreeMap;

use crate::domain::{ExecutionKind, ExecutionStatus, RunStatus};
use adjutant_chat::AgentProgress;
use serde_json::Value;

use super::opening::plain;
use super::state::{Ended, StepEnd, StepState};
use super::{Run, Runner, Stop, Walk};
use crate::agents::{self, AgentEnd};
use crate::journal::{Scope, fail_point};
use crate::skills::ErrorKind;
use crate::skills::call::CallError;
use crate::store::executions::{self, Closing, ExecutionRow};
use crate::store::{StoreError, questions, runs};
use crate::workflows::definition::Work;
use crate::workflows::report::{Report, RunReport, StepReport, count};
use crate::workflows::standing::{is_by_agents, workers};

impl Runner {
    /// Ends a run that never began.
    pub(super) async fn refuse(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        why: &str,
    ) -> Result<AgentEnd, StoreError> {
        let closing = Closing { error: failed(ErrorKind::Params, why), ..Closing::default() };
        self.close(scope, row, ExecutionStatus::Failed, closing).await
    }

    /// Ends a run that did not come to its first step.
    pub(super) async fn close(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        status: ExecutionStatus,
        closing: Closing,
    ) -> Result<AgentEnd, StoreError> {
        let now = scope.store.now();
        let mut batch = scope.batch();
        executions::close(&mut batch, &row.id, status, &closing, now);
        scope.store.write(batch).await?;
        Ok(ended(row, status, &closing, now))
    }
}

fn failed(kind: ErrorKind, why: &str) -> Option<String> {
    let error =
        CallError { kind, message: why.to_owned(), skill: None, recoverable: true, retry_after_s: None };
    serde_json::to_string(&error).ok()
}

fn ended(row: &ExecutionRow, status: ExecutionStatus, closing: &Closing, now: i64) -> AgentEnd {
    AgentEnd::Ended(Box::new(agents::Report::of(&row.closed(status, closing, now), &[])))
}

impl Run<'_> {
    /// Ends the run as far as it came.
    pub(super) async fn end(&self, walk: &Walk) -> Result<AgentEnd, StoreError> {
        for row in self.state.rows() {
            if !row.status.has_ended() {
                self.close_open(row).await?;
            }
        }
        let now = self.scope.store.now();
        let report = self.report(walk, now);
        let run_status = report.run.status.parse().unwrap_or(RunStatus::Failed);
        let status = match run_status {
            RunStatus::Complete => ExecutionStatus::Completed,
            RunStatus::Partial => ExecutionStatus::Partial,
            RunStatus::Cancelled => ExecutionStatus::Cancelled,
            RunStatus::Running | RunStatus::Waiting | RunStatus::Failed => ExecutionStatus::Failed,
        };
        let (output, outside) = self.output();
        let why = report.run.warnings.last().filter(|_| status == ExecutionStatus::Failed);
        let closing = Closing {
            result: Some(plain(&output)),
            data: (!output.is_string() && !output.is_null()).then(|| output.to_string()),
            error: why.and_then(|why| failed(ErrorKind::Tool, why)),
            untrusted: outside,
            ..Closing::default()
        };
        let mut batch = self.scope.batch();
        executions::close(&mut batch, &self.row.id, status, &closing, now);
        let report_json = serde_json::to_string(&report).unwrap_or_default();
        runs::end(&mut batch, &self.row.id, run_status, &report_json, &self.outputs(), now);
        fail_point("run-before-end");
        self.scope.store.write(batch).await?;
        fail_point("run-ended");
        Ok(ended(self.row, status, &closing, now))
    }

    /// Keeps what its steps gave while it sleeps.
    pub(super) async fn keep(&self) -> Result<(), StoreError> {
        let mut batch = self.scope.batch();
        runs::keep(&mut batch, &self.row.id, &self.outputs());
        self.scope.store.write(batch).await.map(|_| ())
    }

    /// JSON: what each step gave that has ended.
    fn outputs(&self) -> String {
        let ends = self.workflow.steps.iter().map(|step| step.id.as_str()).zip(self.state.step_states());
        let outputs: BTreeMap<&str, StepEnd> = ends
            .filter_map(|(id, state)| match state {
                StepState::Ended(end) => Some((id, *end)),
                _ => None,
            })
            .collect();
        serde_json::to_string(&outputs).unwrap_or_default()
    }

    /// Closes a piece that is still open, with all that is open below it.
    pub(super) async fn close_open(&self, row: ExecutionRow) -> Result<ExecutionRow, StoreError> {
        let mut batch = self.scope.batch();
        questions::withdraw_below(&mut batch, &row.id, self.scope.store.now());
        self.scope.store.write(batch).await?;
        for below in executions::of_agent(&self.scope.store, &row.id).await? {
            if below.kind == ExecutionKind::Agent && !below.status.has_ended() {
                Box::pin(self.close_open(below)).await?;
            }
        }
        let end = self.runner.agents.cancel(self.scope, self.registry, &row).await?;
        let status = match end {
            AgentEnd::Ended(report) => report.status,
            _ => ExecutionStatus::Cancelled,
        };
        Ok(ExecutionRow { status, ended_at: Some(self.scope.store.now()), ..row })
    }

    /// What the run gave: what the last of its steps did that gave anything. And whether anything of it is from outside.
    fn output(&self) -> (Value, bool) {
        let ends: Vec<StepEnd> =
            self.workflow.steps.iter().filter_map(|step| self.state.end_of(&step.id)).collect();
        let outside = ends.iter().any(|end| end.outside.is_some());
        let last = ends.into_iter().rev().find(|end| end.how == Ended::Completed && !end.output.is_null());
        (last.map(|end| end.output).unwrap_or_default(), outside)
    }

    fn report(&self, walk: &Walk, now: i64) -> Report {
        let mut warnings = Vec::new();
        let mut retries = 0;
        let mut steps = Vec::new();
        let mut fatal = None;
        for (step, state) in self.workflow.steps.iter().zip(self.state.step_states()) {
            if let StepState::Ended(end) = &state {
                warnings.extend(end.warnings.iter().map(|warning| format!("{}: {warning}", step.id)));
                retries += end.retries;
                if end.is_fatal() {
                    fatal = Some(format!("{}: {}", step.id, end.error.as_deref().unwrap_or_default()));
                }
            }
            let mut line = step_report(&step.id, workers(&self.workflow, step), &state);
            // What was not come to, and what was cut off.
            match state {
                StepState::Ended(_) => {}
                StepState::Pending => line.status = "skipped".to_owned(),
                StepState::Running | StepState::Asleep(_) => line.status = "cancelled".to_owned(),
            }
            steps.push(line);
        }
        let (completed, not) = (count(&steps, "completed"), count(&steps, "failed"));
        let status = match walk {
            Walk::Stopped(Stop::Cancelled) => "cancelled",
            Walk::TimeUp => "failed",
            _ if fatal.is_some() => "failed",
            _ if not > 0 => "partial",
            _ => "complete",
        };
        if matches!(walk, Walk::TimeUp) {
            let time = self.workflow.timeout.map(crate::wording::duration).unwrap_or_default();
            warnings.push(format!("it ran out of time ({time})"));
        }
        warnings.extend(fatal);
        let by_agents = self.workflow.steps.iter().filter(|step| is_by_agents(step));
        let pieces = by_agents.flat_map(|step| self.state.rows_of(&step.id));
        let agents = pieces.filter(|row| row.direct == 0).count();
        Report {
            run: RunReport {
                id: self.row.id.to_string(),
                workflow: self.workflow.name.clone(),
                status: status.to_owned(),
                steps_total: steps.len(),
                steps_completed: completed,
                steps_failed: not,
                steps_skipped: steps.len() - completed - not,
                agents,
                retries,
                duration_ms: now - self.kept.started_at,
                output: plain(&self.output().0),
                warnings,
            },
            steps,
        }
    }

    /// Shows how the steps stand.
    pub(super) fn show(&self) {
        let (now, stands) = (self.scope.store.now(), self.state.stands());
        let lines = self.workflow.steps.iter().zip(stands).zip(&self.titles);
        let lines = lines.map(|((step, (status, began, ended)), title)| AgentProgress {
            agent_id: self.name_of(&step.id),
            status: status.to_owned(),
            // What it will ask is not known before.
            mission: if matches!(step.work, Work::Approval(_)) { "a question".into() } else { title.clone() },
            skill: None,
            depends_on: step.depends_on.iter().map(|needed| self.name_of(needed)).collect(),
            elapsed_ms: began.map_or(0, |began| u64::try_from(ended.unwrap_or(now) - began).unwrap_or(0)),
        });
        self.scope.sub_progress.show(self.row.agent_id.as_deref().unwrap_or_default(), lines.collect());
    }
}

fn step_report(id: &str, agent: Option<String>, state: &StepState) -> StepReport {
    let mut report = StepReport {
        id: id.to_owned(),
        agent,
        status: String::new(),
        attempts: 0,
        duration_ms: 0,
        output_bytes: 0,
        error: None,
    };
    if let StepState::Ended(end) = state {
        report.attempts = end.attempts;
        report.duration_ms = end.ended - end.began;
        report.output_bytes = plain(&end.output).len();
        report.error.clone_from(&end.error);
    }
    state.word().clone_into(&mut report.status);
    report
}
