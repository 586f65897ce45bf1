//! The agents that wait for a call which the person has changed: they follow the call that replaces it. Should that one
//! fail, the old question is still open, and they go on waiting for it there; here they never begin.

use std::collections::BTreeMap;

use adjutant_skills::Handler;
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Batch, Result, executions};
use adjutant_types::{ExecutionStatus, QuestionId};
use adjutant_workflows::agents::AgentTask;

use super::Run;
use super::task_graph::{Agent, TaskGraph};

impl Run<'_> {
    /// The question whose call a task makes with other arguments.
    pub(super) fn replaced(&self, task: &AgentTask) -> Option<QuestionId> {
        let skill = self.registry.get(task.skills.first().filter(|_| task.is_direct())?)?;
        let is_replacing = matches!(&skill.handler, Handler::Builtin(name) if name == "assistant.replace");
        let question = task.arguments.as_ref()?["question"].as_str().filter(|_| is_replacing)?;
        Some(question.into())
    }

    /// Adds what hasn't begun because it needs the call of a question that `replacing` changes. What the model has
    /// dispatched again itself stays as it is.
    pub(super) async fn add_dependants(
        &mut self,
        n: i64,
        replacing: &AgentTask,
        question: &QuestionId,
        batch: &mut Batch,
    ) -> Result<()> {
        let turn = &self.ctx.turn;
        let here = (&turn.person.id, &turn.conversation.id);
        let is_theirs = |asked: &QuestionRow| (&asked.person_id, &asked.conversation_id) == here;
        let question = questions::by_id(&self.ctx.store, question).await?;
        let Some(question) = question.filter(|asked| asked.is_open() && is_theirs(asked)) else {
            return Ok(());
        };
        let rows = executions::of_turn(&self.ctx.store, &question.turn_id).await?;
        let call = rows.iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
        let graph = TaskGraph::load(&rows);
        let waits = |agent: &&Agent| {
            agent.task.is_direct() && call.is_some_and(|call| call.parent_id.as_ref() == Some(&agent.row.id))
        };
        let Some(waiting) = graph.agents.iter().find(waits) else { return Ok(()) };
        let mut names = BTreeMap::from([(waiting.task.agent_id.as_str(), replacing.agent_id.clone())]);
        while let Some(agent) = next(&graph, &names) {
            let depends_on = agent.task.depends_on.iter().filter_map(|id| names.get(id.as_str()).cloned());
            let depends_on = depends_on.collect();
            let name = match self.dispatched_again(n, &agent.task) {
                Some(name) => name,
                None => {
                    let (agent_id, as_answer) = (self.free_name(&agent.task.agent_id), replacing.as_answer);
                    let task =
                        AgentTask { agent_id: agent_id.clone(), depends_on, as_answer, ..agent.task.clone() };
                    self.add_agent((n, None), task, &agent.row.taint, batch);
                    agent_id
                }
            };
            names.insert(&agent.task.agent_id, name);
        }
        Ok(())
    }

    /// The agent of an answer of the model that makes the same call.
    fn dispatched_again(&self, n: i64, task: &AgentTask) -> Option<String> {
        let is_same = |agent: &&Agent| {
            let other = (&agent.task.skills, &agent.task.arguments);
            agent.row.call_n == Some(n) && task.is_direct() && other == (&task.skills, &task.arguments)
        };
        self.task_graph.agents.iter().find(is_same).map(|agent| agent.task.agent_id.clone())
    }

    fn free_name(&self, name: &str) -> String {
        let taken = self.task_graph.ids();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| !taken.contains(name)).unwrap_or_default()
    }
}

/// The next agent that needs one of these, and nothing else that is still open. Only a call that has its arguments can do
/// without the results of what has ended.
fn next<'g>(graph: &'g TaskGraph, names: &BTreeMap<&str, String>) -> Option<&'g Agent> {
    graph.agents.iter().find(|agent| {
        let is_named = |id: &String| names.contains_key(id.as_str());
        let has_ended = |id: &String| graph.get(id).is_some_and(|needed| needed.status.ended_well());
        let mut needs = agent.task.depends_on.iter();
        agent.status == ExecutionStatus::Pending
            && !is_named(&agent.task.agent_id)
            && needs.clone().any(is_named)
            && needs.all(|id| is_named(id) || (agent.task.is_direct() && has_ended(id)))
    })
}
