//! Fields of the workflow language, on top of a table's own getters.

use std::time::Duration;

use adjutant_config::document::{Node, Problems, Table, Value};
use adjutant_types::clock::duration;
use serde_json::{Map, Value as Json};

use super::condition::Condition;
use super::definition::InputMapping;
use super::template::{Template, TemplateError};

fn note(error: &TemplateError, node: &Node, problems: &mut Problems<'_>) {
    match &error.excerpt {
        Some(excerpt) => problems.add_in(node, excerpt, &error.message),
        None => problems.add(node.at, &error.message),
    }
}

/// Notes that a key is missing, with a hint what belongs there.
pub(crate) fn requires(table: &Table<'_>, key: &str, message: &str, problems: &mut Problems<'_>) {
    if table.get(key).is_none() {
        problems.add(table.at, message);
    }
}

/// A duration such as "3m".
pub(crate) fn duration_of(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Duration> {
    let text = table.optional_scalar(key, problems)?;
    duration::parse(&text).map_err(|error| problems.add(table.place(key), format!("`{key}`: {error}"))).ok()
}

pub(crate) fn template(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Template> {
    let text = table.optional_scalar(key, problems)?;
    let node = table.get(key)?;
    Template::new(&text).map_err(|error| note(&error, node, problems)).ok()
}

pub(crate) fn condition(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Condition> {
    let text = match table.get(key).map(|node| &node.value) {
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => table.scalar(key, problems)?,
    };
    let node = table.get(key)?;
    Condition::new(&text).map_err(|error| note(&error, node, problems)).ok()
}

/// The input of a step or an agent.
pub(crate) fn input_mapping(
    table: &Table<'_>,
    key: &str,
    problems: &mut Problems<'_>,
) -> Option<InputMapping> {
    let text = table.optional_scalar(key, problems)?;
    if text.trim().trim_end_matches('.').eq_ignore_ascii_case("all prior context") {
        return Some(InputMapping::AllPrior);
    }
    template(table, key, problems).map(InputMapping::Template)
}

/// A table of JSON whose texts are templates; empty when it isn't there.
pub(crate) fn templates(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Map<String, Json> {
    let Some(table) = table.table(key, "it", problems) else { return Map::new() };
    let mut map = Map::new();
    for entry in table.entries() {
        check_texts(&entry.node, problems);
        map.insert(entry.key.clone(), entry.node.json());
    }
    map
}

fn check_texts(node: &Node, problems: &mut Problems<'_>) {
    match &node.value {
        Value::Text(text) => {
            if let Err(error) = Template::new(text) {
                note(&error, node, problems);
            }
        }
        Value::List(list) => list.iter().for_each(|node| check_texts(node, problems)),
        Value::Table(entries) => entries.iter().for_each(|entry| check_texts(&entry.node, problems)),
        _ => {}
    }
}
