//! The planner in talk: what it dispatches for what people type, and what it answers.

mod answers;
mod missions;
mod phrases;
mod plans;
mod random;
mod sentences;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::*;
use crate::model::Tool;

/// Saturday, a quarter past ten.
pub(super) const NOW: &str = "2026-11-21T10:15 Saturday, Europe/Berlin";

/// The intents of skill files, read without their loader.
pub(super) fn intents_of(files: &[&str]) -> Arc<Intents> {
    let mut sources = Vec::new();
    for file in files {
        let file: Value = toml::from_str(file).unwrap();
        for skill in file["skill"].as_array().unwrap() {
            for intent in skill["intents"].as_array().into_iter().flatten() {
                sources.push(source(skill["name"].as_str().unwrap(), intent));
            }
        }
    }
    Arc::new(Intents::new(sources).unwrap_or_else(|fault| panic!("intent {}: {fault}", fault.index)))
}

fn source(skill: &str, intent: &Value) -> IntentSource {
    let map = |value: &Value| value.as_object().cloned().unwrap_or_else(Map::new);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let lookup =
        |known: &Value| Lookup { skill: text(&known["skill"]).unwrap(), arguments: map(&known["arguments"]) };
    IntentSource {
        skill: skill.into(),
        pattern: text(&intent["pattern"]).unwrap(),
        arguments: map(&intent["arguments"]),
        lookup: intent.get("lookup").map(lookup),
        also: intent.get("also").map(lookup),
        example: text(&intent["example"]),
    }
}

pub(super) const TASKS: &str = include_str!("../../../../skills/tasks.toml");
pub(super) const MEMORY: &str = include_str!("../../../../skills/memory.toml");
pub(super) const EMAIL: &str = include_str!("../../../../skills/email.toml");
pub(super) const CALENDAR: &str = include_str!("../../../../skills/calendar.toml");
pub(super) const CONTACTS: &str = include_str!("../../../../skills/contacts.toml");

pub(super) fn planner(files: &[&'static str]) -> Planner {
    // Compiling the patterns is most of a test's time, and the property tests ask often.
    static KNOWN: Mutex<BTreeMap<Vec<&str>, Arc<Intents>>> = Mutex::new(BTreeMap::new());
    let intents = KNOWN.lock().unwrap().entry(files.to_vec()).or_insert_with(|| intents_of(files)).clone();
    Planner::new(Arc::new(move || intents.clone()))
}

fn tool(name: &str, parameters: Value) -> Tool {
    Tool { name: name.into(), description: String::new(), parameters }
}

/// An orchestrator's request.
pub(super) fn request(text: &str) -> Request {
    let context = format!(
        "Person: Ada\nChannel: console\nNow: {NOW}\nOpen tasks:\n- [t1] buy milk (due 2026-11-22)\n- [t2] send the report"
    );
    Request {
        messages: vec![
            Message::new(Role::System, "You are the assistant."),
            Message::new(Role::System, context),
            Message::new(Role::User, text.to_owned()),
        ],
        tools: ["get_skill", "dispatch_agent", "get_agent_results"].map(|name| tool(name, json!({}))).into(),
    }
}

pub(super) fn ask(planner: &Planner, request: &Request) -> ModelResponse {
    futures::executor::block_on(planner.call(request)).unwrap()
}

/// Puts an answer's calls and their results behind a request.
pub(super) fn reply(request: &mut Request, answer: &ModelResponse, results: &[Value]) {
    assert_eq!(answer.tool_calls.len(), results.len(), "{:?}", answer.tool_calls);
    request
        .messages
        .push(Message { tool_calls: answer.tool_calls.clone(), ..Message::new(Role::Assistant, "") });
    for (call, result) in answer.tool_calls.iter().zip(results) {
        request.messages.push(Message::tool(&call.id, result.to_string()));
    }
}

/// A plan as a person reads it: an agent a line.
pub(super) fn plan_of(planner: &Planner, request: &Request) -> String {
    let answer = ask(planner, request);
    let lines: Vec<String> = answer
        .tool_calls
        .iter()
        .map(|call| {
            let said: Value = serde_json::from_str(&call.arguments).unwrap();
            let skills: Vec<&str> =
                said["skills"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let what = said
                .get("arguments")
                .map_or_else(|| format!("“{}”", said["mission"].as_str().unwrap()), Value::to_string);
            let waits = said.get("depends_on").map_or_else(String::new, |waits| format!(" after {waits}"));
            format!("{} {} {what}{waits}", said["agent_id"].as_str().unwrap(), skills.join("+"))
        })
        .collect();
    if lines.is_empty() { format!("SAYS {}", answer.text) } else { lines.join("\n") }
}
