//! A workflow file as a tree in which every value knows its place, read from YAML or TOML within bounds.
//!
//! Properties: whatever the file holds, reading it takes bounded time and memory, and what is wrong is a
//! fault with its line and column.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use serde_saphyr::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A longer file is no workflow.
pub const LONGEST_FILE: usize = 1 << 20;
/// More values than this, anchors counted as often as they are used, are no workflow either.
const MOST_VALUES: usize = 50_000;
const DEEPEST: usize = 32;

/// A place in a file; both counted from 1, the column in characters. Line 0 is the file itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// One thing that is wrong, or at least strange, in a workflow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named to us.
    pub file: String,
    /// Where.
    pub at: Place,
    /// Whether the workflow can run all the same.
    pub is_warning: bool,
    /// What is wrong, with the mend.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.at.line > 0 {
            write!(f, "{}:{}:", self.at.line, self.at.column)?;
        }
        write!(f, "{} {}", if self.is_warning { " warning:" } else { "" }, self.message)
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Place,
    pub(super) node: Node,
}

/// A file that was read as far as its syntax goes.
#[derive(Debug, Clone)]
pub(super) struct Source<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
    pub(super) root: Node,
}

impl<'t> Source<'t> {
    /// Reads a text; as TOML when the file's name ends in `.toml`, else as YAML.
    ///
    /// # Errors
    /// The faults of its syntax.
    pub(super) fn read(file: &'t str, text: &'t str) -> Result<Self, Vec<Fault>> {
        let fault = |at, message| Fault { file: file.to_owned(), at, is_warning: false, message };
        if text.len() > LONGEST_FILE {
            let message = format!("the file is longer than {} KB; no workflow is", LONGEST_FILE / 1024);
            return Err(vec![fault(Place::default(), message)]);
        }
        let root = if file.ends_with(".toml") { toml(text) } else { yaml(text) };
        match root {
            Ok(root) => Ok(Self { file, text, root }),
            Err(faults) => Err(faults.into_iter().map(|(at, message)| fault(at, message)).collect()),
        }
    }

    /// Where the value that a JSON pointer names stands: as near to it as there is text.
    pub(super) fn place(&self, pointer: &str) -> Place {
        self.find(pointer).0
    }

    /// Where a piece of a text stands, searched from the place that a JSON pointer names.
    pub(super) fn place_in(&self, pointer: &str, piece: &str) -> Place {
        let from = self.place(pointer);
        let rest = self.text.split('\n').skip(from.line.saturating_sub(1)).take(self.lines_of(pointer));
        for (line, text) in (from.line..).zip(rest) {
            let skipped = if line == from.line { from.column.saturating_sub(1) } else { 0 };
            let start = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
            let found = text[start..].match_indices(piece).map(|(at, _)| at);
            // `first` is not found in `steps.first`.
            let is_whole = |at: &usize| {
                let joins = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
                !text[..start + at].ends_with(joins)
            };
            if let Some(at) = found.clone().find(is_whole).or_else(|| found.clone().next()) {
                return Place { line, column: 1 + text[..start + at].chars().count() };
            }
        }
        from
    }

    /// Whether the list that a JSON pointer names holds this text.
    pub(super) fn has(&self, pointer: &str, text: &str) -> bool {
        let is_it = |node: &Node| matches!(&node.value, Value::Text(held) if held == text);
        match &self.find(pointer).1.value {
            Value::List(list) => list.iter().any(is_it),
            Value::Text(held) => held == text,
            _ => false,
        }
    }

    /// How many lines of the file a text may take.
    fn lines_of(&self, pointer: &str) -> usize {
        match &self.find(pointer).1.value {
            Value::Text(text) => 2 + text.len() / 8 + text.lines().count(),
            Value::List(list) => 2 + list.len() * 2,
            _ => 1,
        }
    }

    fn find(&self, pointer: &str) -> (Place, &Node) {
        let (mut at, mut node) = (self.root.at, &self.root);
        for step in pointer.split('/').skip(1) {
            let next = match &node.value {
                Value::Table(entries) => {
                    entries.iter().find(|entry| entry.key == step).map(|entry| (entry.at, &entry.node))
                }
                Value::List(list) => step.parse().ok().and_then(|at: usize| list.get(at)).map(|n| (n.at, n)),
                _ => None,
            };
            let Some(next) = next else { return (at, node) };
            node = next.1;
            // A value says more than its key, where it is on the key's line.
            at = match node.value {
                Value::List(_) | Value::Table(_) => next.0,
                _ => node.at,
            };
        }
        (at, node)
    }
}

impl Node {
    /// What it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Flag(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// As JSON, its keys in the order they were written.
    pub(super) fn json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Flag(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(list) => list.iter().map(Self::json).collect(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|entry| (entry.key.clone(), entry.node.json()));
                Json::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

type Faulty = Vec<(Place, String)>;

fn yaml(text: &str) -> Result<Node, Faulty> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * MOST_VALUES,
            max_nodes: MOST_VALUES,
            max_depth: DEEPEST,
            max_documents: 1,
            max_total_scalar_bytes: LONGEST_FILE,
            max_recorded_anchor_events: MOST_VALUES,
            max_recorded_anchor_bytes: LONGEST_FILE,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_VALUES },
        // `choices: [yes, no]` are words.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().map(|at| place(&at)).unwrap_or_default();
        vec![(at, format!("not YAML: {}", syntax(&error.without_snippet().to_string())))]
    })
}

/// The library's words in ours, where they would help nobody.
fn syntax(said: &str) -> String {
    let ours = [
        ("documents", "it holds several documents; a file is one workflow"),
        ("budget breached", "it holds more than a workflow can; are anchors used over and over?"),
        ("alias replay", "it holds more than a workflow can; are anchors used over and over?"),
        ("recursi", "lists or tables stand too deep in one another, or an anchor holds itself"),
    ];
    if let Some((_, ours)) = ours.iter().find(|(theirs, _)| said.to_lowercase().contains(theirs)) {
        return (*ours).to_owned();
    }
    // The place is told already.
    let said = said.lines().next().unwrap_or_default().split(" at line ").next().unwrap_or_default();
    let said = said.split(", set ").next().unwrap_or_default();
    said.strip_prefix("error: ").unwrap_or(said).to_owned()
}

fn place(at: &serde_saphyr::Location) -> Place {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Place { line: number(at.line()), column: number(at.column()) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: place(&spanned.referenced), value: spanned.value })
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
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("JSON has no such number"))
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
            entries.push(Entry { at: place(&key.referenced), key: key.value, node: members.next_value()? });
        }
        Ok(Value::Table(entries))
    }
}

fn toml(text: &str) -> Result<Node, Faulty> {
    let lines = Lines::of(text);
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut faults: Faulty = Vec::new();
    // What follows a few of them follows from them.
    for error in errors.into_iter().take(3) {
        faults.push((
            lines.place(error.span().map_or(0, |span| span.start)),
            format!("not TOML: {}", error.message()),
        ));
    }
    let root = Node { at: Place { line: 1, column: 1 }, value: table(tree.get_ref(), &lines, &mut faults) };
    if faults.is_empty() { Ok(root) } else { Err(faults) }
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn place(&self, at: usize) -> Place {
        let at = self.text.floor_char_boundary(at);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Place { line, column: 1 + self.text[start..at].chars().count() }
    }
}

fn table(entries: &DeTable, lines: &Lines<'_>, faults: &mut Faulty) -> Value {
    let mut ordered: Vec<(&toml::Spanned<DeString>, _)> = entries.iter().collect();
    ordered.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, node): (&toml::Spanned<DeString>, &toml::Spanned<DeValue>)| Entry {
        key: key.get_ref().to_string(),
        at: lines.place(key.span().start),
        node: node_of(node, lines, faults),
    };
    Value::Table(ordered.into_iter().map(entry).collect())
}

fn node_of(node: &toml::Spanned<DeValue>, lines: &Lines<'_>, faults: &mut Faulty) -> Node {
    let at = lines.place(node.span().start);
    let value = match node.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|node| node_of(node, lines, faults)).collect()),
        DeValue::Table(entries) => table(entries, lines, faults),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number.into()),
            Err(_) => {
                faults.push((at, "the number is too large".to_owned()));
                Value::Null
            }
        },
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            if number.is_none() {
                faults.push((at, "JSON has no such number".to_owned()));
            }
            number.map_or(Value::Null, Value::Number)
        }
    };
    Node { at, value }
}
