//! Dates that every template can use.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::{Map, Value};

/// Names for every template: the person's local time as `2026-11-27T17:00`, now, a day ago and when the workflow ran last, and
/// days as `2026-11-27`.
pub const DATE_NAMES: [&str; 7] =
    ["now", "day_ago", "last_run", "today", "tomorrow", "week_ago", "next_week"];

/// The values of [`DATE_NAMES`] at a local time. Before the first run, the last one was a day ago; it never was before a week.
pub fn date_values(now: NaiveDateTime, last_run: Option<NaiveDateTime>) -> Map<String, Value> {
    let then = |days: i64| now + TimeDelta::days(days);
    let time = |at: NaiveDateTime| at.format("%Y-%m-%dT%H:%M").to_string();
    let day = |days: i64| then(days).format("%Y-%m-%d").to_string();
    let last_run = last_run.map_or_else(|| then(-1), |last| last.max(then(-7)));
    let values = [time(now), time(then(-1)), time(last_run), day(0), day(1), day(-7), day(7)];
    DATE_NAMES.iter().map(|name| (*name).to_owned()).zip(values.map(Value::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_is_at_most_a_week_ago_and_at_first_a_day() {
        let at =
            |day: u32| chrono::NaiveDate::from_ymd_opt(2026, 11, day).unwrap().and_hms_opt(7, 30, 0).unwrap();
        for (last, value) in [(None, "2026-11-29"), (Some(27), "2026-11-27"), (Some(2), "2026-11-23")] {
            assert_eq!(date_values(at(30), last.map(at))["last_run"], format!("{value}T07:30"));
        }
    }
}
