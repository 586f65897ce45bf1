//! TOML, parsed past its errors.

use serde_json::Number;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::problem::{Position, Problem, Severity};
use super::tree::{Entry, Node, Value};

pub(super) fn parse(file: &str, text: &str) -> (Node, Vec<Problem>) {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { file, lines: Lines::of(text), problems: Vec::new() };
    for error in errors {
        let at = reader.lines.position(error.span().map_or(0, |span| span.start));
        let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
        let problem = match line.contains(':') && !line.contains('=') {
            true => "this looks like YAML or JSON; write key = value",
            false => error.message(),
        };
        reader.problem(at, String::new(), format!("not TOML: {problem}"));
    }
    let root = Node { at: Position { line: 1, column: 1 }, value: reader.table(tree.get_ref(), "") };
    (root, reader.problems)
}

struct Reader<'t> {
    file: &'t str,
    lines: Lines<'t>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, position: Position, key: String, message: String) {
        let key = (!key.is_empty()).then_some(key);
        let severity = if key.is_some() { Severity::Error } else { Severity::Syntax };
        self.problems.push(Problem { file: self.file.to_owned(), position, key, severity, message });
    }

    fn table(&mut self, entries: &DeTable<'_>, path: &str) -> Value {
        let mut ordered: Vec<(&Spanned<DeString<'_>>, _)> = entries.iter().collect();
        ordered.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, node): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
            let name = key.get_ref().to_string();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            Entry { key: name, at: self.lines.position(key.span().start), node: self.node(node, &path) }
        };
        Value::Table(ordered.into_iter().map(entry).collect())
    }

    fn node(&mut self, node: &Spanned<DeValue<'_>>, path: &str) -> Node {
        let at = self.lines.position(node.span().start);
        let value = match node.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(list) => {
                let items = list.iter().enumerate();
                Value::List(items.map(|(index, item)| self.node(item, &format!("{path}[{index}]"))).collect())
            }
            DeValue::Table(entries) => self.table(entries, path),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Value::Number(number.into()),
                Err(_) => {
                    self.problem(at, path.to_owned(), format!("must be at most {}", i64::MAX));
                    Value::Null
                }
            },
            DeValue::Float(number) => {
                let number = number.as_str().parse().ok().and_then(Number::from_f64);
                if number.is_none() {
                    self.problem(at, path.to_owned(), "must be a number of ordinary size".to_owned());
                }
                number.map_or(Value::Null, Value::Number)
            }
        };
        Node { at, value }
    }
}

/// The offsets of the lines of a text.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn position(&self, at: usize) -> Position {
        let at = self.text.floor_char_boundary(at);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Position { line, column: 1 + self.text[start..at].chars().count() }
    }
}
