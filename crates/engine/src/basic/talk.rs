//! What basic mode says: small talk, refusals, and the answer when the calls have ended.

use std::collections::BTreeSet;

use adjutant_l10n as l10n;
use adjutant_skills::Registry;
use adjutant_skills::forms::Form;
use adjutant_types::ExecutionStatus;
use adjutant_types::clock::long_date;
use adjutant_types::text::shortened;
use adjutant_workflows::agents::Report;
use chrono::{Datelike, NaiveDateTime};

use super::words::words;

/// How a question begins whose answer is how to connect something, and other such questions.
const CONNECT: [&str; 4] = ["how do i connect ", "how can i connect ", "how to connect ", "connect my "];
const EMAIL: &str = "can you read my email|can you read my emails|can you send email|can you send emails";
const THANKS: &str = "thanks|thank you|thx|cheers|thanks a lot|many thanks|thank you so much|thank you very much|great|perfect|\
    well done|good job|youre great";
const PRIVACY: &str = "do you store my data|is my data private|is this private|is my data safe|where is my data|\
    who can read this|who sees my data";
/// In English and German: how somebody greets, how a question about the assistant begins, what tells that it's about the assistant,
/// and its other words.
const GREETINGS: &str =
    "hi hello hey there good morning afternoon evening hallo moin servus guten tag morgen abend";
/// Those of them that are a greeting alone: "good" may praise, and "morgen" may be an answer.
const HELLO: &str = "hi hello hey hallo moin servus";
const ASKING: &str = "who whos what whats how are can help i wer was wie bist kannst hilfe";
const ADDRESSED: &str = "you your this help say du dich dein das hilfe helfen";
const BESIDE: &str = "is a an am do does for me need work made name bot ai chatgpt human \
    ist ein eine ki mensch mich mir für tun machen heißt funktioniert hat gemacht";
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

/// What people most often want, the first of it first.
fn first_examples(skills: &Registry) -> Vec<&str> {
    // A skill, and how its example begins.
    const FIRST: [(&str, &str); 6] = [
        ("tasks.create", "remind me to"),
        ("calendar.list_events", ""),
        ("tasks.create", "add a task"),
        ("tasks.search", ""),
        ("calendar.create_event", ""),
        ("memory.save", ""),
    ];
    let first = FIRST.iter().filter_map(|(name, beginning)| {
        let forms = &skills.get(name)?.forms;
        forms.iter().filter_map(example).find(|example| example.starts_with(beginning))
    });
    first.collect()
}

/// The answer to small talk.
pub(super) fn small(text: &str, now: NaiveDateTime, skills: &Registry) -> Option<String> {
    let normalized: String =
        text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    let words: Vec<&str> = normalized.split_whitespace().collect();
    let greets = words.iter().take_while(|word| has(GREETINGS, ' ', word)).count();
    let reply = match words.join(" ").as_str() {
        "" => l10n::basic::no_words(greeting(skills)),
        _ if greets == words.len() && (greets > 1 || has(HELLO, ' ', words[0])) => {
            l10n::basic::hello(greeting(skills))
        }
        "how are you" | "how are you doing" | "are you there" => l10n::basic::fine(),
        _ if asks_who_it_is(&words[greets..]) => greeting(skills),
        said if has(THANKS, '|', said) => l10n::basic::welcome(),
        "bye" | "goodbye" | "good bye" | "good night" | "goodnight" | "see you" | "see you later" => {
            l10n::basic::bye()
        }
        "never mind" | "nevermind" | "forget it" | "cancel" => l10n::basic::never_mind(),
        "stop" | "stop it" => l10n::basic::nothing_runs(),
        "exit" | "quit" => l10n::basic::stays_here(),
        "yes" | "no" | "ok" | "okay" | "sure" | "yes please" | "no thanks" | "yes to all" | "no to all" => {
            l10n::basic::answers_nothing()
        }
        question if has(PRIVACY, '|', question) => l10n::basic::private(),
        question if asks_for_model(question) => l10n::basic::models(),
        question if has(EMAIL, '|', question) => l10n::basic::connects(),
        question if CONNECT.iter().any(|beginning| question.starts_with(beginning)) => {
            l10n::basic::connects()
        }
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
    let refusal = unclear.map_or_else(l10n::basic::not_understood, l10n::basic::unclear_words);
    match nearest(text, skills).as_slice() {
        [first, second, ..] => format!("{refusal}\n{}", l10n::basic::try_sentences(first, second)),
        _ => refusal,
    }
}

fn has(all: &str, between: char, text: &str) -> bool {
    all.split(between).any(|one| one == text)
}

/// Whether it asks who the assistant is or what it can do, in words that ask nothing else.
fn asks_who_it_is(words: &[&str]) -> bool {
    words.first().is_some_and(|first| has(ASKING, ' ', first))
        && words.iter().any(|word| has(ADDRESSED, ' ', word))
        && words.iter().all(|word| [ASKING, ADDRESSED, BESIDE].iter().any(|known| has(known, ' ', word)))
}

/// Whether it asks how to get a model, perhaps by the name of one that people know.
fn asks_for_model(text: &str) -> bool {
    const NAMES: [&str; 9] =
        ["language model", "model", "llm", "openai", "chatgpt", "gpt", "claude", "gemini", "ollama"];
    let wish = text.strip_prefix("how do i ").unwrap_or(text);
    let wanted =
        ["use ", "add ", "get ", "set up ", "connect "].iter().find_map(|wanted| wish.strip_prefix(wanted));
    wanted.is_some_and(|what| NAMES.contains(&what.trim_start_matches("a ").trim_start_matches("an ")))
}

/// The examples that share the most words with a text.
fn nearest<'r>(text: &str, skills: &'r Registry) -> Vec<&'r str> {
    const COMMON: &str = "a an the to my me is of on at in for what what's did do you can and i i'm tell your it this that with";
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
    let is_rejected = report.error.as_ref().is_some_and(|error| error.kind.is_no());
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
