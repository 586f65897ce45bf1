//! Reading TOML so that every fault is found at once, each with its line.

use std::fmt;
use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::suggest::did_you_mean;

/// One thing that is wrong in a skill file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named to us.
    pub file: String,
    /// The line, counted from 1; 0 when the fault is the file itself.
    pub line: usize,
    /// What is wrong, with the mend.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// The faults of one file, as they are found.
pub(super) struct Faults<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Fault>,
    /// Whether the file is compiled in: a test has checked its patterns and schemas, which takes longer than
    /// all the rest of a start.
    pub(super) is_ours: bool,
}

impl<'a> Faults<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, found: Vec::new(), is_ours: false }
    }

    /// Notes a fault at a place, given in bytes from the file's start.
    pub(super) fn add(&mut self, at: usize, message: impl Into<String>) {
        let before = self.text.as_bytes().get(..at.min(self.text.len())).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        self.found.push(Fault { file: self.file.to_owned(), line, message: message.into() });
    }

    /// All faults in the order of the file. A line that is no TOML has no other fault worth telling.
    pub(super) fn into_sorted(mut self) -> Vec<Fault> {
        let broken: Vec<usize> = self.found.iter().filter(|f| is_syntax(f)).map(|f| f.line).collect();
        self.found.retain(|fault| is_syntax(fault) || !broken.contains(&fault.line));
        self.found.sort_by(|a, b| (a.line, &a.message).cmp(&(b.line, &b.message)));
        self.found.dedup();
        self.found
    }
}

const NOT_TOML: &str = "not TOML: ";

fn is_syntax(fault: &Fault) -> bool {
    fault.message.starts_with(NOT_TOML)
}

/// A value and the place it stands at.
pub(super) type Node<'t> = &'t Spanned<DeValue<'t>>;

/// A table of the file, with the key or header it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Table<'t> {
    entries: &'t DeTable<'t>,
    /// Where it begins, for faults about what is missing in it.
    pub(super) at: usize,
    /// How people would call it: "the skill", "the intent".
    what: &'static str,
}

impl<'t> Table<'t> {
    pub(super) fn new(entries: &'t DeTable<'t>, at: usize, what: &'static str) -> Self {
        Self { entries, at, what }
    }

    /// The node as a table, or a fault.
    pub(super) fn from_node(node: Node<'t>, what: &'static str, faults: &mut Faults) -> Option<Self> {
        match node.get_ref() {
            DeValue::Table(entries) => Some(Self::new(entries, node.span().start, what)),
            other => {
                faults.add(node.span().start, format!("{what} must be a table, not {}", kind(other)));
                None
            }
        }
    }

    /// The entries in the order they were written.
    pub(super) fn entries(&self) -> Vec<(&'t str, Range<usize>, Node<'t>)> {
        ordered(self.entries).map(|(key, node)| (key.get_ref().as_ref(), key.span(), node)).collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'t>> {
        self.entries.get(key)
    }

    /// Where a key stands, or the table when it is not there.
    pub(super) fn place(&self, key: &str) -> usize {
        self.entries.get_key_value(key).map_or(self.at, |(key, _)| key.span().start)
    }

    /// A fault for each key that has no meaning here, with the nearest that has one.
    pub(super) fn only(&self, known: &[&str], faults: &mut Faults) {
        for (key, span, _) in self.entries() {
            if !known.contains(&key) {
                let hint = did_you_mean(key, known.iter().copied());
                faults.add(span.start, format!("{} has no key '{key}'{hint}", self.what));
            }
        }
    }

    /// A required text that is not empty.
    pub(super) fn text(&self, key: &str, faults: &mut Faults) -> Option<&'t str> {
        if self.get(key).is_none() {
            faults.add(self.at, format!("{} lacks `{key}`", self.what));
        }
        let text = self.optional_text(key, faults)?;
        if text.trim().is_empty() {
            faults.add(self.place(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    /// A text, if it is there.
    pub(super) fn optional_text(&self, key: &str, faults: &mut Faults) -> Option<&'t str> {
        let node = self.get(key)?;
        self.expect(node.get_ref().as_str(), key, node, "a text", faults)
    }

    /// A flag; false when it is not there.
    pub(super) fn flag(&self, key: &str, faults: &mut Faults) -> bool {
        self.get(key)
            .and_then(|node| self.expect(node.get_ref().as_bool(), key, node, "true or false", faults))
            .unwrap_or(false)
    }

    /// A list, each member with its place; empty when it is not there.
    pub(super) fn list(&self, key: &str, wanted: &str, faults: &mut Faults) -> &'t [Spanned<DeValue<'t>>] {
        let Some(node) = self.get(key) else { return &[] };
        let list = node.get_ref().as_array().map(|list| &list[..]);
        self.expect(list, key, node, wanted, faults).unwrap_or_default()
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str, faults: &mut Faults) -> Vec<(&'t str, usize)> {
        let list = self.list(key, "a list of texts", faults);
        let texts: Vec<_> =
            list.iter().filter_map(|m| Some((m.get_ref().as_str()?, m.span().start))).collect();
        if texts.len() < list.len() {
            faults.add(self.place(key), format!("`{key}` must be a list of texts"));
        }
        texts
    }

    fn expect<T>(
        &self,
        value: Option<T>,
        key: &str,
        node: Node<'t>,
        wanted: &str,
        faults: &mut Faults,
    ) -> Option<T> {
        if value.is_none() {
            let found = kind(node.get_ref());
            faults.add(node.span().start, format!("`{key}` must be {wanted}, not {found}"));
        }
        value
    }
}

/// The syntax tree of a file, as far as it can be read; what can't be is a fault.
pub(super) fn read<'t>(text: &'t str, faults: &mut Faults) -> Spanned<DeTable<'t>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        faults.add(error.span().map_or(0, |span| span.start), format!("{NOT_TOML}{}", error.message()));
    }
    tree
}

fn ordered<'t>(
    table: &'t DeTable<'t>,
) -> impl Iterator<Item = (&'t Spanned<DeString<'t>>, &'t Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter()
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The value as JSON, its keys in the order they were written; dates become texts.
pub(super) fn to_json(node: Node, faults: &mut Faults) -> Value {
    match node.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::from(number),
            Err(_) => {
                faults.add(node.span().start, "the number is too large");
                Value::Null
            }
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::from(number),
            _ => {
                faults.add(node.span().start, "JSON has no such number");
                Value::Null
            }
        },
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(list) => list.iter().map(|member| to_json(member, faults)).collect(),
        DeValue::Table(table) => Value::Object(object(table, faults)),
    }
}

fn object(table: &DeTable, faults: &mut Faults) -> Map<String, Value> {
    ordered(table).map(|(key, node)| (key.get_ref().to_string(), to_json(node, faults))).collect()
}

/// Where the place that a JSON pointer names stands in the file: as near to it as there is text.
pub(super) fn locate(node: Node, pointer: &str) -> usize {
    let Some(rest) = pointer.strip_prefix('/') else { return node.span().start };
    let (step, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let step = step.replace("~1", "/").replace("~0", "~");
    match node.get_ref() {
        DeValue::Table(table) => match table.get_key_value(step.as_str()) {
            Some((key, _)) if rest.is_empty() => key.span().start,
            Some((_, next)) => locate(next, rest),
            None => node.span().start,
        },
        DeValue::Array(list) => {
            let next = step.parse::<usize>().ok().and_then(|at| list.get(at));
            next.map_or(node.span().start, |next| locate(next, rest))
        }
        _ => node.span().start,
    }
}
