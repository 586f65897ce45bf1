//! What a run is given, checked against what its workflow asks for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::definition::{Input, Kind, Workflow};
use super::read::misfit;
use crate::suggest::did_you_mean;

/// No input is longer, as text.
const LONGEST: usize = 1 << 20;

/// The inputs of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs<'w> {
    /// Their values, defaults too; an optional one that is not given is null.
    pub values: Map<String, Value>,
    /// Those that are still to be asked for.
    pub missing: Vec<&'w Input>,
}

/// Puts together what is given and what the workflow knows itself. A text for an input of another type is read as that.
///
/// # Errors
/// Each value that can't be, a sentence each.
pub fn resolve<'w>(
    workflow: &'w Workflow,
    given: &BTreeMap<String, Value>,
) -> Result<Inputs<'w>, Vec<String>> {
    let mut faults = Vec::new();
    for name in given.keys().filter(|name| !workflow.inputs.iter().any(|input| input.name == **name)) {
        let hint = did_you_mean(name, workflow.inputs.iter().map(|input| input.name.as_str()));
        faults.push(format!("the workflow '{}' has no input '{name}'{hint}", workflow.name));
    }
    let mut inputs = Inputs { values: Map::new(), missing: Vec::new() };
    for input in &workflow.inputs {
        match (given.get(&input.name), &input.default) {
            (Some(value), _) => match fitting(input, value) {
                Ok(value) => drop(inputs.values.insert(input.name.clone(), value)),
                Err(why) => faults.push(why),
            },
            (None, Some(default)) => drop(inputs.values.insert(input.name.clone(), default.clone())),
            (None, None) if input.required => inputs.missing.push(input),
            (None, None) => drop(inputs.values.insert(input.name.clone(), Value::Null)),
        }
    }
    if faults.is_empty() { Ok(inputs) } else { Err(faults) }
}

/// A value as its input wants it.
///
/// # Errors
/// Why it can't be that, a sentence.
pub fn fitting(input: &Input, value: &Value) -> Result<Value, String> {
    let read = match (input.kind, value) {
        (_, Value::String(text)) if text.len() > LONGEST => {
            return Err(format!("the input '{}' is longer than 1 MB", input.name));
        }
        (Kind::Number, Value::String(text)) => text
            .trim()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(|number| text.trim().parse::<i64>().map_or(Value::Number(number), Value::from)),
        (Kind::Boolean, Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" => Some(Value::Bool(true)),
            "false" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        // What is no JSON is a text, which is JSON as well.
        (Kind::Json, Value::String(text)) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let value = read.unwrap_or_else(|| value.clone());
    match misfit(input.kind, &value) {
        Some(why) => Err(format!("the input '{}' {}", input.name, why.split(';').next().unwrap_or(why))),
        None => Ok(value),
    }
}
