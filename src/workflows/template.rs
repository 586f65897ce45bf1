//! `{{ inputs.x }}` and `{{ steps.ID.output.field }}` in texts: strict about names that are not there.
//!
//! Property: whatever a file and the outputs hold, filling in takes bounded time (fuel) and memory. So what could make
//! much of little is no part of the language: no multiplication, no variables and macros of its own,
//! short expressions, and filters that keep within [`LONGEST`].

use std::io;
use std::sync::LazyLock;

use minijinja::value::{ValueKind, merge_maps};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value as Shown};
use regex::Regex;
use serde_json::Value;

pub use super::condition::{Condition, Verdict};

/// How much work one template may do; a loop over a long list stays far below it.
const FUEL: u64 = 200_000;
/// No template makes more text than this.
pub const LONGEST: usize = 1 << 20;
/// No template is longer itself.
const LONGEST_SOURCE: usize = 64 * 1024;
/// No expression in it is.
const LONGEST_EXPRESSION: usize = 500;
/// A map goes over no longer list.
pub const MOST_ITEMS: usize = 10_000;

/// Why a template can't be used, or not with these values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong, with the mend.
    pub message: String,
    /// The piece of the template it is about, as it was written.
    pub piece: Option<String>,
}

impl TemplateError {
    pub(super) fn new(message: impl Into<String>, piece: Option<&str>) -> Self {
        Self { message: message.into(), piece: piece.map(str::to_owned) }
    }

    pub(super) fn of(error: &Error, source: &str) -> Self {
        let line = error.line().and_then(|line| source.lines().nth(line.checked_sub(1)?));
        let said = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let said = match error.kind() {
            ErrorKind::OutOfFuel => "it does too much work; make its loops shorter".to_owned(),
            ErrorKind::UndefinedError => format!("a name in it has no value: {said}"),
            _ => said,
        };
        Self { message: said, piece: line.map(|line| line.trim().to_owned()) }
    }
}

/// The values that templates are filled with: `inputs`, `steps`, and the names of `store_as`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Values(Shown);

impl Values {
    /// From a JSON object.
    pub fn new(values: &Value) -> Self {
        Self(Shown::from_serialize(values))
    }

    /// The same, and one more that hides any other of its name: `item`.
    #[must_use]
    pub fn with(&self, name: &str, value: &Value) -> Self {
        let one = Shown::from_iter([(name.to_owned(), Shown::from_serialize(value))]);
        Self(merge_maps([self.0.clone(), one]))
    }

    /// The value of a dotted name; none when there is none.
    pub(super) fn get(&self, name: &str) -> Option<Shown> {
        let mut here = self.0.clone();
        for step in name.split('.') {
            here = here.get_attr(step).ok().filter(|value| !value.is_undefined())?;
        }
        Some(here)
    }

    pub(super) fn shown(&self) -> &Shown {
        &self.0
    }
}

/// A checked template.
#[derive(Debug, Clone)]
pub struct Template {
    source: String,
    names: Vec<String>,
    /// The whole template is this one expression: it can keep its type.
    alone: Option<String>,
}

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// What stays as it is; comments too.
    Text(&'t str),
    /// `{{ this }}`, its marks with it.
    Expression(&'t str),
    /// `{% this %}`.
    Statement(&'t str),
}

impl Template {
    /// Checks the syntax, and that nothing in it is beyond the language.
    ///
    /// # Errors
    /// What is wrong, and the piece it is about.
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        if source.len() > LONGEST_SOURCE {
            return Err(TemplateError::new(
                "the text is longer than 64 KB; give it as an input instead",
                None,
            ));
        }
        for piece in pieces(source) {
            match piece {
                Piece::Text(_) => {}
                Piece::Expression(text) | Piece::Statement(text) => bounds(text)?,
            }
        }
        let template =
            ENVIRONMENT.template_from_str(source).map_err(|error| TemplateError::of(&error, source))?;
        let names = names(template.undeclared_variables(true));
        let alone = alone(source).filter(|inner| ENVIRONMENT.compile_expression(inner).is_ok());
        Ok(Self { source: source.to_owned(), names, alone: alone.map(str::to_owned) })
    }

    /// The template as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The dotted names that it asks for, sorted: `steps.find.output.mails`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The text with everything filled in. Lists and tables are JSON, null is nothing.
    ///
    /// # Errors
    /// A name that has no value, or more work or text than there may be.
    pub fn render(&self, values: &Values) -> Result<String, TemplateError> {
        render(&self.source, values)
    }

    /// As [`Template::render`], but a lone `{{...}}` keeps its type.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn value(&self, values: &Values) -> Result<Value, TemplateError> {
        let Some(inner) = &self.alone else { return self.render(values).map(Value::String) };
        let failed = |error: &Error| TemplateError::of(error, &self.source);
        let expression = ENVIRONMENT.compile_expression(inner).map_err(|error| failed(&error))?;
        let value = expression.eval(values.shown()).map_err(|error| failed(&error))?;
        if value.is_undefined() {
            return Err(TemplateError::new(format!("`{inner}` has no value"), Some(inner)));
        }
        serde_json::to_value(&value).map_err(|error| TemplateError::new(error.to_string(), Some(inner)))
    }

    /// The list that a map goes over.
    ///
    /// # Errors
    /// It is no list, or has more than [`MOST_ITEMS`] items, or as [`Template::render`].
    pub fn items(&self, values: &Values) -> Result<Vec<Value>, TemplateError> {
        let list = match self.value(values)? {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other,
        };
        let refused = |message: String| Err(TemplateError::new(message, Some(&self.source)));
        match list {
            Value::Array(list) if list.len() > MOST_ITEMS => refused(format!(
                "the list has {} items, and a map goes over at most {MOST_ITEMS}; split it before",
                list.len()
            )),
            Value::Array(list) => Ok(list),
            _ => refused("what the map goes over is no list".to_owned()),
        }
    }

    /// The text with what can be filled in filled in; the rest as it was written.
    pub fn partly(&self, values: &Values) -> String {
        let pieces = pieces(&self.source);
        if pieces.iter().any(|piece| matches!(piece, Piece::Statement(_))) {
            return self.render(values).unwrap_or_else(|_| self.source.clone());
        }
        let filled = pieces.into_iter().map(|piece| match piece {
            Piece::Expression(text) => render(text, values).unwrap_or_else(|_| text.to_owned()),
            Piece::Text(text) | Piece::Statement(text) => text.to_owned(),
        });
        filled.collect()
    }
}

pub(super) fn render(source: &str, values: &Values) -> Result<String, TemplateError> {
    let failed = |error: &Error| TemplateError::of(error, source);
    let template = ENVIRONMENT.template_from_str(source).map_err(|error| failed(&error))?;
    let mut text = Capped(Vec::new());
    let done = template.render_captured_to(values.shown(), &mut text);
    if text.0.len() > LONGEST {
        return Err(TemplateError::new("it becomes longer than 1 MB", None));
    }
    done.map(drop).map_err(|error| failed(&error))?;
    Ok(String::from_utf8_lossy(&text.0).into_owned())
}

/// Takes no more than one write beyond the longest text.
struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() > LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_keep_trailing_newline(true);
    environment.set_fuel(Some(FUEL));
    for filter in ["indent", "format", "replace", "pprint"] {
        environment.remove_filter(filter);
    }
    for function in ["debug", "namespace"] {
        environment.remove_global(function);
    }
    environment.add_filter("join", join);
    environment.add_filter("tojson", |value: &Shown| json(value).map(Shown::from_safe_string));
    environment.add_filter("divisor", divisor);
    environment.set_formatter(|output, _, value| {
        let text = plain(value)?;
        output.write_str(&text).map_err(|_| refused("the text can't be written"))
    });
    environment
});

fn plain(value: &Shown) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => Ok(String::new()),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => json(value),
        _ => Ok(value.to_string()),
    }
}

fn json(value: &Shown) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| refused(error.to_string()))
}

fn join(_: &State<'_, '_>, value: &Shown, between: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (place, member) in value.try_iter()?.enumerate() {
        if place > 0 {
            text.push_str(between.unwrap_or_default());
        }
        text.push_str(&plain(&member)?);
        if text.len() > LONGEST {
            return Err(refused("the joined text is longer than 1 MB"));
        }
    }
    Ok(text)
}

/// A divisor that is 0 is an error, not infinity.
fn divisor(value: &Shown) -> Result<Shown, Error> {
    match f64::try_from(value.clone()) {
        Ok(0.0) => Err(refused("it divides by zero")),
        _ => Ok(value.clone()),
    }
}

fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

/// The names without those that the language itself has.
pub(super) fn names(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> =
        names.into_iter().filter(|name| !["range", "dict", "loop"].contains(&name.as_str())).collect();
    names.sort();
    names
}

/// Refuses what the language has not: too long expressions, multiplication, own variables, unknown filters. Its names
/// are ASCII, and patterns that say so are compiled in a tenth of the time.
pub(super) fn bounds(piece: &str) -> Result<(), TemplateError> {
    static FILTERS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\|\s*([A-Za-z_][A-Za-z0-9_]*)").ok());
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\{%[-+]?\s*([A-Za-z0-9_]+)").ok());
    let refused = |message: String| Err(TemplateError::new(message, Some(piece)));
    if piece.len() > LONGEST_EXPRESSION {
        return refused(format!("an expression is longer than {LONGEST_EXPRESSION} bytes"));
    }
    let (Some(filters), Some(word)) = (&*FILTERS, &*WORD) else { return Ok(()) };
    let bare = without_texts(piece);
    if bare.contains('*') {
        return refused("templates don't multiply; let an agent or a skill do the sum".to_owned());
    }
    if let Some(statement) = word.captures(&bare).map(|found| found[1].to_owned()) {
        let known = ["if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"];
        if !known.contains(&statement.as_str()) {
            return refused(format!("`{statement}` is no part of the language; if and for are"));
        }
    }
    for filter in filters.captures_iter(&bare).map(|found| found[1].to_owned()) {
        let question = format!("'{filter}' is filter");
        let is_known = ENVIRONMENT.compile_expression(&question).and_then(|expression| expression.eval(()));
        if !is_known.is_ok_and(|known| known.is_true()) {
            return refused(format!(
                "there is no filter `{filter}`; see docs/workflows.md for those there are"
            ));
        }
    }
    Ok(())
}

/// An expression with nothing in its quotes.
pub(super) fn without_texts(expression: &str) -> String {
    static TEXTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"'[^']*'|"[^"]*""#).ok());
    TEXTS.as_ref().map_or_else(String::new, |texts| texts.replace_all(expression, "''").into_owned())
}

/// The parts of a template. What never ends is text; the engine has its say about it.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
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
            // A comment, or a brace that is only a brace.
            let end = if rest[start..].starts_with("{#") { end } else { start + 1 };
            parts.push(Piece::Text(&rest[..end]));
            rest = &rest[end..];
            continue;
        }
        parts.push(Piece::Text(&rest[..start]));
        let piece = &rest[start..end];
        parts.push(if mark == '{' { Piece::Expression(piece) } else { Piece::Statement(piece) });
        rest = &rest[end..];
    }
    parts.push(Piece::Text(rest));
    parts.retain(|part| *part != Piece::Text(""));
    parts
}

/// Where a mark closes, texts in quotes left out.
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

/// The expression of a template that is nothing but `{{ expression }}`.
fn alone(source: &str) -> Option<&str> {
    let source = source.trim();
    match pieces(source)[..] {
        [Piece::Expression(whole)] => {
            let inner = whole.strip_prefix("{{")?.strip_suffix("}}")?;
            Some(inner.trim_start_matches('-').trim_end_matches('-').trim())
        }
        _ => None,
    }
}
