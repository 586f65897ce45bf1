//! Running a plan: a planner makes it, a person is asked, and it runs as a workflow.
//!
//! Everything is found again in the journal: the planner's answers are agents of the run, each version of the plan is
//! stored in the commit that asks about it, and the answers are those of the questions. So after a crash nothing is
//! planned or asked twice.

use std::collections::BTreeSet;

use adjutant_l10n as l10n;
use adjutant_store::Result;
use adjutant_store::questions::QuestionRow;
use adjutant_store::runs::{self, PlanRow};
use adjutant_store::usage::role_history;
use adjutant_turn::journal::{Question, Suspend, fail_point};
use adjutant_turn::wording::plans as words;
use adjutant_types::{Answer, QuestionKind, block};

use super::finish::close;
use super::questions::{answer, ask, of_run, question};
use super::rest::Rest;
use super::{NotStarted, Runner, keys};
use crate::agents::{AgentTask, Assignment, Report, Unit};
use crate::draft::{self, MAX_TRIES};
use crate::plans::{self, Basis, Forecast, PLANNER, Plan, PlanContext};
use crate::trace::text::cut;
use crate::view::estimate::Range;
use crate::view::history::{self, History};
use crate::{CheckContext, Workflow};

/// The part of an unusable answer that is repeated to the planner.
const MAX_REPEATED: usize = 8_000;
/// The columns of a changed goal, and of its change, that a title shows.
const SHOWN: usize = 180;

/// The person's decision about a version of a plan.
pub(super) enum Decision {
    Run,
    Change(String),
    Cancel,
    /// Nobody answered in time.
    Expired,
}

/// The version of a plan that is wanted.
pub(super) struct Wanted<'w> {
    pub(super) goal: &'w str,
    pub(super) version: i64,
    /// The version so far, and how the person wants it changed.
    pub(super) change: Option<(&'w PlanRow, &'w str)>,
    /// The rest of the plan, if a plan runs already.
    pub(super) rest: Option<&'w Rest>,
}

impl Runner {
    /// The workflow of a plan for a goal, and the plan's version, once its person wants it to run.
    pub(super) async fn planned(&self, unit: Unit<'_>, goal: &str) -> Result<(Workflow, i64), NotStarted> {
        let Some(stored) = runs::plan(&unit.ctx.store, &unit.row.id).await? else {
            let wanted = Wanted { goal, version: 1, change: None, rest: None };
            return Err(self.propose(unit, &wanted).await?.into());
        };
        match decision(unit).await? {
            Decision::Change(wish) => {
                let change = Some((&stored, wish.as_str()));
                let wanted = Wanted { goal, version: stored.version + 1, change, rest: None };
                Err(self.propose(unit, &wanted).await?.into())
            }
            Decision::Cancel => Err(close(unit, Ok(l10n::plans::cancelled())).await?.into()),
            Decision::Expired => Err(l10n::plans::nobody_answered().into()),
            Decision::Run => {
                let plan: Option<Plan> = serde_json::from_str(&stored.body).ok();
                let workflow = plan.and_then(|plan| plans::workflow(&plan, &stored.goal).ok());
                Ok((workflow.ok_or_else(l10n::plans::gone)?, stored.version))
            }
        }
    }

    /// Has a version of the plan made, stores it, and asks about it, the last two in one commit.
    pub(super) async fn propose(&self, unit: Unit<'_>, wanted: &Wanted<'_>) -> Result<Suspend, NotStarted> {
        let Unit { ctx, row, .. } = unit;
        let Wanted { version, rest, change, .. } = *wanted;
        let mut plan = self.by_planner(unit, wanted).await?;
        // Its result is judged by the last change, too.
        let changed = |max: usize| match change {
            Some((previous, wish)) => l10n::plans::changed_goal(cut(&previous.goal, max), cut(wish, max)),
            None => wanted.goal.to_owned(),
        };
        let (goal, title) = (&changed(plans::MAX_GOAL), &changed(SHOWN));
        let workflow = plans::workflow(&plan, goal).map_err(|_| l10n::plans::gone())?;
        let text = match rest {
            None => {
                plan.forecast = self.forecast(unit, &workflow).await?;
                format!("{}\n\n{}", plans::for_chat(&plan, title, &workflow, version > 1), l10n::plans::ask())
            }
            Some(rest) => {
                rest.take_over(&mut plan)?;
                plan.forecast = self.forecast(unit, &rest.only(&workflow)).await?;
                let difference = plans::difference(&rest.plan, &plan, title, &workflow);
                format!("{difference}\n\n{}", l10n::plans::ask_rest())
            }
        };
        let plan_row = PlanRow {
            id: row.id.clone(),
            version,
            turn_id: ctx.turn.id.clone(),
            goal: goal.clone(),
            body: serde_json::to_string(&plan).unwrap_or_default(),
            created_at: ctx.store.now(),
        };
        let kind = QuestionKind::Plan { goal: goal.clone() };
        let question = Question { kind, execution: Some(&row.id), text, choices: words::plan_choices };
        let mut batch = ctx.batch();
        runs::insert_plan(&mut batch, &plan_row);
        fail_point("plan-made");
        Ok(ask(ctx, batch, question, None).await?)
    }

    /// The planner's plan. Its errors are put to it once.
    async fn by_planner(&self, unit: Unit<'_>, wanted: &Wanted<'_>) -> Result<Plan, NotStarted> {
        let Unit { ctx, registry, .. } = unit;
        let (catalogue, roles) = (self.workflows.current(), self.agents.roles.current());
        let (approval, workflows) = (&ctx.turn.settings.approval, &catalogue.workflows);
        let check = CheckContext { skills: registry, approval, workflows };
        let executor = &self.agents.executor;
        let accounts = executor.services.accounts.of(ctx).await?;
        let offered = &executor.offered(ctx, registry, &accounts).await?;
        let limits = &ctx.limits.budget.limits;
        let context = PlanContext {
            check,
            roles: &roles,
            offered,
            limits,
            previous: wanted.rest.map(|rest| &rest.previous),
        };
        let name =
            wanted.rest.map_or_else(|| draft::name(wanted.goal, workflows), |rest| rest.plan.name.clone());
        let change = wanted.change.map(|(previous, wish)| {
            let shown = block::from(&previous.id, "the plan", &without_forecast(&previous.body));
            words::change(&shown, wish)
        });
        let mut parts: Vec<String> =
            wanted.rest.map(|rest| rest.context.clone()).into_iter().chain(change).collect();
        let mut errors = Vec::new();
        for attempt in 1..=MAX_TRIES {
            let key = keys::plan(wanted.version, u32::try_from(attempt).unwrap_or(u32::MAX));
            let context_text = (!parts.is_empty()).then(|| parts.join("\n\n"));
            let task = AgentTask { context: context_text, ..AgentTask::default() };
            let role = roles.get(PLANNER).ok_or_else(|| roles.missing(PLANNER))?;
            let assignment =
                Assignment { role, asked: None, parent: None, success_criteria: None, offered, limits };
            let mut task = assignment.apply(task)?;
            // Its own stand in its prompt.
            let is_own = |line: &str| task.skills.iter().any(|own| line.starts_with(&format!("- {own}(")));
            let others: Vec<&str> = registry.catalogue().lines().filter(|line| !is_own(line)).collect();
            task.mission =
                words::mission(wanted.goal, &roles.listing(), &others.join("\n"), plans::MAX_STEPS);
            let report = self.think(unit, &key, task).await?;
            if !report.status.ended_well() {
                return Err(l10n::plans::planner_failed(report.line()).into());
            }
            match plans::read(&report.result, report.structured.as_ref(), (&name, wanted.goal), &context) {
                Ok(plan) => return Ok(plan),
                Err(found) => errors = found,
            }
            parts.push(words::correct(&errors, &repeated(&report)));
        }
        Err(l10n::plans::no_plan(errors.join("; ")).into())
    }

    /// The forecast of a workflow of roles, by the usage of earlier agents, or of a typical one where they are too few.
    async fn forecast(&self, unit: Unit<'_>, workflow: &Workflow) -> Result<Forecast> {
        let agents = workflow.steps.iter().flat_map(|step| step.kind.agents());
        let roles =
            agents.filter_map(|id| workflow.agent(id)?.as_role.as_deref()).chain(workflow.review.as_deref());
        let roles: BTreeSet<&str> = roles.collect();
        let (mut history, mut typical) = (History::new(), 0);
        for role in &roles {
            let past = history::past(&role_history::of_role(&unit.ctx.store, role).await?);
            typical += usize::from(past.is_none());
            history.insert((*role).to_owned(), past.unwrap_or_else(history::typical));
        }
        let basis = match typical {
            0 => Basis::Past,
            count if count < roles.len() => Basis::Mixed,
            _ => Basis::Limits,
        };
        let (estimate, cost_usd) = self.estimate(unit, workflow, Some(&history));
        let Range(usual, most) = estimate.model_calls;
        Ok(Forecast { model_calls: (usual, most), cost_usd, basis })
    }
}

/// The person's decision about the newest version; asks for the change if they only asked for one.
pub(super) async fn decision(Unit { ctx, row, .. }: Unit<'_>) -> Result<Decision, NotStarted> {
    let asked = of_run(ctx, row).await?;
    let is_plan = |question: &QuestionRow| matches!(question.kind, QuestionKind::Plan { .. });
    let Some(at) = asked.iter().rposition(is_plan) else { return Err(Suspend::ForPerson.into()) };
    let Some(reply) = answer(&asked[at])? else { return Ok(Decision::Expired) };
    let wish = match reply {
        Answer::Approve => return Ok(Decision::Run),
        Answer::Reject => return Ok(Decision::Cancel),
        other => other.wish().unwrap_or_default(),
    };
    if !wish.is_empty() {
        return Ok(Decision::Change(wish.to_owned()));
    }
    let Some(more) = asked.get(at + 1) else {
        let kind = QuestionKind::Input { name: l10n::plans::change_question() };
        let question = question(row, kind, l10n::questions::ask_for_text(l10n::plans::what_to_change()));
        return Err(ask(ctx, ctx.batch(), question, None).await?.into());
    };
    Ok(answer(more)?.map_or(Decision::Expired, |reply| Decision::Change(reply.as_str().to_owned())))
}

/// A plan as the planner wrote it.
fn without_forecast(body: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(serde_json::Value::Object(mut plan)) => {
            plan.retain(|name, _| !matches!(name.as_str(), "forecast" | "name" | "changes"));
            serde_json::Value::Object(plan).to_string()
        }
        _ => body.to_owned(),
    }
}

/// The beginning of an answer, in a block of its own: the planner may have read text from outside.
fn repeated(report: &Report) -> String {
    let whole = report.whole();
    let text = &whole[..whole.floor_char_boundary(MAX_REPEATED)];
    block::from(&report.execution, "your answer", if text.trim().is_empty() { "(nothing)" } else { text })
}
