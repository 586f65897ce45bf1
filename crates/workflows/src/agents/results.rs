//! Results as models are told them: every text once, with the identifiers that later calls need.

use serde_json::{Map, Value};

/// A text of the data that is at least this long isn't told again if the summary has it.
const LONG: usize = 40;
/// The part of a note that stands beside an identifier.
const MAX_NOTE: usize = 200;
/// Fields that stand beside an identifier, unless the line says them.
#[rustfmt::skip]
const NOTED: [&str; 15] = [
    "instance", "from", "to", "cc", "organizer", "attendees", "emails", "phones", "recurrence", "notes", "snippet",
    "since", "quote", "folder", "attachments",
];
/// Stands behind the attachments of an email.
const HOW_TO_READ: &str = " (email.attachment reads one by its number)";
/// Fields of an email that stand above its text.
const HEAD: [&str; 5] = ["from", "to", "cc", "subject", "attachments"];
/// The most identifiers of an agent's results.
const MAX: usize = 15;

/// A call's summary and data without what is in both: of a list, the summary's first line stays.
pub(super) fn without_repeats(summary: &str, data: &Value) -> (String, Value) {
    let items = items(data);
    let head = match summary.split_once('\n') {
        Some((head, _)) if !items.is_empty() => head,
        _ => summary,
    };
    let mut data = compact(data, head);
    if let Value::Object(fields) = &mut data {
        fields.retain(|name, value| !HEAD.contains(&name.as_str()) || !head.contains(&words(value)));
    }
    (head.to_owned(), data)
}

/// A call's summary with the identifiers of what it is about, and what of the data it doesn't say.
pub(super) fn with_identifiers(summary: &str, data: &Value) -> (String, Value) {
    let items = items(data);
    if serde_json::from_str::<Value>(summary).is_ok_and(|value| value == *data) {
        return (summary.to_owned(), Value::Null);
    }
    if items.is_empty() {
        return match identifier(data, summary) {
            None if data.get("items").is_some() => (summary.to_owned(), Value::Null),
            Some(id) if is_named(data, summary) => (with_id(summary, &id), Value::Null),
            _ => (summary.to_owned(), without_listed(compact(data, summary), summary)),
        };
    }
    match items {
        _ if let Some(lines) = annotated_lines(summary, items) => {
            (lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>().join("\n"), Value::Null)
        }
        [item] if is_named(item, summary) => (annotated(summary, summary, item), Value::Null),
        _ => without_repeats(summary, data),
    }
}

/// The lines of a list with the identifiers, one for each item; none if the summary doesn't list all of them.
pub(super) fn item_lines(summary: &str, data: &Value) -> Option<Vec<String>> {
    let lines = annotated_lines(summary, items(data))?;
    Some(lines.into_iter().filter(|(_, is_item)| *is_item).map(|(line, _)| line).collect())
}

/// The lines of a list as they are, one for each item; none if the summary doesn't list all of them.
pub(super) fn plain_lines<'s>(summary: &'s str, data: &Value) -> Option<Vec<&'s str>> {
    let lines = lines_of(summary, items(data))?;
    Some(lines.into_iter().filter_map(|(line, item)| item.map(|_| line)).collect())
}

/// The summary's lines with identifiers, and which of them are items; none if it doesn't list all items.
fn annotated_lines(summary: &str, items: &[Value]) -> Option<Vec<(String, bool)>> {
    let annotate = |(line, item): (&str, Option<&Value>)| match item {
        Some(item) => (annotated(line, summary, item), true),
        None => (line.to_owned(), false),
    };
    Some(lines_of(summary, items)?.into_iter().map(annotate).collect())
}

/// The summary's lines, each with the item that it is about; none if it doesn't list all items.
fn lines_of<'s, 'i>(summary: &'s str, items: &'i [Value]) -> Option<Vec<(&'s str, Option<&'i Value>)>> {
    let mut left = items.iter().peekable();
    let mut lines = Vec::new();
    for line in summary.lines() {
        lines.push((line, left.next_if(|item| line.starts_with("- ") && begins(item, line))));
    }
    left.next().is_none().then_some(lines)
}

/// What an agent's calls were about, as far as its text doesn't say it: `id 7 “Demo”`.
pub(super) fn identifiers(text: &str, data: &Value) -> Vec<String> {
    let calls: Vec<&Value> = match data.as_array() {
        Some(calls) => calls.iter().filter_map(|call| call.get("data")).collect(),
        None => vec![data],
    };
    let things = calls.into_iter().flat_map(|data| match items(data) {
        [] => std::slice::from_ref(data),
        items => items,
    });
    let mut lines = Vec::new();
    for thing in things {
        let Some(id) = identifier(thing, "").filter(|_| !is_shown(thing, text)) else { continue };
        let line = format!("{id} “{}”", name(thing).unwrap_or_default().replace('\n', " "));
        if lines.len() < MAX && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The things that a result lists.
pub(super) fn items(data: &Value) -> &[Value] {
    data.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The name that people use for a thing.
fn name(thing: &Value) -> Option<&str> {
    ["title", "name", "subject", "text"].iter().find_map(|field| thing.get(field)?.as_str())
}

fn id(thing: &Value) -> Option<&str> {
    ["id", "message_id"].iter().find_map(|field| thing.get(field)?.as_str())
}

fn is_named(thing: &Value, text: &str) -> bool {
    name(thing).is_some_and(|name| text.contains(name.trim()))
}

/// The data without a list that the summary has, a line each.
fn without_listed(mut data: Value, summary: &str) -> Value {
    let lines = summary.lines().filter(|line| line.starts_with("- ")).count();
    let is_listed = |value: &Value| {
        value.as_array().is_some_and(|all| all.len() == lines && all.iter().all(Value::is_object))
    };
    if let Value::Object(fields) = &mut data {
        fields.retain(|_, value| !is_listed(value));
    }
    data
}

/// Whether a line of a list is about this item.
fn begins(item: &Value, line: &str) -> bool {
    name(item).is_none_or(|name| line.contains(name.trim().lines().next().unwrap_or_default()))
}

fn is_shown(thing: &Value, text: &str) -> bool {
    id(thing).is_some_and(|id| text.contains(id))
}

fn identifier(thing: &Value, summary: &str) -> Option<String> {
    let mut text = format!("id {}", id(thing)?);
    for field in NOTED {
        let value = words(&thing[field]);
        // Most emails are in the inbox.
        let is_usual = field == "folder" && value == "INBOX";
        let is_noted = !is_usual && (!summary.is_empty() || field == "instance");
        if !value.is_empty() && !summary.contains(&value) && is_noted {
            let end = value.floor_char_boundary(MAX_NOTE);
            let cut = if end < value.len() { " … (cut)" } else { "" };
            let how = if field == "attachments" { HOW_TO_READ } else { "" };
            text.push_str(&format!(", {field} {}{cut}{how}", &value[..end]));
        }
    }
    Some(text)
}

/// A field in words: a text, or the addresses of people.
fn words(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            let word = |value: &Value| value.as_str().or(value["email"].as_str()).map(str::to_owned);
            all.iter().filter_map(word).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    text.replace(['\n', '\r'], " ")
}

fn annotated(line: &str, summary: &str, thing: &Value) -> String {
    // A person needs a schedule's identifier, too.
    let is_shown = id(thing).is_some_and(|id| line.contains(&format!("[{id}]")));
    let identifier = identifier(thing, line).filter(|_| !is_shown);
    let mut line = identifier.map_or_else(|| line.to_owned(), |id| with_id(line, &id));
    if let Some(text) = thing["text"].as_str().filter(|text| !summary.contains(text.trim())) {
        line.push_str(&format!("\n  {}", text.trim().replace('\n', "\n  ")));
    }
    line
}

fn with_id(text: &str, identifier: &str) -> String {
    let room = if text.contains('\n') { "\n" } else { " " };
    format!("{text}{room}[{identifier}]").trim_start().to_owned()
}

/// The data without empty fields, and without long texts that were said.
pub(super) fn compact(data: &Value, summary: &str) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || (text.len() >= LONG && summary.contains(text.trim())),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match data {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), compact(value, summary)));
            Value::Object(
                fields.filter(|(name, value)| name == "items" || !is_empty(value)).collect::<Map<_, _>>(),
            )
        }
        Value::Array(all) => all.iter().map(|value| compact(value, summary)).collect(),
        value => value.clone(),
    }
}

/// Cuts a text that is too long, and says so where it is cut.
pub(super) fn cut(text: &mut String, max_bytes: usize) {
    let all = text.len();
    if all > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        let rest = all - text.len();
        text.push_str(&format!("… [cut: {rest} more bytes; agents that depend on this one get all of it]"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::item_lines;

    #[test]
    fn an_email_is_told_with_its_files_and_where_it_is() {
        let mail = |folder: &str| {
            json!({"id": "<1@x>", "subject": "Plan", "from": ["Bob <b@x>"], "to": ["Ann <a@x>"], "folder": folder,
                "attachments": ["1: plan.pdf (application/pdf, 9 bytes)"]})
        };
        let data = json!({"items": [mail("INBOX"), mail("Sent")]});
        let lines = item_lines("2 emails:\n- Bob — Plan\n- Bob — Plan", &data).unwrap();
        let files =
            "attachments 1: plan.pdf (application/pdf, 9 bytes) (email.attachment reads one by its number)";
        let inbox = format!("- Bob — Plan [id <1@x>, from Bob <b@x>, to Ann <a@x>, {files}]");
        let sent = format!("- Bob — Plan [id <1@x>, from Bob <b@x>, to Ann <a@x>, folder Sent, {files}]");
        assert_eq!(lines, [inbox, sent]);
    }
}
