//! A worker's attempts: who works, how often, and what becomes of a failure.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::opening::View;
use super::{Run, Stop};
use crate::agents::{AgentTask, Job, Report};
use crate::domain::ExecutionStatus;
use crate::metrics;
use crate::skills::ErrorKind;
use crate::store::executions;
use crate::workflows::definition::{Agent, Backoff, Call, Format, OnFailure, Retry};
use crate::workflows::keys;
use crate::workflows::template::Template;

/// Who works.
#[derive(Clone, Copy)]
pub(super) enum Worker<'w> {
    Agent(&'w Agent),
    Skill(&'w Call),
}

impl Worker<'_> {
    fn retry(&self) -> &Retry {
        match self {
            Self::Agent(agent) => &agent.retry,
            Self::Skill(call) => &call.retry,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Agent(agent) => &agent.name,
            Self::Skill(call) => &call.skill,
        }
    }
}

/// What is asked of a worker.
pub(super) struct Order<'o> {
    /// The key of its first attempt.
    pub(super) key: String,
    pub(super) worker: Worker<'o>,
    /// What it is given besides its prompt.
    pub(super) context: Option<String>,
    /// What its templates are filled with.
    pub(super) view: &'o View<'o>,
    pub(super) format: Option<Format>,
    /// When the time of the whole step is up.
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'o CancellationToken,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub(super) output: Value,
    pub(super) outside: Option<String>,
    /// Why it failed, and whether the run ends by that.
    pub(super) failure: Option<(String, bool)>,
    pub(super) attempts: u32,
    pub(super) retries: usize,
    pub(super) warnings: Vec<String>,
}

/// Why an attempt failed.
struct Failure {
    reason: String,
    /// Another attempt would do something twice, or come to the same.
    is_final: bool,
}

impl Failure {
    fn last(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_final: true }
    }
}

/// An output that was accepted, and where it is from if that is outside.
type Accepted = (Value, Option<String>);

impl Run<'_> {
    /// Has a worker work until it is done, or its attempts are used up.
    pub(super) async fn work(&self, order: &Order<'_>) -> Result<Done, Stop> {
        let retry = order.worker.retry();
        let mut done = Done::default();
        let mut reason = String::new();
        for attempt in 1..=retry.max_attempts {
            let key = keys::attempt(&order.key, attempt);
            if attempt > 1 {
                let before = keys::attempt(&order.key, attempt - 1);
                self.pause(&key, &before, delay(retry.backoff, attempt - 1), order.cancel).await?;
                reason = self.told(&before, &reason).await?;
                done.retries += 1;
            }
            done.attempts = attempt;
            match self.attempt(order, &key, &reason, &mut done.warnings).await? {
                Ok((output, outside)) => return Ok(Done { output, outside, ..done }),
                Err(failure) => {
                    reason = failure.reason;
                    if failure.is_final {
                        break;
                    }
                }
            }
        }
        self.failed(order, done, reason).await
    }

    /// What becomes of a worker that failed for the last time.
    async fn failed(&self, order: &Order<'_>, mut done: Done, reason: String) -> Result<Done, Stop> {
        let name = order.worker.name();
        match &order.worker.retry().on_failure {
            OnFailure::Abort => Ok(Done { failure: Some((reason, true)), ..done }),
            OnFailure::Skip => {
                done.warnings.push(format!("{name} failed and was left out: {reason}"));
                Ok(Done { failure: Some((reason, false)), ..done })
            }
            OnFailure::Fallback(other) => {
                done.warnings.push(format!("{name} failed ({reason}); {other} took its place"));
                let Some(agent) = self.workflow.agent(other) else {
                    return Ok(Done { failure: Some((reason, true)), ..done });
                };
                let key = format!("{}~{other}", order.key);
                let instead = Order {
                    key: key.clone(),
                    worker: Worker::Agent(agent),
                    context: order.context.clone(),
                    ..*order
                };
                match self.attempt(&instead, &key, "", &mut done.warnings).await? {
                    Ok((output, outside)) => Ok(Done { output, outside, ..done }),
                    Err(failure) => {
                        let reason = format!("{reason}; {other}, who took its place: {}", failure.reason);
                        Ok(Done { failure: Some((reason, true)), ..done })
                    }
                }
            }
        }
    }

    /// Waits before another attempt, unless that has begun already.
    async fn pause(
        &self,
        key: &str,
        before: &str,
        delay: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        if self.state.row(key).is_some() {
            return Ok(());
        }
        if let Some(limit) = self.scope.budget.tripped() {
            return Err(Stop::Held(limit));
        }
        metrics::retry("workflow");
        let now = self.scope.store.now();
        let ended = self.state.row(before).and_then(|row| row.ended_at).unwrap_or(now);
        let gone = Duration::from_millis(u64::try_from(now - ended).unwrap_or(0));
        let rest = delay.saturating_sub(gone);
        if rest.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(rest) => Ok(()),
            () = cancel.cancelled() => Err(Stop::Cancelled),
        }
    }

    /// What the next attempt is told of the one before: why it was not enough, and what it has done all the same.
    async fn told(&self, before: &str, reason: &str) -> Result<String, Stop> {
        let mut told = format!("Your last answer was not accepted: {reason}");
        if let Some(row) = self.state.row(before) {
            for call in executions::of_agent(&self.scope.store, &row.id).await? {
                let skill = call.skill.as_deref().unwrap_or_default();
                let is_read = self.registry.get(skill).is_some_and(|skill| skill.repeatable);
                if call.status == ExecutionStatus::Completed && !is_read {
                    let result = call.result.as_deref().unwrap_or_default();
                    told.push_str(&format!("\nDone already, never do it again: {skill}: {result}"));
                }
            }
        }
        Ok(told)
    }

    async fn attempt(
        &self,
        order: &Order<'_>,
        key: &str,
        reason: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Result<Accepted, Failure>, Stop> {
        let is_late = order.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if is_late && self.state.row(key).is_none() {
            return Ok(Err(Failure::last("it ran out of time")));
        }
        let job = match self.job(order, reason) {
            Ok(job) => job,
            Err(why) => return Ok(Err(Failure::last(why))),
        };
        let report = self.piece(key, job, order.cancel).await?;
        if !report.status.ended_well() {
            return Ok(Err(failure(&report)));
        }
        if let Some(bailout) = &report.bailout {
            let used = bailout.as_str().replace('_', " ");
            warnings.push(format!("{} ended early: its {used} were used up", order.worker.name()));
        }
        let outside = report.untrusted.then(|| report.execution.to_string());
        let output = match order.worker {
            Worker::Skill(_) if report.data.is_null() => Value::String(report.result),
            Worker::Skill(_) => report.data,
            Worker::Agent(agent) => {
                let accepted = match super::output::read(&report.result, order.format) {
                    Ok(output) => self.judged(agent, key, &output, order).await?.map(|()| output),
                    Err(why) => Err(why),
                };
                match accepted {
                    Ok(output) => output,
                    Err(reason) => return Ok(Err(Failure { reason, is_final: false })),
                }
            }
        };
        Ok(Ok((output, outside)))
    }

    fn job(&self, order: &Order<'_>, reason: &str) -> Result<Job, String> {
        let limits = &self.scope.budget.limits;
        let left = [order.deadline, self.deadline]
            .into_iter()
            .flatten()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
            .min();
        match order.worker {
            Worker::Agent(agent) => {
                let context = [order.context.as_deref().unwrap_or_default(), reason];
                let context: Vec<&str> = context.into_iter().filter(|text| !text.is_empty()).collect();
                let model = agent.model.as_deref().map(|name| (self.runner.model)(name)).transpose()?;
                let timeout = agent.timeout.unwrap_or(limits.agent_timeout);
                let task = AgentTask {
                    mission: order.view.for_model(&agent.prompt)?,
                    skills: agent.skills.clone(),
                    context: (!context.is_empty()).then(|| context.join("\n\n")),
                    role: Some(agent.role.clone()),
                    ..AgentTask::default()
                };
                let timeout = left.map_or(timeout, |left| timeout.min(left));
                Ok(Job { task, timeout: Some(timeout), model, ..Job::default() })
            }
            Worker::Skill(call) => {
                let arguments = order.view.filled(&call.arguments)?;
                let task = AgentTask {
                    mission: call.skill.clone(),
                    skills: vec![call.skill.clone()],
                    arguments: Some(Value::Object(arguments)),
                    ..AgentTask::default()
                };
                Ok(Job { task, timeout: left, ..Job::default() })
            }
        }
    }
}

/// Why a piece that did not end well failed, and whether that was the last word.
fn failure(report: &Report) -> Failure {
    let said_no = report.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Rejected);
    let may_have_happened = report.status == ExecutionStatus::Unknown
        || report.error.as_ref().is_some_and(|error| !error.recoverable);
    let line = report.line();
    let reason = if line.is_empty() { format!("it ended as {}", report.status.as_str()) } else { line };
    Failure { reason, is_final: said_no || may_have_happened }
}

/// The wait after this attempt, counted from 1, has failed.
fn delay(backoff: Backoff, attempt: u32) -> Duration {
    match backoff {
        Backoff::None => Duration::ZERO,
        Backoff::Linear => Duration::from_secs(5 * u64::from(attempt)),
        Backoff::Exponential => Duration::from_secs(1 << attempt.min(16)),
    }
}

/// Fills in a table of templates: a lone `{{...}}` keeps its type.
pub(super) fn fill(
    table: &Map<String, Value>,
    value: &dyn Fn(&Template) -> Result<Value, String>,
) -> Result<Map<String, Value>, String> {
    fn one(given: &Value, value: &dyn Fn(&Template) -> Result<Value, String>) -> Result<Value, String> {
        match given {
            Value::String(text) => value(&Template::new(text).map_err(|error| error.to_string())?),
            Value::Array(list) => list.iter().map(|given| one(given, value)).collect(),
            Value::Object(table) => fill(table, value).map(Value::Object),
            other => Ok(other.clone()),
        }
    }
    table.iter().map(|(key, given)| Ok((key.clone(), one(given, value)?))).collect()
}
