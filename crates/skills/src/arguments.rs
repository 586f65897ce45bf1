//! The arguments of skills, as models and people are shown them.

use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    /// Whether every call must have it.
    pub required: bool,
    /// What it is, in a word or two; empty for a text.
    pub kind: String,
    /// Whether it only matters to people with several accounts.
    pub is_for_several: bool,
}

impl Argument {
    /// `due?: time`, or without its type `due?`.
    pub(super) fn shown(&self, with_type: bool) -> String {
        let optional = if self.required { "" } else { "?" };
        let kind = if with_type { format!(": {}", self.kind) } else { String::new() };
        format!("{}{optional}{kind}", self.name)
    }
}

/// The properties of a schema, in its order.
pub(super) fn arguments(schema: &Value) -> Vec<Argument> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|listed| listed == name));
    let all = schema["properties"].as_object().into_iter().flatten();
    let argument = |(name, schema): (&String, &Value)| Argument {
        name: name.clone(),
        required: is_required(name),
        kind: kind(schema),
        is_for_several: is_for_several(schema),
    };
    all.map(argument).collect()
}

/// Whether a schema says that its argument only matters to people with several accounts. JSON Schema ignores that.
fn is_for_several(schema: &Value) -> bool {
    schema["several"].as_bool().unwrap_or_default()
}

/// What a value is, in a word or two: `title` of its schema, if it has one.
fn kind(schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|");
    }
    match schema["type"].as_str() {
        Some("array") => match (kind(&schema["items"]).as_str(), schema["items"]["type"].as_str()) {
            ("", Some("string")) => "[text]".to_owned(),
            ("", Some("integer" | "number")) => "[number]".to_owned(),
            (item, _) => format!("[{item}]"),
        },
        Some("object") => {
            let names = schema["properties"].as_object().into_iter().flat_map(Map::keys);
            format!("{{{}}}", names.map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        // Names such as `limit` and `all_day` say it.
        _ => String::new(),
    }
}
