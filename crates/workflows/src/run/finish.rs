//! Ending a run: its report, and all its open rows closed in one commit.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_chat::AgentProgress;
use adjutant_l10n as l10n;
use adjutant_skills::ErrorKind;
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::questions;
use adjutant_store::{Result, runs};
use adjutant_turn::journal::fail_point;
use adjutant_types::text::shortened;
use adjutant_types::{ExecutionKind, ExecutionStatus, QuestionKind, RunStatus};
use serde_json::Value;

use super::context::plain;
use super::draft::decision;
use super::questions::choice_of;
use super::state::{StepOutcome, StepResult, StepState};
use super::{Run, Stop, Walk};
use crate::agents::{self, AgentEnd, Unit};
use crate::definition::{Step, StepKind};
use crate::plans::Plan;
use crate::view::report::{Report, RunReport, StepReport, StepStatus, count};
use crate::view::status::{is_by_agents, workers};

/// The part of a step's result that a plan's report has, in characters.
const SHOWN: usize = 6_000;

/// Ends a run before its first step: with its result, or with why it can't start.
pub(super) async fn close(Unit { ctx, row, .. }: Unit<'_>, said: Result<String, &str>) -> Result<AgentEnd> {
    let (status, closing) = match said {
        Ok(result) => (ExecutionStatus::Completed, Closing { result: Some(result), ..Closing::default() }),
        Err(why) => {
            let error = failed(ErrorKind::Params, why);
            (ExecutionStatus::Failed, Closing { error, ..Closing::default() })
        }
    };
    let now = ctx.store.now();
    ctx.write(|batch| executions::close(batch, &row.id, status, &closing, now)).await?;
    Ok(ended(row, status, &closing, now))
}

fn failed(kind: ErrorKind, why: &str) -> Option<String> {
    serde_json::to_string(&agents::error(kind, why.to_owned())).ok()
}

fn ended(row: &ExecutionRow, status: ExecutionStatus, closing: &Closing, now: i64) -> AgentEnd {
    AgentEnd::Done(Box::new(agents::Report::of(&row.closed(status, closing, now), &[])))
}

impl Run<'_> {
    pub(super) async fn end(&self, walk: &Walk) -> Result<AgentEnd> {
        for row in self.state.rows() {
            if !row.status.has_ended() {
                self.close_open(row).await?;
            }
        }
        let now = self.ctx.store.now();
        // Only the output of a plan tells of them.
        let idle = if self.workflow.review.is_some() { self.idle_steps().await? } else { BTreeSet::new() };
        let mut report = self.report(walk, now, &idle);
        if self.workflow.review.is_some() {
            self.add_costs(&mut report).await?;
        }
        let status = match report.run.status {
            RunStatus::Complete => ExecutionStatus::Completed,
            RunStatus::Partial => ExecutionStatus::Partial,
            RunStatus::Cancelled => ExecutionStatus::Cancelled,
            RunStatus::Failed | RunStatus::Running | RunStatus::Waiting => ExecutionStatus::Failed,
        };
        let (output, taint) = (self.output(&idle), self.taint());
        let why = report.run.warnings.last().filter(|_| status == ExecutionStatus::Failed).cloned();
        let mut result = plain(&output);
        report.run.kept = self.kept(status.ended_well()).await?;
        if let Some(kept) = &report.run.kept {
            result = format!("{result}\n\n{kept}").trim_start().to_owned();
        }
        let closing = Closing {
            result: Some(result),
            data: (!output.is_string() && !output.is_null()).then(|| output.to_string()),
            error: why.or_else(|| self.shortcomings()).and_then(|why| failed(ErrorKind::Tool, &why)),
            untrusted: !taint.is_clean(),
            taint,
            ..Closing::default()
        };
        let mut batch = self.ctx.batch();
        executions::close(&mut batch, &self.row.id, status, &closing, now);
        let report_json = serde_json::to_string(&report).unwrap_or_default();
        runs::end(&mut batch, &self.row.id, report.run.status, &report_json, &self.outputs(), now);
        fail_point("run-before-end");
        self.ctx.store.write(batch).await?;
        fail_point("run-ended");
        Ok(ended(self.row, status, &closing, now))
    }

    /// Of a workflow that was drafted from words: where it is saved, or how to keep it, if it ended well.
    async fn kept(&self, ended_well: bool) -> Result<Option<String>> {
        let asked = choice_of(self.ctx, self.row).await?;
        let Some((QuestionKind::Choice { options, draft: Some(_), .. }, Some(answer))) =
            asked.map(|asked| (asked.kind, asked.answer))
        else {
            return Ok(None);
        };
        let (folder, name) = (self.runner.folder.as_deref(), &self.workflow.name);
        let (_, saves) = decision(&options, answer.as_str());
        Ok(match folder {
            Some(folder) if saves => {
                Some(l10n::runs::saved(folder.join(format!("{name}.yaml")).display(), name))
            }
            Some(_) => ended_well.then(l10n::runs::not_kept),
            None => ended_well.then(l10n::runs::no_folder),
        })
    }

    /// Stores the results of its steps while the run is suspended.
    pub(super) async fn store_outputs(&self) -> Result<()> {
        self.ctx.write(|batch| runs::save_outputs(batch, &self.row.id, &self.outputs())).await
    }

    /// The results of the ended steps, as JSON.
    fn outputs(&self) -> String {
        let ends = self.workflow.steps.iter().map(|step| step.id.as_str()).zip(self.state.step_states());
        let outputs: BTreeMap<&str, StepResult> = ends
            .filter_map(|(id, state)| match state {
                StepState::Ended(end) => Some((id, *end)),
                _ => None,
            })
            .collect();
        serde_json::to_string(&outputs).unwrap_or_default()
    }

    /// Closes an open unit of work, with all its open children.
    pub(super) async fn close_open(&self, row: ExecutionRow) -> Result<ExecutionRow> {
        let now = self.ctx.store.now();
        self.ctx.write(|batch| questions::withdraw_of_execution(batch, &row.id, now)).await?;
        for child in executions::of_agent(&self.ctx.store, &row.id).await? {
            if child.kind == ExecutionKind::Agent && !child.status.has_ended() {
                Box::pin(self.close_open(child)).await?;
            }
        }
        let end = self.runner.agents.cancel(Unit { row: &row, ..self.unit() }).await?;
        let status = match end {
            AgentEnd::Done(report) => report.status,
            _ => ExecutionStatus::Cancelled,
        };
        Ok(ExecutionRow { status, ended_at: Some(self.ctx.store.now()), ..row })
    }

    /// The output of the run: that of its last step with one; of a plan, before it those of steps without receipts.
    fn output(&self, idle: &BTreeSet<&str>) -> Value {
        let ends = self.workflow.steps.iter().filter_map(|step| Some((step, self.state.end_of(&step.id)?)));
        let has_output = |end: &StepResult| end.how == StepOutcome::Completed && !end.output.is_null();
        let mut found: Vec<(&Step, StepResult)> = ends.filter(|(_, end)| has_output(end)).collect();
        let Some(last) = found.pop() else { return Value::Null };
        let is_told = |step: &Step| self.only_finds(step) || idle.contains(step.id.as_str());
        found.retain(|(step, _)| self.workflow.review.is_some() && is_told(step));
        if found.is_empty() {
            return last.1.output;
        }
        found.push(last);
        let text = |(step, end): &(&Step, StepResult)| {
            format!("**{}**\n{}", step.id, shortened(&plain(&end.output), SHOWN))
        };
        Value::String(found.iter().map(text).collect::<Vec<_>>().join("\n\n"))
    }

    /// The steps that might have changed something and didn't: no receipt tells of them.
    async fn idle_steps(&self) -> Result<BTreeSet<&str>> {
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let acts = |agent: &ExecutionRow, row: &ExecutionRow| {
            let skill = row.skill.as_deref().and_then(|name| self.registry.get(name));
            row.parent_id.as_ref() == Some(&agent.id) && skill.is_none_or(|skill| skill.has_effect())
        };
        let is_idle = |agent: &ExecutionRow| !rows.iter().any(|row| acts(agent, row));
        let steps = self.workflow.steps.iter().filter(|step| is_by_agents(step) && !self.only_finds(step));
        let idle = steps.filter(|step| self.state.rows_of(&step.id).iter().all(is_idle));
        Ok(idle.map(|step| step.id.as_str()).collect())
    }

    /// Whether a step has agents or a skill, and none that does more than read: receipts tell what others did.
    fn only_finds(&self, step: &Step) -> bool {
        let skills: Vec<&String> = match &step.kind {
            StepKind::Approval(_) | StepKind::Choice(_) => return false,
            StepKind::Skill(call) => vec![&call.skill],
            work => {
                let agents = work.agents().into_iter().filter_map(|id| self.workflow.agent(id));
                agents.flat_map(|agent| &agent.skills).collect()
            }
        };
        skills.iter().all(|name| self.registry.get(name).is_none_or(|skill| !skill.has_effect()))
    }

    fn report(&self, walk: &Walk, now: i64, idle: &BTreeSet<&str>) -> Report {
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
            line.review = self.state.review_of(&step.id);
            line.redone = self.state.redo_of(&step.id).is_some();
            match state {
                StepState::Ended(_) => {}
                StepState::Pending => line.status = StepStatus::Skipped,
                StepState::Running | StepState::Suspended { .. } => line.status = StepStatus::Cancelled,
            }
            steps.push(line);
        }
        let (completed, failed) = (count(&steps, StepStatus::Completed), count(&steps, StepStatus::Failed));
        let status = match walk {
            Walk::Stopped(Stop::Cancelled) => RunStatus::Cancelled,
            Walk::TimedOut => RunStatus::Failed,
            _ if fatal.is_some() => RunStatus::Failed,
            _ if failed > 0 || self.shortcomings().is_some() => RunStatus::Partial,
            _ => RunStatus::Complete,
        };
        if matches!(walk, Walk::TimedOut) {
            let time = self.workflow.timeout.map(adjutant_turn::wording::duration).unwrap_or_default();
            warnings.push(l10n::runs::run_out_of_time(time));
        }
        warnings.extend(fatal);
        warnings.extend(self.state.review_warnings());
        let output = plain(&self.output(idle));
        Report {
            run: RunReport {
                id: self.row.id.to_string(),
                workflow: self.workflow.name.clone(),
                status,
                steps_total: steps.len(),
                steps_completed: completed,
                steps_failed: failed,
                steps_skipped: steps.len() - completed - failed,
                agents: self.agents(),
                retries,
                duration_ms: now - self.stored.started_at,
                output: if self.plan.is_some() { agents::without_ids(&output) } else { output },
                warnings,
                forecast: self.plan.as_ref().map(Plan::first_forecast),
                changes: self.plan.as_ref().map(|plan| plan.changes.clone()).unwrap_or_default(),
                spent: None,
                kept: None,
            },
            steps,
        }
    }

    /// How many agents were started, those of steps that were left out since among them.
    fn agents(&self) -> usize {
        let by_agents = self.workflow.steps.iter().filter(|step| is_by_agents(step)).map(|step| &step.id);
        let changes = self.plan.iter().flat_map(|plan| &plan.changes);
        let is_gone = |id: &&String| self.workflow.steps.iter().all(|step| step.id != **id);
        let before = changes.flat_map(|change| change.before()).filter(is_gone);
        let ids: BTreeSet<&String> = by_agents.chain(before).collect();
        let rows = ids.into_iter().flat_map(|id| self.state.rows_of(id));
        rows.filter(|row| !row.direct).count()
    }

    pub(super) fn show(&self) {
        let (now, statuses) = (self.ctx.store.now(), self.state.statuses());
        let lines = self.workflow.steps.iter().zip(statuses).zip(&self.titles);
        let lines = lines.map(|((step, (status, began, ended)), title)| AgentProgress {
            agent_id: self.name_of(&step.id),
            status: status.as_str().to_owned(),
            // The question isn't known before.
            mission: match step.kind {
                StepKind::Approval(_) => l10n::runs::question(),
                _ => title.clone(),
            },
            skill: None,
            depends_on: step.depends_on.iter().map(|needed| self.name_of(needed)).collect(),
            elapsed_ms: began.map_or(0, |began| u64::try_from(ended.unwrap_or(now) - began).unwrap_or(0)),
        });
        let lines = lines.chain(self.review_line(now)).collect();
        self.ctx.io.sub_progress.show(self.row.agent_id.as_deref().unwrap_or_default(), lines);
    }
}

fn step_report(step: &str, agent: Option<String>, state: &StepState) -> StepReport {
    let mut report =
        StepReport { id: step.to_owned(), agent, status: state.status(), ..StepReport::default() };
    if let StepState::Ended(end) = state {
        report.attempts = end.attempts;
        report.duration_ms = end.ended - end.began;
        report.output_bytes = plain(&end.output).len();
        report.error.clone_from(&end.error);
    }
    report
}
