//! Workflows as skills in the registry.

use std::sync::Arc;

use adjutant_skills::{Domain, Handler, Skill, WORKFLOW};
use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::draft::MAX_WORDS;
use super::language::definition::{Input, InputType, Workflow};
use super::plans::MAX_GOAL;

/// Short, because every request carries the summaries.
const MAX_SUMMARY: usize = 200;

/// The skills that make a plan for a goal, and a workflow from words, by their names in the domain.
const PLAN: &str = "plan";
const DRAFT: &str = "draft";
/// What they have in place of a workflow's name: no workflow can be called like this.
pub const PLANNING: &str = "/plan";
pub const DRAFTING: &str = "/draft";

/// The domain of these workflows, if there are any.
pub fn domain(catalogue: &Catalogue) -> Option<Domain> {
    let mut skills: Vec<Arc<Skill>> =
        catalogue.workflows.iter().map(|workflow| Arc::new(skill(workflow))).collect();
    if skills.is_empty() {
        return None;
    }
    // A workflow of that name takes its place.
    let others = [(PLAN, planning()), (DRAFT, drafting())];
    let others = others.into_iter().filter(|(name, _)| catalogue.get(name).is_none());
    skills.extend(others.map(|(_, skill)| Arc::new(skill)));
    Some(Domain {
        unavailable: Vec::new(),
        name: WORKFLOW.to_owned(),
        summary: "Dispatch one alone, with arguments; plan if it takes more than five steps".to_owned(),
        skills,
        file: "workflows/".to_owned(),
    })
}

/// The skill that makes a plan for a goal.
fn planning() -> Skill {
    let goal = json!({"type": "string", "minLength": 1, "maxLength": MAX_GOAL,
                      "description": "What the person wants, whole, with names and dates"});
    made_first((PLAN, PLANNING), "More than five steps; asks first", ("goal", goal))
}

/// The skill that drafts a workflow from words.
fn drafting() -> Skill {
    let words = json!({"type": "string", "minLength": 1, "maxLength": MAX_WORDS,
                       "description": "What the new workflow does, in the person's words; they can run or save it"});
    made_first((DRAFT, DRAFTING), "A new one; asks first", ("words", words))
}

/// The skill of this name in the domain, whose workflow is first made from its argument.
fn made_first((name, instead): (&str, &str), summary: &str, (argument, schema): (&str, Value)) -> Skill {
    let parameters = json!({
        "type": "object",
        "properties": {argument: schema},
        "required": [argument],
        "additionalProperties": false,
    });
    let mut skill = Skill::of_workflow(name, summary.to_owned(), parameters);
    skill.handler = Handler::Workflow(instead.to_owned());
    skill
}

fn skill(workflow: &Workflow) -> Skill {
    Skill::of_workflow(&workflow.name, summary(workflow), parameters(&workflow.inputs))
}

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
    // A run asks for these when they are missing.
    let required = inputs.iter().filter(|input| input.required && input.default.is_none());
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
