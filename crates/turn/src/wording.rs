//! Every sentence that the assistant says of its own accord. To change its tone, change this module.

pub mod asked;
pub mod delivery;
pub mod files;
mod limits;
pub mod memories;
pub mod ownership;
pub mod plans;
pub mod questions;
pub mod receipts;
pub mod roles;
pub mod rules;
pub mod runs;
pub mod voice;
pub mod wishes;

use std::fmt::Write;
use std::time::Duration;

use adjutant_chat::{Choice, Progress};
use adjutant_store::questions::QuestionRow;
use adjutant_types::{Answer, ExecutionStatus, QuestionId, QuestionKind};
pub use limits::*;

use adjutant_models::{ModelError, ModelErrorKind};

const APPROVE: [(&str, &str); 2] = [("approve", "Approve"), ("reject", "Reject")];
const CONTINUE: [(&str, &str); 3] = [("continue", "Continue"), ("summarise", "Summarise"), ("stop", "Stop")];

/// The buttons of a parked turn.
pub fn continue_choices(question: &QuestionId) -> Vec<Choice> {
    choices(question, CONTINUE)
}

/// The buttons of a turn that has come to a day's budget: a summary would cost too.
pub fn owner_choices(question: &QuestionId) -> Vec<Choice> {
    let [go_on, _, stop] = CONTINUE;
    choices(question, [go_on, stop])
}

fn choices<const N: usize>(question: &QuestionId, answers: [(&str, &str); N]) -> Vec<Choice> {
    answers
        .map(|(answer, label)| Choice { id: format!("{question}:{answer}"), label: label.to_owned() })
        .into()
}

/// Asks to choose. The text lists the options too, because a button may be too short for one.
pub fn choose(text: &str, options: &[String]) -> String {
    let mut all = format!("{text}\n");
    for (number, option) in (1..).zip(options) {
        let _ = write!(all, "\n{number}. {}", option.replace(['\n', '\r'], " "));
    }
    all
}

/// Asks for free text.
pub fn ask_for(text: &str) -> String {
    format!("{text}\n\nReply with your answer, or send `/stop` to cancel.")
}

/// A text in one line, at most so long that a list of ten stays readable.
fn clipped(text: &str) -> String {
    const MAX_LENGTH: usize = 300;
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_LENGTH {
        line.truncate(line.floor_char_boundary(MAX_LENGTH));
        line.push('…');
    }
    line
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

/// How far a turn has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusSummary {
    /// Mission and result of each agent that succeeded.
    pub done: Vec<(String, String)>,
    /// Mission and reason of each that failed.
    pub failed: Vec<(String, String)>,
    /// Mission and state of each that hasn't ended.
    pub open: Vec<(String, String)>,
}

impl StatusSummary {
    /// The lists as markdown; empty when there is nothing to report.
    pub fn text(&self) -> String {
        self.titled("Still open")
    }

    fn titled(&self, open: &str) -> String {
        let mut text = String::new();
        for (title, entries) in [("Done", &self.done), ("Not done", &self.failed), (open, &self.open)] {
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
    let summary = summary.titled("Not finished");
    if summary.is_empty() { "Stopped. Nothing was done.".into() } else { format!("Stopped.\n\n{summary}") }
}

/// The end of a turn whose model gave no answer.
pub fn model_failed(reason: &str, summary: &StatusSummary) -> String {
    let summary = summary.text();
    let lead = format!("I couldn't finish this: {reason}");
    if summary.is_empty() { lead } else { format!("{lead}\n\n{summary}") }
}

/// Why a model gave no usable answer, for people; the details are in the log and the trace.
pub fn model_failure(error: &ModelError) -> &'static str {
    match error.kind {
        ModelErrorKind::Auth => "the language model rejected the API key. Check `[model] api_key`.",
        ModelErrorKind::RateLimit => {
            "the language model is overloaded or its quota is used up. Try again in a few minutes."
        }
        ModelErrorKind::Network => "I can't reach the language model right now. Try again in a few minutes.",
        ModelErrorKind::Timeout => "the language model took too long. Try again.",
        ModelErrorKind::Refused => "the language model refused the request. `adjutant trace` shows why.",
        ModelErrorKind::NoModel => "this needs a language model, and none is connected.",
        ModelErrorKind::Nonsense => {
            "the language model gave no usable answer. Try again, perhaps in other words."
        }
    }
}

/// Tells the model that the person asked for a summary instead of more work.
pub const SUMMARISE_NOW: &str = "The person doesn't want more work on this. Answer in text now: what was done, \
    what was found, what is left.";

/// The end of a turn that crashed three times.
pub const DEAD: &str = "I failed on this message three times and stopped trying. Please rephrase it. \
    `adjutant trace` shows what went wrong.";

/// What became of work that something else needed, to go after "which".
pub fn became(status: ExecutionStatus) -> &'static str {
    match status {
        ExecutionStatus::Failed => "failed",
        ExecutionStatus::Timeout => "took too long",
        ExecutionStatus::Skipped => "was skipped",
        ExecutionStatus::Cancelled => "was stopped",
        ExecutionStatus::Partial => "is only partly done",
        ExecutionStatus::Unknown => "may or may not have worked",
        ExecutionStatus::Completed => "is done",
        ExecutionStatus::Pending | ExecutionStatus::Running | ExecutionStatus::Waiting => "isn't done",
    }
}

/// To somebody who may not answer a question.
pub const NOT_YOURS: &str = "Only the person I asked, or an owner, can answer this question.";

/// To an answer that comes too late.
pub fn already_closed(kind: &QuestionKind, answer: Option<&Answer>, expired: bool) -> String {
    match (kind, answer) {
        _ if expired => "That question is no longer open.".into(),
        (QuestionKind::Plan { .. }, Some(answer)) => {
            format!("That's already been answered: {}.", plans::label(answer))
        }
        (QuestionKind::Input { .. }, _) | (_, None) => "That's already been answered.".into(),
        (_, Some(answer)) => format!("That's already been answered: {}.", label(answer)),
    }
}

/// An answer as its button calls it.
fn label(answer: &Answer) -> &str {
    let text = answer.as_str();
    let is_button = !matches!(answer, Answer::Text(_));
    let known = APPROVE.iter().chain(&CONTINUE).find(|(id, _)| is_button && *id == text);
    known.map_or(text, |(_, label)| label)
}

/// To a button whose question is unknown.
pub const NO_SUCH_QUESTION: &str = "That button no longer works. Please tell me what you want in words.";

/// A line for a question that expired.
pub fn expired(kind: &QuestionKind) -> String {
    match kind {
        QuestionKind::Approval { preview, .. } => {
            format!("The approval expired, so I didn't do this: {}", first_line(preview))
        }
        _ => "Nobody answered whether to continue, so I stopped there.".into(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// To somebody who isn't allowed to talk to us yet.
pub fn stranger(code: &str) -> String {
    format!(
        "We haven't met. Send this code to my owner; once they approve it (it's valid for an hour), I'll answer your \
         message:\n\n{code}"
    )
}

/// Answer to `/pair`.
pub fn paired(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} can talk to me now."),
        None => {
            "That code is unknown or has expired. The person can message me again to get a new one.".into()
        }
    }
}

/// Answer to `/pair` of somebody who isn't an owner.
pub const NOT_AN_OWNER: &str = "Only my owners can let people in.";

/// Answer to `/link`.
pub fn link(code: &str) -> String {
    format!("Send me this from your other account within ten minutes to link the two:\n\n/link {code}")
}

/// Answer to `/link CODE` that linked two accounts.
pub const LINKED: &str =
    "Done. Your two accounts are linked: I treat them as one person, with shared tasks and memories.";
/// Answer to `/link CODE` with an unknown code.
pub const NO_SUCH_LINK: &str =
    "That code is unknown or has expired. Send `/link` from the other account to get a new one.";
/// Answer to `/link` where others read.
pub const LINK_IN_PRIVATE: &str = "Other people can read this. Send me `/link` in a direct message.";

/// Answer to `/web`.
pub fn page_link(page: &str, code: &str) -> String {
    format!("Open this within five minutes. It works once, so don't pass it on:\n\n{page}/login#{code}")
}
/// Answer to `/web` without a web page.
pub const NO_PAGE: &str =
    "There's no web page. An administrator can turn it on with `[channels.web]` in the configuration.";
/// Answer to `/web` where others read.
pub const PAGE_IN_PRIVATE: &str =
    "Other people can read this, and the link lets anybody in. Send me `/web` in a direct message.";

/// The progress of a turn.
pub fn working(progress: &Progress) -> String {
    let mut text = "Working on it…".to_owned();
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
    "OK, a fresh start: I'll ignore what was said before. Your tasks and memories stay.";
/// Answer to `/stop` when something runs.
pub const STOPPING: &str = "Stopping.";
/// Answer to `/stop` when something waited, and its own message says that it is stopped.
pub const NOTHING_ELSE_TO_STOP: &str = "Nothing else is running.";
/// Answer to `/pause` when something runs.
pub const PAUSING: &str = "Pausing. I'll finish what's running, then ask whether to go on.";
/// Answer to `/stop` and `/pause` when nothing runs.
pub const NOTHING_TO_STOP: &str = "Nothing is running.";
/// Answer to `/trace` before the first turn.
pub const NOTHING_TO_TRACE: &str = "There's nothing to trace here yet.";
/// Answer to `/help`.
pub const HELP: &str = "Say what you need in your own words, for example:\n\n\
    - add a task to send the report by Friday 5pm\n\
    - what is overdue?\n\
    - mark the report as done, then show what is left\n\
    - remember that Bob prefers mornings\n\n\
    **Commands**\n\
    - `/new`: start fresh, ignoring what was said before\n\
    - `/run NAME`: run a workflow; `/run` alone lists them\n\
    - `/draft WORDS`: turn your description into a workflow\n\
    - `/plan GOAL`: make a plan, ask you, then carry it out\n\
    - `/spawn ROLE TASK`: have an agent work on something while we go on talking\n\
    - `/stop`: stop what I'm doing\n\
    - `/pause`: pause what I'm doing; “continue” resumes it\n\
    - `/status`: see what's running and waiting\n\
    - `/answer 34 yes`: answer an open question; `/status` shows the numbers\n\
    - `/undo`: take back what I did last\n\
    - `/mine`: see what I made from other people's text, and make it yours\n\
    - `/rules`: see what you've allowed me to do without asking\n\
    - `/memories`: see what I remember of you, and forget any of it\n\
    - `/trace`: see what I did for your last message\n\
    - `/link`: link your accounts on different platforms\n\
    - `/web`: open your conversations as a web page\n\
    - `/pair CODE`: let somebody in (owners only)\n\
    - `/help`: show this help";

/// Answer to an unknown slash command.
pub fn unknown_command(command: &str, nearest: Option<&str>) -> String {
    let meant = nearest.map(|nearest| format!(" Did you mean `{nearest}`?")).unwrap_or_default();
    format!("I don't know `{command}`.{meant} Send `/help` to see what I understand.")
}

/// Answer to `/status`; `questions` lists the open ones.
pub fn status(running: usize, waiting: usize, questions: &[QuestionRow]) -> String {
    if running + waiting == 0 && questions.is_empty() {
        return "Nothing is running or waiting.".into();
    }
    // A turn may ask several things.
    let waiting = waiting.max(questions.len());
    let mut text = format!("Running: {running} · waiting for an answer: {waiting}");
    if let [first, ..] = questions {
        let (list, how) = (questions::open_questions(questions), questions::how_to_answer(first));
        let _ = write!(text, "\n\nOpen questions:\n{list}\n\n{how}");
    }
    text
}

/// A call whose outcome is unknown: for the model and, in its words, for the person.
pub const UNKNOWN_OUTCOME: &str = "it may or may not have happened: the process or the connection broke off in the \
     middle. It won't be repeated; tell the person to check.";

/// Why an agent ended midway when tokens or money ran out.
pub const AGENT_UNPAID: &str = "not finished: the budget doesn't cover the next step";

/// A call whose outcome is unknown, for people.
pub fn unknown(reason: &str) -> String {
    if reason.contains("may or may not have happened") {
        return reason.to_owned();
    }
    format!("{reason}; it may or may not have happened. I won't repeat it, so please check")
}

/// A task is due.
pub fn reminder(title: &str, due: Option<&str>) -> String {
    match due {
        Some(due) => format!("Reminder: {title} (due {due})"),
        None => format!("Reminder: {title}"),
    }
}

/// A schedule has failed too often.
pub fn schedule_stopped(text: &str, schedule: &str) -> String {
    format!(
        "“{text}” failed three times in a row, so I've paused it. Once the cause is fixed, write “resume schedule \
         {schedule}” to start it again, or “delete schedule {schedule}”."
    )
}

/// A mail of ours bounced: a line for each recipient it didn't reach.
pub fn came_back(subject: &str, lines: &[String]) -> String {
    format!("The mail “{subject}” didn't reach everyone. The mail server says:\n- {}", lines.join("\n- "))
}

/// To somebody who changes a message that was taken.
pub const EDITED: &str =
    "I had already read that message before you changed it. If the change matters, send it as a new message.";

/// Answer to `/stop` when only other people's turns run here.
pub const NOTHING_OF_YOURS: &str =
    "Nothing of yours is running here. Other people's requests are theirs to stop.";

/// Tells the owners that strangers fill the list of pairing codes.
pub fn pairing_flood(most: usize) -> String {
    format!(
        "{most} strangers have asked to talk to me within the last hour, so I'm ignoring new ones for now. I tell you this \
         once a day. Someone with an invitation still gets in: run `adjutant pair invite` and send them the code."
    )
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
