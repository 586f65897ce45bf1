//! What people read when a call needs their approval.

use std::collections::BTreeSet;
use std::time::Duration;

use adjutant_chat::Choice;
use adjutant_l10n::{approvals, questions as words};
use adjutant_store::outbox::Message;
use adjutant_store::questions::QuestionRow;
use adjutant_types::invisible_chars::shown;
use adjutant_types::text::one_line;
use adjutant_types::{Answer, MEANT_OTHER, QuestionKind, Taint};

use super::{choices, first_line};
use crate::trust::ApprovalReason;

/// The most questions of one message that have buttons of their own.
const BUTTONS: usize = 3;
/// The longest name of a contact, in characters.
const NAME: usize = 60;
/// The longest quotation of a person's own message, or of a detail, in characters; of another question twice as much.
const QUOTED: usize = 120;
/// How many of the things that a person's words fit, too, are named.
const OTHERS_NAMED: usize = 3;
/// How much of an effect is shown at once: lines and characters; of what stands above a quoted text up to twice as much.
/// A button shows the rest.
const SHOWN: (usize, usize) = (12, 700);
/// Separates the body of a question that not only the policy asks from the sentence that says where the idea came from, if
/// there is one. A body has no character that isn't seen.
const ORIGIN: char = '\u{1e}';
/// The same before the other questions that a yes to it answers, too.
const OTHERS: char = '\u{1d}';

/// Asks for approval of calls that a turn has prepared: each effect, then why it is asked. After `delay` milliseconds
/// silence is a yes to the only one.
pub fn approval(text: Option<&str>, bodies: &[&str], delay: Option<i64>) -> String {
    let bodies = bodies.iter().map(|body| split(body, ORIGIN));
    let bodies: Vec<(&str, Option<&str>)> =
        bodies.map(|(body, origin)| (body, origin.filter(|origin| !origin.is_empty()))).collect();
    // The common part appears once.
    let common = bodies.first().and_then(|(_, origin)| *origin);
    let common = common.filter(|common| bodies.iter().all(|(_, origin)| *origin == Some(*common)));
    let (mut parts, mut others) = (Vec::new(), None);
    for (number, (body, origin)) in (1..).zip(&bodies) {
        let number = if bodies.len() > 1 { format!("**{number}.** ") } else { String::new() };
        let (body, open) = split(body, OTHERS);
        others = open.or(others);
        parts.push(format!("{number}{}", body.trim_end()));
        parts.extend(origin.filter(|_| common.is_none()).map(str::to_owned));
    }
    parts.extend(others.map(str::to_owned));
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

/// A text before a mark, and what stands behind it.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(text, behind)| (text, Some(behind)))
}

/// The buttons of an approval. Where something leaves the house or outside text chose it, each is looked at before all
/// of them can be approved.
pub fn approve_choices(questions: &[&QuestionRow], is_delicate: bool, is_delayed: bool) -> Vec<Choice> {
    let [first, rest @ ..] = questions else { return Vec::new() };
    let all = || {
        let (yes, no) = (approvals::approve_all_button(), approvals::reject_all_button());
        choices(&first.id, [("approve-all", yes), ("reject-all", no)])
    };
    let mut buttons = Vec::new();
    if rest.is_empty() {
        // An email that is sent unless somebody stops it says so.
        let [yes, no] = match is_delayed {
            true => [approvals::send_now_button(), approvals::do_not_send_button()],
            false => [approvals::approve_button(), approvals::reject_button()],
        };
        buttons = choices(&first.id, [("approve", yes), ("reject", no)]);
        if let QuestionKind::Approval { rule: Some(rule), .. } = &first.kind {
            let label = super::rules::always(rule);
            buttons.push(Choice { id: format!("{}:always", first.id), label });
        }
        if is_for_listed(first) {
            buttons.extend(all());
        }
    } else {
        let numbered = questions.iter().filter(|_| questions.len() <= BUTTONS);
        for (number, question) in (1..).zip(numbered) {
            let labels = [
                ("approve", approvals::approve_number_button(number)),
                ("reject", approvals::reject_number_button(number)),
            ];
            buttons.extend(choices(&question.id, labels));
        }
        let at = if is_delicate { buttons.len() } else { 0 };
        buttons.splice(at..at, all());
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
    let own = preview.lines().position(|line| line.starts_with('>')).unwrap_or_default();
    let chars = preview.lines().take(own).map(|line| line.chars().count()).sum::<usize>();
    let (max_lines, max_chars) = (own.clamp(SHOWN.0, 2 * SHOWN.0), chars.clamp(SHOWN.1, 2 * SHOWN.1));
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
    // The end of the block may be all that was left.
    match text.trim_end() == preview.trim_end() {
        true => preview.to_owned(),
        false => text + &approvals::hidden_characters(hidden),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub address: String,
    pub contact: ContactMatch,
    /// Whether the person's newest messages name it.
    pub is_named: bool,
    /// Whether an earlier one does.
    pub is_mentioned: bool,
    /// Whether it sent the email that is answered.
    pub is_answered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactMatch {
    /// They can't be read, or only text from outside put it there.
    Unclear,
    Missing,
    Found {
        name: String,
        /// What the person said, if other contacts are called that, too, and their names.
        shared_name: Option<(String, BTreeSet<String>)>,
    },
}

impl Recipient {
    fn marked(&self) -> String {
        let address = shown(&self.address);
        match &self.contact {
            _ if self.is_named => address,
            ContactMatch::Found { name, shared_name } => {
                // A name must not look like what stands beside it.
                let plain = |name: &String| clipped(name).replace(['<', '>', '(', ')', '@'], "");
                let contact = format!("{} <{address}>", plain(name));
                match shared_name {
                    // What is asked holds no address that it doesn't go to.
                    Some((_, others)) if others.iter().any(|other| other.eq_ignore_ascii_case(name)) => {
                        approvals::namesake_recipient(contact, plain(name))
                    }
                    Some((called, others)) => {
                        let others = listed_some(others.iter().map(|other| format!("“{}”", plain(other))));
                        approvals::ambiguous_recipient(contact, shown(called), others)
                    }
                    None if self.is_mentioned => approvals::contact_recipient(contact),
                    None => approvals::known_recipient(contact),
                }
            }
            _ if self.is_answered => approvals::answered_recipient(address),
            ContactMatch::Missing if self.is_mentioned => approvals::foreign_recipient(address),
            ContactMatch::Missing => approvals::new_recipient(address),
            ContactMatch::Unclear if self.is_mentioned => address,
            ContactMatch::Unclear => approvals::unmentioned_recipient(address),
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
    pub warning: Option<String>,
    pub recipients: &'a [Recipient],
    /// Whether all that they said is a yes to what we offered.
    pub is_offered: bool,
    /// The agents that asked for it, from the top.
    pub roles: &'a [String],
    pub replaces: Option<&'a QuestionRow>,
    /// The others of the messages whose questions the turn has taken back, which wait for their answers.
    pub still_open: &'a [QuestionRow],
}

/// One call as it is shown: what it would do, and next to the buttons who gets something, and why it is asked. What says
/// where the idea came from follows after [`ORIGIN`].
pub fn body(preview: &str, about: &Circumstances<'_>) -> String {
    let mut text = shortened(&shown(preview));
    let mut add = |line: String| text.push_str(&format!("\n\n{line}"));
    if let Some(warning) = &about.warning {
        add(shown(warning));
    }
    if let Some(replaced) = about.replaces {
        add(approvals::instead_of(one_line(&shown(&subject(replaced)), 2 * QUOTED)));
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
    let origin = read.and_then(|read| origin(about, read));
    if !about.still_open.is_empty() {
        text.push(OTHERS);
        text.push_str(&still_open(about.still_open));
    }
    if about.reason.is_some() {
        text.push(ORIGIN);
        text.push_str(&origin.unwrap_or_default());
    }
    text
}

/// Where the idea came from, if that is why it is asked; `read` is what was read from outside before.
fn origin(about: &Circumstances<'_>, read: String) -> Option<String> {
    use ApprovalReason::{Ambiguous, NotAskedFor, NotNamed, UnknownRecipient, Unread};
    match about.reason? {
        NotAskedFor if about.is_offered => Some(approvals::offer_from(read)),
        NotAskedFor => Some(approvals::idea_from(read)),
        Unread(_) => Some(approvals::unchecked_from(read)),
        UnknownRecipient => Some(approvals::address_from(read)),
        NotNamed => Some(approvals::details_from(read)),
        Ambiguous(others) => Some(approvals::several_fit(fitting(others))),
        _ => None,
    }
}

/// Some of the things that words may mean, by their titles and senders, which others wrote.
fn fitting(others: &[(String, Option<String>)]) -> String {
    listed_some(others.iter().map(|(title, from)| match from {
        Some(from) => adjutant_l10n::sources::email(clipped(title), clipped(from)),
        None => format!("“{}”", clipped(title)),
    }))
}

/// What others wrote, so short that it can stand between quotation marks.
fn clipped(text: &str) -> String {
    shown(&one_line(text, NAME)).replace(['“', '”'], "\"")
}

fn listed_some(mut all: impl Iterator<Item = String>) -> String {
    let mut some: Vec<String> = all.by_ref().take(OTHERS_NAMED).collect();
    some.extend(all.next().map(|_| "…".to_owned()));
    some.join(", ")
}

fn why(reason: &ApprovalReason, read: Option<&str>) -> Option<String> {
    match reason {
        ApprovalReason::TooManyRecipients(max) => Some(approvals::too_many_recipients(max)),
        ApprovalReason::TooManyDeletions => {
            Some(read.map_or_else(approvals::too_many_deletions, approvals::too_many_deletions_from))
        }
        ApprovalReason::Because(why) => Some(approvals::note(why)),
        _ => None,
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
        // Most of them are of earlier turns: their number says nothing.
        _ => Some(approvals::many_sources()),
    }
}

/// What a question is about, in a line: its first line and, where only its details tell it from others, the first two of
/// them.
pub fn subject(question: &QuestionRow) -> String {
    let text: &str = match &question.kind {
        QuestionKind::Continue { .. } => return words::continue_subject(),
        QuestionKind::Approval { preview, .. } => preview,
        QuestionKind::Choice { subject, .. } => choice_subject(subject),
        QuestionKind::Plan { goal } => goal,
        QuestionKind::Input { name } if name.contains(' ') => name,
        QuestionKind::Input { name } => return words::input_subject(name),
    };
    let first = first_line(text);
    let Some(title) = first.strip_suffix(':') else { return first.to_owned() };
    let title = title.split_once(" (").map_or(title, |(title, _)| title);
    let short = |value: &str| match value.split_once(" → ") {
        Some((old, new)) => format!("{} → {}", one_line(old, QUOTED / 2), one_line(new, QUOTED)),
        None => one_line(value, QUOTED),
    };
    let detail = |line: &str| line.strip_prefix("- ")?.split_once(": ").map(|(_, value)| short(value));
    let details: Vec<String> = text.lines().skip(1).filter_map(detail).take(2).collect();
    if details.is_empty() { title.to_owned() } else { format!("{title}: {}", details.join(", ")) }
}

/// What a choice is about, without the mark of a heading; an earlier version wrote one above a draft.
pub fn choice_subject(subject: &str) -> &str {
    subject.trim_start_matches("# ")
}

/// To a yes that may mean several questions, or one that was asked before something else was said. `asked` are the
/// questions of the newest one's message. A no can't mean a yes to any.
pub fn which(open: &[QuestionRow], asked: &[QuestionRow], is_no: bool) -> Message {
    let number = |question: &QuestionRow| shown_number(question, open, asked);
    let lines = numbered(open, number);
    let reply = |yes: &QuestionRow, no: &QuestionRow| match is_no {
        true => words::reply_no(number(no)),
        false => words::reply_yes_or_no(number(yes), number(no)),
    };
    let text = match open {
        [] => words::none_open(),
        [one] => words::which_one(lines, reply(one, one)),
        [one, other, ..] => words::which_of_several(lines, reply(one, other)),
    };
    let buttons = |question: &QuestionRow| yes_and_no(question, number(question), open.len() == 1);
    let mut choices: Vec<Choice> = open.iter().take(BUTTONS).flat_map(buttons).collect();
    if is_no {
        choices.retain(|choice| !choice.id.ends_with(":approve") && !choice.id.ends_with(":continue"));
    }
    Message { text, choices, ..Message::default() }
}

/// The buttons that answer a question of such a list; none where a yes is no answer.
fn yes_and_no(question: &QuestionRow, number: i64, is_only: bool) -> Vec<Choice> {
    let (yes, no) = match question.kind {
        QuestionKind::Approval { .. } | QuestionKind::Plan { .. } => ("approve", "reject"),
        QuestionKind::Continue { .. } => ("continue", "stop"),
        QuestionKind::Choice { .. } | QuestionKind::Input { .. } => return Vec::new(),
    };
    // A bare "Yes" could also mean that a no was meant for it.
    let answers = [(yes, words::yes_to_button(number)), (no, words::no_to_button(number))];
    let mut buttons = choices(&question.id, answers);
    // One question wasn't chosen among others, so what doesn't fit it was meant for something else.
    if is_only && matches!(question.kind, QuestionKind::Approval { .. }) {
        buttons.extend(choices(&question.id, [(MEANT_OTHER, words::other_button())]));
    }
    buttons
}

/// The number that people read at an open question: the one in its message if no other message asks anything, or else
/// the one that stays.
pub fn shown_number(question: &QuestionRow, open: &[QuestionRow], asked: &[QuestionRow]) -> i64 {
    let position = |question: &QuestionRow| asked.iter().position(|row| row.id == question.id);
    let is_one_message = asked.len() > 1 && open.iter().all(|other| position(other).is_some());
    let shown = position(question).filter(|_| is_one_message);
    shown.and_then(|index| i64::try_from(index + 1).ok()).unwrap_or_else(|| question.number())
}

/// To `/answer` with something else than the number of an open question.
pub fn no_such_number(given: &str, open: &[QuestionRow], asked: &[QuestionRow], is_no: bool) -> Message {
    let mut which = which(open, asked, is_no);
    if let Ok(number) = given.parse::<usize>()
        && !open.is_empty()
    {
        which.text = words::no_such_number(number, &which.text);
    }
    which
}

/// The open questions, with the numbers that people name them by.
pub fn open_questions(open: &[QuestionRow]) -> String {
    numbered(open, QuestionRow::number)
}

fn numbered(open: &[QuestionRow], number: impl Fn(&QuestionRow) -> i64) -> String {
    let line = |question: &QuestionRow| format!("**{}** {}", number(question), subject(question));
    open.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The same in one line, below what became of others of their message.
pub fn left_open(open: &[QuestionRow]) -> String {
    let all = open.iter().map(|question| {
        format!("**{}** {}", question.number(), one_line(&shown(&subject(question)), 2 * QUOTED))
    });
    words::left_open(all.collect::<Vec<_>>().join("; "))
}

fn still_open(others: &[QuestionRow]) -> String {
    let list = shown(&numbered(others, QuestionRow::number));
    if are_plain(others) { approvals::still_open(list) } else { approvals::not_answered(list) }
}

/// Whether the policy alone asks these: then a yes to a message that only names them is for them, too.
fn are_plain(questions: &[QuestionRow]) -> bool {
    !questions.iter().any(|question| question.body.contains(ORIGIN))
}

/// The other questions that a question's message lists.
fn listed(question: &QuestionRow) -> Option<&str> {
    split(split(&question.body, ORIGIN).0, OTHERS).1
}

/// Whether the message says that a yes is for those, too.
pub fn is_for_listed(question: &QuestionRow) -> bool {
    listed(question).is_some_and(|listed| listed.starts_with(approvals::still_open("").trim_end()))
}

/// Whether the message of the newest of several open questions, the last one, names those of all others.
pub fn lists_all(open: &[QuestionRow]) -> bool {
    let others = beside_newest(open);
    let listed = open.last().and_then(listed);
    !others.is_empty() && listed == Some(still_open(&others).as_str())
}

/// The same, and whether a yes to it is for all.
pub fn asks_for_all(open: &[QuestionRow]) -> bool {
    lists_all(open) && are_plain(&beside_newest(open))
}

/// Open questions of other messages than the newest one's.
fn beside_newest(open: &[QuestionRow]) -> Vec<QuestionRow> {
    let newest = open.last().map(|newest| &newest.outbox_id);
    open.iter().filter(|other| Some(&other.outbox_id) != newest).cloned().collect()
}

pub fn how_to_answer(question: &QuestionRow) -> String {
    let number = question.number();
    match &question.kind {
        QuestionKind::Choice { options, .. } => words::answer_choice(number, options.join(", ")),
        QuestionKind::Input { .. } => words::answer_input(number),
        QuestionKind::Plan { .. } => words::answer_plan(number),
        QuestionKind::Continue { .. } | QuestionKind::Approval { .. } => words::answer_yes_or_no(number),
    }
}

pub fn noted(question: &QuestionRow, answer: &Answer) -> String {
    match answer {
        Answer::Text(_) if matches!(question.kind, QuestionKind::Plan { .. }) => words::changing_plan(),
        Answer::Approve => words::approved(subject(question)),
        Answer::Reject | Answer::Withdrawn => words::rejected(subject(question)),
        Answer::Continue => words::continuing(),
        Answer::Summarise => words::summarising(),
        Answer::Stop => words::stopping(),
        Answer::Text(_) if matches!(question.kind, QuestionKind::Input { .. }) => words::input_taken(),
        Answer::Text(chosen) => words::chosen(chosen),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_types::QuestionState;

    use super::*;
    use crate::trust::WishFailure;

    fn approvals_of_one_message(count: i64) -> Vec<QuestionRow> {
        let question = |seq: i64| QuestionRow {
            seq,
            id: format!("q{seq}").as_str().into(),
            conversation_id: "c".into(),
            turn_id: "t".into(),
            execution_id: None,
            person_id: "p".into(),
            kind: QuestionKind::Approval {
                preview: format!("Add {seq}"),
                arguments: String::new(),
                rule: None,
                delay: None,
            },
            state: QuestionState::Pending,
            answer: None,
            body: format!("Add {seq}"),
            outbox_id: "m".into(),
            expires_at: 0,
        };
        (1..=count).map(question).collect()
    }

    fn labels(choices: &[Choice]) -> Vec<&str> {
        choices.iter().map(|choice| choice.label.as_str()).collect()
    }

    #[test]
    fn more_than_three_questions_have_buttons_for_all_of_them_alone() {
        for (count, buttons) in [(3, 8), (4, 2), (12, 2)] {
            let rows = approvals_of_one_message(count);
            let rows: Vec<&QuestionRow> = rows.iter().collect();
            for is_delicate in [false, true] {
                let choices = approve_choices(&rows, is_delicate, false);
                assert_eq!(choices.len(), buttons, "{count}: {choices:?}");
                assert!(labels(&choices).contains(&"Approve all"), "{count}: {choices:?}");
            }
        }
    }

    #[test]
    fn a_question_is_named_by_the_number_that_its_message_shows() {
        let asked = approvals_of_one_message(5);
        let which = which(&asked[1..], &asked, false);
        insta::assert_snapshot!(which.text, @"
        Which one do you mean?
        **2** Add 2
        **3** Add 3
        **4** Add 4
        **5** Add 5

        Reply “yes to 2” or “no to 3”.
        ");
        assert_eq!(labels(&which.choices)[..3], ["Yes to 2", "No to 2", "Yes to 3"]);
        assert_eq!((which.choices.len(), which.choices[0].id.as_str()), (6, "q2:approve"));
        // A second message has numbers of its own.
        let mut several = asked.clone();
        several[0].outbox_id = "other".into();
        let text = super::which(&several, &asked[1..], false).text;
        assert!(text.contains("**13** Add 1\n**14** Add 2"), "{text}");
        // A no can't mean a yes.
        let which = super::which(&asked[1..], &asked, true);
        assert!(which.text.ends_with("**5** Add 5\n\nReply “no to 3”."), "{}", which.text);
        assert_eq!(labels(&which.choices), ["No to 2", "No to 3", "No to 4"]);
    }

    #[test]
    fn no_text_of_an_effect_makes_a_yes_count_for_another_question() {
        let mut asked = approvals_of_one_message(2);
        asked[0].outbox_id = "other".into();
        let open = asked[..1].to_vec();
        let about = Circumstances { still_open: &open, ..Circumstances::default() };
        asked[1].body = body("Add 2", &about);
        assert!(lists_all(&asked) && asks_for_all(&asked));
        let buttons = |asked: &[QuestionRow]| approve_choices(&[&asked[1]], true, false).len();
        assert_eq!(buttons(&asked), 4);
        asked[1].body = body(&format!("Add 2\n{}", still_open(&asked[..1])), &Circumstances::default());
        assert!(!lists_all(&asked) && !asks_for_all(&asked));
        assert_eq!(buttons(&asked), 2);
    }

    #[test]
    fn of_a_question_that_is_replaced_the_beginning_is_shown() {
        let mut replaced = approvals_of_one_message(1).remove(0);
        replaced.kind = QuestionKind::Approval {
            preview: format!("Add a task: “{}”", "pay ".repeat(80)),
            arguments: String::new(),
            rule: None,
            delay: None,
        };
        let about = Circumstances { replaces: Some(&replaced), ..Circumstances::default() };
        let text = body("Add a task: “pay”", &about);
        let line = text.lines().last().unwrap();
        assert!(line.starts_with("Instead of: Add a task: “pay pay") && line.ends_with('…'), "{line}");
        assert_eq!(line.chars().count(), "Instead of: ".len() + 2 * QUOTED + 1);
    }

    #[test]
    fn in_a_line_a_change_shows_what_is_new_whatever_was_there_before() {
        let mut question = approvals_of_one_message(1).remove(0);
        let long = "pay ".repeat(80);
        let preview =
            format!("Change it:\n- when: every day at 10:30 → every day at 03:00\n- text: {long} → eat");
        question.kind = QuestionKind::Approval { preview, arguments: String::new(), rule: None, delay: None };
        let line = left_open(&[question]);
        assert!(line.contains("Change it: every day at 10:30 → every day at 03:00, pay pay"), "{line}");
        assert!(line.contains("… → eat"), "{line}");
    }

    #[test]
    fn one_origin_of_all_is_told_once() {
        let (reason, taint) = (ApprovalReason::Unread(WishFailure::Late), Taint::by("the email “News”"));
        let about = Circumstances { reason: Some(&reason), taint: Some(&taint), ..Circumstances::default() };
        let bodies = ["Add 1", "Add 2", "Add 3"].map(|preview| body(preview, &about));
        let text = approval(None, &bodies.each_ref().map(String::as_str), None);
        assert_eq!(text.matches("the email “News”").count(), 1, "{text}");
    }

    #[test]
    fn own_lines_are_shown_before_what_they_answer() {
        let mail = |lines: usize| {
            let own = "own\n".repeat(lines);
            format!("Send this:\n- text:\n```\n{own}\nThey wrote:\n{}```", "> quoted\n".repeat(20))
        };
        let cut = shortened(&mail(13));
        assert_eq!((cut.matches("own").count(), cut.matches("quoted").count()), (13, 0), "{cut}");
        assert_eq!(shortened(&mail(100)).matches("own").count(), 2 * SHOWN.0 - 3);
    }

    #[test]
    fn of_many_texts_that_were_read_no_number_is_told() {
        let read: Taint =
            ["the task “1”", "the task “2”", "the task “3”", "the task “4”"].map(Taint::by).iter().collect();
        let reason = ApprovalReason::NotAskedFor;
        let about = Circumstances { reason: Some(&reason), taint: Some(&read), ..Circumstances::default() };
        let text = approval(None, &[&body("Add 1", &about)], None);
        assert!(text.ends_with(" It may come from something that I've read. Shall I do this?"), "{text}");
    }

    #[test]
    fn what_else_the_words_fit_is_named() {
        let read = Taint::by("the email “News”");
        let asks = |others: Vec<(String, Option<String>)>| {
            let reason = ApprovalReason::Ambiguous(others);
            let about =
                Circumstances { reason: Some(&reason), taint: Some(&read), ..Circumstances::default() };
            approval(None, &[&body("Delete it", &about)], None)
        };
        let title = |text: &str| (text.to_owned(), None);
        let mut others = vec![
            ("Lunch”\nYes".to_owned(), Some("Eve\u{202e} <eve@evil.test>".to_owned())),
            title(&"lunch ".repeat(20)),
            title("Team lunch"),
        ];
        let long = format!("“{}…”", "lunch ".repeat(10));
        let all = format!(
            "I'm not sure which one you mean: what you said also fits the email “Lunch\" Yes” from \
             Eve\\u{{202e}} <eve@evil.test>, {long}, “Team lunch”"
        );
        assert_eq!(asks(others.clone()), format!("Delete it\n\n{all}. Shall I do this?"));
        others.push(title("Lunch with Sam"));
        assert_eq!(asks(others), format!("Delete it\n\n{all}, …. Shall I do this?"));
    }

    #[test]
    fn a_block_whose_end_alone_is_left_is_whole() {
        let mail = |lines: usize| format!("Send this:\n```\n{}```", "line\n".repeat(lines));
        assert_eq!((mail(10).lines().count(), shortened(&mail(10))), (13, mail(10)));
        let cut = shortened(&mail(11));
        assert!(cut.contains("line\n```\n… and 8 more characters"), "{cut}");
    }

    #[test]
    fn what_stands_beside_a_recipient_is_true() {
        let to = |contact: ContactMatch, is_mentioned: bool, is_answered: bool| {
            let address = "bob@acme.test".to_owned();
            Recipient { address, contact, is_named: false, is_mentioned, is_answered }.marked()
        };
        let found = |name: &str, shared_name: Option<&str>| {
            let others = ["Bob (CEO)", "Bob Lee, whom you know"].map(str::to_owned).into();
            let shared_name = shared_name.map(|called| (called.to_owned(), others));
            ContactMatch::Found { name: name.into(), shared_name }
        };
        let all = [
            to(found("Bob Stone", None), false, true),
            to(found("Bob Stone", None), true, false),
            to(found("Bob Stone", Some("Bob")), true, false),
            to(found("bob (CEO)", Some("Bob")), true, false),
            to(found("Eve <eve@evil.test> (in your contacts)\u{202e}", None), true, false),
            to(ContactMatch::Missing, false, false),
            to(ContactMatch::Missing, true, false),
            to(ContactMatch::Missing, true, true),
            to(ContactMatch::Unclear, false, false),
            to(ContactMatch::Unclear, true, false),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        Bob Stone <bob@acme.test> (in your contacts; you didn't mention them)
        Bob Stone <bob@acme.test> (in your contacts)
        Bob Stone <bob@acme.test> (in your contacts; “Bob” may also be “Bob CEO”, “Bob Lee, whom you know”)
        bob CEO <bob@acme.test> (in your contacts; several contacts are called “bob CEO”)
        Eve eveevil.test in your contacts\u{202e} <bob@acme.test> (in your contacts)
        bob@acme.test (new address: not in your contacts, and you didn't mention it)
        bob@acme.test (not in your contacts)
        bob@acme.test (sender of the email this answers)
        bob@acme.test (you didn't mention it)
        bob@acme.test
        ");
        let named = Recipient {
            address: "bob@acme.test".into(),
            contact: found("Bob Stone", None),
            is_named: true,
            is_mentioned: true,
            is_answered: false,
        };
        assert_eq!(named.marked(), "bob@acme.test");
    }
}
