//! A worker's attempts, and the consequences of its failure.

use adjutant_turn::journal::Suspend;
use std::time::Duration;

use adjutant_l10n as l10n;
use adjutant_store::StoreError;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_types::{ExecutionStatus, block, metrics};
use derive_more::From;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::context::TemplateScope;
use super::{Run, Stop, keys};
use crate::agents::{AgentTask, Assignment as RoleAssignment, Job, Report};
use crate::definition::{Agent, Backoff, Format, OnFailure, Retry, SkillCall};
use crate::language::template::TemplateError;

/// The waits of `backoff: exponential`.
const DOUBLING: adjutant_chat::Backoff =
    adjutant_chat::Backoff::new(Duration::from_secs(2), Duration::from_secs(1 << 16));

/// An agent or a skill call.
#[derive(Clone, Copy)]
pub(super) enum Worker<'w> {
    Agent(&'w Agent),
    Skill(&'w SkillCall),
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

pub(super) struct Assignment<'o> {
    /// The key of its first attempt.
    pub(super) key: String,
    pub(super) worker: Worker<'o>,
    /// Its input in addition to the prompt.
    pub(super) context: Option<String>,
    pub(super) templates: &'o TemplateScope<'o>,
    pub(super) format: Option<Format>,
    /// The time when the whole step times out.
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'o CancellationToken,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    pub(super) output: Value,
    /// The execution that untrusted output comes from.
    pub(super) outside: Option<String>,
    pub(super) failure: Option<Failure>,
    pub(super) attempts: u32,
    pub(super) retries: usize,
    pub(super) warnings: Vec<String>,
}

/// Why an assignment failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// It ends the run.
    pub(super) is_fatal: bool,
}

impl Outcome {
    fn failed(self, reason: String, is_fatal: bool) -> Self {
        Self { failure: Some(Failure { reason, is_fatal }), ..self }
    }

    /// An assignment that couldn't begin.
    pub(super) fn not_begun(reason: impl ToString) -> Self {
        Self::default().failed(reason.to_string(), true)
    }

    pub(super) fn is_fatal(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_fatal)
    }
}

/// Why an attempt gave no output.
#[derive(From)]
pub(super) enum AttemptError {
    Failed {
        reason: String,
        /// Another attempt would do something twice, or end the same way.
        is_final: bool,
    },
    #[from(Stop, StoreError)]
    Stop(Stop),
}

impl AttemptError {
    /// The output isn't acceptable; another attempt may give a better one.
    pub(super) fn rejected(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), is_final: false }
    }
}

impl From<String> for AttemptError {
    fn from(reason: String) -> Self {
        Self::Failed { reason, is_final: true }
    }
}

impl From<TemplateError> for AttemptError {
    fn from(error: TemplateError) -> Self {
        error.message.into()
    }
}

/// An accepted output, and the execution it comes from if it is untrusted.
type Accepted = (Value, Option<String>);

impl Run<'_> {
    /// Tries an assignment until it is done or its attempts are used up.
    pub(super) async fn work(&self, assignment: &Assignment<'_>) -> Result<Outcome, Stop> {
        let retry = assignment.worker.retry();
        let mut outcome = Outcome::default();
        let mut feedback = String::new();
        let mut last = String::new();
        for attempt in 1..=retry.max_attempts {
            let key = keys::attempt(&assignment.key, attempt);
            if attempt > 1 {
                let before = keys::attempt(&assignment.key, attempt - 1);
                self.pause(&key, &before, delay(retry.backoff, attempt - 1), assignment.cancel).await?;
                feedback = self.feedback(&before, &last).await?;
                outcome.retries += 1;
            }
            outcome.attempts = attempt;
            match self.attempt(assignment, &key, &feedback, &mut outcome.warnings).await {
                Ok((output, outside)) => return Ok(Outcome { output, outside, ..outcome }),
                Err(AttemptError::Stop(stop)) => return Err(stop),
                Err(AttemptError::Failed { reason, is_final }) => {
                    last = reason;
                    if is_final {
                        break;
                    }
                }
            }
        }
        self.failed(assignment, outcome, last).await
    }

    /// Applies `on_failure` after the last attempt.
    async fn failed(
        &self,
        assignment: &Assignment<'_>,
        mut outcome: Outcome,
        reason: String,
    ) -> Result<Outcome, Stop> {
        let name = assignment.worker.name();
        let fallback = match &assignment.worker.retry().on_failure {
            OnFailure::Abort => return Ok(outcome.failed(reason, true)),
            OnFailure::Skip => {
                outcome.warnings.push(l10n::runs::skipped(name, &reason));
                return Ok(outcome.failed(reason, false));
            }
            OnFailure::Fallback(fallback) => fallback,
        };
        outcome.warnings.push(l10n::runs::took_over(name, &reason, fallback));
        let Some(agent) = self.workflow.agent(fallback) else { return Ok(outcome.failed(reason, true)) };
        let key = format!("{}~{fallback}", assignment.key);
        let instead = Assignment {
            key: key.clone(),
            worker: Worker::Agent(agent),
            context: assignment.context.clone(),
            ..*assignment
        };
        match self.attempt(&instead, &key, "", &mut outcome.warnings).await {
            Ok((output, outside)) => Ok(Outcome { output, outside, ..outcome }),
            Err(AttemptError::Stop(stop)) => Err(stop),
            Err(AttemptError::Failed { reason: second, .. }) => {
                Ok(outcome.failed(l10n::runs::fallback_failed(reason, fallback, second), true))
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
        if let Some(limit) = self.ctx.limits.budget.exceeded() {
            return Err(Suspend::AtLimit(limit).into());
        }
        metrics::retry("workflow");
        let now = self.ctx.store.now();
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

    /// Feedback for the next attempt: why the last one wasn't accepted, and the calls it completed anyway.
    async fn feedback(&self, before: &str, reason: &str) -> Result<String, Stop> {
        let row = self.state.row(before);
        let mut feedback = format!("Your last answer was not accepted: {}", marked(row.as_ref(), reason));
        let Some(row) = row else { return Ok(feedback) };
        for call in executions::of_agent(&self.ctx.store, &row.id).await? {
            let skill = call.skill.as_deref().unwrap_or_default();
            let is_repeatable = self.registry.get(skill).is_some_and(|skill| skill.repeatable);
            if call.status == ExecutionStatus::Completed && !is_repeatable {
                let result = marked(Some(&call), call.result.as_deref().unwrap_or_default());
                feedback.push_str(&format!("\nDone already, never do it again: {skill}: {result}"));
            }
        }
        Ok(feedback)
    }

    async fn attempt(
        &self,
        assignment: &Assignment<'_>,
        key: &str,
        feedback: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Accepted, AttemptError> {
        let is_late = assignment.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if is_late && self.state.row(key).is_none() {
            return Err(l10n::runs::out_of_time().into());
        }
        let job = self.job(assignment, key, feedback).await?;
        let report = self.run_unit(key, job, assignment.cancel).await?;
        if !report.status.ended_well() {
            return Err(failure(&report));
        }
        if let Some(bailout) = &report.bailout {
            warnings.push(l10n::runs::ended_early(bailout.as_str(), assignment.worker.name()));
        }
        if let Some(error) = report.error.as_ref().filter(|_| report.bailout.is_none()) {
            // What comes next would build on it, and the rest of a plan can be changed.
            if self.can_change() && !error.kind.is_no() {
                let skill = error.skill.iter().map(|skill| format!("{skill}: ")).collect::<String>();
                return Err(format!("{skill}{}", error.message.whole()).into());
            }
            warnings.push(l10n::runs::only_partly(assignment.worker.name(), error.message.whole()));
        }
        let outside = report.untrusted.then(|| report.execution.to_string());
        let is_text = matches!(assignment.format, Some(Format::Text | Format::Markdown));
        let output = match assignment.worker {
            Worker::Skill(_) if is_text || report.data.is_null() => Value::String(report.result),
            Worker::Skill(_) => report.data,
            Worker::Agent(agent) => {
                let output = super::output::of(&report, assignment.format).map_err(AttemptError::rejected)?;
                self.validate(agent, key, &output, assignment).await?;
                output
            }
        };
        Ok((output, outside))
    }

    async fn job(&self, assignment: &Assignment<'_>, key: &str, feedback: &str) -> Result<Job, AttemptError> {
        let limits = &self.ctx.limits.budget.limits;
        let left = [assignment.deadline, self.deadline].into_iter().flatten();
        let left = left.map(|deadline| deadline.saturating_duration_since(Instant::now())).min();
        match assignment.worker {
            Worker::Agent(agent) => {
                let context = [assignment.context.as_deref().unwrap_or_default(), feedback];
                let context: Vec<&str> = context.into_iter().filter(|text| !text.is_empty()).collect();
                let model = agent.model.as_deref().map(|name| (self.runner.model)(name)).transpose()?;
                let timeout = agent.timeout.unwrap_or(limits.agent_timeout);
                let task = AgentTask {
                    mission: assignment.templates.for_model(&agent.prompt)?,
                    skills: agent.skills.clone(),
                    context: (!context.is_empty()).then(|| context.join("\n\n")),
                    role: Some(agent.role.clone()),
                    ..AgentTask::default()
                };
                let task = match &agent.as_role {
                    Some(role) => {
                        let wanted = agent.timeout.into_iter().chain(left).min();
                        let task = AgentTask { timeout_s: wanted.map(|wanted| wanted.as_secs()), ..task };
                        let asked = agent.names_skills.then(|| agent.skills.clone());
                        self.with_role(role, key, task, (asked, agent.success_criteria.clone())).await?
                    }
                    None => task,
                };
                let timeout = left.map_or(timeout, |left| timeout.min(left));
                Ok(Job { task, timeout: Some(timeout), model, ..Job::default() })
            }
            Worker::Skill(call) => {
                let arguments = assignment.templates.filled(&call.arguments)?;
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

impl Run<'_> {
    /// The task with what its role adds and takes away. A task that has begun stays as it was made.
    pub(super) async fn with_role(
        &self,
        role: &str,
        key: &str,
        task: AgentTask,
        (asked, success_criteria): (Option<Vec<String>>, Option<String>),
    ) -> Result<AgentTask, AttemptError> {
        let begun = self.state.row(key).and_then(|row| row.task);
        if let Some(begun) = begun.and_then(|json| serde_json::from_str(&json).ok()) {
            return Ok(begun);
        }
        let agents = &self.runner.agents;
        let (roles, limits) = (agents.roles.current(), &self.ctx.limits.budget.limits);
        let role = roles.get(role).ok_or_else(|| roles.missing(role))?;
        let accounts = agents.executor.services.accounts.of(self.ctx).await?;
        let offered = &agents.executor.offered(self.ctx, self.registry, &accounts).await?;
        Ok(RoleAssignment { role, asked, parent: None, success_criteria, offered, limits }.apply(task)?)
    }
}

/// A text of an execution, in a block if that has read something from outside.
fn marked(row: Option<&ExecutionRow>, text: &str) -> String {
    let row = row.filter(|row| !row.taint.is_clean());
    row.map_or_else(|| text.to_owned(), |row| block::of(&row.id, &row.taint, text))
}

/// Why a unit of work failed, and whether another attempt makes sense.
fn failure(report: &Report) -> AttemptError {
    let was_rejected = report.error.as_ref().is_some_and(|error| error.kind.is_no());
    let may_have_happened = report.status == ExecutionStatus::Unknown
        || report.error.as_ref().is_some_and(|error| !error.recoverable);
    let line = report.line();
    let reason = if line.is_empty() { l10n::runs::ended_as(report.status) } else { line };
    AttemptError::Failed { reason, is_final: was_rejected || may_have_happened }
}

/// The delay after this failed attempt, counted from 1.
fn delay(backoff: Backoff, attempt: u32) -> Duration {
    match backoff {
        Backoff::None => Duration::ZERO,
        Backoff::Linear => Duration::from_secs(5 * u64::from(attempt)),
        Backoff::Exponential => DOUBLING.exactly_after(attempt),
    }
}
