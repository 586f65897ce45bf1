//! Spans of time. Every span is half-open: it holds its beginning, and ends right before its end. A day that ends a span
//! belongs to it; a time that ends it doesn't.

use adjutant_l10n::times;
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use chrono_tz::Tz;

use crate::clock::local_to_utc;
use crate::clock::when::When;

/// From a local time up to another, which is no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: NaiveDateTime,
    /// The first moment after it.
    pub to: NaiveDateTime,
}

impl Span {
    /// From the first day to the end of the last.
    pub fn days(first: NaiveDate, last: NaiveDate) -> Self {
        Self { from: When::Day(first).local(), to: When::Day(last).ends() }
    }

    pub fn day(date: NaiveDate) -> Self {
        Self::days(date, date)
    }

    /// Monday to Sunday, this many weeks after the one with this day.
    pub fn week(date: NaiveDate, later: i64) -> Option<Self> {
        let monday = date.week(chrono::Weekday::Mon).checked_first_day()?;
        let monday = monday.checked_add_signed(chrono::TimeDelta::try_weeks(later)?)?;
        Some(Self::days(monday, monday.checked_add_days(Days::new(6))?))
    }

    /// A calendar month, this many after the one with this day.
    pub fn month(date: NaiveDate, later: i32) -> Option<Self> {
        let by = Months::new(later.unsigned_abs());
        let first = date.with_day(1)?;
        let first = if later < 0 { first.checked_sub_months(by)? } else { first.checked_add_months(by)? };
        Some(Self::days(first, first.checked_add_months(Months::new(1))?.pred_opt()?))
    }

    pub fn year(year: i32) -> Option<Self> {
        Some(Self::days(NaiveDate::from_ymd_opt(year, 1, 1)?, NaiveDate::from_ymd_opt(year, 12, 31)?))
    }

    /// The rest of the span on this day and later.
    pub fn since(self, day: NaiveDate) -> Self {
        Self { from: self.from.max(When::Day(day).local()), ..self }
    }

    pub fn first_day(self) -> NaiveDate {
        self.from.date()
    }

    /// Its last day, which belongs to it.
    pub fn last_day(self) -> NaiveDate {
        let day = self.to.date();
        if self.to.time() == NaiveTime::MIN { day.pred_opt().unwrap_or(day) } else { day }
    }

    /// Whether a time is in it, or a day shares a moment with it.
    pub fn meets(self, when: When) -> bool {
        match when {
            When::Time(time) => self.from <= time && time < self.to,
            When::Day(_) => when.local() < self.to && self.from < when.ends(),
        }
    }

    /// For people: `Fri 27 Nov 2026`, `Fri 27 Nov 2026, 14:00–15:00`.
    pub fn spoken(self) -> String {
        let (first, last) = (self.first_day(), self.last_day());
        let is_days = self.from.time() == NaiveTime::MIN && self.to.time() == NaiveTime::MIN;
        let (from, to) = match is_days {
            true => (When::Day(first), When::Day(last)),
            false => (When::Time(self.from), When::Time(self.to)),
        };
        match (is_days, first == last) {
            (true, true) => from.spoken(),
            (false, true) => times::same_day(from.spoken(), self.to.format("%H:%M")),
            (_, false) => times::several_days(from.spoken(), to.spoken()),
        }
    }

    /// The same in UTC. None if nothing is in it.
    pub fn instants(self, zone: Tz) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let (from, to) = (local_to_utc(self.from, zone), local_to_utc(self.to, zone));
        (from < to).then_some((from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    fn when(text: &str) -> When {
        When::parse(text, BERLIN).unwrap()
    }

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_day_holds_its_own_times_and_no_others() {
        let span = Span::day(day("2026-11-22"));
        for (time, is_in) in [
            ("2026-11-21", false),
            ("2026-11-21T23:59", false),
            ("2026-11-22", true),
            ("2026-11-22T00:00", true),
            ("2026-11-22T23:59", true),
            ("2026-11-23", false),
            ("2026-11-23T00:00", false),
        ] {
            assert_eq!(span.meets(when(time)), is_in, "{time}");
        }
        assert_eq!((span.first_day(), span.last_day()), (day("2026-11-22"), day("2026-11-22")));
    }

    #[test]
    fn a_day_is_as_long_as_the_clocks_make_it() {
        for (date, hours) in [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-22", 24)] {
            let (from, to) = Span::day(day(date)).instants(BERLIN).unwrap();
            assert_eq!((to - from).num_hours(), hours, "{date}");
        }
        let empty = Span { from: when("2026-03-29T02:10").local(), to: when("2026-03-29T02:10").local() };
        assert_eq!(empty.instants(BERLIN), None);
    }

    #[test]
    fn a_span_is_said_with_its_days_and_times() {
        let spoken = |from: &str, to: &str| Span { from: when(from).local(), to: when(to).ends() }.spoken();
        assert_eq!(spoken("2026-11-27", "2026-11-27"), "Fri 27 Nov 2026");
        assert_eq!(spoken("2026-11-27", "2026-11-29"), "Fri 27 Nov 2026 to Sun 29 Nov 2026");
        assert_eq!(spoken("2026-11-27T14:00", "2026-11-27T15:00"), "Fri 27 Nov 2026, 14:00–15:00");
        assert_eq!(spoken("2026-11-27T18:00", "2026-11-28T00:00"), "Fri 27 Nov 2026, 18:00–00:00");
        assert_eq!(
            spoken("2026-11-27T22:00", "2026-11-28T02:00"),
            "Fri 27 Nov 2026, 22:00 to Sat 28 Nov 2026, 02:00"
        );
    }

    #[test]
    fn weeks_and_months_end_with_their_last_day() {
        let days = |span: Option<Span>| {
            let span = span.unwrap();
            format!("{} {}", span.first_day(), span.last_day())
        };
        assert_eq!(days(Span::month(day("2027-01-31"), 1)), "2027-02-01 2027-02-28");
        assert_eq!(days(Span::month(day("2028-03-31"), -1)), "2028-02-01 2028-02-29");
        assert_eq!(days(Span::week(day("2027-01-31"), 0)), "2027-01-25 2027-01-31");
        assert_eq!(days(Span::week(day("2027-01-31"), 1)), "2027-02-01 2027-02-07");
        assert_eq!(days(Span::year(2028)), "2028-01-01 2028-12-31");
        let rest = Span::week(day("2026-11-21"), 0).unwrap().since(day("2026-11-21"));
        assert_eq!(days(Some(rest)), "2026-11-21 2026-11-22");
    }
}
