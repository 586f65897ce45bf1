//! Agents that hand work to agents below them.
//!
//! - Whom an agent may delegate to is fixed when it is made: nobody at the deepest level. The tool in its requests and
//!   the refusal of a call are from that one list.
//! - The rows of all agents of one answer are written in one commit before the first starts, each at its call's place,
//!   so a continued agent finds them again: those that have ended aren't run again.
//! - A child gets no right that its parent doesn't have, and nothing of what the parent knows but its task and context.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_chat::AgentProgress;
use adjutant_chat::suggest::did_you_mean;
use adjutant_skills::call::CallError;
use adjutant_store::Result;
use adjutant_store::calls::ToolCallRow;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_turn::journal::dialogue::Round;
use adjutant_turn::journal::{Dialogue, Limit, Suspend, fail_point};
use adjutant_turn::wording;
use adjutant_types::{AccessLevel, Bailout, ExecutionKind, ExecutionStatus, PromptText, metrics};
use derive_more::From;
use futures::StreamExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::read_before;
use super::task::Assignment;
use super::{AgentEnd, AgentRun, AgentTask, Agents, Job, Report, Unit};

pub(super) const DELEGATE: &str = "delegate_to_agent";
/// How often one agent's work may be rejected by the same role before a person must decide.
const REVIEWS: usize = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delegate {
    role: String,
    task: String,
    success_criteria: Option<String>,
    skills: Option<Vec<String>>,
    context: Option<String>,
}

/// Why a delegation isn't made.
#[derive(From)]
enum Refusal {
    /// The call is wrong; another one may be right.
    #[from]
    Wrong(String),
    /// A limit of the tree, so the agent's work is partial.
    Spent(String),
    /// A limit of the turn: a person is asked.
    LimitReached(Limit),
}

/// The checks for new children.
struct Judge<'a> {
    run: &'a AgentRun<'a>,
    existing: &'a [ExecutionRow],
    offered: &'a BTreeMap<String, AccessLevel>,
    /// Agents of the tree so far.
    in_tree: i64,
}

impl Agents {
    /// Runs or continues the agents that these calls ask for, side by side.
    pub(super) async fn delegate(
        self: &Arc<Self>,
        run: &AgentRun<'_>,
        dialogue: &mut Dialogue,
        calls: &[ToolCallRow],
        existing: &[ExecutionRow],
    ) -> Result<Option<Suspend>> {
        let (children, mut reached) = self.children(run, dialogue, calls, existing).await?;
        let max_running = run.ctx.limits.budget.limits.concurrent_agents_per_parent as usize;
        // Their work is what this one waits for.
        run.slot.give_back();
        let work = children
            .into_iter()
            .map(|(idx, row)| async move { (idx, row.clone(), self.run_child(run, row).await) });
        let mut running = futures::stream::iter(work).buffer_unordered(max_running);
        let mut waits = false;
        while let Some((idx, row, end)) = running.next().await {
            match end? {
                AgentEnd::Done(report) => dialogue.set_result(idx, report.for_parent()),
                AgentEnd::Suspended(Suspend::ForPerson | Suspend::Until(_)) => waits = true,
                AgentEnd::Suspended(Suspend::AtLimit(limit)) => {
                    run.ctx.write(|batch| executions::wait(batch, &row.id)).await?;
                    reached.get_or_insert(limit);
                }
            }
        }
        drop(running);
        run.slot.take().await;
        Ok(reached.map(Suspend::AtLimit).or(waits.then_some(Suspend::ForPerson)))
    }

    /// The rows of the agents that these calls ask for; refused calls are answered. Also the limit that some wait for.
    async fn children(
        &self,
        run: &AgentRun<'_>,
        dialogue: &mut Dialogue,
        calls: &[ToolCallRow],
        existing: &[ExecutionRow],
    ) -> Result<(Vec<(i64, ExecutionRow)>, Option<Limit>)> {
        let ctx = run.ctx;
        let at = |call: &ToolCallRow| {
            existing.iter().find(|row| (row.call_n, row.call_idx) == (Some(call.n), Some(call.idx)))
        };
        let mut children: Vec<(i64, ExecutionRow)> =
            calls.iter().filter_map(|call| Some((call.idx, at(call)?.clone()))).collect();
        if children.len() == calls.len() {
            return Ok((children, None));
        }
        let _admitting = ctx.limits.slots.admission.lock().await;
        let name = run.row.agent_id.as_deref().unwrap_or_default();
        let top = name.split('/').next().unwrap_or_default();
        let in_tree = executions::agents_named(&ctx.store, &ctx.turn.id, &format!("{top}/")).await?;
        let accounts = self.executor.services.accounts.of(ctx).await?;
        let offered = self.executor.offered(ctx, run.registry, &accounts).await?;
        let mut judge = Judge { run, existing, offered: &offered, in_tree: in_tree + 1 };
        let (mut batch, mut reached, mut made) = (ctx.batch(), None, Vec::new());
        for call in calls.iter().filter(|call| at(call).is_none()) {
            match self.child(&mut judge, call, &made) {
                Ok(row) => {
                    executions::insert(&mut batch, &row, &ctx.turn.conversation.id);
                    made.push(row.clone());
                    children.push((call.idx, row));
                }
                Err(Refusal::Wrong(reason)) => {
                    dialogue.set_result(call.idx, PromptText::of_model(json!({"error": reason})))
                }
                Err(Refusal::Spent(reason)) => {
                    let limit = Bailout::Agents.as_str();
                    dialogue
                        .set_result(call.idx, PromptText::of_model(json!({"error": reason, "limit": limit})));
                }
                Err(Refusal::LimitReached(limit)) => reached = reached.or(Some(limit)),
            }
        }
        if !made.is_empty() {
            ctx.store.write(batch).await?;
            fail_point("delegated");
        }
        Ok((children, reached))
    }

    /// The row of a new child.
    fn child(
        &self,
        judge: &mut Judge<'_>,
        call: &ToolCallRow,
        made: &[ExecutionRow],
    ) -> Result<ExecutionRow, Refusal> {
        let (run, limits) = (judge.run, &judge.run.ctx.limits.budget.limits);
        let task = self.child_task(judge, call, made)?;
        if judge.in_tree >= i64::from(limits.agents_per_tree) {
            return Err(Refusal::Spent(wording::roles::tree_is_full(limits.agents_per_tree)));
        }
        run.ctx.limits.budget.take_agent().map_err(Refusal::LimitReached)?;
        judge.in_tree += 1;
        let now = run.ctx.store.now();
        Ok(ExecutionRow {
            parent_id: Some(run.row.id.clone()),
            call_n: Some(call.n),
            call_idx: Some(call.idx),
            agent_id: Some(task.agent_id.clone()),
            task: serde_json::to_string(&task).ok(),
            role: task.role.clone(),
            status: ExecutionStatus::Running,
            started_at: Some(now),
            taint: read_before(run.row, judge.existing, call.n),
            ..ExecutionRow::new(run.ctx.store.new_id(), &run.ctx.turn.id, ExecutionKind::Agent)
        })
    }

    fn child_task(
        &self,
        judge: &Judge<'_>,
        call: &ToolCallRow,
        made: &[ExecutionRow],
    ) -> Result<AgentTask, Refusal> {
        let (run, existing) = (judge.run, judge.existing);
        let task = &run.job.task;
        let wanted: Delegate = serde_json::from_str(&call.arguments).map_err(|error| {
            format!("{DELEGATE} expects {{\"role\": \"...\", \"task\": \"...\"}}: {error}")
        })?;
        if existing.iter().any(was_rejected) {
            return Err(wording::roles::PERSON_SAID_NO.to_owned().into());
        }
        let allowed = task.delegates_to();
        let roles = self.roles.current();
        let role = roles.get(&wanted.role).filter(|role| allowed.contains(&role.name)).ok_or_else(|| {
            let hint = did_you_mean(&wanted.role, allowed.iter().map(String::as_str));
            let then = if hint.is_empty() { "; you can to" } else { " You can to" };
            format!("you can't delegate to \"{}\"{hint}{then} {}", wanted.role, allowed.join(", "))
        })?;
        if wanted.task.trim().is_empty() {
            return Err("the task is empty: say all that the agent must know".to_owned().into());
        }
        let reviews = existing.iter().filter(|row| row.role.as_ref() == Some(&role.name));
        if reviews.filter(|row| rejects(row)).count() >= REVIEWS {
            return Err(Refusal::Spent(wording::roles::reviews_are_used_up(&role.name)));
        }
        let unknown = wanted.skills.iter().flatten().find(|name| run.registry.get(name).is_none());
        if let Some(name) = unknown {
            return Err(run.registry.missing(name).into());
        }
        let name = run.row.agent_id.as_deref().unwrap_or_default();
        let before = existing.iter().chain(made).filter(|row| row.role.as_ref() == Some(&role.name)).count();
        let agent_id = match before {
            0 => format!("{name}/{}", role.name),
            more => format!("{name}/{}-{}", role.name, more + 1),
        };
        let task =
            AgentTask { agent_id, mission: wanted.task, context: wanted.context, ..AgentTask::default() };
        let assignment = Assignment {
            role,
            asked: wanted.skills,
            parent: Some(&run.job.task),
            success_criteria: wanted.success_criteria.filter(|text| !text.trim().is_empty()),
            offered: judge.offered,
            limits: &run.ctx.limits.budget.limits,
        };
        Ok(assignment.apply(task)?)
    }

    /// Runs or continues one child, or takes its result from the journal.
    async fn run_child(self: &Arc<Self>, run: &AgentRun<'_>, row: ExecutionRow) -> Result<AgentEnd> {
        let task: AgentTask =
            row.task.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        if row.status.has_ended() {
            let calls = executions::of_agent(&run.ctx.store, &row.id).await?;
            return Ok(AgentEnd::Done(Box::new(Report::of(&row, &calls))));
        }
        show(run, &row, &task, ExecutionStatus::Running);
        let job = Job { task: task.clone(), conversation: run.job.conversation.clone(), ..Job::default() };
        let end = self.run_boxed(Unit { ctx: run.ctx, registry: run.registry, row: &row }, job).await?;
        let status = match &end {
            AgentEnd::Done(report) => {
                metrics::agent_ended(report.role.as_deref(), report.status.as_str());
                report.status
            }
            _ => ExecutionStatus::Waiting,
        };
        show(run, &row, &task, status);
        Ok(end)
    }

    /// [`Agents::run`] with a type that it may contain itself.
    fn run_boxed<'a>(self: &'a Arc<Self>, unit: Unit<'a>, job: Job) -> BoxFuture<'a, Result<AgentEnd>> {
        Box::pin(self.run(unit.ctx, unit.registry, unit.row, job))
    }
}

/// Whether a person said no to it, or to something below it.
fn was_rejected(row: &ExecutionRow) -> bool {
    let error: Option<CallError> = row.error.as_deref().and_then(|json| serde_json::from_str(json).ok());
    error.is_some_and(|error| error.kind.is_no())
}

/// Whether an agent's verdict is a no.
fn rejects(row: &ExecutionRow) -> bool {
    let answer: Option<Value> = row.answer.as_deref().and_then(|json| serde_json::from_str(json).ok());
    answer.is_some_and(|answer| answer["data"]["verdict"] == "reject")
}

/// The number of calls in a round that count as skill calls.
pub(super) fn skill_calls(task: &AgentTask, round: &Round) -> usize {
    let is_delegation = |call: &&ToolCallRow| call.name == DELEGATE && !task.delegates_to().is_empty();
    round.calls.len() - round.calls.iter().filter(is_delegation).count()
}

/// Whether a limit has stopped an agent from delegating.
pub(super) fn bailout(dialogue: &Dialogue) -> Option<Bailout> {
    let calls = dialogue.rounds().iter().flat_map(|round| &round.calls);
    let mut results = calls.filter(|call| call.name == DELEGATE).filter_map(|call| call.result.as_deref());
    let is_limit = |result: &str| {
        let value: Option<Value> = serde_json::from_str(result).ok();
        value.is_some_and(|value| value["limit"] == Bailout::Agents.as_str())
    };
    results.any(is_limit).then_some(Bailout::Agents)
}

/// Shows a child in the turn's progress, below its parent.
fn show(run: &AgentRun<'_>, row: &ExecutionRow, task: &AgentTask, status: ExecutionStatus) {
    let parent = run.row.agent_id.as_deref().unwrap_or_default();
    let top = parent.split('/').next().unwrap_or_default();
    let elapsed = row.started_at.map_or(0, |started| run.ctx.store.now() - started);
    let line = AgentProgress {
        agent_id: task.agent_id.clone(),
        status: status.as_str().to_owned(),
        mission: task.mission.clone(),
        skill: None,
        depends_on: vec![parent.to_owned()],
        elapsed_ms: u64::try_from(elapsed).unwrap_or(0),
    };
    run.ctx.io.sub_progress.put(top, line);
}
