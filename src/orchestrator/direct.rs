//! A turn whose plan its person said: `/run NAME`, or "run NAME" and nothing else. The workflow is dispatched and its
//! report is the answer, without a call of the orchestrator's model.

use serde_json::json;

use super::{Run, TurnEnd};
use crate::agents::AgentTask;
use crate::domain::ExecutionStatus;
use crate::journal::fail_point;
use crate::model::{Answer, ToolCall};
use crate::skills::{Handler, Registry};
use crate::store::{StoreError, runs};
use crate::workflows::command;
use crate::workflows::run::RunRequest;
use crate::workflows::view::report::Report;

/// In place of a skill: the words of a task become a workflow first. No model can dispatch it, since it is no skill.
const DRAFT: &str = "draft";
/// What the journal has in place of a model's name.
pub(super) const NOBODY: &str = "none";

/// The errand of an agent that is a workflow's run.
pub(super) fn errand(registry: &Registry, task: &AgentTask) -> Option<RunRequest> {
    let skill = task.skills.first().filter(|_| task.is_direct())?;
    if skill == DRAFT {
        let words = task.arguments.as_ref()?["words"].as_str().map(str::to_owned);
        return Some(RunRequest { words, ..RunRequest::default() });
    }
    let Handler::Workflow(workflow) = &registry.get(skill)?.handler else { return None };
    // A model may give any context.
    let again = task.context.as_deref().and_then(|again| {
        let (of, from) = again.strip_prefix("--of ")?.split_once(" --from ")?;
        Some((of.into(), from.to_owned()))
    });
    let given = task.arguments.as_ref().and_then(|given| given.as_object()).cloned().unwrap_or_default();
    Some(RunRequest { workflow: workflow.clone(), given, words: None, again })
}

impl Run<'_> {
    /// The next thing that the plan wants, once all of it is done the turn's end.
    pub(super) async fn follow(&mut self, said: &str) -> Result<Option<TurnEnd>, StoreError> {
        let mut draft = None;
        let (name, arguments) = if self.task_graph.is_open() {
            ("get_agent_results", json!({}))
        } else if let Some(agent) = self.task_graph.agents.first() {
            let (run, report) = (agent.row.id.clone(), self.task_graph.report(agent));
            return self.told(&run, &report).await.map(Some);
        } else if let Some(refused) = self.dialogue.rounds().last().and_then(|round| round.calls.first()) {
            return Ok(Some(TurnEnd::Failed(refused.result.clone().unwrap_or_default().into())));
        } else {
            match self.dispatched(said) {
                Ok(task) => {
                    let arguments = json!(task);
                    draft = Some(task).filter(|task| task.skills == [DRAFT]);
                    ("dispatch_agent", arguments)
                }
                Err(why) => return Ok(Some(TurnEnd::Answered(why.into()))),
            }
        };
        let id = format!("{name}-{}", self.dialogue.recorded());
        let call = ToolCall { id, name: name.into(), arguments: arguments.to_string() };
        let answer = Answer { tool_calls: vec![call], model: NOBODY.into(), ..Answer::default() };
        let mut batch = self.scope.batch();
        self.dialogue.record(&self.scope.store, &mut batch, &answer, self.scope.store.now());
        if let Some(round) = self.dialogue.unanswered().cloned() {
            match draft {
                Some(task) => self.place(round.n, 0, task, &mut batch),
                None => self.admit(&round, &mut batch),
            }
        }
        self.scope.store.write(batch).await?;
        fail_point("dispatched");
        Ok(None)
    }

    fn dispatched(&self, said: &str) -> Result<AgentTask, String> {
        let errand = command::read(said, &self.orchestrator.runner.workflows.current())?;
        if let Some(words) = errand.words {
            return Ok(AgentTask {
                agent_id: DRAFT.into(),
                skills: vec![DRAFT.into()],
                arguments: Some(json!({"words": words})),
                mission: words,
                ..AgentTask::default()
            });
        }
        Ok(AgentTask {
            mission: format!("the workflow {}", errand.workflow),
            skills: vec![format!("workflow.{}", errand.workflow)],
            agent_id: errand.workflow,
            arguments: Some(errand.given.into()),
            context: errand.again.map(|(of, from)| format!("--of {of} --from {from}")),
            ..AgentTask::default()
        })
    }

    /// The run's report as the turn's answer.
    async fn told(&self, run: &str, report: &crate::agents::Report) -> Result<TurnEnd, StoreError> {
        let kept = runs::by_id(&self.scope.store, &run.into()).await?.and_then(|run| run.report);
        let last = match kept.and_then(|json| serde_json::from_str::<Report>(&json).ok()) {
            Some(whole) => whole.message(),
            None => report.line().into(),
        };
        Ok(match report.status {
            ExecutionStatus::Cancelled => TurnEnd::Cancelled(self.task_graph.summary()),
            status if status.ended_well() => TurnEnd::Answered(last),
            _ => TurnEnd::Failed(last),
        })
    }
}
