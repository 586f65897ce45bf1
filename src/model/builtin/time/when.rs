//! Dates and times as people write them, in the person's own zone.
//!
//! A phrase is found at the end of a text ("call Bob tomorrow at 9"), at its start ("tomorrow at 9 to call Bob"), at
//! both, and in its middle only where it can hardly mean anything else ("call Bob tomorrow about the budget"), so that
//! titles keep their words.

use std::ops::Range;

use super::leftover::masked;
use super::now::Now;
use super::period::{Period, resolve};
use super::phrase::{self, TimeWords};
use super::words::{Word, is_one_of, words};

/// A phrase and where in the text it stands, its prepositions included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model::builtin) struct Found {
    /// Its parts, as bytes of the text, in order.
    ranges: Vec<Range<usize>>,
    /// What it means.
    pub(in crate::model::builtin) when: Period,
    /// "not", "or" before it: it doesn't mean that, or not that alone.
    pub(in crate::model::builtin) is_doubtful: bool,
}

pub(in crate::model::builtin) const MARKS: [char; 9] = [' ', ',', ':', ';', '-', '(', ')', '\t', '\n'];

impl Found {
    /// The phrase as it was written.
    pub(in crate::model::builtin) fn said(&self, text: &str) -> String {
        let said = self.ranges.iter().filter_map(|range| text.get(range.clone()));
        said.collect::<Vec<_>>().join(" … ")
    }

    /// Whether it names a date in figures: somebody may note that for a day that is over.
    pub(in crate::model::builtin) fn is_dated(&self, text: &str, now: &Now) -> bool {
        self.when.start.local().date() != now.local.date()
            && self.said(text).contains(|c: char| c.is_ascii_digit())
            // "12/4/2026" may be meant the other way round.
            && !self.said(text).contains('/')
    }

    /// Whether it ends the text.
    pub(in crate::model::builtin) fn is_last(&self, text: &str) -> bool {
        let end = self.ranges.last().and_then(|range| text.get(range.end..));
        end.is_some_and(|rest| !rest.contains(char::is_alphanumeric))
    }

    /// The text without the phrase.
    pub(in crate::model::builtin) fn rest(&self, text: &str) -> String {
        let mut rest = String::new();
        let mut from = 0;
        for range in self.ranges.iter().cloned().chain(std::iter::once(text.len()..text.len())) {
            let part = text.get(from..range.start).unwrap_or_default().trim_matches(MARKS);
            let part = if range.is_empty() { part } else { part.trim_end_matches(['.', '!', '?']) };
            let part = if rest.is_empty() && from > 0 { part.trim_start_matches(['.', ' ']) } else { part };
            let link = ["to ", "that ", "about "].iter().find_map(|link| part.strip_prefix(link));
            let part = if rest.is_empty() && from > 0 { link.unwrap_or(part) } else { part };
            if !rest.is_empty() && !part.is_empty() {
                rest.push(' ');
            }
            rest.push_str(part);
            from = range.end;
        }
        rest
    }
}

/// Words that change the meaning of a time phrase after them, or connect it with what was not understood.
const CHANGES: &str = "\
    not no or and than except but never unless if maybe first second third fourth last next other every each same \
    past half quarter around about until till within over during as almost nearly roughly circa \
    through coming following previous early late holiday any some a an 2x 3x exactly earliest latest least soonest week \
    good black palm easter ash maundy fat cyber whit boxing shrove pancake mothering bowl super giving holy memorial \
    labor labour election fathers mothers father's mother's mid of once beginning commencing starting w/c wc since from \
    after only just hopefully ideally deadline is are was were be starts start begins begin opens open closes close \
    ends leaves left arrives ever even expires expiring back dated arriving airs airing ending comes landing lands \
    page pages platform verse leaving";
/// What is ordered or booked for a time is to be done before it.
const BOOKED: &str = "\
    book order reserve get invite tickets table cab taxi hotel flight flights cake weather forecast thank apologise \
    apologize clothes outfit congratulate";

/// Finds the time phrase of a text. `whole` is a text that should be nothing else.
pub(in crate::model::builtin) fn find(text: &str, now: &Now, whole: bool) -> Option<Found> {
    let words = words(&masked(text));
    let mut parts = TimeWords::default();
    let at_end = (0..words.len()).find_map(|from| {
        let mut said = TimeWords::default();
        let to = phrase::read(&words, from, now, &mut said).filter(|to| *to == words.len())?;
        resolve(&said, now, &words)?;
        parts = said;
        Some(from..to)
    });
    let mut more = parts.clone();
    let at_start = phrase::read(&words, 0, now, &mut more)
        .filter(|to| {
            at_end.as_ref().is_none_or(|end| *to < end.start) && (whole || leads(text, &words, *to, &more))
        })
        .filter(|_| resolve(&more, now, &words).is_some())
        .map(|to| 0..to);
    if at_start.is_some() {
        parts = more;
    }
    let mut found: Vec<Range<usize>> = at_start.into_iter().chain(at_end).collect();
    if found.is_empty() {
        let (range, said) = in_the_middle(&words, now)?;
        parts = said;
        found.push(range);
    }
    let before = |range: &Range<usize>| {
        range.start.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.text.as_str())
    };
    let after = |range: &Range<usize>| words.get(range.end).map(|word| word.text.as_str());
    // "The day before Friday", "the night after the party".
    let is_bound_to_another = |range: &Range<usize>| {
        let first = words.get(range.start).map_or("", |word| word.text.as_str());
        // "Tell Ann that the party is at 8", "the notes of Monday".
        (matches!(first, "is" | "of") && range.start > 0)
            || (matches!(first, "before" | "after")
                && before(range)
                    .is_some_and(|word| is_one_of(word, "day night evening morning afternoon weekend")))
    };
    let is_booked_for = |range: &Range<usize>| {
        let for_it = words.get(range.start).is_some_and(|word| word.text == "for") && range.start > 0;
        for_it && words.iter().take(range.start).any(|word| is_one_of(&word.text, BOOKED))
    };
    // "Talk to Bob (back Monday)".
    let is_in_brackets = text.contains('(') && text.contains(')');
    let is_doubtful = found.iter().filter_map(before).any(|word| is_one_of(word, CHANGES))
        || found.iter().any(is_booked_for)
        || is_in_brackets
        || found.iter().any(is_bound_to_another)
        || found
            .iter()
            .filter_map(after)
            .any(|word| is_one_of(word, "or ish not but except unless until instead rather through"));
    let bytes = |range: Range<usize>| {
        Some(words.get(range.start)?.range.start..words.get(range.end.checked_sub(1)?)?.range.end)
    };
    let ranges = found.into_iter().map(bytes).collect::<Option<Vec<_>>>()?;
    Some(Found { ranges, when: resolve(&parts, now, &words)?, is_doubtful })
}

/// The phrase that begins at a word, and the word after it.
pub(in crate::model::builtin) fn phrase_at(words: &[Word], from: usize, now: &Now) -> Option<usize> {
    phrase::read(words, from, now, &mut TimeWords::default())
}

/// Whether a phrase at the start leads to what is to be done.
fn leads(text: &str, words: &[Word], to: usize, parts: &TimeWords) -> bool {
    let next = words.get(to).map_or("", |word| word.text.as_str());
    let gap = match (to.checked_sub(1).and_then(|last| words.get(last)), words.get(to)) {
        (Some(last), Some(next)) => text.get(last.range.end..next.range.start).unwrap_or_default(),
        _ => "",
    };
    matches!(next, "to" | "that" | "about") || gap.contains([':', ',', '-']) || parts.moment.is_some()
}

/// A phrase with a preposition, or an unmistakable day, before another preposition.
fn in_the_middle(words: &[Word], now: &Now) -> Option<(Range<usize>, TimeWords)> {
    const FIRST: &str = "\
        today tomorrow tonight by due on at every before in";
    const NEXT: &str = "\
        about with to at regarding re because via from";
    (1..words.len()).find_map(|from| {
        let first = words.get(from)?.text.as_str();
        let mut parts = TimeWords::default();
        let to = phrase::read(words, from, now, &mut parts).filter(|_| is_one_of(first, FIRST))?;
        let next = words.get(to).map_or("", |word| word.text.as_str());
        (is_one_of(next, NEXT) && resolve(&parts, now, words).is_some()).then_some((from..to, parts))
    })
}
