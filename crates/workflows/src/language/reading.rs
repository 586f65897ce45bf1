//! Reads a parsed file as a workflow, and notes every problem of its form.

use adjutant_config::document::{Document, MAX_FILE, Node, Problem, Problems, Table};
use serde_json::Value as Json;

use super::definition::{Agent, Backoff, Input, InputType, OnFailure, Retry, Step, Validation, Workflow};
use super::fields::{duration_of, template};
use super::rules::Rule;
use super::template::Template;
use super::{order, steps};

const MAX_STEPS: usize = 500;
const MAX_ATTEMPTS: u32 = 10;
/// More syntax errors follow from the first ones.
const MAX_SYNTAX: usize = 3;

/// Parses a file: TOML when its name ends in `.toml`, else YAML.
pub(crate) fn document<'t>(file: &'t str, text: &'t str) -> Result<Document<'t>, Vec<Problem>> {
    if text.len() > MAX_FILE {
        return Err(vec![Problem::of_file(file, format!("the file is longer than {} KB", MAX_FILE / 1024))]);
    }
    if !file.ends_with(".toml") {
        return Document::yaml(file, text).map_err(|problem| vec![problem]);
    }
    let document = Document::toml(file, text);
    match document.syntax.is_empty() {
        true => Ok(document),
        false => Err(document.syntax.into_iter().take(MAX_SYNTAX).collect()),
    }
}

/// A workflow as far as it could be read.
pub(crate) struct ReadWorkflow {
    pub(crate) workflow: Workflow,
    /// The id of every step, unreadable ones too, with its JSON pointer.
    pub(crate) steps: Vec<(String, String)>,
}

impl ReadWorkflow {
    pub(crate) fn pointer(&self, step: &str) -> &str {
        self.steps.iter().find(|(id, _)| id == step).map_or("", |(_, pointer)| pointer)
    }

    /// Whether there is such a step, readable or not.
    pub(crate) fn knows(&self, step: &str) -> bool {
        self.steps.iter().any(|(id, _)| id == step)
    }
}

/// Reads a document; none when it isn't a workflow at all.
pub(crate) fn workflow(problems: &mut Problems<'_>) -> Option<ReadWorkflow> {
    let document = problems.document;
    let file = Table::of(&document.root, "the file", problems)?;
    if file.get("workflow").is_none() {
        problems.add(file.at, "the file lacks `workflow`: everything stands under that key");
        return None;
    }
    file.only(&["workflow"], problems);
    let table = file.table("workflow", "the workflow", problems)?;
    let keys = [
        "name",
        "description",
        "version",
        "timeout",
        "max_concurrent",
        "inputs",
        "agents",
        "steps",
        "review",
    ];
    table.only(&keys, problems);
    let name = table.scalar("name", problems).unwrap_or_default();
    if !name.is_empty() && !is_name(&name) {
        problems.add(table.place("name"), format!("'{name}' isn't a valid workflow name: {NAME_RULE}"));
    }
    let agents = agents(&table, problems);
    let agent_ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    let (found, steps) = read_steps(&table, &agent_ids, problems);
    let workflow = Workflow {
        name,
        description: table.optional_scalar("description", problems).unwrap_or_default().trim().to_owned(),
        version: table.optional_scalar("version", problems),
        timeout: duration_of(&table, "timeout", problems),
        max_concurrent: table.count("max_concurrent", 64, problems).and_then(|n| usize::try_from(n).ok()),
        inputs: inputs(&table, problems),
        agents,
        steps: order::resolve(found),
        review: table.optional_scalar("review", problems),
        file: document.file.to_owned(),
        text: document.text.to_owned(),
    };
    Some(ReadWorkflow { workflow, steps })
}

const NAME_RULE: &str = "use letters, digits, '-' and '_', starting with a letter, at most 64";

/// Whether a text can name a workflow or an agent.
pub fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Notes a name that templates can't use.
pub(crate) fn check_template_name(table: &Table<'_>, key: &str, name: &str, problems: &mut Problems<'_>) {
    if !is_name(name) || name.contains('-') {
        let rule = "use letters, digits and '_', starting with a letter";
        problems.add(table.place(key), format!("'{name}' can't be used in a template: {rule}"));
    }
}

fn inputs(table: &Table<'_>, problems: &mut Problems<'_>) -> Vec<Input> {
    const TYPES: [(&str, InputType); 5] = [
        ("string", InputType::String),
        ("number", InputType::Number),
        ("boolean", InputType::Boolean),
        ("json", InputType::Json),
        ("file_path", InputType::FilePath),
    ];
    let mut inputs: Vec<Input> = Vec::new();
    for node in table.list("inputs", "a list of tables", problems) {
        let Some(table) = Table::of(node, "the input", problems) else { continue };
        table.only(&["name", "type", "required", "default", "description"], problems);
        let Some(name) = table.scalar("name", problems) else { continue };
        check_template_name(&table, "name", &name, problems);
        if inputs.iter().any(|other| other.name == name) {
            problems.add(table.place("name"), format!("there are two inputs called '{name}'"));
        }
        let kind = table.choice("type", &TYPES, problems).unwrap_or(InputType::String);
        let default = table.get("default").map(Node::json);
        if let Some(why) = default.as_ref().and_then(|default| mismatch(kind, default)) {
            problems.add(table.place("default"), format!("the default of '{name}' {why}"));
        }
        let required = table.flag("required", problems).unwrap_or(default.is_none());
        let description = table.optional_scalar("description", problems).unwrap_or_default();
        inputs.push(Input { name, kind, required, default, description });
    }
    inputs
}

/// How a value doesn't fit an input's type, as the end of a sentence.
pub(crate) fn mismatch(kind: InputType, value: &Json) -> Option<&'static str> {
    match kind {
        InputType::String if !value.is_string() => Some("isn't a text; put it in quotes"),
        InputType::Number if !value.is_number() => Some("isn't a number"),
        InputType::Boolean if !value.is_boolean() => Some("is neither true nor false"),
        InputType::FilePath if !value.is_string() => Some("isn't a path"),
        _ => None,
    }
}

fn agents(table: &Table<'_>, problems: &mut Problems<'_>) -> Vec<Agent> {
    let Some(agents) = table.table("agents", "`agents`", problems) else { return Vec::new() };
    let tables = agents.tables("the agent", problems);
    tables.iter().filter_map(|(id, table)| agent(id, table, problems)).collect()
}

fn agent(name: &str, table: &Table<'_>, problems: &mut Problems<'_>) -> Option<Agent> {
    let keys = [
        "name",
        "role",
        "as_role",
        "prompt",
        "success_criteria",
        "tools",
        "skills",
        "model",
        "timeout",
        "retry",
        "validation",
    ];
    table.only(&keys, problems);
    if !is_name(name) {
        problems.add(table.at, format!("'{name}' isn't a valid agent name: {NAME_RULE}"));
    }
    table.requires("prompt", problems);
    let mut skills: Vec<String> = Vec::new();
    for skill in ["tools", "skills"].into_iter().flat_map(|key| table.scalars(key, problems)) {
        if !skills.contains(&skill) {
            skills.push(skill);
        }
    }
    let validation =
        table.table("validation", "`validation`", problems).map(|table| validation(&table, problems));
    Some(Agent {
        id: name.to_owned(),
        name: table
            .optional_scalar("name", problems)
            .map_or(name.to_owned(), |shown| shown.trim().to_owned()),
        role: table.optional_scalar("role", problems).unwrap_or_default(),
        // The later checks need an agent even when its prompt has a problem.
        prompt: template(table, "prompt", problems).or_else(|| Template::new("").ok())?,
        skills,
        as_role: table.optional_scalar("as_role", problems),
        names_skills: ["tools", "skills"].iter().any(|key| table.get(key).is_some()),
        success_criteria: table.optional_scalar("success_criteria", problems),
        model: table.optional_scalar("model", problems),
        timeout: duration_of(table, "timeout", problems),
        retry: retry(table, problems),
        validation: validation.unwrap_or_default(),
    })
}

/// The `retry` of an agent or a skill call.
pub(crate) fn retry(table: &Table<'_>, problems: &mut Problems<'_>) -> Retry {
    const BACKOFFS: [(&str, Backoff); 3] =
        [("none", Backoff::None), ("linear", Backoff::Linear), ("exponential", Backoff::Exponential)];
    let Some(table) = table.table("retry", "`retry`", problems) else { return Retry::default() };
    table.only(&["max_attempts", "backoff", "on_failure"], problems);
    let on_failure = table.optional_scalar("on_failure", problems);
    let on_failure = match on_failure.as_deref().map(str::trim) {
        None | Some("abort") => OnFailure::Abort,
        Some("skip") => OnFailure::Skip,
        Some(other) => match other.strip_prefix("fallback:") {
            Some(agent) => OnFailure::Fallback(agent.trim().to_owned()),
            None => {
                let message =
                    format!("'{other}' isn't a valid `on_failure`; write skip, abort or fallback:AGENT");
                problems.add(table.place("on_failure"), message);
                OnFailure::Abort
            }
        },
    };
    Retry {
        max_attempts: table.count("max_attempts", MAX_ATTEMPTS, problems).unwrap_or(1),
        backoff: table.choice("backoff", &BACKOFFS, problems).unwrap_or_default(),
        on_failure,
    }
}

fn validation(table: &Table<'_>, problems: &mut Problems<'_>) -> Validation {
    table.only(&["schema", "rules"], problems);
    let schema = table.get("schema").map(Node::json);
    if let Some(why) = schema.as_ref().and_then(adjutant_skills::schema_problem) {
        problems.add(table.place("schema"), format!("`schema` isn't a valid JSON Schema: {why}"));
    }
    let rules = table.scalars("rules", problems);
    Validation { schema, rules: rules.iter().map(|rule| Rule::new(rule)).collect() }
}

/// The steps, each with whether the file says what it depends on; and the ids of all with their JSON pointers.
type Steps = (Vec<(Step, bool)>, Vec<(String, String)>);

fn read_steps(table: &Table<'_>, agents: &[&str], problems: &mut Problems<'_>) -> Steps {
    let nodes = table.list("steps", "a list of tables", problems);
    if nodes.is_empty() {
        problems.add(table.at, "the workflow has no `steps`");
    }
    if nodes.len() > MAX_STEPS {
        let message = format!(
            "the workflow has {} steps, and at most {MAX_STEPS} are possible; split it into several workflows",
            nodes.len()
        );
        problems.add(table.place("steps"), message);
        return (Vec::new(), Vec::new());
    }
    let id_of = |node: &Node| {
        let id = node.as_table()?.iter().find(|entry| entry.key == "id")?;
        id.node.as_str().map(str::to_owned)
    };
    let ids: Vec<String> = nodes.iter().filter_map(id_of).collect();
    let names = steps::Known { steps: &ids, agents };
    let (mut found, mut all): (Vec<_>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for (index, node) in nodes.iter().enumerate() {
        let Some(table) = Table::of(node, "the step", problems) else { continue };
        let Some(id) = table.scalar("id", problems) else { continue };
        check_template_name(&table, "id", &id, problems);
        if all.iter().any(|(other, _)| *other == id) {
            problems.add(table.place("id"), format!("there are two steps called '{id}'"));
            continue;
        }
        all.push((id.clone(), format!("/workflow/steps/{index}")));
        found.extend(steps::read(id, &table, &names, problems));
    }
    (found, all)
}
