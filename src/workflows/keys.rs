//! The keys of a run's pieces of work: `step`, `step.member`, `step[3]`, `step/2`; with `#2` behind it a second attempt,
//! with `~other` the one who took its place.

/// What may follow a name in a key.
const MARKS: [char; 5] = ['#', '~', '.', '[', '/'];

/// The key of an attempt, counted from 1.
pub(super) fn attempt(key: &str, number: u32) -> String {
    if number == 1 { key.to_owned() } else { format!("{key}#{number}") }
}

/// Which attempt a key is.
pub(super) fn number(key: &str) -> u32 {
    key.rsplit_once('#').and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

/// The step to which a key belongs.
pub(super) fn step(key: &str) -> &str {
    key.split(MARKS).next().unwrap_or(key)
}

/// What follows a name in a key; none where the key is another's.
pub(super) fn after<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    key.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(MARKS))
}
