//! Rules in plain English: "must include mails field", "exactly 3 items".
//!
//! Known sentences become checks; a model judges all others.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex};

use super::rule_check::{Check, ValueType};

#[derive(Debug, Clone)]
pub struct Rule {
    /// The author's sentence.
    pub text: String,
    /// Filled on first use, so that reading a file compiles no patterns.
    checks: OnceLock<Vec<Check>>,
}

impl Rule {
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), checks: OnceLock::new() }
    }

    /// Its checks, all of which must hold; without any, a model judges the rule.
    pub fn checks(&self) -> &[Check] {
        self.checks.get_or_init(|| understand(&self.text).unwrap_or_default())
    }

    /// Its checks, for people.
    pub fn understood(&self) -> String {
        match self.checks() {
            [] => "judged by a model".to_owned(),
            checks => checks.iter().map(Check::to_string).collect::<Vec<_>>().join("; "),
        }
    }
}

/// A form of sentence and the checks it means.
type Form = (Regex, Meaning);
type Meaning = fn(&Captures<'_>) -> Option<Vec<Check>>;

fn understand(text: &str) -> Option<Vec<Check>> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches(['.', '!']);
    if text.len() > 300 { None } else { FORMS.iter().find_map(|(form, make)| make(&form.captures(text)?)) }
}

const MUST: &str = r"(?:must|should|shall|has to|have to|needs? to)";
const OUT: &str =
    r"(?:(?:the |your )?(?:final )?(?:output|result|response|answer|json|report|document|text|it) )?";
const NUMBER: &str = r"(-?\d+(?:\.\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)";
const FIELD: &str = r#"[`'"]?([A-Za-z_][\w.]*(?: [a-z_]\w*){0,2}?)[`'"]?"#;
const BOUND: &str = r"(exactly|at least|at most|no more than|not more than|no fewer than|no less than|more than|fewer than|less than|greater than|above|below|>=|<=|>|<)";

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let forms: [(String, Meaning); 8] = [
        (
            format!(
                "^{OUT}(?:{MUST} )?(?:have|be|contain|include)? ?{BOUND} {NUMBER} (words?|characters?|chars)(?: long)?$"
            ),
            length,
        ),
        (format!("^{OUT}(?:{MUST} )(?:not be empty|be non-?empty)$|^(?:not empty|non-?empty)$"), |_| {
            Some(vec![Check::NotEmpty { field: None }])
        }),
        (
            format!(
                "^(?:the )?{FIELD}(?: field)? (?:{MUST} not be|is not|{MUST} be non-?|not|may not be|cannot be|can't be) ?empty$"
            ),
            not_empty,
        ),
        (format!("^(?:the )?{FIELD}(?: field)? (?:{MUST} be|is) (?:one of|either) (.+)$"), one_of),
        (
            format!(
                "^(?:the )?{FIELD}(?: field| value)? (?:{MUST} be|is|{MUST} lie) (?:a number )?(?:in )?between {NUMBER} (?:and|to) {NUMBER}$"
            ),
            between,
        ),
        (
            format!(
                r"^(?:{OUT}(?:{MUST} )?(?:\w+ )??)?{BOUND} {NUMBER} ([a-z_][\w -]*?)(?: in (?:the )?{FIELD})?$"
            ),
            count,
        ),
        (
            format!(
                r"^(?:{OUT}(?:{MUST} )?(?:\w+ )??)?between {NUMBER} (?:and|to) {NUMBER} ([a-z_][\w -]*?)(?: in (?:the )?{FIELD})?$"
            ),
            count_between,
        ),
        (
            format!(
                "^{OUT}(?:{MUST} )?(?:includes?|contains?|have|has|provides?|returns?) (?:an? |the |all (?:of )?)?(.+)$"
            ),
            fields,
        ),
    ];
    let compiled =
        forms.into_iter().map(|(form, make)| Regex::new(&format!("(?i){form}")).map(|form| (form, make)));
    compiled.filter_map(Result::ok).collect()
});

fn part<'t>(found: &'t Captures<'_>, group: usize) -> &'t str {
    found.get(group).map_or("", |part| part.as_str())
}

fn number(text: &str) -> Option<f64> {
    const WORDS: [&str; 13] =
        ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "", "twelve"];
    let word = text.to_lowercase();
    let index = WORDS.iter().position(|name| !name.is_empty() && *name == word);
    index.and_then(|index| u32::try_from(index).ok()).map(f64::from).or_else(|| text.parse().ok())
}

/// The range of a count that a word and a number mean.
fn bounds(word: &str, number: f64) -> (Option<f64>, Option<f64>) {
    match word.to_lowercase().as_str() {
        "exactly" => (Some(number), Some(number)),
        "at least" | "no fewer than" | "no less than" | ">=" => (Some(number), None),
        "at most" | "no more than" | "not more than" | "<=" => (None, Some(number)),
        "more than" | "greater than" | "above" | ">" => (Some(number + 1.0), None),
        _ => (None, Some(number - 1.0)),
    }
}

fn length(found: &Captures<'_>) -> Option<Vec<Check>> {
    let (min, max) = bounds(part(found, 1), number(part(found, 2))?);
    Some(vec![Check::Length { is_words: part(found, 3).to_lowercase().starts_with('w'), min, max }])
}

fn not_empty(found: &Captures<'_>) -> Option<Vec<Check>> {
    let field = Some(part(found, 1)).filter(|field| !is_thing(field)).map(str::to_owned);
    Some(vec![Check::NotEmpty { field }])
}

fn one_of(found: &Captures<'_>) -> Option<Vec<Check>> {
    let text = part(found, 2).replace(" or ", ", ").replace(" and ", ", ");
    let values = text.split(',').map(|word| word.trim().trim_matches(['`', '\'', '"', ':']).to_owned());
    let values: Vec<String> = values.filter(|word| !word.is_empty()).collect();
    (values.len() > 1 && values.iter().all(|word| !word.contains(' ')))
        .then(|| vec![Check::OneOf { field: part(found, 1).to_owned(), values }])
}

fn between(found: &Captures<'_>) -> Option<Vec<Check>> {
    let (min, max) = (number(part(found, 2)), number(part(found, 3)));
    Some(vec![Check::Range { field: part(found, 1).to_owned(), min, max }])
}

fn count(found: &Captures<'_>) -> Option<Vec<Check>> {
    let (min, max) = bounds(part(found, 1), number(part(found, 2))?);
    Some(vec![Check::Count { of: counted(found), min, max }])
}

fn count_between(found: &Captures<'_>) -> Option<Vec<Check>> {
    let (min, max) = (number(part(found, 1)), number(part(found, 2)));
    Some(vec![Check::Count { of: counted(found), min, max }])
}

/// The counted list: the named field, or the author's own noun.
fn counted(found: &Captures<'_>) -> Option<String> {
    let named = found.get(4).map(|field| field.as_str()).or(Some(part(found, 3)));
    named.map(|noun| noun.trim_end_matches(" fields")).filter(|noun| !is_thing(noun)).map(str::to_owned)
}

fn fields(found: &Captures<'_>) -> Option<Vec<Check>> {
    let fields = listed(part(found, 1))?;
    let checks = fields.into_iter().map(|(field, kind)| Check::Has { field, kind });
    Some(checks.collect())
}

/// Whether a noun only means "it".
fn is_thing(noun: &str) -> bool {
    let things =
        ["item", "items", "element", "elements", "entry", "entries", "object", "objects", "output", "result"];
    things.contains(&noun.to_lowercase().as_str())
}

/// "a, b and c fields", "`mails`", "key_challenges array": the fields with their types. None if these may not be fields.
fn listed(text: &str) -> Option<Vec<(String, Option<ValueType>)>> {
    let lower = text.to_lowercase();
    let (names, kind) = match lower.rsplit_once(' ') {
        Some((names, kind)) if KINDS.iter().any(|(word, _)| *word == kind) => {
            (&text[..names.len()], Some(kind))
        }
        _ => (text, None),
    };
    let names = ["fields ", "field ", "keys ", "the fields ", "the following fields: ", "fields: "]
        .iter()
        .find_map(|lead| lower.starts_with(lead).then(|| text[lead.len()..].trim()))
        .map_or((names, kind.is_some()), |rest| (rest, true));
    let (names, is_explicit) = names;
    let parted = names.replace(", and ", ", ").replace(" and ", ", ").replace(" & ", ", ");
    let parted: Vec<&str> = parted.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_marked = |name: &str| name.contains('_') || name.starts_with(['`', '\'', '"']);
    let is_sure = is_explicit || parted.len() > 1 || parted.iter().all(|name| is_marked(name));
    let kind = kind.and_then(|word| KINDS.iter().find(|(noun, _)| *noun == word)).and_then(|(_, kind)| *kind);
    let name = |name: &&str| {
        let bare = name.trim_matches(['`', '\'', '"']);
        let bare = ["a ", "an ", "the "].iter().find_map(|lead| bare.strip_prefix(lead)).unwrap_or(bare);
        let is_word = !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        is_word.then(|| (bare.to_owned(), kind))
    };
    if !is_sure || parted.is_empty() { None } else { parted.iter().map(name).collect() }
}

/// Words after a field's name, and their type.
const KINDS: [(&str, Option<ValueType>); 12] = [
    ("field", None),
    ("fields", None),
    ("key", None),
    ("keys", None),
    ("property", None),
    ("array", Some(ValueType::Array)),
    ("list", Some(ValueType::Array)),
    ("boolean", Some(ValueType::Boolean)),
    ("number", Some(ValueType::Number)),
    ("string", Some(ValueType::String)),
    ("object", Some(ValueType::Object)),
    ("integer", Some(ValueType::Integer)),
];
