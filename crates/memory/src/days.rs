//! The names of months, weekdays and days as people write them, in a few languages.

use std::collections::HashMap;
use std::sync::LazyLock;

use adjutant_types::clock::{MONTHS, WEEKDAYS};

use super::words::forms;

/// Names without accents, each with the English one.
static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| forms(include_str!("words/days.txt")));

/// What people call today, yesterday and the day before, by how many days ago it was.
const AGO: [&[&str]; 3] = [
    &["today", "tonight", "heute", "hoy", "oggi", "今日"],
    &["yesterday", "gestern", "ayer", "ieri", "昨日"],
    &["vorgestern", "anteayer", "一昨"],
];

/// The English name of a month or a weekday.
pub(super) fn english(plain: &str) -> Option<&str> {
    let is_english = MONTHS.contains(&plain) || WEEKDAYS.contains(&plain);
    if is_english { Some(plain) } else { NAMES.get(plain).copied() }
}

/// Whether a word is the name of a month.
pub(super) fn is_month(plain: &str) -> bool {
    english(plain).is_some_and(|name| MONTHS.contains(&name))
}

/// How many days ago the day was that a word names.
pub(super) fn ago(plain: &str) -> Option<u64> {
    AGO.iter().position(|names| names.contains(&plain)).map(|days| days as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_english() {
        assert!(NAMES.values().all(|name| MONTHS.contains(name) || WEEKDAYS.contains(name)));
    }
}
