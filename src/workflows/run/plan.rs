//! Running a plan: a planner makes it, a person is asked, and it runs as a workflow.
//!
//! Everything is found again in the journal: the planner's answers are agents of the run, each version of the plan is
//! stored in the commit that asks about it, and the answers are those of the questions. So after a crash nothing is
//! planned or asked twice.

use std::sync::Arc;

use super::questions::{ask, of_run, question};
use super::{NotStarted, Runner, keys};
use crate::agents::{AgentEnd, AgentTask, Assignment, Report};
use crate::domain::{Answer, ExecutionStatus, QuestionKind, QuestionState};
use crate::journal::{Question, Scope, fail_point, untrusted};
use crate::skills::Registry;
use crate::store::StoreError;
use crate::store::executions::{self, Closing, ExecutionRow};
use crate::store::questions::QuestionRow;
use crate::store::runs::{self, PlanRow};
use crate::wording::{self, plans as words};
use crate::workflows::draft::{self, MAX_TRIES};
use crate::workflows::plans::{self, Forecast, PLANNER, Plan, PlanContext};
use crate::workflows::view::estimate::Range;
use crate::workflows::{CheckContext, Workflow};

/// How much of an answer that can't be used is repeated to the planner.
const MAX_REPEATED: usize = 8_000;

/// What a person says about a version of a plan.
enum Decision {
    Run,
    Change(String),
}

impl Runner {
    /// The workflow of a plan for a goal, once its person wants it to run.
    pub(super) async fn planned(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        goal: &str,
    ) -> Result<Workflow, NotStarted> {
        let Some(kept) = runs::plan(&scope.store, &row.id).await? else {
            return Err(self.propose(scope, registry, row, goal, None).await?.into());
        };
        match self.decision(scope, row).await? {
            Decision::Change(wish) => {
                Err(self.propose(scope, registry, row, goal, Some((&kept, &wish))).await?.into())
            }
            Decision::Run => {
                let plan: Option<Plan> = serde_json::from_str(&kept.body).ok();
                let workflow = plan.and_then(|plan| plans::workflow(&plan, &kept.goal).ok());
                workflow.ok_or_else(|| words::GONE.to_owned().into())
            }
        }
    }

    /// What the person said about the newest version; asks what to change if they only said that.
    async fn decision(&self, scope: &Scope, row: &ExecutionRow) -> Result<Decision, NotStarted> {
        let asked = of_run(scope, row).await?;
        let is_plan = |question: &QuestionRow| matches!(question.kind, QuestionKind::Plan { .. });
        let Some(at) = asked.iter().rposition(is_plan) else { return Err(AgentEnd::Waiting.into()) };
        let wish = match answer(&asked[at])? {
            Answer::Approve => return Ok(Decision::Run),
            Answer::Reject => {
                let closing = Closing { result: Some(words::CANCELLED.to_owned()), ..Closing::default() };
                return Err(self.close(scope, row, ExecutionStatus::Completed, closing).await?.into());
            }
            other => other.wish().unwrap_or_default(),
        };
        if !wish.is_empty() {
            return Ok(Decision::Change(wish.to_owned()));
        }
        match asked.get(at + 1) {
            Some(said) => Ok(Decision::Change(answer(said)?.as_str().to_owned())),
            None => Err(self.ask_what(scope, row).await?.into()),
        }
    }

    async fn ask_what(&self, scope: &Scope, row: &ExecutionRow) -> Result<AgentEnd, StoreError> {
        let kind = QuestionKind::Input { name: words::CHANGE.to_owned() };
        let question = question(row, kind, wording::ask_for(words::WHAT_TO_CHANGE));
        let mut batch = scope.batch();
        executions::wait(&mut batch, &row.id);
        ask(scope, batch, question).await?;
        Ok(AgentEnd::Waiting)
    }

    /// Has a version of the plan made, stores it, and asks about it, the last two in one commit.
    async fn propose(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        goal: &str,
        change: Option<(&PlanRow, &str)>,
    ) -> Result<AgentEnd, NotStarted> {
        let version = change.map_or(1, |(kept, _)| kept.version + 1);
        let mut plan = self.by_planner(scope, registry, row, goal, change).await?;
        let workflow = plans::workflow(&plan, goal).map_err(|_| words::GONE.to_owned())?;
        plan.forecast = self.forecast(scope, registry, &workflow);
        let kept = PlanRow {
            id: row.id.clone(),
            version,
            turn_id: scope.turn.clone(),
            goal: goal.to_owned(),
            body: serde_json::to_string(&plan).unwrap_or_default(),
            created_at: scope.store.now(),
        };
        let text = format!("{}\n\n{}", plans::for_chat(&plan, goal, &workflow, version > 1), words::ASK);
        let kind = QuestionKind::Plan { goal: goal.to_owned() };
        let question = Question { kind, execution: Some(&row.id), text, choices: words::plan_choices };
        let mut batch = scope.batch();
        runs::insert_plan(&mut batch, &kept);
        executions::wait(&mut batch, &row.id);
        fail_point("plan-made");
        ask(scope, batch, question).await?;
        Ok(AgentEnd::Waiting)
    }

    /// The planner's plan. Its errors are put to it once.
    async fn by_planner(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        goal: &str,
        change: Option<(&PlanRow, &str)>,
    ) -> Result<Plan, NotStarted> {
        let (workflows, roles) = (self.workflows.current(), self.agents.roles.current());
        let known: Vec<&Workflow> = workflows.workflows.iter().collect();
        let check = CheckContext { skills: registry, approval: &scope.settings.approval, workflows: &known };
        let offered = &self.agents.executor.offered(scope, registry).await?;
        let context = PlanContext { check, roles: &roles, offered, limits: &scope.budget.limits };
        let name = draft::name(goal, &known);
        let mission = words::mission(goal, &roles.listing(), registry.catalogue(), plans::MAX_STEPS);
        let mut context_text = change.map(|(kept, wish)| {
            let shown = untrusted::block(&kept.id, "the plan", &without_forecast(&kept.body));
            words::change(&shown, wish)
        });
        let version = change.map_or(1, |(kept, _)| kept.version + 1);
        let mut errors = Vec::new();
        for attempt in 1..=MAX_TRIES {
            let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
            let key = keys::attempt(&format!("plan-{version}"), attempt);
            let task =
                AgentTask { mission: mission.clone(), context: context_text.clone(), ..AgentTask::default() };
            let role = roles.get(PLANNER).ok_or_else(|| roles.missing(PLANNER))?;
            let limits = &scope.budget.limits;
            let assignment =
                Assignment { role, asked: None, parent: None, success_criteria: None, offered, limits };
            let report = self.think(scope, registry, row, &key, assignment.apply(task)?).await?;
            if !report.status.ended_well() {
                return Err(words::planner_failed(&report.line()).into());
            }
            match plans::read(&report.result, report.answer.as_ref(), (&name, goal), &context) {
                Ok(plan) => return Ok(plan),
                Err(found) => errors = found,
            }
            let again = words::correct(&errors, &repeated(&report));
            context_text = Some(context_text.into_iter().chain([again]).collect::<Vec<_>>().join("\n\n"));
        }
        Err(words::no_plan(&errors).into())
    }

    fn forecast(&self, scope: &Scope, registry: &Registry, workflow: &Workflow) -> Forecast {
        let (estimate, cost_usd) = self.estimate(scope, registry, workflow);
        let pair = |range: Range| (range.0, range.1);
        let tokens = |prompt: u64, completion: u64| prompt.saturating_add(completion);
        Forecast {
            agents: pair(estimate.agents),
            model_calls: pair(estimate.model_calls),
            skill_calls: pair(estimate.skill_calls),
            tokens: (
                tokens(estimate.prompt_tokens.0, estimate.completion_tokens.0),
                tokens(estimate.prompt_tokens.1, estimate.completion_tokens.1),
            ),
            cost_usd,
        }
    }
}

/// The answer to a question of a plan, or why the plan doesn't go on now.
fn answer(question: &QuestionRow) -> Result<&Answer, NotStarted> {
    match (question.state, &question.answer) {
        (QuestionState::Pending, _) => Err(AgentEnd::Waiting.into()),
        (QuestionState::Answered, Some(answer)) => Ok(answer),
        _ => Err(words::NOBODY_ANSWERED.to_owned().into()),
    }
}

/// A plan as the planner wrote it.
fn without_forecast(body: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(serde_json::Value::Object(mut plan)) => {
            plan.remove("forecast");
            plan.remove("name");
            serde_json::Value::Object(plan).to_string()
        }
        _ => body.to_owned(),
    }
}

/// The beginning of an answer, in a block of its own: the planner may have read text from outside.
fn repeated(report: &Report) -> String {
    let whole = report.whole();
    let text = &whole[..whole.floor_char_boundary(MAX_REPEATED)];
    untrusted::block(
        &report.execution,
        "your answer",
        if text.trim().is_empty() { "(nothing)" } else { text },
    )
}
