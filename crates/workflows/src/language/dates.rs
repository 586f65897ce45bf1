//! Dates that every template can use.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::{Map, Value};

/// The names that every template can use: the person's local time as `2026-11-27T17:00`, and days as `2026-11-27`.
pub const DATE_NAMES: [&str; 5] = ["now", "today", "tomorrow", "week_ago", "next_week"];

/// The values of [`DATE_NAMES`] at a local time.
pub fn date_values(now: NaiveDateTime) -> Map<String, Value> {
    let day = |days: i64| (now + TimeDelta::days(days)).format("%Y-%m-%d").to_string();
    let values = [now.format("%Y-%m-%dT%H:%M").to_string(), day(0), day(1), day(-7), day(7)];
    DATE_NAMES.iter().map(|name| (*name).to_owned()).zip(values.map(Value::from)).collect()
}
