//! The orchestrator's three tools: their schemas, and how calls to them are read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use adjutant_models::Tool;
use adjutant_skills::{Registry, Skill, by_itself};
use adjutant_store::calls::ToolCallRow;
use adjutant_turn::journal::Limits;
use adjutant_types::{AccessLevel, PromptText};
use adjutant_workflows::agents::{AgentTask, Assignment};
use adjutant_workflows::graph::Refused;
use adjutant_workflows::roles::RoleSet;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GET_RESULTS, GET_SKILL};

/// How much of a domain is listed at once, in bytes.
const MAX_LIST: usize = 8000;
/// The domain whose look-up also says what the product can do.
pub(super) const ABOUT: &str = "assistant";

pub fn tools(roles: &RoleSet, limits: &Limits) -> Vec<Tool> {
    let calls = limits.skill_calls_per_agent;
    let strings = json!({"type": "array", "items": {"type": "string"}});
    vec![
        Tool {
            name: "dispatch_agent".into(),
            description: "Starts a sub-agent; with depends_on once those have succeeded, with their results. One skill \
                with its arguments runs directly: fastest, if you know them. Returns when it has ended or waits for a \
                person."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "agent_id": {"type": "string", "description": "For depends_on; unique"},
                    "mission": {"type": "string", "description": "Without arguments: all it needs to know"},
                    "skills": {"type": "array", "items": {"type": "string"},
                        "description": "Name few; [] to only think; left out: its role's"},
                    "arguments": {"type": "object"},
                    "as_answer": {"type": "boolean", "description": "With arguments: its result, an English \
                        sentence or list, is told as is, below your text. Saves a call"},
                    "depends_on": strings,
                    "context": {"type": "string", "description": "Texts to work on"},
                    "role": {"type": "string", "description": roles.listing()},
                    "max_tool_calls": {"type": "integer", "description": format!("Most: {calls}")},
                    "timeout_s": {"type": "integer"},
                },
            }),
        },
        Tool {
            name: GET_RESULTS.into(),
            description: "Waits for agents that wait for a person; default: all.".into(),
            parameters: json!({"type": "object", "properties": {"agent_ids": strings}}),
        },
        Tool {
            name: GET_SKILL.into(),
            description: "Lists all domains, a domain's skills, or a skill's arguments. Domain assistant: all you can \
                do."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {"domain": {"type": "string"}, "name": {"type": "string"}},
            }),
        },
    ]
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolUse {
    Dispatch(Box<AgentTask>),
    BadDispatch(Refused),
    /// Wait for these agents; all if empty.
    Results(Vec<String>),
    /// A question about what the product can do.
    About,
    /// A call that is answered at once.
    Text(PromptText),
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

/// The registries and limits that tool calls refer to.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// Every skill there is.
    pub registry: &'a Registry,
    /// Those that the prompt and `get_skill` show this person.
    pub listed: &'a Registry,
    pub roles: &'a RoleSet,
    /// Those that an agent of theirs can be given, without workflows.
    pub offered: &'a BTreeMap<String, AccessLevel>,
    pub limits: &'a Limits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dispatch {
    agent_id: Option<String>,
    #[serde(default)]
    mission: String,
    skills: Option<Vec<String>>,
    context: Option<String>,
    #[serde(default)]
    depends_on: Vec<String>,
    role: Option<String>,
    arguments: Option<Value>,
    #[serde(default)]
    as_answer: bool,
    max_tool_calls: Option<u32>,
    timeout_s: Option<u64>,
}

pub fn read(context: ToolContext<'_>, call: &ToolCallRow) -> ToolUse {
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    match call.name.as_str() {
        "dispatch_agent" => match serde_json::from_str(arguments).map_err(|error| error.to_string()) {
            Ok(dispatch) => match admit(context, dispatch, (call.n, call.idx)) {
                Ok(task) => ToolUse::Dispatch(Box::new(task)),
                Err(reason) => ToolUse::BadDispatch(Refused { id: name_in(arguments), reason }),
            },
            Err(error) => ToolUse::BadDispatch(Refused {
                id: name_in(arguments),
                reason: format!("the arguments are not valid: {error}; correct them and dispatch again"),
            }),
        },
        GET_RESULTS => match serde_json::from_str::<GetResults>(arguments) {
            Ok(wanted) => ToolUse::Results(wanted.agent_ids),
            Err(reason) => {
                ToolUse::Text(error(&format!("{GET_RESULTS} expects {{\"agent_ids\": [...]}}: {reason}")))
            }
        },
        GET_SKILL => match serde_json::from_str::<GetSkill>(arguments) {
            Ok(GetSkill { domain: Some(domain), name: None }) if domain == ABOUT => ToolUse::About,
            Ok(wanted) => ToolUse::Text(get_skill(context.listed, &wanted)),
            Err(reason) => ToolUse::Text(error(&format!(
                "get_skill expects {{\"domain\": \"...\"}} or {{\"name\": \"...\"}}: {reason}"
            ))),
        },
        other => ToolUse::Text(error(&format!(
            "there is no tool {other}; your tools are dispatch_agent, {GET_RESULTS} and get_skill"
        ))),
    }
}

/// The agent's name in otherwise invalid arguments.
fn name_in(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments["agent_id"].as_str().map(str::to_owned)
}

pub fn error(reason: &str) -> PromptText {
    PromptText::of_model(json!({"error": reason}))
}

fn admit(context: ToolContext<'_>, dispatch: Dispatch, (n, idx): (i64, i64)) -> Result<AgentTask, String> {
    let registry = context.registry;
    let skill = match (&dispatch.arguments, dispatch.skills.as_deref()) {
        (Some(_), Some([name])) => registry.get(name),
        _ => None,
    };
    // A slash stands in the names of agents below others.
    let fits = |name: &str| !name.is_empty() && name.len() <= 64 && !name.contains('/');
    let agent_id = dispatch.agent_id.unwrap_or_else(|| {
        let name = skill.map_or("agent", |skill| skill.name.as_str());
        // The same after a crash.
        format!("{}-{n}-{idx}", &name[..name.floor_char_boundary(40)])
    });
    if !fits(&agent_id) {
        return Err("agent_id must have 1 to 64 characters, and no slash".into());
    }
    let mission = match skill {
        Some(skill) if dispatch.mission.trim().is_empty() => skill.title().to_owned(),
        _ => dispatch.mission,
    };
    if mission.trim().is_empty() {
        return Err("mission is empty: say what the agent should do".into());
    }
    let asked = dispatch.skills.map(|mut skills| {
        skills.sort();
        skills.dedup();
        skills
    });
    if let Some(name) = asked.iter().flatten().find(|name| registry.get(name).is_none()) {
        return Err(registry.missing(name));
    }
    let task = AgentTask {
        agent_id,
        mission,
        context: dispatch.context,
        depends_on: dispatch.depends_on,
        arguments: dispatch.arguments,
        as_answer: dispatch.as_answer,
        max_tool_calls: dispatch.max_tool_calls,
        timeout_s: dispatch.timeout_s,
        ..AgentTask::default()
    };
    let task = match (dispatch.role.as_deref().filter(|role| !role.is_empty()), asked) {
        (Some(role), asked) => with_role(context, task, role, asked)?,
        (None, Some(skills)) => AgentTask { skills, ..task },
        (None, None) => return Err("skills are missing: name them, or a role; [] is for thinking".into()),
    };
    let runs_workflow = |name: &&String| registry.get(name).is_some_and(|skill| skill.workflow().is_some());
    if let Some(name) = task.skills.iter().find(runs_workflow)
        && (task.skills.len() > 1 || task.arguments.is_none())
    {
        return Err(by_itself(name).whole());
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

fn with_role(
    context: ToolContext<'_>,
    task: AgentTask,
    role: &str,
    asked: Option<Vec<String>>,
) -> Result<AgentTask, String> {
    let ToolContext { roles, offered, limits, registry, .. } = context;
    let runs_workflow = |name: &&String| registry.get(name).is_some_and(|skill| skill.workflow().is_some());
    if let Some(name) = asked.iter().flatten().find(runs_workflow) {
        return Err(format!("{} and without a role", by_itself(name).whole()));
    }
    let role = roles.get(role).ok_or_else(|| roles.missing(role))?;
    Assignment { role, asked, parent: None, success_criteria: None, offered, limits }.apply(task)
}

fn get_skill(registry: &Registry, wanted: &GetSkill) -> PromptText {
    // A name that isn't one is words to search the domain for.
    if let (Some(domain), Some(words)) = (&wanted.domain, &wanted.name)
        && registry.get(words).is_none()
        && let Some(domain) = registry.domain(domain)
    {
        let found = domain.search(words);
        return list(registry, format!("{}: {} found", domain.name, found.len()), &found);
    }
    if let Some(name) = &wanted.name {
        let Some(skill) = registry.get(name) else { return error(&registry.missing(name)) };
        let whole = json!({
            "name": skill.name, "summary": skill.summary, "risk": skill.risk.as_str(), "parameters": skill.parameters,
        });
        return PromptText::config(whole);
    }
    match &wanted.domain {
        Some(domain) => skills_of(registry, domain),
        None => PromptText::config(registry.catalogue()),
    }
}

pub(super) fn skills_of(registry: &Registry, domain: &str) -> PromptText {
    let Some(found) = registry.domain(domain) else {
        let names: Vec<&str> = registry.domains().iter().map(|domain| domain.name.as_str()).collect();
        return error(&format!("there is no domain \"{domain}\"; the domains are {}", names.join(", ")));
    };
    list(registry, format!("{}: {}", found.name, found.summary), &found.skills)
}

/// Skills below a heading, as far as there is room.
fn list(registry: &Registry, mut text: String, skills: &[Arc<Skill>]) -> PromptText {
    for (index, skill) in skills.iter().enumerate() {
        if text.len() > MAX_LIST {
            let more = skills.len() - index;
            let _ = write!(text, "\n{more} more; get_skill with this domain, and words as name, searches");
            break;
        }
        let _ = write!(text, "\n- {}: {}", registry.signature(skill), skill.summary);
    }
    PromptText::config(text)
}
