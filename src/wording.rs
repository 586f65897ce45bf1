//! Every sentence that the assistant itself says. Whoever wants another tone changes this file only.

mod limits;
pub mod runs;

use std::fmt::Write;
use std::time::Duration;

use adjutant_chat::{Choice, Progress};
pub use limits::*;

use crate::model::{ModelError, ModelErrorKind};

/// The buttons of an approval.
pub fn approve_choices(prompt: &str) -> Vec<Choice> {
    choices(prompt, &[("approve", "Approve"), ("reject", "Reject")])
}

fn choices(prompt: &str, answers: &[(&str, &str)]) -> Vec<Choice> {
    answers
        .iter()
        .map(|(answer, label)| Choice { id: format!("{prompt}:{answer}"), label: (*label).to_owned() })
        .collect()
}

/// Asks for a yes.
pub fn approval(preview: &str) -> String {
    format!("I need your yes before I do this:\n\n{preview}")
}

/// Asks for one of some choices. They are in the text too, because a button may be too short for one.
pub fn choose(question: &str, options: &[String]) -> String {
    let mut text = format!("{question}\n");
    for (number, option) in (1..).zip(options) {
        let _ = write!(text, "\n{number}. {}", option.replace(['\n', '\r'], " "));
    }
    text
}

/// Asks for a word, or for many.
pub fn ask_for(question: &str) -> String {
    format!("{question}\n\nYour next message here is the answer; `/stop` ends it.")
}

/// A duration for people.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1 => "1 second".to_owned(),
        60 => "1 minute".to_owned(),
        3600 => "1 hour".to_owned(),
        _ if seconds.is_multiple_of(3600) => format!("{} hours", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{} minutes", seconds / 60),
        _ => format!("{seconds} seconds"),
    }
}

/// What a turn has come to so far: done, failed, not started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusSummary {
    /// Mission and result of each agent that ended well.
    pub done: Vec<(String, String)>,
    /// Mission and reason of each that did not.
    pub failed: Vec<(String, String)>,
    /// Mission and reason of each that has not ended.
    pub open: Vec<(String, String)>,
}

impl StatusSummary {
    /// The lists as markdown; empty when there is nothing to tell.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (title, entries) in [("Done", &self.done), ("Not done", &self.failed), ("Still open", &self.open)]
        {
            if entries.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let _ = write!(text, "**{title}**");
            for (mission, result) in entries {
                let result = result.replace('\n', "\n  ");
                let _ = match result.is_empty() {
                    true => write!(text, "\n- {mission}"),
                    false => write!(text, "\n- {mission}: {result}"),
                };
            }
        }
        text
    }
}

/// The end of a turn that a person stopped.
pub fn stopped(summary: &StatusSummary) -> String {
    let summary = summary.text();
    if summary.is_empty() { "Stopped; nothing was done.".into() } else { format!("Stopped.\n\n{summary}") }
}

/// The end of a turn whose model gave no usable answer.
pub fn model_failed(reason: &str, summary: &StatusSummary) -> String {
    let summary = summary.text();
    let lead = format!("I could not finish this: {reason}");
    if summary.is_empty() { lead } else { format!("{lead}\n\n{summary}") }
}

/// Why a model gave no usable answer, for people; the details are in the log and the trace.
pub fn model_failure(error: &ModelError) -> String {
    match error.kind {
        ModelErrorKind::Auth => {
            "the language model refuses our key. Whoever runs me must check [model] api_key.".into()
        }
        ModelErrorKind::RateLimit => {
            "the language model is busy or its quota is used up. Please try again in a few minutes.".into()
        }
        ModelErrorKind::Network => {
            "the language model can't be reached just now. Please try again in a few minutes.".into()
        }
        ModelErrorKind::Timeout => "the language model took too long. Please try again.".into(),
        ModelErrorKind::Refused => {
            "the language model refused the request. Whoever runs me finds the reason with `adjutant trace`."
                .into()
        }
        ModelErrorKind::BeyondPlanner => {
            "this needs a language model, and I only have the built-in planner. Whoever runs me can name one in [model]."
                .into()
        }
        ModelErrorKind::Nonsense => {
            "the language model gave no usable answer. Please try again, perhaps in other words.".into()
        }
    }
}

/// Told to the model when the person asked for a summary instead of more work.
pub const SUMMARISE_NOW: &str = "The person does not want more work on this. Answer in text now: what was done, \
    what was found, what is left.";

/// The end of a message that our own code failed three times.
pub const DEAD: &str = "Something inside me failed three times over this message, so I have set it aside. \
    Please say it in other words; whoever runs me finds the reason with `adjutant trace`.";

/// To somebody who may not answer a question.
pub const NOT_YOURS: &str =
    "This question was not for you: only the person I asked, or an owner, can answer it.";

/// To an answer that comes after another.
pub fn settled(kind: &str, answer: Option<&str>, expired: bool) -> String {
    match (answer.filter(|_| kind != "input"), expired) {
        (_, true) => "That question is no longer open.".into(),
        (Some(answer), false) => format!("That was settled already: {}.", past(kind, answer)),
        (None, false) => "That was settled already.".into(),
    }
}

fn past<'a>(kind: &str, answer: &'a str) -> &'a str {
    match answer {
        chosen if kind == "choose" => chosen,
        "approve" => "approved",
        "reject" => "rejected",
        "continue" => "continued",
        "summarise" => "summarised",
        "stop" => "stopped",
        other => other,
    }
}

/// To a button that no question of ours has.
pub const NO_SUCH_QUESTION: &str = "I don't know that button any more. Please say what you want in words.";

/// To an answer while the turn has more to wait for.
pub fn noted(kind: &str, answer: &str) -> String {
    match (kind, answer) {
        ("approve", "approve") => "Approved; I am going on.".into(),
        ("approve", _) => "Rejected; I will leave that.".into(),
        ("input", _) => "Noted; I am going on.".into(),
        (_, answer) => format!("Noted: {}.", past(kind, answer)),
    }
}

/// A line for a question that waited too long.
pub fn expired(kind: &str, preview: &str) -> String {
    match kind {
        "approve" => format!("Nobody said yes in time, so I did not do this: {}", first_line(preview)),
        _ => "Nobody answered whether to continue, so I stopped there.".into(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What somebody is told who may not speak to us yet.
pub fn stranger(code: &str) -> String {
    format!(
        "I don't know you yet. Give this code to my owner within an hour; once it is approved I answer what you wrote:\n\n{code}"
    )
}

/// Answer to `/pair`.
pub fn paired(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} may speak to me now."),
        None => {
            "There is no such code, or its hour is over. The stranger can write again for a new one.".into()
        }
    }
}

/// Answer to `/pair` of somebody who may not let others in.
pub const NOT_AN_OWNER: &str = "Only my owners can let others in.";

/// Answer to `/link`.
pub fn link(code: &str) -> String {
    format!("Send me this from your other account within ten minutes; then both are you:\n\n/link {code}")
}

/// Answer to `/link CODE` that joined two accounts.
pub const LINKED: &str =
    "Done: this account and your other one are the same person to me now. Tasks and memories are shared.";
/// Answer to `/link CODE` with a code that is none.
pub const NO_SUCH_LINK: &str = "There is no such code of another account of yours, or its ten minutes are over. `/link` there makes a new one.";
/// Answer to `/link` where others read.
pub const LINK_IN_PRIVATE: &str = "Others read here; send me `/link` in a direct message.";

/// How a turn stands, for those who wait for it.
pub fn working(progress: &Progress) -> String {
    let mut text = "Working on it …".to_owned();
    for agent in &progress.agents {
        let mark = match agent.status.as_str() {
            "completed" => "✓",
            "partial" | "unknown" => "?",
            "failed" | "timeout" | "skipped" | "cancelled" => "✗",
            "running" => "▸",
            _ => "·",
        };
        let mission: String = first_line(&agent.mission).chars().take(60).collect();
        let _ = write!(text, "\n- {mark} {mission}");
        if let (Some(skill), "running") = (&agent.skill, agent.status.as_str()) {
            let _ = write!(text, " (`{skill}`)");
        }
    }
    text
}

/// Answer to `/new`.
pub const FRESH_START: &str =
    "A fresh start: I no longer look at what was said before. Tasks and memories stay.";
/// Answer to `/stop` when something runs.
pub const STOPPING: &str = "Stopping.";
/// Answer to `/pause` when something runs.
pub const PAUSING: &str = "Pausing: what is under way is let finish, then I ask whether to continue.";
/// Answer to `/stop` and `/pause` when nothing runs.
pub const NOTHING_TO_STOP: &str = "Nothing is running.";
/// Answer to `/trace` before the first turn.
pub const NOTHING_TO_TRACE: &str = "There is nothing to trace here yet.";
/// Answer to `/help`.
pub const HELP: &str = "Say what you need in your own words, for example:\n\n\
    - add a task to send the report by Friday 5pm\n\
    - what is overdue?\n\
    - mark the report as done, then show what is left\n\
    - remember that Bob prefers mornings\n\n\
    **Commands**\n\
    - `/new`: start afresh, without what was said before\n\
    - `/run NAME`: run a workflow; `/run` alone shows all\n\
    - `/draft WORDS`: make a workflow of your words\n\
    - `/stop`: stop what I am doing\n\
    - `/pause`: pause what I am doing; “continue” goes on with it\n\
    - `/status`: what is running and waiting\n\
    - `/trace`: what happened in the last turn\n\
    - `/link`: join your accounts on several platforms\n\
    - `/help`: this text";

/// Answer to a slash command that does not exist.
pub fn unknown_command(command: &str) -> String {
    format!("I don't know `{command}`. `/help` lists what I know.")
}

/// Answer to `/status`.
pub fn status(running: usize, waiting: usize, questions: usize) -> String {
    if running + waiting + questions == 0 {
        return "All done: nothing is running or waiting.".into();
    }
    format!("Running: {running} · waiting for a person: {waiting} · open questions: {questions}")
}

/// Told to the model (and, in its words, to the person) about a call whose outcome is unknown.
pub const UNKNOWN_OUTCOME: &str = "it may or may not have happened: the process or the connection was cut off at the wrong moment. It will \
     not be repeated; tell the person to check.";

/// Why an agent ended midway that tokens or money stopped.
pub const AGENT_UNPAID: &str = "not finished: the budget does not cover its next step";

/// A call whose outcome is unknown, for people.
pub fn unknown(reason: &str) -> String {
    if reason.contains("may or may not have happened") {
        return reason.to_owned();
    }
    format!("{reason}; it may or may not have happened, and I will not repeat it, so please check")
}

/// A task is due.
pub fn reminder(title: &str, due: Option<&str>) -> String {
    match due {
        Some(due) => format!("Reminder: {title} (due {due})"),
        None => format!("Reminder: {title}"),
    }
}

/// A schedule has failed too often.
pub fn schedule_stopped(text: &str, id: &str) -> String {
    format!(
        "“{text}” failed three times in a row, so I don't do it by myself any more. Write “let schedule {id} go on” \
         once the cause is mended, or “delete schedule {id}”."
    )
}

/// A mail of ours came back: a line for each whom it did not reach.
pub fn came_back(subject: &str, lines: &[String]) -> String {
    format!("The mail “{subject}” did not reach everybody. Its server says:\n- {}", lines.join("\n- "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_shown_with_the_numbers_that_choose_them() {
        let options = ["Send it".to_owned(), "wait\na day".to_owned()];
        insta::assert_snapshot!(choose("Shall the report go out?", &options), @r"
        Shall the report go out?

        1. Send it
        2. wait a day
        ");
    }
}
