//! Sub-agents: an agent is a model that works on one mission of a turn, with the skills granted to it.
//!
//! Continuing after a crash, an approval or a limit works like starting: the dialogue is rebuilt from the journal, and
//! finished calls aren't repeated.

mod background;
mod calls;
mod delegation;
mod ending;
mod outside;
mod prompt;
mod report;
mod results;
mod structured_output;
mod task;

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

pub use report::Report;
pub(crate) use report::without_ids;
pub use structured_output::StructuredOutput;
pub(crate) use structured_output::texts;
pub use task::{AgentTask, Assigned, Assignment, Job};

use adjutant_l10n as l10n;
use adjutant_models::{ModelError, ModelErrorKind, ModelResponse, SharedModel};
use adjutant_skills::call::{Call, CallError, CallReport};
use adjutant_skills::executor::Executor;
use adjutant_skills::{ErrorKind, Registry};
use adjutant_store::Result;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_turn::journal::{
    Dialogue, Limit, LimitReached, Prefix, Progress, Slot, Suspend, TurnContext, fail_point, ledger,
};
use adjutant_turn::wording;
use adjutant_types::{Bailout, ErrorText, ExecutionId, ExecutionStatus, Own, PromptText, ours};

use crate::roles::Roles;

/// Finds the model of a name, or says why it isn't available.
pub type ModelByName = Arc<dyn Fn(&str) -> Result<SharedModel, String> + Send + Sync>;

pub struct Agents {
    pub executor: Executor,
    pub model: SharedModel,
    pub roles: Arc<Roles>,
    /// Finds models for roles that name one.
    pub named: ModelByName,
    /// The prefixes by role, granted skills, catalogue, and whether there are several accounts.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

/// The outcome of an agent; if it is done, its row is closed.
pub type AgentEnd = Progress<Box<Report>>;

/// A unit of work: its row, its turn, and the skills that it may see.
#[derive(Clone, Copy)]
pub(crate) struct Unit<'a> {
    pub(crate) ctx: &'a TurnContext,
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) row: &'a ExecutionRow,
}

/// A sub-agent's model at work.
struct AgentRun<'a> {
    ctx: &'a TurnContext,
    registry: &'a Arc<Registry>,
    row: &'a ExecutionRow,
    job: &'a Job,
    /// Counts it among the turn's agents at work.
    slot: Slot,
}

/// The outcome of the work of a sub-agent's model.
enum Work {
    Answered { text: String, bailout: Option<Bailout> },
    Failed(CallError),
    Suspended(Suspend),
}

impl Agents {
    /// Runs or continues an agent in its own task, so that a panic ends only this agent.
    pub async fn run(
        self: &Arc<Self>,
        ctx: &TurnContext,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        job: Job,
    ) -> Result<AgentEnd> {
        let work = {
            let (agents, ctx, registry, row) = (self.clone(), ctx.clone(), registry.clone(), row.clone());
            async move { agents.run_here(Unit { ctx: &ctx, registry: &registry, row: &row }, &job).await }
        };
        self.run_isolated(Unit { ctx, registry, row }, work).await
    }

    /// Does an agent's work in its own task; if it panics, its row is closed.
    pub(crate) async fn run_isolated(
        &self,
        unit: Unit<'_>,
        work: impl Future<Output = Result<AgentEnd>> + Send + 'static,
    ) -> Result<AgentEnd> {
        let mut inner = tokio::task::JoinSet::new();
        inner.spawn(work.in_current_span());
        match inner.join_next().await {
            Some(Ok(end)) => end,
            Some(Err(_)) | None => self.end_panicked(unit).await,
        }
    }

    async fn run_here(self: &Arc<Self>, unit: Unit<'_>, job: &Job) -> Result<AgentEnd> {
        if job.task.is_direct() {
            return self.run_direct(unit, job).await;
        }
        let Unit { ctx, registry, row } = unit;
        let limits = &ctx.limits.budget.limits;
        let wanted = job.task.timeout_s.map(Duration::from_secs).or(job.timeout);
        let timeout = wanted.unwrap_or(limits.agent_timeout).min(limits.turn_timeout);
        let slot = Slot::new(ctx.limits.slots.clone());
        tokio::select! {
            () = slot.take() => {}
            () = ctx.control.cancel.cancelled() => return self.cancel(unit).await,
        }
        let run = AgentRun { ctx, registry, row, job, slot };
        let work = self.work(&run);
        let work = tokio::select! {
            work = work => Some(work?),
            () = tokio::time::sleep(timeout) => None,
            () = ctx.control.cancel.cancelled() => return self.cancel(unit).await,
        };
        match work {
            None => {
                let message = l10n::runs::run_out_of_time(wording::duration(timeout));
                let error = error(ErrorKind::Timeout, message);
                self.end(unit, ExecutionStatus::Timeout, Some(error), Some(Bailout::Time)).await
            }
            Some(Work::Suspended(suspend)) => Ok(AgentEnd::Suspended(suspend)),
            Some(Work::Failed(error)) => self.end(unit, ExecutionStatus::Failed, Some(error), None).await,
            Some(Work::Answered { text, bailout }) => self.answered(unit, &job.task, text, bailout).await,
        }
    }

    async fn run_direct(&self, unit: Unit<'_>, job: &Job) -> Result<AgentEnd> {
        let Unit { ctx, registry, row } = unit;
        let task = &job.task;
        let mut arguments = task.arguments.clone().unwrap_or_default();
        if let Some(name) = &task.results_in {
            let results: Vec<String> = job.inputs.iter().map(Report::for_person).collect();
            arguments[name] = results.join("\n").into();
        }
        let skill = task.skills.first().map(String::as_str).unwrap_or_default();
        let grant = self.grant_now(ctx, registry, task).await?;
        let call = Call {
            agent: &row.id,
            agent_name: &task.agent_id,
            direct: true,
            position: (0, 0),
            grant: &grant,
            path: task.path(),
            skill,
            arguments: &arguments,
            taint: row.taint.clone(),
            replaces: None,
        };
        // A direct agent that never ran has no call in the journal.
        let existing = match row.status {
            ExecutionStatus::Pending => None,
            _ => executions::of_agent(&ctx.store, &row.id).await?.into_iter().next(),
        };
        let end = self.executor.call(ctx, registry, &call, existing).await?;
        Ok(end.map(|call| Box::new(direct_report(ctx, row, *call))))
    }

    async fn work(self: &Arc<Self>, run: &AgentRun<'_>) -> Result<Work> {
        let AgentRun { ctx, row, job, .. } = run;
        let task = &job.task;
        let model = match self.model_of(job) {
            Ok(model) => model,
            Err(reason) => return Ok(Work::Failed(error(ErrorKind::Model, reason))),
        };
        let max_calls = task.max_tool_calls.unwrap_or(ctx.limits.budget.limits.skill_calls_per_agent);
        let mut dialogue = self.dialogue(run, max_calls).await?;
        loop {
            let made: Vec<usize> =
                dialogue.rounds().iter().map(|round| delegation::skill_calls(task, round)).collect();
            let used = |rounds: &[usize]| rounds.iter().sum::<usize>();
            if task.assigned.is_some() {
                let note = wording::roles::progress(task.path(), used(&made), max_calls);
                ctx.io.sub_progress.note(&task.agent_id, note);
            }
            let bailout = (used(&made) > max_calls as usize).then_some(Bailout::ToolCalls);
            let bailout = bailout.or_else(|| delegation::bailout(&dialogue));
            if let Some(round) = dialogue.unanswered().cloned() {
                let earlier = made.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
                let last_but_one = earlier.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
                // It was told once that its calls are used up.
                if !earlier.is_empty() && used(last_but_one) >= max_calls as usize {
                    return Ok(Work::Answered { text: round.text, bailout });
                }
                let room = (max_calls as usize).saturating_sub(used(earlier));
                if let Some(suspend) = self.run_calls(run, &mut dialogue, &round, room).await? {
                    return Ok(Work::Suspended(suspend));
                }
                if dialogue.recorded() + 1 == task.max_model_calls() {
                    dialogue.note(LAST_CALL);
                }
                continue;
            }
            if let Some(text) = dialogue.final_text() {
                return Ok(Work::Answered { text: text.to_owned(), bailout });
            }
            if dialogue.recorded() >= task.max_model_calls() {
                let text = dialogue.rounds().last().map(|round| round.text.clone()).unwrap_or_default();
                return Ok(Work::Answered { text, bailout: Some(Bailout::ModelCalls) });
            }
            if let Err(limit) = ctx.limits.budget.before_model_call() {
                return Ok(stopped(limit, &dialogue));
            }
            if let Some(end) = ask_model(ctx, &model, &row.id, &mut dialogue).await? {
                return Ok(end);
            }
        }
    }

    /// The dialogue so far, or a new one.
    async fn dialogue(&self, run: &AgentRun<'_>, max_calls: u32) -> Result<Dialogue> {
        let AgentRun { ctx, registry, row, job, .. } = run;
        let task = &job.task;
        let roles = self.roles.current();
        let role = task.role.as_deref().filter(|_| task.assigned.is_some()).and_then(|name| roles.get(name));
        let accounts = self.executor.services.accounts.of(ctx).await?;
        let has_several = accounts.has_several();
        let key = prompt::key(registry, task, role, has_several);
        let prefix = async { prompt::prefix(registry, &roles, task, role, has_several) };
        let prefix = self.prefixes.get_with(key, prefix).await;
        if let Some(dialogue) = Dialogue::load(&ctx.store, &row.id, prefix.clone()).await? {
            return Ok(dialogue);
        }
        let background = match role {
            Some(role) => background::of(ctx, role, job, &row.taint).await?,
            None => PromptText::default(),
        };
        // Drafts are signed as the person's own emails are.
        let name = accounts.all.iter().find_map(|account| account.mail.as_deref()?.from.name.as_deref());
        let (now_line, name) = (ctx.now_line(), name.unwrap_or(&ctx.turn.person.name));
        let messages = prompt::first_messages(task, &now_line, name, max_calls, &job.inputs, background);
        Dialogue::begin(&ctx.store, row.id.clone(), prefix, messages).await
    }

    /// The model of a job: its own, its role's, or the agents'.
    fn model_of(&self, job: &Job) -> Result<SharedModel, String> {
        if let Some(model) = &job.model {
            return Ok(model.clone());
        }
        let roles = self.roles.current();
        let role = job.task.role.as_deref().filter(|_| job.task.assigned.is_some());
        match role.and_then(|role| roles.get(role)?.model.as_deref()) {
            Some(name) => (self.named)(name),
            None => Ok(self.model.clone()),
        }
    }
}

/// The last result before an agent's last model call ends with this.
const LAST_CALL: &str = "(This is your last answer: call nothing more, and say what you have.)";

async fn ask_model(
    ctx: &TurnContext,
    model: &SharedModel,
    execution: &ExecutionId,
    dialogue: &mut Dialogue,
) -> Result<Option<Work>> {
    let request = dialogue.request();
    let wanted = ledger::estimate(&**model, &request);
    let reservation = match ctx.reserve(execution, wanted, false).await {
        Ok(reservation) => reservation,
        Err(LimitReached::Store(error)) => return Err(error),
        Err(LimitReached::Limit(limit)) => return Ok(Some(stopped(limit, dialogue))),
    };
    let started = ctx.store.now();
    let outcome = model.call(&request).await.and_then(usable);
    let mut batch = ctx.batch();
    ctx.settle(&mut batch, &reservation, outcome.as_ref(), false);
    let failed = match &outcome {
        Ok(response) => {
            dialogue.record(&ctx.store, &mut batch, response, started);
            None
        }
        Err(failure) => {
            dialogue.record_failure(&ctx.store, &mut batch, failure, started);
            // Nothing is broken, and a retry won't help.
            let recoverable = failure.kind != ModelErrorKind::NoModel;
            if recoverable {
                tracing::warn!(error = %failure, "a sub-agent's model failed");
            }
            let error = error(ErrorKind::Model, ours!("{}", Own(wording::model_failure(failure))));
            Some(Work::Failed(CallError { recoverable, ..error }))
        }
    };
    ctx.store.write(batch).await?;
    fail_point("agent-called");
    Ok(failed)
}

/// A response must hold text or calls.
pub fn usable(response: ModelResponse) -> Result<ModelResponse, ModelError> {
    if response.text.trim().is_empty() && response.tool_calls.is_empty() {
        let error = ModelError::new(ModelErrorKind::Nonsense, "the model gave an empty answer");
        return Err(ModelError { usage: response.usage, cost_usd: response.cost_usd, ..error });
    }
    Ok(response)
}

/// Out of tokens or money, an agent ends with the results it has. If it hasn't started, or another limit was reached,
/// it waits until the turn goes on.
fn stopped(limit: Limit, dialogue: &Dialogue) -> Work {
    match limit.bailout().filter(|_| dialogue.recorded() > 0) {
        Some(bailout) => Work::Answered { text: String::new(), bailout: Some(bailout) },
        None => Work::Suspended(Suspend::AtLimit(limit)),
    }
}

pub(crate) fn error(kind: ErrorKind, message: impl Into<ErrorText>) -> CallError {
    CallError { kind, message: message.into(), skill: None, recoverable: true, retry_after_s: None }
}

fn direct_report(ctx: &TurnContext, row: &ExecutionRow, call: CallReport) -> Report {
    let started = row.started_at.unwrap_or_else(|| ctx.store.now());
    Report {
        agent_id: row.agent_id.clone().unwrap_or_default(),
        execution: row.id.clone(),
        status: call.status,
        result: call.summary,
        data: call.data,
        is_direct: true,
        skill: Some(call.skill),
        tool_calls_used: 1,
        duration_ms: ctx.store.now() - started,
        error: call.error,
        bailout: None,
        role: row.role.clone(),
        structured: None,
        untrusted: call.untrusted || !call.taint.is_clean(),
        is_own: call.is_own,
        taint: call.taint,
    }
}
