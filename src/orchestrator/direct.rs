//! A turn that only runs a workflow: the person wrote `/run NAME`, or "run NAME" and nothing else. The workflow's
//! report is the answer; the orchestrator's model isn't called.

use serde_json::json;

use super::{Orchestrator, Run, TurnEnd};
use crate::agents::AgentTask;
use crate::domain::{ExecutionId, ExecutionStatus, NO_MODEL};
use crate::journal::fail_point;
use crate::model::{ModelResponse, ToolCall};
use crate::skills::{Handler, Registry};
use crate::store::{StoreError, runs};
use crate::wording;
use crate::workflows::command;
use crate::workflows::run::RunRequest;
use crate::workflows::skill::PLANNING;
use crate::workflows::view::report::Report;

/// Stands for a skill: turns a task's words into a workflow first. No model can dispatch it, because it isn't a skill.
const DRAFT: &str = "draft";
/// The same: makes a plan for a goal first.
const PLAN: &str = "plan";

/// The run request of an agent that runs a workflow.
pub(super) fn run_request(registry: &Registry, task: &AgentTask) -> Option<RunRequest> {
    let skill = task.skills.first().filter(|_| task.is_direct())?;
    if skill == DRAFT {
        let words = task.arguments.as_ref()?["words"].as_str().map(str::to_owned);
        return Some(RunRequest { words, ..RunRequest::default() });
    }
    if skill == PLAN {
        let goal = task.arguments.as_ref()?["goal"].as_str().map(str::to_owned);
        return Some(RunRequest { goal, ..RunRequest::default() });
    }
    let Handler::Workflow(workflow) = &registry.get(skill)?.handler else { return None };
    if workflow == PLANNING {
        let goal = task.arguments.as_ref()?["goal"].as_str().map(str::to_owned);
        return Some(RunRequest { goal, ..RunRequest::default() });
    }
    // A model may send any context, so this may not match.
    let again = task.context.as_deref().and_then(|again| {
        let (of, from) = again.strip_prefix("--of ")?.split_once(" --from ")?;
        Some((of.into(), from.to_owned()))
    });
    let given = task.arguments.as_ref().and_then(|given| given.as_object()).cloned().unwrap_or_default();
    Some(RunRequest { workflow: workflow.clone(), given, again, ..RunRequest::default() })
}

impl Orchestrator {
    /// The role and the task of an agent that a message starts in the background, or why it can't.
    pub fn spawned(&self, text: &str) -> Option<Result<(String, String), String>> {
        let (role, task) = command::spawned(text)?;
        let roles = self.agents.roles.current();
        if role.is_empty() || task.is_empty() {
            return Some(Err(wording::roles::spawn_usage(&roles.listing())));
        }
        Some(match roles.get(role) {
            Some(_) => Ok((role.to_owned(), task.to_owned())),
            None => Err(wording::roles::not_started(&roles.missing(role))),
        })
    }
}

impl Run<'_> {
    /// Does the command's next step. Returns the turn's end once everything is done.
    pub(super) async fn next_of_command(&mut self, text: &str) -> Result<Option<TurnEnd>, StoreError> {
        let mut draft = None;
        let (name, arguments) = if self.task_graph.is_open() {
            ("get_agent_results", json!({}))
        } else if let Some(agent) = self.task_graph.agents.first() {
            let (run, report) = (agent.row.id.clone(), self.task_graph.report(agent));
            return self.answer_with_report(&run, &report).await.map(Some);
        } else if let Some(refused) = self.dialogue.rounds().last().and_then(|round| round.calls.first()) {
            let why = refused.result.as_deref().unwrap_or_default();
            return Ok(Some(TurnEnd::Failed(wording::runs::refused(why).into())));
        } else {
            match self.task_for(text) {
                Ok(task) if command::is_background(text) => {
                    // With its role, so that it gets what the role has.
                    let arguments =
                        json!({"agent_id": task.agent_id, "mission": task.mission, "role": task.role});
                    ("dispatch_agent", arguments)
                }
                Ok(task) => {
                    let arguments = json!(task);
                    draft = Some(task).filter(|task| task.skills == [DRAFT] || task.skills == [PLAN]);
                    ("dispatch_agent", arguments)
                }
                Err(why) => return Ok(Some(TurnEnd::Answered(why.into()))),
            }
        };
        let id = format!("{name}-{}", self.dialogue.recorded());
        let call = ToolCall { id, name: name.into(), arguments: arguments.to_string() };
        let response =
            ModelResponse { tool_calls: vec![call], model: NO_MODEL.into(), ..ModelResponse::default() };
        let mut batch = self.scope.batch();
        self.dialogue.record(&self.scope.store, &mut batch, &response, self.scope.store.now());
        if let Some(round) = self.dialogue.unanswered().cloned() {
            match draft {
                Some(task) => self.add_agent(round.n, 0, task, &mut batch),
                None => self.add_dispatches(&round, &mut batch),
            }
        }
        self.scope.store.write(batch).await?;
        fail_point("dispatched");
        Ok(None)
    }

    fn task_for(&self, text: &str) -> Result<AgentTask, String> {
        if text.starts_with(command::UNDO) {
            return Ok(AgentTask {
                agent_id: "undo".into(),
                mission: "take back what was done last".into(),
                skills: vec!["assistant.undo".into()],
                arguments: Some(json!({})),
                ..AgentTask::default()
            });
        }
        if let Some(spawned) = self.orchestrator.spawned(text) {
            let (role, mission) = spawned?;
            return Ok(AgentTask {
                agent_id: role.clone(),
                mission,
                role: Some(role),
                ..AgentTask::default()
            });
        }
        if let Some(goal) = command::planned(text) {
            let goal = goal?;
            return Ok(AgentTask {
                agent_id: PLAN.into(),
                skills: vec![PLAN.into()],
                arguments: Some(json!({"goal": goal})),
                mission: goal,
                ..AgentTask::default()
            });
        }
        let run_request = command::read(text, &self.orchestrator.runner.workflows.current())?;
        if let Some(words) = run_request.words {
            return Ok(AgentTask {
                agent_id: DRAFT.into(),
                skills: vec![DRAFT.into()],
                arguments: Some(json!({"words": words})),
                mission: words,
                ..AgentTask::default()
            });
        }
        Ok(AgentTask {
            mission: format!("the workflow {}", run_request.workflow),
            skills: vec![format!("workflow.{}", run_request.workflow)],
            agent_id: run_request.workflow,
            arguments: Some(run_request.given.into()),
            context: run_request.again.map(|(of, from)| format!("--of {of} --from {from}")),
            ..AgentTask::default()
        })
    }

    /// Ends the turn with the run's report as its answer.
    async fn answer_with_report(
        &self,
        run: &ExecutionId,
        report: &crate::agents::Report,
    ) -> Result<TurnEnd, StoreError> {
        let kept = runs::by_id(&self.scope.store, run).await?.and_then(|run| run.report);
        let command_text = self.command.as_deref().unwrap_or_default();
        let last = match kept.and_then(|json| serde_json::from_str::<Report>(&json).ok()) {
            Some(whole) => whole.message(),
            None => report.for_person().into(),
        };
        Ok(match report.status {
            _ if command::is_background(command_text) && report.status != ExecutionStatus::Cancelled => {
                let (role, task) = command::spawned(command_text).unwrap_or_default();
                let text = wording::roles::spawned_result(role, task, report.status, &last.text);
                TurnEnd::Answered(text.into())
            }
            ExecutionStatus::Cancelled => TurnEnd::Cancelled(self.task_graph.summary()),
            status if status.ended_well() => TurnEnd::Answered(last),
            _ => TurnEnd::Failed(last),
        })
    }
}
