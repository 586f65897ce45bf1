//! The events of a day, as a turn's model is told of them.

use adjutant_dav::{CalendarEvent, Effort, EventTime, Series, TimeRange};
use adjutant_types::clock::utc;
use adjutant_types::text::one_line;
use chrono_tz::Tz;

use super::event;

/// The longest title, in characters.
const TITLE: usize = 100;
/// The limits for all events together: every turn pays for them.
const EFFORT: Effort = Effort { instances: 5_000, steps: 100_000 };

/// A line for each event between two times, in milliseconds, in order. The texts are calendar objects; what can't be read
/// is left out.
pub fn agenda(texts: &[&str], (from, to): (i64, i64), zone: Tz) -> Vec<String> {
    let day = TimeRange { from: utc(from), to: utc(to) };
    occurring(texts, day, zone).iter().map(|(_, event)| line(event, day, zone)).collect()
}

/// The events of these calendar objects in a period, in order, each with its time. What can't be read is left out.
pub(super) fn occurring(
    texts: &[impl AsRef<str>],
    period: TimeRange,
    zone: Tz,
) -> Vec<(TimeRange, CalendarEvent)> {
    let share = EFFORT.shared(texts.len());
    let mut found = Vec::new();
    for series in texts.iter().filter_map(|text| Series::read(text.as_ref()).ok()) {
        let Ok(expanded) = series.occurrences_within(period, zone, share) else { continue };
        let Ok(events) = series.events_at(&expanded.occurrences) else { continue };
        let times = expanded.occurrences.iter().map(|occurrence| occurrence.range);
        found.extend(times.zip(events));
    }
    found.sort_by_key(|(time, _)| *time);
    found
}

/// `- [uid] 09:00–09:30 Title`, with the instance of a series.
fn line(event: &CalendarEvent, day: TimeRange, zone: Tz) -> String {
    let instance = event.instance.as_ref().map(|at| format!(", instance {}", event::iso(at, zone)));
    let spoken = |when: &EventTime| {
        let at = when.instant(zone);
        let is_of_day = day.from <= at && at <= day.to;
        at.with_timezone(&zone).format(if is_of_day { "%H:%M" } else { "%-d %b %H:%M" }).to_string()
    };
    let time = match &event.start {
        EventTime::Day(_) => "all day".to_owned(),
        start => format!("{}–{}", spoken(start), spoken(&event.end)),
    };
    format!("- [{}{}] {time} {}", event.uid, instance.unwrap_or_default(), one_line(&event.title, TITLE))
}
