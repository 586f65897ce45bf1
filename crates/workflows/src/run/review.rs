//! The review of a run: an agent of a role judges each step by its success criteria. What falls short is done again
//! once, reviewed again, and then told.

use std::collections::HashMap;
use std::fmt::Write;

use adjutant_chat::AgentProgress;
use adjutant_l10n as l10n;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::{Result, executions, runs};
use adjutant_turn::journal::fail_point;
use adjutant_turn::wording;
use adjutant_types::{ExecutionKind, ExecutionStatus};
use serde_json::Value;

use super::attempts::AttemptError;
use super::context::plain;
use super::state::{Redo, StepOutcome};
use super::{Run, Stop, Walk, keys};
use crate::agents::{AgentTask, Job, Report};
use crate::definition::{Step, StepKind};
use crate::view::report;
use crate::view::report::{Spent, StepReview};

/// The first review, and one of what was done again.
const ROUNDS: u32 = 2;
/// The part of a result that the reviewer reads, in characters.
const SHOWN: usize = 6_000;
/// The longest reason, in characters.
const MAX_LENGTH: usize = 500;

impl Run<'_> {
    /// Runs the steps as far as possible; at their end they are judged, if the workflow says so.
    pub(super) async fn walk_and_review(&self) -> Walk {
        // Steps judged again after a change of the plan have reviews of their own.
        let changes = self.plan.as_ref().map_or(0, |plan| plan.changes.len());
        let before = ROUNDS * u32::try_from(changes).unwrap_or(0);
        for round in 1..=ROUNDS {
            let walk = self.walk().await;
            let Some(role) = &self.workflow.review else { return walk };
            if !matches!(walk, Walk::Ended) || self.state.has_failed() {
                return walk;
            }
            match self.review(role, before + round).await {
                Err(stop) => return Walk::Stopped(stop),
                Ok(short) if short.is_empty() || round == ROUNDS => return walk,
                Ok(short) => short.into_iter().for_each(|(step, redo)| self.state.redo(step, redo)),
            }
        }
        Walk::Ended
    }

    /// Has the steps judged; those that fall short.
    async fn review(&self, role: &str, round: u32) -> Result<Vec<(&str, Redo)>, Stop> {
        let judged: Vec<(&Step, &str)> =
            self.workflow.steps.iter().filter_map(|step| self.judged(step)).collect();
        if judged.is_empty() {
            return Ok(Vec::new());
        }
        let key = keys::review(round);
        let task = AgentTask { mission: self.review_mission(&judged), ..AgentTask::default() };
        let task = match self.with_role(role, &key, task, (None, None)).await {
            Ok(task) => task,
            Err(AttemptError::Stop(stop)) => return Err(stop),
            Err(AttemptError::Failed { reason, .. }) => return Ok(self.not_reviewed(&reason)),
        };
        self.show();
        let report = self.run_unit(&key, Job { task, ..Job::default() }, &self.cancel).await?;
        fail_point("reviewed");
        if !report.status.ended_well() {
            return Ok(self.not_reviewed(&report.line()));
        }
        let ids: Vec<&str> = judged.iter().map(|(step, _)| step.id.as_str()).collect();
        let Some(verdicts) = verdicts(&report, &ids) else {
            return Ok(self.not_reviewed(&l10n::plans::no_verdict()));
        };
        self.state.reviewed(verdicts.clone(), None);
        let short = judged.iter().filter_map(|(step, _)| {
            let verdict = verdicts.get(&step.id).filter(|verdict| !verdict.fulfilled)?;
            let end = self.state.end_of(&step.id)?;
            let outside = report.untrusted.then(|| report.execution.to_string());
            let reason = self.shown(&Value::from(verdict.reason.clone()), outside.as_deref());
            Some((step.id.as_str(), Redo { reason, result: self.shown(&end.output, end.outside.as_deref()) }))
        });
        Ok(short.collect())
    }

    /// Notes that nobody judged the run; nothing is done again.
    fn not_reviewed(&self, why: &str) -> Vec<(&str, Redo)> {
        self.state.reviewed(HashMap::new(), Some(l10n::plans::not_reviewed(why)));
        Vec::new()
    }

    /// A step that one agent did, with its success criteria; not one that a review of this run has accepted.
    fn judged<'s>(&'s self, step: &'s Step) -> Option<(&'s Step, &'s str)> {
        let StepKind::Agent(agent) = &step.kind else { return None };
        let criteria = self.workflow.agent(agent)?.success_criteria.as_deref()?;
        let has_ended = self.state.end_of(&step.id).is_some_and(|end| end.how == StepOutcome::Completed);
        let is_accepted = self.state.review_of(&step.id).is_some_and(|review| review.fulfilled);
        (has_ended && !is_accepted).then_some((step, criteria))
    }

    fn review_mission(&self, judged: &[(&Step, &str)]) -> String {
        let mut text = wording::plans::review(&self.workflow.description);
        for (step, criteria) in judged {
            let Some(end) = self.state.end_of(&step.id) else { continue };
            let result: String = plain(&end.output).chars().take(SHOWN).collect();
            let result = self.shown(&Value::from(result), end.outside.as_deref());
            let StepKind::Agent(agent) = &step.kind else { continue };
            let task = self.workflow.agent(agent).map(|agent| agent.prompt.source()).unwrap_or_default();
            let _ = write!(text, "\n\nStep {}\nTask: {task}\n", step.id);
            let _ = write!(text, "Success criteria: {criteria}\nResult: {result}");
        }
        text
    }

    /// The text beside the input for the agent that repeats a step.
    pub(super) async fn what_falls_short(&self, step: &str, redo: &Redo) -> Result<String> {
        let text = wording::plans::falls_short(&redo.reason, &redo.result);
        let again = self.name_of(&keys::again(step));
        let mut rows = self.state.rows_of(step);
        rows.retain(|row| keys::after(row.agent_id.as_deref().unwrap_or_default(), &again).is_none());
        Ok(text + &self.done_already(&rows).await?)
    }

    /// The effects of these agents, a line each.
    pub(super) async fn done_already(&self, rows: &[ExecutionRow]) -> Result<String> {
        let mut text = String::new();
        for row in rows {
            for call in executions::of_agent(&self.ctx.store, &row.id).await? {
                let skill = call.skill.as_deref().unwrap_or_default();
                let is_read = self.registry.get(skill).is_none_or(|skill| skill.only_reads());
                if call.kind == ExecutionKind::Skill && call.status == ExecutionStatus::Completed && !is_read
                {
                    let outside = Some(row.id.as_str()).filter(|_| !call.taint.is_clean());
                    let result = Value::from(call.result.as_deref().unwrap_or_default());
                    let result = self.shown(&result, outside);
                    let _ = write!(text, "\nDone already, don't do it a second time: {skill}: {result}");
                    let data = call.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
                    let data: Value = data.unwrap_or_default();
                    if let Some(draft) = data["message_id"].as_str().filter(|_| skill == "email.draft") {
                        let _ = write!(text, "; to change it, save it again with replaces: {draft}");
                    }
                }
            }
        }
        Ok(text)
    }

    /// The steps that still fall short after the last review.
    pub(super) fn shortcomings(&self) -> Option<String> {
        let steps = self.workflow.steps.iter();
        let reviews = steps.filter_map(|step| Some((&step.id, self.state.review_of(&step.id)?)));
        let short: Vec<String> = reviews
            .filter(|(_, review)| !review.fulfilled)
            .map(|(step, review)| l10n::plans::falls_short(step, &review.reason))
            .collect();
        (!short.is_empty()).then(|| short.join("; "))
    }

    /// Adds what the model calls took.
    pub(super) async fn add_costs(&self, report: &mut report::Report) -> Result<()> {
        let costs = runs::costs(&self.ctx.store, &self.ctx.turn.id).await?;
        let costs_under = |name: &str| {
            let costs = costs.iter().filter(|cost| keys::after(&cost.agent_id, name).is_some());
            costs.fold(Spent::default(), |all, cost| Spent {
                model_calls: all.model_calls + cost.calls,
                tokens: all.tokens + cost.tokens,
                cost_usd: all.cost_usd + cost.cost_usd,
            })
        };
        for step in &mut report.steps {
            step.spent = Some(costs_under(&self.name_of(&step.id)));
        }
        report.run.spent = Some(costs_under(self.row.agent_id.as_deref().unwrap_or_default()));
        Ok(())
    }

    /// The review in the progress display, once it has begun.
    pub(super) fn review_line(&self, now: i64) -> Option<AgentProgress> {
        let rows = self.state.rows_of(&keys::review(1));
        let row = rows.iter().max_by_key(|row| row.started_at)?;
        Some(AgentProgress {
            agent_id: row.agent_id.clone().unwrap_or_default(),
            status: row.status.as_str().to_owned(),
            mission: l10n::plans::reviewing(),
            elapsed_ms: row
                .started_at
                .map_or(0, |started| u64::try_from(row.ended_at.unwrap_or(now) - started).unwrap_or(0)),
            ..AgentProgress::default()
        })
    }
}

/// The reviewer's verdicts on these steps; none without a verdict.
fn verdicts(report: &Report, steps: &[&str]) -> Option<HashMap<String, StepReview>> {
    let data = match &report.structured {
        Some(answer) if !answer.data.is_null() => answer.data.clone(),
        _ => super::output::first_json(&report.result)?,
    };
    let data = if data["data"].is_object() { data["data"].clone() } else { data };
    let verdict = |step: &Value| {
        let id = step["id"].as_str().filter(|id| steps.contains(id))?;
        let reason = step["reason"].as_str().unwrap_or_default().chars().take(MAX_LENGTH).collect();
        Some((id.to_owned(), StepReview { fulfilled: step["fulfilled"].as_bool()?, reason }))
    };
    let verdicts: HashMap<String, StepReview> =
        data["steps"].as_array().into_iter().flatten().filter_map(verdict).collect();
    match (verdicts.is_empty(), data["verdict"].as_str()) {
        (false, _) => Some(verdicts),
        (true, Some("accept")) => {
            let fulfilled = || StepReview { fulfilled: true, reason: String::new() };
            Some(steps.iter().map(|id| ((*id).to_owned(), fulfilled())).collect())
        }
        (true, _) => None,
    }
}
