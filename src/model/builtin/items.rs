//! The items that skills return in `data`, and how a list of them reads.

use chrono_tz::Tz;
use serde_json::Value;

use crate::clock::when::When;

/// Lines shown of a list.
const SHOWN: usize = 25;

/// The items of a result: those it lists, or itself if it is a single one.
pub(super) fn of(data: &Value) -> Vec<Value> {
    match data.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().filter(|item| item.is_object()).cloned().collect(),
        None if data.get("id").is_some() => vec![data.clone()],
        None => Vec::new(),
    }
}

/// What people call an item.
pub(super) fn name(item: &Value) -> Option<&str> {
    ["title", "text", "name", "subject"].iter().find_map(|field| item.get(field)?.as_str())
}

/// When an item is: an event's start or a task's due date.
pub(super) fn time(item: &Value, zone: Tz) -> Option<When> {
    ["start", "due"].iter().find_map(|field| time_in(item, field, zone))
}

/// The time in a field of an item.
pub(super) fn time_in(item: &Value, field: &str, zone: Tz) -> Option<When> {
    When::parse(item.get(field)?.as_str()?, zone).ok()
}

/// Whether each of the words stands in an item, as a whole word.
pub(super) fn has_words(item: &Value, wanted: &str) -> bool {
    const SMALL: [&str; 14] =
        ["a", "an", "the", "my", "with", "about", "to", "for", "of", "and", "at", "in", "on", "s"];
    let mut texts = Vec::new();
    strings(item, &mut texts);
    let here: Vec<String> = texts.iter().flat_map(|text| words(text)).collect();
    let stands = |word: &String| match word.is_ascii() {
        true => here.contains(word),
        // Not every script separates words.
        false => here.iter().any(|one| one.contains(word.as_str())),
    };
    words(wanted).filter(|word| !SMALL.contains(&word.as_str())).all(|word| stands(&word))
}

/// The words of a thing's title that aren't in a text, articles aside.
pub(super) fn words_besides(item: &Value, said: &str) -> Vec<String> {
    let said: Vec<String> = words(said).collect();
    let is_more = |word: &String| !said.contains(word) && !["a", "an", "the", "my"].contains(&word.as_str());
    words(name(item).unwrap_or_default()).filter(is_more).collect()
}

/// The words of a text in lower case, one and several of a thing alike.
fn words(text: &str) -> impl Iterator<Item = String> + use<> {
    let lower = text.to_lowercase();
    let words = lower.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    let one = |word: &str| word.strip_suffix('s').filter(|one| one.len() > 2).unwrap_or(word).to_owned();
    words.map(one).collect::<Vec<_>>().into_iter()
}

fn strings<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "id").for_each(|(_, item)| strings(item, into));
        }
        _ => {}
    }
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

/// A result's summary, followed by the items that it doesn't mention.
pub(super) fn described(said: &str, data: &Value) -> String {
    let items = if data.get("items").is_some() { of(data) } else { Vec::new() };
    let unsaid = list(items.iter().filter(|item| name(item).is_some_and(|name| !said.contains(name))));
    [said.trim(), &unsaid].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

/// Whether two items differ in nothing but their ids.
pub(super) fn is_alike(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return false };
    one.len() == other.len() && one.iter().all(|(name, value)| name == "id" || other.get(name) == Some(value))
}

/// An item with what tells it from others of its name.
pub(super) fn line(item: &Value) -> String {
    let time = |field: &str| item.get(field).and_then(Value::as_str).map(readable);
    let email = || item.get("emails")?.get(0)?.as_str().map(str::to_owned);
    let more = time("due").map(|due| format!("due {due}")).or_else(|| time("start")).or_else(email);
    let more = more.map(|more| format!(" ({more})"));
    format!("- {}{}", name(item).unwrap_or("(no name)"), more.unwrap_or_default())
}

/// `2026-11-27T17:00` as people write it; anything else, such as a time with an offset, stays as it is.
fn readable(time: &str) -> String {
    let local = When::parse(time, Tz::UTC).ok().filter(|_| time.len() <= "2026-11-27T17:00:00".len());
    local.map_or_else(|| time.to_owned(), When::spoken)
}
