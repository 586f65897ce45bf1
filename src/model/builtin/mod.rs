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
//! A message is split at "and", "then", commas, sentences and lines where each side makes sense by
//! itself. A `pattern` is a regular expression that is tried on one part at a time, without politeness
//! ("please", "can you") and without its final punctuation; case doesn't matter. Begin it with `^` and
//! end it with `$`. If several patterns match, one that covers the whole part wins, then the one with
//! more words of its own, then the earlier one.
//!
//! In the strings of `arguments`, `{name}` stands for the named capture; `{{` is a literal brace. An
//! argument whose capture didn't match is left out. `{name|conversion}` converts it; if that fails the
//! intent doesn't match or, with a `?` at the end, the argument is left out:
//!
//! | conversion | gives |
//! | --- | --- |
//! | `time` | the date or time phrase in it, "by Friday" included: `2026-11-27T17:00`, or `2024-02-15` without a time |
//! | `start` | the same as the start of an event, which "by Friday" is not |
//! | `moved` | the same, and what it leaves out is taken from `{found.start}` or `{found.due}`: "3pm" stays on its day |
//! | `later`, `earlier` | that time moved by a length: "an hour", "2 days" |
//! | `from` | the beginning of the period that a question is about: "tomorrow", "this week", "2pm to 4pm" |
//! | `ahead` | the same, unless the period has begun and isn't over: what is overdue belongs to "today" |
//! | `end` | its end, exclusive: for days the day after the last one |
//! | `last` | its end as an argument: for days the last one, else the time |
//! | `within` | the same, of one day or time alone |
//! | `until` | the same, only if the text gives an end: "for 30 minutes", "to 3 January" |
//! | `duration` | "for 30 minutes", as `PT30M` |
//! | `repeat` | "every Monday", "daily", as an RRULE |
//! | `text` | its words without time phrase and `#tags` |
//! | `title` | the same with a capital letter |
//! | `line` | its first line with a capital letter, shortened: a subject |
//! | `words` | words to search for: they must name one thing, so "all" and "the last two" are refused |
//! | `things` | the same, but "milk and bread" may name several: each is searched for if nothing has the whole name |
//! | `name` | the name of a person or a company, and nothing else about them |
//! | `said` | as typed, if it doesn't go on with what came before it ("and at 5, ...") |
//! | `lower` | lower case |
//! | `tags` | its `#tags`, as a list |
//! | `list` | its items, separated by commas or "and", as a list |
//! | `int` | a whole number |
//! | `value` | a number, true ("yes"), false ("no") or other JSON; otherwise a string |
//!
//! What looks like a date, a time, a repetition or a quantity must be used: in a capture with one of the conversions from
//! `text` to `repeat`, words like "every Monday" that no argument takes make the planner refuse, with these words as the
//! reason. Words in quotes are exempt, and so are captures without a conversion, which keep everything as typed.
//!
//! `{name|?}` converts nothing and may be missing. A list inside a list is flattened:
//! `["{found.tags|?}", "{tags|list}"]`.
//!
//! `{results}` is what earlier parts of the message returned, in words (the body of a mail). Such an
//! intent only matches a part that has another one before it.
//!
//! `lookup = { skill = "tasks.search", arguments = { query = "{title}" } }` searches first. If there is one hit (or one whose
//! title is exactly `query`), its fields are `{found.id}`, `{found.email}` and so on. Otherwise it does nothing and says so,
//! or, with `things`, searches for each part. "it", "them" and "him" in a capture mean what an earlier part found or made, or
//! what the last turn touched, so they only match intents with a `lookup` or `{results}`.
//!
//! `also = { skill = "tasks.search", arguments = { due_before = "{when|end}" } }` is what the text also asks for.

mod fill;
mod follow;
mod input;
mod intents;
mod items;
mod lookups;
mod mission;
mod moves;
mod plan;
mod replies;
mod split;
mod steps;
mod summary;
mod time;
mod typos;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

pub use intents::{IntentError, IntentSource, Intents, Lookup};

use super::price::Price;
use super::{Message, Model, ModelError, ModelErrorKind, ModelResponse, Request, Role, ToolCall};
use mission::Reply;
use plan::{Plan, Reason};
use steps::Step;
use time::Now;

/// The model's name in its answers.
pub(super) const NAME: &str = "builtin";
/// How often it waits for running agents before it answers that they are still running.
const WAITS: usize = 3;

/// The built-in model.
pub struct Planner {
    intents: Arc<dyn Fn() -> Arc<Intents> + Send + Sync>,
}

impl Planner {
    /// A planner that gets the intents at each call, so that a changed skill file takes effect at once.
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
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        let intents = (self.intents)();
        let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
        let next = if has("dispatch_agent") {
            orchestrate(request, &intents)?
        } else if mission::wants_plan(request) {
            let message = "the built-in planner can't plan";
            return Err(ModelError::new(ModelErrorKind::BeyondPlanner, message));
        } else if has("use_skill") {
            let now = timed(request.messages.iter())?;
            mission::next(request, &intents, &now)
        } else if summary::is_wanted(request) {
            Reply::Say(summary::answer(request))
        } else {
            let message = "the built-in planner can't think, write or judge";
            return Err(ModelError::new(ModelErrorKind::BeyondPlanner, message));
        };
        let (text, tool_calls) = match next {
            Reply::Say(text) => (text, Vec::new()),
            Reply::Call(calls) => (String::new(), calls),
        };
        Ok(ModelResponse { text, tool_calls, model: NAME.into(), ..ModelResponse::default() })
    }

    fn price(&self) -> Option<Price> {
        Some(Price { input: 0.0, cached_input: None, output: 0.0 })
    }
}

/// The orchestrator: dispatches agents for the text, waits, and reports the results.
fn orchestrate(request: &Request, intents: &Intents) -> Result<Reply, ModelError> {
    let Some((before, text, exchange)) = input::person(&request.messages) else {
        return Err(ModelError::new(
            ModelErrorKind::Refused,
            "the request contains no message from a person",
        ));
    };
    let before = &input::without_days(before);
    let now = timed(before.iter().filter(|message| message.role == Role::System))?;
    let touched = follow::touched(before, intents, &now);
    let is_question = is_question(text);
    let retimed = follow::retimed(before, text, touched.as_ref(), &now);
    let text = retimed.as_deref().unwrap_or(text);
    let mut plan = plan::plan(text, intents, &now, touched.as_ref());
    if let Some(said) = input::waiting(before)
        && (plan.is_undo()
            || plan.is_about_it()
            || (touched.is_some() && plan::plan(text, intents, &now, None).is_about_it()))
    {
        let reason = Reason::Waiting(said.to_owned());
        return Ok(Reply::Say(replies::refusal(&reason)));
    }
    if let Some(changed) = touched.as_ref().filter(|touched| touched.is_changed && follow::cancels(text)) {
        return Ok(Reply::Say(replies::refusal(&Reason::Change(changed.clone()))));
    }
    // The mark ends what was said last: "add a task to buy milk and what is overdue?" asks for both.
    if let Some(asked) = plan.steps.pop_if(|step| is_question && step.changes()) {
        return Ok(Reply::Say(replies::refusal(&Reason::Question(asked.mission))));
    }
    if plan.steps.is_empty()
        && let Some(chosen) = follow::chosen(before, text, intents, &now)
    {
        plan = chosen;
    }
    if let Some(other) = follow::other(before, text, intents, &now) {
        plan = other.after_undo();
    }
    if plan.steps.is_empty()
        && let Some(restated) = follow::restated(before, text, intents, &now)
    {
        plan = restated;
    }
    if (plan.steps.is_empty() || plan.is_undo())
        && plan.reason.is_none()
        && let Some(answer) = follow::not_chosen(before, text, plan.is_undo())
    {
        return Ok(Reply::Say(answer));
    }
    if plan.is_undo() && follow::has_changed_nothing(before) {
        return Ok(Reply::Say(replies::NOTHING_TO_UNDO.to_owned()));
    }
    if plan.steps.is_empty() {
        return Ok(Reply::Say(replies::nothing_to_do(text, plan.reason.as_ref(), intents, &now)));
    }
    Ok(follow(&plan, exchange, intents))
}

/// "Delete Bob?" asks, and "can you delete Bob?" tells.
fn is_question(text: &str) -> bool {
    const POLITE: &str = "\
        can could would will please pls";
    // What follows a colon is somebody's text.
    text.trim_end().ends_with('?')
        && !text.contains(": ")
        && !time::words(text).iter().any(|word| time::is_one_of(&word.text, POLITE))
}

fn follow(plan: &Plan, exchange: &[Message], intents: &Intents) -> Reply {
    let called = |name: &str| {
        exchange.iter().flat_map(|message| &message.tool_calls).filter(|call| call.name == name).count()
    };
    if called("dispatch_agent") == 0 {
        return Reply::Call(plan.steps.iter().map(dispatch).collect());
    }
    let reports = input::reports(exchange);
    let asked = called("get_agent_results");
    let open: Vec<&String> =
        reports.iter().filter(|(_, report)| report.is_open()).map(|(agent, _)| agent).collect();
    if !open.is_empty() && asked < WAITS {
        let arguments = json!({ "agent_ids": open }).to_string();
        let id = format!("results{}", asked + 1);
        return Reply::Call(vec![ToolCall { id, name: "get_agent_results".into(), arguments }]);
    }
    Reply::Say(replies::answer(plan, &reports, intents))
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
    input::now(messages).ok_or_else(missing)
}
