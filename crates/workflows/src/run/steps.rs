//! Running a step of each kind.

use adjutant_turn::journal::Suspend;
use std::time::Duration;

use adjutant_l10n as l10n;
use adjutant_store::StoreError;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempts::{Assignment, Failure, Outcome, Worker};
use super::context::TemplateScope;
use super::state::{StepOutcome, StepResult};
use super::{Run, RunRequest, SHORT_WAIT, StepError, Stop, keys};
use crate::agents::{AgentEnd, AgentTask, Report, Unit};
use crate::definition::{Agent, Choice, LoopStep, Step, StepKind, SubWorkflow, Target};
use crate::language::template::Verdict;
use crate::language::wait::Start;

impl Run<'_> {
    pub(super) async fn step(&self, at: usize) -> Result<StepResult, Stop> {
        let step = &self.workflow.steps[at];
        if let Some(result) = self.seed.get(&step.id).filter(|_| self.state.redo_of(&step.id).is_none()) {
            return Ok(result.clone());
        }
        let ready = self.state.ready_since(at, self.stored.started_at);
        let started = match self.wait_for_start(step, ready).await {
            Ok(()) => self.ctx.store.now(),
            Err(StepError::Fatal(reason)) => return Ok(self.timed(step, ready, fatal(reason))),
            Err(StepError::Stop(stop)) => return Err(stop),
        };
        match self.run_step(step).await {
            Ok(result) => Ok(self.timed(step, started, result)),
            Err(StepError::Fatal(reason)) => Ok(self.timed(step, started, fatal(reason))),
            Err(StepError::Stop(stop)) => Err(stop),
        }
    }

    async fn run_step(&self, step: &Step) -> Result<StepResult, StepError> {
        let deadline = step.timeout.map(|timeout| Instant::now() + timeout);
        let within =
            StepContext { step, deadline, cancel: &self.cancel, templates: TemplateScope::new(self) };
        match &step.kind {
            StepKind::Agent(agent) => self.single(&within, Worker::Agent(self.agent(agent)?)).await,
            StepKind::Skill(call) => self.single(&within, Worker::Skill(call)).await,
            StepKind::Parallel(parallel) => self.parallel(&within, parallel).await,
            StepKind::Choice(choice) => self.choice(&within, choice).await,
            StepKind::Map(map) => self.map(&within, map).await,
            StepKind::Loop(step) => self.loop_step(&within, step).await,
            StepKind::Approval(approval) => self.approval(&within, approval).await,
            StepKind::Workflow(sub) => self.sub_workflow(&within, sub).await,
        }
    }

    fn timed(&self, step: &Step, started: i64, mut result: StepResult) -> StepResult {
        let rows = self.state.rows_of(&step.id);
        result.began = rows.iter().filter_map(|row| row.started_at).min().unwrap_or(started);
        result.ended = rows.iter().filter_map(|row| row.ended_at).max().unwrap_or(result.began);
        result
    }

    pub(super) fn agent(&self, name: &str) -> Result<&Agent, Stop> {
        // `parse` lets no such file through.
        let missing = || StoreError::Corrupt(format!("the run {} has no agent {name}", self.stored.id));
        self.workflow.agent(name).ok_or_else(|| Stop::Store(missing()))
    }

    async fn wait_for_start(&self, step: &Step, ready: i64) -> Result<(), StepError> {
        let Some(until) = &step.wait_until else { return Ok(()) };
        let text = until.render(&self.state.values());
        let start = text.map_err(|error| error.message).and_then(|text| Start::parse(&text));
        let moment = start.map_err(|error| format!("wait_until: {error}"))?.moment(ready, self.zone);
        let rest = Duration::from_millis(u64::try_from(moment - self.ctx.store.now()).unwrap_or(0));
        if rest > SHORT_WAIT {
            return Err(Suspend::Until(moment).into());
        }
        tokio::select! {
            () = tokio::time::sleep(rest) => Ok(()),
            () = self.cancel.cancelled() => Err(Stop::Cancelled.into()),
        }
    }

    async fn single(&self, within: &StepContext<'_>, worker: Worker<'_>) -> Result<StepResult, StepError> {
        let agent = match worker {
            Worker::Agent(agent) => Some(agent),
            Worker::Skill(_) => None,
        };
        let context = self.input_of(within.step, agent, None, &within.templates)?;
        let (key, context) = match self.state.redo_of(&within.step.id) {
            Some(redo) => {
                let more = self.what_falls_short(&within.step.id, &redo).await?;
                let context = context.into_iter().chain([more]).collect::<Vec<_>>().join("\n\n");
                (keys::again(&within.step.id), Some(context))
            }
            None => (within.step.id.clone(), context),
        };
        let assignment = within.assignment(key, worker, context);
        Ok(self.work(&assignment).await?.into())
    }

    async fn choice(&self, within: &StepContext<'_>, choice: &Choice) -> Result<StepResult, StepError> {
        let mut warnings = Vec::new();
        let mut taken = choice.otherwise.as_ref();
        for case in &choice.cases {
            match case.when.judge(&within.templates.values) {
                Verdict::Yes => {
                    taken = case.then.as_ref();
                    break;
                }
                Verdict::No => {}
                Verdict::Ambiguous(why) => {
                    let condition = case.when.plain();
                    warnings.push(l10n::runs::unclear_condition(condition, why));
                }
            }
        }
        let mut result = match taken {
            None => StepResult::default(),
            Some(Target::Step(id)) => StepResult { chosen: Some(id.clone()), ..StepResult::default() },
            Some(Target::Agent(agent)) => self.single(within, Worker::Agent(self.agent(agent)?)).await?,
        };
        result.warnings.splice(0..0, warnings);
        Ok(result)
    }

    async fn loop_step(&self, within: &StepContext<'_>, step: &LoopStep) -> Result<StepResult, StepError> {
        let (agent, validator) = (self.agent(&step.agent)?, self.agent(&step.validator)?);
        let input = self.input_of(within.step, Some(agent), None, &within.templates)?;
        let mut result = StepResult::default();
        let (mut context, mut review) = (input.clone(), None);
        for round in 1..=step.max_iterations {
            let key = format!("{}/{round}", within.step.id);
            let templates = self.loop_templates(within.step, review.as_ref());
            let assignment = within.assignment(key.clone(), Worker::Agent(agent), context.clone());
            let version = self.work(&Assignment { templates: &templates, ..assignment }).await?;
            let text = self.shown(&version.output, version.outside.as_deref());
            result.add(&version);
            if version.failure.is_some() {
                return Ok(StepResult {
                    warnings: result.warnings,
                    attempts: result.attempts,
                    retries: result.retries,
                    ..version.into()
                });
            }
            (result.output, result.outside) = (version.output, version.outside);
            let check =
                within.assignment(format!("{key}/check"), Worker::Agent(validator), Some(text.clone()));
            let verdict = self.work(&Assignment { templates: &templates, format: None, ..check }).await?;
            result.add(&verdict);
            match &verdict.failure {
                Some(Failure { reason, is_fatal: true }) => {
                    return Ok(StepResult { error: Some(reason.clone()), how: StepOutcome::Fatal, ..result });
                }
                Some(Failure { reason, is_fatal: false }) => {
                    result.warnings.push(l10n::runs::round_not_judged(round, reason));
                    return Ok(result);
                }
                None if verdict.output["passed"] == Value::Bool(true) => return Ok(result),
                None => {}
            }
            let feedback = match &step.feedback {
                Some(template) => self.loop_templates(within.step, Some(&verdict)).for_model(template)?,
                None => self.shown(&verdict.output, verdict.outside.as_deref()),
            };
            let feedback = format!("What has to be better:\n{feedback}");
            let parts = [input.clone(), Some(format!("Your last version:\n{text}")), Some(feedback)];
            context = Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
            review = Some(verdict);
        }
        result.warnings.push(l10n::runs::not_passed(step.max_iterations));
        Ok(result)
    }

    /// The templates of a loop: its own output is the validator's last one, or nothing.
    fn loop_templates(&self, step: &Step, review: Option<&Outcome>) -> TemplateScope<'_> {
        let Some(review) = review else { return TemplateScope::new(self).without(&step.id) };
        let mut steps = match self.state.steps() {
            Value::Object(steps) => steps,
            _ => Map::new(),
        };
        steps.insert(step.id.clone(), serde_json::json!({"output": &review.output}));
        let outside = review.outside.clone().or_else(|| self.state.outside("steps"));
        TemplateScope::new(self).with("steps", Value::Object(steps), outside.as_deref())
    }

    /// Another workflow as a step: a run of its own below this one.
    async fn sub_workflow(
        &self,
        within: &StepContext<'_>,
        sub: &SubWorkflow,
    ) -> Result<StepResult, StepError> {
        let given = within.templates.filled(&sub.inputs)?;
        let key = &within.step.id;
        let row = match self.state.row(key) {
            Some(row) => row,
            None => {
                let task = AgentTask {
                    agent_id: self.name_of(key),
                    mission: l10n::runs::workflow(&sub.name),
                    ..AgentTask::default()
                };
                self.new_run(key, &task).await?
            }
        };
        let report = if row.status.has_ended() {
            Report::of(&row, &[])
        } else {
            let request = RunRequest { workflow: sub.name.clone(), given, ..RunRequest::default() };
            let run_ctx = self.ctx.cancelled_by(within.cancel.clone());
            let slots = Some(self.slots.clone());
            let run =
                self.runner.run_within(Unit { ctx: &run_ctx, row: &row, ..self.unit() }, &request, slots);
            let end: AgentEnd = Box::pin(run).await?;
            self.finish(key, row, end).await?
        };
        let outside = report.untrusted.then(|| report.execution.to_string());
        if !report.status.ended_well() {
            return Err(report.line().into());
        }
        let output = match &report.data {
            Value::Null => {
                super::output::read(&report.result, within.step.output.format).unwrap_or(Value::Null)
            }
            data => data.clone(),
        };
        Ok(StepResult { outside, attempts: 1, ..StepResult::new(StepOutcome::Completed, output) })
    }
}

/// The context that the workers of a step share.
pub(super) struct StepContext<'p> {
    pub(super) step: &'p Step,
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'p CancellationToken,
    pub(super) templates: TemplateScope<'p>,
}

impl StepContext<'_> {
    pub(super) fn assignment<'o>(
        &'o self,
        key: String,
        worker: Worker<'o>,
        context: Option<String>,
    ) -> Assignment<'o> {
        Assignment {
            key,
            worker,
            context,
            templates: &self.templates,
            format: self.step.output.format,
            deadline: self.deadline,
            cancel: self.cancel,
        }
    }
}

pub(super) fn fatal(reason: impl Into<String>) -> StepResult {
    StepResult { error: Some(reason.into()), ..StepResult::new(StepOutcome::Fatal, Value::Null) }
}

impl From<Outcome> for StepResult {
    fn from(outcome: Outcome) -> Self {
        let (how, error) = match outcome.failure {
            None => (StepOutcome::Completed, None),
            Some(Failure { reason, is_fatal: true }) => (StepOutcome::Fatal, Some(reason)),
            Some(Failure { reason, is_fatal: false }) => (StepOutcome::Failed, Some(reason)),
        };
        Self {
            error,
            outside: outcome.outside,
            warnings: outcome.warnings,
            attempts: outcome.attempts,
            retries: outcome.retries,
            ..Self::new(how, outcome.output)
        }
    }
}

impl StepResult {
    /// Adds the effort of one worker.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.warnings.extend(outcome.warnings.iter().cloned());
        self.attempts = self.attempts.max(outcome.attempts);
        self.retries += outcome.retries;
    }
}
