//! The template engine of skills and workflows: `{{ name }}`, `{% if %}`, `{% for %}`.
//!
//! Filling in a template takes bounded time and memory.

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

/// How much work one template may do; a loop over a long list stays far below it.
const FUEL: u64 = 200_000;
/// The longest text that a template may produce, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// The environment that both start from.
pub fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_keep_trailing_newline(true);
    environment.set_fuel(Some(FUEL));
    environment
}

pub fn message(error: &Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// An error of our own, raised inside the engine.
pub fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

pub fn json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| refused(error.to_string()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'t> {
    /// Plain text and comments.
    Text(&'t str),
    /// `{{ this }}`, with its braces.
    Expression(&'t str),
    /// `{% this %}`.
    Statement(&'t str),
}

/// The parts of a template. An expression that never closes counts as text, which the engine then refuses.
pub fn segments(source: &str) -> Vec<Segment<'_>> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find('{') {
        let (mark, end) = match rest.as_bytes().get(start + 1) {
            Some(b'{') => ('{', closing(&rest[start + 2..], "}}")),
            Some(b'%') => ('%', closing(&rest[start + 2..], "%}")),
            Some(b'#') => ('#', rest[start + 2..].find("#}")),
            _ => ('#', Some(0)),
        };
        let Some(end) = end.map(|end| (start + 4 + end).min(rest.len())) else { break };
        if mark == '#' {
            // A comment, or just a brace.
            let end = if rest[start..].starts_with("{#") { end } else { start + 1 };
            parts.push(Segment::Text(&rest[..end]));
            rest = &rest[end..];
            continue;
        }
        parts.push(Segment::Text(&rest[..start]));
        let segment = &rest[start..end];
        parts.push(if mark == '{' { Segment::Expression(segment) } else { Segment::Statement(segment) });
        rest = &rest[end..];
    }
    parts.push(Segment::Text(rest));
    parts.retain(|part| *part != Segment::Text(""));
    parts
}

/// Where a mark closes, outside of quotes.
fn closing(rest: &str, mark: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in rest.char_indices() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if rest[at..].starts_with(mark) => return Some(at),
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None => {}
        }
    }
    None
}

/// The expression of a template that is nothing but `{{ expression }}`: it can keep its type.
pub fn lone_expression<'t>(source: &'t str, environment: &Environment<'_>) -> Option<&'t str> {
    let [Segment::Expression(whole)] = segments(source.trim())[..] else { return None };
    let inner = whole.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_start_matches('-').trim_end_matches('-').trim();
    environment.compile_expression(inner).is_ok().then_some(inner)
}
