//! Workflows as skills: what the registry shows of them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::definition::{Input, Kind, Workflow};
use crate::skills::{Domain, Skill, WORKFLOW};

/// A summary stands in the catalogue that every request carries.
const LONGEST_SUMMARY: usize = 200;

/// The domain of these workflows; none when there are none.
pub fn domain(catalogue: &Catalogue) -> Option<Domain> {
    let skills: Vec<Arc<Skill>> =
        catalogue.workflows.iter().map(|workflow| Arc::new(skill(workflow))).collect();
    (!skills.is_empty()).then(|| Domain {
        name: WORKFLOW.to_owned(),
        summary: "Pipelines; dispatch one by itself, with arguments".to_owned(),
        skills,
        file: "workflows/".to_owned(),
    })
}

fn skill(workflow: &Workflow) -> Skill {
    Skill::of_workflow(&workflow.name, summary(workflow), parameters(&workflow.inputs), Vec::new())
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

/// The JSON Schema of what a workflow is given.
fn parameters(inputs: &[Input]) -> Value {
    let required = inputs.iter().filter(|input| input.required && input.default.is_none());
    let required: Vec<&str> = required.map(|input| input.name.as_str()).collect();
    let properties: Map<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), parameter(input))).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn parameter(input: &Input) -> Value {
    let mut schema = match input.kind {
        Kind::String | Kind::FilePath => json!({"type": "string"}),
        Kind::Number => json!({"type": "number"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Json => json!({}),
    };
    if !input.description.is_empty() {
        schema["description"] = Value::from(input.description.clone());
    }
    if let Some(default) = &input.default {
        schema["default"] = default.clone();
    }
    schema
}
