//! Dates and times as people write them: ISO 8601, in the person's zone unless they have an offset.

use adjutant_l10n::times;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};
use chrono_tz::Tz;

use crate::clock::local_to_utc;

/// A time or a whole day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// A whole day.
    Day(NaiveDate),
    /// A local time.
    Time(NaiveDateTime),
}

impl When {
    /// Reads `2026-11-27` or `2026-11-27T17:00[:00]` (also with a space), with or without an offset.
    pub fn parse(text: &str, zone: Tz) -> Result<Self, String> {
        let text = text.trim();
        let read = Self::read(text, zone).filter(|when| (1..=9999).contains(&when.local().year()));
        read.ok_or_else(|| times::unknown_time(text))
    }

    fn read(text: &str, zone: Tz) -> Option<Self> {
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Some(Self::Time(time.with_timezone(&zone).naive_local()));
        }
        if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            return Some(Self::Day(day));
        }
        let forms = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
        forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok()).map(Self::Time)
    }

    /// As the store keeps it.
    pub fn iso(self) -> String {
        match self {
            Self::Day(day) => day.format("%Y-%m-%d").to_string(),
            Self::Time(time) => time.format("%Y-%m-%dT%H:%M").to_string(),
        }
    }

    /// When it is past, in milliseconds; a day is past when it is over.
    pub fn deadline(self, zone: Tz) -> i64 {
        local_to_utc(self.ends(), zone).timestamp_millis()
    }

    /// For people: `Fri 27 Nov 2026, 17:00`.
    pub fn spoken(self) -> String {
        let day = self.local().date();
        let weekday = times::short_weekday(day.weekday().number_from_monday());
        let date = times::date(weekday, day.day(), times::short_month(day.month()), day.format("%Y"));
        match self {
            Self::Day(_) => date,
            Self::Time(time) => times::date_time(date, time.format("%H:%M")),
        }
    }

    /// Its local time; a day begins at midnight.
    pub fn local(self) -> NaiveDateTime {
        match self {
            Self::Day(day) => day.and_time(NaiveTime::MIN),
            Self::Time(time) => time,
        }
    }

    /// Where a span that ends with it ends: a day at the next midnight, so that it belongs to the span.
    pub fn ends(self) -> NaiveDateTime {
        match self {
            Self::Day(day) => day.succ_opt().unwrap_or(day).and_time(NaiveTime::MIN),
            Self::Time(time) => time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    #[test]
    fn reads_the_forms_people_and_models_write() {
        for (text, iso) in [
            ("2026-11-27", "2026-11-27"),
            ("2026-11-27T17:00", "2026-11-27T17:00"),
            (" 2026-11-27 17:00 ", "2026-11-27T17:00"),
            ("2026-11-27T17:00:00Z", "2026-11-27T18:00"),
            ("2026-11-27T17:00:00+05:00", "2026-11-27T13:00"),
        ] {
            assert_eq!(When::parse(text, BERLIN).unwrap().iso(), iso, "{text}");
        }
        assert!(When::parse("soon", BERLIN).unwrap_err().contains("2026-11-27T17:00"));
    }

    #[test]
    fn a_time_that_daylight_saving_skips_is_after_the_gap() {
        let skipped = When::parse("2026-03-29T02:30", BERLIN).unwrap();
        assert_eq!(crate::clock::rfc3339(skipped.deadline(BERLIN)), "2026-03-29T01:30:00Z");
        let twice = When::parse("2026-10-25T02:30", BERLIN).unwrap();
        assert_eq!(crate::clock::rfc3339(twice.deadline(BERLIN)), "2026-10-25T00:30:00Z");
    }

    #[test]
    fn a_day_is_past_when_it_is_over() {
        let day = When::parse("2026-11-27", BERLIN).unwrap();
        assert_eq!(crate::clock::rfc3339(day.deadline(BERLIN)), "2026-11-27T23:00:00Z");
    }
}
