//! What a thing's new time must be, and why a thing isn't moved.

use chrono::Timelike;
use serde_json::{Map, Value};

use super::intents::Meaning;
use super::items;
use super::time::{Now, is_one_of, leftover, words};
use crate::clock::when::When;

/// Why a thing isn't moved to the time in the arguments.
pub(super) fn refused(
    meaning: &Meaning,
    arguments: &Map<String, Value>,
    target: &Value,
    (mission, now): (&str, &Now),
) -> Option<String> {
    let moved = moved_to(meaning, arguments, now);
    if let Some(over) = moved.iter().find(|time| time.ends() <= now.local) {
        return Some(format!("{} is over already, so I changed nothing.", over.spoken()));
    }
    let is_put_off = is_put_off(mission);
    if let Some(earlier) = moved.iter().find(|time| is_put_off && is_earlier(**time, target, now)) {
        return Some(format!("{} is earlier than it is now, so I changed nothing.", earlier.spoken()));
    }
    let title = items::name(target).unwrap_or_default();
    if let Some(early) = moved.iter().find(|time| is_new_morning(**time, target, now))
        && leftover::is_of_the_evening(title)
        && !says_morning(mission)
    {
        return Some(format!("“{title}” in the morning, {}? Say am or pm with the time.", early.spoken()));
    }
    let lasts = items::time_in(target, "start", now.zone).zip(items::time_in(target, "end", now.zone));
    let is_long = matches!(lasts, Some((When::Day(first), When::Day(last))) if first < last);
    if is_long && moved.iter().any(|time| matches!(time, When::Time(_))) {
        return Some(format!(
            "“{title}” lasts several days, so I gave it no time of day and changed nothing."
        ));
    }
    let is_series = arguments.contains_key("recurrence") && target.get("instance").is_some();
    moved.iter().any(|time| is_series || is_another_day(*time, target, now)).then(|| {
        format!("“{title}” repeats, and I can't tell which of its days you mean, so I changed nothing.")
    })
}

/// Whether a time is before noon, and not the thing's own time of another day.
fn is_new_morning(time: When, target: &Value, now: &Now) -> bool {
    let When::Time(time) = time else { return false };
    let is_own = matches!(items::time(target, now.zone), Some(When::Time(own)) if own.time() == time.time());
    time.hour() < 12 && !is_own
}

/// "9am", "in the morning", "09:00", "an hour earlier".
fn says_morning(mission: &str) -> bool {
    const WORDS: &str = "\
        am morning breakfast later earlier sooner forward by";
    words(mission).iter().any(|word| {
        let hour = word.text.strip_suffix("am").unwrap_or_default();
        is_one_of(&word.text, WORDS)
            || hour.ends_with(|last: char| last.is_ascii_digit())
            || word.text.starts_with('0')
    })
}

/// Why nothing is done with a thing that lacks what the request needs: an address, a time to move.
pub(super) fn lacking(meaning: &Meaning, target: &Value, now: &Now) -> String {
    let is_moved = new_times(meaning).next().is_some();
    match (items::name(target), items::time(target, now.zone)) {
        (Some(name), None) if is_moved => {
            format!("“{name}” has no date, so I changed nothing. Say when it should be.")
        }
        (Some(name), Some(When::Day(_))) if is_moved => {
            format!("“{name}” has no time of day, so I changed nothing. Say at what time it should be.")
        }
        (Some(name), Some(When::Time(_))) if is_moved => {
            format!(
                "I can't tell in which half of the day “{name}” should be, so I changed nothing. Say am or pm."
            )
        }
        _ => "What I found lacks the details I need for this, so I did nothing.".to_owned(),
    }
}

/// The conversions that give a thing a new time.
const MOVES: [&str; 3] = ["|moved", "|later", "|earlier"];

/// The times that a thing is to be moved to.
fn moved_to(meaning: &Meaning, arguments: &Map<String, Value>, now: &Now) -> Vec<When> {
    new_times(meaning).filter_map(|name| When::parse(arguments.get(name)?.as_str()?, now.zone).ok()).collect()
}

/// The names of the arguments that are the new time of what was found.
fn new_times<'a>(meaning: &'a Meaning) -> impl Iterator<Item = &'a String> {
    let moves = |value: &str| MOVES.iter().any(|one| value.contains(one));
    let arguments = meaning.entry.source.arguments.iter();
    arguments.filter(move |(_, value)| value.as_str().is_some_and(moves)).map(|(name, _)| name)
}

/// "Postpone it until Tuesday": not to a Tuesday before it.
fn is_put_off(mission: &str) -> bool {
    const VERBS: &str = "\
        postpone snooze delay defer put";
    let words = words(mission);
    let first = words.first().map_or("", |first| first.text.as_str());
    is_one_of(first, VERBS) || (first == "push" && words.iter().any(|word| word.text == "back"))
}

fn is_earlier(time: When, target: &Value, now: &Now) -> bool {
    items::time(target, now.zone).is_some_and(|old| match time {
        When::Day(day) => day < old.local().date(),
        When::Time(time) => time < old.local(),
    })
}

/// Whether one of a series is to go to another day: there may be one already.
fn is_another_day(time: When, target: &Value, now: &Now) -> bool {
    items::time_in(target, "instance", now.zone).is_some_and(|one| one.local().date() != time.local().date())
}
