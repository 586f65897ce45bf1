//! Recurrence rules (RFC 5545 §3.3.10), parsed.

use chrono::{NaiveDate, NaiveDateTime, Weekday};

use crate::{DavError, Result};

/// How many times of day a rule may name.
const MAX_TIMES_OF_DAY: usize = 1_440;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frequency {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// The last moment of a rule, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Day(NaiveDate),
    Local(NaiveDateTime),
    Utc(NaiveDateTime),
}

/// A recurrence rule; lists are empty for parts that it doesn't have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurrenceRule {
    pub(crate) frequency: Frequency,
    pub(crate) interval: u32,
    pub(crate) count: Option<u32>,
    pub(crate) until: Option<Until>,
    pub(crate) week_start: Weekday,
    pub(crate) months: Vec<i32>,
    pub(crate) month_days: Vec<i32>,
    pub(crate) year_days: Vec<i32>,
    pub(crate) weeks: Vec<i32>,
    /// With a number: the n-th in the month or year, negative from the end; 0 means every one.
    pub(crate) days: Vec<(i32, Weekday)>,
    pub(crate) hours: Vec<i32>,
    pub(crate) minutes: Vec<i32>,
    pub(crate) seconds: Vec<i32>,
    pub(crate) positions: Vec<i32>,
}

/// What a rule calls a weekday.
pub(crate) fn code(day: Weekday) -> &'static str {
    ["MO", "TU", "WE", "TH", "FR", "SA", "SU"][day.num_days_from_monday() as usize]
}

fn weekday(name: &str) -> Option<Weekday> {
    (0..7_u8).filter_map(|day| Weekday::try_from(day).ok()).find(|day| code(*day) == name)
}

/// Numbers whose absolute value is between the bounds; negative ones only if they may count from the end.
fn numbers(value: &str, least: i32, most: i32, may_be_negative: bool) -> Option<Vec<i32>> {
    let number = |text: &str| {
        let number: i32 = text.parse().ok()?;
        let is_sound = (least..=most).contains(&number.checked_abs()?) && (may_be_negative || number >= 0);
        is_sound.then_some(number)
    };
    let mut numbers = value.split(',').map(number).collect::<Option<Vec<i32>>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

fn numbered_days(value: &str) -> Option<Vec<(i32, Weekday)>> {
    let day = |text: &str| {
        let (number, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
        let number = if number.is_empty() { 0 } else { *numbers(number, 1, 53, true)?.first()? };
        Some((number, weekday(name)?))
    };
    value.split(',').map(day).collect()
}

pub(crate) fn date(text: &str) -> Option<NaiveDate> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    NaiveDate::from_ymd_opt(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?)
}

/// `20261121T090000`; a leap second counts as the second before it.
pub(crate) fn date_time(text: &str) -> Option<NaiveDateTime> {
    let (day, time) = text.split_once('T')?;
    if time.len() != 6 || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let second: u32 = time[4..].parse().ok()?;
    let second = if second == 60 { 59 } else { second };
    date(day)?.and_hms_opt(time[..2].parse().ok()?, time[2..4].parse().ok()?, second)
}

fn until(text: &str) -> Option<Until> {
    if let Some(utc) = text.strip_suffix('Z') {
        return date_time(utc).map(Until::Utc);
    }
    date(text).map(Until::Day).or_else(|| date_time(text).map(Until::Local))
}

impl RecurrenceRule {
    /// Reads a rule; unknown parts are ignored, as RFC 5545 says.
    pub fn read(text: &str) -> Result<Self> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            count: None,
            until: None,
            week_start: Weekday::Mon,
            months: Vec::new(),
            month_days: Vec::new(),
            year_days: Vec::new(),
            weeks: Vec::new(),
            days: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
        };
        let text = text.trim().to_ascii_uppercase();
        let mut has_frequency = false;
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            has_frequency |= name == "FREQ";
            rule.part(name, value)
                .ok_or_else(|| DavError::params(format!("{part} is not valid in a recurrence rule")))?;
        }
        if !has_frequency {
            return Err(DavError::params("the recurrence rule has no FREQ"));
        }
        let times = [&rule.hours, &rule.minutes, &rule.seconds];
        if times.iter().map(|times| times.len().max(1)).product::<usize>() > MAX_TIMES_OF_DAY {
            return Err(DavError::params("the recurrence rule names too many times of day"));
        }
        Ok(rule)
    }

    fn part(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "FREQ" => {
                self.frequency = match value {
                    "SECONDLY" => Frequency::Secondly,
                    "MINUTELY" => Frequency::Minutely,
                    "HOURLY" => Frequency::Hourly,
                    "DAILY" => Frequency::Daily,
                    "WEEKLY" => Frequency::Weekly,
                    "MONTHLY" => Frequency::Monthly,
                    "YEARLY" => Frequency::Yearly,
                    _ => return None,
                }
            }
            "INTERVAL" => self.interval = value.parse().ok().filter(|n| (1..=1_000_000).contains(n))?,
            "COUNT" => self.count = Some(value.parse().ok().filter(|count| *count > 0)?),
            "UNTIL" => self.until = Some(until(value)?),
            "WKST" => self.week_start = weekday(value)?,
            "BYMONTH" => self.months = numbers(value, 1, 12, false)?,
            "BYMONTHDAY" => self.month_days = numbers(value, 1, 31, true)?,
            "BYYEARDAY" => self.year_days = numbers(value, 1, 366, true)?,
            "BYWEEKNO" => self.weeks = numbers(value, 1, 53, true)?,
            "BYDAY" => self.days = numbered_days(value)?,
            "BYHOUR" => self.hours = numbers(value, 0, 23, false)?,
            "BYMINUTE" => self.minutes = numbers(value, 0, 59, false)?,
            "BYSECOND" => self.seconds = numbers(value, 0, 60, false)?,
            "BYSETPOS" => self.positions = numbers(value, 1, 366, true)?,
            _ => {}
        }
        Some(())
    }
}
