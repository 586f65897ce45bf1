//! From a tree to a workflow: what stands in each place, and every fault of form.

use serde_json::Value as Json;

use super::definition::{Agent, Backoff, Input, Kind, OnFailure, Retry, Step, Validation, Workflow};
use super::rules::Rule;
use super::source::Node;
use super::table::{Faults, Table};
use super::template::Template;
use super::{order, steps};

/// More steps than this nobody can follow.
const MOST_STEPS: usize = 500;
const MOST_ATTEMPTS: u32 = 10;

/// Ids with the JSON pointers of what they name.
type Pointers = Vec<(String, String)>;

/// A workflow as far as it could be read, for the checks that follow.
pub(super) struct Read {
    pub(super) workflow: Workflow,
    /// Every step's id, those of unreadable ones too, with its pointer.
    pub(super) steps: Pointers,
}

impl Read {
    /// Where a step stands.
    pub(super) fn pointer(&self, step: &str) -> &str {
        self.steps.iter().find(|(id, _)| id == step).map_or("", |(_, pointer)| pointer)
    }

    /// Whether there is such a step, be it readable or not.
    pub(super) fn knows(&self, step: &str) -> bool {
        self.steps.iter().any(|(id, _)| id == step)
    }
}

/// Reads a file's tree; none when there is nothing to go on with.
pub(super) fn workflow(faults: &mut Faults<'_>) -> Option<Read> {
    let source = faults.source;
    let file = Table::of(&source.root, String::new(), "the file", faults)?;
    if file.get("workflow").is_none() {
        faults.error("", "the file lacks `workflow`: everything stands under that key");
        return None;
    }
    file.only(&["workflow"], faults);
    let table = file.table("workflow", "the workflow", faults)?;
    let keys = ["name", "description", "version", "timeout", "max_concurrent", "inputs", "agents", "steps"];
    table.only(&keys, faults);
    let name = table.text("name", faults).unwrap_or_default();
    if !name.is_empty() && !is_name(&name) {
        faults.error(&table.at("name"), format!("'{name}' is no workflow's name: {NAME_RULE}"));
    }
    let agents = agents(&table, faults);
    let known: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    let (found, all) = read_steps(&table, &known, faults);
    let workflow = Workflow {
        name,
        description: table.optional_text("description", faults).unwrap_or_default().trim().to_owned(),
        version: table.optional_text("version", faults),
        timeout: table.duration("timeout", faults),
        max_concurrent: table.count("max_concurrent", 64, faults).and_then(|n| usize::try_from(n).ok()),
        inputs: inputs(&table, faults),
        agents,
        steps: order::settle(found),
        file: source.file.to_owned(),
        text: source.text.to_owned(),
    };
    Some(Read { workflow, steps: all })
}

const NAME_RULE: &str = "write letters, digits, '-' and '_', a letter first, at most 64";

/// Whether a text can name a workflow or an agent.
pub fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Whether a text can stand in a template as a name.
pub(super) fn is_plain_name(text: &str) -> bool {
    is_name(text) && !text.contains('-')
}

fn inputs(table: &Table<'_>, faults: &mut Faults<'_>) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::new();
    for (place, node) in table.list("inputs", "a list of tables", faults).iter().enumerate() {
        let pointer = format!("{}/{place}", table.at("inputs"));
        let Some(table) = Table::of(node, pointer, "the input", faults) else { continue };
        table.only(&["name", "type", "required", "default", "description"], faults);
        let Some(name) = table.text("name", faults) else { continue };
        if !is_plain_name(&name) {
            let message =
                format!("'{name}' can't stand in a template: write letters, digits and '_', a letter first");
            faults.error(&table.at("name"), message);
        }
        if inputs.iter().any(|other| other.name == name) {
            faults.error(&table.at("name"), format!("there are two inputs called '{name}'"));
        }
        let kinds = [
            ("string", Kind::String),
            ("number", Kind::Number),
            ("boolean", Kind::Boolean),
            ("json", Kind::Json),
            ("file_path", Kind::FilePath),
        ];
        let kind = table.choice("type", &kinds, faults).unwrap_or(Kind::String);
        let default = table.get("default").map(Node::json);
        if let Some(why) = default.as_ref().and_then(|default| misfit(kind, default)) {
            faults.error(&table.at("default"), format!("the default of '{name}' {why}"));
        }
        let required = table.flag("required", faults).unwrap_or(default.is_none());
        let description = table.optional_text("description", faults).unwrap_or_default();
        inputs.push(Input { name, kind, required, default, description });
    }
    inputs
}

/// How a value does not fit an input's type, as the end of a sentence; none when it fits.
pub fn misfit(kind: Kind, value: &Json) -> Option<&'static str> {
    match kind {
        Kind::String if !value.is_string() => Some("is no text; put it in quotes"),
        Kind::Number if !value.is_number() => Some("is no number"),
        Kind::Boolean if !value.is_boolean() => Some("is neither true nor false"),
        Kind::FilePath if !value.is_string() => Some("is no path"),
        _ => None,
    }
}

fn agents(table: &Table<'_>, faults: &mut Faults<'_>) -> Vec<Agent> {
    let Some(agents) = table.table("agents", "`agents`", faults) else { return Vec::new() };
    let read = |(id, node): (&str, &Node)| {
        let table = Table::of(node, agents.at(id), "the agent", faults)?;
        agent(id, &table, faults)
    };
    agents.entries().filter_map(read).collect()
}

fn agent(id: &str, table: &Table<'_>, faults: &mut Faults<'_>) -> Option<Agent> {
    let keys = ["name", "role", "prompt", "tools", "skills", "model", "timeout", "retry", "validation"];
    table.only(&keys, faults);
    if !is_name(id) {
        faults.error(&table.pointer, format!("'{id}' is no agent's name: {NAME_RULE}"));
    }
    if table.get("prompt").is_none() {
        faults.error(&table.pointer, "the agent lacks `prompt`");
    }
    let mut skills = table.texts("tools", faults);
    skills.extend(table.texts("skills", faults));
    let mut seen = Vec::new();
    skills.retain(|skill| {
        !seen.contains(skill) && {
            seen.push(skill.clone());
            true
        }
    });
    let validation =
        table.table("validation", "`validation`", faults).map(|table| validation(&table, faults));
    Some(Agent {
        id: id.to_owned(),
        name: table.optional_text("name", faults).map_or(id.to_owned(), |name| name.trim().to_owned()),
        role: table.optional_text("role", faults).unwrap_or_default(),
        // One that is wrong has its fault; the checks that follow need an agent all the same.
        prompt: table.template("prompt", faults).or_else(|| Template::new("").ok())?,
        skills,
        model: table.optional_text("model", faults),
        timeout: table.duration("timeout", faults),
        retry: retry(table, faults),
        validation: validation.unwrap_or_default(),
    })
}

/// What happens on failure.
pub(super) fn retry(table: &Table<'_>, faults: &mut Faults<'_>) -> Retry {
    let Some(table) = table.table("retry", "`retry`", faults) else { return Retry::default() };
    table.only(&["max_attempts", "backoff", "on_failure"], faults);
    let backoffs =
        [("none", Backoff::None), ("linear", Backoff::Linear), ("exponential", Backoff::Exponential)];
    let on_failure = match table.optional_text("on_failure", faults).as_deref().map(str::trim) {
        None | Some("abort") => OnFailure::Abort,
        Some("skip") => OnFailure::Skip,
        Some(other) => match other.strip_prefix("fallback:") {
            Some(agent) => OnFailure::Fallback(agent.trim().to_owned()),
            None => {
                let message = format!("'{other}' is no `on_failure`; write skip, abort or fallback:AGENT");
                faults.error(&table.at("on_failure"), message);
                OnFailure::Abort
            }
        },
    };
    Retry {
        max_attempts: table.count("max_attempts", MOST_ATTEMPTS, faults).unwrap_or(1),
        backoff: table.choice("backoff", &backoffs, faults).unwrap_or_default(),
        on_failure,
    }
}

fn validation(table: &Table<'_>, faults: &mut Faults<'_>) -> Validation {
    table.only(&["schema", "rules"], faults);
    let schema = table.get("schema").map(Node::json);
    if let Some(why) = schema.as_ref().and_then(crate::skills::schema_fault) {
        faults.error(&table.at("schema"), format!("`schema` is no JSON Schema: {why}"));
    }
    Validation { schema, rules: table.texts("rules", faults).iter().map(|rule| Rule::new(rule)).collect() }
}

fn read_steps(table: &Table<'_>, agents: &[&str], faults: &mut Faults<'_>) -> (Vec<(Step, bool)>, Pointers) {
    let nodes = table.list("steps", "a list of tables", faults);
    if nodes.is_empty() {
        faults.error(&table.pointer, "the workflow has no `steps`");
    }
    if nodes.len() > MOST_STEPS {
        let message =
            format!("there are {} steps, and at most {MOST_STEPS} may be; part the workflow", nodes.len());
        faults.error(&table.at("steps"), message);
        return (Vec::new(), Vec::new());
    }
    let ids: Vec<String> = nodes.iter().filter_map(steps::id_of).collect();
    let (mut found, mut all): (Vec<_>, Pointers) = (Vec::new(), Vec::new());
    let known = steps::Known { steps: &ids, agents };
    for (place, node) in nodes.iter().enumerate() {
        let pointer = format!("{}/{place}", table.at("steps"));
        let Some(table) = Table::of(node, pointer.clone(), "the step", faults) else { continue };
        let Some(id) = table.text("id", faults) else { continue };
        if !is_plain_name(&id) {
            let message =
                format!("'{id}' can't stand in a template: write letters, digits and '_', a letter first");
            faults.error(&table.at("id"), message);
        }
        if all.iter().any(|(other, _)| *other == id) {
            faults.error(&table.at("id"), format!("there are two steps called '{id}'"));
            continue;
        }
        all.push((id.clone(), pointer));
        found.extend(steps::read(id, &table, &known, faults));
    }
    (found, all)
}
