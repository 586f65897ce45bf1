//! YAML within bounds.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::Spanned;

use super::MAX_FILE;
use super::problem::{Position, Problem, Severity};
use super::tree::{Entry, Node, Value};

/// More values than this, with anchors counted as often as they are used, are refused.
const MAX_VALUES: usize = 50_000;
const MAX_DEPTH: usize = 32;

pub(super) fn parse(file: &str, text: &str) -> Result<Node, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_VALUES,
            max_nodes: MAX_VALUES,
            max_depth: MAX_DEPTH,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FILE,
            max_recorded_anchor_events: MAX_VALUES,
            max_recorded_anchor_bytes: MAX_FILE,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_VALUES },
        // In `choices: [yes, no]` they are words.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let position = error.location().map(|at| position(&at)).unwrap_or_default();
        let message = format!("not YAML: {}", syntax(&error.without_snippet().to_string()));
        Problem { file: file.to_owned(), position, key: None, severity: Severity::Syntax, message }
    })
}

/// The library's message, or ours where that one doesn't help.
fn syntax(message: &str) -> String {
    let ours = [
        ("documents", "the file contains several documents; write one"),
        ("budget breached", "the file contains too much; are anchors used over and over?"),
        ("alias replay", "the file contains too much; are anchors used over and over?"),
        ("recursi", "lists or tables are nested too deeply, or an anchor contains itself"),
    ];
    if let Some((_, ours)) = ours.iter().find(|(theirs, _)| message.to_lowercase().contains(theirs)) {
        return (*ours).to_owned();
    }
    // The position is shown already.
    let message = message.lines().next().unwrap_or_default().split(" at line ").next().unwrap_or_default();
    let message = message.split(", set ").next().unwrap_or_default();
    message.strip_prefix("error: ").unwrap_or(message).to_owned()
}

fn position(at: &serde_saphyr::Location) -> Position {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Position { line: number(at.line()), column: number(at.column()) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: position(&spanned.referenced), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, a list or a table")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| E::custom("must be a number of ordinary size"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = members.next_element()? {
            list.push(node);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = members.next_key::<Spanned<String>>()? {
            entries.push(Entry {
                at: position(&key.referenced),
                key: key.value,
                node: members.next_value()?,
            });
        }
        Ok(Value::Table(entries))
    }
}
