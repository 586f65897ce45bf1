//! The model that needs no network and no key: a deterministic planner that understands what the
//! skills' `[[skill.intents]]` describe, as orchestrator and as sub-agent.
//!
//! # Writing an intent
//!
//! ```toml
//! [[skill.intents]]
//! pattern = '^remind me (?P<what>.+)$'
//! arguments = { title = "{what|text}", due = "{what|time?}" }
//! example = "remind me to call Bob tomorrow at 9"
//! ```
//!
//! A message is cut into parts at "and", "then", commas, sentences and lines where each side is
//! understood by itself. A `pattern` is a regular expression, tried on one part at a time, without
//! politeness ("please", "can you") and without the mark at its end; upper and lower case are the same,
//! so begin with `^` and end with `$`. Of several that fit, one that covers the whole part wins, then
//! the one with more words of its own, then the earlier one.
//!
//! In the strings of `arguments`, `{name}` stands for the named capture; `{{` is a brace. An argument
//! whose capture did not match is left out. `{name|conversion}` turns it into something else; when
//! that can't be done the intent doesn't fit, or, with a `?` at the end, the argument is left out:
//!
//! | conversion | gives |
//! | --- | --- |
//! | `time` | the date or time phrase in it: `2026-11-27T17:00`, or `2024-02-15` when no time was said |
//! | `end` | where the span that was named ends, exclusive: "tomorrow", "this week", "2pm to 4pm" |
//! | `duration` | "for 30 minutes", as `PT30M` |
//! | `repeat` | "every Monday", "daily", as an RRULE |
//! | `text` | its words without time phrase and `#tags` |
//! | `title` | the same with a capital letter |
//! | `line` | its first line with a capital letter, shortened: a subject |
//! | `lower` | in lower case |
//! | `tags` | its `#tags`, as a list |
//! | `list` | its items, parted by commas or "and", as a list |
//! | `int` | a whole number |
//! | `value` | a number, true ("yes"), false ("no") or other JSON; what is none stays a text |
//!
//! `{name|?}` converts nothing and may be missing. A list inside a list is taken apart:
//! `["{found.tags|?}", "{tags|list}"]`.
//!
//! `{results}` is what earlier parts of the message brought, in words (the body of a mail); the intent
//! then fits only a part that has one before it.
//!
//! `lookup = { skill = "tasks.search", arguments = { query = "{title}" } }` searches first. With one hit
//! (or one whose title is just `query`) its fields stand in `{found.id}`, `{found.email}` and so on;
//! with none or several nothing is done and the person is told. "it", "them" and "him" in a capture
//! mean what an earlier part found or made, so they fit only intents with a `lookup` or `{results}`.

mod calendar;
mod fill;
mod intents;
mod mission;
mod phrase;
mod plan;
mod read;
mod say;
mod split;
mod summary;
mod things;
mod when;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

pub use intents::{IntentError, IntentSource, Intents, Lookup};

use super::price::Price;
use super::{Answer, Message, Model, ModelError, ModelErrorKind, Request, Role, ToolCall};
use mission::Next;
use plan::{Plan, Step, Talk};
use when::Now;

/// The name that answers carry.
const NAME: &str = "builtin";
/// So often running agents are asked for before the answer says that they still run.
const WAITS: usize = 3;

/// The built-in model.
pub struct Planner {
    intents: Arc<dyn Fn() -> Arc<Intents> + Send + Sync>,
}

impl Planner {
    /// A planner that asks for the intents at each call, so that a changed skill file counts at once.
    pub fn new(intents: Arc<dyn Fn() -> Arc<Intents> + Send + Sync>) -> Self {
        Self { intents }
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Planner")
    }
}

#[async_trait]
impl Model for Planner {
    async fn call(&self, request: &Request) -> Result<Answer, ModelError> {
        let intents = (self.intents)();
        let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
        let next = if has("dispatch_agent") {
            orchestrate(request, &intents)?
        } else if has("use_skill") {
            let now = timed(request.messages.iter())?;
            mission::next(request, &intents, &now)
        } else if summary::is_wanted(request) {
            Next::Say(summary::answer(request))
        } else {
            let message = "the built-in planner can't think, write or judge";
            return Err(ModelError::new(ModelErrorKind::BeyondPlanner, message));
        };
        let (text, tool_calls) = match next {
            Next::Say(text) => (text, Vec::new()),
            Next::Call(calls) => (String::new(), calls),
        };
        Ok(Answer { text, tool_calls, model: NAME.into(), ..Answer::default() })
    }

    fn price(&self) -> Option<Price> {
        Some(Price { input: 0.0, cached_input: None, output: 0.0 })
    }
}

/// The orchestrator: dispatches what the text asks for, waits, and tells what came of it.
fn orchestrate(request: &Request, intents: &Intents) -> Result<Next, ModelError> {
    let Some((before, text, exchange)) = read::person(&request.messages) else {
        return Err(ModelError::new(
            ModelErrorKind::Refused,
            "the request contains no message from a person",
        ));
    };
    let now = timed(before.iter().filter(|message| message.role == Role::System))?;
    let answer = before.iter().rfind(|message| message.role == Role::Assistant);
    let talk =
        Talk { tasks: read::open_tasks(before), answer: answer.map_or("", |message| message.text.as_str()) };
    let plan = plan::plan(text, intents, &now, &talk);
    if plan.steps.is_empty() {
        return Ok(Next::Say(say::nothing_to_do(text, intents)));
    }
    Ok(follow(&plan, exchange, intents))
}

fn follow(plan: &Plan, exchange: &[Message], intents: &Intents) -> Next {
    let called = |name: &str| {
        exchange.iter().flat_map(|message| &message.tool_calls).filter(|call| call.name == name).count()
    };
    if called("dispatch_agent") == 0 {
        return Next::Call(plan.steps.iter().map(dispatch).collect());
    }
    let reports = read::reports(exchange);
    let asked = called("get_agent_results");
    let open: Vec<&String> =
        reports.iter().filter(|(_, report)| report.is_open()).map(|(agent, _)| agent).collect();
    if !open.is_empty() && asked < WAITS {
        let arguments = json!({ "agent_ids": open }).to_string();
        let id = format!("results{}", asked + 1);
        return Next::Call(vec![ToolCall { id, name: "get_agent_results".into(), arguments }]);
    }
    Next::Say(say::answer(plan, &reports, intents))
}

fn dispatch(step: &Step) -> ToolCall {
    let mut arguments = json!({ "agent_id": step.agent_id, "mission": step.mission, "skills": step.skills });
    if !step.depends_on.is_empty() {
        arguments["depends_on"] = json!(step.depends_on);
    }
    if let Some(known) = &step.arguments {
        arguments["arguments"] = json!(known);
    }
    ToolCall {
        id: format!("dispatch-{}", step.agent_id),
        name: "dispatch_agent".into(),
        arguments: arguments.to_string(),
    }
}

fn timed<'a>(messages: impl Iterator<Item = &'a Message>) -> Result<Now, ModelError> {
    let missing =
        || ModelError::new(ModelErrorKind::Refused, "the request has no line `Now: ...` with the time");
    read::now(messages).ok_or_else(missing)
}
