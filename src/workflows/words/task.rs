//! A part of the words that asks for no skill: a task for a model, and whether it is done once, for each, or until it
//! is good.

use std::sync::LazyLock;

use regex::Regex;

use super::verbs::{Verb, has_effect, verb_of};

/// A task for a model.
#[derive(Debug, PartialEq)]
pub(super) struct Task {
    /// What is to be done; empty when a checker only looks at what came before.
    pub(super) text: String,
    /// The verb that it begins with.
    pub(super) verb: Option<&'static Verb>,
    /// It is done for each item of the step before.
    pub(super) each: bool,
    /// It is done again until somebody is content.
    pub(super) judge: Option<Judge>,
}

/// Who judges, and by what.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Judge {
    /// "native speaker".
    pub(super) who: Option<String>,
    /// "it is short".
    pub(super) criterion: Option<String>,
}

struct Patterns {
    each: [Regex; 5],
    until: Regex,
    good: Regex,
    checked: [Regex; 2],
    looks: Regex,
    beyond: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| patterns().ok());

fn patterns() -> Result<Patterns, regex::Error> {
    let new = |pattern: &str| Regex::new(&format!("(?is){pattern}"));
    Ok(Patterns {
        each: [
            new(r"^for (?:each|every)(?: [^,]{1,40})?, ?(?P<task>.+)$")?,
            new(r"^for (?:each|every)(?: one)?(?: of (?:them|these|those))? (?P<task>.+)$")?,
            new(r"^for (?:each|every) [\w-]+ (?P<task>.+)$")?,
            new(r"^(?P<task>.+?) (?:for )?(?:each|every)(?: one)?(?: of (?:them|these|those))?$")?,
            new(r"^(?P<task>.+?) for (?:each|every) [\w-]+$")?,
        ],
        until: new(
            r"^(?P<task>.*?),? ?\b(?:until|till) (?P<criterion>(?:it|they|that|this|everything|all|(?:the|every|each) [\w-]+)(?:['’]s|['’]re| is| are| has| have| can| reads?| passes| meets?| fits?| contains?| works?| sounds?)\b.+)$",
        )?,
        good: new(
            r"^(?:it|they|that|this|everything)(?:['’]s|['’]re| is| are) (?:really |very )?(?:good|good enough|fine|ready|done|perfect|ok|okay)$",
        )?,
        checked: [
            new(
                r"^(?P<task>.*?),? ?\b(?:and )?(?:(?:have|get|let) (?:it|them|that) )?(?:be )?(?:checked|reviewed|proof-?read|judged) by (?:an?|another) (?P<who>[\w][\w -]{1,39})$",
            )?,
            new(
                r"^(?P<task>.*?),? ?\b(?:and )?(?:have|let|get) (?:an?|another) (?P<who>[\w][\w -]{1,39}?) (?:to )?(?:check|review|judge|proof-?read) (?:it|them|that)$",
            )?,
        ],
        looks: new(r"^(?:check|review|judge|proofread|verify|have) (?:it|them|that|this)$")?,
        beyond: new(
            r"\b(?:if|unless|otherwise|else|whenever|until|till|wait|ask me|let me|let us|my (?:ok|okay|approval|permission))\b|\bevery (?:other )?(?:hour|day|night|morning|noon|afternoon|evening|week|month|quarter|year|mon|tues|wednes|thurs|fri|satur|sun)|\bat \d{1,2}(?::\d\d| ?[ap]\.?m| o['’]clock)|\bin (?:\d+|an?|half an) (?:minutes?|hours?)\b",
        )?,
    })
}

/// What comes before a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// Anything: then a part may be one word, "summarise".
    pub(super) any: bool,
    /// What can give a list.
    pub(super) list: bool,
}

/// Reads a part; none when it is not understood beyond doubt.
pub(super) fn task(part: &str, before: Before) -> Option<Task> {
    let patterns = PATTERNS.as_ref()?;
    let part = part.strip_prefix("first ").or_else(|| part.strip_prefix("now ")).unwrap_or(part).trim();
    if let Some(task) = patterns.each.iter().filter(|_| before.list).find_map(|each| {
        let text = each.captures(part)?.name("task")?.as_str();
        let task = once(patterns, text, true)?;
        // "list three and write a word for each" is for one agent.
        (!text.contains(" and ") && task.judge.is_none()).then_some(Task { each: true, ..task })
    }) {
        return Some(task);
    }
    once(patterns, part, before.any)
}

fn once(patterns: &Patterns, part: &str, short: bool) -> Option<Task> {
    let (part, judge) = judged(patterns, part);
    if judge.is_some() && (part.is_empty() || patterns.looks.is_match(&part)) {
        return Some(Task { text: String::new(), verb: None, each: false, judge });
    }
    if patterns.beyond.is_match(&part) || has_effect(&part) {
        return None;
    }
    let verb = verb_of(&part)?;
    let words = part.split_whitespace().count();
    (words > 1 || short).then_some(Task { text: part, verb: Some(verb), each: false, judge })
}

/// A part without what is said of its judge, which may be said in either order.
fn judged(patterns: &Patterns, part: &str) -> (String, Option<Judge>) {
    let mut judge: Option<Judge> = None;
    let mut rest = part.to_owned();
    for _ in 0..2 {
        let checked = patterns.checked.iter().find_map(|checked| checked.captures(&rest));
        let checked = checked.filter(|found| !found["who"].contains(" until "));
        let checked = checked.map(|found| (found["task"].trim().to_owned(), found["who"].trim().to_owned()));
        if let Some((task, who)) = checked {
            judge = Some(Judge { who: Some(who), ..judge.unwrap_or_default() });
            rest = task;
        }
        let until = patterns.until.captures(&rest);
        let until =
            until.map(|found| (found["task"].trim().to_owned(), found["criterion"].trim().to_owned()));
        if let Some((task, criterion)) = until {
            let criterion = (!patterns.good.is_match(&criterion)).then_some(criterion);
            judge = Some(Judge { criterion, ..judge.unwrap_or_default() });
            rest = task;
        }
    }
    let rest = rest.trim_end_matches([',', ' ']);
    let rest = rest.strip_suffix(" and").unwrap_or(rest).trim();
    (rest.to_owned(), judge)
}
