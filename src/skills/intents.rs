//! Checks the `[[skill.intents]]`: that each pattern compiles, and that what its arguments refer to is there.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::arguments::Argument;
use super::definition::{Intent, Lookup};
use crate::document::{Node, Position, Problems, Table};
use crate::suggest::did_you_mean;

/// The conversions of `{capture|conversion}`; the built-in planner carries them out.
pub(super) const CONVERSIONS: [&str; 25] = [
    "text", "title", "line", "words", "things", "name", "said", "lower", "time", "start", "from", "ahead",
    "end", "last", "within", "until", "moved", "later", "earlier", "duration", "repeat", "tags", "list",
    "int", "value",
];

/// A pattern that needs more memory than this is a slip.
const PATTERN_BYTES: usize = 1 << 20;

/// What an intent may fill: its skill's arguments, with the schema they must fit.
pub(super) struct Target<'a> {
    pub(super) arguments: &'a [Argument],
    pub(super) validator: Option<&'a jsonschema::Validator>,
}

/// Another skill that an intent names, checked when all skills are known.
pub(super) struct Pending {
    /// Under which key.
    pub(super) what: &'static str,
    pub(super) lookup: Lookup,
    pub(super) at: Position,
}

pub(super) fn read(
    skill: Table,
    target: &Target,
    problems: &mut Problems<'_>,
) -> (Vec<Intent>, Vec<Pending>) {
    let (mut intents, mut pending) = (Vec::new(), Vec::new());
    for node in skill.list("intents", "a list of tables: [[skill.intents]]", problems) {
        let Some(table) = Table::of(node, "the intent", problems) else { continue };
        table.only(&["pattern", "arguments", "lookup", "also", "example"], problems);
        let [lookup, also] = [("lookup", "the lookup"), ("also", "`also`")].map(|(key, what)| {
            let read = table.get(key).and_then(|node| read_lookup(what, node, problems));
            pending.extend(read.iter().map(|(lookup, at)| Pending { what, lookup: lookup.clone(), at: *at }));
            read
        });
        let arguments = read_arguments(table, problems);
        let example = table.optional_text("example", problems).map(str::to_owned);
        let Some(source) = table.text("pattern", problems) else { continue };
        if problems.is_trusted {
            let [lookup, also] = [lookup, also].map(|read| read.map(|(lookup, _)| lookup));
            intents.push(Intent { pattern: source.to_owned(), arguments, lookup, also, example });
            continue;
        }
        let pattern = RegexBuilder::new(source).case_insensitive(true).size_limit(PATTERN_BYTES).build();
        match pattern {
            Ok(pattern) => {
                check_references(&arguments, &pattern, lookup.is_some(), table.place("arguments"), problems);
                for (lookup, at) in lookup.iter().chain(&also) {
                    check_references(&lookup.arguments, &pattern, false, *at, problems);
                }
                check_example(table, example.as_deref(), &pattern, problems);
            }
            Err(error) => {
                problems.add(table.place("pattern"), format!("the pattern is faulty: {}", flat(&error)))
            }
        }
        check_fit(table, &arguments, target, problems);
        let [lookup, also] = [lookup, also].map(|read| read.map(|(lookup, _)| lookup));
        intents.push(Intent { pattern: source.to_owned(), arguments, lookup, also, example });
    }
    (intents, pending)
}

/// A regex error is a drawing of several lines; its last one says what is wrong.
fn flat(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn read_arguments(table: Table, problems: &mut Problems<'_>) -> Map<String, Value> {
    let Some(node) = table.get("arguments") else { return Map::new() };
    match node.json() {
        Value::Object(arguments) => arguments,
        _ => {
            problems.add(table.place("arguments"), "`arguments` must be a table");
            Map::new()
        }
    }
}

fn read_lookup(what: &'static str, node: &Node, problems: &mut Problems<'_>) -> Option<(Lookup, Position)> {
    let table = Table::of(node, what, problems)?;
    table.only(&["skill", "arguments"], problems);
    let arguments = read_arguments(table, problems);
    let skill = table.text("skill", problems)?.to_owned();
    Some((Lookup { skill, arguments }, table.place("skill")))
}

fn check_example(table: Table, example: Option<&str>, pattern: &Regex, problems: &mut Problems<'_>) {
    if example.is_some_and(|example| !pattern.is_match(example.trim_end_matches(['.', '!', '?']))) {
        problems.add(table.place("example"), "the pattern does not match its own example");
    }
}

/// Unknown argument names, required ones that are not given, and constants that the schema refuses.
fn check_fit(table: Table, arguments: &Map<String, Value>, target: &Target, problems: &mut Problems<'_>) {
    let at = table.place("arguments");
    check_names(arguments, target.arguments, at, problems);
    for argument in target.arguments.iter().filter(|argument| argument.required) {
        if !arguments.contains_key(&argument.name) {
            problems.add(at, format!("the intent gives no '{}', which the skill requires", argument.name));
        }
    }
    let constants = arguments.iter().filter(|(_, value)| !has_reference(value));
    let constants = Value::Object(constants.map(|(name, value)| (name.clone(), value.clone())).collect());
    for error in target.validator.iter().flat_map(|validator| validator.iter_errors(&constants)) {
        // Problems of the whole are of no interest: the other arguments come from the text.
        let path = error.instance_path().to_string();
        if !path.is_empty() {
            problems.add(at, format!("the intent's arguments: {path}: {error}"));
        }
    }
}

/// A problem for each argument that the skill does not have.
pub(super) fn check_names(
    given: &Map<String, Value>,
    known: &[Argument],
    at: Position,
    problems: &mut Problems<'_>,
) {
    for name in given.keys().filter(|name| !known.iter().any(|argument| argument.name == **name)) {
        let hint = did_you_mean(name, known.iter().map(|argument| argument.name.as_str()));
        problems.add(at, format!("the skill has no argument '{name}'{hint}"));
    }
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('{'),
        Value::Array(list) => list.iter().any(has_reference),
        Value::Object(table) => table.values().any(has_reference),
        _ => false,
    }
}

fn check_references(
    arguments: &Map<String, Value>,
    pattern: &Regex,
    looks_up: bool,
    at: Position,
    problems: &mut Problems<'_>,
) {
    let captures: Vec<&str> = pattern.capture_names().flatten().collect();
    for value in arguments.values() {
        check_value(value, &captures, looks_up, at, problems);
    }
}

fn check_value(value: &Value, captures: &[&str], looks_up: bool, at: Position, problems: &mut Problems<'_>) {
    match value {
        Value::String(text) => {
            for reference in references(text) {
                if let Err(message) = check_reference(reference, captures, looks_up) {
                    problems.add(at, message);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|v| check_value(v, captures, looks_up, at, problems)),
        Value::Object(table) => table.values().for_each(|v| check_value(v, captures, looks_up, at, problems)),
        _ => {}
    }
}

/// What stands between braces; `{{` is a brace itself, and an unclosed one runs to the end.
fn references(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('{') {
        let inner = &rest[at + 1..];
        if let Some(after) = inner.strip_prefix('{') {
            rest = after;
            continue;
        }
        let end = inner.find('}').map_or(inner.len(), |end| end + 1);
        found.push(&inner[..end]);
        rest = &inner[end..];
    }
    found
}

fn check_reference(reference: &str, captures: &[&str], looks_up: bool) -> Result<(), String> {
    let Some(inner) = reference.strip_suffix('}') else {
        return Err(format!("`{{{reference}` is not closed; write {{{{ for a brace itself"));
    };
    let (name, conversion) = inner.split_once('|').unwrap_or((inner, ""));
    let (name, conversion) = (name.trim(), conversion.trim());
    let conversion = conversion.strip_suffix('?').unwrap_or(conversion);
    if !conversion.is_empty() && !CONVERSIONS.contains(&conversion) {
        let known = CONVERSIONS.join(", ");
        return Err(format!("`{{{inner}}}`: there is no conversion '{conversion}'; there are {known}"));
    }
    if name.starts_with("found.") {
        let fix = "add lookup = { skill = ..., arguments = ... }";
        return if looks_up { Ok(()) } else { Err(format!("`{{{inner}}}` needs a lookup; {fix}")) };
    }
    if name == "results" || captures.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, captures.iter().copied());
    Err(format!("`{{{inner}}}` is no capture of the pattern, such as (?<{name}>...){hint}"))
}
