//! Splits a message into parts that each ask for one thing.
//!
//! A message is split only where both sides make sense by themselves. Of all ways to split it, the one that
//! leaves the least text not understood wins, then the one with the most parts: "add a task to buy milk and
//! bread" stays whole, because "bread" asks for nothing. After a bare "and" or a comma a part must match
//! beyond doubt, unless the message makes no sense otherwise. A part that isn't understood also blocks its
//! neighbours, unless a line break, a full stop or a semicolon separates them ("if it rains, delete the milk task").

use std::ops::Range;

use super::time::is_one_of;
use crate::domain::SPOKEN;

/// One part of a message.
#[derive(Debug)]
pub(super) struct Segment<'a, T> {
    /// Its words, without politeness and final punctuation.
    pub(super) text: &'a str,
    /// The politeness and punctuation behind them.
    pub(super) end: &'a str,
    /// "then" stood before it.
    pub(super) then: bool,
    /// What it means, if it's understood.
    pub(super) meaning: Option<T>,
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// Other parts come before it.
    pub(super) later: bool,
    /// Only "and" or a comma separates it from words that it may belong to: "clean up and delete old
    /// files" doesn't ask to delete anything. It must match beyond doubt.
    pub(super) doubtful: bool,
}

/// How surely punctuation or a word separates two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Strength {
    /// "and" or a comma: it may also join words within a request.
    Weak,
    /// "then", ", and".
    Strong,
    /// A line, a semicolon, the end of a sentence.
    Hard,
}

#[derive(Debug, Clone)]
struct Cut {
    /// The bytes dropped between the sides.
    gap: Range<usize>,
    /// Where the punctuation in the gap ends.
    marks: usize,
    strength: Strength,
    then: bool,
}

/// Cuts considered in a message.
const CUTS: usize = 200;
/// Cuts within one part; more would cost time, and no request has them.
const WITHIN: usize = 12;

/// Splits a text; `understand` gets each part and its position.
pub(super) fn split<'a, T>(
    text: &'a str,
    understand: &dyn Fn(&str, Position) -> Option<T>,
) -> Vec<Segment<'a, T>> {
    let cuts = cuts(text);
    let strict = best(text, &cuts, understand, true);
    if strict.iter().all(|segment| segment.meaning.is_some()) {
        return strict;
    }
    let missed = |segments: &[Segment<T>]| -> usize {
        segments.iter().filter(|segment| segment.meaning.is_none()).map(|segment| segment.text.len()).sum()
    };
    let lenient = best(text, &cuts, understand, false);
    if missed(&lenient) < missed(&strict) { lenient } else { strict }
}

/// The cost so far (bytes not understood, then parts as a negative number), where the part ends, and its meaning.
struct Best<T> {
    cost: (usize, isize),
    end: usize,
    meaning: Option<T>,
}

fn best<'a, T>(
    text: &'a str,
    cuts: &[Cut],
    understand: &dyn Fn(&str, Position) -> Option<T>,
    strict: bool,
) -> Vec<Segment<'a, T>> {
    // Position i is the start of the text (0), the end of cut i-1's gap, or past the last cut the text's end.
    let start = |place: usize| place.checked_sub(1).and_then(|at| cuts.get(at)).map_or(0, |cut| cut.gap.end);
    let words = |from: usize, to: usize| {
        let end = cuts.get(to - 1).map_or(text.len(), |cut| cut.gap.start);
        tidy(text.get(start(from)..end.max(start(from))).unwrap_or_default())
    };
    let parts_hard = |place: usize| {
        let cut = place.checked_sub(1).and_then(|at| cuts.get(at));
        cut.is_none_or(|cut| cut.strength == Strength::Hard)
    };
    let place = |from: usize| {
        let cut = from.checked_sub(1).and_then(|at| cuts.get(at));
        let weak = cut.is_some_and(|cut| cut.strength == Strength::Weak);
        Position { later: from > 0, doubtful: strict && weak }
    };
    let places = cuts.len() + 1;
    let mut table: Vec<Option<Best<T>>> = (0..=places).map(|_| None).collect();
    for from in (0..places).rev() {
        for to in (from + 1..=places).take(WITHIN).chain((from + 1 + WITHIN <= places).then_some(places)) {
            let part = words(from, to);
            let rest = if to == places {
                Some((0, 0))
            } else {
                table.get(to).and_then(|b| b.as_ref()).map(|b| b.cost)
            };
            let Some((missed, count)) = rest else { continue };
            let cut = cuts.get(to - 1);
            if strict && to < places && cut.is_some_and(|cut| joins(part, cut, text)) {
                continue;
            }
            let meaning = if part.is_empty() { None } else { understand(part, place(from)) };
            let cost = match meaning {
                Some(_) => (missed, count - 1),
                None if part.is_empty() => (missed, count),
                None if parts_hard(from) && (to == places || parts_hard(to)) => (missed + part.len(), count),
                None => continue,
            };
            let slot = table.get_mut(from);
            if let Some(slot) = slot
                && slot.as_ref().is_none_or(|known| cost < known.cost)
            {
                *slot = Some(Best { cost, end: to, meaning });
            }
        }
    }
    let mut segments = Vec::new();
    let mut from = 0;
    while let Some(Best { end, meaning, .. }) = table.get_mut(from).and_then(Option::take) {
        let part = words(from, end);
        let marks = cuts.get(end - 1).map_or(text.len(), |cut| cut.marks);
        let rest = text.get(start(from)..marks.max(start(from))).unwrap_or_default();
        let then = from.checked_sub(1).and_then(|at| cuts.get(at)).is_some_and(|cut| cut.then);
        if !part.is_empty() {
            segments.push(Segment { text: part, end: end_after(part, rest), then, meaning });
        }
        from = end;
    }
    segments
}

/// Whether a weak cut more likely joins words: after a colon everything belongs to what it introduces, and
/// "the", "he" and the like continue a sentence rather than ask for something.
fn joins(before: &str, cut: &Cut, text: &str) -> bool {
    let next = text.get(cut.gap.end..).unwrap_or_default();
    cut.strength == Strength::Weak && (before.contains(": ") || repeats(before) || goes_on(next))
}

/// Whether a text continues a sentence rather than asks for something.
pub(super) fn goes_on(text: &str) -> bool {
    const WORDS: &str = "\
        the a an my his her their our your it they he she we i that this is not who whose which";
    let first = text.split_whitespace().next().unwrap_or_default();
    is_one_of(&first.to_lowercase(), WORDS)
}

/// "Every weekday at 8, show my tasks": what follows belongs to it.
fn repeats(before: &str) -> bool {
    let first = before.split_whitespace().next().unwrap_or_default();
    ["every", "each"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// Where a text may be split, outside quotes.
fn cuts(text: &str) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if matches!(c, '"' | '“' | '”') {
            quoted = !quoted;
        }
        if cuts.last().is_some_and(|cut| at < cut.gap.end) || (quoted && c != '\n') {
            continue;
        }
        quoted = quoted && c != '\n';
        let rest = text.get(at..).unwrap_or_default();
        let Some((length, strength)) = mark(rest) else { continue };
        let (words, named) = link_words(rest.get(length..).unwrap_or_default());
        let then = named == Some(true);
        // A space is a cut only if "and" or "then" follows it.
        let strength = match (strength, named) {
            (None, None) => continue,
            (None, Some(true)) | (Some(Strength::Weak), Some(_)) => Strength::Strong,
            (None, Some(false)) => Strength::Weak,
            (Some(strength), _) => strength,
        };
        cuts.push(Cut { gap: at..at + length + words, marks: at + length, strength, then });
        if cuts.len() == CUTS {
            break;
        }
    }
    cuts
}

/// The punctuation and spaces at the start of a text; a space alone has no strength of its own.
fn mark(text: &str) -> Option<(usize, Option<Strength>)> {
    let body = text.trim_start_matches([' ', '\t', '\r', '\n', ',', ';', '.', '!', '?']);
    let length = text.len() - body.len();
    let taken = text.get(..length).filter(|taken| !taken.is_empty())?;
    if taken.contains(['\n', ';']) {
        return Some((length, Some(Strength::Hard)));
    }
    // The punctuation in "Q1.pdf" and "5,30" separates nothing.
    if !taken.ends_with([' ', '\t']) || body.is_empty() {
        return None;
    }
    let strength = if taken.contains(['.', '!', '?']) {
        Some(Strength::Hard)
    } else {
        taken.contains(',').then_some(Strength::Weak)
    };
    Some((length, strength))
}

/// The bytes of "and", "then", "and then", ... at the start of a text, and whether it was "then".
fn link_words(text: &str) -> (usize, Option<bool>) {
    let mut used = 0;
    let mut then = None;
    loop {
        let rest = text.get(used..).unwrap_or_default();
        let word = rest.split([' ', ',', '\t', '\n']).next().unwrap_or_default();
        let found = match word.to_lowercase().as_str() {
            "and" | "plus" | "&" | "also" => false,
            "then" | "afterwards" => true,
            "after" if rest.get(..10).is_some_and(|lead| lead.eq_ignore_ascii_case("after that")) => {
                used += "after ".len();
                true
            }
            _ => return (used, then),
        };
        let rest = text.get(used..).unwrap_or_default();
        let word = rest.split([' ', ',', '\t', '\n']).next().unwrap_or_default().len();
        let tail = rest.get(word..).unwrap_or_default();
        let blanks = tail.len() - tail.trim_start_matches([' ', ',', '\t']).len();
        if blanks == 0 {
            return (used, then);
        }
        used += word + blanks;
        then = Some(found || then == Some(true));
    }
}

/// What a text has after its last part: politeness and punctuation.
pub(super) fn end_after<'t>(part: &str, text: &'t str) -> &'t str {
    text.trim_end().rsplit_once(part).map_or("", |(_, end)| end)
}

/// Without politeness around it and punctuation at its end.
pub(super) fn tidy(text: &str) -> &str {
    const LEADS: &str = "i need to know|i want to know|i want to see|i would like to know|please|pls|hey|hi|hello|ok|okay|\
        so|also|and|then|now|can you|could you|would you|will you|i'd like you to|i would like you to|\
        i want you to|just|assistant|adjutant|no,|actually|sorry,|oh";
    const TAILS: [&str; 5] = ["please", "pls", "thanks", "thank you", "thx"];
    let ends = |c: char| c.is_whitespace() || matches!(c, '.' | '!' | '?' | ',' | ';' | ':' | '…');
    // Spoken words are taken like typed ones, in each message of a turn.
    let text = text.trim();
    let mut text = text.strip_prefix(SPOKEN).unwrap_or(text).trim_end_matches(ends);
    loop {
        let lead = LEADS.split('|').find_map(|lead| {
            let head = text.get(..lead.len()).filter(|head| head.eq_ignore_ascii_case(lead))?;
            let rest = text.get(head.len()..)?;
            let cut = rest.trim_start_matches([' ', ',', '\t', '!', ':']);
            (cut.len() < rest.len() && !cut.is_empty()).then_some(cut)
        });
        let tail = || {
            TAILS.iter().find_map(|tail| {
                let at = text.len().checked_sub(tail.len())?;
                text.get(at..).filter(|end| end.eq_ignore_ascii_case(tail))?;
                let rest = text.get(..at).filter(|rest| rest.ends_with([' ', ',', '.', '!', '?']))?;
                // "Say thanks" and "send a thank you" are about them.
                let last = rest.split_whitespace().next_back().unwrap_or_default().to_lowercase();
                let is_content =
                    is_one_of(&last, "say says said saying is a an the big many with of to send my");
                Some(rest.trim_end_matches(ends)).filter(|rest| !rest.is_empty() && !is_content)
            })
        };
        match lead.or_else(tail) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}
