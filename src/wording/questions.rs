//! What people read when a call needs their approval.

use adjutant_chat::Choice;

use super::{APPROVE, choices, first_line};
use crate::domain::{Answer, QuestionId, QuestionKind, Taint};
use crate::store::questions::QuestionRow;
use crate::trust::ApprovalReason;

/// The most questions of one message that have buttons of their own: platforms take 25 buttons.
const BUTTONS: usize = 11;
/// The longest quotation of a person's own message, in characters.
const QUOTED: usize = 120;

/// Asks for approval of calls that a turn has prepared: what the person asked, where the wish came from, and each call.
pub fn approval(text: Option<&str>, taint: &Taint, bodies: &[&str]) -> String {
    let mut lead = String::new();
    if let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) {
        lead = format!("You asked: “{}”. ", cut(text));
    }
    let things = match bodies.len() {
        1 => "this".to_owned(),
        many => format!("these {many} things"),
    };
    match sources(taint) {
        None => lead.push_str(&format!("I need your approval for {things}:")),
        Some(read) => lead.push_str(&format!(
            "After reading {read}, I'd like to do {things}, and I need your approval, because it isn't in your own words:"
        )),
    }
    let mut text = lead;
    for (number, body) in (1..).zip(bodies) {
        let number = if bodies.len() > 1 { format!("**{number}.** ") } else { String::new() };
        text.push_str(&format!("\n\n{number}{body}"));
    }
    if bodies.len() > 1 {
        text.push_str("\n\nPress a button, or answer “yes to 1”, “no to 2”, “yes to all” or “no to all”.");
    }
    text
}

/// The buttons of an approval.
pub fn approve_choices(questions: &[QuestionId]) -> Vec<Choice> {
    let [first, rest @ ..] = questions else { return Vec::new() };
    if rest.is_empty() {
        return choices(first, APPROVE);
    }
    let mut all = choices(first, [("approve-all", "Approve all"), ("reject-all", "Reject all")]);
    for (number, question) in (1..).zip(questions.iter().take(BUTTONS)) {
        let labels = APPROVE.map(|(answer, label)| Choice {
            id: format!("{question}:{answer}"),
            label: format!("{label} {number}"),
        });
        all.extend(labels);
    }
    all
}

/// One call as it is shown: what it would do, whom the person doesn't know, and at the end, next to the buttons, who
/// gets something. Of a deep agent, all roles from the top are named.
pub fn body(
    preview: &str,
    reason: Option<&ApprovalReason>,
    strangers: &[String],
    recipients: &[String],
    roles: &[String],
) -> String {
    let mut text = preview.to_owned();
    if roles.len() > 1 {
        text.push_str(&format!("\n\nAsked for by {}", roles.join(" › ")));
    }
    let why = match reason {
        Some(ApprovalReason::TooManyRecipients(most)) => {
            Some(format!("More than {most} recipients would get something from this turn."))
        }
        Some(ApprovalReason::TooManyDeletions) => {
            Some("More than two things would be deleted in this turn.".to_owned())
        }
        Some(ApprovalReason::Because(why)) => {
            text.push_str(&format!("\n\nNote: {why}."));
            None
        }
        Some(
            ApprovalReason::NotAskedFor
            | ApprovalReason::NotNamed
            | ApprovalReason::UnknownRecipient
            | ApprovalReason::Unread(_),
        )
        | None => None,
    };
    if let Some(why) = why {
        text.push_str(&format!("\n\n{why}"));
    }
    let is_stranger = |address: &String| strangers.iter().any(|one| one == address);
    if !recipients.is_empty() {
        let marked = recipients.iter().map(|address| match is_stranger(address) {
            true => format!("{address} (not in your contacts, not in your message)"),
            false => address.clone(),
        });
        text.push_str(&format!("\n\nGoes to: {}", marked.collect::<Vec<_>>().join(", ")));
    }
    text
}

/// What was read from outside, as far as a sentence can hold it.
fn sources(taint: &Taint) -> Option<String> {
    let all: Vec<&str> = taint.sources().collect();
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [one, two] => Some(format!("{one} and {two}")),
        [one, two, rest @ ..] => Some(format!("{one}, {two} and {} more", rest.len())),
    }
}

fn cut(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}

/// What a question is about, in a line: its first line and, where only its details tell it from others, the first two of
/// them.
pub fn subject(question: &QuestionRow) -> String {
    let text = match &question.kind {
        QuestionKind::Continue { .. } => "Continue with what I paused?",
        QuestionKind::Approval { preview, .. } => preview,
        QuestionKind::Choice { subject, .. } => subject,
        QuestionKind::Plan { goal } => goal,
        QuestionKind::Input { name } if name.contains(' ') => name,
        QuestionKind::Input { name } => return format!("What is “{name}”?"),
    };
    let first = first_line(text);
    let Some(what) = first.strip_suffix(':') else { return first.to_owned() };
    let what = what.split_once(" (").map_or(what, |(what, _)| what);
    let detail = |line: &str| line.strip_prefix("- ")?.split_once(": ").map(|(_, value)| cut(value));
    let details: Vec<String> = text.lines().skip(1).filter_map(detail).take(2).collect();
    if details.is_empty() { what.to_owned() } else { format!("{what}: {}", details.join(", ")) }
}

/// The end of a turn whose one question was taken back, because the person wants something else.
/// Words of others aren't repeated.
pub fn withdrawn(text: Option<&str>) -> String {
    text.map_or_else(|| "I dropped this.".to_owned(), |text| format!("I dropped this: “{}”", cut(text)))
}

/// To a yes that may mean several questions, or one that was asked before something else was said.
pub fn which(open: &[QuestionRow]) -> String {
    let lines = open_questions(open);
    match open {
        [] => "No question is open.".to_owned(),
        [one] => {
            let number = one.number();
            format!("Do you mean this?\n{lines}\n\nSend `yes to {number}` or `no to {number}`.")
        }
        [one, other, ..] => format!(
            "Which one do you mean?\n{lines}\n\nSend for example `yes to {}` or `no to {}`.",
            one.number(),
            other.number()
        ),
    }
}

/// To `/answer` with something else than the number of an open question.
pub fn no_such_number(given: &str, open: &[QuestionRow]) -> String {
    match given.parse::<usize>() {
        Ok(number) if !open.is_empty() => {
            format!("No open question has the number {number}. {}", which(open))
        }
        _ => which(open),
    }
}

/// The open questions, with the numbers that people name them by.
pub fn open_questions(open: &[QuestionRow]) -> String {
    let line = |question: &QuestionRow| format!("**{}** {}", question.number(), subject(question));
    open.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// How to answer a question by `/answer`.
pub fn how_to_answer(question: &QuestionRow) -> String {
    let number = question.number();
    match &question.kind {
        QuestionKind::Choice { options, .. } => {
            format!("Send `/answer {number}` with one of these: {}.", options.join(", "))
        }
        QuestionKind::Input { .. } => format!("Send `/answer {number}` and what you want to say."),
        QuestionKind::Plan { .. } => {
            format!("Send `/answer {number} run`, `/answer {number} cancel`, or the change.")
        }
        QuestionKind::Continue { .. } | QuestionKind::Approval { .. } => {
            format!("Send `/answer {number} yes` or `/answer {number} no`.")
        }
    }
}

/// Confirms an answer by name.
pub fn noted(question: &QuestionRow, answer: &Answer) -> String {
    match answer {
        Answer::Text(_) if matches!(question.kind, QuestionKind::Plan { .. }) => {
            "OK, I'll change the plan.".into()
        }
        Answer::Approve => format!("Approved: {}. Going ahead.", subject(question)),
        Answer::Reject => format!("Rejected: {}. I'll leave it.", subject(question)),
        Answer::Continue => "OK, I'll continue.".into(),
        Answer::Summarise => "OK, I'll summarise.".into(),
        Answer::Stop => "OK, I'll stop.".into(),
        Answer::Text(_) if matches!(question.kind, QuestionKind::Input { .. }) => {
            "Thanks. Going ahead.".into()
        }
        Answer::Text(chosen) => format!("OK: {chosen}."),
    }
}
