//! A tool as its server describes it, and as an owner has accepted it.

use adjutant_types::invisible_chars::{line, shown};
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// How much of a description a model reads, in characters.
const DESCRIPTION: usize = 500;

/// A server's description of one of its tools. All of it is text from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The server's own name of the tool.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub schema: Value,
    /// JSON Schema of the structured result.
    pub output: Option<Value>,
    /// The server's hints: whether the tool only reads, and the like.
    pub hints: Value,
}

impl From<&Tool> for Definition {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name.clone().into_owned(),
            title: tool.title.clone(),
            description: tool.description.clone().map(Into::into),
            schema: Value::Object((*tool.input_schema).clone()),
            output: tool.output_schema.as_ref().map(|schema| Value::Object((**schema).clone())),
            hints: tool
                .annotations
                .as_ref()
                .and_then(|hints| serde_json::to_value(hints).ok())
                .unwrap_or_default(),
        }
    }
}

impl Definition {
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn text(&self) -> String {
        json!(self).to_string()
    }

    /// The same for the same definition alone; the order of a table's keys says nothing.
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(sorted(&json!(self)).to_string().as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the server says that a call changes nothing.
    pub fn only_reads(&self) -> bool {
        self.hints["readOnlyHint"] == true
    }

    /// The line that a model reads.
    pub fn summary(&self) -> String {
        let text = self.description.as_deref().or(self.title.as_deref()).unwrap_or(&self.name);
        line(text, DESCRIPTION)
    }

    /// The schema as a model reads it: each text in it is a line.
    pub fn parameters(&self) -> Value {
        let mut schema = self.schema.clone();
        if let Value::Object(schema) = &mut schema {
            schema.entry("type").or_insert_with(|| "object".into());
            schema.entry("properties").or_insert_with(|| json!({}));
        }
        shorten(&mut schema);
        schema
    }

    /// All of it for a person who decides, with whatever is hidden made visible.
    pub fn lines(&self) -> Vec<String> {
        let text = |name: &str, text: &str| shown(&format!("{name}: {text}"));
        let block = |name: &str, value: &Value| {
            let pretty = serde_json::to_string_pretty(&sorted(value)).unwrap_or_default();
            text(name, &pretty)
        };
        let mut all = Vec::new();
        all.extend(self.title.as_deref().map(|title| text("title", title)));
        all.extend(self.description.as_deref().map(|description| text("description", description)));
        all.push(block("arguments", &self.schema));
        all.extend(self.output.as_ref().map(|output| block("result", output)));
        if !self.hints.is_null() {
            all.push(text("the server's hints", &sorted(&self.hints).to_string()));
        }
        all.iter().flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

/// The difference between two texts: the removed lines, then the added lines, in order.
pub fn difference(old: &[String], new: &[String]) -> Vec<String> {
    let mut gone: Vec<&String> = Vec::new();
    let mut remaining: Vec<&String> = new.iter().collect();
    for line in old {
        match remaining.iter().position(|other| *other == line) {
            Some(at) => drop(remaining.remove(at)),
            None => gone.push(line),
        }
    }
    let gone = gone.into_iter().map(|line| format!("- {line}"));
    gone.chain(remaining.into_iter().map(|line| format!("+ {line}"))).collect()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// Cuts the descriptions and titles in a schema.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(map) => shorten_table(map),
        Value::Array(list) => list.iter_mut().for_each(shorten),
        _ => {}
    }
}

fn shorten_table(map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        match value {
            Value::String(text) if matches!(key.as_str(), "description" | "title" | "$comment") => {
                *text = line(text, DESCRIPTION);
            }
            _ => shorten(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(description: &str) -> Definition {
        Definition {
            name: "search".into(),
            title: None,
            description: Some(description.into()),
            schema: json!({"properties": {"q": {"description": "What\u{200b} to\nfind"}}, "type": "object"}),
            output: None,
            hints: json!({"readOnlyHint": true}),
        }
    }

    #[test]
    fn a_digest_sees_a_byte_and_not_the_order_of_keys() {
        let reordered = Definition {
            schema: json!({"type": "object", "properties": {"q": {"description": "What\u{200b} to\nfind"}}}),
            ..tool("Find")
        };
        assert_eq!(tool("Find").digest(), reordered.digest());
        assert_ne!(tool("Find").digest(), tool("Find ").digest());
        assert_eq!(Definition::read(&tool("Find").text()), Some(tool("Find")));
    }

    #[test]
    fn a_model_reads_lines_and_a_person_sees_everything() {
        let long = tool(&format!("Find\n{}", "x".repeat(600)));
        assert_eq!(long.summary().chars().count(), DESCRIPTION + 1);
        assert_eq!(long.parameters()["properties"]["q"]["description"], "What to find");
        let lines = difference(&tool("Find").lines(), &tool("Find\u{200b} all").lines());
        assert_eq!(lines, ["- description: Find", "+ description: Find\\u{200b} all"]);
        assert!(tool("Find").lines().join("\n").contains("What\\u{200b} to"), "people see what hides");
    }
}
