//! Templates of workflows: strict about unknown names.
//!
//! Whatever a file and its outputs contain, filling in takes bounded time and memory. Everything that could make much out of
//! little is therefore left out of the language: multiplication, variables, macros, long expressions, some filters.

use std::io;
use std::sync::LazyLock;

use adjutant_config::template::{
    MAX_TEXT, Segment, environment, json, lone_expression, message, refused, segments,
};
use minijinja::value::{ValueKind, merge_maps};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value as Shown};
use regex::Regex;
use serde_json::{Map, Value};

pub use super::condition::{Condition, Verdict};

/// The longest template, in bytes.
const MAX_SOURCE: usize = 64 * 1024;
/// The longest expression, in bytes.
const MAX_EXPRESSION: usize = 500;
/// The most items of a map.
pub const MAX_ITEMS: usize = 10_000;

/// Why a template can't be used, or not with these values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What's wrong, and how to fix it.
    pub message: String,
    /// The part of the template it is about.
    pub excerpt: Option<String>,
}

impl TemplateError {
    pub(crate) fn new(message: impl Into<String>, excerpt: Option<&str>) -> Self {
        Self { message: message.into(), excerpt: excerpt.map(str::to_owned) }
    }

    pub(crate) fn of(error: &Error, source: &str) -> Self {
        let line = error.line().and_then(|line| source.lines().nth(line.checked_sub(1)?));
        let message = match error.kind() {
            ErrorKind::OutOfFuel => "it does too much work; make its loops shorter".to_owned(),
            ErrorKind::UndefinedError => format!("a name in it has no value: {}", message(error)),
            _ => message(error),
        };
        Self { message, excerpt: line.map(|line| line.trim().to_owned()) }
    }
}

/// The values of templates: `inputs`, `steps`, and the names of `store_as`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Values(Shown);

impl Values {
    /// From a JSON object.
    pub fn new(values: &Value) -> Self {
        Self(Shown::from_serialize(values))
    }

    /// Adds a value, such as `item`, which hides another one of its name.
    #[must_use]
    pub fn with(&self, name: &str, value: &Value) -> Self {
        let entry = Shown::from_iter([(name.to_owned(), Shown::from_serialize(value))]);
        Self(merge_maps([self.0.clone(), entry]))
    }

    pub(crate) fn get(&self, name: &str) -> Option<Shown> {
        let mut here = self.0.clone();
        for step in name.split('.') {
            here = here.get_attr(step).ok().filter(|value| !value.is_undefined())?;
        }
        Some(here)
    }

    pub(crate) fn shown(&self) -> &Shown {
        &self.0
    }
}

#[derive(Debug, Clone)]
pub struct Template {
    source: String,
    names: Vec<String>,
    /// The whole template is this one expression: it can keep its type.
    alone: Option<String>,
}

impl Template {
    /// Checks the syntax, and that it uses nothing beyond the language.
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        if source.len() > MAX_SOURCE {
            return Err(TemplateError::new(
                "the text is longer than 64 KB; give it as an input instead",
                None,
            ));
        }
        for segment in segments(source) {
            match segment {
                Segment::Text(_) => {}
                Segment::Expression(text) | Segment::Statement(text) => bounds(text)?,
            }
        }
        let template =
            ENVIRONMENT.template_from_str(source).map_err(|error| TemplateError::of(&error, source))?;
        let names = names(template.undeclared_variables(true));
        let alone = lone_expression(source, &ENVIRONMENT).map(str::to_owned);
        Ok(Self { source: source.to_owned(), names, alone })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The dotted names that it uses, sorted: `steps.find.output.mails`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the text always holds the whole value of a name: a `{{name}}` that no statement goes before.
    pub(crate) fn shows(&self, name: &str) -> bool {
        let all = segments(&self.source).into_iter();
        let mut always = all.take_while(|segment| !matches!(segment, Segment::Statement(_)));
        always.any(|segment| match segment {
            Segment::Expression(text) => text.trim_matches(['{', '}', '-', ' ', '\n', '\t']) == name,
            Segment::Text(_) | Segment::Statement(_) => false,
        })
    }

    /// The text with everything filled in. Lists and tables become JSON, null becomes nothing.
    pub fn render(&self, values: &Values) -> Result<String, TemplateError> {
        render(&self.source, values)
    }

    /// As [`Template::render`], but a lone `{{...}}` keeps its type.
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

    pub fn items(&self, values: &Values) -> Result<Vec<Value>, TemplateError> {
        let list = match self.value(values)? {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other,
        };
        let refused = |message: String| Err(TemplateError::new(message, Some(&self.source)));
        match list {
            Value::Array(list) if list.len() > MAX_ITEMS => refused(format!(
                "the list has {} items, and a map takes at most {MAX_ITEMS}; split it first",
                list.len()
            )),
            Value::Array(list) => Ok(list),
            _ => refused("the value of `over` isn't a list".to_owned()),
        }
    }

    /// The text with known values filled in; the rest stays as it is.
    pub fn partly(&self, values: &Values) -> String {
        let segments = segments(&self.source);
        if segments.iter().any(|segment| matches!(segment, Segment::Statement(_))) {
            return self.render(values).unwrap_or_else(|_| self.source.clone());
        }
        let filled = segments.into_iter().map(|segment| match segment {
            Segment::Expression(text) => render(text, values).unwrap_or_else(|_| text.to_owned()),
            Segment::Text(text) | Segment::Statement(text) => text.to_owned(),
        });
        filled.collect()
    }
}

/// Replaces every text in a table of JSON by the value of its template.
pub fn map_templates(
    table: &Map<String, Value>,
    value: &dyn Fn(&Template) -> Result<Value, TemplateError>,
) -> Result<Map<String, Value>, TemplateError> {
    fn map_value(
        given: &Value,
        value: &dyn Fn(&Template) -> Result<Value, TemplateError>,
    ) -> Result<Value, TemplateError> {
        match given {
            Value::String(text) => value(&Template::new(text)?),
            Value::Array(list) => list.iter().map(|given| map_value(given, value)).collect(),
            Value::Object(table) => map_templates(table, value).map(Value::Object),
            other => Ok(other.clone()),
        }
    }
    table.iter().map(|(key, given)| Ok((key.clone(), map_value(given, value)?))).collect()
}

pub(crate) fn render(source: &str, values: &Values) -> Result<String, TemplateError> {
    let failed = |error: &Error| TemplateError::of(error, source);
    let template = ENVIRONMENT.template_from_str(source).map_err(|error| failed(&error))?;
    let mut text = Capped(Vec::new());
    let done = template.render_captured_to(values.shown(), &mut text);
    if text.0.len() > MAX_TEXT {
        return Err(TemplateError::new("its text is longer than 1 MB", None));
    }
    done.map(drop).map_err(|error| failed(&error))?;
    Ok(String::from_utf8_lossy(&text.0).into_owned())
}

/// Stops after one write beyond the longest text.
struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() > MAX_TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment(UndefinedBehavior::Strict);
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

fn join(_: &State<'_, '_>, value: &Shown, between: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (index, member) in value.try_iter()?.enumerate() {
        if index > 0 {
            text.push_str(between.unwrap_or_default());
        }
        text.push_str(&plain(&member)?);
        if text.len() > MAX_TEXT {
            return Err(refused("the joined text is longer than 1 MB"));
        }
    }
    Ok(text)
}

/// Division by 0 is an error, not infinity.
fn divisor(value: &Shown) -> Result<Shown, Error> {
    match f64::try_from(value.clone()) {
        Ok(0.0) => Err(refused("it divides by zero")),
        _ => Ok(value.clone()),
    }
}

/// The names without the language's own.
pub(crate) fn names(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> =
        names.into_iter().filter(|name| !["range", "dict", "loop"].contains(&name.as_str())).collect();
    names.sort();
    names
}

/// Refuses long expressions, multiplication, variables and unknown filters. Patterns for ASCII names compile ten times faster.
pub(crate) fn bounds(expression: &str) -> Result<(), TemplateError> {
    static FILTERS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\|\s*([A-Za-z_][A-Za-z0-9_]*)").ok());
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\{%[-+]?\s*([A-Za-z0-9_]+)").ok());
    let refused = |message: String| Err(TemplateError::new(message, Some(expression)));
    if expression.len() > MAX_EXPRESSION {
        return refused(format!("an expression is longer than {MAX_EXPRESSION} bytes"));
    }
    let (Some(filters), Some(word)) = (&*FILTERS, &*WORD) else { return Ok(()) };
    let bare = without_texts(expression);
    if bare.contains('*') {
        return refused("templates can't multiply; let an agent or a skill calculate".to_owned());
    }
    if let Some(statement) = word.captures(&bare).map(|found| found[1].to_owned()) {
        let allowed = ["if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"];
        if !allowed.contains(&statement.as_str()) {
            return refused(format!("templates have no `{statement}`; only if and for"));
        }
    }
    for filter in filters.captures_iter(&bare).map(|found| found[1].to_owned()) {
        let question = format!("'{filter}' is filter");
        let is_filter = ENVIRONMENT.compile_expression(&question).and_then(|expression| expression.eval(()));
        if !is_filter.is_ok_and(|found| found.is_true()) {
            return refused(format!("there is no filter `{filter}`; docs/workflows.md lists them all"));
        }
    }
    Ok(())
}

/// An expression with empty quotes.
pub(crate) fn without_texts(expression: &str) -> String {
    static TEXTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"'[^']*'|"[^"]*""#).ok());
    TEXTS.as_ref().map_or_else(String::new, |texts| texts.replace_all(expression, "''").into_owned())
}
