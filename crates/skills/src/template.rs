//! `{{argument}}` in an address, a header, a body, a program's words: whatever the argument holds, it
//! stays in its place.
//!
//! One rule for all places: what shows only arguments that were not given is left out as a whole (a
//! query's `a=b`, a word of a command, a key of a body).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::template::{self, MAX_TEXT, Segment, json, lone_expression, message, refused, segments};
use minijinja::{Environment, Error, UndefinedBehavior, Value as Shown};
use serde_json::Value;

use super::arguments::Argument;

/// Where a template's text goes, which decides how its values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The path of an address: percent-encoded, and never empty, so that no segment vanishes.
    Path,
    /// The query of an address: percent-encoded.
    Query,
    /// A header's value: no control characters.
    Header,
    /// A program's word: no zero bytes.
    Word,
    /// Plain text, or a string of a JSON body, which is encoded after.
    Text,
}

/// Why a template can't be used, or not with these arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub String);

impl From<Error> for TemplateError {
    fn from(error: Error) -> Self {
        let line = error.line().filter(|line| *line > 1).map(|line| format!(", its line {line}"));
        Self(format!("{}{}", message(&error), line.unwrap_or_default()))
    }
}

#[derive(Debug, Clone)]
pub struct Template {
    source: String,
    place: Place,
    required: Vec<String>,
    /// The whole template is this one expression: in JSON it keeps its type.
    alone: Option<String>,
}

#[derive(Default)]
struct Seen {
    given: AtomicUsize,
    absent: AtomicUsize,
}

impl Template {
    /// Checks the syntax, and that every name in it is one of the arguments.
    pub fn new(source: &str, place: Place, arguments: &[Argument]) -> Result<Self, TemplateError> {
        let environment = environment(place, Arc::default());
        let template = environment.template_from_str(source)?;
        // Unknown filters come to light only at work, so it is tried once with nothing given.
        if let Err(error) = template.render(()) {
            use minijinja::ErrorKind::{UnknownFilter, UnknownFunction, UnknownTest};
            if matches!(error.kind(), UnknownFilter | UnknownFunction | UnknownTest) {
                return Err(error.into());
            }
        }
        let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
        let mut names: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        names.sort();
        names.retain(|name| !globals.contains(&name.as_str()));
        for name in &names {
            if !arguments.iter().any(|argument| argument.name == *name) {
                let hint = did_you_mean(name, arguments.iter().map(|argument| argument.name.as_str()));
                return Err(TemplateError(format!("`{{{{{name}}}}}` is no argument of this skill{hint}")));
            }
        }
        names.retain(|name| arguments.iter().any(|argument| argument.name == *name && argument.required));
        let alone = lone_expression(source, &environment).map(str::to_owned);
        Ok(Self { source: source.to_owned(), place, required: names, alone })
    }

    /// Whether the text begins with a value and not with words of the skill's author.
    pub fn begins_with_value(&self) -> bool {
        self.source.trim_start().starts_with("{{") || self.source.trim_start().starts_with("{%")
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text for these arguments; none when it shows only arguments that were not given.
    pub fn render(&self, arguments: &Value) -> Result<Option<String>, TemplateError> {
        self.check_required(arguments)?;
        let seen = Arc::new(Seen::default());
        let text = environment(self.place, Arc::clone(&seen)).render_str(&self.source, arguments)?;
        if text.len() > MAX_TEXT {
            return Err(TemplateError(format!("the text is longer than {MAX_TEXT} bytes")));
        }
        let (given, absent) = (seen.given.load(Ordering::Relaxed), seen.absent.load(Ordering::Relaxed));
        let nothing = given == 0 && (absent > 0 || text.is_empty());
        Ok((!nothing || self.is_constant()).then_some(text))
    }

    /// The value for a JSON body: a lone `{{argument}}` keeps its type, anything else is a string.
    pub fn value(&self, arguments: &Value) -> Result<Option<Value>, TemplateError> {
        let Some(expression) = &self.alone else { return Ok(self.render(arguments)?.map(Value::String)) };
        self.check_required(arguments)?;
        let environment = environment(self.place, Arc::default());
        let value = environment.compile_expression(expression)?.eval(arguments)?;
        if value.is_undefined() || value.is_none() {
            return Ok(None);
        }
        serde_json::to_value(&value).map(Some).map_err(|error| TemplateError(error.to_string()))
    }

    fn is_constant(&self) -> bool {
        !["{{", "{%", "{#"].iter().any(|mark| self.source.contains(mark))
    }

    fn check_required(&self, arguments: &Value) -> Result<(), TemplateError> {
        match self.required.iter().find(|name| arguments.get(name.as_str()).is_none()) {
            Some(name) => Err(TemplateError(format!("the argument '{name}' is missing"))),
            None => Ok(()),
        }
    }
}

fn environment(place: Place, seen: Arc<Seen>) -> Environment<'static> {
    let mut environment = template::environment(UndefinedBehavior::Chainable);
    environment.set_formatter(move |output, _, value| {
        if value.is_undefined() || value.is_none() {
            seen.absent.fetch_add(1, Ordering::Relaxed);
            if place != Place::Path {
                return Ok(());
            }
        } else {
            seen.given.fetch_add(1, Ordering::Relaxed);
        }
        let text = place.write(&plain(value)?)?;
        output.write_str(&text).map_err(|_| refused("the text can't be written"))
    });
    environment
}

/// How a value reads as text: lists by commas, tables as JSON.
fn plain(value: &Shown) -> Result<String, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(String::new());
    }
    match value.kind() {
        minijinja::value::ValueKind::Seq | minijinja::value::ValueKind::Iterable => {
            let members: Result<Vec<String>, Error> = value.try_iter()?.map(|v| plain(&v)).collect();
            Ok(members?.join(","))
        }
        minijinja::value::ValueKind::Map => json(value),
        _ => Ok(value.to_string()),
    }
}

impl Place {
    fn write(self, text: &str) -> Result<String, Error> {
        match self {
            Self::Path if text.is_empty() => {
                Err(refused("an argument that the address's path needs is empty"))
            }
            Self::Path | Self::Query => Ok(percent_encoded(text)),
            Self::Header if text.chars().any(char::is_control) => {
                Err(refused("an argument that goes into a header holds a line break or control character"))
            }
            Self::Word if text.contains('\0') => {
                Err(refused("an argument that goes to a program holds a zero byte"))
            }
            Self::Header | Self::Word | Self::Text => Ok(text.to_owned()),
        }
    }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Splits a template at a character outside of `{{ }}` and `{% %}`.
pub(super) fn split_outside(source: &str, at: char, max: usize) -> Vec<&str> {
    let (mut parts, mut start, mut offset) = (Vec::new(), 0, 0);
    for segment in segments(source) {
        let (Segment::Text(text) | Segment::Expression(text) | Segment::Statement(text)) = segment;
        if let Segment::Text(text) = segment {
            for (index, mark) in text.match_indices(at) {
                if parts.len() + 1 < max {
                    parts.push(&source[start..offset + index]);
                    start = offset + index + mark.len();
                }
            }
        }
        offset += text.len();
    }
    parts.push(&source[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn arguments() -> Vec<Argument> {
        [("a", true), ("b", false), ("c", false)]
            .map(|(name, required)| Argument { name: name.to_owned(), required, ..Argument::default() })
            .to_vec()
    }

    fn template(source: &str, place: Place) -> Template {
        Template::new(source, place, &arguments()).unwrap()
    }

    #[test]
    fn what_shows_only_absent_arguments_is_left_out() {
        let given = json!({"a": "x", "c": null});
        let render = |source| template(source, Place::Query).render(&given).unwrap();
        assert_eq!(render("limit={{b}}"), None);
        assert_eq!(render("limit={{c}}"), None);
        assert_eq!(render("limit={{b|default('5')}}").as_deref(), Some("limit=5"));
        assert_eq!(render("q={{a}}-{{b}}").as_deref(), Some("q=x-"));
        assert_eq!(render("{% if b %}b=1{% endif %}"), None);
        assert_eq!(render("{% if not b %}b=0{% endif %}").as_deref(), Some("b=0"));
        assert_eq!(render("").as_deref(), Some(""));
        assert_eq!(render("x={{b.c.d}}"), None);
    }

    #[test]
    fn a_lone_argument_keeps_its_type_in_json() {
        let given = json!({"a": [1, "x"], "b": 2.5});
        let value = |source| template(source, Place::Text).value(&given).unwrap();
        assert_eq!(value("{{ a }}"), Some(json!([1, "x"])));
        assert_eq!(value("{{b}}"), Some(json!(2.5)));
        assert_eq!(value("{{c}}"), None);
        assert_eq!(value("{{a}} and {{b}}"), Some(json!("1,x and 2.5")));
    }

    #[test]
    fn faults_name_the_mend() {
        let fault = |source| Template::new(source, Place::Text, &arguments()).unwrap_err().to_string();
        let long = [Argument { name: "title".to_owned(), required: true, ..Argument::default() }];
        let near = Template::new("{{titel}}", Place::Text, &long).unwrap_err().to_string();
        insta::assert_snapshot!(near, @"`{{titel}}` is no argument of this skill; did you mean 'title'?");
        insta::assert_snapshot!(fault("{{a"), @"unexpected end of input, expected end of variable block");
        insta::assert_snapshot!(fault("{{ a|nofilter }}"), @"filter nofilter is unknown");
        let missing = template("{{a}}", Place::Text).render(&json!({})).unwrap_err().to_string();
        insta::assert_snapshot!(missing, @"the argument 'a' is missing");
    }

    #[test]
    fn a_template_that_works_for_ever_is_stopped() {
        let endless = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}";
        assert!(template(endless, Place::Text).render(&json!({})).is_err());
    }

    #[test]
    fn text_is_split_outside_of_expressions() {
        assert_eq!(split_outside("a={{x|default('&')}}&b", '&', 9), ["a={{x|default('&')}}", "b"]);
        assert_eq!(split_outside("a?b?c", '?', 2), ["a", "b?c"]);
    }

    proptest! {
        #[test]
        fn no_template_and_no_argument_panics(source in ".{0,60}", mark in "[{}%|a-c .()\"'0-9~*-]{0,30}", a in any::<String>()) {
            for source in [&source, &mark, &format!("{{{{{mark}}}}}")] {
                for place in [Place::Path, Place::Query, Place::Header, Place::Word, Place::Text] {
                    if let Ok(template) = Template::new(source, place, &arguments()) {
                        let _ = template.render(&json!({"a": a}));
                        let _ = template.value(&json!({"a": a}));
                    }
                }
            }
        }

        #[test]
        fn a_value_never_leaves_its_query(a in any::<String>()) {
            let text = template("q={{a}}", Place::Query).render(&json!({"a": a})).unwrap().unwrap();
            let url = reqwest::Url::parse(&format!("http://h.test/p?{text}&z=1#f")).unwrap();
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(pairs, vec![("q".to_owned(), a), ("z".to_owned(), "1".to_owned())]);
        }

        #[test]
        fn a_value_never_breaks_a_header(a in any::<String>()) {
            if let Ok(Some(text)) = template("x {{a}}", Place::Header).render(&json!({"a": a})) {
                prop_assert!(!text.contains(['\r', '\n', '\0']));
                prop_assert!(reqwest::header::HeaderValue::from_str(&text).is_ok());
            }
        }

        #[test]
        fn a_value_never_leaves_its_string(a in any::<String>()) {
            let value = template("<{{a}}>", Place::Text).value(&json!({"a": a})).unwrap();
            prop_assert_eq!(value, Some(Value::String(format!("<{a}>"))));
        }
    }
}
