//! Dates and times as people write them, in the person's own zone.
//!
//! A phrase is found at the end of a text ("call Bob tomorrow at 9"), at its start when "to", "that",
//! "about" or a mark follows ("tomorrow at 9 to call Bob"), and in its middle only where it can hardly
//! mean anything else ("call Bob tomorrow about the budget"), so that titles keep their words.

use std::ops::Range;

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use chrono_tz::Tz;

use super::phrase::{self, TimeWords, Word};
use crate::clock::local_to_utc;
use crate::clock::when::When;

/// The person's local time and zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Now {
    /// Local time.
    pub(super) local: NaiveDateTime,
    /// Where that is.
    pub(super) zone: Tz,
}

impl Now {
    /// Reads `2026-11-21T10:15 Saturday, Europe/Berlin`; an unknown zone counts as UTC.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Ok(When::Time(local)) =
            When::parse(text.split_whitespace().next()?.trim_end_matches(','), Tz::UTC)
        else {
            return None;
        };
        let zone = text.rsplit([',', ' ']).next().and_then(|zone| zone.parse().ok()).unwrap_or(Tz::UTC);
        Some(Self { local, zone })
    }

    /// The local time this much later, across changes of the clocks.
    pub(super) fn after(&self, by: Duration) -> Option<NaiveDateTime> {
        let later = local_to_utc(self.local, self.zone).checked_add_signed(by)?;
        Some(later.with_timezone(&self.zone).naive_local())
    }

    /// The local time, moved if the clocks jump over it.
    fn existing(&self, local: NaiveDateTime) -> NaiveDateTime {
        local_to_utc(local, self.zone).with_timezone(&self.zone).naive_local()
    }
}

/// What a time phrase means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    start: NaiveDateTime,
    timed: bool,
    end: Option<NaiveDateTime>,
    end_timed: bool,
    /// Its length, if the text gives one.
    minutes: Option<i64>,
    /// The RRULE if it repeats.
    pub(super) rule: Option<String>,
}

impl Period {
    /// `2026-11-27T17:00`, or the date alone without a time.
    pub(super) fn start(&self) -> String {
        show(self.start, self.timed)
    }

    /// Where the period ends (exclusive): as the text says, else an hour or a day later.
    pub(super) fn end(&self) -> Option<String> {
        let later = |by| self.start.checked_add_signed(by);
        let end = match (self.end, self.minutes) {
            (Some(end), _) => return Some(show(end, self.end_timed)),
            (None, Some(minutes)) => later(Duration::try_minutes(minutes)?),
            (None, None) if self.timed => later(Duration::hours(1)),
            (None, None) => later(Duration::days(1)),
        };
        end.map(|end| show(end, self.timed || self.minutes.is_some()))
    }

    /// Its length as iCalendar writes it (`PT30M`), if the text gives one.
    pub(super) fn duration(&self) -> Option<String> {
        let said =
            self.end.filter(|_| self.timed && self.end_timed).map(|end| (end - self.start).num_minutes());
        self.minutes.or(said).filter(|minutes| *minutes > 0).map(|minutes| {
            match (minutes / 60, minutes % 60) {
                (0, rest) => format!("PT{rest}M"),
                (hours, 0) => format!("PT{hours}H"),
                (hours, rest) => format!("PT{hours}H{rest}M"),
            }
        })
    }
}

fn show(time: NaiveDateTime, timed: bool) -> String {
    if timed { When::Time(time).iso() } else { When::Day(time.date()).iso() }
}

/// A phrase and where in the text it stands, its preposition included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    /// What it means.
    pub(super) when: Period,
}

/// Finds the time phrase of a text. `anywhere` also takes one from the middle of other words.
pub(super) fn find(text: &str, now: &Now, anywhere: bool) -> Option<Found> {
    let words = phrase::words(text);
    let at_end =
        (0..words.len()).find_map(|from| reading(&words, from, now).filter(|hit| hit.1 == words.len()));
    let hit = at_end.map(|hit| (0, hit)).or_else(|| {
        let starts = reading(&words, 0, now).filter(|hit| anywhere || leads(text, &words, hit.1));
        starts.map(|hit| (0, hit)).or_else(|| in_the_middle(&words, now, anywhere))
    })?;
    let (_, (from, to, when)) = hit;
    let (first, last) = (words.get(from)?, words.get(to.checked_sub(1)?)?);
    Some(Found { range: first.range.start..last.range.end, when })
}

type Reading = (usize, usize, Period);

fn reading(words: &[Word], from: usize, now: &Now) -> Option<Reading> {
    let (parts, to) = phrase::read(words, from, now)?;
    Some((from, to, resolve(&parts, now)?))
}

fn leads(text: &str, words: &[Word], to: usize) -> bool {
    let next = words.get(to).map_or("", |word| word.text.as_str());
    let gap = match (to.checked_sub(1).and_then(|last| words.get(last)), words.get(to)) {
        (Some(last), Some(next)) => text.get(last.range.end..next.range.start).unwrap_or_default(),
        _ => "",
    };
    matches!(next, "to" | "that" | "about") || gap.contains([':', ',', '-'])
}

fn in_the_middle(words: &[Word], now: &Now, anywhere: bool) -> Option<(usize, Reading)> {
    (0..words.len()).find_map(|from| {
        let plain = matches!(words.get(from)?.text.as_str(), "today" | "tomorrow" | "tonight" | "by" | "due");
        if !(anywhere || plain) {
            return None;
        }
        reading(words, from, now).map(|hit| (from, hit))
    })
}

/// Turns the words of a phrase into one period.
fn resolve(parts: &TimeWords, now: &Now) -> Option<Period> {
    let rule = parts.rule.clone();
    if let Some(start) = parts.moment {
        return Some(Period {
            start,
            timed: true,
            end: None,
            end_timed: false,
            minutes: parts.minutes,
            rule,
        });
    }
    let time = parts.clock();
    let (first, last) = match (parts.span, time) {
        (Some(span), _) => span,
        (None, Some(time)) => {
            let late = time <= now.local.time();
            let day = now.local.date();
            let day = if parts.weekdays.is_empty() && late { day.succ_opt()? } else { day };
            (day, None)
        }
        (None, None) if rule.is_some() => (now.local.date(), None),
        (None, None) => return None,
    };
    let first = if parts.weekdays.is_empty() { first } else { next_of(&parts.weekdays, first, time, now)? };
    let first = if parts.next_day { first.succ_opt()? } else { first };
    let start = first.and_time(time.unwrap_or_default());
    let start = if time.is_some() { now.existing(start) } else { start };
    let until = parts.until.and_then(|(until, bare)| {
        let steps = if bare { [0, 12, 24] } else { [0, 24, 24] };
        let end = first.and_time(until);
        steps
            .iter()
            .filter_map(|hours| end.checked_add_signed(Duration::hours(*hours)))
            .find(|end| *end > start)
    });
    let end_timed = until.is_some();
    let end = until.or_else(|| last.filter(|_| time.is_none()).map(|day| day.and_time(NaiveTime::MIN)));
    Some(Period { start, timed: time.is_some(), end, end_timed, minutes: parts.minutes, rule })
}

/// The first of these weekdays on or after `from` whose time has not passed.
fn next_of(days: &[Weekday], from: NaiveDate, time: Option<NaiveTime>, now: &Now) -> Option<NaiveDate> {
    from.iter_days().take(8).find(|day| {
        let past = time.is_some_and(|time| day.and_time(time) <= now.local);
        days.contains(&day.weekday()) && !past
    })
}
