//! What a configuration can say, read from `config.example.toml`: each key with its kind, its default and what it is for.

use std::sync::LazyLock;

use toml::{Table, Value};

use crate::Kind;
use crate::secret::SOURCES;

const EXAMPLE: &str = include_str!("../../../config.example.toml");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Flag,
    Whole,
    Decimal,
    Text,
    /// `auto`, `ask` or `deny`.
    Policy,
    List,
    /// `owners`, `everybody` or a list.
    People,
    /// A secret, or where it is.
    Secret,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its table, such as `model.price`.
    pub table: &'static str,
    pub name: &'static str,
    pub kind: KeyKind,
    /// Its default or an example.
    pub example: &'static str,
    pub about: String,
}

/// Every key with a value of one of these kinds, in the order of the example.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let (mut keys, mut table, mut about) = (Vec::new(), "", Vec::new());
        for line in EXAMPLE.lines() {
            if let Some(words) = line.strip_prefix("# ") {
                about.push(words);
                continue;
            }
            let (line, about) = (line.trim_start_matches('#'), std::mem::take(&mut about).join(" "));
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = header;
            } else if let Some((name, example)) = line.split_once(" = ")
                && let Some(kind) = kind(example)
                && !about.starts_with("The earlier name")
            {
                keys.push(Key { table, name: name.trim_matches('"'), kind, example, about });
            }
        }
        keys
    });
    &KEYS
}

/// The keys of a channel of this kind. In the example, the first platform has those that all share.
pub fn channel_keys(channel: Kind) -> impl Iterator<Item = &'static Key> {
    let has_several = channel == Kind::Slack;
    keys().iter().filter(move |key| match key.table {
        "channels.telegram" => key.name != "kind" && !(has_several && key.kind == KeyKind::Secret),
        "channels.slack" => has_several,
        _ => false,
    })
}

fn kind(example: &str) -> Option<KeyKind> {
    let read: Table = format!("value = {example}").parse().ok()?;
    Some(match read.get("value")? {
        Value::Boolean(_) => KeyKind::Flag,
        Value::Integer(_) => KeyKind::Whole,
        Value::Float(_) => KeyKind::Decimal,
        Value::String(text) if ["auto", "ask", "deny"].contains(&text.as_str()) => KeyKind::Policy,
        Value::String(text) if ["owners", "everybody"].contains(&text.as_str()) => KeyKind::People,
        Value::String(_) => KeyKind::Text,
        Value::Array(items) if items.iter().all(Value::is_str) => KeyKind::List,
        Value::Table(table)
            if table.len() == 1 && table.keys().all(|key| SOURCES.contains(&key.as_str())) =>
        {
            KeyKind::Secret
        }
        _ => return None,
    })
}
