//! Dates that every template can use.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::{Map, Value};

/// Names for every template: the person's local time as `2026-11-27T17:00`, now and a day ago, and days as `2026-11-27`.
pub const DATE_NAMES: [&str; 6] = ["now", "day_ago", "today", "tomorrow", "week_ago", "next_week"];

/// The values of [`DATE_NAMES`] at a local time.
pub fn date_values(now: NaiveDateTime) -> Map<String, Value> {
    let at = |days: i64, format: &str| (now + TimeDelta::days(days)).format(format).to_string();
    let (time, day) = ("%Y-%m-%dT%H:%M", "%Y-%m-%d");
    let values = [at(0, time), at(-1, time), at(0, day), at(1, day), at(-7, day), at(7, day)];
    DATE_NAMES.iter().map(|name| (*name).to_owned()).zip(values.map(Value::from)).collect()
}
