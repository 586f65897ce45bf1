//! What the parts of a text ask for, without doing it: what a workflow's steps are made of.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use serde_json::{Map, Value};

use super::fill::Ground;
use super::intents::{Entry, Intents, Meaning};
use super::split::{self, Place};
use super::when::Now;

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'t> {
    /// Its words, without politeness and the final mark.
    pub text: &'t str,
    /// What it was understood as; none when it was not.
    pub sense: Option<Sense>,
}

/// What a part was understood as.
#[derive(Debug, Clone, PartialEq)]
pub enum Sense {
    /// It asks for a skill.
    Skill(Asked),
    /// The caller knows what it is.
    Other,
}

/// A skill that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The skill.
    pub skill: String,
    /// The one that has to search first.
    pub lookup: Option<String>,
    /// It speaks of what came before: "it", "them", or a mail of results.
    pub refers: bool,
    /// Its arguments, the same whenever it is asked; none when they hang on the search, on what came before, or on
    /// the day in a way that no given name says.
    pub arguments: Option<Map<String, Value>>,
    /// The words that it took from the text.
    pub taken: Vec<String>,
}

/// How the caller's templates name what is not known yet.
#[derive(Clone, Copy)]
pub struct Names<'n> {
    /// Days, by how many they are after today.
    pub days: &'n [(&'n str, i64)],
    /// What earlier parts brought.
    pub results: &'n str,
}

/// Parts a text at "and", commas and sentences where both sides are understood; `other` knows parts that ask for no
/// skill, and is told whether a part must be understood beyond doubt.
pub fn parts<'t>(
    text: &'t str,
    intents: &Intents,
    names: Names<'_>,
    other: &dyn Fn(&str, bool) -> bool,
) -> Vec<Part<'t>> {
    let Some(nows) = nows() else { return Vec::new() };
    let understand = |part: &str, place: Place| {
        let usable = |entry: &Entry, pronoun: Option<&str>| {
            pronoun.is_none() || entry.needs_results() || entry.source.lookup.is_some()
        };
        let meaning = intents.meaning(part, &nows[0], &usable);
        let sure = meaning.filter(|meaning| !place.doubtful || meaning.own_words >= 2);
        match sure {
            Some(meaning) => Some(Sense::Skill(asked(&meaning, &nows, names))),
            None => other(part, place.doubtful).then_some(Sense::Other),
        }
    };
    let pieces = split::split(text, &understand).into_iter();
    pieces.map(|piece| Part { text: piece.text, sense: piece.meaning }).collect()
}

fn asked(meaning: &Meaning, nows: &[Now], names: Names<'_>) -> Asked {
    let source = &meaning.entry.source;
    let at = |now: &Now| {
        let ground = Ground { now, results: Some(names.results), found: None };
        meaning.arguments(&ground).ok().map(|arguments| (now.local, Value::Object(arguments)))
    };
    let known = || {
        let filled: Vec<(NaiveDateTime, Value)> = nows.iter().map(at).collect::<Option<_>>()?;
        let filled: Vec<_> = filled.iter().map(|(now, value)| (*now, value)).collect();
        match timeless(&filled, names.days)? {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        }
    };
    Asked {
        skill: source.skill.clone(),
        lookup: source.lookup.as_ref().map(|lookup| lookup.skill.clone()),
        refers: meaning.entry.needs_results() || meaning.pronoun.is_some(),
        arguments: if source.lookup.is_none() && meaning.pronoun.is_none() { known() } else { None },
        taken: meaning.captures.values().cloned().collect(),
    }
}

/// Moments so unlike one another that what is the same at all of them, or as far away, is so at any.
fn nows() -> Option<[Now; 4]> {
    let at = |year, month, day, hour, minute| {
        let day = NaiveDate::from_ymd_opt(year, month, day)?;
        Some(Now { local: day.and_time(NaiveTime::from_hms_opt(hour, minute, 0)?), zone: Tz::UTC })
    };
    Some([at(2031, 3, 5, 0, 0)?, at(2032, 7, 10, 12, 0)?, at(2033, 12, 31, 23, 59)?, at(2035, 2, 1, 8, 30)?])
}

/// The value that stands for all of these, each at its moment; none when there is none.
fn timeless(values: &[(NaiveDateTime, &Value)], days: &[(&str, i64)]) -> Option<Value> {
    let (_, first) = values.first()?;
    if values.iter().all(|(_, value)| value == first) {
        return Some((*first).clone());
    }
    let inside = |pick: &dyn Fn(&Value) -> Option<&Value>| {
        let inner: Vec<_> =
            values.iter().map(|(now, value)| Some((*now, pick(value)?))).collect::<Option<_>>()?;
        timeless(&inner, days)
    };
    match first {
        Value::Object(fields) => {
            let fields = fields.keys().map(|key| Some((key.clone(), inside(&|value| value.get(key))?)));
            fields.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        Value::Array(items) => (0..items.len()).map(|at| inside(&|value| value.get(at))).collect(),
        Value::String(_) => named_day(values, days).map(Value::String),
        _ => None,
    }
}

/// `2031-03-06T14:00`, always the day after, as `{{tomorrow}}T14:00`.
fn named_day(values: &[(NaiveDateTime, &Value)], days: &[(&str, i64)]) -> Option<String> {
    let read = |(now, value): &(NaiveDateTime, &Value)| {
        let (date, rest) = value.as_str()?.split_at_checked(10)?;
        let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
        Some(((date - now.date()).num_days(), rest.to_owned()))
    };
    let first = read(values.first()?)?;
    let same = values.iter().all(|value| read(value).as_ref() == Some(&first));
    let (name, _) = days.iter().find(|(_, later)| *later == first.0).filter(|_| same)?;
    Some(format!("{{{{{name}}}}}{}", first.1))
}
