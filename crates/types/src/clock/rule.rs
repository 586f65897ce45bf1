//! An iCalendar rule in words.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use chrono_tz::Tz;

use super::recurring::{WEEKDAYS, list, ordinal};
use super::when::When;

/// What a rule is made of, as far as it has words.
#[derive(Default)]
struct Parts<'a> {
    unit: &'a str,
    interval: Option<&'a str>,
    days: Vec<&'a str>,
    month_days: Vec<&'a str>,
    /// The last of the days of a month that it names.
    is_last: bool,
    end: String,
}

/// A rule in words, its end in the person's zone: `every Monday and Friday`, `every month on the 15th, 5 times`; `None` for
/// rules that are less simple.
pub fn in_words(rule: &str, zone: Tz) -> Option<String> {
    let mut parts = Parts::default();
    for part in rule.split(';') {
        match part.split_once('=')? {
            ("FREQ", "DAILY") => parts.unit = "day",
            ("FREQ", "WEEKLY") => parts.unit = "week",
            ("FREQ", "MONTHLY") => parts.unit = "month",
            ("FREQ", "YEARLY") => parts.unit = "year",
            ("INTERVAL", "1") => {}
            ("INTERVAL", said) => parts.interval = Some(said),
            ("BYDAY", said) => parts.days = said.split(',').collect(),
            ("BYMONTHDAY", said) => parts.month_days = said.split(',').collect(),
            ("BYSETPOS", "-1") => parts.is_last = true,
            ("COUNT", "1") => parts.end = ", once".to_owned(),
            ("COUNT", said) => parts.end = format!(", {said} times"),
            ("UNTIL", said) => parts.end = format!(" until {}", until(said, zone)?.spoken()),
            _ => return None,
        }
    }
    Some(format!("{}{}", parts.repeated()?, parts.end))
}

/// The same after what repeats: `, repeating every Monday`.
pub fn repeating(rule: &str, zone: Tz) -> String {
    let words = in_words(rule, zone).map(|words| format!(" {words}"));
    format!(", repeating{}", words.unwrap_or_default())
}

impl Parts<'_> {
    fn days_of_month(&self) -> Option<String> {
        match (self.month_days.as_slice(), self.is_last) {
            (["-1"], false) => Some("last day".to_owned()),
            (["28", .., last], true) => Some(format!("{} or the last day", ordinal(last)?)),
            (_, true) if !self.month_days.is_empty() => None,
            (days, _) => Some(list(days.iter().map(|day| ordinal(day)).collect::<Option<_>>()?)),
        }
    }

    fn repeated(&self) -> Option<String> {
        let days = match self.days.as_slice() {
            ["MO", "TU", "WE", "TH", "FR"] => "weekday".to_owned(),
            days => list(days.iter().map(|day| weekday(day)).collect::<Option<_>>()?),
        };
        let month_days = self.days_of_month()?;
        let every = match (self.unit, self.interval) {
            ("", _) => return None,
            (unit, None) => format!("every {unit}"),
            (unit, Some(count)) => format!("every {count} {unit}s"),
        };
        match (self.unit, days.as_str(), month_days.as_str()) {
            (_, "", "") if !self.is_last => Some(every),
            (_, _, "") if self.is_last => None,
            ("week", days, "") if self.interval.is_none() => Some(format!("every {days}")),
            ("week", days, "") => Some(format!("{every} on {days}")),
            ("month", "", days) => Some(format!("{every} on the {days}")),
            _ => None,
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
    let is_meant = |name: &&&str| name.to_uppercase().starts_with(day);
    WEEKDAYS.iter().find(is_meant).filter(|_| day.len() == 2).map(|name| (*name).to_owned())
}

/// `20260622T075959Z`, `20260622T095959` or `20260622`.
fn until(said: &str, zone: Tz) -> Option<When> {
    if let Ok(day) = NaiveDate::parse_from_str(said, "%Y%m%d") {
        return Some(When::Day(day));
    }
    let time = match said.strip_suffix('Z') {
        Some(utc) => {
            let time = NaiveDateTime::parse_from_str(utc, "%Y%m%dT%H%M%S").ok()?.and_utc();
            DateTime::with_timezone(&time, &zone).naive_local()
        }
        None => NaiveDateTime::parse_from_str(said, "%Y%m%dT%H%M%S").ok()?,
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
        for said in ["FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=WEEKLY", "FREQ=MONTHLY;BYDAY=-1FR"] {
            assert_eq!(in_short_months(said, 31), said);
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
