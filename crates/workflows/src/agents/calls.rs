//! Runs the tool calls of a sub-agent's model.

use std::sync::Arc;

use adjutant_skills::call::{Call, CallError, CallReport};
use adjutant_skills::{ErrorKind, Grant, Registry, Rights, SkillError, executor, sources};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{Result, calls::ToolCallRow};
use adjutant_turn::journal::dialogue::Round;
use adjutant_turn::journal::{Dialogue, Progress, Suspend, TurnContext};
use adjutant_types::{ExecutionId, ExecutionStatus, FromCall, PromptText, Taint, ours};
use serde::Deserialize;
use serde_json::{Value, json};

use super::delegation::DELEGATE;
use super::outside::{List, Outside};
use super::{AgentRun, AgentTask, Agents, results};

const USED_UP: &str = "not run: your skill calls are used up. Answer in text now";

impl Agents {
    /// Makes the tool calls of a round: skill calls in parallel if all only read, otherwise in order, then the agents
    /// below side by side. Skill calls beyond `room` are refused.
    pub(super) async fn run_calls(
        self: &Arc<Self>,
        run: &AgentRun<'_>,
        dialogue: &mut Dialogue,
        round: &Round,
        room: usize,
    ) -> Result<Option<Suspend>> {
        let existing = executions::of_agent(&run.ctx.store, &run.row.id).await?;
        let open = round.calls.iter().filter(|call| call.result.is_none()).cloned();
        let (delegations, open): (Vec<ToolCallRow>, Vec<ToolCallRow>) =
            open.partition(|call| call.name == DELEGATE && !run.job.task.delegates_to().is_empty());
        // Agents below don't count as skill calls.
        let before = |idx: i64| delegations.iter().filter(|call| call.idx < idx).count();
        let call_skill = async |call: &ToolCallRow| -> Result<(i64, Progress<PromptText>)> {
            let end = self.use_skill(run, call, &existing, room + before(call.idx)).await?;
            Ok((call.idx, end))
        };
        let mut end = None;
        if open.len() > 1 && open.iter().all(|call| is_read(run.registry, call)) {
            let outcomes = futures::future::join_all(open.iter().map(&call_skill)).await;
            for outcome in outcomes {
                add_outcome(dialogue, &mut end, outcome?);
            }
        } else {
            for call in &open {
                if end.is_some() {
                    self.ask_ahead(run, call, &existing).await?;
                    continue;
                }
                let outcome = call_skill(call).await?;
                add_outcome(dialogue, &mut end, outcome);
                if !matches!(end, None | Some(Suspend::ForPerson)) {
                    break;
                }
            }
        }
        if delegations.is_empty() || !matches!(end, None | Some(Suspend::ForPerson)) {
            return Ok(end);
        }
        let children = self.delegate(run, dialogue, &delegations, &existing).await?;
        Ok(match children {
            Some(Suspend::AtLimit(limit)) => Some(Suspend::AtLimit(limit)),
            waiting => end.or(waiting),
        })
    }

    /// Asks about a call behind one that waits, if it will need a yes too, so that the person is asked once.
    async fn ask_ahead(
        &self,
        run: &AgentRun<'_>,
        call: &ToolCallRow,
        existing: &[ExecutionRow],
    ) -> Result<()> {
        let has_begun =
            existing.iter().any(|row| (row.call_n, row.call_idx) == (Some(call.n), Some(call.idx)));
        let wanted: Option<UseSkill> = serde_json::from_str(&call.arguments).ok();
        let Some(wanted) = wanted.filter(|_| !has_begun && call.name == "use_skill") else { return Ok(()) };
        let grant = self.grant_now(run.ctx, run.registry, &run.job.task).await?;
        let call = run.skill_call(call, &wanted, &grant, existing);
        self.executor.ask_ahead(run.ctx, run.registry, &call).await
    }

    async fn use_skill(
        &self,
        run: &AgentRun<'_>,
        call: &ToolCallRow,
        existing: &[ExecutionRow],
        room: usize,
    ) -> Result<Progress<PromptText>> {
        let beyond = usize::try_from(call.idx).unwrap_or(0) + 1;
        let left = room.checked_sub(beyond);
        let wanted = match read(call) {
            Ok(wanted) => wanted,
            Err(error) => {
                let taint = read_before(run.row, existing, call.n);
                return Ok(Progress::Done(misread(error, (&run.row.id, &taint), left)));
            }
        };
        let earlier =
            existing.iter().find(|row| (row.call_n, row.call_idx) == (Some(call.n), Some(call.idx)));
        let grant = self.grant_now(run.ctx, run.registry, &run.job.task).await?;
        let call = run.skill_call(call, &wanted, &grant, existing);
        let end = match (left, earlier) {
            (None, None) => {
                let error = SkillError::new(ErrorKind::Budget, USED_UP);
                self.executor.refuse(run.ctx, run.registry, &call, error).await?
            }
            _ => self.executor.call(run.ctx, run.registry, &call, earlier.cloned()).await?,
        };
        Ok(end.map(|report| for_model(&report, left.unwrap_or(0))))
    }

    /// The current grant of an agent: its original grant, as far as its role's file still allows it.
    pub(super) async fn grant_now(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        task: &AgentTask,
    ) -> Result<Grant> {
        let given = task.grant();
        let Some(name) = task.role.as_deref().filter(|_| task.assigned.is_some()) else { return Ok(given) };
        let accounts = self.executor.services.accounts.of(ctx).await?;
        let roles = self.roles.current();
        let Some(role) = roles.get(name) else { return Ok(Grant { skills: Vec::new(), ..given }) };
        let reach = |name: &String| {
            let skill = registry.get(name)?;
            Some((name.clone(), executor::reach(&accounts, skill)))
        };
        let offered = given.skills.iter().filter_map(reach).collect();
        let rights =
            Rights { asked: None, role: Some(&role.rights), parent: Some(&given), offered: &offered };
        Ok(Grant::of(rights))
    }
}

impl AgentRun<'_> {
    fn skill_call<'c>(
        &'c self,
        call: &ToolCallRow,
        wanted: &'c UseSkill,
        grant: &'c Grant,
        existing: &[ExecutionRow],
    ) -> Call<'c> {
        Call {
            agent: &self.row.id,
            agent_name: &self.job.task.agent_id,
            direct: false,
            position: (call.n, call.idx),
            grant,
            path: self.job.task.path(),
            skill: &wanted.skill,
            arguments: &wanted.arguments,
            taint: read_before(self.row, existing, call.n),
            replaces: None,
        }
    }
}

/// The outside sources of what an agent was given, and of what its calls before this round returned.
pub(super) fn read_before(agent: &ExecutionRow, calls: &[ExecutionRow], round: i64) -> Taint {
    let earlier = calls.iter().filter(|call| call.call_n.is_some_and(|n| n < round));
    std::iter::once(&agent.taint).chain(earlier.map(|call| &call.taint)).collect()
}

#[derive(Deserialize)]
pub(super) struct UseSkill {
    skill: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

fn read(call: &ToolCallRow) -> Result<UseSkill, SkillError> {
    if call.name != "use_skill" {
        let message = match call.name.as_str() {
            DELEGATE => "you can't delegate: do it yourself, or say in your answer what is left".into(),
            other => ours!("there is no tool {}; your tool is use_skill(skill, arguments)", FromCall(other)),
        };
        return Err(SkillError::params(message));
    }
    serde_json::from_str(&call.arguments).map_err(|error| {
        SkillError::params(ours!(
            "use_skill expects {\"skill\": \"...\", \"arguments\": {...}}: {}",
            FromCall(error)
        ))
    })
}

fn is_read(registry: &Registry, call: &ToolCallRow) -> bool {
    read(call).is_ok_and(|wanted| registry.get(&wanted.skill).is_some_and(|skill| skill.only_reads()))
}

fn add_outcome(
    dialogue: &mut Dialogue,
    end: &mut Option<Suspend>,
    (idx, outcome): (i64, Progress<PromptText>),
) {
    match outcome {
        Progress::Done(result) => dialogue.set_result(idx, result),
        Progress::Suspended(suspend) => *end = Some(suspend),
    }
}

/// The answer to a call that names no skill, in the shape of a failed skill call.
fn misread(
    mut error: SkillError,
    (execution, taint): (&ExecutionId, &Taint),
    left: Option<usize>,
) -> PromptText {
    error.message.settle(taint.is_clean(), |_, _| None);
    let (error, outside) = CallError { skill: None, ..CallError::new("", &error) }.for_model();
    let status = ExecutionStatus::Failed.as_str();
    let ours = json!({"status": status, "error": error, "calls_left": left.unwrap_or(0)});
    match outside {
        Some(text) => {
            Outside { ours, execution, source: taint.clone() }.whole(text, &Value::Null, usize::MAX)
        }
        None => PromptText::of_model(ours),
    }
}

/// The result of a skill call as the agent's model sees it.
fn for_model(report: &CallReport, left: usize) -> PromptText {
    let mut value = json!({"status": report.status.as_str(), "calls_left": left});
    let CallReport { execution, skill, taint, summary, data, .. } = report;
    let outside = |ours| Outside { ours, execution, source: sources::of_call(skill, data, taint) };
    if let Some((error, theirs)) = report.error.as_ref().map(CallError::for_model) {
        value["error"] = error;
        if let Some(text) = theirs {
            return outside(value).whole(text, &Value::Null, usize::MAX);
        }
    }
    if report.status != ExecutionStatus::Completed {
        return PromptText::of_model(value);
    }
    if !report.untrusted {
        let (summary, data) = results::without_repeats(summary, data);
        value["summary"] = json!(summary);
        if !data.is_null() {
            value["data"] = data;
        }
        return PromptText::of_model(value);
    }
    let outside = outside(value);
    if let Some(list) = List::of_data(summary, data) {
        return outside.list(&list, usize::MAX);
    }
    let (summary, data) = results::without_repeats(summary, data);
    outside.whole(summary, &data, usize::MAX)
}
