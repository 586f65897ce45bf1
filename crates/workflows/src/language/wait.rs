//! `wait_until`: the earliest start of a step.

use std::time::Duration;

use adjutant_types::clock::when::When;
use adjutant_types::clock::{duration, local_to_utc, utc};
use chrono::{NaiveTime, TimeDelta};
use chrono_tz::Tz;

/// When a step starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// At the next such time of day.
    At(NaiveTime),
    /// This long after its dependencies have ended.
    After(Duration),
    /// At a date and time in the person's zone, midnight by default. Kept as it was written.
    On(String),
}

impl Start {
    /// Reads `08:00`, `2h`, `2026-11-27` or `2026-11-27T17:00`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(time) = NaiveTime::parse_from_str(text, "%H:%M") {
            return Ok(Self::At(time));
        }
        if let Ok(duration) = duration::parse(text) {
            return Ok(Self::After(duration));
        }
        match When::parse(text, Tz::UTC) {
            Ok(_) => Ok(Self::On(text.to_owned())),
            Err(_) => Err(format!("'{text}' isn't a time; write 08:00, 2h, 2026-11-27 or 2026-11-27T17:00")),
        }
    }

    /// The start in milliseconds; `now` is when the dependencies ended.
    pub fn moment(&self, now: i64, zone: Tz) -> i64 {
        let local = utc(now).with_timezone(&zone).naive_local();
        match self {
            Self::After(duration) => {
                now.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
            }
            Self::At(time) => {
                let today = local.date().and_time(*time);
                let next = if today < local { today + TimeDelta::days(1) } else { today };
                local_to_utc(next, zone).timestamp_millis()
            }
            Self::On(text) => When::parse(text, zone)
                .map_or(now, |when| local_to_utc(when.local(), zone).timestamp_millis()),
        }
    }
}
