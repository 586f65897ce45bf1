//! Typos in the words that ask for something: "add a taks", "delte the milk task".
//!
//! A word is corrected only where a pattern then takes it as one of its own words. In what a pattern captures (a title,
//! a mail's text, what is searched for) every word stays as typed.

use std::ops::Range;

use super::intents::Meaning;
use super::time::words;
use crate::suggest::distance;

/// What is asked for, and what is done with it. A typo in one of them could turn a request into another.
pub(super) const KNOWN: [&str; 38] = [
    "task",
    "tasks",
    "reminder",
    "reminders",
    "event",
    "events",
    "meeting",
    "meetings",
    "appointment",
    "appointments",
    "calendar",
    "agenda",
    "email",
    "emails",
    "mail",
    "mails",
    "message",
    "messages",
    "contact",
    "contacts",
    "note",
    "notes",
    "memory",
    "show",
    "list",
    "find",
    "search",
    "create",
    "delete",
    "remove",
    "cancel",
    "remind",
    "remember",
    "forget",
    "schedule",
    "reschedule",
    "complete",
    "rename",
];

/// Words that are no typos of those. All other words within the same distance are rare, or forms of the known ones, by
/// the 120,000 most frequent English words of wordfreq 3.1 (<https://pypi.org/project/wordfreq/>).
const OTHERS: [&str; 28] = [
    "cancer",
    "chancel",
    "contract",
    "contracts",
    "compete",
    "crate",
    "crease",
    "cremate",
    "crete",
    "deplete",
    "emil",
    "even",
    "evens",
    "forge",
    "forged",
    "forger",
    "forges",
    "forgot",
    "mali",
    "massage",
    "massages",
    "melting",
    "remainder",
    "remainders",
    "remand",
    "remote",
    "rewind",
    "starch",
];

/// More typos than that in one wish are no typos.
const MOST: usize = 4;
/// A longer wish is a text.
const LONGEST: usize = 500;

/// A mistyped word, and what it was meant to be.
struct Typo {
    range: Range<usize>,
    meant: &'static str,
}

/// The text without its typos, if it then means something by the corrected words.
pub(super) fn corrected<'a>(text: &str, meaning: impl Fn(&str) -> Option<Meaning<'a>>) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let mut typos: Vec<Typo> = words(text)
        .into_iter()
        .filter_map(|word| Some(Typo { meant: meant(&word.text)?, range: word.range }))
        .take(MOST)
        .collect();
    while !typos.is_empty() {
        let (corrected, places) = replaced(text, &typos)?;
        let meaning = meaning(&corrected)?;
        let is_own = |place: &Range<usize>| {
            !meaning
                .captures
                .values()
                .any(|taken| taken.range.start < place.end && place.start < taken.range.end)
        };
        let own: Vec<bool> = places.iter().map(is_own).collect();
        if own.iter().all(|own| *own) {
            return Some(corrected);
        }
        let mut own = own.into_iter();
        typos.retain(|_| own.next().unwrap_or(false));
    }
    None
}

/// The known word that a word is with a typo: two letters swapped, one typed twice or, in longer words, one wrong,
/// missing or too many.
fn meant(word: &str) -> Option<&'static str> {
    let is_plain = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_plain || OTHERS.contains(&word) || KNOWN.iter().any(|known| is_form(word, known)) {
        return None;
    }
    let is_typo = |known: &&&str| {
        let is_near = begins_alike(word, known) && distance(known, word) == 1;
        // Of five letters, one replaced makes too many other words: tasks, tanks, talks.
        let is_long = known.len() >= 6 || (known.len() == 5 && word.len() != 5);
        is_near && (is_long || is_clear(word, known))
    };
    KNOWN.iter().find(is_typo).copied()
}

/// Whether a word is the known one, or "deleted", "reminds", "scheduler".
fn is_form(word: &str, known: &str) -> bool {
    let endings = ["s", "es", "ed", "er", "ers", "ing"];
    let stem = known.strip_suffix('e').unwrap_or(known);
    word == known || word.strip_prefix(stem).is_some_and(|ending| endings.contains(&ending))
}

/// Whether the first letters are the same, or swapped, or the first one of a long word is missing: "vent" is no event.
fn begins_alike(word: &str, known: &str) -> bool {
    let (first, second) = (known.get(..1), known.get(1..2));
    let is_swapped = word.get(..1) == second && word.get(1..2) == first && word.get(2..) == known.get(2..);
    word.get(..1) == first || is_swapped || (known.len() >= 6 && known.get(1..) == Some(word))
}

/// Whether the only difference is two letters swapped or one typed twice, which rarely makes another word.
fn is_clear(word: &str, known: &str) -> bool {
    let sorted = |letters: &[u8]| {
        let mut letters = letters.to_vec();
        letters.sort_unstable();
        letters
    };
    let mut once = word.as_bytes().to_vec();
    once.dedup();
    once == known.as_bytes() || sorted(word.as_bytes()) == sorted(known.as_bytes())
}

/// The text with the words that were meant, and where they stand in it.
fn replaced(text: &str, typos: &[Typo]) -> Option<(String, Vec<Range<usize>>)> {
    let (mut whole, mut places, mut rest) = (String::new(), Vec::new(), 0);
    for typo in typos {
        whole.push_str(text.get(rest..typo.range.start)?);
        places.push(whole.len()..whole.len() + typo.meant.len());
        whole.push_str(typo.meant);
        rest = typo.range.end;
    }
    whole.push_str(text.get(rest..)?);
    Some((whole, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_told_from_other_words() {
        for (said, known) in [
            ("taks", Some("task")),
            ("tsaks", Some("tasks")),
            ("remidner", Some("reminder")),
            ("remider", Some("reminder")),
            ("remindd", Some("remind")),
            ("tassk", Some("task")),
            ("meetng", Some("meeting")),
            ("calender", Some("calendar")),
            ("delte", Some("delete")),
            ("delet", Some("delete")),
            ("cancle", Some("cancel")),
            ("atsk", Some("task")),
            ("emind", Some("remind")),
            ("vent", None),
            ("tank", None),
            ("talk", None),
            ("desk", None),
            ("deleted", None),
            ("reminded", None),
            ("remainder", None),
            ("contract", None),
            ("massage", None),
            ("cancer", None),
            ("remote", None),
            ("even", None),
            ("emil", None),
            ("created", None),
        ] {
            assert_eq!(meant(said), known, "{said}");
        }
    }
}
