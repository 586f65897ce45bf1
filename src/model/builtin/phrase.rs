//! The words of a time phrase, read one component after another: a day, a clock time, a length, a
//! repetition, in any order, each at most once.

use std::ops::Range;

use chrono::{Datelike, Duration, Months, NaiveDate, NaiveDateTime, NaiveTime, Weekday};

use super::calendar;
use super::when::Now;

/// A word and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case, without punctuation around it.
    pub(super) text: String,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
}

/// Splits a text into words.
pub(super) fn words(text: &str) -> Vec<Word> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, ':' | '.' | '/' | '-' | '\'' | '@' | '#');
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
        words.push(Word { text: text.to_lowercase(), range: from..from + text.len() });
    };
    match word.split_once('-') {
        Some((from, to)) if calendar::is_clock(from) && calendar::is_clock(to) => {
            push(from, left);
            push("-", left + from.len());
            push(to, left + from.len() + 1);
        }
        _ if word.is_empty() => {}
        _ => push(word, left),
    }
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayPart {
    /// 9:00; an hour beside it stays as it is.
    Morning,
    /// 14:00.
    Afternoon,
    /// 18:00.
    Evening,
    /// 20:00.
    Night,
}

/// What the words of a phrase say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TimeWords {
    /// The day, and for a span like a week the day after its last.
    pub(super) span: Option<(NaiveDate, Option<NaiveDate>)>,
    /// The clock time, and whether it came without am, pm or minutes.
    pub(super) time: Option<(NaiveTime, bool)>,
    /// The end of "2pm to 4pm", and whether it is as bare as `time`.
    pub(super) until: Option<(NaiveTime, bool)>,
    /// Morning, evening.
    pub(super) part: Option<DayPart>,
    /// "in 2 hours": a complete time.
    pub(super) moment: Option<NaiveDateTime>,
    /// "for 30 minutes".
    pub(super) minutes: Option<i64>,
    /// RRULE.
    pub(super) rule: Option<String>,
    /// The weekdays of a repetition.
    pub(super) weekdays: Vec<Weekday>,
    /// Midnight ends a day.
    pub(super) next_day: bool,
}

impl TimeWords {
    /// The clock time, adjusted to the part of the day.
    pub(super) fn clock(&self) -> Option<NaiveTime> {
        use DayPart::{Afternoon, Evening, Morning, Night};
        use chrono::Timelike;
        let Some((time, bare)) = self.time else {
            let hour = match self.part? {
                Morning => 9,
                Afternoon => 14,
                Evening => 18,
                Night => 20,
            };
            return NaiveTime::from_hms_opt(hour, 0, 0);
        };
        // For nearly everybody "at 3" is in the afternoon, but "at 9" isn't.
        let later = match self.part {
            Some(Morning) => false,
            Some(_) => time.hour() < 12,
            None => (1..=5).contains(&time.hour()),
        };
        if bare && later { Some(time.overflowing_add_signed(Duration::hours(12)).0) } else { Some(time) }
    }

    fn says_when(&self) -> bool {
        self.span.is_some()
            || self.time.is_some()
            || self.part.is_some()
            || self.moment.is_some()
            || self.rule.is_some()
    }
}

/// Reads the phrase that begins at a word. Also returns the word after it.
pub(super) fn read(words: &[Word], from: usize, now: &Now) -> Option<(TimeWords, usize)> {
    let mut parts = TimeWords::default();
    let mut at = from;
    while let Some(next) = component(words, at, now, &mut parts) {
        at = next;
    }
    parts.says_when().then_some((parts, at))
}

/// A position in the words; reading past their end gives "".
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    words: &'a [Word],
    /// The current word.
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// The word this many ahead.
    pub(super) fn word(&self, ahead: usize) -> &'a str {
        self.words.get(self.at + ahead).map_or("", |word| word.text.as_str())
    }

    fn skip(&self, count: usize) -> Self {
        Self { words: self.words, at: self.at + count }
    }
}

/// Reads one component at `at`, with the prepositions before it. Returns the word after it.
fn component(words: &[Word], at: usize, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    let mut cursor = Cursor { words, at };
    let mut prep = "";
    while cursor.at < at + 3
        && matches!(
            cursor.word(0),
            "at" | "on"
                | "by"
                | "due"
                | "before"
                | "until"
                | "from"
                | "starting"
                | "the"
                | "for"
                | "@"
                | "of"
                | "is"
                | "between"
                | "since"
                | "after"
        )
    {
        prep = cursor.word(0);
        cursor = cursor.skip(1);
    }
    let tries = [length, repetition, relative, day, part_of_day, clock];
    tries.iter().find_map(|read| read(cursor, prep, now, parts)).map(|used| cursor.at + used)
}

fn number(word: &str) -> Option<u32> {
    const NAMES: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let named = NAMES.iter().position(|name| *name == word).and_then(|at| u32::try_from(at).ok());
    let one = matches!(word, "a" | "an").then_some(1);
    let digits = || word.parse().ok().filter(|n| *n < 10_000);
    named.or(one).or_else(digits)
}

/// Minutes in a unit of the clock.
fn clock_unit(word: &str) -> Option<i64> {
    match word {
        "m" | "min" | "mins" | "minute" | "minutes" => Some(1),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(60),
        _ => None,
    }
}

/// "30 minutes", "half an hour", "an hour", "1.5 hours", "90m": minutes, and the words used.
fn minutes(cursor: Cursor) -> Option<(i64, usize)> {
    if cursor.word(0) == "half" && matches!(cursor.word(1), "an" | "a") && cursor.word(2) == "hour" {
        return Some((30, 3));
    }
    if let Some(split) = cursor.word(0).find(|c: char| c.is_ascii_alphabetic()).filter(|at| *at > 0) {
        let (count, unit) = cursor.word(0).split_at(split);
        return Some((scaled(count, clock_unit(unit)?)?, 1));
    }
    let unit = clock_unit(cursor.word(1))?;
    let count =
        number(cursor.word(0)).map(|n| i64::from(n) * unit).or_else(|| scaled(cursor.word(0), unit))?;
    Some((count, 2))
}

fn scaled(count: &str, unit: i64) -> Option<i64> {
    let (whole, part) = count.split_once('.').unwrap_or((count, "0"));
    let whole: i64 = whole.parse().ok().filter(|n| (0..10_000).contains(n))?;
    let tenths: i64 = part.get(..1)?.parse().ok()?;
    Some(whole * unit + tenths * unit / 10)
}

fn length(cursor: Cursor, prep: &str, _: &Now, parts: &mut TimeWords) -> Option<usize> {
    if prep != "for" || parts.minutes.is_some() {
        return None;
    }
    let (count, used) = minutes(cursor)?;
    parts.minutes = Some(count);
    Some(used)
}

fn repetition(cursor: Cursor, _: &str, _: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.rule.is_some() {
        return None;
    }
    let (rule, days, used) = calendar::repetition(cursor, number)?;
    (parts.rule, parts.weekdays) = (Some(rule), days);
    Some(used)
}

/// "in 2 hours", "in three days", "2 weeks from now".
fn relative(cursor: Cursor, _: &str, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.span.is_some() || parts.moment.is_some() {
        return None;
    }
    let inward = cursor.word(0) == "in";
    let from = cursor.skip(usize::from(inward));
    let (moment, day, used) = match minutes(from) {
        Some((count, used)) => (now.after(Duration::try_minutes(count)?), None, used),
        None => (None, later_day(now.local.date(), from), 2),
    };
    let ends = (from.word(used), from.word(used + 1)) == ("from", "now");
    if !(inward || ends) || (moment.is_none() && day.is_none()) {
        return None;
    }
    parts.moment = moment;
    parts.span = day.map(|day| (day, None));
    Some(used + usize::from(inward) + if ends { 2 } else { 0 })
}

fn later_day(today: NaiveDate, cursor: Cursor) -> Option<NaiveDate> {
    let count = number(cursor.word(0))?;
    match cursor.word(1) {
        "day" | "days" => today.checked_add_signed(Duration::days(i64::from(count))),
        "week" | "weeks" => today.checked_add_signed(Duration::weeks(i64::from(count))),
        "month" | "months" => today.checked_add_months(Months::new(count)),
        "year" | "years" => today.with_year(today.year() + i32::try_from(count).ok()?),
        _ => None,
    }
}

fn day(cursor: Cursor, prep: &str, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.span.is_some() || parts.moment.is_some() {
        return None;
    }
    if cursor.word(0) == "tonight" {
        (parts.span, parts.part) = (Some((now.local.date(), None)), Some(DayPart::Night));
        return Some(1);
    }
    if cursor.word(0) == "this" && part_named(cursor.word(1)).is_some() {
        parts.span = Some((now.local.date(), None));
        return Some(1);
    }
    let (span, time, used) = calendar::day(cursor, prep, now.local.date())?;
    parts.span = Some(span);
    if parts.time.is_none() {
        parts.time = time.map(|time| (time, false));
    }
    Some(used)
}

fn part_named(word: &str) -> Option<DayPart> {
    match word {
        "morning" => Some(DayPart::Morning),
        "afternoon" => Some(DayPart::Afternoon),
        "evening" => Some(DayPart::Evening),
        "night" => Some(DayPart::Night),
        _ => None,
    }
}

/// "tomorrow morning", "at 9 in the evening".
fn part_of_day(cursor: Cursor, _: &str, _: &Now, parts: &mut TimeWords) -> Option<usize> {
    let lead = if (cursor.word(0), cursor.word(1)) == ("in", "the") { 2 } else { 0 };
    // A bare "morning" is a time only beside a day or an hour.
    if parts.part.is_some() || (!parts.says_when() && lead == 0) {
        return None;
    }
    parts.part = Some(part_named(cursor.word(lead))?);
    Some(lead + 1)
}

/// "5pm", "17:00", "at 9", "2 to 4pm", "noon".
fn clock(cursor: Cursor, prep: &str, _: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.time.is_some() || parts.moment.is_some() {
        return None;
    }
    if cursor.word(0) == "midnight" {
        (parts.time, parts.next_day) = (Some((NaiveTime::MIN, false)), true);
        return Some(1);
    }
    let anchored = matches!(prep, "at" | "@" | "from" | "between");
    let first = calendar::clock(cursor, 0)?;
    let joined = match cursor.word(first.used) {
        "to" | "till" | "until" | "-" => true,
        word => word == "and" && prep == "between",
    };
    let second = calendar::clock(cursor, first.used + 1)
        .filter(|second| joined && (anchored || !(first.bare && second.bare)));
    if let Some(second) = second {
        // "2 to 4pm": the first hour takes over the half of the day unless that would turn them round.
        let shifted = first.time.overflowing_add_signed(Duration::hours(12)).0;
        let takes_over = first.bare && second.pm && first.time < shifted && shifted < second.time;
        let time = if takes_over { shifted } else { first.time };
        parts.time = Some((time, first.bare && second.bare));
        parts.until = Some((second.time, second.bare));
        return Some(first.used + 1 + second.used);
    }
    if prep == "between" || (first.bare && !anchored) {
        return None;
    }
    parts.time = Some((first.time, first.bare));
    Some(first.used)
}
