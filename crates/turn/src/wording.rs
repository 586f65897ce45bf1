//! Chooses what the assistant says of its own accord. The sentences are those of `adjutant-l10n`.

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
use adjutant_l10n as l10n;
use adjutant_models::{ModelError, ModelErrorKind};
use adjutant_store::questions::QuestionRow;
use adjutant_types::{Answer, ExecutionStatus, PromptText, QuestionId, QuestionKind};

pub use limits::*;

pub fn continue_choices(question: &QuestionId) -> Vec<Choice> {
    let [go_on, stop] = continue_or_stop();
    choices(question, [go_on, ("summarise", l10n::limits::summarise_button()), stop])
}

/// The buttons of a turn that has come to a day's budget: a summary would cost too.
pub fn owner_choices(question: &QuestionId) -> Vec<Choice> {
    choices(question, continue_or_stop())
}

fn continue_or_stop() -> [(&'static str, String); 2] {
    [("continue", l10n::limits::continue_button()), ("stop", l10n::limits::stop_button())]
}

fn choices<const N: usize>(question: &QuestionId, answers: [(&str, String); N]) -> Vec<Choice> {
    answers.map(|(answer, label)| Choice { id: format!("{question}:{answer}"), label }).into()
}

/// Asks to choose. The text lists the options too, because a button may be too short for one.
pub fn choose(text: &str, options: &[String]) -> String {
    let mut all = format!("{text}\n");
    for (number, option) in (1..).zip(options) {
        let _ = write!(all, "\n{number}. {}", option.replace(['\n', '\r'], " "));
    }
    all
}

/// So many characters of a text leave a list of ten readable.
const MAX_LISTED: usize = 300;

pub fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        0 => l10n::durations::milliseconds(duration.as_millis()),
        seconds if seconds.is_multiple_of(3600) => l10n::durations::hours(seconds / 3600),
        seconds if seconds.is_multiple_of(60) => l10n::durations::minutes(seconds / 60),
        seconds => l10n::durations::seconds(seconds),
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
        self.titled(l10n::turns::still_open())
    }

    fn titled(&self, open: String) -> String {
        let mut text = String::new();
        let lists =
            [(l10n::turns::done(), &self.done), (l10n::turns::not_done(), &self.failed), (open, &self.open)];
        for (title, entries) in lists {
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
    let summary = summary.titled(l10n::turns::not_finished());
    match summary.is_empty() {
        true => l10n::turns::stopped_before_anything(),
        false => format!("{}\n\n{summary}", l10n::turns::stopped()),
    }
}

/// The end of a turn whose model gave no answer.
pub fn model_failed(reason: &str, summary: &StatusSummary) -> String {
    let summary = summary.text();
    if summary.is_empty() { reason.to_owned() } else { format!("{reason}\n\n{summary}") }
}

/// Why a model gave no usable answer, for people; the details are in the log and the trace.
pub fn model_failure(error: &ModelError) -> String {
    match error.kind {
        ModelErrorKind::Auth => l10n::turns::key_refused(),
        ModelErrorKind::RateLimit => l10n::turns::overloaded(),
        ModelErrorKind::Network => l10n::turns::unreachable(),
        ModelErrorKind::Timeout => l10n::turns::too_slow(),
        ModelErrorKind::Refused => l10n::turns::refused(),
        ModelErrorKind::NoModel => l10n::turns::no_model(),
        ModelErrorKind::Nonsense => l10n::turns::unusable(),
    }
}

/// Tells the model what the person has just written.
pub fn written_meanwhile(text: &str) -> String {
    format!(
        "\nThe person has just written: {text:?}. It counts from now on; do what of it is still to be done."
    )
}

/// Tells the model what the person has read of the answer that they interrupted.
pub fn unfinished_answer(shown: PromptText) -> PromptText {
    PromptText::from("\n\n[The person wrote again while you were answering. Of that answer they still see:]\n")
        .with(shown)
        .with(
            "\n[To keep it, begin with “(continued)”, also beside calls, and go on exactly where it ends, repeating \
             nothing. Otherwise your next answer takes its place.]",
        )
}

/// Tells the model that the person asked for a summary instead of more work.
pub const SUMMARISE_NOW: &str = "The person doesn't want more work on this. Answer in text now: what was done, \
    what was found, what is left.";

/// Why work never begins: what it needs has ended like this.
pub fn never_begins(needed: &str, status: ExecutionStatus) -> String {
    match status {
        ExecutionStatus::Failed => l10n::turns::needs_failed(needed),
        ExecutionStatus::Timeout => l10n::turns::needs_late(needed),
        ExecutionStatus::Skipped => l10n::turns::needs_skipped(needed),
        ExecutionStatus::Cancelled => l10n::turns::needs_stopped(needed),
        ExecutionStatus::Partial => l10n::turns::needs_partial(needed),
        ExecutionStatus::Unknown => l10n::turns::needs_unknown(needed),
        ExecutionStatus::Completed => l10n::turns::needs_done(needed),
        ExecutionStatus::Pending | ExecutionStatus::Running | ExecutionStatus::Waiting => {
            l10n::turns::needs_open(needed)
        }
    }
}

/// To an answer that comes too late.
pub fn already_closed(kind: &QuestionKind, answer: Option<&Answer>, expired: bool) -> String {
    use adjutant_l10n::questions as words;

    match (kind, answer) {
        _ if expired || answer == Some(&Answer::Withdrawn) => words::no_longer_open(),
        (QuestionKind::Plan { .. }, Some(answer)) => words::already_answered_with(plans::label(answer)),
        (QuestionKind::Input { .. }, _) | (_, None) => words::already_answered(),
        (_, Some(answer)) => words::already_answered_with(label(answer)),
    }
}

/// An answer as its button calls it.
fn label(answer: &Answer) -> String {
    match answer {
        Answer::Approve => l10n::approvals::approve_button(),
        Answer::Reject | Answer::Withdrawn => l10n::approvals::reject_button(),
        Answer::Continue => l10n::limits::continue_button(),
        Answer::Summarise => l10n::limits::summarise_button(),
        Answer::Stop => l10n::limits::stop_button(),
        Answer::Text(text) => text.clone(),
    }
}

pub fn expired(kind: &QuestionKind) -> String {
    match kind {
        QuestionKind::Approval { preview, .. } => l10n::questions::expired_approval(first_line(preview)),
        _ => l10n::questions::expired(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

pub fn working(progress: &Progress) -> String {
    let mut text = l10n::turns::working();
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

/// Answer to `/status`; `questions` lists the open ones.
pub fn status(running: usize, waiting: usize, questions: &[QuestionRow]) -> String {
    let mut parts = Vec::new();
    parts.extend((running > 0).then(|| l10n::commands::running(running)));
    match questions {
        [first, ..] => {
            let (list, how) = (questions::open_questions(questions), questions::how_to_answer(first));
            parts.push(l10n::commands::open_questions(questions.len(), list, how));
            let elsewhere = waiting.saturating_sub(questions.len());
            parts.extend((elsewhere > 0).then(|| l10n::commands::waiting(elsewhere)));
        }
        [] if waiting > 0 => parts.push(l10n::commands::waiting(waiting)),
        [] if running == 0 => parts.push(l10n::commands::nothing_runs_or_waits()),
        [] => {}
    }
    parts.join("\n\n")
}

/// A call whose outcome is unknown, for the model.
pub const UNKNOWN_OUTCOME: &str = "it may or may not have happened: the process or the connection broke off in the \
     middle. It won't be repeated; tell the person to check.";

pub fn reminder(title: &str, due: Option<&str>) -> String {
    due.map_or_else(|| l10n::notices::reminder(title), |due| l10n::notices::reminder_due(title, due))
}

/// An email of ours bounced: a line for each recipient it didn't reach.
pub fn bounced(subject: Option<&str>, lines: &[String]) -> String {
    let recipients = format!("- {}", lines.join("\n- "));
    match subject {
        Some(subject) => l10n::notices::email_bounced(subject, recipients),
        None => l10n::notices::untitled_email_bounced(recipients),
    }
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
