//! The orchestrator's three tools: their schemas, and how calls to them are read.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents::AgentTask;
use crate::graph::Refused;
use crate::model::Tool;
use crate::skills::{Registry, by_itself};

/// The tools, in their fixed order.
pub fn tools() -> Vec<Tool> {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    vec![
        Tool {
            name: "dispatch_agent".into(),
            description: "Gives a mission to a sub-agent. Several calls in one answer form a graph: an agent starts \
                as soon as those in depends_on have succeeded, and gets their results; the others run in parallel. \
                With exactly one skill and its arguments the skill runs directly, which is fastest: do that whenever \
                you know the arguments. The call returns when the agent has ended or waits for a person."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "agent_id": {"type": "string", "description": "Unique in this turn"},
                    "mission": {"type": "string", "description": "All it needs to know; it sees nothing else"},
                    "skills": {"type": "array", "items": {"type": "string"},
                        "description": "[] for thinking, writing and judging"},
                    "arguments": {"type": "object", "description": "With exactly one skill: runs it directly"},
                    "depends_on": strings,
                    "context": {"type": "string", "description": "Texts to work on"},
                    "role": {"type": "string", "description": "Who it is, such as editor"},
                    "max_tool_calls": {"type": "integer", "minimum": 1, "description": "Default: usually 15"},
                    "timeout_s": {"type": "integer", "minimum": 1, "description": "Default: 120"},
                },
                "required": ["agent_id", "mission", "skills"],
            }),
        },
        Tool {
            name: "get_agent_results".into(),
            description: "Waits for agents that wait for a person; for all if you name none."
                .into(),
            parameters: json!({"type": "object", "properties": {"agent_ids": strings}}),
        },
        Tool {
            name: "get_skill".into(),
            description: "Lists what exists: without arguments, all domains; with a domain, its skills; with a name, that \
                skill's arguments."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {"domain": {"type": "string"}, "name": {"type": "string"}},
            }),
        },
    ]
}

/// A tool call of the orchestrator's model.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolUse {
    /// Start an agent.
    Dispatch(Box<AgentTask>),
    /// An invalid dispatch.
    BadDispatch(Refused),
    /// Wait for these agents; all if empty.
    Results(Vec<String>),
    /// A call that is answered at once.
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetSkill {
    domain: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetResults {
    #[serde(default)]
    agent_ids: Vec<String>,
}

/// Reads one tool call.
pub fn read(registry: &Registry, name: &str, arguments: &str) -> ToolUse {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    match name {
        "dispatch_agent" => match serde_json::from_str(arguments).map_err(|error| error.to_string()) {
            Ok(task) => match admit(registry, task) {
                Ok(task) => ToolUse::Dispatch(Box::new(task)),
                Err(reason) => ToolUse::BadDispatch(Refused { id: name_in(arguments), reason }),
            },
            Err(error) => ToolUse::BadDispatch(Refused {
                id: name_in(arguments),
                reason: format!("the arguments are not valid: {error}; correct them and dispatch again"),
            }),
        },
        "get_agent_results" => match serde_json::from_str::<GetResults>(arguments) {
            Ok(wanted) => ToolUse::Results(wanted.agent_ids),
            Err(reason) => {
                ToolUse::Text(error(&format!("get_agent_results expects {{\"agent_ids\": [...]}}: {reason}")))
            }
        },
        "get_skill" => match serde_json::from_str::<GetSkill>(arguments) {
            Ok(wanted) => ToolUse::Text(get_skill(registry, &wanted)),
            Err(reason) => ToolUse::Text(error(&format!(
                "get_skill expects {{\"domain\": \"...\"}} or {{\"name\": \"...\"}}: {reason}"
            ))),
        },
        other => ToolUse::Text(error(&format!(
            "there is no tool {other}; your tools are dispatch_agent, get_agent_results and get_skill"
        ))),
    }
}

/// The agent's name in otherwise invalid arguments.
fn name_in(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments["agent_id"].as_str().map(str::to_owned)
}

/// An error as the model sees it.
pub fn error(reason: &str) -> String {
    json!({"error": reason}).to_string()
}

fn admit(registry: &Registry, mut task: AgentTask) -> Result<AgentTask, String> {
    let fits = |name: &str| !name.is_empty() && name.len() <= 64;
    if !fits(&task.agent_id) {
        return Err("agent_id must have 1 to 64 characters".into());
    }
    if task.mission.trim().is_empty() {
        return Err("mission is empty: say what the agent should do".into());
    }
    task.skills.sort();
    task.skills.dedup();
    for name in &task.skills {
        if registry.get(name).is_none() {
            let near =
                registry.nearest(name).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(format!("there is no skill \"{name}\"{near}"));
        }
    }
    let runs_workflow = |name: &&String| registry.get(name).is_some_and(|skill| skill.workflow().is_some());
    if let Some(name) = task.skills.iter().find(runs_workflow)
        && (task.skills.len() > 1 || task.arguments.is_none())
    {
        return Err(by_itself(name));
    }
    if let Some(arguments) = &task.arguments {
        let [name] = task.skills.as_slice() else {
            return Err("arguments need exactly one skill: name one, or leave out the arguments".into());
        };
        if let Some(skill) = registry.get(name) {
            skill.validate(arguments).map_err(|error| format!("arguments of {name}: {error}"))?;
        }
    }
    Ok(task)
}

fn get_skill(registry: &Registry, wanted: &GetSkill) -> String {
    if let Some(name) = &wanted.name {
        let Some(skill) = registry.get(name) else {
            let near =
                registry.nearest(name).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return error(&format!("there is no skill \"{name}\"{near}"));
        };
        let whole = json!({
            "name": skill.name, "summary": skill.summary, "risk": skill.risk.as_str(), "parameters": skill.parameters,
        });
        return whole.to_string();
    }
    let Some(domain) = &wanted.domain else { return registry.catalogue().to_owned() };
    let Some(found) = registry.domain(domain) else {
        let names: Vec<&str> = registry.domains().iter().map(|domain| domain.name.as_str()).collect();
        return error(&format!("there is no domain \"{domain}\"; the domains are {}", names.join(", ")));
    };
    let mut text = format!("{}: {}", found.name, found.summary);
    for skill in &found.skills {
        let _ = write!(text, "\n- {}: {}", skill.signature(), skill.summary);
    }
    text
}
