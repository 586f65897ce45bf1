//! Sub-agents: an agent is a model that works on one mission of a turn, with the skills granted to it.
//!
//! Continuing after a crash, an approval or a limit works like starting: the dialogue is rebuilt from the journal, and
//! finished calls aren't repeated.

mod calls;
mod ending;
mod prompt;
mod report;
mod results;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::Instrument;

pub use report::Report;

use crate::domain::{Bailout, ExecutionId, ExecutionStatus};
use crate::journal::{Dialogue, Limit, LimitReached, Prefix, Scope, fail_point, ledger};
use crate::model::{ModelError, ModelErrorKind, SharedModel};
use crate::skills::call::{Call, CallEnd, CallError, CallReport};
use crate::skills::executor::Executor;
use crate::skills::{ErrorKind, Registry};
use crate::store::StoreError;
use crate::store::executions::{self, ExecutionRow};
use crate::wording;

/// An agent's task, as `dispatch_agent` takes it and the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTask {
    /// Its name, unique in the turn.
    pub agent_id: String,
    /// What it should do.
    pub mission: String,
    /// The skills it may use.
    pub skills: Vec<String>,
    /// What else it should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The agents whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Its role, shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// With exactly one skill: runs it with these arguments, without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// How many skill calls it may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// How many seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
}

impl AgentTask {
    /// Whether it runs its one skill without a model.
    pub fn is_direct(&self) -> bool {
        self.arguments.is_some() && self.skills.len() == 1
    }
}

/// An agent's task, with everything it needs for it.
#[derive(Clone, Default)]
pub struct Job {
    /// The task.
    pub task: AgentTask,
    /// The reports of the agents it depends on.
    pub inputs: Vec<Report>,
    /// How long it may take, if its task doesn't say.
    pub timeout: Option<Duration>,
    /// A model to use instead of the agents' own.
    pub model: Option<SharedModel>,
}

/// Runs agents.
pub struct Agents {
    /// Makes their skill calls.
    pub executor: Executor,
    /// Their model.
    pub model: SharedModel,
    /// The prefixes by granted skills and catalogue.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

/// How an agent's run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEnd {
    /// The agent has ended, and its row is closed.
    Ended(Box<Report>),
    /// A call of it waits for a person.
    Waiting,
    /// A limit of the turn holds it back.
    LimitReached(Limit),
    /// There is nothing to do before this time, in milliseconds.
    Asleep(i64),
}

/// How the work of a sub-agent's model ended.
enum Work {
    Answered { text: String, bailout: Option<Bailout> },
    Failed(CallError),
    Waiting,
    LimitReached(Limit),
}

impl Agents {
    /// Runs or continues an agent in its own task, so that a panic ends only this agent.
    pub async fn run(
        self: &Arc<Self>,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        job: Job,
    ) -> Result<AgentEnd, StoreError> {
        let work = {
            let (agents, scope, registry, row) = (self.clone(), scope.clone(), registry.clone(), row.clone());
            async move { agents.run_here(&scope, &registry, &row, &job).await }
        };
        self.run_isolated(scope, registry, row, work).await
    }

    /// Does an agent's work in its own task; if it panics, its row is closed.
    pub async fn run_isolated(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        work: impl Future<Output = Result<AgentEnd, StoreError>> + Send + 'static,
    ) -> Result<AgentEnd, StoreError> {
        let mut inner = tokio::task::JoinSet::new();
        inner.spawn(work.in_current_span());
        match inner.join_next().await {
            Some(Ok(end)) => end,
            Some(Err(_)) | None => self.end_panicked(scope, registry, row).await,
        }
    }

    async fn run_here(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        job: &Job,
    ) -> Result<AgentEnd, StoreError> {
        if job.task.is_direct() {
            return self.run_direct(scope, registry, row, &job.task).await;
        }
        let limits = &scope.budget.limits;
        let wanted = job.task.timeout_s.map(Duration::from_secs).or(job.timeout);
        let timeout = wanted.unwrap_or(limits.agent_timeout).min(limits.turn_timeout);
        let work = self.work(scope, registry, row, job);
        let work = tokio::select! {
            work = work => Some(work?),
            () = tokio::time::sleep(timeout) => None,
            () = scope.cancel.cancelled() => {
                return self.end(scope, registry, row, ExecutionStatus::Cancelled, None, None).await;
            }
        };
        match work {
            None => {
                let message = format!("it ran out of time ({})", wording::duration(timeout));
                let error = error(ErrorKind::Timeout, message);
                self.end(scope, registry, row, ExecutionStatus::Timeout, Some(error), Some(Bailout::Time))
                    .await
            }
            Some(Work::Waiting) => Ok(AgentEnd::Waiting),
            Some(Work::LimitReached(limit)) => Ok(AgentEnd::LimitReached(limit)),
            Some(Work::Failed(error)) => {
                self.end(scope, registry, row, ExecutionStatus::Failed, Some(error), None).await
            }
            Some(Work::Answered { text, bailout }) => {
                self.answered(scope, registry, (row, &job.task.skills), text, bailout).await
            }
        }
    }

    async fn run_direct(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
    ) -> Result<AgentEnd, StoreError> {
        let arguments = task.arguments.clone().unwrap_or_default();
        let skill = task.skills.first().map(String::as_str).unwrap_or_default();
        let call = Call {
            agent: &row.id,
            direct: true,
            place: (0, 0),
            granted: &task.skills,
            skill,
            arguments: &arguments,
            taint: row.taint.clone(),
        };
        // A direct agent that never ran has no call in the journal.
        let existing = match row.status {
            ExecutionStatus::Pending => None,
            _ => executions::of_agent(&scope.store, &row.id).await?.into_iter().next(),
        };
        match self.executor.call(scope, registry, &call, existing).await? {
            CallEnd::Closed(call) => Ok(AgentEnd::Ended(Box::new(direct_report(scope, row, *call)))),
            CallEnd::Waiting => Ok(AgentEnd::Waiting),
            CallEnd::LimitReached(limit) => Ok(AgentEnd::LimitReached(limit)),
        }
    }

    async fn work(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        job: &Job,
    ) -> Result<Work, StoreError> {
        let task = &job.task;
        let key = format!("{}\n{}", task.skills.join(" "), registry.catalogue());
        let prefix = async { prompt::prefix(registry, &task.skills) };
        let prefix = self.prefixes.get_with(key, prefix).await;
        let most = task.max_tool_calls.unwrap_or(scope.budget.limits.skill_calls_per_agent);
        let mut dialogue = match Dialogue::load(&scope.store, &row.id, prefix.clone()).await? {
            Some(dialogue) => dialogue,
            None => {
                let opening = prompt::opening(task, &scope.now_line(), most, &job.inputs);
                Dialogue::begin(&scope.store, row.id.clone(), prefix, opening).await?
            }
        };
        loop {
            let made: Vec<usize> = dialogue.rounds().iter().map(|round| round.calls.len()).collect();
            let used = |rounds: &[usize]| rounds.iter().sum::<usize>();
            let bailout = (used(&made) > most as usize).then_some(Bailout::ToolCalls);
            if let Some(round) = dialogue.unanswered().cloned() {
                let earlier = made.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
                let last_but_one = earlier.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
                // It was told once that its calls are used up.
                if !earlier.is_empty() && used(last_but_one) >= most as usize {
                    return Ok(Work::Answered { text: round.text, bailout });
                }
                let room = (most as usize).saturating_sub(used(earlier));
                if let Some(end) =
                    self.answer(scope, registry, row, task, &mut dialogue, &round, room).await?
                {
                    return Ok(end);
                }
                continue;
            }
            if let Some(text) = dialogue.final_text() {
                return Ok(Work::Answered { text: text.to_owned(), bailout });
            }
            if let Err(limit) = scope.budget.before_model_call() {
                return Ok(stopped(limit, &dialogue));
            }
            let model = job.model.as_ref().unwrap_or(&self.model);
            if let Some(end) = ask_model(scope, model, &row.id, &mut dialogue).await? {
                return Ok(end);
            }
        }
    }
}

async fn ask_model(
    scope: &Scope,
    model: &SharedModel,
    execution: &ExecutionId,
    dialogue: &mut Dialogue,
) -> Result<Option<Work>, StoreError> {
    let request = dialogue.request();
    let wanted = ledger::estimate(&**model, &request);
    let reservation = match scope.reserve(execution, wanted, false).await {
        Ok(reservation) => reservation,
        Err(LimitReached::Store(error)) => return Err(error),
        Err(LimitReached::Limit(limit)) => return Ok(Some(stopped(limit, dialogue))),
    };
    let started = scope.store.now();
    let outcome = model.call(&request).await.and_then(usable);
    let mut batch = scope.batch();
    scope.settle(&mut batch, &reservation, outcome.as_ref(), false);
    let failed = match &outcome {
        Ok(answer) => {
            dialogue.record(&scope.store, &mut batch, answer, started);
            None
        }
        Err(failure) => {
            dialogue.record_failure(&scope.store, &mut batch, failure, started);
            tracing::warn!(error = %failure, "a sub-agent's model failed");
            // The built-in planner can't do this, so a retry won't help.
            let recoverable = failure.kind != ModelErrorKind::BeyondPlanner;
            let error = error(ErrorKind::Model, wording::model_failure(failure));
            Some(Work::Failed(CallError { recoverable, ..error }))
        }
    };
    scope.store.write(batch).await?;
    fail_point("agent-called");
    Ok(failed)
}

/// An answer must hold text or calls.
pub(crate) fn usable(answer: crate::model::Answer) -> Result<crate::model::Answer, ModelError> {
    if answer.text.trim().is_empty() && answer.tool_calls.is_empty() {
        let error = ModelError::new(ModelErrorKind::Nonsense, "the model gave an empty answer");
        return Err(ModelError { usage: answer.usage, cost_usd: answer.cost_usd, ..error });
    }
    Ok(answer)
}

/// Out of tokens or money, an agent ends with the results it has. If it hasn't started, or another limit was reached,
/// it waits until the turn goes on.
fn stopped(limit: Limit, dialogue: &Dialogue) -> Work {
    match limit.bailout().filter(|_| dialogue.recorded() > 0) {
        Some(bailout) => Work::Answered { text: String::new(), bailout: Some(bailout) },
        None => Work::LimitReached(limit),
    }
}

fn error(kind: ErrorKind, message: String) -> CallError {
    CallError { kind, message, skill: None, recoverable: true, retry_after_s: None }
}

fn direct_report(scope: &Scope, row: &ExecutionRow, call: CallReport) -> Report {
    let started = row.started_at.unwrap_or_else(|| scope.store.now());
    Report {
        agent_id: row.agent_id.clone().unwrap_or_default(),
        execution: row.id.clone(),
        status: call.status,
        result: call.summary,
        data: call.data,
        is_direct: true,
        tool_calls_used: 1,
        duration_ms: scope.store.now() - started,
        error: call.error,
        bailout: None,
        untrusted: call.untrusted || !call.taint.is_clean(),
        taint: call.taint,
    }
}
