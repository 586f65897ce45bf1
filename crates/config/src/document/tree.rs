//! The tree of a file.

use serde_json::{Map, Number, Value as Json};

use super::problem::{Position, Problem};
use super::{toml, yaml};

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    pub at: Position,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    pub at: Position,
    pub node: Node,
}

#[derive(Debug, Clone)]
pub struct Document<'t> {
    pub file: &'t str,
    pub text: &'t str,
    pub root: Node,
    /// Where the text isn't TOML, and numbers that are too large; the tree is what could be read.
    pub syntax: Vec<Problem>,
}

impl<'t> Document<'t> {
    /// Parses TOML as far as it goes.
    pub fn toml(file: &'t str, text: &'t str) -> Self {
        let (root, syntax) = toml::parse(file, text);
        Self { file, text, root, syntax }
    }

    pub fn yaml(file: &'t str, text: &'t str) -> Result<Self, Problem> {
        Ok(Self { file, text, root: yaml::parse(file, text)?, syntax: Vec::new() })
    }

    /// The node that a JSON pointer names, or the nearest one above it. Its place is that of its key where it is a list or a
    /// table.
    pub fn find(&self, pointer: &str) -> (Position, &Node) {
        self.root.find(pointer)
    }

    /// The place of an excerpt of a node's text, searched from a place on.
    pub fn position_in(&self, from: Position, node: &Node, excerpt: &str) -> Position {
        let lines = match &node.value {
            Value::Text(text) => 2 + text.len() / 8 + text.lines().count(),
            Value::List(list) => 2 + list.len() * 2,
            _ => 1,
        };
        let rest = self.text.split('\n').skip(from.line.saturating_sub(1)).take(lines);
        for (line, text) in (from.line..).zip(rest) {
            let skipped = if line == from.line { from.column.saturating_sub(1) } else { 0 };
            let start = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
            let found = text[start..].match_indices(excerpt).map(|(at, _)| at);
            // `first` isn't found in `steps.first`.
            let is_whole = |at: &usize| {
                let joins = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
                !text[..start + at].ends_with(joins)
            };
            if let Some(at) = found.clone().find(is_whole).or_else(|| found.clone().next()) {
                return Position { line, column: 1 + text[..start + at].chars().count() };
            }
        }
        from
    }
}

impl Node {
    /// As [`Document::find`], from here.
    pub fn find(&self, pointer: &str) -> (Position, &Node) {
        let (mut at, mut node) = (self.at, self);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.value {
                Value::Table(entries) => {
                    entries.iter().find(|entry| entry.key == step).map(|entry| (entry.at, &entry.node))
                }
                Value::List(list) => step.parse().ok().and_then(|at: usize| list.get(at)).map(|n| (n.at, n)),
                _ => None,
            };
            let Some((key, next)) = next else { return (at, node) };
            (at, node) = (next.place(key), next);
        }
        (at, node)
    }

    /// The position of problems with this value: the value, but the key of a list or table.
    pub(super) fn place(&self, key: Position) -> Position {
        match self.value {
            Value::List(_) | Value::Table(_) => key,
            _ => self.at,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(all) => Some(all),
            _ => None,
        }
    }

    pub fn as_table(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The type, for people.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(number) if number.is_f64() => "a decimal number",
            Value::Number(_) => "a whole number",
            Value::Text(_) => "a text",
            Value::Date(_) => "a date or time",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// As JSON, with keys in the order they were written.
    pub fn json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) | Value::Date(text) => Json::String(text.clone()),
            Value::List(list) => list.iter().map(Self::json).collect(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|entry| (entry.key.clone(), entry.node.json()));
                Json::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}
