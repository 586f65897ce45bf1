//! A field of a server's form: what it takes, and what a person's words are as its value.

use adjutant_l10n::{mcp, ownership};
use adjutant_types::invisible_chars::line;
use adjutant_types::meant;
use chrono::{DateTime, NaiveDate};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use crate::definition::schema_misfit;

/// A field with more options than this is asked for in words.
const MAX_BUTTONS: usize = 20;
/// The most options that are listed.
const MAX_LISTED: usize = 50;
/// The longest label of an option, in characters.
const MAX_LABEL: usize = 60;

/// Words that name something secret.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "secret", "secrets", "api key", "apikey", "access key",
    "private key", "token", "credential", "credentials", "pin", "cvv", "cvc", "card number", "credit card",
    "security code", "one time code", "otp", "verification code",
];

/// Answers other than a value: the words of the buttons, whatever their labels are.
pub(super) const DECLINE: &str = "Decline";
/// Leaves a field out that needn't be filled in.
pub(super) const SKIP: &str = "Skip";
/// Takes what the server suggests.
const DEFAULT: &str = "default";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) required: bool,
    pub(super) given: Option<Given>,
}

/// A person's answer to a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Given {
    Value(Value),
    /// Nothing: it may be left out.
    Skipped,
}

/// A person's words, read as the answer to a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Given(Given),
    /// They don't answer the server.
    Declined,
    /// They don't fit, and why.
    Misfit(String),
}

impl Field {
    pub(super) fn new(name: &str, schema: Value, required: bool) -> Self {
        Self { name: name.to_owned(), schema, required, given: None }
    }

    /// Whether any text may be written into it.
    pub(super) fn is_text(&self) -> bool {
        self.options().is_empty() && self.schema["type"] == "string"
    }

    /// Whether it asks for a password or a key.
    pub(super) fn asks_for_secret(&self) -> bool {
        let texts = [Some(self.name.as_str()), self.text("title"), self.text("description")];
        self.is_text() && texts.into_iter().flatten().any(names_secret)
    }

    /// The field's name and purpose, in the server's words.
    pub(super) fn described(&self) -> String {
        let name = line(self.text("title").unwrap_or(&self.name), 80);
        let about = line(self.text("description").unwrap_or_default(), 200);
        let text = if about.is_empty() { name } else { format!("{name}: {about}") };
        let (low, high) = match self.schema["type"].as_str() {
            Some("string") => (&self.schema["minLength"], &self.schema["maxLength"]),
            _ => (&self.schema["minimum"], &self.schema["maximum"]),
        };
        match (self.schema["type"] == "string", low.is_null(), high.is_null()) {
            (_, true, true) => text,
            (false, false, false) => mcp::field_between(text, low, high),
            (false, false, true) => mcp::field_from(text, low),
            (false, true, false) => mcp::field_to(text, high),
            (true, false, false) => mcp::field_characters_between(text, low, high),
            (true, false, true) => mcp::field_characters_from(text, low),
            (true, true, false) => mcp::field_characters_to(text, high),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.schema[key].as_str()
    }

    /// The values that it takes, each with its label; empty if there is no list of them.
    fn options(&self) -> Vec<(Value, String)> {
        let schema = if self.takes_several() { &self.schema["items"] } else { &self.schema };
        if schema["type"] == "boolean" {
            return vec![(json!(true), mcp::yes()), (json!(false), mcp::no())];
        }
        let titled = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        let mut options: Vec<(Value, String)> = match (titled, schema["enum"].as_array()) {
            (Some(all), _) => all
                .iter()
                .map(|option| {
                    (option["const"].clone(), option["title"].as_str().unwrap_or_default().to_owned())
                })
                .collect(),
            (None, Some(values)) => (0..)
                .zip(values)
                .map(|(at, value): (usize, _)| {
                    (value.clone(), schema["enumNames"][at].as_str().unwrap_or_default().to_owned())
                })
                .collect(),
            (None, None) => Vec::new(),
        };
        let mut labels = vec![mcp::decline().to_lowercase(), mcp::skip().to_lowercase()];
        for (value, label) in &mut options {
            let shown = if label.is_empty() { value.as_str().unwrap_or_default() } else { label.as_str() };
            *label = line(shown, MAX_LABEL);
            while labels.contains(&label.to_lowercase()) {
                label.push_str(" (2)");
            }
            labels.push(label.to_lowercase());
        }
        options
    }

    pub(super) fn takes_several(&self) -> bool {
        self.schema["type"] == "array"
    }

    /// The labels of its buttons, and the words that each stands for; none if it is answered in words alone.
    pub(super) fn buttons(&self) -> Vec<(String, String)> {
        let options = self.options();
        if options.is_empty() || options.len() > MAX_BUTTONS || self.takes_several() {
            return Vec::new();
        }
        let ours = [(!self.required).then(|| (mcp::skip(), SKIP)), Some((mcp::decline(), DECLINE))];
        let numbered =
            (1..).zip(options).map(|(number, (_, label)): (usize, _)| (label, format!("#{number}")));
        let ours = ours.into_iter().flatten().map(|(label, word)| (label, word.to_owned()));
        numbered.chain(ours).collect()
    }

    /// Its options as lines with numbers: the server's words.
    pub(super) fn listed(&self) -> Vec<String> {
        let options = self.options();
        let mut lines: Vec<String> = (1..)
            .zip(options.iter().take(MAX_LISTED))
            .map(|(number, (value, label)): (usize, _)| {
                let option = format!("{number}. {label}");
                if self.suggests(value) { mcp::suggested(option) } else { option }
            })
            .collect();
        lines.extend((options.len() > MAX_LISTED).then(|| ownership::more(options.len() - MAX_LISTED)));
        lines
    }

    fn suggests(&self, value: &Value) -> bool {
        let default = &self.schema["default"];
        default == value || default.as_array().is_some_and(|all| all.contains(value))
    }

    /// The server's suggestion, as a person reads it; none where a button shows it.
    pub(super) fn suggestion(&self) -> Option<String> {
        let default = &self.schema["default"];
        if default.is_null() || !self.buttons().is_empty() {
            return None;
        }
        let label = |value: &Value| {
            let options = self.options();
            let found = options.into_iter().find(|(option, _)| option == value).map(|(_, label)| label);
            found
                .unwrap_or_else(|| line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 80))
        };
        Some(match default.as_array() {
            Some(all) => all.iter().map(label).collect::<Vec<_>>().join(", "),
            None => label(default),
        })
    }

    pub(super) fn read(&self, words: &str) -> Said {
        let words = words.trim();
        if words.eq_ignore_ascii_case(DECLINE) {
            return Said::Declined;
        }
        if words.eq_ignore_ascii_case(SKIP) && !self.required {
            return Said::Given(Given::Skipped);
        }
        let default = &self.schema["default"];
        if words.eq_ignore_ascii_case(DEFAULT) && !default.is_null() {
            return Said::Given(Given::Value(default.clone()));
        }
        let value = match self.value(words) {
            Ok(value) => value,
            Err(why) => return Said::Misfit(why),
        };
        match schema_misfit(&self.schema, &value) {
            Some(why) => Said::Misfit(line(why.trim_start_matches([':', ' ', '/']), 200)),
            None => Said::Given(Given::Value(value)),
        }
    }

    fn value(&self, words: &str) -> Result<Value, String> {
        if self.takes_several() {
            let parts = words.split([',', ';', '\n']).map(str::trim).filter(|part| !part.is_empty());
            return parts.map(|part| self.chosen(part)).collect();
        }
        if !self.options().is_empty() {
            return self.chosen(words);
        }
        match self.schema["type"].as_str() {
            Some("integer") => {
                let number = words.parse::<i64>();
                number.map(Value::from).map_err(|_| mcp::not_whole_number(line(words, 40)))
            }
            Some("number") => {
                let number = words.replacen(',', ".", 1).parse::<f64>().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or_else(|| mcp::not_number(line(words, 40)))
            }
            _ => match misformed(self.text("format").unwrap_or_default(), words) {
                Some(why) => Err(why),
                None => Ok(Value::from(words)),
            },
        }
    }

    /// The option of this label, value or number, or the only one that a few words can mean.
    fn chosen(&self, words: &str) -> Result<Value, String> {
        let options = self.options();
        if let Some(number) = words.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
            let option = number.checked_sub(1).and_then(|at| options.get(at));
            return option.map(|(value, _)| value.clone()).ok_or_else(mcp::no_such_option);
        }
        let is_meant = |(value, label): &&(Value, String)| {
            label.eq_ignore_ascii_case(words) || value.as_str().is_some_and(|value| value == words)
        };
        let by_number = || options.get(words.trim_end_matches('.').parse::<usize>().ok()?.checked_sub(1)?);
        let by_words = || {
            let labels: Vec<&str> = options.iter().map(|(_, label)| label.as_str()).collect();
            options.get(meant(words, &labels)?)
        };
        let chosen = options.iter().find(is_meant).or_else(by_number).or_else(by_words);
        chosen.map(|(value, _)| value.clone()).ok_or_else(|| mcp::not_in_list(line(words, 40)))
    }
}

/// Why a text isn't in the format that was asked for.
fn misformed(format: &str, words: &str) -> Option<String> {
    let (is_right, why): (bool, fn() -> String) = match format {
        "email" => {
            let parts = words.split_once('@');
            let is_right = parts.is_some_and(|(name, host)| {
                !name.is_empty() && host.contains('.') && !words.contains(char::is_whitespace)
            });
            (is_right, mcp::not_email)
        }
        "uri" => (Url::parse(words).is_ok(), mcp::not_web_address),
        "date" => (NaiveDate::parse_from_str(words, "%Y-%m-%d").is_ok(), mcp::not_date),
        "date-time" => (DateTime::parse_from_rfc3339(words).is_ok(), mcp::not_time),
        _ => return None,
    };
    (!is_right).then(why)
}

pub(super) fn names_secret(text: &str) -> bool {
    let mut words = String::from(" ");
    let mut was_small = false;
    for char in text.chars() {
        if char.is_uppercase() && was_small {
            words.push(' ');
        }
        was_small = char.is_lowercase();
        if char.is_alphanumeric() {
            words.extend(char.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    words.push(' ');
    SECRETS.iter().any(|secret| words.contains(&format!(" {secret} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: Value) -> Field {
        Field::new("field", schema, true)
    }

    fn value(schema: &Value, words: &str) -> Option<Value> {
        match field(schema.clone()).read(words) {
            Said::Given(Given::Value(value)) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn words_become_a_value_of_the_fields_type_or_are_refused() {
        let colour = json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
        let tags =
            json!({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2});
        for (schema, words, wanted) in [
            (json!({"type": "string"}), " Acme GmbH\n", Some(json!("Acme GmbH"))),
            (json!({"type": "string", "minLength": 3}), "ab", None),
            (json!({"type": "string", "format": "email"}), "ada@example.org", Some(json!("ada@example.org"))),
            (json!({"type": "string", "format": "email"}), "ada", None),
            (json!({"type": "string", "format": "date"}), "tomorrow", None),
            (json!({"type": "string", "format": "date"}), "2026-11-23", Some(json!("2026-11-23"))),
            (json!({"type": "integer", "maximum": 10}), "7", Some(json!(7))),
            (json!({"type": "integer", "maximum": 10}), "70", None),
            (json!({"type": "integer"}), "seven", None),
            (json!({"type": "number"}), "3,5", Some(json!(3.5))),
            (json!({"type": "number"}), "NaN", None),
            (json!({"type": "boolean"}), "yes", Some(json!(true))),
            (json!({"type": "boolean"}), "2", Some(json!(false))),
            (colour.clone(), "green", Some(json!("g"))),
            (colour.clone(), "r", Some(json!("r"))),
            (colour.clone(), "2.", Some(json!("g"))),
            (colour.clone(), "#2", Some(json!("g"))),
            (colour.clone(), "#9", None),
            (colour.clone(), "the green one, please", Some(json!("g"))),
            (colour.clone(), "red or green", None),
            (colour.clone(), "not the red one", None),
            (json!({"type": "boolean"}), "no thanks", Some(json!(false))),
            (colour.clone(), "3", None),
            (colour, "blue", None),
            (tags.clone(), "a, 3", Some(json!(["a", "c"]))),
            (tags, "a, b, c", None),
            (json!({"type": "string", "default": "x"}), "Default", Some(json!("x"))),
        ] {
            assert_eq!(value(&schema, words), wanted, "{schema} {words}");
        }
    }

    #[test]
    fn a_person_can_decline_any_field_and_skip_what_is_not_required() {
        let text = field(json!({"type": "string"}));
        assert_eq!(text.read("decline"), Said::Declined);
        assert_eq!(text.read("skip"), Said::Given(Given::Value(json!("skip"))));
        let optional = Field { required: false, ..text };
        assert_eq!(optional.read("Skip"), Said::Given(Given::Skipped));
        let odd = field(json!({"type": "string", "enum": ["Decline", "decline", "other"]}));
        let labels: Vec<String> = odd.buttons().into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["Decline (2)", "decline (2) (2)", "other", "Decline"], "ours is the last");
        assert_eq!(odd.read("Decline (2)"), Said::Given(Given::Value(json!("Decline"))));
    }

    #[test]
    fn what_names_a_secret_is_found_and_other_words_are_not() {
        let asks = |name: &str, schema: Value| Field::new(name, schema, true).asks_for_secret();
        let text = || json!({"type": "string"});
        for name in ["password", "apiKey", "API_KEY", "accessToken", "otp", "card-number", "githubPassword"] {
            assert!(asks(name, text()), "{name}");
        }
        for name in ["repository", "keyboard", "spinner", "passenger", "secretary", "monkey"] {
            assert!(!asks(name, text()), "{name}");
        }
        assert!(asks("value", json!({"type": "string", "description": "Your GitHub password."})));
        assert!(!asks("rotate_token", json!({"type": "boolean"})), "a yes is no secret");
    }
}
