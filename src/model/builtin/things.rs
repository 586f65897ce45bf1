//! The things that skills hand around in `data`, and how a list of them reads.

use chrono::{NaiveDate, NaiveDateTime};
use serde_json::Value;

/// So many lines of a list are shown.
const SHOWN: usize = 25;

/// The things in a result: its items, or itself when it is one thing.
pub(super) fn items(data: &Value) -> Vec<Value> {
    match data.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().filter(|item| item.is_object()).cloned().collect(),
        None if data.get("id").is_some() => vec![data.clone()],
        None => Vec::new(),
    }
}

/// What people call a thing.
pub(super) fn name(item: &Value) -> Option<&str> {
    ["title", "text", "name", "subject"].iter().find_map(|field| item.get(field)?.as_str())
}

/// A list, a line each.
pub(super) fn list<'a>(things: impl Iterator<Item = &'a Value>) -> String {
    let mut lines: Vec<String> = things.map(line).collect();
    if let Some(more) = lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.truncate(SHOWN);
        lines.push(format!("- … and {more} more"));
    }
    lines.join("\n")
}

/// A result's own words, and the things in it that they don't name.
pub(super) fn described(said: &str, data: &Value) -> String {
    let items = if data.get("items").is_some() { items(data) } else { Vec::new() };
    let unsaid = list(items.iter().filter(|item| name(item).is_some_and(|name| !said.contains(name))));
    [said.trim(), &unsaid].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

fn line(item: &Value) -> String {
    let time = |field: &str| item.get(field).and_then(Value::as_str).map(readable);
    let when =
        time("due").map(|due| format!(" (due {due})")).or_else(|| Some(format!(" ({})", time("start")?)));
    format!("- {}{}", name(item).unwrap_or("(no name)"), when.unwrap_or_default())
}

/// `2026-11-27T17:00` as people write it; what is no such time stays as it is.
fn readable(time: &str) -> String {
    let date = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let moment = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(time, form).ok());
    match (moment, date(time)) {
        (Some(moment), _) => moment.format("%a %-d %b %Y, %H:%M").to_string(),
        (None, Some(date)) => date.format("%a %-d %b %Y").to_string(),
        _ => time.to_owned(),
    }
}
