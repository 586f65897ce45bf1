//! The words of a time phrase, read one component after another: a day, a clock time, a length, a
//! repetition, in any order, each at most once.

use chrono::{Duration, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Weekday};

use super::calendar;
use super::hours;
use super::now::Now;
use super::numbers::{days, minutes};
use super::words::{Word, is_one_of};
use crate::clock::span::Span;
use crate::clock::when::When;

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::builtin) enum DayPart {
    /// 9:00; an hour beside it stays as it is.
    Morning,
    /// 14:00.
    Afternoon,
    /// 18:00.
    Evening,
    /// 20:00.
    Night,
}

impl DayPart {
    /// The usual time in it.
    pub(in crate::model::builtin) fn hour(self) -> u32 {
        match self {
            Self::Morning => 9,
            Self::Afternoon => 14,
            Self::Evening => 18,
            Self::Night => 20,
        }
    }

    /// Whether somebody can mean this hour by it: "in the morning at 15:00" is a slip.
    pub(in crate::model::builtin) fn can_mean(self, hour: u32) -> bool {
        match self {
            Self::Morning => hour < 12,
            Self::Afternoon => (12..=18).contains(&hour),
            Self::Evening => hour >= 16 || hour == 0,
            Self::Night => hour >= 17 || hour <= 4,
        }
    }

    /// From which hour to which it lasts.
    pub(in crate::model::builtin) fn hours(self) -> (u32, u32) {
        match self {
            Self::Morning => (0, 12),
            Self::Afternoon => (12, 18),
            Self::Evening | Self::Night => (18, 24),
        }
    }
}

/// How a day or time bounds something, by its preposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::builtin) enum Bound {
    /// "by Friday": up to it.
    By,
    /// "before Friday": up to it, and not in it.
    Before,
    /// "after Friday": later than it.
    After,
    /// "from Friday", "since Friday".
    From,
    /// "until Friday".
    Until,
    /// "between Monday and Wednesday": some time in it.
    Between,
}

impl Bound {
    fn of(prep: &str) -> Option<Self> {
        match prep {
            "by" | "due" => Some(Self::By),
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            "from" | "since" | "starting" => Some(Self::From),
            "until" | "till" => Some(Self::Until),
            _ => None,
        }
    }
}

/// What the words of a phrase say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::model::builtin) struct TimeWords {
    /// The days.
    pub(in crate::model::builtin) span: Option<Span>,
    /// "from Monday to Wednesday": the text itself says both ends.
    pub(in crate::model::builtin) is_range: bool,
    /// The clock time, and whether it came without am or pm.
    pub(in crate::model::builtin) time: Option<(NaiveTime, bool)>,
    /// The end of "2pm to 4pm", and whether it is as bare as `time`.
    pub(in crate::model::builtin) until: Option<(NaiveTime, bool)>,
    /// Morning, evening.
    pub(in crate::model::builtin) part: Option<DayPart>,
    /// "in 2 hours": a complete time.
    pub(in crate::model::builtin) moment: Option<NaiveDateTime>,
    /// "for 30 minutes".
    pub(in crate::model::builtin) minutes: Option<i64>,
    /// "for 3 days".
    pub(in crate::model::builtin) days: Option<i64>,
    /// RRULE.
    pub(in crate::model::builtin) rule: Option<String>,
    /// The weekdays of a repetition.
    pub(in crate::model::builtin) weekdays: Vec<Weekday>,
    /// Midnight ends a day.
    pub(in crate::model::builtin) next_day: bool,
    /// "by", "after".
    pub(in crate::model::builtin) bound: Option<Bound>,
}

impl TimeWords {
    /// The clock time, adjusted to the part of the day.
    pub(in crate::model::builtin) fn clock(&self) -> Option<NaiveTime> {
        use DayPart::{Morning, Night};
        let Some((time, bare)) = self.time else { return NaiveTime::from_hms_opt(self.part?.hour(), 0, 0) };
        // For nearly everybody "at 3" is in the afternoon, but "at 9" isn't.
        let later = match self.part {
            Some(Morning) => false,
            // "At 12 tonight" is midnight, and "at 1 tonight" is after it.
            Some(part) if bare && time.hour() == 12 => part != DayPart::Afternoon,
            Some(Night) => (5..12).contains(&time.hour()),
            Some(_) => time.hour() < 12,
            None => (1..=5).contains(&time.hour()),
        };
        if bare && later { Some(time.overflowing_add_signed(Duration::hours(12)).0) } else { Some(time) }
    }

    /// Whether its clock time is one after the midnight that ends its day.
    pub(in crate::model::builtin) fn is_after_midnight(&self) -> bool {
        let latest = match self.part {
            Some(DayPart::Night) => 4,
            Some(DayPart::Evening) => 0,
            _ => return self.next_day,
        };
        self.next_day || self.time.is_some_and(|(time, bare)| bare && time.hour() % 12 <= latest)
    }

    /// Whether it says more than how long something lasts.
    pub(in crate::model::builtin) fn says_when(&self) -> bool {
        self.span.is_some()
            || self.time.is_some()
            || self.part.is_some()
            || self.moment.is_some()
            || self.rule.is_some()
    }
}

/// Reads the phrase that begins at a word, in addition to what is known. Returns the word after it.
pub(in crate::model::builtin) fn read(
    words: &[Word],
    from: usize,
    now: &Now,
    parts: &mut TimeWords,
) -> Option<usize> {
    let mut at = from;
    while let Some(next) = component(words, at, now, parts) {
        at = next;
    }
    (at > from && parts.says_when()).then_some(at)
}

/// A position in the words; reading past their end gives "".
#[derive(Clone, Copy)]
pub(in crate::model::builtin) struct Cursor<'a> {
    words: &'a [Word],
    /// The current word.
    pub(in crate::model::builtin) at: usize,
}

impl<'a> Cursor<'a> {
    /// The position of the first word.
    pub(in crate::model::builtin) fn at_start(words: &'a [Word]) -> Self {
        Self { words, at: 0 }
    }

    /// The word this many ahead.
    pub(in crate::model::builtin) fn word(&self, ahead: usize) -> &'a str {
        self.words.get(self.at + ahead).map_or("", |word| word.text.as_str())
    }

    /// The word before the current one.
    pub(in crate::model::builtin) fn before(&self) -> &'a str {
        self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or("", |word| word.text.as_str())
    }

    /// The position this many words ahead.
    pub(in crate::model::builtin) fn skip(&self, count: usize) -> Self {
        Self { words: self.words, at: self.at + count }
    }
}

/// Reads one component at `at`, with the prepositions before it. Returns the word after it.
fn component(words: &[Word], at: usize, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    const PREPS: &str = "\
        at on by due before until till from starting the for @ of is between since after";
    let mut cursor = Cursor { words, at };
    let (mut prep, mut bound) = ("", None);
    while cursor.at < at + 3 && is_one_of(cursor.word(0), PREPS) {
        // "the" says nothing about the preposition before it.
        prep = if cursor.word(0) == "the" && !prep.is_empty() { prep } else { cursor.word(0) };
        bound = bound.or(Bound::of(prep));
        cursor = cursor.skip(1);
    }
    let tries = [length, repetition, relative, day, part_of_day, clock];
    let (ranged, lasts) = (parts.is_range || parts.until.is_some(), parts.minutes.or(parts.days));
    let used = tries.iter().find_map(|read| read(cursor, prep, now, parts))?;
    let is_new_range = !ranged && (parts.is_range || parts.until.is_some());
    if !is_new_range && lasts == parts.minutes.or(parts.days) {
        parts.bound = parts.bound.or(bound);
    }
    Some(cursor.at + used)
}

fn length(cursor: Cursor, prep: &str, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    if prep != "for" || parts.minutes.or(parts.days).is_some() {
        return None;
    }
    if let Some((count, used)) = minutes(cursor) {
        parts.minutes = Some(count);
        return Some(used);
    }
    let after = later_day(now.local.date(), cursor)
        .filter(|_| matches!(cursor.word(1), "day" | "days" | "week" | "weeks" | "wk" | "wks"))?;
    parts.days = Some((after - now.local.date()).num_days());
    Some(2)
}

fn repetition(cursor: Cursor, _: &str, _: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.rule.is_some() {
        return None;
    }
    let (rule, days, used) = calendar::repetition(cursor)?;
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
    parts.span = day.map(Span::day);
    Some(used + usize::from(inward) + if ends { 2 } else { 0 })
}

fn later_day(today: NaiveDate, cursor: Cursor) -> Option<NaiveDate> {
    Some(days(cursor)?.shift(When::Day(today), true)?.local().date())
}

fn day(cursor: Cursor, prep: &str, now: &Now, parts: &mut TimeWords) -> Option<usize> {
    if parts.span.is_some() || parts.moment.is_some() {
        return None;
    }
    let today = now.local.date();
    if cursor.word(0) == "tonight" && parts.part.is_none() {
        (parts.span, parts.part) = (Some(Span::day(today)), Some(DayPart::Night));
        return Some(1);
    }
    if cursor.word(0) == "this" && part_named(cursor.word(1)).is_some() {
        parts.span = Some(Span::day(today));
        return Some(1);
    }
    if let Some((span, used)) = calendar::range(cursor, prep, now) {
        (parts.span, parts.is_range) = (Some(span), true);
        if prep == "between" {
            parts.bound = Some(Bound::Between);
        }
        return Some(used);
    }
    if prep == "between" {
        return None;
    }
    let (span, time, used) = calendar::day(cursor, prep, now)?;
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
    let anchored = matches!(prep, "at" | "@" | "from" | "between");
    let first = hours::clock(cursor, 0, prep)?;
    let joined = match cursor.word(first.used) {
        "to" | "till" | "until" | "-" => true,
        word => word == "and" && prep == "between",
    };
    let second = hours::clock(cursor, first.used + 1, "-")
        .filter(|second| joined && (anchored || parts.span.is_some() || !(first.lone && second.lone)));
    if let Some(second) = second {
        // "2 to 4pm": the first hour takes over the half of the day unless that would turn them round.
        let shifted = first.time.overflowing_add_signed(Duration::hours(12)).0;
        let takes_over = first.bare && second.pm && first.time < shifted && shifted < second.time;
        let time = if takes_over { shifted } else { first.time };
        // "10pm to 2am" has two halves; "10 to 11:30" none.
        parts.time = Some((time, first.bare && second.bare));
        parts.until = Some((second.time, second.bare));
        return Some(first.used + 1 + second.used);
    }
    // "Read John 3:15" is no time, and "train 7:52" may be either.
    let is_read =
        || cursor.words.iter().any(|word| is_one_of(&word.text, "read recite study memorize memorise"));
    let is_alone = prep.is_empty() && first.bare && !first.lone && !parts.says_when();
    let is_verse = is_alone && (first.time.minute() % 5 != 0 || is_read());
    if prep == "between" || (first.lone && !anchored) || is_verse {
        return None;
    }
    parts.next_day = cursor.word(0) == "midnight";
    parts.time = Some((first.time, first.bare));
    Some(first.used)
}
