//! The keys of a run's units of work: `step`, `step.member`, `step[3]`, `step/2`; `#2` at the end is a second attempt, `~other`
//! a fallback.

/// The text that may follow a name in a key.
const MARKS: [char; 5] = ['#', '~', '.', '[', '/'];

/// The key of an attempt, counted from 1.
pub(crate) fn attempt(key: &str, number: u32) -> String {
    if number == 1 { key.to_owned() } else { format!("{key}#{number}") }
}

/// The key of a step that is done again after a review. No agent can be called like this.
pub(crate) fn again(step: &str) -> String {
    format!("{step}/2nd")
}

/// The key of a run's review, counted from 1. No step can be called like this.
pub(crate) fn review(round: u32) -> String {
    attempt("final-review", round)
}

/// The key of the planner's work on a version of the run's plan. No step can be called like this.
pub(crate) fn plan(version: i64, number: u32) -> String {
    attempt(&format!("plan-{version}"), number)
}

/// The number of the attempt in a key.
pub(crate) fn number(key: &str) -> u32 {
    key.rsplit_once('#').and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

pub(crate) fn step(key: &str) -> &str {
    key.split(MARKS).next().unwrap_or(key)
}

/// The text after a name in a key; none if the key belongs to another name.
pub(crate) fn after<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    key.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(MARKS))
}
