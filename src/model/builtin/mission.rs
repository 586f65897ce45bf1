//! The sub-agent: one mission, the granted skills, the search for what is meant, and then the calls that it fills.

use serde_json::{Map, Value, json};

use super::fill::FillContext;
use super::input;
use super::intents::{Intent, Intents, Meaning, is_plural};
use super::items;
use super::lookups::{self, EVENTS, MOST_DELETIONS, MOST_PARTS, Search};
use super::moves;
use super::plan::Reason;
use super::replies::{self, clipped};
use super::split;
use super::steps;
use super::time::{Now, words};
use crate::model::{Message, Request, Role, ToolCall};

/// What the planner answers.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Tool calls.
    Call(Vec<ToolCall>),
    /// Text, which ends the work.
    Say(String),
}

/// How the parts of a brief begin after its mission.
const PARTS: [&str; 4] = ["Now:", "Context:", "Result of ", "Data of "];

/// The brief of a mission, read from the request's user message.
struct Brief<'a> {
    mission: &'a str,
    results: String,
    /// The items that each dependency returned, the nearest last, and whether they were a list.
    things: Vec<(bool, Vec<Value>)>,
}

impl Brief<'_> {
    /// "it" is the nearest item; "them" the nearest list if there is one, else all items.
    fn meant(&self, plural: bool) -> Vec<Value> {
        let mut nearest = self.things.iter().rev().filter(|(_, things)| !things.is_empty());
        match (plural, nearest.clone().find(|(is_list, _)| *is_list)) {
            (true, Some((_, list))) => list.clone(),
            (true, None) => self.things.iter().flat_map(|(_, things)| things.clone()).collect(),
            (false, _) => nearest.next().map(|(_, things)| things.clone()).unwrap_or_default(),
        }
    }
}

/// Whether a mission is to make a plan; see `wording::plans`.
pub(super) fn wants_plan(request: &Request) -> bool {
    let said = request.messages.iter().find(|message| message.role == Role::User);
    said.is_some_and(|message| message.text.contains("Make a plan for this goal:\n"))
}

/// Decides the next step of a mission.
pub(super) fn next(request: &Request, intents: &Intents, now: &Now) -> Reply {
    let Some(said) = request.messages.iter().find(|message| message.role == Role::User) else {
        return Reply::Say("This request contains no mission.".into());
    };
    let text = input::opened(&input::joined(&said.text), &PARTS);
    let brief = brief(&text);
    let granted = granted(request);
    let usable = |entry: &Intent, pronoun: Option<&str>| {
        let source = &entry.source;
        let lookup = source.lookup.as_ref();
        granted.contains(&source.skill.as_str())
            && lookup.is_none_or(|lookup| pronoun.is_some() || granted.contains(&lookup.skill.as_str()))
            && (pronoun.is_none() || lookup.is_some() || entry.needs_results())
    };
    let mission = split::tidy(brief.mission);
    let Some(mut meaning) = intents.meaning(mission, now, &usable) else {
        return Reply::Say(format!(
            "I'm the built-in planner, and I don't know how to do “{}” with {}.",
            clipped(brief.mission, 200),
            if granted.is_empty() { "no skills".into() } else { granted.join(", ") }
        ));
    };
    if let Some(leftover) = meaning.leftover {
        return Reply::Say(replies::refusal(&Reason::Leftover(leftover)));
    }
    meaning.take_end(mission, split::end_after(mission, brief.mission));
    let or_an_event = granted.contains(&EVENTS) && meaning.entry.source.skill.starts_with("tasks.");
    match targets(&request.messages, &brief, &meaning, or_an_event, now) {
        Ok(targets) => act(&request.messages, &brief, &meaning, &targets, now),
        Err(next) => next,
    }
}

/// The items to call the skill for; a single null if it needs none.
fn targets(
    messages: &[Message],
    brief: &Brief,
    meaning: &Meaning,
    or_an_event: bool,
    now: &Now,
) -> Result<Vec<Value>, Reply> {
    let Some(lookup) = &meaning.entry.source.lookup else { return Ok(vec![Value::Null]) };
    if let Some(pronoun) = &meaning.pronoun {
        let plural = is_plural(pronoun);
        let meant = brief.meant(plural);
        return match (meant.as_slice(), plural) {
            ([], _) => Err(Reply::Say(format!("I don't know what “{pronoun}” refers to, so I did nothing."))),
            ([_], _) | (_, true) => Ok(meant),
            (several, false) => Err(Reply::Say(lookups::ask_which(pronoun, several.iter()))),
        };
    }
    let context = FillContext { now, results: Some(&brief.results), found: None };
    let arguments = match meaning.lookup(&context) {
        Some(Ok(arguments)) => arguments,
        _ => Map::new(),
    };
    let wanted = arguments.get("query").and_then(Value::as_str).unwrap_or(brief.mission).to_owned();
    let search = Search { messages, skill: &lookup.skill, arguments, or_an_event, now };
    // In quotes, it's one name.
    let is_list = meaning.captures.values().any(|capture| {
        capture.conversions().contains(&"things") && capture.text.trim_end_matches([',', ':', ';']) == wanted
    });
    let most = if steps::deletes(&meaning.entry.source.skill) { MOST_DELETIONS } else { MOST_PARTS };
    search.targets(&wanted, if is_list { most } else { 1 })
}

/// Calls the skill for the targets, or reports the results.
fn act(messages: &[Message], brief: &Brief, meaning: &Meaning, targets: &[Value], now: &Now) -> Reply {
    let ids: Vec<String> = (1..=targets.len()).map(|at| format!("do{at}")).collect();
    let answers: Vec<&str> = ids.iter().filter_map(|id| answer_to(messages, id)).collect();
    if answers.is_empty() {
        return calls(targets.iter().zip(&ids), brief, meaning, now).map_or_else(Reply::Say, Reply::Call);
    }
    let results = answers.iter().map(|answer| {
        let answer = input::results(answer).into_iter().next().unwrap_or(Value::Null);
        match answer.get("status").and_then(Value::as_str) {
            Some("completed") => {
                answer.get("summary").and_then(Value::as_str).map_or("Done.", input::inside).to_owned()
            }
            _ => failure(&answer),
        }
    });
    Reply::Say(results.collect::<Vec<_>>().join("\n"))
}

/// The calls for the targets, or why there are none.
fn calls<'a>(
    targets: impl Iterator<Item = (&'a Value, &'a String)>,
    brief: &Brief,
    meaning: &Meaning,
    now: &Now,
) -> Result<Vec<ToolCall>, String> {
    let mut calls = Vec::new();
    for (target, id) in targets {
        let context = FillContext { now, results: Some(&brief.results), found: Some(target) };
        let Ok(arguments) = meaning.arguments(&context) else {
            return Err(moves::lacking(meaning, target, now));
        };
        if let Some(why) = moves::refused(meaning, &arguments, target, (brief.mission, now)) {
            return Err(why);
        }
        if let Some(why) = part_of(target, meaning) {
            return Err(why);
        }
        calls.push(call(id, &meaning.entry.source.skill, &arguments));
    }
    Ok(calls)
}

/// Why nothing is done to a thing of several: “milk” of “buy milk and bread” isn't all of it.
fn part_of(target: &Value, meaning: &Meaning) -> Option<String> {
    if !["tasks.delete", "tasks.complete"].contains(&meaning.entry.source.skill.as_str()) {
        return None;
    }
    let title = items::name(target)?;
    let wanted = &meaning.captures.values().find(|capture| capture.is_searched())?.text;
    let parts: Vec<String> = title
        .to_lowercase()
        .split([',', '&'])
        .flat_map(|part| part.split(" and "))
        .map(str::to_owned)
        .collect();
    let said = words(wanted);
    let is_named = |part: &String| {
        let own = words(part);
        own.is_empty() || own.iter().any(|word| said.iter().any(|said| said.text == word.text))
    };
    let is_part = parts.len() > 1 && !parts.iter().all(is_named);
    is_part.then(|| format!("“{title}” is about more than “{wanted}”, so I changed nothing. If you mean all of it, put its whole name in quotes."))
}

/// Why a call failed, in words.
pub(super) fn failure(answer: &Value) -> String {
    answer.get("error").map_or_else(|| "it returned no usable answer".into(), input::error_text)
}

/// A call of a skill.
pub(super) fn call(call_id: &str, skill: &str, arguments: &Map<String, Value>) -> ToolCall {
    let arguments = json!({ "skill": skill, "arguments": arguments }).to_string();
    ToolCall { id: call_id.into(), name: "use_skill".into(), arguments }
}

/// What a call returned.
pub(super) fn answer_to<'a>(messages: &'a [Message], call_id: &str) -> Option<&'a str> {
    let answers =
        |message: &&Message| message.role == Role::Tool && message.tool_call_id.as_deref() == Some(call_id);
    messages.iter().find(answers).map(|message| message.text.as_str())
}

fn granted(request: &Request) -> Vec<&str> {
    let tool = request.tools.iter().find(|tool| tool.name == "use_skill");
    let names =
        tool.and_then(|tool| tool.parameters.pointer("/properties/skill/enum")).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn brief(text: &str) -> Brief<'_> {
    let after =
        text.find("Mission:").map_or(text, |at| text.get(at + "Mission:".len()..).unwrap_or_default());
    let end = PARTS.iter().filter_map(|next| after.find(&format!("\n{next}"))).min().unwrap_or(after.len());
    let mut results: Vec<String> = Vec::new();
    let mut things = Vec::new();
    let mut in_result = false;
    for line in after.get(end..).unwrap_or_default().lines() {
        if let Some((_, said)) = line.strip_prefix("Result of ").and_then(|rest| rest.split_once("): ")) {
            in_result = true;
            results.push(said.to_owned());
        } else if let Some((name, data)) =
            line.strip_prefix("Data of ").and_then(|rest| rest.split_once(": "))
        {
            in_result = false;
            // One call of several isn't what the agent was asked for.
            if name.ends_with(')') {
                continue;
            }
            let data: Value = serde_json::from_str(data).unwrap_or(Value::Null);
            results = vec![items::described(&results.join("\n"), &data)];
            things.push((data.get("items").is_some(), items::of(&data)));
        } else if in_result && !PARTS.iter().any(|next| line.starts_with(next)) {
            results.push(line.to_owned());
        } else {
            in_result = false;
        }
    }
    let mission = after.get(..end).unwrap_or(after).trim();
    Brief { mission, results: results.join("\n").trim().to_owned(), things }
}
