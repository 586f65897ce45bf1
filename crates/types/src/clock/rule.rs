//! An iCalendar rule in words.

use adjutant_l10n::times;
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use chrono_tz::Tz;

use super::WEEKDAYS;
use super::recurring::{list, ordinal};
use super::when::When;

/// The parts of a rule that have words.
#[derive(Default)]
struct Parts<'a> {
    unit: &'a str,
    interval: u32,
    days: Vec<&'a str>,
    month_days: Vec<&'a str>,
    /// The last of the days of a month that it names.
    is_last: bool,
    end: End,
}

/// When a rule ends.
#[derive(Default)]
enum End {
    #[default]
    Never,
    /// After so many times.
    After(u32),
    On(When),
}

/// A rule in words, its end in the person's zone: `every Monday and Friday`, `every month on the 15th, 5 times`; `None` for
/// rules that are less simple.
pub fn in_words(rule: &str, zone: Tz) -> Option<String> {
    let mut parts = Parts { interval: 1, ..Parts::default() };
    for part in rule.split(';') {
        match part.split_once('=')? {
            ("FREQ", "DAILY") => parts.unit = "day",
            ("FREQ", "WEEKLY") => parts.unit = "week",
            ("FREQ", "MONTHLY") => parts.unit = "month",
            ("FREQ", "YEARLY") => parts.unit = "year",
            ("INTERVAL", value) => parts.interval = value.parse().ok()?,
            ("BYDAY", value) => parts.days = value.split(',').collect(),
            ("BYMONTHDAY", value) => parts.month_days = value.split(',').collect(),
            ("BYSETPOS", "-1") => parts.is_last = true,
            ("COUNT", value) => parts.end = End::After(value.parse().ok()?),
            ("UNTIL", value) => parts.end = End::On(until(value, zone)?),
            _ => return None,
        }
    }
    let repeats = parts.repeated()?;
    Some(match parts.end {
        End::Never => repeats,
        End::After(count) => times::repeats_times(count, repeats),
        End::On(end) => times::repeats_until(repeats, end.spoken()),
    })
}

/// The same after what repeats: `, repeating every Monday`.
pub fn repeating(rule: &str, zone: Tz) -> String {
    in_words(rule, zone).map_or_else(times::repeating_somehow, times::repeating)
}

impl Parts<'_> {
    fn repeated(&self) -> Option<String> {
        let every = match self.unit {
            "day" => times::daily(self.interval),
            "week" => times::weekly(self.interval),
            "month" => times::monthly(self.interval),
            "year" => times::yearly(self.interval),
            _ => return None,
        };
        match (self.unit, self.days.is_empty(), self.month_days.is_empty()) {
            (_, true, true) if !self.is_last => Some(every),
            ("week", false, true) if !self.is_last => self.on_weekdays(every),
            ("month", true, false) => self.on_days_of_month(every),
            _ => None,
        }
    }

    fn on_weekdays(&self, every: String) -> Option<String> {
        let is_each_week = self.interval == 1;
        if self.days == ["MO", "TU", "WE", "TH", "FR"] {
            return Some(if is_each_week { times::every_weekday() } else { times::weeks_on_weekdays(every) });
        }
        let days = list(self.days.iter().map(|day| weekday(day)).collect::<Option<_>>()?);
        Some(if is_each_week { times::every_days(days) } else { times::weeks_on_days(every, days) })
    }

    fn on_days_of_month(&self, every: String) -> Option<String> {
        match (self.month_days.as_slice(), self.is_last) {
            (["-1"], false) => Some(times::months_on_last_day(every)),
            (["28", .., last], true) => Some(times::months_on_day_or_last(every, ordinal(last)?)),
            (_, true) => None,
            (days, false) => {
                let days = days.iter().map(|day| ordinal(day)).collect::<Option<_>>()?;
                Some(times::months_on_days(every, list(days)))
            }
        }
    }
}

/// A monthly rule for a day that not every month has: a shorter month has its last day instead. By the standard it would
/// be skipped (RFC 5545, 3.3.10), and nobody pays the rent of the 31st seven times a year.
pub fn in_short_months(rule: &str, day: u32) -> String {
    let is_plain = rule.split(';').any(|part| part == "FREQ=MONTHLY") && !rule.contains("BY");
    match day {
        31 if is_plain => format!("{rule};BYMONTHDAY=-1"),
        29 | 30 if is_plain => {
            let days: Vec<String> = (28..=day).map(|day| day.to_string()).collect();
            format!("{rule};BYMONTHDAY={};BYSETPOS=-1", days.join(","))
        }
        _ => rule.to_owned(),
    }
}

fn weekday(day: &str) -> Option<String> {
    let index = WEEKDAYS.iter().position(|name| name.to_uppercase().starts_with(day));
    index.filter(|_| day.len() == 2).map(|index| times::weekday(index + 1))
}

/// `20260622T075959Z`, `20260622T095959` or `20260622`.
fn until(text: &str, zone: Tz) -> Option<When> {
    if let Ok(day) = NaiveDate::parse_from_str(text, "%Y%m%d") {
        return Some(When::Day(day));
    }
    let time = match text.strip_suffix('Z') {
        Some(utc) => {
            let time = NaiveDateTime::parse_from_str(utc, "%Y%m%dT%H%M%S").ok()?.and_utc();
            DateTime::with_timezone(&time, &zone).naive_local()
        }
        None => NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%S").ok()?,
    };
    Some(When::Time(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_month_has_its_last_day() {
        for (day, rule) in [
            (31, "FREQ=MONTHLY;BYMONTHDAY=-1"),
            (30, "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1"),
            (28, "FREQ=MONTHLY"),
        ] {
            assert_eq!(in_short_months("FREQ=MONTHLY", day), rule);
        }
        for rule in ["FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=WEEKLY", "FREQ=MONTHLY;BYDAY=-1FR"] {
            assert_eq!(in_short_months(rule, 31), rule);
        }
    }

    #[test]
    fn simple_rules_have_words() {
        for (rule, words) in [
            ("FREQ=DAILY", Some("every day")),
            ("FREQ=WEEKLY;BYDAY=MO,FR", Some("every Monday and Friday")),
            ("FREQ=WEEKLY;INTERVAL=1;BYDAY=MO,TU,WE,TH,FR", Some("every weekday")),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", Some("every 2 weeks on Tuesday")),
            ("FREQ=MONTHLY;INTERVAL=3", Some("every 3 months")),
            ("FREQ=MONTHLY;BYMONTHDAY=1,15", Some("every month on the 1st and 15th")),
            ("FREQ=DAILY;COUNT=5", Some("every day, 5 times")),
            ("FREQ=WEEKLY;UNTIL=20260622T075959Z", Some("every week until Mon 22 Jun 2026, 09:59")),
            ("FREQ=WEEKLY;UNTIL=20260622", Some("every week until Mon 22 Jun 2026")),
            ("FREQ=MONTHLY;BYMONTHDAY=-1", Some("every month on the last day")),
            ("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1", Some("every month on the 30th or the last day")),
            ("FREQ=MONTHLY;BYMONTHDAY=1,15;BYSETPOS=-1", None),
            ("FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=-1", None),
            ("FREQ=MONTHLY;BYDAY=2TU", None),
            ("FREQ=YEARLY;BYDAY=MO", None),
            ("FREQ=WEEKLY;UNTIL=soon", None),
            ("BYDAY=MO", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(in_words(rule, chrono_tz::Europe::Berlin).as_deref(), words, "{rule}");
        }
    }
}
