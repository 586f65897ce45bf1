//! Workflows as skills in the registry.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::command::{ARTICLES, LITTLE, VERBS};
use super::language::definition::{Input, InputType, Workflow};
use super::plans::MAX_GOAL;
use crate::skills::{Domain, Handler, Intent, Skill, WORKFLOW};

/// Short, because every request carries the summaries.
const LONGEST_SUMMARY: usize = 200;
/// The most `KEY=VALUE` pairs of a command; a pattern's size is limited.
const MOST_PAIRS: usize = 20;

/// The skill that makes a plan for a goal, by its name in the domain.
const PLAN: &str = "plan";
/// What it has in place of a workflow's name: no workflow can be called like this.
pub const PLANNING: &str = "/plan";

/// The domain of these workflows, if there are any.
pub fn domain(catalogue: &Catalogue) -> Option<Domain> {
    let mut skills: Vec<Arc<Skill>> =
        catalogue.workflows.iter().map(|workflow| Arc::new(skill(workflow))).collect();
    // A workflow of that name takes its place.
    if !skills.is_empty() && catalogue.get(PLAN).is_none() {
        skills.push(Arc::new(planning()));
    }
    (!skills.is_empty()).then(|| Domain {
        unavailable: Vec::new(),
        name: WORKFLOW.to_owned(),
        summary: "Dispatch one alone, with arguments".to_owned(),
        skills,
        file: "workflows/".to_owned(),
    })
}

/// The skill that makes a plan for a goal.
fn planning() -> Skill {
    let parameters = json!({
        "type": "object",
        "properties": {"goal": {"type": "string", "minLength": 1, "maxLength": MAX_GOAL,
                                "description": "What the person wants, whole, with names and dates"}},
        "required": ["goal"],
        "additionalProperties": false,
    });
    let summary = "More than five steps; asks first".to_owned();
    let mut skill = Skill::of_workflow(PLAN, summary, parameters, Vec::new());
    skill.handler = Handler::Workflow(PLANNING.to_owned());
    skill
}

fn skill(workflow: &Workflow) -> Skill {
    Skill::of_workflow(&workflow.name, summary(workflow), parameters(&workflow.inputs), intents(workflow))
}

/// The intents of the built-in planner: "run visit-report for Acme depth=3", "start the morning briefing".
fn intents(workflow: &Workflow) -> Vec<Intent> {
    let name: Vec<String> = workflow.name.split(['-', '_']).map(regex::escape).collect();
    let (verbs, articles, little) = (VERBS.join("|"), ARTICLES.join("|"), LITTLE.join("|"));
    let name = name.join("[-_ ]");
    let lead = format!("^(?:{verbs})(?: (?:{articles}))?(?: workflow)? {name}(?: workflow)?");
    let mut inputs: Vec<&Input> = workflow.inputs.iter().take(MOST_PAIRS).collect();
    let (pairs, arguments) = pairs(&inputs);
    let example = Some(format!("run {}", workflow.name));
    let mut intents =
        vec![Intent { pattern: format!("{lead}{pairs}$"), arguments, lookup: None, also: None, example }];
    // Plain words are the first required input; the others may follow by name.
    if let Some(at) = inputs.iter().position(|input| is_asked(input)) {
        let first = inputs.remove(at);
        let (pairs, mut arguments) = self::pairs(&inputs);
        arguments.insert(first.name.clone(), hole("given", first));
        let given = format!(r"(?: (?:{little})|:) (?P<given>(?:https?://\S+|[^\s=]+)(?s:\s.*?)?)");
        intents.push(Intent {
            pattern: format!("{lead}{given}{pairs}$"),
            arguments,
            lookup: None,
            also: None,
            example: None,
        });
    }
    intents
}

/// A pattern of `KEY=VALUE` for each of these inputs, in any order, and the arguments that they fill.
fn pairs(inputs: &[&Input]) -> (String, Map<String, Value>) {
    if inputs.is_empty() {
        return (String::new(), Map::new());
    }
    let pair =
        |(at, input): (usize, &&Input)| format!(r#"{}=(?P<i{at}>"[^"]*"|\S+)"#, regex::escape(&input.name));
    let each: Vec<String> = inputs.iter().enumerate().map(pair).collect();
    let argument = |(at, input): (usize, &&Input)| (input.name.clone(), hole(&format!("i{at}"), input));
    (
        format!("(?:,? (?:with |and )?(?:{}))*", each.join("|")),
        inputs.iter().enumerate().map(argument).collect(),
    )
}

fn hole(capture: &str, input: &Input) -> Value {
    match input.kind {
        InputType::String | InputType::FilePath => format!("{{{capture}}}").into(),
        InputType::Number | InputType::Boolean | InputType::Json => format!("{{{capture}|value}}").into(),
    }
}

/// Whether a run asks for it when it's missing.
fn is_asked(input: &Input) -> bool {
    input.required && input.default.is_none()
}

/// The description in a line.
fn summary(workflow: &Workflow) -> String {
    let mut line = workflow.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LONGEST_SUMMARY {
        line.truncate(line.floor_char_boundary(LONGEST_SUMMARY - '…'.len_utf8()));
        line.push('…');
    }
    line
}

/// The JSON Schema of a workflow's inputs.
fn parameters(inputs: &[Input]) -> Value {
    let required = inputs.iter().filter(|input| is_asked(input));
    let required: Vec<&str> = required.map(|input| input.name.as_str()).collect();
    let properties: Map<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), parameter(input))).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn parameter(input: &Input) -> Value {
    let mut schema = match input.kind {
        InputType::String | InputType::FilePath => json!({"type": "string"}),
        InputType::Number => json!({"type": "number"}),
        InputType::Boolean => json!({"type": "boolean"}),
        InputType::Json => json!({}),
    };
    if !input.description.is_empty() {
        schema["description"] = Value::from(input.description.clone());
    }
    if let Some(default) = &input.default {
        schema["default"] = default.clone();
    }
    schema
}
