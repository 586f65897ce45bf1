//! What each kind of step does.

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::opening::{View, shown};
use super::state::{Ended, StepEnd};
use super::worker::{Done, Order, Worker};
use super::{Errand, Run, SHORT_WAIT, Stop};
use crate::agents::{AgentEnd, AgentTask};
use crate::workflows::definition::{Agent, Repeat, Route, Step, Sub, Target, Work};
use crate::workflows::template::Verdict;
use crate::workflows::wait::Start;

impl Run<'_> {
    /// Does a step, or goes on with it.
    pub(super) async fn step(&self, at: usize) -> Result<StepEnd, Stop> {
        let step = &self.workflow.steps[at];
        if let Some(end) = self.seeded(step) {
            return Ok(end);
        }
        let free = self.state.came_free(at, self.kept.started_at);
        if let Some(why) = self.wait_for_its_time(step, free).await? {
            return Ok(self.finished(
                step,
                free,
                StepEnd { error: Some(why), ..StepEnd::new(Ended::Fatal, Value::Null) },
            ));
        }
        let began = self.scope.store.now();
        let deadline = step.timeout.map(|timeout| Instant::now() + timeout);
        let place = Place { step, deadline, cancel: &self.cancel, view: View::new(self) };
        let end = match &step.work {
            Work::Agent(agent) => self.one(&place, Worker::Agent(self.agent(agent)?)).await?,
            Work::Skill(call) => self.one(&place, Worker::Skill(call)).await?,
            Work::Parallel(parallel) => self.parallel(&place, parallel).await?,
            Work::Route(route) => self.route(&place, route).await?,
            Work::Map(map) => self.map(place, map).await?,
            Work::Loop(repeat) => self.repeat(&place, repeat).await?,
            Work::Approval(question) => self.approval(&place, question).await?,
            Work::Workflow(sub) => self.sub(&place, sub).await?,
        };
        Ok(self.finished(step, began, end))
    }

    fn finished(&self, step: &Step, began: i64, mut end: StepEnd) -> StepEnd {
        let rows = self.state.rows_of(&step.id);
        end.began = rows.iter().filter_map(|row| row.started_at).min().unwrap_or(began);
        end.ended = rows.iter().filter_map(|row| row.ended_at).max().unwrap_or(end.began);
        end
    }

    pub(super) fn agent(&self, id: &str) -> Result<&Agent, Stop> {
        // `parse` lets no such file through.
        let missing =
            || crate::store::StoreError::Corrupt(format!("the run {} has no agent {id}", self.kept.id));
        self.workflow.agent(id).ok_or_else(|| Stop::Store(missing()))
    }

    /// Waits until a step may start. Returns why that can't be known.
    async fn wait_for_its_time(&self, step: &Step, free: i64) -> Result<Option<String>, Stop> {
        let Some(until) = &step.wait_until else { return Ok(None) };
        let view = View::new(self);
        let start = until.render(&view.values).map_err(|error| error.to_string());
        let moment = match start.and_then(|text| Start::parse(&text)) {
            Ok(start) => start.moment(free, self.zone),
            Err(why) => return Ok(Some(format!("wait_until: {why}"))),
        };
        let rest = u64::try_from(moment - self.scope.store.now()).unwrap_or(0);
        let rest = std::time::Duration::from_millis(rest);
        if rest > SHORT_WAIT {
            return Err(Stop::Until(moment));
        }
        tokio::select! {
            () = tokio::time::sleep(rest) => Ok(None),
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
        }
    }

    /// A step of one worker.
    async fn one(&self, place: &Place<'_>, worker: Worker<'_>) -> Result<StepEnd, Stop> {
        let context = match self.fed(place.step, None, &place.view) {
            Ok(context) => context,
            Err(why) => return Ok(fatal(why)),
        };
        let order = place.order(place.step.id.clone(), worker, context);
        Ok(self.work(&order).await?.into())
    }

    async fn route(&self, place: &Place<'_>, route: &Route) -> Result<StepEnd, Stop> {
        let mut warnings = Vec::new();
        let mut taken = route.otherwise.as_ref();
        for case in &route.cases {
            match case.when.judge(&place.view.values) {
                Verdict::Yes => {
                    taken = case.then.as_ref();
                    break;
                }
                Verdict::No => {}
                Verdict::Ambiguous(why) => {
                    let condition = case.when.plain();
                    warnings
                        .push(format!("it can't be said whether `{condition}` holds ({why}); taken as no"));
                }
            }
        }
        let mut end = match taken {
            None => StepEnd::new(Ended::Completed, Value::Null),
            Some(Target::Step(id)) => {
                StepEnd { chosen: Some(id.clone()), ..StepEnd::new(Ended::Completed, Value::Null) }
            }
            Some(Target::Agent(agent)) => self.one(place, Worker::Agent(self.agent(agent)?)).await?,
        };
        end.warnings.splice(0..0, warnings);
        Ok(end)
    }

    async fn repeat(&self, place: &Place<'_>, repeat: &Repeat) -> Result<StepEnd, Stop> {
        let (agent, validator) = (self.agent(&repeat.agent)?, self.agent(&repeat.validator)?);
        let given = match self.fed(place.step, None, &place.view) {
            Ok(given) => given,
            Err(why) => return Ok(fatal(why)),
        };
        let mut sum = StepEnd::new(Ended::Completed, Value::Null);
        let (mut context, mut last) = (given.clone(), None);
        for round in 1..=repeat.max_iterations {
            let key = format!("{}/{round}", place.step.id);
            let view = self.looking_back(place.step, last.as_ref());
            let order = place.order(key.clone(), Worker::Agent(agent), context.clone());
            let made = self.work(&Order { view: &view, ..order }).await?;
            let text = shown(&made.output, made.outside.as_deref());
            add(&mut sum, &made);
            if made.failure.is_some() {
                return Ok(StepEnd {
                    warnings: sum.warnings,
                    attempts: sum.attempts,
                    retries: sum.retries,
                    ..made.into()
                });
            }
            (sum.output, sum.outside) = (made.output, made.outside);
            let order = place.order(format!("{key}/check"), Worker::Agent(validator), Some(text.clone()));
            let said = self.work(&Order { view: &view, format: None, ..order }).await?;
            add(&mut sum, &said);
            match &said.failure {
                Some((why, true)) => {
                    return Ok(StepEnd { error: Some(why.clone()), how: Ended::Fatal, ..sum });
                }
                Some((why, false)) => {
                    sum.warnings.push(format!("round {round} could not be judged: {why}"));
                    return Ok(sum);
                }
                None if said.output["passed"] == Value::Bool(true) => return Ok(sum),
                None => {}
            }
            let view = self.looking_back(place.step, Some(&said));
            let feedback = match repeat.feedback.as_ref().map(|template| view.for_model(template)) {
                None => shown(&said.output, said.outside.as_deref()),
                Some(Ok(feedback)) => feedback,
                Some(Err(why)) => return Ok(fatal(why)),
            };
            let feedback = format!("What has to be better:\n{feedback}");
            let parts = [given.clone(), Some(format!("Your last version:\n{text}")), Some(feedback)];
            context = Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
            last = Some(said);
        }
        sum.warnings.push(format!(
            "after {} rounds it had not passed; the last version is taken",
            repeat.max_iterations
        ));
        Ok(sum)
    }

    /// What templates of a loop see: as its own output what its validator said last, nothing before that.
    fn looking_back(&self, step: &Step, said: Option<&Done>) -> View<'_> {
        let Some(said) = said else { return View::new(self).without(&step.id) };
        let mut steps = match self.state.steps() {
            Value::Object(steps) => steps,
            _ => Map::new(),
        };
        steps.insert(step.id.clone(), serde_json::json!({"output": &said.output}));
        let outside = said.outside.clone().or_else(|| self.state.outside("steps"));
        View::new(self).with("steps", Value::Object(steps), outside.as_deref())
    }

    /// Another workflow as a step: a run of its own below this one.
    async fn sub(&self, place: &Place<'_>, sub: &Sub) -> Result<StepEnd, Stop> {
        let given = match place.view.filled(&sub.inputs) {
            Ok(given) => given,
            Err(why) => return Ok(fatal(why)),
        };
        let key = &place.step.id;
        let row = match self.state.row(key) {
            Some(row) => row,
            None => {
                let task = AgentTask {
                    agent_id: self.name_of(key),
                    mission: format!("the workflow {}", sub.name),
                    ..AgentTask::default()
                };
                self.new_run(key, &task).await?
            }
        };
        let report = if row.status.has_ended() {
            crate::agents::Report::of(&row, &[])
        } else {
            let errand = Errand { workflow: sub.name.clone(), given, ..Errand::default() };
            let scope = crate::journal::Scope { cancel: place.cancel.clone(), ..self.scope.clone() };
            let within =
                self.runner.run_within(&scope, self.registry, &row, &errand, Some(self.room.clone()));
            let end: AgentEnd = Box::pin(within).await?;
            self.settle(key, row, end).await?
        };
        let outside = report.untrusted.then(|| report.execution.to_string());
        if !report.status.ended_well() {
            return Ok(fatal(report.line()));
        }
        let output = match &report.data {
            Value::Null => {
                super::output::read(&report.result, place.step.output.format).unwrap_or(Value::Null)
            }
            data => data.clone(),
        };
        Ok(StepEnd { outside, attempts: 1, ..StepEnd::new(Ended::Completed, output) })
    }
}

/// Where a step's workers work.
pub(super) struct Place<'p> {
    pub(super) step: &'p Step,
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'p CancellationToken,
    pub(super) view: View<'p>,
}

impl Place<'_> {
    pub(super) fn order<'o>(&'o self, key: String, worker: Worker<'o>, context: Option<String>) -> Order<'o> {
        Order {
            key,
            worker,
            context,
            view: &self.view,
            format: self.step.output.format,
            deadline: self.deadline,
            cancel: self.cancel,
        }
    }
}

pub(super) fn fatal(why: impl Into<String>) -> StepEnd {
    StepEnd { error: Some(why.into()), ..StepEnd::new(Ended::Fatal, Value::Null) }
}

impl From<Done> for StepEnd {
    fn from(done: Done) -> Self {
        let (how, error) = match done.failure {
            None => (Ended::Completed, None),
            Some((why, true)) => (Ended::Fatal, Some(why)),
            Some((why, false)) => (Ended::Failed, Some(why)),
        };
        Self {
            error,
            outside: done.outside,
            warnings: done.warnings,
            attempts: done.attempts,
            retries: done.retries,
            ..Self::new(how, done.output)
        }
    }
}

pub(super) fn add(sum: &mut StepEnd, done: &Done) {
    sum.warnings.extend(done.warnings.iter().cloned());
    sum.attempts = sum.attempts.max(done.attempts);
    sum.retries += done.retries;
}
