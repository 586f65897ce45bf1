//! The inputs of a run, checked against its workflow.

use std::collections::BTreeMap;

use adjutant_chat::suggest::did_you_mean;
use serde_json::{Map, Value};

use super::definition::{Input, InputType, Workflow};
use super::reading::mismatch;

/// The longest input, as text.
const MAX_LENGTH: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Inputs<'w> {
    /// Their values, defaults too; an optional one that is not given is null.
    pub values: Map<String, Value>,
    /// The inputs that a person has to be asked for.
    pub missing: Vec<&'w Input>,
}

/// Combines the given values with the defaults. A text for an input of another type is parsed. The errors are sentences.
pub fn resolve<'w>(
    workflow: &'w Workflow,
    given: &BTreeMap<String, Value>,
) -> Result<Inputs<'w>, Vec<String>> {
    let mut problems = Vec::new();
    for name in given.keys().filter(|name| !workflow.inputs.iter().any(|input| input.name == **name)) {
        let hint = did_you_mean(name, workflow.inputs.iter().map(|input| input.name.as_str()));
        problems.push(format!("the workflow '{}' has no input '{name}'{hint}", workflow.name));
    }
    let mut inputs = Inputs { values: Map::new(), missing: Vec::new() };
    for input in &workflow.inputs {
        match (given.get(&input.name), &input.default) {
            (Some(value), _) => match fitting(input, value) {
                Ok(value) => drop(inputs.values.insert(input.name.clone(), value)),
                Err(why) => problems.push(why),
            },
            (None, Some(default)) => drop(inputs.values.insert(input.name.clone(), default.clone())),
            (None, None) if input.required => inputs.missing.push(input),
            (None, None) => drop(inputs.values.insert(input.name.clone(), Value::Null)),
        }
    }
    if problems.is_empty() { Ok(inputs) } else { Err(problems) }
}

/// A value as its input needs it; the error is a sentence.
pub fn fitting(input: &Input, value: &Value) -> Result<Value, String> {
    let read = match (input.kind, value) {
        (_, Value::String(text)) if text.len() > MAX_LENGTH => {
            return Err(format!("the input '{}' is longer than 1 MB", input.name));
        }
        (InputType::Number, Value::String(text)) => text
            .trim()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(|number| text.trim().parse::<i64>().map_or(Value::Number(number), Value::from)),
        (InputType::Boolean, Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" => Some(Value::Bool(true)),
            "false" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        // A text that isn't JSON is a JSON string.
        (InputType::Json, Value::String(text)) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let value = read.unwrap_or_else(|| value.clone());
    match mismatch(input.kind, &value) {
        Some(why) => Err(format!("the input '{}' {}", input.name, why.split(';').next().unwrap_or(why))),
        None => Ok(value),
    }
}
