//! What basic mode says: small talk, refusals, and the answer when the calls have ended.

use std::collections::BTreeSet;

use adjutant_l10n as l10n;
use adjutant_skills::forms::Form;
use adjutant_skills::{ErrorKind, Registry};
use adjutant_types::ExecutionStatus;
use adjutant_types::clock::long_date;
use adjutant_types::text::shortened;
use adjutant_workflows::agents::Report;
use chrono::{Datelike, NaiveDateTime};

use super::words::words;

/// How many examples a refusal shows.
const NEAREST: usize = 3;
/// How many the introduction shows.
const EXAMPLES: usize = 6;
/// How much of a part is repeated to the person.
const MAX_QUOTED: usize = 80;

/// What it can do, for the first contact.
pub fn greeting(skills: &Registry) -> String {
    match first_examples(skills).as_slice() {
        [] => l10n::basic::introduction_without_skills(),
        examples => l10n::basic::introduction(list(examples)),
    }
}

fn list(examples: &[&str]) -> String {
    examples.iter().map(|example| format!("- {example}")).collect::<Vec<_>>().join("\n")
}

/// One example of each domain that people know, those with the most uses first.
fn first_examples(skills: &Registry) -> Vec<&str> {
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
    let normalized: String =
        text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    let normalized = normalized.split_whitespace().collect::<Vec<_>>().join(" ");
    let reply = match normalized.as_str() {
        "" => l10n::basic::no_words(greeting(skills)),
        "hi" | "hello" | "hey" | "hi there" | "hello there" | "good morning" | "good afternoon"
        | "good evening" => l10n::basic::hello(greeting(skills)),
        "help" | "help me" | "what can you do" | "what can i say" | "who are you" | "what are you" => {
            greeting(skills)
        }
        "thanks" | "thank you" | "thx" | "cheers" => l10n::basic::welcome(),
        "bye" | "goodbye" | "good night" | "goodnight" => l10n::basic::bye(),
        "never mind" | "nevermind" | "forget it" => l10n::basic::never_mind(),
        "stop" => l10n::basic::nothing_runs(),
        "exit" | "quit" => l10n::basic::stays_here(),
        "yes" | "no" | "ok" | "okay" | "sure" | "yes please" | "no thanks" => l10n::basic::answers_nothing(),
        "what time is it" | "what day is it" | "whats the time" | "whats the date" => {
            let weekday = l10n::times::weekday(now.weekday().number_from_monday());
            l10n::basic::time_now(weekday, long_date(&now), now.format("%H:%M"))
        }
        _ => return None,
    };
    Some(reply)
}

/// The refusal of a message, because of these words if they are why.
pub(super) fn not_understood(text: &str, unclear: Option<String>, skills: &Registry) -> String {
    let refusal =
        unclear.map_or_else(|| l10n::basic::not_understood(short(text)), l10n::basic::unclear_words);
    match nearest(text, skills).as_slice() {
        [] => refusal,
        examples => format!("{refusal} {}", l10n::basic::understood_sentences(list(examples))),
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
    let text_words = content(text);
    let all = skills.domains().iter().flat_map(|domain| &domain.skills);
    let mut examples = first_examples(skills);
    let existing: BTreeSet<&str> = examples.iter().copied().collect();
    let forms = all.flat_map(|skill| skill.forms.iter().filter_map(example));
    examples.extend(forms.filter(|example| !existing.contains(example)));
    // Of those that share equally much, those that people know first.
    examples.sort_by_key(|example| usize::MAX - content(example).intersection(&text_words).count());
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
        [line] => line.clone(),
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
        status if status.ended_well() && why.is_empty() => l10n::basic::done(part),
        status if status.ended_well() => why,
        _ if is_rejected => l10n::basic::not_wanted(part),
        ExecutionStatus::Skipped => l10n::basic::not_reached(part),
        ExecutionStatus::Unknown => l10n::basic::unknown(part, why),
        ExecutionStatus::Timeout => l10n::basic::timed_out(part),
        ExecutionStatus::Cancelled => l10n::basic::stopped(part),
        _ => l10n::basic::failed(part, without_arguments(&why)),
    }
}

/// Why something failed without the names of arguments, which are for models: `/start: say when it starts`.
fn without_arguments(why: &str) -> String {
    let without_name = |line: &str| match line.strip_prefix('/').and_then(|line| line.split_once(": ")) {
        Some((name, why)) if !name.contains(char::is_whitespace) => why.to_owned(),
        _ => line.to_owned(),
    };
    why.lines().map(without_name).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    shortened(text.trim(), MAX_QUOTED).replace('\n', " ")
}
