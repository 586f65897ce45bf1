//! What people read when a call needs their approval.

use std::time::Duration;

use adjutant_chat::Choice;
use adjutant_l10n::{approvals, questions as words};
use adjutant_store::questions::QuestionRow;
use adjutant_types::invisible_chars::shown;
use adjutant_types::text::one_line;
use adjutant_types::{Answer, QuestionKind, Taint};

use super::{choices, first_line};
use crate::trust::ApprovalReason;

/// The maximum number of questions of one message that have buttons of their own.
const BUTTONS: usize = 6;
/// The longest quotation of a person's own message, in characters.
const QUOTED: usize = 120;
/// How much of an effect is shown at once: lines and characters. A button shows the rest.
const SHOWN: (usize, usize) = (12, 700);
/// Separates the body of a question from the sentence that says where the idea came from. A body has no character that
/// isn't seen.
const ORIGIN: char = '\u{1e}';

/// Asks for approval of calls that a turn has prepared: each effect, then why it is asked. After `delay` milliseconds
/// silence is a yes to the only one.
pub fn approval(text: Option<&str>, bodies: &[&str], delay: Option<i64>) -> String {
    let bodies: Vec<(&str, Option<&str>)> = bodies.iter().map(|body| split(body)).collect();
    // The common part appears once.
    let common = bodies.first().and_then(|(_, origin)| *origin);
    let common = common.filter(|common| bodies.iter().all(|(_, origin)| *origin == Some(*common)));
    let mut parts = Vec::new();
    for (number, (body, origin)) in (1..).zip(&bodies) {
        let number = if bodies.len() > 1 { format!("**{number}.** ") } else { String::new() };
        parts.push(format!("{number}{}", body.trim_end()));
        parts.extend(origin.filter(|_| common.is_none()).map(str::to_owned));
    }
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let asks = match (bodies.len(), delay) {
        (1, None) => approvals::shall_i(),
        (1, Some(delay)) => {
            approvals::sending_soon(super::duration(Duration::from_millis(delay.unsigned_abs())))
        }
        (many, _) => approvals::shall_i_do_all(many),
    };
    let why = [
        text.map(|text| approvals::you_asked(one_line(text, QUOTED))),
        common.map(str::to_owned),
        Some(asks),
    ];
    parts.push(why.into_iter().flatten().collect::<Vec<_>>().join(" "));
    parts.join("\n\n")
}

/// A body, and where its idea came from.
fn split(body: &str) -> (&str, Option<&str>) {
    body.rsplit_once(ORIGIN).map_or((body, None), |(body, origin)| (body, Some(origin)))
}

fn approve_buttons() -> [(&'static str, String); 2] {
    [("approve", approvals::approve_button()), ("reject", approvals::reject_button())]
}

/// The buttons of an email that is sent unless somebody stops it.
fn send_buttons() -> [(&'static str, String); 2] {
    [("approve", approvals::send_now_button()), ("reject", approvals::do_not_send_button())]
}

/// The buttons of an approval. Where something leaves the house or outside text chose it, each is looked at before all
/// of them can be approved. What is only delayed says so.
pub fn approve_choices(questions: &[&QuestionRow], is_delicate: bool, is_delayed: bool) -> Vec<Choice> {
    let [first, rest @ ..] = questions else { return Vec::new() };
    let mut buttons = match rest {
        [] => {
            let mut buttons = choices(&first.id, if is_delayed { send_buttons() } else { approve_buttons() });
            if let QuestionKind::Approval { rule: Some(rule), .. } = &first.kind {
                let label = super::rules::always(rule);
                buttons.push(Choice { id: format!("{}:always", first.id), label });
            }
            buttons
        }
        _ => Vec::new(),
    };
    if !rest.is_empty() {
        let all = [
            ("approve-all", approvals::approve_all_button()),
            ("reject-all", approvals::reject_all_button()),
        ];
        for (number, question) in (1..).zip(questions.iter().take(BUTTONS)) {
            let labels = [
                ("approve", approvals::approve_number_button(number)),
                ("reject", approvals::reject_number_button(number)),
            ];
            buttons.extend(choices(&question.id, labels));
        }
        let at = if is_delicate { buttons.len() } else { 0 };
        buttons.splice(at..at, choices(&first.id, all));
    }
    if questions.iter().any(|question| is_cut(question)) {
        buttons.extend(choices(&first.id, [("show", approvals::show_all_button())]));
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
    let (max_lines, max_chars) = SHOWN;
    if preview.chars().count() <= max_chars && preview.lines().count() <= max_lines {
        return preview.to_owned();
    }
    let (mut text, mut fence, mut left) = (String::new(), None, max_chars);
    for line in preview.lines().take(max_lines) {
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
    text + &approvals::hidden_characters(hidden)
}

/// A recipient, with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub address: String,
    /// Whether it is in the person's contacts; none if unclear.
    pub is_contact: Option<bool>,
    /// Whether the person's message names it.
    pub is_named: bool,
}

impl Recipient {
    fn marked(&self) -> String {
        let address = shown(&self.address);
        match (self.is_named, self.is_contact) {
            (true, _) => address,
            (false, Some(true)) => approvals::known_recipient(address),
            (false, Some(false)) => approvals::new_recipient(address),
            (false, None) => approvals::unmentioned_recipient(address),
        }
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

/// One call as it is shown: what it would do, and next to the buttons who gets something, and why it is asked. What says
/// where the idea came from follows after [`ORIGIN`].
pub fn body(preview: &str, about: &Circumstances<'_>) -> String {
    let mut text = shortened(&shown(preview));
    let mut add = |line: String| text.push_str(&format!("\n\n{line}"));
    if let Some(warning) = &about.warning {
        add(shown(warning));
    }
    if about.roles.len() > 1 {
        add(approvals::asked_for_by(about.roles.join(" › ")));
    }
    if !about.recipients.is_empty() {
        let all: Vec<String> = about.recipients.iter().map(Recipient::marked).collect();
        add(approvals::goes_to(all.join(", ")));
    }
    let read = about.taint.and_then(sources).map(|read| shown(&read));
    if let Some(why) = about.reason.and_then(|reason| why(reason, read.as_deref())) {
        add(why);
    }
    if let Some(origin) = about.reason.and_then(|reason| origin(reason, read?)) {
        text.push(ORIGIN);
        text.push_str(&origin);
    }
    text
}

/// Where the idea came from, if that is why it is asked; `read` is what was read from outside before.
fn origin(reason: &ApprovalReason, read: String) -> Option<String> {
    match reason {
        ApprovalReason::NotAskedFor => Some(approvals::idea_from(read)),
        ApprovalReason::UnknownRecipient => Some(approvals::address_from(read)),
        ApprovalReason::NotNamed => Some(approvals::details_from(read)),
        _ => None,
    }
}

/// Another reason why it is asked.
fn why(reason: &ApprovalReason, read: Option<&str>) -> Option<String> {
    match reason {
        ApprovalReason::TooManyRecipients(max) => Some(approvals::too_many_recipients(max)),
        ApprovalReason::TooManyDeletions => {
            Some(read.map_or_else(approvals::too_many_deletions, approvals::too_many_deletions_from))
        }
        ApprovalReason::Because(why) => Some(approvals::note(why)),
        ApprovalReason::Unread(_) => read.map(approvals::unchecked_from),
        ApprovalReason::NotAskedFor | ApprovalReason::UnknownRecipient | ApprovalReason::NotNamed => None,
    }
}

/// What was read from outside, as far as a sentence can hold it.
fn sources(taint: &Taint) -> Option<String> {
    let all: Vec<&str> = taint.sources().collect();
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [one, two] => Some(approvals::two_sources(one, two)),
        [one, two, three] => Some(approvals::three_sources(one, two, three)),
        many => Some(approvals::many_sources(many.len())),
    }
}

/// What a question is about, in a line: its first line and, where only its details tell it from others, the first two of
/// them.
pub fn subject(question: &QuestionRow) -> String {
    let text = match &question.kind {
        QuestionKind::Continue { .. } => return words::continue_subject(),
        QuestionKind::Approval { preview, .. } => preview,
        QuestionKind::Choice { subject, .. } => subject,
        QuestionKind::Plan { goal } => goal,
        QuestionKind::Input { name } if name.contains(' ') => name,
        QuestionKind::Input { name } => return words::input_subject(name),
    };
    let first = first_line(text);
    let Some(title) = first.strip_suffix(':') else { return first.to_owned() };
    let title = title.split_once(" (").map_or(title, |(title, _)| title);
    let detail =
        |line: &str| line.strip_prefix("- ")?.split_once(": ").map(|(_, value)| one_line(value, QUOTED));
    let details: Vec<String> = text.lines().skip(1).filter_map(detail).take(2).collect();
    if details.is_empty() { title.to_owned() } else { format!("{title}: {}", details.join(", ")) }
}

/// The end of a turn whose one question was taken back, because the person wants something else.
/// Words of others aren't repeated.
pub fn withdrawn(text: Option<&str>) -> String {
    text.map_or_else(words::withdrawn, |text| words::withdrawn_request(one_line(text, QUOTED)))
}

/// To a yes that may mean several questions, or one that was asked before something else was said.
pub fn which(open: &[QuestionRow]) -> String {
    let lines = open_questions(open);
    match open {
        [] => words::none_open(),
        [one] => words::which_one(lines, one.number()),
        [one, other, ..] => words::which_of_several(lines, one.number(), other.number()),
    }
}

/// To `/answer` with something else than the number of an open question.
pub fn no_such_number(given: &str, open: &[QuestionRow]) -> String {
    match given.parse::<usize>() {
        Ok(number) if !open.is_empty() => words::no_such_number(number, which(open)),
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
        QuestionKind::Choice { options, .. } => words::answer_choice(number, options.join(", ")),
        QuestionKind::Input { .. } => words::answer_input(number),
        QuestionKind::Plan { .. } => words::answer_plan(number),
        QuestionKind::Continue { .. } | QuestionKind::Approval { .. } => words::answer_yes_or_no(number),
    }
}

/// Confirms an answer by name.
pub fn noted(question: &QuestionRow, answer: &Answer) -> String {
    match answer {
        Answer::Text(_) if matches!(question.kind, QuestionKind::Plan { .. }) => words::changing_plan(),
        Answer::Approve => words::approved(subject(question)),
        Answer::Reject => words::rejected(subject(question)),
        Answer::Continue => words::continuing(),
        Answer::Summarise => words::summarising(),
        Answer::Stop => words::stopping(),
        Answer::Text(_) if matches!(question.kind, QuestionKind::Input { .. }) => words::input_taken(),
        Answer::Text(chosen) => words::chosen(chosen),
    }
}
