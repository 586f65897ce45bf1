//! The planner's own sentences.

use std::collections::BTreeMap;

use super::follow::Touched;
use super::input::Report;
use super::intents::Intents;
use super::lookups;
use super::plan::{Plan, Reason};
use super::split;
use super::steps::Step;
use super::time::{Now, words};
use crate::domain::ExecutionStatus;

/// How many examples the help shows.
const EXAMPLES: usize = 15;

/// How answers begin of turns that did nothing, because they weren't understood.
const REFUSALS: [&str; 7] = [
    "I understood everything but “",
    "I wouldn't understand “",
    "I don't know what “",
    "I didn't understand “",
    "I'm still waiting for your yes or no to “",
    "I can't tell whether you ask or want “",
    "I can't tell whether you mean the change or all of “",
];

/// Whether an answer says that nothing was done, because the message wasn't understood.
pub(super) fn is_refusal(answer: &str) -> bool {
    REFUSALS.iter().any(|beginning| answer.starts_with(beginning))
}

/// Whether an answer to one request says that nothing was changed.
pub(super) fn changed_nothing(answer: &str) -> bool {
    answer.contains("so I changed nothing") && !answer.starts_with("- ")
}

/// The answer to an "undo" right after a turn that changed nothing.
pub(super) const NOTHING_TO_UNDO: &str =
    "I did nothing for your last message. Say “undo” again to take back what I did before it.";

/// The final answer of a turn.
pub(super) fn answer(plan: &Plan, reports: &BTreeMap<String, Report>, intents: &Intents) -> String {
    let mut lines: Vec<String> = plan
        .steps
        .iter()
        .map(|step| not_begun(plan, step, reports).unwrap_or_else(|| done(step, reports.get(&step.agent_id))))
        .collect();
    let planned = |agent: &str| plan.steps.iter().any(|step| step.agent_id == agent);
    lines.extend(
        reports
            .iter()
            .filter(|(agent, _)| !planned(agent))
            .map(|(agent, report)| outcome(agent, Some(report))),
    );
    let mut answer = together(&lines);
    if !plan.missed.is_empty() {
        let missed = plan.missed.join("\n");
        let why = plan.reason.as_ref().map_or_else(|| not_understood(&missed, intents), refusal);
        answer = format!("{answer}\n\n{why}");
    }
    answer
}

/// One outcome stands alone; several become a list, with their own lists indented.
fn together(lines: &[String]) -> String {
    match lines {
        [one] => one.clone(),
        several => {
            let bullets = several.iter().map(|line| format!("- {}", line.replace('\n', "\n  ")));
            bullets.collect::<Vec<_>>().join("\n")
        }
    }
}

/// What wasn't done because something before it wasn't.
fn not_begun(plan: &Plan, step: &Step, reports: &BTreeMap<String, Report>) -> Option<String> {
    let status = |agent: &String| reports.get(agent).and_then(|report| report.status);
    if status(&step.agent_id) != Some(ExecutionStatus::Skipped) {
        return None;
    }
    let is_missing = |agent: &&String| status(agent) != Some(ExecutionStatus::Completed);
    let missing = step.depends_on.iter().find(is_missing)?;
    let needed = plan.steps.iter().find(|other| other.agent_id == *missing)?;
    let [mission, needed] = [&step.mission, &needed.mission].map(|text| clipped(text, 80));
    Some(format!("I didn't do “{mission}” either, because it was to follow “{needed}”."))
}

/// The answer when a person chooses nothing.
pub(super) const DECLINED: &str = "OK, I changed nothing.";

/// How the answer begins to words that fit nothing of a list.
pub(super) const UNFIT: &str = "I can't tell which one “";

/// Asks again which of these lines is meant.
pub(super) fn which_again(said: &str, lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    format!("{UNFIT}{}” is. {}\n{}", clipped(said, 60), lookups::WHICH, lines.join("\n"))
}

/// What is said of a reminder without a time.
pub(super) const NO_TIME: &str = "I don't know a time for it, so I won't remind you.";

fn done(step: &Step, report: Option<&Report>) -> String {
    let outcome = outcome(&step.mission, report);
    let is_done = report.is_some_and(|report| report.status == Some(ExecutionStatus::Completed));
    let reminds = step.skill == "tasks.create" && step.mission.to_lowercase().contains("remind");
    let is_timeless = step
        .arguments
        .as_ref()
        .is_some_and(|said| !said.contains_key("due") && !said.contains_key("recurrence"));
    match is_done && reminds && is_timeless {
        true => format!("{outcome}. {NO_TIME}"),
        false => outcome,
    }
}

fn outcome(mission: &str, report: Option<&Report>) -> String {
    use ExecutionStatus::{
        Cancelled, Completed, Failed, Partial, Pending, Running, Skipped, Timeout, Unknown, Waiting,
    };
    let mission = clipped(mission, 80);
    let Some(report) = report else { return format!("“{mission}” hasn't been started.") };
    let why = report.error.as_deref().unwrap_or(&report.result).trim();
    let because = if why.is_empty() { ".".to_owned() } else { format!(": {why}") };
    match report.status {
        Some(Completed) if report.result.is_empty() => format!("“{mission}”: done."),
        Some(Completed) => report.result.clone(),
        // The search before it is no part of what was wanted.
        Some(Partial) if report.is_rejected && !report.result.contains('\n') => {
            format!("OK, I didn't do this: “{mission}”")
        }
        Some(Partial) => format!("“{mission}” is only partly done{because}"),
        Some(Unknown) => {
            format!("I can't tell whether “{mission}” worked, so I didn't repeat it. Please check{because}")
        }
        Some(Skipped) => format!("“{mission}” was skipped{because}"),
        Some(Timeout) => format!("“{mission}” took too long{because}"),
        Some(Cancelled) => format!("“{mission}” was stopped{because}"),
        Some(Waiting) => format!("“{mission}” is waiting for your approval."),
        Some(Running | Pending) => format!("“{mission}” is still running."),
        Some(Failed) if report.is_rejected => format!("OK, I didn't do this: “{mission}”"),
        Some(Failed) | None => format!("“{mission}” didn't work{because}"),
    }
}

/// The answer to a message without a request.
pub(super) fn nothing_to_do(text: &str, reason: Option<&Reason>, intents: &Intents, now: &Now) -> String {
    if let Some(reason) = reason {
        return refusal(reason);
    }
    let words: Vec<String> = words(text).into_iter().map(|word| word.text).collect();
    let said = words.join(" ");
    let greets = [
        "hi",
        "hello",
        "hey",
        "hallo",
        "good morning",
        "good evening",
        "good afternoon",
        "hi there",
        "hello there",
    ];
    let helps =
        ["help", "what can you do", "what can i say", "who are you", "what are you", "how does this work"];
    let helps = |said: &str| helps.iter().any(|help| said == *help || said.ends_with(&format!(" {help}")));
    if words.is_empty() {
        return format!("I can't find any words in your message. {}", help(intents));
    }
    if greets.contains(&said.as_str()) {
        return format!("Hello! {}", help(intents));
    }
    if helps(&said) || helps(&split::tidy(text).to_lowercase()) {
        return help(intents);
    }
    if ["thanks", "thank you", "thank you very much", "thx", "cheers", "great thanks"]
        .contains(&said.as_str())
    {
        return "You're welcome!".into();
    }
    if ["never mind", "nevermind", "forget it", "leave it", "cancel that"].contains(&said.as_str()) {
        return "OK. If you want me to take back what I did last, say “undo”.".into();
    }
    if is_about_now(&split::tidy(text).to_lowercase()) {
        return format!("It's {}.", now.local.format("%A, %-d %B %Y, %H:%M"));
    }
    if ["yes", "no", "y", "n", "ok", "okay", "sure", "yes please", "no thanks"].contains(&said.as_str()) {
        return "I can't tell what that answers. `/status` lists the open questions.".into();
    }
    not_understood(text, intents)
}

/// "What time is it?", "what's the date today?"
fn is_about_now(said: &str) -> bool {
    let said = said.replace(['’', '\''], "").replace("what is", "whats").replace("todays", "the");
    let said = said.trim_end_matches(" now").trim_end_matches(" right").trim_end_matches(" today");
    matches!(
        said,
        "what time is it"
            | "whats the time"
            | "what day is it"
            | "whats the date"
            | "whats the day"
            | "what date is it"
            | "whats today"
            | "what day is today"
    )
}

/// A name as it can be said in a request: one with several things in it needs its quotes.
pub(super) fn quoted(name: &str) -> String {
    if name.contains(" and ") || name.contains(',') { format!("\"{name}\"") } else { name.to_owned() }
}

/// Why a request is not carried out, and what to do.
pub(super) fn refusal(reason: &Reason) -> String {
    let [but, later, unclear, _, waiting, asked, change] = REFUSALS;
    match reason {
        Reason::Leftover(words) => format!(
            "{but}{words}”, so I did nothing. Please say it another way; if it belongs to a name, put the name in quotes.",
        ),
        Reason::Later(text) => format!(
            "{later}{}” when its time comes, so I scheduled nothing. Please say it another way, or set up a language model in `[model]`.",
            clipped(text, 120)
        ),
        Reason::Change(Touched { title, domain, .. }) => {
            let delete = if domain == "calendar" { "cancel the event" } else { "delete the task" };
            let name = quoted(title);
            format!(
                "{change}{title}”, so I did nothing. Say “undo” to take the change back, or “{delete} {name}”."
            )
        }
        Reason::Question(said) => format!(
            "{asked}{}”, so I did nothing. If you want it, say it without the question mark.",
            clipped(said, 120)
        ),
        Reason::Waiting(said) => format!(
            "{waiting}{}”, so I changed nothing. Answer it first, or say no and then all of it again with the change.",
            clipped(said, 120)
        ),
        Reason::Pronoun(pronoun) => {
            format!("{unclear}{pronoun}” refers to, so I did nothing. What do you mean?")
        }
    }
}

fn help(intents: &Intents) -> String {
    let lines: Vec<String> = shown(intents).into_iter().map(|example| format!("- {example}")).collect();
    if lines.is_empty() {
        return "I'm the built-in planner, and none of the installed skills gives me any sentences to understand. Set up a language model in `[model]` for free conversation.".into();
    }
    format!(
        "I'm the built-in planner: small, and I work offline. I understand sentences like these, also joined with “and” or “then”:\n{}\n\nSet up a language model in `[model]` for free conversation.",
        lines.join("\n")
    )
}

/// An example of each skill, some of each domain; those about the assistant itself come last.
fn shown(intents: &Intents) -> Vec<&str> {
    let mut skills: Vec<&str> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut examples: Vec<(usize, bool, usize, &str)> = Vec::new();
    for (order, (skill, example)) in intents.examples().enumerate() {
        if skills.contains(&skill) {
            continue;
        }
        skills.push(skill);
        let domain = skill.split('.').next().unwrap_or(skill);
        let turn = seen.entry(domain).or_default();
        *turn += 1;
        examples.push((*turn, domain == "assistant", order, example));
    }
    examples.sort_unstable();
    examples.truncate(EXAMPLES);
    examples.sort_unstable_by_key(|(_, is_own, order, _)| (*is_own, *order));
    examples.into_iter().map(|(.., example)| example).collect()
}

fn not_understood(text: &str, intents: &Intents) -> String {
    let examples: Vec<String> =
        nearest(text, intents).iter().map(|example| format!("\n- {example}")).collect();
    let such = if examples.is_empty() {
        String::new()
    } else {
        format!(" For example, I understand:{}", examples.concat())
    };
    let lead = REFUSALS[3];
    format!(
        "{lead}{}”. I'm only the built-in planner; set up a language model in `[model]` for more.{such}",
        clipped(text.trim(), 120)
    )
}

/// Up to four examples: those that share the most words with the text, then one of each domain in turn.
fn nearest<'a>(text: &str, intents: &'a Intents) -> Vec<&'a str> {
    const COMMON: [&str; 8] = ["what", "about", "that", "this", "with", "show", "find", "have"];
    let mut said: Vec<String> = words(text).into_iter().map(|word| word.text).take(200).collect();
    said.retain(|word| word.len() > 3 && !COMMON.contains(&word.as_str()));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize, &str)> = intents
        .examples()
        .map(|(skill, example)| {
            let words = words(example);
            let shared = words.iter().filter(|word| said.contains(&word.text)).count();
            let turn = seen.entry(skill.split('.').next().unwrap_or(skill)).or_default();
            *turn += 1;
            (shared, *turn, example)
        })
        .collect();
    ranked.sort_by_key(|(shared, turn, _)| (usize::MAX - shared, *turn));
    ranked.iter().map(|(_, _, example)| *example).take(4).collect()
}

/// The beginning of a text, for quoting it in a sentence.
pub(super) fn clipped(text: &str, chars: usize) -> String {
    let mut short: String = text.chars().take(chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.replace('\n', " ")
}
