//! The words of a text, with a mistyped name of a day or month as it was meant.

use std::ops::Range;

use super::{calendar, hours};
use crate::suggest::distance;

/// A word and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model::builtin) struct Word {
    /// In lower case, without punctuation around it.
    pub(in crate::model::builtin) text: String,
    /// Its bytes in the text.
    pub(in crate::model::builtin) range: Range<usize>,
}

/// Whether a word is in a list of words.
pub(in crate::model::builtin) fn is_one_of(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Splits a text into words.
pub(in crate::model::builtin) fn words(text: &str) -> Vec<Word> {
    let inside =
        |c: char| c.is_alphanumeric() || matches!(c, ':' | '.' | '/' | '-' | '–' | '\'' | '’' | '@' | '#');
    let edge = |c: char| !c.is_alphanumeric() && c != '@' && c != '#';
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(start) = text.get(rest..).and_then(|tail| tail.find(inside)).map(|at| rest + at) {
        let tail = text.get(start..).unwrap_or_default();
        let end = start + tail.find(|c| !inside(c)).unwrap_or(tail.len());
        let raw = text.get(start..end).unwrap_or_default();
        let left = start + (raw.len() - raw.trim_start_matches(edge).len());
        let word = raw.trim_matches(edge);
        push_word(&mut words, word, left);
        rest = end;
    }
    words
}

/// "2-4pm" becomes three words; "2024-02-15" and "follow-up" stay one.
fn push_word(words: &mut Vec<Word>, word: &str, left: usize) {
    let mut push = |text: &str, from: usize| {
        let range = from..from + text.len();
        words.push(Word { text: meant(text.to_lowercase().replace('’', "'")), range });
    };
    let ends_range =
        |side: &str| hours::is_clock(side) || calendar::weekday(&side.to_lowercase(), true).is_some();
    let halves = word.split_once(['-', '–']);
    match halves.filter(|(from, to)| ends_range(from) && ends_range(to)) {
        Some((from, to)) => {
            let dash = word.len() - from.len() - to.len();
            push(from, left);
            words.push(Word { text: "-".into(), range: left + from.len()..left + from.len() + dash });
            let mut push = |text: &str, from: usize| {
                words.push(Word { text: text.to_lowercase(), range: from..from + text.len() });
            };
            push(to, left + from.len() + dash);
        }
        None if word.is_empty() => {}
        None => push(word, left),
    }
}

/// The words whose typos are corrected: long enough to be told from other words.
const NAMES: [&str; 17] = [
    "quarter",
    "tomorrow",
    "yesterday",
    "tonight",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "september",
    "october",
    "november",
    "december",
];

/// How people in a hurry write some words.
const SPELLINGS: [(&str, &str); 31] = [
    ("weds", "wednesday"),
    ("2morrow", "tomorrow"),
    ("noom", "noon"),
    ("tonite", "tonight"),
    ("2nite", "tonight"),
    ("2night", "tonight"),
    ("tomo", "tomorrow"),
    ("tomoz", "tomorrow"),
    ("tmw", "tomorrow"),
    ("tmrow", "tomorrow"),
    ("2mrw", "tomorrow"),
    ("2moz", "tomorrow"),
    ("midnite", "midnight"),
    ("nite", "night"),
    ("evning", "evening"),
    ("evry", "every"),
    ("dayly", "daily"),
    ("wkly", "weekly"),
    ("anually", "annually"),
    ("nex", "next"),
    ("evrey", "every"),
    ("eveyr", "every"),
    ("thru", "through"),
    ("til", "till"),
    ("ths", "this"),
    ("teh", "the"),
    ("mintues", "minutes"),
    ("minuets", "minutes"),
    ("horus", "hours"),
    ("fourty", "forty"),
    ("wekk", "week"),
];

/// The name that a word is with a typo or two; else the word. "Mondays" is no typo, it repeats.
fn meant(word: String) -> String {
    if let Some((_, meant)) = SPELLINGS.iter().find(|(said, _)| *said == word) {
        return (*meant).to_owned();
    }
    let is_plain = word.len() >= 5 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let singular = word.strip_suffix('s').unwrap_or(&word);
    if !is_plain || NAMES.contains(&singular) || ["sundae", "sundry", "someday", "frida"].contains(&singular)
    {
        return word;
    }
    let typos = |name: &&&str| {
        let most = if name.len() >= 8 { 2 } else { 1 };
        name.get(..1) == word.get(..1) && distance(name, &word) <= most
    };
    NAMES.iter().find(typos).map_or(word.clone(), |name| (*name).to_owned())
}
