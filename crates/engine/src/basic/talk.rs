//! What basic mode says: small talk, refusals, and the answer when the calls have ended.

use std::collections::BTreeSet;

use adjutant_skills::forms::Form;
use adjutant_skills::{ErrorKind, Registry};
use adjutant_types::ExecutionStatus;
use adjutant_workflows::agents::Report;
use chrono::NaiveDateTime;

use super::words::words;

/// How many examples a refusal shows.
const NEAREST: usize = 3;
/// How many the introduction shows.
const EXAMPLES: usize = 6;
/// How much of a part is repeated to the person.
const MAX_QUOTED: usize = 80;

pub(super) const TOO_LONG: &str = "That's too long for basic mode. Send it in shorter messages.";

/// What it can do, for the first contact.
pub fn greeting(skills: &Registry) -> String {
    let lines: Vec<String> = introduced(skills).iter().map(|example| format!("- {example}")).collect();
    match lines.is_empty() {
        true => "I'm in basic mode, without a language model, and there's nothing here that I could do."
            .to_owned(),
        false => format!(
            "I'm in basic mode, without a language model. I look after your to-do list, calendar and contacts. Try:\n{}",
            lines.join("\n")
        ),
    }
}

/// One example of each domain that people know, those with the most uses first.
fn introduced(skills: &Registry) -> Vec<&str> {
    const FIRST: [&str; 6] = [
        "tasks.create",
        "tasks.search",
        "tasks.complete",
        "calendar.create_event",
        "calendar.list_events",
        "memory.save",
    ];
    let skills = FIRST.iter().filter_map(|name| skills.get(name));
    skills.filter_map(|skill| skill.forms.iter().find_map(example)).take(EXAMPLES).collect()
}

/// The answer to small talk.
pub(super) fn small(text: &str, now: NaiveDateTime, skills: &Registry) -> Option<String> {
    let said: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let reply = match said.as_str() {
        "" => format!("I can't find any words in your message. {}", greeting(skills)),
        "hi" | "hello" | "hey" | "hi there" | "hello there" | "good morning" | "good afternoon"
        | "good evening" => {
            format!("Hello! {}", greeting(skills))
        }
        "help" | "help me" | "what can you do" | "what can i say" | "who are you" | "what are you" => {
            greeting(skills)
        }
        "thanks" | "thank you" | "thx" | "cheers" => "You're welcome!".to_owned(),
        "bye" | "goodbye" | "good night" | "goodnight" => "Bye! I keep an eye on your reminders.".to_owned(),
        "never mind" | "nevermind" | "forget it" => {
            "OK. To take back what I did last, say “undo”.".to_owned()
        }
        "stop" => "Nothing is running. `/stop` stops what I'm doing.".to_owned(),
        "exit" | "quit" => {
            "You can just close this chat; I stay here. In a terminal, /quit ends it.".to_owned()
        }
        "yes" | "no" | "ok" | "okay" | "sure" | "yes please" | "no thanks" => {
            "I can't tell what that answers. `/status` shows the open questions.".to_owned()
        }
        "what time is it" | "what day is it" | "whats the time" | "whats the date" => {
            format!("It's {}.", now.format("%A, %-d %B %Y, %H:%M"))
        }
        _ => return None,
    };
    Some(reply)
}

/// The refusal of a message, because of these words if they are why.
pub(super) fn not_understood(text: &str, unclear: Option<String>, skills: &Registry) -> String {
    let examples: Vec<String> =
        nearest(text, skills).iter().map(|example| format!("\n- {example}")).collect();
    let such =
        if examples.is_empty() { String::new() } else { format!(" I understand:{}", examples.concat()) };
    match unclear {
        Some(words) => format!(
            "I'm not sure what “{words}” means there, so I did nothing. If it belongs to a name, put the name in quotes.{such}"
        ),
        None => format!("Sorry, I didn't understand “{}” in basic mode.{such}", short(text)),
    }
}

/// The examples that share the most words with a text.
fn nearest<'r>(text: &str, skills: &'r Registry) -> Vec<&'r str> {
    const COMMON: &str = "a an the to my me is of on at in for what what's did do you can and";
    let content = |text: &str| -> BTreeSet<String> {
        let words =
            words(text).into_iter().map(|word| word.text.trim_end_matches(['?', '!', '.']).to_owned());
        words.filter(|word| !COMMON.split(' ').any(|common| common == word)).collect()
    };
    let said = content(text);
    let all = skills.domains().iter().flat_map(|domain| &domain.skills);
    let mut examples = introduced(skills);
    let known: BTreeSet<&str> = examples.iter().copied().collect();
    let forms = all.flat_map(|skill| skill.forms.iter().filter_map(example));
    examples.extend(forms.filter(|example| !known.contains(example)));
    // Of those that share equally much, those that people know first.
    examples.sort_by_key(|example| usize::MAX - content(example).intersection(&said).count());
    examples.truncate(NEAREST);
    examples
}

/// A form's example. An answer that ends with a question mark would ask something.
fn example(form: &Form) -> Option<&str> {
    form.example.as_deref().map(|example| example.trim_end_matches('?'))
}

/// The answer when the calls have ended: a part of the message and its report for each.
pub fn answer<'r>(ended: impl Iterator<Item = (&'r str, Report)>) -> String {
    let lines: Vec<String> = ended.map(|(text, report)| outcome(text, &report)).collect();
    match lines.as_slice() {
        [one] => one.clone(),
        several => several
            .iter()
            .map(|line| format!("- {}", line.replace('\n', "\n  ")))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn outcome(text: &str, report: &Report) -> String {
    let (part, why) = (short(text), report.for_person());
    let is_rejected = report.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Rejected);
    match report.status {
        status if status.ended_well() && why.is_empty() => format!("“{part}”: done."),
        status if status.ended_well() => why,
        _ if is_rejected => format!("OK, I didn't do this: “{part}”"),
        ExecutionStatus::Skipped => format!("I didn't do “{part}” either, because it was to follow."),
        ExecutionStatus::Unknown => {
            format!("I can't tell whether “{part}” worked, so I didn't repeat it. Please check: {why}")
        }
        ExecutionStatus::Timeout => format!("“{part}” took too long."),
        ExecutionStatus::Cancelled => format!("“{part}” was stopped."),
        _ => format!("“{part}” didn't work: {why}"),
    }
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let mut short: String = text.trim().chars().take(MAX_QUOTED).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short.replace('\n', " ")
}
