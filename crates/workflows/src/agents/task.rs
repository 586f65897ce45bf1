//! The task of an agent, and how a role turns into a task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_models::{Message, SharedModel};
use adjutant_skills::{Grant, Rights};
use adjutant_turn::journal::Limits;
use adjutant_turn::wording;
use adjutant_types::AccessLevel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Report;
use crate::roles::Role;

/// An agent's task, as the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTask {
    /// Its name, unique in the turn.
    pub agent_id: String,
    pub mission: String,
    pub skills: Vec<String>,
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
    /// The argument that takes the results of the agents before it; only basic mode asks for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_in: Option<String>,
    /// Whether the result of its one skill is the turn's answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_answer: bool,
    /// How many skill calls it may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// The time limit in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// What its role adds, if that is one of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<Assigned>,
}

/// The role's additions to a task, fixed when the agent is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assigned {
    /// The farthest that its effects may reach.
    pub effects: AccessLevel,
    /// Each of these lists names the accounts that it may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Vec<String>>,
    /// The roles from the top of its tree down to its own.
    pub path: Vec<String>,
    pub max_depth: u32,
    /// How many calls its model may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// The roles that it may delegate to: none at the deepest level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegates_to: Vec<String>,
    /// How its work will be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<String>,
}

impl AgentTask {
    /// Whether it runs its one skill without a model.
    pub fn is_direct(&self) -> bool {
        self.arguments.is_some() && self.skills.len() == 1
    }

    pub fn grant(&self) -> Grant {
        let rights = self.assigned.as_ref().map(|assigned| (assigned.effects, assigned.accounts.clone()));
        let (effects, accounts) = rights.unwrap_or((AccessLevel::Any, Vec::new()));
        Grant { skills: self.skills.clone(), effects, accounts }
    }

    /// The roles from the top of its tree down to its own; none without a role from a file.
    pub fn path(&self) -> &[String] {
        self.assigned.as_ref().map_or(&[], |assigned| &assigned.path)
    }

    /// The roles that it may delegate to. With none, its requests have no tool for that, and it is refused.
    pub fn delegates_to(&self) -> &[String] {
        self.assigned.as_ref().map_or(&[], |assigned| &assigned.delegates_to)
    }

    /// How many calls its model may make.
    pub(super) fn max_model_calls(&self) -> i64 {
        let max = self.assigned.as_ref().and_then(|assigned| assigned.max_model_calls);
        max.map_or(i64::MAX, i64::from)
    }
}

/// The input for assigning a role to an agent.
pub struct Assignment<'a> {
    pub role: &'a Role,
    /// The skills that were asked for; none for all that the role has.
    pub asked: Option<Vec<String>>,
    /// The task of the agent that delegates; none for the orchestrator.
    pub parent: Option<&'a AgentTask>,
    pub success_criteria: Option<String>,
    /// The skills that the person may use in this chat.
    pub offered: &'a BTreeMap<String, AccessLevel>,
    pub limits: &'a Limits,
}

impl Assignment<'_> {
    /// The task with what the role adds and takes away, or why the role can't have it.
    pub fn apply(self, task: AgentTask) -> Result<AgentTask, String> {
        let Self { role, asked, parent, success_criteria, offered, limits } = self;
        let above = parent.map(AgentTask::grant);
        let rights =
            Rights { asked: asked.as_deref(), role: Some(&role.rights), parent: above.as_ref(), offered };
        let grant = Grant::of(rights);
        let refused = asked.iter().flatten().find(|name| !grant.skills.contains(name));
        if let Some(name) = refused {
            return Err(wording::roles::skill_refused(&role.name, name, grant.effects, parent.is_some()));
        }
        let path: Vec<String> =
            parent.map_or(&[][..], AgentTask::path).iter().chain([&role.name]).cloned().collect();
        let is_deepest = path.len() >= limits.max_depth as usize;
        let min = |asked: Option<u32>, max: Option<u32>| asked.into_iter().chain(max).min();
        let time = role.max_duration.as_ref().map(Duration::as_secs);
        let assigned = Assigned {
            effects: grant.effects,
            accounts: grant.accounts,
            path,
            max_depth: limits.max_depth,
            max_model_calls: role.max_model_calls,
            delegates_to: if is_deepest { Vec::new() } else { role.delegates_to.clone() },
            success_criteria,
        };
        Ok(AgentTask {
            skills: grant.skills,
            role: Some(role.name.clone()),
            max_tool_calls: min(task.max_tool_calls, role.max_skill_calls),
            timeout_s: task.timeout_s.into_iter().chain(time).min(),
            assigned: Some(assigned),
            ..task
        })
    }
}

/// An agent's task, with everything it needs for it.
#[derive(Clone, Default)]
pub struct Job {
    pub task: AgentTask,
    /// The reports of the agents it depends on.
    pub inputs: Vec<Report>,
    /// How long it may take, if its task doesn't say.
    pub timeout: Option<Duration>,
    /// A model to use instead of the agents' own.
    pub model: Option<SharedModel>,
    /// What the orchestrator was told, for roles that are told it too.
    pub conversation: Arc<[Message]>,
}
