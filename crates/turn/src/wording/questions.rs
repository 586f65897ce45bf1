//! What people read when a call needs their approval.

use std::time::Duration;

use adjutant_chat::Choice;
use adjutant_store::questions::QuestionRow;
use adjutant_types::invisible_chars::shown;
use adjutant_types::{Answer, QuestionKind, Taint};

use super::{APPROVE, choices, first_line};
use crate::trust::ApprovalReason;

/// The buttons of an email that is sent unless somebody stops it.
const SEND: [(&str, &str); 2] = [("approve", "Send now"), ("reject", "Don't send")];
/// The most questions of one message that have buttons of their own.
const BUTTONS: usize = 6;
/// The longest quotation of a person's own message, in characters.
const QUOTED: usize = 120;
/// How much of an effect is shown at once: lines and characters. A button shows the rest.
const SHOWN: (usize, usize) = (12, 700);
/// How the sentence ends that says where an effect came from.
const NOT_YOURS: &str = ", not from you.";

/// Asks for approval of calls that a turn has prepared: each effect, then why it is asked. After `delay` milliseconds
/// silence is a yes to the only one.
pub fn approval(text: Option<&str>, bodies: &[&str], delay: Option<i64>) -> String {
    // What all have in common is said once.
    let idea = |body: &&str| body.rsplit_once("\n\n").map(|(_, last)| last.to_owned());
    let common = bodies.first().and_then(idea).filter(|last| last.ends_with(NOT_YOURS));
    let common = common.filter(|common| bodies.iter().all(|body| idea(body).as_ref() == Some(common)));
    let mut why = String::new();
    if let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) {
        why = format!("You asked: “{}”. ", cut(text));
    }
    let mut parts = Vec::new();
    for (number, body) in (1..).zip(bodies) {
        let body = common.as_ref().and_then(|common| body.strip_suffix(common.as_str())).unwrap_or(body);
        let number = if bodies.len() > 1 { format!("**{number}.** ") } else { String::new() };
        parts.push(format!("{number}{}", body.trim_end()));
    }
    if let Some(common) = common {
        why.push_str(&format!("{common} "));
    }
    why.push_str(&match (bodies.len(), delay) {
        (1, None) => "Shall I do this?".to_owned(),
        (1, Some(delay)) => {
            let delay = super::duration(Duration::from_millis(delay.unsigned_abs()));
            format!(
                "I'll send this in {delay}. “No” stops it; if you write anything else, it waits for a yes."
            )
        }
        (many, _) => {
            format!("Shall I do these {many} things? Answer “yes”, “no”, “yes to 1” or “all except 2”.")
        }
    });
    parts.push(why);
    parts.join("\n\n")
}

/// The buttons of an approval. Where something leaves the house or outside text chose it, each is looked at before all
/// of them can be approved. What is only delayed says so.
pub fn approve_choices(questions: &[&QuestionRow], is_delicate: bool, is_delayed: bool) -> Vec<Choice> {
    let [first, rest @ ..] = questions else { return Vec::new() };
    let mut buttons = match rest {
        [] => {
            let mut buttons = choices(&first.id, if is_delayed { SEND } else { APPROVE });
            if let QuestionKind::Approval { rule: Some(rule), .. } = &first.kind {
                let label = super::rules::always(rule);
                buttons.push(Choice { id: format!("{}:always", first.id), label });
            }
            buttons
        }
        _ => Vec::new(),
    };
    if !rest.is_empty() {
        let all = choices(&first.id, [("approve-all", "Approve all"), ("reject-all", "Reject all")]);
        for (number, question) in (1..).zip(questions.iter().take(BUTTONS)) {
            buttons.extend(APPROVE.map(|(answer, label)| Choice {
                id: format!("{}:{answer}", question.id),
                label: format!("{label} {number}"),
            }));
        }
        let at = if is_delicate { buttons.len() } else { 0 };
        buttons.splice(at..at, all);
    }
    if questions.iter().any(|question| is_cut(question)) {
        buttons.extend(choices(&first.id, [("show", "Show all")]));
    }
    buttons
}

/// The effects of a message's approvals, with nothing left out.
pub fn shown_whole(questions: &[QuestionRow]) -> String {
    let preview = |question: &QuestionRow| match &question.kind {
        QuestionKind::Approval { preview, .. } => shown(preview),
        _ => subject(question),
    };
    match questions {
        [one] => preview(one),
        many => {
            let parts =
                (1..).zip(many).map(|(number, question)| format!("**{number}.** {}", preview(question)));
            parts.collect::<Vec<_>>().join("\n\n")
        }
    }
}

fn is_cut(question: &QuestionRow) -> bool {
    matches!(&question.kind, QuestionKind::Approval { preview, .. } if !question.body.starts_with(&shown(preview)))
}

/// As much of an effect as fits a phone; a block of text that is cut is closed.
fn shortened(preview: &str) -> String {
    let (most_lines, most_chars) = SHOWN;
    if preview.chars().count() <= most_chars && preview.lines().count() <= most_lines {
        return preview.to_owned();
    }
    let (mut text, mut fence, mut left) = (String::new(), None, most_chars);
    for line in preview.lines().take(most_lines) {
        let is_fence = line.starts_with("```") && fence.is_none_or(|open| open == line);
        let shown: String = line.chars().take(left).collect();
        if is_fence && shown.len() == line.len() {
            fence = if fence.is_some() { None } else { Some(line) };
        }
        left -= shown.chars().count();
        text.push_str(&shown);
        text.push('\n');
        if left == 0 {
            break;
        }
    }
    let hidden = preview.chars().count().saturating_sub(text.chars().count());
    if let Some(fence) = fence {
        text.push_str(fence);
        text.push('\n');
    }
    format!("{text}… and {hidden} more characters: “Show all”")
}

/// Who gets something, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub address: String,
    /// Whether it is in the person's contacts; none if that isn't known.
    pub is_contact: Option<bool>,
    /// Whether the person's message names it.
    pub is_named: bool,
}

impl Recipient {
    fn marked(&self) -> String {
        let mark = match (self.is_named, self.is_contact) {
            (true, _) => "",
            (false, Some(true)) => " (in your contacts; you didn't mention them)",
            (false, Some(false)) => " (new address: not in your contacts, and you didn't mention it)",
            (false, None) => " (you didn't mention it)",
        };
        format!("{}{mark}", shown(&self.address))
    }
}

/// What a person is shown of one call beside its effect.
#[derive(Debug, Default)]
pub struct Circumstances<'a> {
    /// Why it is asked although the policy asks nobody.
    pub reason: Option<&'a ApprovalReason>,
    /// What was read from outside before.
    pub taint: Option<&'a Taint>,
    /// What it collides with.
    pub warning: Option<String>,
    /// Who gets something.
    pub recipients: &'a [Recipient],
    /// The agents that asked for it, from the top.
    pub roles: &'a [String],
}

/// One call as it is shown: what it would do, and next to the buttons who gets something, and why it is asked.
pub fn body(preview: &str, about: &Circumstances<'_>) -> String {
    let mut text = shortened(&shown(preview));
    let mut add = |line: String| text.push_str(&format!("\n\n{line}"));
    if let Some(warning) = &about.warning {
        add(shown(warning));
    }
    if about.roles.len() > 1 {
        add(format!("Asked for by {}", about.roles.join(" › ")));
    }
    if !about.recipients.is_empty() {
        let all: Vec<String> = about.recipients.iter().map(Recipient::marked).collect();
        add(format!("Goes to: {}", all.join(", ")));
    }
    let read = about.taint.and_then(sources).map(|read| shown(&read));
    if let Some(why) = about.reason.and_then(|reason| why(reason, read.as_deref())) {
        add(why);
    }
    text
}

/// Why it is asked; `read` is what was read from outside before.
fn why(reason: &ApprovalReason, read: Option<&str>) -> Option<String> {
    Some(match reason {
        ApprovalReason::TooManyRecipients(most) => format!("This would go to more than {most} people."),
        ApprovalReason::TooManyDeletions => match read {
            Some(read) => {
                format!("This would delete more than two things, and the idea may come from {read}.")
            }
            None => "This would delete more than two things.".to_owned(),
        },
        ApprovalReason::Because(why) => format!("Note: {why}."),
        ApprovalReason::NotAskedFor => format!("This idea comes from {}{NOT_YOURS}", read?),
        ApprovalReason::UnknownRecipient => format!("The address comes from {}{NOT_YOURS}", read?),
        ApprovalReason::NotNamed => format!("The details come from {}{NOT_YOURS}", read?),
        ApprovalReason::Unread(_) => {
            format!("I couldn't check whether you asked for this. It may come from {}.", read?)
        }
    })
}

/// What was read from outside, as far as a sentence can hold it.
fn sources(taint: &Taint) -> Option<String> {
    let all: Vec<&str> = taint.sources().collect();
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [one, two] => Some(format!("{one} and {two}")),
        [one, two, three] => Some(format!("{one}, {two} and {three}")),
        many => Some(format!("one of {} texts of others", many.len())),
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
