//! Workflows as skills in the registry.

use std::sync::Arc;

use adjutant_skills::{Domain, Handler, Skill, WORKFLOW};
use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::language::definition::{Input, InputType, Workflow};
use super::plans::MAX_GOAL;

/// Short, because every request carries the summaries.
const MAX_SUMMARY: usize = 200;

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
    let mut skill = Skill::of_workflow(PLAN, summary, parameters);
    skill.handler = Handler::Workflow(PLANNING.to_owned());
    skill
}

fn skill(workflow: &Workflow) -> Skill {
    Skill::of_workflow(&workflow.name, summary(workflow), parameters(&workflow.inputs))
}

/// Whether a run asks for it when it's missing.
fn is_asked(input: &Input) -> bool {
    input.required && input.default.is_none()
}

/// The description in a line.
fn summary(workflow: &Workflow) -> String {
    let mut line = workflow.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_SUMMARY {
        line.truncate(line.floor_char_boundary(MAX_SUMMARY - '…'.len_utf8()));
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
