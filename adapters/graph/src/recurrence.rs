//! Between the recurrence of Graph and RRULE (RFC 5545 §3.3.10). What Graph can't say is refused, never approximated
//! (<https://learn.microsoft.com/graph/api/resources/recurrencepattern>, recurrencerange).

use adjutant_dav::{DavError, EventTime};
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde_json::{Value, json};

use crate::{is_plausible, text};

/// The days as RRULE and as Graph name them, from Monday on.
const DAYS: [(&str, &str); 7] = [
    ("MO", "monday"),
    ("TU", "tuesday"),
    ("WE", "wednesday"),
    ("TH", "thursday"),
    ("FR", "friday"),
    ("SA", "saturday"),
    ("SU", "sunday"),
];

/// Which of the days of a month, as a number and as Graph's word.
const INDEXES: [(i32, &str); 5] = [(1, "first"), (2, "second"), (3, "third"), (4, "fourth"), (-1, "last")];

/// The parts of a rule that are understood.
#[derive(Default)]
struct Parts<'a> {
    frequency: &'a str,
    interval: u32,
    count: Option<u32>,
    until: Option<&'a str>,
    week_start: &'a str,
    days: Vec<&'a str>,
    month_days: Vec<i32>,
    months: Vec<u32>,
    positions: Vec<i32>,
}

fn refused(part: &str) -> DavError {
    let message =
        format!("Outlook's calendar can't repeat by {part}: give a simpler rule, or several events");
    DavError::params(message)
}

impl<'a> Parts<'a> {
    fn read(rule: &'a str) -> Result<Self, DavError> {
        let mut parts = Self { interval: 1, week_start: "MO", ..Self::default() };
        for part in rule.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            parts.set(name, value).ok_or_else(|| refused(part))?;
        }
        Ok(parts)
    }

    fn set(&mut self, name: &str, value: &'a str) -> Option<()> {
        match name {
            "FREQ" => self.frequency = value,
            "INTERVAL" => self.interval = value.parse().ok()?,
            "COUNT" => self.count = Some(value.parse().ok()?),
            "UNTIL" => self.until = Some(value),
            "WKST" => self.week_start = value,
            "BYDAY" => self.days = value.split(',').collect(),
            "BYMONTHDAY" => self.month_days = numbers(value)?,
            "BYMONTH" => self.months = numbers(value)?,
            "BYSETPOS" => self.positions = numbers(value)?,
            _ => return None,
        }
        Some(())
    }
}

fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn day_name(day: &str) -> Option<&'static str> {
    DAYS.iter().find(|(ours, _)| *ours == day).map(|(_, theirs)| *theirs)
}

/// The RRULE name of a day of Graph's.
fn day_code(name: &str) -> Option<&'static str> {
    DAYS.iter().find(|(_, theirs)| theirs.eq_ignore_ascii_case(name)).map(|(ours, _)| *ours)
}

/// A rule as Graph says it, for an event with this start.
pub(crate) fn to_graph(rule: &str, start: &EventTime) -> Result<Value, DavError> {
    let rule = rule.trim().to_ascii_uppercase();
    let parts = Parts::read(&rule)?;
    let pattern = pattern(&parts, start.local().date()).ok_or_else(|| refused(&rule))?;
    let mut range = json!({"startDate": start.local().date().to_string(), "type": "noEnd"});
    if let Some(count) = parts.count {
        (range["type"], range["numberOfOccurrences"]) = (json!("numbered"), json!(count));
    }
    if let Some(until) = parts.until {
        let end = last_day(until, start).ok_or_else(|| refused(&format!("UNTIL={until}")))?;
        (range["type"], range["endDate"]) = (json!("endDate"), json!(end.to_string()));
    }
    Ok(json!({"pattern": pattern, "range": range}))
}

fn pattern(parts: &Parts<'_>, start: NaiveDate) -> Option<Value> {
    let interval = parts.interval;
    let is_bare = parts.month_days.is_empty() && parts.months.is_empty() && parts.positions.is_empty();
    let first = DAYS.get(usize::try_from(start.weekday().num_days_from_monday()).ok()?)?.0;
    match parts.frequency {
        "DAILY" if is_bare && parts.days.is_empty() => Some(json!({"type": "daily", "interval": interval})),
        // Every day that is one of these.
        "DAILY" if interval > 1 => None,
        "DAILY" | "WEEKLY" if is_bare => {
            let days = if parts.days.is_empty() { vec![first] } else { parts.days.clone() };
            let names: Vec<&str> = days.iter().map(|day| day_name(day)).collect::<Option<_>>()?;
            // Otherwise the first one would be dropped.
            days.contains(&first).then_some(())?;
            let week_start = day_name(parts.week_start)?;
            Some(json!({
                "type": "weekly", "interval": interval, "daysOfWeek": names, "firstDayOfWeek": week_start,
            }))
        }
        "MONTHLY" if parts.months.is_empty() => in_month(parts, start, "Monthly"),
        "YEARLY" => {
            let month = match parts.months.as_slice() {
                // Without a month, a numbered day is one of the year.
                [] if parts.days.is_empty() => start.month(),
                [month] => *month,
                _ => return None,
            };
            (month == start.month()).then_some(())?;
            let mut pattern = in_month(parts, start, "Yearly")?;
            pattern["month"] = json!(month);
            Some(pattern)
        }
        _ => None,
    }
}

/// A day of each month, or of a month in each year.
fn in_month(parts: &Parts<'_>, start: NaiveDate, period: &str) -> Option<Value> {
    let interval = parts.interval;
    let absolute =
        |day: u32| json!({"type": format!("absolute{period}"), "interval": interval, "dayOfMonth": day});
    let relative = |index: i32, days: Vec<&str>| {
        let index = INDEXES.iter().find(|(number, _)| *number == index)?.1;
        let kind = format!("relative{period}");
        Some(json!({"type": kind, "interval": interval, "daysOfWeek": days, "index": index}))
    };
    let day = i32::try_from(start.day()).ok()?;
    // Where a month is too short for a day, Outlook takes its last day, and a rule none.
    let is_always = day <= 28 || (period == "Yearly" && start.month() != 2);
    let is_last = (start + TimeDelta::days(1)).month() != start.month();
    match (parts.days.as_slice(), parts.month_days.as_slice(), parts.positions.as_slice()) {
        ([], [], []) if is_always => Some(absolute(start.day())),
        ([], [-1], []) if is_last => relative(-1, DAYS.map(|(_, name)| name).to_vec()),
        ([], [only], []) if *only == day && is_always => Some(absolute(start.day())),
        ([], all @ [28, .., last], [-1]) if (28..=*last).eq(all.iter().copied()) => {
            (day == *last || (day < *last && is_last)).then_some(())?;
            Some(absolute(u32::try_from(*last).ok()?))
        }
        ([numbered], [], []) => {
            let (number, code) = numbered.split_at_checked(numbered.len().checked_sub(2)?)?;
            let number: i32 = number.parse().ok()?;
            let is_last_week = (start + TimeDelta::days(7)).month() != start.month();
            let is_it = if number == -1 { is_last_week } else { (day - 1) / 7 + 1 == number };
            let weekday = DAYS.get(usize::try_from(start.weekday().num_days_from_monday()).ok()?)?.0;
            (is_it && weekday == code).then_some(())?;
            relative(number, vec![day_name(code)?])
        }
        (days, [], [position]) if !days.is_empty() => {
            relative(*position, days.iter().map(|day| day_name(day)).collect::<Option<_>>()?)
        }
        _ => None,
    }
}

/// The last day on which an event with this start may begin.
fn last_day(until: &str, start: &EventTime) -> Option<NaiveDate> {
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y%m%d").ok();
    let moment = |text: &str| NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%S").ok();
    let local = match (until.strip_suffix('Z'), start) {
        (Some(utc), EventTime::Zoned(_, zone)) => zone.local(moment(utc)?.and_utc()),
        (Some(utc), _) => moment(utc)?,
        (None, _) => match day(until) {
            Some(day) => return Some(day),
            None => moment(until)?,
        },
    };
    let is_too_early = local.time() < start.local().time();
    if is_too_early { local.date().pred_opt() } else { Some(local.date()) }
}

/// The RRULE of a recurrence of Graph's, for an event with this start; none if it is none that we know.
pub(crate) fn from_graph(recurrence: &Value, start: &EventTime) -> Option<String> {
    let (pattern, range) = (&recurrence["pattern"], &recurrence["range"]);
    let days = || -> Option<Vec<&'static str>> {
        pattern["daysOfWeek"].as_array()?.iter().map(|day| day_code(day.as_str()?)).collect()
    };
    let month = || Some(format!(";BYMONTH={}", pattern["month"].as_u64().filter(|month| *month > 0)?));
    let of_month = || match pattern["dayOfMonth"].as_u64()? {
        // Of a shorter month, Outlook takes the last day.
        31 => Some(";BYMONTHDAY=-1".to_owned()),
        last @ 29.. => {
            let all: Vec<String> = (28..=last).map(|day| day.to_string()).collect();
            Some(format!(";BYMONTHDAY={};BYSETPOS=-1", all.join(",")))
        }
        day => Some(format!(";BYMONTHDAY={day}")),
    };
    let indexed = || {
        let (index, days) = (text(pattern, "index"), days()?);
        let position = INDEXES.iter().find(|(_, word)| word.eq_ignore_ascii_case(index)).map_or(1, |it| it.0);
        Some(match days.as_slice() {
            [day] => format!(";BYDAY={position}{day}"),
            all if all.len() == 7 && position == -1 => ";BYMONTHDAY=-1".to_owned(),
            all => format!(";BYDAY={};BYSETPOS={position}", all.join(",")),
        })
    };
    let (frequency, by) = match text(pattern, "type") {
        "daily" => ("DAILY", String::new()),
        "weekly" => {
            let week_start = day_code(text(pattern, "firstDayOfWeek")).unwrap_or("SU");
            let week_start = if week_start == "MO" { String::new() } else { format!(";WKST={week_start}") };
            ("WEEKLY", format!(";BYDAY={}{week_start}", days()?.join(",")))
        }
        "absoluteMonthly" => ("MONTHLY", of_month()?),
        "relativeMonthly" => ("MONTHLY", indexed()?),
        // A month is always as long, but for February.
        "absoluteYearly" if pattern["month"].as_u64() != Some(2) => {
            ("YEARLY", month()? + &format!(";BYMONTHDAY={}", pattern["dayOfMonth"].as_u64()?))
        }
        "absoluteYearly" => ("YEARLY", month()? + &of_month()?),
        "relativeYearly" => ("YEARLY", month()? + &indexed()?),
        _ => return None,
    };
    let interval = pattern["interval"].as_u64().filter(|interval| *interval > 1);
    let interval = interval.map(|interval| format!(";INTERVAL={interval}")).unwrap_or_default();
    let end = match text(range, "type") {
        "numbered" => format!(";COUNT={}", range["numberOfOccurrences"].as_u64()?),
        "endDate" => format!(";UNTIL={}", until(text(range, "endDate"), start)?),
        _ => String::new(),
    };
    Some(format!("FREQ={frequency}{interval}{by}{end}"))
}

/// The end of a day, in the form that UNTIL has for an event with this start.
fn until(day: &str, start: &EventTime) -> Option<String> {
    let day: NaiveDate = day.parse().ok().filter(|day| is_plausible(*day))?;
    let last = NaiveTime::from_hms_opt(23, 59, 59)?;
    Some(match start {
        EventTime::Day(_) => day.format("%Y%m%d").to_string(),
        EventTime::Floating(_) => day.and_time(last).format("%Y%m%dT%H%M%S").to_string(),
        EventTime::Zoned(_, zone) => zone.instant(day.and_time(last)).format("%Y%m%dT%H%M%SZ").to_string(),
    })
}

#[cfg(test)]
mod tests {
    use adjutant_dav::{ErrorKind, RecurrenceRule, Zone};
    use chrono_tz::Tz;
    use proptest::prelude::*;

    use super::*;

    fn berlin(local: &str) -> EventTime {
        EventTime::Zoned(local.parse().unwrap(), Zone::Named(Tz::Europe__Berlin))
    }

    #[test]
    fn what_graph_can_say_comes_back_as_it_was() {
        for (start, rule) in [
            ("2026-11-23T09:00:00", "FREQ=DAILY"),
            ("2026-11-23T09:00:00", "FREQ=DAILY;INTERVAL=3;COUNT=5"),
            ("2026-11-23T09:00:00", "FREQ=WEEKLY;BYDAY=MO,WE"),
            ("2026-11-23T09:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;WKST=SU;UNTIL=20261220T225959Z"),
            ("2026-11-15T09:00:00", "FREQ=MONTHLY;BYMONTHDAY=15"),
            ("2026-11-30T09:00:00", "FREQ=MONTHLY;BYMONTHDAY=-1"),
            ("2026-11-30T09:00:00", "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1"),
            ("2026-11-24T09:00:00", "FREQ=MONTHLY;BYDAY=4TU"),
            ("2026-11-30T09:00:00", "FREQ=MONTHLY;BYDAY=-1MO"),
            ("2026-11-02T09:00:00", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1"),
            ("2026-12-31T09:00:00", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=31"),
            ("2026-11-26T09:00:00", "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"),
        ] {
            let start = berlin(start);
            let graph = to_graph(rule, &start).unwrap();
            assert_eq!(from_graph(&graph, &start).as_deref(), Some(rule), "{graph}");
        }
    }

    #[test]
    fn what_graph_cannot_say_is_refused() {
        let start = berlin("2026-10-31T09:00:00");
        for rule in [
            "FREQ=HOURLY",
            "FREQ=WEEKLY;BYDAY=MO",
            "FREQ=MONTHLY",
            "FREQ=MONTHLY;BYMONTHDAY=31",
            "FREQ=MONTHLY;BYMONTHDAY=1,15",
            "FREQ=MONTHLY;BYDAY=5SA",
            "FREQ=MONTHLY;BYDAY=-2SA",
            "FREQ=YEARLY;BYMONTH=3,10",
            "FREQ=YEARLY;BYDAY=20MO",
            "FREQ=YEARLY;BYWEEKNO=44",
            "FREQ=DAILY;BYHOUR=9,12",
            "FREQ=DAILY;INTERVAL=2;BYDAY=SA",
        ] {
            assert_eq!(to_graph(rule, &start).unwrap_err().kind, ErrorKind::Params, "{rule}");
        }
    }

    #[test]
    fn an_end_in_the_middle_of_a_day_counts_for_the_start() {
        let start = berlin("2026-11-23T09:00:00");
        for (until, end) in [
            ("20261130T075959Z", "2026-11-29"),
            ("20261130T080000Z", "2026-11-30"),
            ("20261130", "2026-11-30"),
        ] {
            let graph = to_graph(&format!("FREQ=DAILY;UNTIL={until}"), &start).unwrap();
            assert_eq!(graph["range"]["endDate"], end);
        }
    }

    proptest! {
        #[test]
        fn whatever_graph_says_is_a_rule(
            kind in "(daily|weekly|(absolute|relative)(Monthly|Yearly))",
            index in "(first|second|third|fourth|last)", day in 1_u32..=31, month in 1_u32..=12,
            interval in 1_u32..99,
            days in prop::sample::subsequence(DAYS.map(|(_, name)| name).to_vec(), 1..=7),
        ) {
            let graph = json!({
                "pattern": {"type": kind, "interval": interval, "index": index, "dayOfMonth": day,
                    "month": month, "daysOfWeek": days, "firstDayOfWeek": "sunday"},
                "range": {"type": "endDate", "startDate": "2026-11-23", "endDate": "2027-11-23"},
            });
            let rule = from_graph(&graph, &berlin("2026-11-23T09:00:00")).unwrap();
            prop_assert!(RecurrenceRule::read(&rule).is_ok(), "{rule}");
        }
    }
}
