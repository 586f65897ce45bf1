//! A sub-agent: a model at work on one mission inside one turn, with the skills granted to it.
//!
//! Going on after a crash, a yes or a limit is the same as starting: the dialogue is rebuilt from the
//! journal, and what is closed there is not done again.

mod calls;
mod ending;
mod prompt;
mod report;

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

/// What an agent is told, as `dispatch_agent` takes it and the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTask {
    /// Its name, unique in the turn.
    pub agent_id: String,
    /// What to do.
    pub mission: String,
    /// What it may use.
    pub skills: Vec<String>,
    /// What else it should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// With exactly one skill: run that with these, without a model.
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

/// An agent's task, and what it goes about it with.
#[derive(Clone, Default)]
pub struct Job {
    /// What it is told.
    pub task: AgentTask,
    /// The reports of those it depends on.
    pub inputs: Vec<Report>,
    /// How long it may take, where its task does not say.
    pub timeout: Option<Duration>,
    /// Another model than the agents' own.
    pub model: Option<SharedModel>,
}

/// Runs agents.
pub struct Agents {
    /// The path of their skill calls.
    pub executor: Executor,
    /// Their model.
    pub model: SharedModel,
    /// Prefixes by granted skills; the registry's catalogue tells when they are stale.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

/// Whether an agent is over.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEnd {
    /// Yes; its row is closed.
    Ended(Box<Report>),
    /// One of its calls waits for a person.
    Waiting,
    /// A limit of the turn holds it back.
    Held(Limit),
    /// Nothing is left to do before this moment, in milliseconds.
    Asleep(i64),
}

/// How the work of a sub-agent's model ended.
enum Work {
    Answered { text: String, bailout: Option<Bailout> },
    Failed(CallError),
    Waiting,
    Held(Limit),
}

impl Agents {
    /// Runs an agent, or goes on with one, in a task of its own, so that a panic ends this agent and nothing else.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
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
        self.apart(scope, registry, row, work).await
    }

    /// Does an agent's work in a task of its own; a panic closes its row.
    ///
    /// # Errors
    /// As the work, or when the store fails.
    pub async fn apart(
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
        let told = job.task.timeout_s.map(Duration::from_secs).or(job.timeout);
        let timeout = told.unwrap_or(limits.agent_timeout).min(limits.turn_timeout);
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
            Some(Work::Held(limit)) => Ok(AgentEnd::Held(limit)),
            Some(Work::Failed(error)) => {
                self.end(scope, registry, row, ExecutionStatus::Failed, Some(error), None).await
            }
            Some(Work::Answered { text, bailout }) => self.answered(scope, row, text, bailout).await,
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
        };
        // A direct agent that never ran has no call in the journal: no need to look.
        let existing = match row.status {
            ExecutionStatus::Pending => None,
            _ => executions::of_agent(&scope.store, &row.id).await?.into_iter().next(),
        };
        match self.executor.call(scope, registry, &call, existing).await? {
            CallEnd::Closed(call) => Ok(AgentEnd::Ended(Box::new(direct_report(scope, row, *call)))),
            CallEnd::Waiting => Ok(AgentEnd::Waiting),
            CallEnd::LimitReached(limit) => Ok(AgentEnd::Held(limit)),
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
        let mut dialogue = match Dialogue::load(&scope.store, &row.id, prefix.clone()).await? {
            Some(dialogue) => dialogue,
            None => {
                let opening = prompt::opening(task, &scope.now_line(), &job.inputs);
                Dialogue::begin(&scope.store, row.id.clone(), prefix, opening).await?
            }
        };
        let most = task.max_tool_calls.unwrap_or(scope.budget.limits.skill_calls_per_agent);
        let mut bailout = None;
        loop {
            if let Some(round) = dialogue.unanswered().cloned() {
                let before: usize = dialogue.rounds().iter().map(|round| round.calls.len()).sum();
                let room = (most as usize).saturating_sub(before - round.calls.len());
                if room == 0 {
                    return Ok(Work::Answered { text: round.text, bailout: Some(Bailout::ToolCalls) });
                }
                if round.calls.len() > room {
                    bailout = Some(Bailout::ToolCalls);
                }
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
            tracing::warn!(error = %failure, "a sub-agent's model gave no answer");
            // The planner will never think.
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

/// An agent that tokens or money stop midway ends with what it has; one that has not begun, or that another limit stops,
/// waits until the turn goes on.
fn stopped(limit: Limit, dialogue: &Dialogue) -> Work {
    match limit.bailout().filter(|_| dialogue.recorded() > 0) {
        Some(bailout) => Work::Answered { text: String::new(), bailout: Some(bailout) },
        None => Work::Held(limit),
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
        tools_used: vec![call.skill],
        tool_calls_used: 1,
        duration_ms: scope.store.now() - started,
        error: call.error,
        bailout: None,
        untrusted: call.untrusted,
    }
}
