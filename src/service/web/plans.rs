//! Plans on the page. A plan is begun by a `/plan`, like in any chat; what is shown is what the journal has of it.

use std::collections::HashMap;

use adjutant_l10n::{page_plans, page_talk};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::runs::{self, PlanRow, RunRow};
use adjutant_store::turns::TurnRow;
use adjutant_store::{Result, people, timeline, turns};
use adjutant_turn::wording::plans::cancel_button;
use adjutant_types::{PersonId, QuestionKind, QuestionState, RunStatus};
use adjutant_web::views::{Badge, PageAction, Plan as Shown, PlanLine, PlanStep as ShownStep, Turn, Viewer};
use adjutant_web::{Backend, Unavailable};
use adjutant_workflows::command::{PLAN, planned};
use adjutant_workflows::plans::{self, Plan, PlanStep};
use adjutant_workflows::trace::{duration, one_line};
use adjutant_workflows::view::comparison::{deed, took};
use adjutant_workflows::view::report::{Report, Spent, StepReport};

use super::runs::{step_badge, step_state};
use super::view::{ViewerContext, turn_badge};
use super::workflows::{drawing, run_badge};
use super::{ROWS, WebBackend};

const PLANS: i64 = 50;
/// The longest goal in the list, in characters.
const GOAL: usize = 160;

impl WebBackend {
    pub(super) async fn all_plans(&self, viewer: &Viewer) -> Result<Vec<PlanLine>> {
        let person: PersonId = viewer.person.as_str().into();
        let view = self.view(viewer).await?;
        let whose = (!viewer.is_owner).then_some(&person);
        let mut lines = Vec::new();
        for (id, by) in timeline::plans(&self.store, whose, PLANS).await? {
            let Some(row) = runs::plan(&self.store, &id).await? else { continue };
            let Some(turn) = turns::by_id(&self.store, &row.turn_id).await? else { continue };
            let run = runs::by_id(&self.store, &id).await?;
            let by =
                if by == person { None } else { Some(people::person_by_id(&self.store, &by).await?.name) };
            let badge = view.plan_badge(&turn, run.as_ref()).await?;
            let act = match badge {
                _ if by.is_some() => None,
                _ if turn.ended_at.is_some() => Some(PageAction::DeletePlan),
                Badge::Waiting => Some(PageAction::CancelPlan),
                _ => None,
            };
            let goal: String = one_line(&row.goal).chars().take(GOAL).collect();
            lines.push(PlanLine {
                key: id.to_string(),
                goal: if goal.is_empty() { adjutant_l10n::plans::deleted() } else { goal },
                by,
                badge,
                at: view.moment(row.created_at),
                act,
            });
        }
        Ok(lines)
    }

    /// What is wrong with a goal; nothing if a plan was asked for.
    pub(super) async fn ask_for_plan(
        &self,
        viewer: &Viewer,
        once: &str,
        goal: &str,
    ) -> Result<Option<String>, Unavailable> {
        let goal = goal.trim();
        let text = format!("{PLAN} {goal}");
        match planned(&text) {
            Some(Ok(_)) => self.hear(viewer, once, &text, Vec::new()).await.map(|()| None),
            Some(Err(problem)) if !goal.is_empty() => Ok(Some(problem)),
            _ => Ok(Some(page_plans::no_goal())),
        }
    }

    /// A plan of the viewer's own, with its turn.
    pub(super) async fn own_plan(&self, viewer: &Viewer, key: &str) -> Result<Option<(PlanRow, TurnRow)>> {
        let Some(row) = runs::plan(&self.store, &key.into()).await? else { return Ok(None) };
        let is_own = timeline::is_of(&self.store, &viewer.person.as_str().into(), &row.turn_id).await?;
        let turn = turns::by_id(&self.store, &row.turn_id).await?.filter(|_| is_own);
        Ok(turn.map(|turn| (row, turn)))
    }

    /// Drops a plan that waits for the viewer, as its button does; one that waits for something else is stopped. False if
    /// it isn't theirs, or doesn't wait.
    pub(super) async fn cancel_plan(&self, viewer: &Viewer, key: &str) -> Result<bool, Unavailable> {
        let Some((row, turn)) = self.own_plan(viewer, key).await? else { return Ok(false) };
        let run = runs::by_id(&self.store, &row.id).await?;
        let badge = self.view(viewer).await?.plan_badge(&turn, run.as_ref()).await?;
        if turn.ended_at.is_some() || badge != Badge::Waiting {
            return Ok(false);
        }
        let asked = questions::of_turn(&self.store, &turn.id).await?;
        let is_open = |question: &&QuestionRow| {
            question.state == QuestionState::Pending && matches!(question.kind, QuestionKind::Plan { .. })
        };
        match asked.iter().find(is_open).map(|question| cancel_button(&question.id)) {
            Some(button) => Ok(self.pressed(viewer, &button, &button).await?.is_none()),
            None => self.stop(viewer, turn.id.as_str()).await,
        }
    }

    pub(super) async fn plan_of(&self, viewer: &Viewer, row: PlanRow) -> Result<Option<Shown>> {
        let Some(turn_row) = self.visible(viewer, &row.turn_id).await? else { return Ok(None) };
        let view = self.view(viewer).await?;
        let run = runs::by_id(&self.store, &row.id).await?;
        let report = match &run {
            Some(run) => self.report_of(run, view.waits(run).await?).await?,
            None => None,
        };
        let turn = view.turn(&turn_row, 0, ROWS).await?;
        let plan: Option<Plan> = serde_json::from_str(&row.body).ok();
        let workflow = plan.as_ref().and_then(|plan| plans::workflow(plan, &row.goal).ok());
        let steps: HashMap<&str, &StepReport> =
            report.iter().flat_map(|report| &report.steps).map(|step| (step.id.as_str(), step)).collect();
        let state = |name: &str| steps.get(name).copied().map(step_state);
        let changes = plan.as_ref().map(|plan| plan.changes.clone()).unwrap_or_default();
        let is_added = |step: &PlanStep| changes.iter().any(|change| change.added.contains(&step.id));
        let line = |step: &PlanStep| step_line(step, steps.get(step.id.as_str()).copied(), is_added(step));
        let spent = took(&self.spent(&row, report.as_ref()).await?);
        Ok(Some(Shown {
            key: row.id.to_string(),
            version: row.version,
            badge: view.plan_badge(&turn_row, run.as_ref()).await?,
            at: view.moment(row.created_at),
            note: note(&turn, run.as_ref(), plan.as_ref()),
            questions: turn.replies.iter().filter(|reply| reply.is_question()).cloned().collect(),
            drawing: workflow.map(|workflow| drawing(&workflow, &[], state)).unwrap_or_default(),
            steps: plan.iter().flat_map(|plan| &plan.steps).map(line).collect(),
            forecast: plan
                .as_ref()
                .map(|plan| adjutant_l10n::plans::takes(plans::takes(&plan.forecast)))
                .unwrap_or_default(),
            uncertain: plan.as_ref().map(|plan| plan.uncertain.clone()).unwrap_or_default(),
            will_ask: plan.map(|plan| plan.will_ask).unwrap_or_default(),
            spent: vec![spent],
            warnings: report.as_ref().map(|report| report.run.warnings.clone()).unwrap_or_default(),
            output: report.map(|report| report.run.output).unwrap_or_default(),
            goal: row.goal,
            turn,
        }))
    }

    /// What the plan's model calls took: those of the report, or of its turn so far.
    async fn spent(&self, row: &PlanRow, report: Option<&Report>) -> Result<Spent> {
        if let Some(spent) = report.and_then(|report| report.run.spent) {
            return Ok(spent);
        }
        let mut all = Spent::default();
        for cost in runs::costs(&self.store, &row.turn_id).await? {
            all.model_calls += cost.calls;
            all.tokens += cost.tokens;
            all.cost_usd += cost.cost_usd;
        }
        Ok(all)
    }
}

impl ViewerContext<'_> {
    /// How a plan stands: as its run, and without one as its turn; one that was never run has nothing done.
    async fn plan_badge(&self, turn: &TurnRow, run: Option<&RunRow>) -> Result<Badge> {
        Ok(match run {
            Some(run) if self.waits(run).await? => run_badge(RunStatus::Waiting),
            Some(run) => run_badge(run.status),
            None if turn.ended_at.is_some() => Badge::Stopped,
            None => turn_badge(turn.status),
        })
    }
}

fn note(turn: &Turn, run: Option<&RunRow>, plan: Option<&Plan>) -> String {
    match (plan, run) {
        (None, _) => page_plans::steps_deleted(),
        (Some(_), None) if !turn.is_open => page_plans::dropped(),
        _ => String::new(),
    }
}

fn step_line(step: &PlanStep, report: Option<&StepReport>, is_added: bool) -> ShownStep {
    let mut notes = Vec::new();
    if let Some(report) = report {
        notes.extend((report.duration_ms > 0).then(|| duration(report.duration_ms)));
        notes.extend((report.attempts > 1).then(|| page_talk::attempts(report.attempts)));
        notes.extend(report.spent.filter(|spent| spent.model_calls > 0).map(|spent| took(&spent)));
        notes.extend(report.error.as_deref().map(one_line));
    }
    ShownStep {
        name: step.id.clone(),
        role: step.role.clone(),
        task: step.task.clone(),
        criteria: step.success_criteria.clone(),
        badge: report.map(|report| step_badge(report.status)),
        notes,
        verdict: report.filter(|report| report.review.is_some()).map(|report| deed(report, is_added)),
    }
}
