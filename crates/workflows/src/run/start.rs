//! Starting a run, or finding it again in the journal.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use adjutant_chat::suggest::nearest;
use adjutant_l10n as l10n;
use adjutant_skills::Registry;
use adjutant_skills::executor::Executor;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::runs::{self, RunRow};
use adjutant_store::turns;
use adjutant_turn::journal::{TurnContext, fail_point};
use adjutant_types::Taint;
use adjutant_types::clock::utc;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::questions::{agreed, inputs};
use super::state::{State, StepOutcome, StepResult};
use super::{NotStarted, Run, RunRequest, Runner};
use crate::agents::Unit;
use crate::check::CheckContext;
use crate::definition::{Step, StepKind, Workflow};
use crate::plans::Plan;
use crate::view::diagram::Diagram;
use crate::view::estimate::{self, Estimate};
use crate::view::history::History;
use crate::view::plan::EstimateContext;
use crate::{ancestors, date_values, missing_roles, parse};

impl Runner {
    /// The run of this row, as the journal has it or new.
    pub(super) async fn start<'r>(
        &'r self,
        unit: Unit<'r>,
        request: &RunRequest,
        slots: Option<Arc<Semaphore>>,
    ) -> Result<Run<'r>, NotStarted> {
        let Unit { ctx, registry, row } = unit;
        let stored = match runs::by_id(&ctx.store, &row.id).await? {
            Some(stored) => stored,
            None => self.create(unit, request).await?,
        };
        let mut workflow = parse(&stored.file, &stored.text)
            .map_err(|problems| problems.first().map(ToString::to_string).unwrap_or_default())?;
        workflow.keep_skills(|skill| registry.get(skill).is_some());
        let planned = runs::plan_of(&ctx.store, &stored).await?;
        let version = planned.as_ref().map_or(0, |planned| planned.version);
        let plan: Option<Plan> = planned.map(|plan| serde_json::from_str(&plan.body).unwrap_or_default());
        let rows = executions::of_agent(&ctx.store, &row.id).await?;
        // A person has said yes to what a plan may take, and again to each change of it.
        if request.is_persons || plan.is_some() {
            let times = plan.as_ref().map_or(0, |plan| plan.changes.len()) + 1;
            self.allow(unit, &workflow, u64::try_from(times).unwrap_or(1));
        }
        let seed_taint = match &stored.rerun_of {
            Some(earlier) => executions::taint(&ctx.store, earlier).await?,
            None => Taint::default(),
        };
        let local = |ms: i64| utc(ms).with_timezone(&ctx.turn.zone).naive_local();
        let last = match stored.text.contains("last_run") {
            true => runs::last_before(&ctx.store, &ctx.turn.person.id, &stored).await?,
            false => None,
        };
        let mut given = date_values(local(stored.started_at), last.map(local));
        given.insert("inputs".to_owned(), serde_json::from_str(&stored.inputs).unwrap_or_default());
        let max = usize::try_from(ctx.limits.budget.limits.parallel_agents).unwrap_or(1);
        let max = max.min(workflow.max_concurrent.unwrap_or(max)).max(1);
        Ok(Run {
            runner: self,
            ctx,
            registry,
            row,
            titles: Diagram::of(&workflow).nodes.into_iter().map(|node| node.title).collect(),
            is_config: plan.is_none() && (request.is_persons || request.words.is_none()),
            plan,
            version,
            zone: ctx.turn.zone,
            slots: slots.unwrap_or_else(|| Arc::new(Semaphore::new(max))),
            deadline: workflow.timeout.map(|timeout| Instant::now() + timeout),
            cancel: ctx.control.cancel.child_token(),
            state: State::new(&workflow, given, by_key(row, rows)),
            seed: stored.seed.as_deref().and_then(|seed| serde_json::from_str(seed).ok()).unwrap_or_default(),
            seed_taint,
            stored,
            workflow,
        })
    }

    /// Lets the turn have what the workflow takes at most, so many times, and each time an agent for the run or its plan.
    fn allow(&self, unit: Unit<'_>, workflow: &Workflow, times: u64) {
        let (estimate, _) = self.estimate(unit, workflow, None);
        let agents = estimate.agents.1.saturating_add(1).saturating_mul(times);
        unit.ctx.limits.budget.allow(agents, estimate.skill_calls.1.saturating_mul(times));
    }

    /// The estimate of a workflow's run, by the usage of earlier agents or else by their limits, and its cost in US dollars if
    /// all prices are known.
    pub(super) fn estimate(
        &self,
        Unit { ctx, registry, .. }: Unit<'_>,
        workflow: &Workflow,
        history: Option<&History>,
    ) -> (Estimate, Option<(f64, f64)>) {
        let (all, roles) = (self.workflows.current(), self.agents.roles.current());
        let context = EstimateContext {
            context: CheckContext {
                skills: registry,
                approval: &ctx.turn.settings.approval,
                workflows: &all.workflows,
            },
            limits: &ctx.limits.budget.limits,
            roles: Some(&roles),
            model: "",
            price: self.agents.model.price(),
            is_free: false,
            history,
            values: None,
        };
        let estimate = estimate::workflow(workflow, &context);
        (estimate, estimate.cost(&context))
    }

    /// Creates a run, once it has everything it needs.
    async fn create(&self, unit: Unit<'_>, request: &RunRequest) -> Result<RunRow, NotStarted> {
        let Unit { ctx, row, .. } = unit;
        let mut new = RunRow {
            id: row.id.clone(),
            turn_id: ctx.turn.id.clone(),
            workflow: request.workflow.clone(),
            started_at: ctx.store.now(),
            ..RunRow::default()
        };
        if let Some((earlier, from)) = &request.again {
            new = rerun(ctx, new, earlier, from).await?;
        } else {
            let (workflow, version) = self.requested(unit, request).await?;
            new.plan_version = version;
            if let Some(problem) = missing_roles(&workflow, &self.agents.roles.current()).first() {
                return Err(problem.message.clone().into());
            }
            let inputs = inputs(unit, &workflow, &request.given).await?;
            (new.workflow, new.file, new.text) = (workflow.name, workflow.file, workflow.text);
            new.inputs = Value::Object(inputs).to_string();
        }
        let mut batch = ctx.batch();
        executions::start(&mut batch, &row.id, new.started_at);
        runs::insert(&mut batch, &new);
        ctx.store.write(batch).await?;
        fail_point("run-begun");
        Ok(new)
    }

    /// Whether a run from a file only reads what stays here.
    pub fn only_reads(&self, registry: &Registry, request: &RunRequest) -> bool {
        let reads = |skill: &String| registry.get(skill).is_some_and(|skill| Executor::reads_here(skill));
        let is_reading = |step: &Step| match &step.kind {
            StepKind::Skill(call) => reads(&call.skill),
            StepKind::Approval(_) | StepKind::Workflow(_) => false,
            _ => true,
        };
        let only_reads = |workflow: &Workflow| {
            workflow.review.is_none()
                && workflow.steps.iter().all(is_reading)
                && workflow
                    .agents
                    .iter()
                    .all(|agent| agent.as_role.is_none() && agent.skills.iter().all(reads))
        };
        request.again.is_none() && self.workflows.current().get(&request.workflow).is_some_and(only_reads)
    }

    /// The requested workflow: by its name, drafted from words, or that of a plan with its version.
    async fn requested(
        &self,
        unit: Unit<'_>,
        request: &RunRequest,
    ) -> Result<(Workflow, Option<i64>), NotStarted> {
        if let Some(words) = &request.words {
            return Ok((self.drafted(unit, words).await?, None));
        }
        if let Some(goal) = &request.goal {
            let (workflow, version) = self.planned(unit, goal).await?;
            return Ok((workflow, Some(version)));
        }
        let name = &request.workflow;
        if request.asks_first {
            agreed(unit, name, &request.given).await?;
        }
        let workflows = self.workflows.current();
        workflows.get(name).cloned().map(|workflow| (workflow, None)).ok_or_else(|| {
            let names = workflows.workflows.iter().map(|workflow| workflow.name.as_str());
            NotStarted::Refused(match nearest(name, names) {
                Some(near) => l10n::runs::no_workflow_but(name, near),
                None => l10n::runs::no_workflow(name),
            })
        })
    }
}

/// A run that takes the results of all steps that don't depend on `from` from an earlier run.
async fn rerun(ctx: &TurnContext, new: RunRow, beginning: &str, from: &str) -> Result<RunRow, NotStarted> {
    let found = runs::beginning_with(&ctx.store, beginning, 2).await?;
    let earlier = match &found[..] {
        [earlier] => earlier,
        [] => return Err(l10n::runs::no_run(beginning).into()),
        _ => return Err(l10n::runs::several_runs(beginning).into()),
    };
    let turn = turns::by_id(&ctx.store, &earlier.turn_id).await?;
    let is_theirs = turn.is_some_and(|turn| turn.person_id == ctx.turn.person.id);
    if !is_theirs && !ctx.is_owners().await? {
        return Err(l10n::runs::no_run(beginning).into());
    }
    let outputs = earlier.outputs.as_ref().filter(|_| earlier.ended_at.is_some());
    let (Some(outputs), Ok(workflow)) = (outputs, parse(&earlier.file, &earlier.text)) else {
        let why = match earlier.ended_at {
            None => l10n::runs::still_running(beginning),
            Some(_) => l10n::runs::results_gone(beginning),
        };
        return Err(why.into());
    };
    let outputs: BTreeMap<String, StepResult> = serde_json::from_str(outputs).unwrap_or_default();
    let Some(first) = workflow.steps.iter().position(|step| step.id == from) else {
        let why = match nearest(from, workflow.steps.iter().map(|step| step.id.as_str())) {
            Some(near) => l10n::runs::no_step_but(&workflow.name, from, near),
            None => l10n::runs::no_step(&workflow.name, from),
        };
        return Err(why.into());
    };
    let before = ancestors(&workflow.steps);
    let is_reusable = |(at, step): &(usize, &Step)| {
        *at != first
            && !before[*at][first]
            && outputs.get(&step.id).is_some_and(|result| result.how != StepOutcome::Fatal)
    };
    let reusable = workflow.steps.iter().enumerate().filter(is_reusable);
    let seed: BTreeMap<&String, &StepResult> =
        reusable.filter_map(|(_, step)| outputs.get_key_value(&step.id)).collect();
    Ok(RunRow {
        workflow: earlier.workflow.clone(),
        file: earlier.file.clone(),
        text: earlier.text.clone(),
        inputs: earlier.inputs.clone(),
        rerun_of: Some(earlier.id.clone()),
        seed: serde_json::to_string(&seed).ok(),
        ..new
    })
}

pub(super) fn by_key(run: &ExecutionRow, rows: Vec<ExecutionRow>) -> HashMap<String, ExecutionRow> {
    let prefix = format!("{}/", run.agent_id.as_deref().unwrap_or_default());
    let key = |row: &ExecutionRow| row.agent_id.as_deref()?.strip_prefix(&prefix).map(str::to_owned);
    rows.into_iter().filter_map(|row| Some((key(&row)?, row))).collect()
}
