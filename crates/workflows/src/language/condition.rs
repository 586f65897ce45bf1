//! Conditions: `{{a}} == 'b'`, or the same without braces.

use std::sync::LazyLock;

use minijinja::value::ValueKind;
use regex::{Captures, Regex};

use super::template::{ENVIRONMENT, TemplateError, Values, bounds, names, without_texts};

/// The value of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Yes,
    No,
    /// It can't be evaluated, and why; it counts as false, with a warning in the report.
    Ambiguous(String),
}

#[derive(Debug, Clone)]
pub struct Condition {
    source: String,
    expression: String,
    names: Vec<String>,
}

impl Condition {
    /// Checks the syntax.
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        if source.contains("{%") {
            return Err(TemplateError::new("a condition is one expression, without `{% %}`", Some("{%")));
        }
        bounds(source)?;
        let expression = guarded(&bare(source));
        let compiled = ENVIRONMENT.compile_expression(&expression).map_err(|error| {
            let mut error = TemplateError::of(&error, source);
            if ["&&", "||", "===", "!"].iter().any(|mark| source.replace("!=", "").contains(mark)) {
                error.message.push_str("; write `and`, `or`, `not`, `==`");
            }
            error
        })?;
        static ZERO: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"[/%]\s*\(?0+(\.0*)?\s*(\)|[^0-9.\s]|\s|$)").ok());
        if ZERO.as_ref().is_some_and(|zero| zero.is_match(&without_texts(&bare(source)))) {
            return Err(TemplateError::new("it divides by zero", Some(source)));
        }
        let names = names(compiled.undeclared_variables(true));
        Ok(Self { source: source.to_owned(), expression, names })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The condition for people, without braces.
    pub fn plain(&self) -> String {
        let bare = self.source.replace("{{", " ").replace("}}", " ");
        bare.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The dotted names that it uses, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Evaluates it. Never fails: errors are ambiguous.
    pub fn judge(&self, values: &Values) -> Verdict {
        let is_asked = ["defined", "default", "undefined"].iter().any(|word| self.source.contains(word));
        for name in &self.names {
            match values.get(name) {
                None if !is_asked => return Verdict::Ambiguous(format!("`{name}` has no value")),
                Some(value) if value.kind() != ValueKind::Number && self.is_measured(name) => {
                    return Verdict::Ambiguous(format!("`{name}` is {}, not a number", kind(value.kind())));
                }
                _ => {}
            }
        }
        let value = ENVIRONMENT.compile_expression(&self.expression).and_then(|e| e.eval(values.shown()));
        match value {
            Err(error) => Verdict::Ambiguous(TemplateError::of(&error, &self.source).message),
            Ok(value) => match (value.kind(), value.as_str().map(str::to_lowercase).as_deref()) {
                (ValueKind::Bool, _) if value.is_true() => Verdict::Yes,
                (ValueKind::Bool, _) | (_, Some("false" | "no")) => Verdict::No,
                (_, Some("true" | "yes")) => Verdict::Yes,
                _ => Verdict::Ambiguous(format!("it is {}, neither true nor false", kind(value.kind()))),
            },
        }
    }

    /// Whether a name is compared with a number by `<` or `>`.
    fn is_measured(&self, name: &str) -> bool {
        let name = regex::escape(name);
        let measured = Regex::new(&format!(r"{name}\)?\s*[<>]=?\s*-?\d|\d\s*[<>]=?\s*\(?{name}"));
        measured.is_ok_and(|measured| measured.is_match(&self.expression))
    }
}

fn kind(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Undefined | ValueKind::None => "nothing",
        ValueKind::Number => "a number",
        ValueKind::String => "a text",
        ValueKind::Map => "a table",
        ValueKind::Bool => "true or false",
        _ => "a list",
    }
}

/// Without braces: `'{{a}}' == 'b'` compares the text of `a`.
fn bare(source: &str) -> String {
    static QUOTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"'\s*\{\{(.*?)\}\}\s*'|"\s*\{\{(.*?)\}\}\s*"|\{\{-?(.*?)-?\}\}"#).ok());
    let Some(quoted) = &*QUOTED else { return source.to_owned() };
    let without = quoted.replace_all(source, |found: &Captures<'_>| {
        match (found.get(1).or(found.get(2)), found.get(3)) {
            (Some(inner), _) => format!("({}|string)", inner.as_str().trim()),
            (None, Some(inner)) if is_name(inner.as_str().trim()) => inner.as_str().trim().to_owned(),
            (None, Some(inner)) => format!("({})", inner.as_str().trim()),
            (None, None) => String::new(),
        }
    });
    without.trim().to_owned()
}

fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
}

/// Adds a guard to each divisor, since the engine's division by zero is infinity.
fn guarded(expression: &str) -> String {
    static DIVISION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let text = r#"'[^']*'|"[^"]*""#;
        let filters = r"(?:\s*\|\s*[A-Za-z0-9_]+(?:\([^()]*\))?)*";
        let operand = format!(r"(\((?:[^()]|\([^()]*\))*\)|[A-Za-z0-9_.]+(?:\[[^\]]*\])*{filters})");
        Regex::new(&format!(r"{text}|(//?|%)\s*{operand}")).ok()
    });
    let Some(division) = &*DIVISION else { return expression.to_owned() };
    let guarded =
        division.replace_all(expression, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
            (Some(mark), Some(operand)) => format!("{} ({}|divisor)", mark.as_str(), operand.as_str()),
            _ => found[0].to_owned(),
        });
    guarded.into_owned()
}
