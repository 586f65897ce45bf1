//! What the words of a mission mean: the one thing that a search finds by them, or one for each of "milk and bread".

use serde_json::{Map, Value};

use super::follow;
use super::input;
use super::items;
use super::mission::{Reply, answer_to, call, failure};
use super::replies;
use super::steps;
use super::time::Now;
use crate::clock::when::When;
use crate::model::{Message, ToolCall};

/// The question above a list of things that match.
pub(super) const WHICH: &str = "Which one do you mean?";
/// How that answer begins.
pub(super) const SEVERAL: &str = "Several things match “";
/// The skill that searches for an event, where a task or an event may be meant.
pub(super) const EVENTS: &str = "calendar.search";
/// The id of the search call.
const SEARCH: &str = "search";
/// More things than this would take more calls than an agent has.
pub(super) const MOST_PARTS: usize = 4;
/// The third deletion of a turn waits for the person's yes, when the first two are done.
pub(super) const MOST_DELETIONS: usize = 2;

/// A search, and what it has found so far.
pub(super) struct Search<'a> {
    /// The agent's talk, in which the answers are.
    pub(super) messages: &'a [Message],
    /// The skill that searches.
    pub(super) skill: &'a str,
    /// Its arguments; the words are the `query`.
    pub(super) arguments: Map<String, Value>,
    /// Whether an event may be meant instead of a task.
    pub(super) or_an_event: bool,
    /// The person's time.
    pub(super) now: &'a Now,
}

/// Why it isn't certain which thing is meant, in words.
enum Unclear {
    /// Nothing has this name.
    Nothing(String),
    /// Several have it.
    Several(String),
    /// It may be something else, or can't be known.
    Doubtful(String),
}

impl Unclear {
    fn text(self) -> String {
        match self {
            Self::Nothing(text) | Self::Several(text) | Self::Doubtful(text) => text,
        }
    }
}

impl Search<'_> {
    /// What the words mean: one thing, or one for each part of them if the whole has no such name and so many may be meant.
    /// Otherwise the next calls, or why it isn't certain.
    pub(super) fn targets(&self, wanted: &str, most: usize) -> Result<Vec<Value>, Reply> {
        let Some(found) = self.found(SEARCH, wanted) else {
            return Err(Reply::Call(self.calls(SEARCH, wanted)));
        };
        let why = match found {
            Ok(one) => return Ok(vec![one]),
            Err(why) => why,
        };
        let parts = parts(wanted);
        if !matches!(why, Unclear::Nothing(_)) || parts.len() < 2 || most < 2 {
            return Err(Reply::Say(why.text()));
        }
        if parts.len() > most {
            return Err(Reply::Say(format!(
                "I do this with at most {most} things at a time, so I changed nothing. Name fewer of them."
            )));
        }
        let parts = || parts.iter().enumerate().map(|(at, part)| (format!("{SEARCH}{}", at + 1), *part));
        let Some(found) = parts().map(|(id, part)| self.found(&id, part)).collect::<Option<Vec<_>>>() else {
            return Err(Reply::Call(parts().flat_map(|(id, part)| self.calls(&id, part)).collect()));
        };
        let mut targets: Vec<Value> = Vec::new();
        let mut besides: Vec<Vec<String>> = Vec::new();
        for (found, (_, part)) in found.into_iter().zip(parts()) {
            let one = found.map_err(|why| match why {
                // The answer would be about this part alone.
                Unclear::Several(_) => {
                    Reply::Say(format!("{SEVERAL}{part}”, so I changed nothing. Name each of them in full."))
                }
                why => Reply::Say(why.text()),
            })?;
            besides.push(items::words_besides(&one, part));
            if !targets.contains(&one) {
                targets.push(one);
            }
        }
        // "Milk and bread" of "buy milk" and "buy bread", not of "buy milk" and "visit the bread museum".
        match besides.iter().all(|more| besides.first() == Some(more)) {
            true => Ok(targets),
            false => Err(Reply::Say(format!(
                "I'm not sure that you mean these, so I changed nothing. Name each of them in full:\n{}",
                items::list(targets.iter())
            ))),
        }
    }

    fn calls(&self, call_id: &str, wanted: &str) -> Vec<ToolCall> {
        let mut arguments = self.arguments.clone();
        let mut query = Map::new();
        if let Some(words) = arguments.get_mut("query") {
            // A line chosen from a list has the thing's time behind its title.
            *words = follow::title_of(wanted).into();
            query.insert("query".into(), words.clone());
        }
        let mut calls = vec![call(call_id, self.skill, &arguments)];
        calls.extend(self.or_an_event.then(|| call(&format!("{call_id}-events"), EVENTS, &query)));
        calls
    }

    /// The one thing that the words mean; none before it was searched for.
    fn found(&self, call_id: &str, wanted: &str) -> Option<Result<Value, Unclear>> {
        let answer =
            input::results(answer_to(self.messages, call_id)?).into_iter().next().unwrap_or(Value::Null);
        if answer.get("status").and_then(Value::as_str) != Some("completed") {
            return Some(Err(Unclear::Doubtful(format!("The search failed: {}", failure(&answer)))));
        }
        let mut hits: Vec<Value> = Vec::new();
        for hit in items::of(&input::data(answer.get("data"))) {
            // Nobody can tell two alike apart, so either will do.
            if !hits.iter().any(|known| items::is_alike(known, &hit)) {
                hits.push(hit);
            }
        }
        let line = format!("- {wanted}");
        let mut on_that_line =
            hits.iter().filter(|hit| follow::title_of(wanted) != wanted && items::line(hit) == line);
        if let (Some(chosen), None) = (on_that_line.next(), on_that_line.next()) {
            return Some(Ok(chosen.clone()));
        }
        Some(self.chosen(&hits, wanted, &self.events(call_id, wanted)).cloned())
    }

    /// The one hit that the words mean, or why it isn't certain.
    fn chosen<'h>(&self, hits: &'h [Value], wanted: &str, events: &[Value]) -> Result<&'h Value, Unclear> {
        let exact: Vec<&Value> =
            hits.iter().filter(|hit| items::name(hit).is_some_and(|name| same(name, wanted))).collect();
        // A search also finds “car” in “scarf”, which is good for a list, and no reason to delete it.
        let is_loose = !["tasks", "calendar", "contacts"].contains(&steps::domain(self.skill));
        let named: Vec<&Value> =
            hits.iter().filter(|hit| is_loose || items::has_words(hit, wanted)).collect();
        if let [one] = named.as_slice()
            && let Some(first) = began_before(one, &self.arguments, self.now)
        {
            let title = items::name(one).unwrap_or_default();
            return Err(Unclear::Doubtful(format!(
                "“{title}” begins on {first}, so I changed nothing. Say “cancel {}” if you mean all of it.",
                replies::quoted(title)
            )));
        }
        if let (Some(event), [] | [_]) = (events.first(), named.as_slice()) {
            return Err(Unclear::Doubtful(or_an_event(wanted, named.first().copied(), event)));
        }
        let none = none_of(self.skill);
        match (exact.as_slice(), named.as_slice()) {
            ([one], _) | (_, [one]) => Ok(one),
            (_, []) => Err(Unclear::Nothing(match hits.first().and_then(items::name) {
                Some(near) => format!(
                    "I found {none} called “{wanted}”, so I changed nothing. The closest is “{near}”.",
                ),
                None => format!("I found {none} that matches “{wanted}”, so I changed nothing."),
            })),
            (_, several) => Err(Unclear::Several(ask_which(wanted, several.iter().copied()))),
        }
    }

    /// The events that the search for them found by whole words.
    fn events(&self, call_id: &str, wanted: &str) -> Vec<Value> {
        let answer = answer_to(self.messages, &format!("{call_id}-events"));
        let answer = answer.and_then(|answer| input::results(answer).into_iter().next());
        let data = answer.map(|answer| input::data(answer.get("data"))).unwrap_or_default();
        items::of(&data).into_iter().filter(|hit| items::has_words(hit, wanted)).collect()
    }
}

/// "Milk", "bread" of "milk and the bread".
fn parts(wanted: &str) -> Vec<&str> {
    let parts = wanted.split([',', '&']).flat_map(|part| part.split(" and "));
    parts
        .map(|part| part.trim().trim_start_matches("the ").trim_start_matches("my "))
        .filter(|part| !part.is_empty())
        .collect()
}

/// When an event begins that was looked for on a later day: that day isn't all of it.
fn began_before(event: &Value, arguments: &Map<String, Value>, now: &Now) -> Option<String> {
    let asked = When::parse(arguments.get("start")?.as_str()?, now.zone).ok()?;
    let start = items::time_in(event, "start", now.zone)?;
    (start.local().date() < asked.local().date()).then(|| start.spoken())
}

/// Why nothing is done where an event may be meant instead of a task.
fn or_an_event(wanted: &str, task: Option<&Value>, event: &Value) -> String {
    let event = items::name(event).unwrap_or_default();
    let said = replies::quoted(event);
    let say = format!("For the event, say “cancel {said}” or “move the event {said} to …”");
    match task.and_then(items::name) {
        Some(task) => format!(
            "“{wanted}” may be the task “{task}” or the event “{event}”, so I changed nothing. {say}; for the task, say “task” with it."
        ),
        None => format!("I found no task that matches “{wanted}”, so I changed nothing. {say}."),
    }
}

/// What a search of this skill looks among.
fn none_of(skill: &str) -> &'static str {
    match steps::domain(skill) {
        "tasks" => "no task",
        "calendar" => "no event",
        "contacts" => "no contact",
        _ => "nothing",
    }
}

/// Asks which of several is meant.
pub(super) fn ask_which<'a>(wanted: &str, several: impl Iterator<Item = &'a Value>) -> String {
    let list = items::list(several);
    format!("{SEVERAL}{wanted}”, so I changed nothing. {WHICH}\n{list}")
}

fn same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}
