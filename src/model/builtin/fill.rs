//! Fills the `{placeholders}` of an intent's arguments. The language is described in [`super`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::items;
use super::replies::clipped;
use super::time::when::{self, MARKS};
use super::time::{self, Now, Period, words};
use crate::clock::when::When;

/// What placeholders are filled from, besides the captures.
#[derive(Clone, Copy)]
pub(super) struct FillContext<'a> {
    /// The person's time.
    pub(super) now: &'a Now,
    /// `{results}`: what earlier parts returned, in words.
    pub(super) results: Option<&'a str>,
    /// `{found.…}`: the one hit of the lookup.
    pub(super) found: Option<&'a Value>,
}

/// Why arguments can't be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FillError {
    /// The text lacks what a placeholder needs: the intent doesn't match it.
    Mismatch,
    /// `{results}` or `{found.…}` is not known yet.
    Missing,
}

/// A segment of an argument's string.
#[derive(Debug, PartialEq, Eq)]
enum Segment<'a> {
    Text(&'a str),
    /// Name, conversion, and whether it may be missing.
    Placeholder(&'a str, &'a str, bool),
}

/// What a pattern captured.
pub(super) type Captures = BTreeMap<String, Capture>;

/// A capture, and what the intent makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capture {
    /// Its words.
    pub(super) text: String,
    /// Where they stand.
    pub(super) range: Range<usize>,
    /// The conversions of all its placeholders.
    pub(super) conversions: Vec<String>,
}

impl Capture {
    /// Its conversions, to be compared.
    pub(super) fn conversions(&self) -> Vec<&str> {
        self.conversions.iter().map(String::as_str).collect()
    }

    /// Whether it is searched for.
    pub(super) fn is_searched(&self) -> bool {
        self.conversions.iter().any(|one| matches!(one.as_str(), "words" | "things"))
    }

    /// The text with a title in quotes in its place.
    pub(super) fn replaced(&self, text: &str, title: &str) -> Option<String> {
        let (before, after) = (text.get(..self.range.start)?, text.get(self.range.end..)?);
        Some(format!("{before}“{title}”{after}"))
    }

    /// The time phrase in it; where it gives no name to anything, it must be nothing else.
    fn time(&self, now: &Now) -> Option<Period> {
        let names = self.conversions.iter().any(|conversion| matches!(conversion.as_str(), "text" | "title"));
        let found = when::find(&self.text, now, !names)?;
        (names || words(&found.rest(&self.text)).is_empty()).then_some(found.when)
    }
}

/// Fills all strings of the arguments; those without a value are left out.
pub(super) fn fill(
    arguments: &Map<String, Value>,
    captures: &Captures,
    context: &FillContext,
) -> Result<Map<String, Value>, FillError> {
    let mut filled = Map::new();
    let mut is_known = true;
    for (name, value) in arguments {
        match fill_value(value, captures, context) {
            Ok(value) => filled.extend(value.map(|value| (name.clone(), value))),
            // The others may still show that the intent doesn't match.
            Err(FillError::Missing) => is_known = false,
            Err(FillError::Mismatch) => return Err(FillError::Mismatch),
        }
    }
    if is_known { Ok(filled) } else { Err(FillError::Missing) }
}

fn fill_value(value: &Value, captures: &Captures, context: &FillContext) -> Result<Option<Value>, FillError> {
    match value {
        Value::String(text) => fill_text(text, captures, context),
        Value::Array(items) => {
            let mut filled = Vec::new();
            for item in items {
                // A list within a list is flattened: `["{found.tags|?}", "{tags|list}"]`.
                match fill_value(item, captures, context)? {
                    Some(Value::Array(inner)) => filled.extend(inner),
                    other => filled.extend(other),
                }
            }
            Ok((!filled.is_empty() || items.is_empty()).then_some(Value::Array(filled)))
        }
        Value::Object(map) => fill(map, captures, context).map(|map| Some(Value::Object(map))),
        other => Ok(Some(other.clone())),
    }
}

fn fill_text(text: &str, captures: &Captures, context: &FillContext) -> Result<Option<Value>, FillError> {
    let parts = parts(text).ok_or(FillError::Mismatch)?;
    if let [Segment::Placeholder(name, conversion, optional)] = parts.as_slice() {
        return placeholder(name, conversion, *optional, captures, context);
    }
    let mut whole = String::new();
    for part in parts {
        match part {
            Segment::Text(text) => whole.push_str(text),
            Segment::Placeholder(name, conversion, optional) => {
                match placeholder(name, conversion, optional, captures, context)? {
                    Some(Value::String(text)) => whole.push_str(&text),
                    Some(other) => whole.push_str(&other.to_string()),
                    // A sentence with a placeholder in it would say something else.
                    None => return Ok(None),
                }
            }
        }
    }
    Ok(Some(Value::String(whole)))
}

fn placeholder(
    name: &str,
    conversion: &str,
    optional: bool,
    captures: &Captures,
    context: &FillContext,
) -> Result<Option<Value>, FillError> {
    if name == "results" {
        return context.results.map(|text| Some(Value::from(text))).ok_or(FillError::Missing);
    }
    if let Some(field) = name.strip_prefix("found.") {
        let value = found(context.found.ok_or(FillError::Missing)?, field);
        return if value.is_none() && !optional { Err(FillError::Mismatch) } else { Ok(value) };
    }
    let Some(capture) = captures.get(name) else { return Ok(None) };
    let value = match conversion {
        "moved" => moved(capture, context)?,
        "later" | "earlier" => shifted(capture, conversion == "later", context)?,
        _ => convert(capture, conversion, context.now),
    };
    if value.is_none() && !optional { Err(FillError::Mismatch) } else { Ok(value) }
}

/// The new time of what was found.
fn moved(capture: &Capture, context: &FillContext) -> Result<Option<Value>, FillError> {
    let period = capture.time(context.now).filter(|period| period.moment().is_some());
    let period = period.ok_or(FillError::Mismatch)?;
    if period.is_only_a_rule() {
        return Ok(None);
    }
    let found = context.found.ok_or(FillError::Missing)?;
    let old = items::time(found, context.now.zone);
    let new = old.map_or_else(|| period.moment(), |old| period.moved(old, context.now));
    Ok(new.map(|new| Value::from(new.iso())))
}

/// The time of what was found, this much later or earlier.
fn shifted(capture: &Capture, is_later: bool, context: &FillContext) -> Result<Option<Value>, FillError> {
    let by = time::length(&capture.text).ok_or(FillError::Mismatch)?;
    let found = context.found.ok_or(FillError::Missing)?;
    let new = items::time(found, context.now.zone).and_then(|old| by.shift(old, is_later));
    let new = new.map(|new| match new {
        When::Time(local) => When::Time(context.now.existing(local)),
        day => day,
    });
    Ok(new.map(|new| Value::from(new.iso())))
}

/// A field of the hit, or the first value of its plural ("emails" for `email`).
fn found(hit: &Value, field: &str) -> Option<Value> {
    let said = |value: &Value| !matches!(value, Value::Null);
    if let Some(value) = hit.get(field).filter(|value| said(value)) {
        return Some(value.clone());
    }
    hit.get(format!("{field}s")).and_then(|list| list.get(0)).cloned()
}

fn convert(capture: &Capture, conversion: &str, now: &Now) -> Option<Value> {
    let text = capture.text.as_str();
    let time = || capture.time(now);
    let iso = |when: Option<When>| Some(Value::from(when?.iso()));
    let value = match conversion {
        "time" => iso(time()?.moment())?,
        "start" => iso(time()?.beginning())?,
        "from" => iso(time()?.from())?,
        "end" => iso(time()?.end())?,
        "last" | "within" => iso(time()?.last())?,
        "ahead" => iso(ahead(&time()?, now))?,
        "until" => iso(time()?.until())?,
        "duration" => time()?.duration()?.into(),
        "repeat" => time()?.rule?.into(),
        "text" => plain(text, now)?.into(),
        "title" => capitalised(&plain(text, now)?).into(),
        "line" => capitalised(&clipped(&bare(text.lines().next()?)?, 70)).into(),
        "lower" => text.to_lowercase().into(),
        "tags" => some_list(hashtags(text))?,
        "list" => some_list(text.split([',', '&']).flat_map(|item| item.split(" and ")))?,
        "int" => text.parse::<i64>().ok()?.into(),
        "value" => json_value(bare(text)?),
        _ => bare(text)?.into(),
    };
    Some(value)
}

/// The beginning of a period that isn't now. What is overdue belongs to one that is.
fn ahead(period: &Period, now: &Now) -> Option<When> {
    let is_over = period.end().is_some_and(|end| end.local() <= now.local);
    period.from().filter(|from| is_over || from.local() > now.local)
}

/// A number, true, false or other JSON; otherwise a string.
fn json_value(text: String) -> Value {
    match text.to_lowercase().as_str() {
        "yes" | "true" => true.into(),
        "no" | "false" => false.into(),
        _ => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

fn some_list<'a>(items: impl Iterator<Item = &'a str>) -> Option<Value> {
    let items: Vec<Value> = items.filter_map(bare).map(Value::from).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

fn hashtags(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(hashtag)
}

/// "#home"; "#2" is a number.
fn hashtag(word: &str) -> Option<&str> {
    let tag = word.strip_prefix('#')?.trim_end_matches(MARKS);
    tag.contains(|letter: char| !letter.is_ascii_digit()).then_some(tag)
}

/// The text without its time phrase and hashtags.
fn plain(text: &str, now: &Now) -> Option<String> {
    let mut text = Cow::Borrowed(text);
    if hashtags(&text).next().is_some() {
        let words: Vec<&str> = text.split_whitespace().filter(|word| hashtag(word).is_none()).collect();
        text = Cow::Owned(words.join(" "));
    }
    if let Some(found) = when::find(&text, now, false) {
        text = Cow::Owned(found.rest(&text));
    }
    bare(&text)
}

/// Without punctuation and quotes around it; none if nothing is left.
fn bare(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches([',', ':', ';']).trim();
    let quoted = [('"', '"'), ('“', '”'), ('\'', '\''), ('«', '»')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    let text = quoted.unwrap_or(text).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// With a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The segments of an argument's string; none if a brace is not closed.
fn parts(text: &str) -> Option<Vec<Segment<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, placeholder) = rest.split_at(at);
        if let Some(after) = placeholder.strip_prefix("{{") {
            parts.push(Segment::Text(rest.get(..=at).unwrap_or_default()));
            rest = after;
            continue;
        }
        if !before.is_empty() {
            parts.push(Segment::Text(before));
        }
        let end = placeholder.find('}')?;
        let inner = placeholder.get(1..end).unwrap_or_default();
        let (name, conversion) = inner.split_once('|').unwrap_or((inner, ""));
        let (name, conversion) = (name.trim(), conversion.trim());
        let kind = conversion.strip_suffix('?').unwrap_or(conversion);
        parts.push(Segment::Placeholder(name, kind, conversion.len() > kind.len()));
        rest = placeholder.get(end + 1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        parts.push(Segment::Text(rest));
    }
    Some(parts)
}

/// The conversions of a capture's placeholders.
pub(super) fn conversions(arguments: &Map<String, Value>, capture: &str) -> Vec<String> {
    let parts = arguments.values().flat_map(strings).filter_map(parts).flatten();
    let of_capture = |part: Segment| match part {
        Segment::Placeholder(name, conversion, _) if name == capture => Some(conversion.to_owned()),
        _ => None,
    };
    parts.filter_map(of_capture).collect()
}

/// Whether the arguments hold this placeholder.
pub(super) fn mentions(arguments: &Map<String, Value>, name: &str) -> bool {
    arguments.values().flat_map(strings).any(|text| {
        parts(text).is_some_and(|parts| {
            parts
                .iter()
                .any(|part| matches!(part, Segment::Placeholder(placeholder, ..) if *placeholder == name))
        })
    })
}

fn strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(strings)),
        Value::Object(map) => Box::new(map.values().flat_map(strings)),
        _ => Box::new(std::iter::empty()),
    }
}
