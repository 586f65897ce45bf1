//! The buttons under tellings, briefings and drafts.

use adjutant_chat::Choice;
use adjutant_l10n::watches as words;
use adjutant_skills::builtin::written_by;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::inbox::LINE;
use adjutant_types::invisible_chars::shown;
use adjutant_types::text::one_line;
use adjutant_types::{ExecutionId, ExecutionStatus, is_no_reply};
use serde_json::Value;

use super::watches::BUTTON as COMMAND;

/// The most buttons of an answer; Discord takes no more than 25.
const MOST: usize = 24;
/// The longest label of one of several drafts, in characters, without the dots where it is cut.
const LABEL: usize = 23;
/// How the id of a button begins that stands for a message.
const BUTTON: &str = "line:";

type Words = fn() -> String;
/// Each button, and what it says for its person; the others are commands.
static VERBS: [(&str, Words, Option<Words>); 8] = [
    ("answer", words::answer_button, Some(words::say_answer)),
    ("task", words::task_button, Some(words::say_task)),
    ("finish", words::done_button, Some(words::say_finish)),
    ("send", words::send_button, Some(words::say_send)),
    ("change", words::change_button, Some(words::say_change)),
    ("drop", words::drop_button, Some(words::say_drop)),
    ("later", words::later_button, None),
    ("done", words::done_button, None),
];

/// The message that a button stands for, behind how the name of its row begins; none if it is another button.
pub fn message_of(button: &str) -> Option<(String, String)> {
    let (verb, item) = button.strip_prefix(BUTTON)?.split_once(':')?;
    let (.., says) = VERBS.iter().find(|(name, ..)| *name == verb)?;
    Some((format!("{LINE}{item}:{verb}"), (*says)?()))
}

fn read(json: Option<&str>) -> Value {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// The drafts that a turn has made, and hasn't replaced or sent, with their data.
fn drafts_of(rows: &[ExecutionRow]) -> Vec<(&ExecutionId, Value)> {
    let mut drafts: Vec<(&ExecutionId, Value)> = Vec::new();
    for row in rows.iter().filter(|row| row.status == ExecutionStatus::Completed) {
        let arguments = read(row.parameters.as_deref());
        for gone in ["replaces", "draft"].iter().filter_map(|name| arguments[name].as_str()) {
            drafts.retain(|(id, _)| **id != written_by(gone));
        }
        // Without a mailbox a draft is a file.
        if row.skill.as_deref() == Some("email.draft") && !row.account.is_empty() {
            drafts.push((&row.id, read(row.data.as_deref())));
        }
    }
    drafts
}

/// What the buttons of an answer send, with their numbers.
pub fn shown_drafts(rows: &[ExecutionRow]) -> Vec<String> {
    let drafts = drafts_of(rows);
    let one = |(n, (_, data)): (usize, &(&ExecutionId, Value))| {
        let text = shown(data["shown_to_person"].as_str()?);
        Some(if drafts.len() > 1 { format!("**{n}.** {text}") } else { text })
    };
    (1..).zip(&drafts).filter_map(one).collect()
}

/// The buttons of an answer, for the lines that its turn has numbered and the drafts that it has made. If they are too many,
/// each has its first one alone.
pub fn choices_of(rows: &[ExecutionRow]) -> Vec<Choice> {
    let (drafts, mut lines) = (drafts_of(rows), Vec::new());
    // One that has failed has no data.
    for row in rows.iter().filter(|row| row.skill.as_deref() == Some("assistant.lines")) {
        lines.extend(read(row.data.as_deref())["items"].as_array().into_iter().flatten().map(of_line));
    }
    let are_several = drafts.len() > 1;
    for (n, (id, data)) in (1..).zip(&drafts) {
        let subject = shown(data["subject"].as_str().unwrap_or_default());
        let mut line = buttons(id.as_str(), if are_several { n } else { 0 }, &["send", "change", "drop"]);
        for choice in line.iter_mut().filter(|_| are_several) {
            choice.label = one_line(&format!("{}: {subject}", choice.label), LABEL);
        }
        lines.push(line);
    }
    let each = if lines.iter().map(Vec::len).sum::<usize>() > MOST { 1 } else { MOST };
    lines.into_iter().flat_map(|line| line.into_iter().take(each)).take(MOST).collect()
}

fn of_line(item: &Value) -> Vec<Choice> {
    let from = item["from"][0].as_str().unwrap_or_default();
    let verbs: &[&str] = match item["noun"].as_str() {
        Some("mail") => &["answer", "task", "later", "done"][usize::from(is_no_reply(from))..],
        Some("task") => &["finish", "later"],
        _ => &["later", "done"],
    };
    buttons(item["item"].as_str().unwrap_or_default(), item["n"].as_u64().unwrap_or_default(), verbs)
}

/// The buttons of a line, with its number unless that is 0.
pub(crate) fn buttons(line: &str, n: u64, verbs: &[&str]) -> Vec<Choice> {
    let button = |(verb, label, says): &(&str, Words, Option<Words>)| {
        let begin = if says.is_some() { BUTTON } else { COMMAND };
        let label = if n == 0 { label() } else { format!("{} {n}", label()) };
        Choice { id: format!("{begin}{verb}:{line}"), label }
    };
    VERBS.iter().filter(|(verb, ..)| verbs.contains(verb)).map(button).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::watches::command_of;

    fn item(n: u64) -> Value {
        serde_json::json!({"item": "i", "n": n, "noun": "mail"})
    }

    #[test]
    fn a_button_is_a_command_or_a_message_and_never_both() {
        let ids: Vec<String> = of_line(&item(1)).into_iter().map(|choice| choice.id).collect();
        let commands: Vec<_> = ids.iter().filter_map(|id| command_of(id)).collect();
        assert_eq!(commands, ["/watches later i", "/watches done i"]);
        let messages = ids.iter().filter(|id| command_of(id).is_none() && message_of(id).is_some());
        assert_eq!(messages.count(), 2);
        let (event, words) = message_of("line:answer:i1").unwrap();
        assert_eq!((event.as_str(), words.as_str()), (" line:i1:answer", "Draft an answer to this email"));
        for other in ["line:i1", "line:delete:i1", "rule:r1", "q1:yes"] {
            assert_eq!((command_of(other), message_of(other)), (None, None), "{other}");
        }
    }

    #[test]
    fn only_drafts_that_are_still_there_have_buttons_and_several_say_their_subjects() {
        let draft = |id: &str, subject: &str, parameters: &str| ExecutionRow {
            skill: Some("email.draft".into()),
            status: ExecutionStatus::Completed,
            account: "mail".into(),
            parameters: Some(parameters.into()),
            data: Some(
                serde_json::json!({"message_id": format!("<{id}@x.test>"), "subject": subject}).to_string(),
            ),
            ..ExecutionRow::new(id.into(), &"t".into(), adjutant_types::ExecutionKind::Skill)
        };
        let labels = |rows: &[ExecutionRow]| -> Vec<String> {
            choices_of(rows).into_iter().map(|choice| choice.label).collect()
        };
        let first = draft("d1", "Re: Invoice 2231", "{}");
        let anew = draft("d2", "Re: Invoice 2231", r#"{"replaces":"<d1@x.test>"}"#);
        assert_eq!(labels(&[first.clone(), anew.clone()]), ["Send", "Change", "Drop"]);
        assert!(choices_of(&[first.clone(), anew.clone()])[0].id.ends_with(":d2"));
        let sent =
            ExecutionRow { skill: Some("email.send".into()), ..draft("s", "", r#"{"draft":"<d2@x.test>"}"#) };
        assert!(labels(&[first.clone(), anew, sent]).is_empty());
        let failed = ExecutionRow {
            status: ExecutionStatus::Failed,
            ..draft("d3", "", r#"{"replaces":"<d1@x.test>"}"#)
        };
        assert_eq!(labels(&[first.clone(), failed]), ["Send", "Change", "Drop"]);
        let mut both = [first, draft("d4", "Lunch", "{}")];
        insta::assert_debug_snapshot!(labels(&both), @r#"
        [
            "Send 1: Re: Invoice 223…",
            "Change 1: Re: Invoice 2…",
            "Drop 1: Re: Invoice 223…",
            "Send 2: Lunch",
            "Change 2: Lunch",
            "Drop 2: Lunch",
        ]
        "#);
        both[1].data = Some(r#"{"subject": "Lunch", "shown_to_person": "At noon?"}"#.into());
        assert_eq!(shown_drafts(&both), ["**2.** At noon?"]);
        assert_eq!(shown_drafts(&both[1..]), ["At noon?"]);
    }

    #[test]
    fn a_button_says_which_line_it_is_about() {
        let labels = |line: Vec<Choice>| line.into_iter().map(|choice| choice.label).collect::<Vec<_>>();
        assert_eq!(labels(of_line(&item(3))), ["Answer 3", "Make a task 3", "Tomorrow 3", "Done 3"]);
        let mut bank = item(3);
        bank["from"] = serde_json::json!(["Bank <Do-Not-Reply@bank.test>"]);
        assert_eq!(labels(of_line(&bank)), ["Make a task 3", "Tomorrow 3", "Done 3"]);
        assert_eq!(labels(buttons("i", 0, &["send", "change", "drop"])), ["Send", "Change", "Drop"]);
    }
}
