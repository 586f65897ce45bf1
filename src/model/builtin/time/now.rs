//! The person's time, and the customs of their zone.

use chrono::{Duration, NaiveDateTime};
use chrono_tz::Tz;

use crate::clock::local_to_utc;
use crate::clock::when::When;

/// The person's local time and zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::builtin) struct Now {
    /// Local time.
    pub(in crate::model::builtin) local: NaiveDateTime,
    /// Where that is.
    pub(in crate::model::builtin) zone: Tz,
}

impl Now {
    /// Reads `2026-11-21T10:15 Saturday, Europe/Berlin`; an unknown zone counts as UTC.
    pub(in crate::model::builtin) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Ok(When::Time(local)) =
            When::parse(text.split_whitespace().next()?.trim_end_matches(','), Tz::UTC)
        else {
            return None;
        };
        let zone = text.rsplit([',', ' ']).next().and_then(|zone| zone.parse().ok()).unwrap_or(Tz::UTC);
        Some(Self { local, zone })
    }

    /// The local time this much later, across changes of the clocks.
    pub(in crate::model::builtin) fn after(&self, by: Duration) -> Option<NaiveDateTime> {
        let later = local_to_utc(self.local, self.zone).checked_add_signed(by)?;
        Some(later.with_timezone(&self.zone).naive_local())
    }

    /// The day and month of "04/05" by the custom of the zone. None in Canada, where both are usual.
    pub(in crate::model::builtin) fn day_and_month(&self, first: u32, second: u32) -> Option<(u32, u32)> {
        let zone = self.zone.name();
        let is_in = |zones: &str| zones.split(' ').any(|known| zone.starts_with(known));
        match (first > 12, second > 12) {
            (_, true) => Some((second, first)),
            (true, _) => Some((first, second)),
            _ if first == second => Some((first, second)),
            _ if is_in(AMERICAN) => Some((second, first)),
            _ if is_in(CANADIAN) => None,
            _ => Some((first, second)),
        }
    }

    /// The local time, moved if the clocks jump over it.
    pub(in crate::model::builtin) fn existing(&self, local: NaiveDateTime) -> NaiveDateTime {
        local_to_utc(local, self.zone).with_timezone(&self.zone).naive_local()
    }
}

/// The zones of the United States, where the month comes first.
const AMERICAN: &str = "\
    US/ America/New_York America/Chicago America/Denver America/Los_Angeles America/Phoenix America/Detroit \
    America/Boise America/Indiana America/Kentucky America/North_Dakota America/Anchorage America/Juneau \
    America/Sitka America/Nome America/Adak Pacific/Honolulu";
const CANADIAN: &str = "Canada/ America/Toronto America/Vancouver America/Edmonton America/Winnipeg \
    America/Halifax America/Regina America/St_Johns";
