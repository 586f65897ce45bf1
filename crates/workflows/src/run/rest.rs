//! A changed rest: after a step of a plan has failed, the planner may plan what is left anew, and the person is asked.
//!
//! It is another version of the plan, stored in the commit that asks about it. After the yes the run goes on with that
//! version's workflow, in which the steps that are done come first and are found in the journal.

use std::fmt::Write;

use adjutant_chat::AgentProgress;
use adjutant_l10n as l10n;
use adjutant_store::{Result, executions, questions, runs};
use adjutant_turn::journal::fail_point;
use adjutant_turn::wording::plans as words;
use adjutant_types::{Answer, ExecutionStatus, QuestionKind};
use serde_json::Value;

use super::plan::{Decision, Wanted, decision};
use super::state::{StepOutcome, StepState};
use super::{NotStarted, Run, Stop, Walk, keys};
use crate::Workflow;
use crate::agents::AgentEnd;
use crate::plans::{self, Change, FailedStep, Kept, MAX_CHANGES, Plan, PlanStep};

/// The part of a result that the planner reads, in characters.
const SHOWN: usize = 2_000;

/// The rest of a plan after a failure.
pub(super) struct Rest {
    pub(super) plan: Plan,
    /// The part of the plan that stays.
    pub(super) previous: Kept,
    failed: Vec<FailedStep>,
    pub(super) context: String,
}

impl Rest {
    /// Makes a planner's rest a version of the plan, or says why there is none.
    pub(super) fn take_over(&self, plan: &mut Plan) -> Result<(), String> {
        if plan.steps.len() == self.previous.done.len() {
            return Err(l10n::plans::no_rest());
        }
        plan.changes.clone_from(&self.plan.changes);
        plan.changes.push(Change::of(&self.plan, &plan.steps, &self.previous, self.failed.clone()));
        Ok(())
    }

    /// A workflow without what is done.
    pub(super) fn only(&self, workflow: &Workflow) -> Workflow {
        let mut rest = workflow.clone();
        rest.steps.retain(|step| self.previous.done.iter().all(|done| done.id != step.id));
        rest
    }
}

impl Run<'_> {
    /// Whether the rest can be planned anew after a failure.
    pub(super) fn can_change(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.changes.len() < MAX_CHANGES)
    }

    /// Runs the steps and has them judged; if one fails, the rest may be changed.
    pub(super) async fn to_the_end(&self) -> Walk {
        let walk = self.walk_and_review().await;
        if !matches!(walk, Walk::Ended) || !self.state.has_failed() || self.ctx.control.cancel.is_cancelled()
        {
            return walk;
        }
        match self.change_rest().await {
            Ok(true) => Walk::Changed,
            Ok(false) => walk,
            Err(NotStarted::Refused(why)) => {
                self.state.warn(why);
                walk
            }
            Err(NotStarted::Store(error)) => Walk::Stopped(error.into()),
            Err(NotStarted::End(AgentEnd::Suspended(suspend))) => Walk::Stopped(suspend.into()),
            Err(NotStarted::End(AgentEnd::Done(_))) => Walk::Stopped(Stop::Cancelled),
        }
    }

    /// Whether the run goes on with a changed rest; asks, if nobody was asked yet.
    async fn change_rest(&self) -> Result<bool, NotStarted> {
        let store = &self.ctx.store;
        let Some(plan) = self.plan.as_ref().filter(|_| self.can_change()) else { return Ok(false) };
        if self.was_refused().await? {
            return Ok(false);
        }
        let Some(newest) = runs::plan(store, &self.row.id).await? else { return Ok(false) };
        let rest = self.what_is_left(plan).await?;
        let (goal, rest) = (newest.goal.as_str(), Some(&rest));
        let wish;
        let wanted = if newest.version > self.version {
            match decision(self.unit()).await? {
                Decision::Run => {
                    let plan: Option<Plan> = serde_json::from_str(&newest.body).ok();
                    let workflow = plan.and_then(|plan| plans::workflow(&plan, goal).ok());
                    let workflow = workflow.ok_or_else(l10n::plans::gone)?;
                    let mut batch = self.ctx.batch();
                    executions::start(&mut batch, &self.row.id, store.now());
                    runs::change(&mut batch, &self.row.id, &workflow.text, newest.version);
                    store.write(batch).await?;
                    fail_point("rest-changed");
                    return Ok(true);
                }
                Decision::Cancel => return Err(l10n::plans::rest_cancelled().into()),
                Decision::Expired => return Err(l10n::plans::rest_expired().into()),
                Decision::Change(text) => wish = text,
            }
            Wanted { goal, version: newest.version + 1, change: Some((&newest, &wish)), rest }
        } else {
            Wanted { goal, version: newest.version + 1, change: None, rest }
        };
        self.show_planning(wanted.version);
        let asked = self.runner.propose(self.unit(), &wanted).await;
        Err(asked.map_or_else(|why| why, NotStarted::from))
    }

    /// Shows that the rest is being planned. The line goes when the steps are shown again.
    fn show_planning(&self, version: i64) {
        let line = AgentProgress {
            agent_id: self.name_of(&keys::plan(version, 1)),
            status: ExecutionStatus::Running.as_str().to_owned(),
            mission: l10n::plans::planning_rest(),
            ..AgentProgress::default()
        };
        self.ctx.io.sub_progress.put(self.row.agent_id.as_deref().unwrap_or_default(), line);
    }

    /// Whether a person refused anything: no agent is made because of a no.
    async fn was_refused(&self) -> Result<bool> {
        let asked = questions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        Ok(asked.iter().any(|question| {
            let is_no = matches!(question.answer, Some(Answer::Reject | Answer::Withdrawn));
            is_no && matches!(question.kind, QuestionKind::Approval { .. })
        }))
    }

    /// The done, failed and open steps, and their description for the planner.
    async fn what_is_left(&self, plan: &Plan) -> Result<Rest> {
        let (mut previous, mut failed) = (Kept::default(), Vec::new());
        previous.begun = self.state.begun();
        let (mut done, mut broken, mut open) = (String::new(), String::new(), String::new());
        for (step, state) in plan.steps.iter().zip(self.state.step_states()) {
            let line = line(step);
            match state {
                StepState::Ended(end) if end.how == StepOutcome::Completed => {
                    let result: String = super::context::plain(&end.output).chars().take(SHOWN).collect();
                    let result = self.shown(&Value::from(result), end.outside.as_deref());
                    let _ = write!(done, "\n{line}\n  Result: {result}");
                    previous.done.push(step.clone());
                }
                StepState::Ended(end) => {
                    let reason = end.error.clone().unwrap_or_default();
                    let rows = self.state.rows_of(&step.id);
                    let outside = rows.iter().find(|row| !row.taint.is_clean()).map(|row| row.id.as_str());
                    let why = self.shown(&Value::from(reason.clone()), outside);
                    let effects = self.done_already(&rows).await?;
                    let _ = write!(broken, "\n{line}\n  Why it failed: {why}{effects}");
                    failed.push(FailedStep { id: step.id.clone(), reason });
                }
                // Whole, so that the planner can keep it as it is.
                _ => {
                    let _ = write!(open, "\n- {}", serde_json::to_string(step).unwrap_or_default());
                }
            }
        }
        let context = words::rest(&done, &broken, &open);
        Ok(Rest { plan: plan.clone(), previous, failed, context })
    }
}

/// A step as the planner knows it.
fn line(step: &PlanStep) -> String {
    let needs = match step.depends_on.is_empty() {
        true => String::new(),
        false => format!(", after {}", step.depends_on.join(", ")),
    };
    format!("- {} ({}{needs}): {}", step.id, step.role, step.task)
}
