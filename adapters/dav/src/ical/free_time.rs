//! Conflicts and free time.

use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;

use super::zone::Zone;
use crate::{DavError, Result};

/// A time range; its end is not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeRange {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

/// The hours in which appointments may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingHours {
    pub zone: Tz,
    pub days: Vec<Weekday>,
    /// When they begin.
    pub from: NaiveTime,
    /// When they end; at or before `from` means on the next day.
    pub to: NaiveTime,
}

/// The longest range to search for free time, in days.
const MAX_RANGE_DAYS: i64 = 366;

/// The busy ranges that overlap a wanted one. Ranges that only touch don't.
pub fn conflicts(busy: &[TimeRange], wanted: TimeRange) -> Vec<TimeRange> {
    busy.iter().copied().filter(|span| span.from < wanted.to && wanted.from < span.to).collect()
}

/// The free ranges of at least this duration within working hours, each as long as possible, in order.
pub fn free_slots(
    busy: &[TimeRange],
    window: TimeRange,
    duration: TimeDelta,
    hours: &WorkingHours,
) -> Result<Vec<TimeRange>> {
    if duration <= TimeDelta::zero() {
        return Err(DavError::params("the duration must be longer than 0"));
    }
    if window.to - window.from > TimeDelta::days(MAX_RANGE_DAYS) {
        return Err(DavError::params("free time can be searched for in at most a year"));
    }
    let mut busy: Vec<TimeRange> = conflicts(busy, window);
    busy.sort_unstable();
    let mut slots = Vec::new();
    for open in working(window, hours) {
        let mut at = open.from;
        for span in busy.iter().filter(|span| span.to > open.from && span.from < open.to) {
            slots.extend((span.from - at >= duration).then_some(TimeRange { from: at, to: span.from }));
            at = at.max(span.to);
        }
        slots.extend((open.to - at >= duration).then_some(TimeRange { from: at, to: open.to }));
    }
    Ok(slots)
}

fn working(window: TimeRange, hours: &WorkingHours) -> Vec<TimeRange> {
    let zone = Zone::Named(hours.zone);
    let last = zone.local(window.to).date();
    // The hours of the day before may reach into the range.
    let mut day = zone.local(window.from).date().pred_opt();
    let mut open: Vec<TimeRange> = Vec::new();
    while let Some(today) = day.filter(|day| *day <= last) {
        day = today.succ_opt();
        if !hours.days.contains(&today.weekday()) {
            continue;
        }
        let end = if hours.to > hours.from { Some(today) } else { day };
        let Some(end) = end else { break };
        let from = zone.instant(today.and_time(hours.from)).max(window.from);
        let to = zone.instant(end.and_time(hours.to)).min(window.to);
        match open.last_mut() {
            Some(before) if from <= before.to => before.to = before.to.max(to),
            _ if from < to => open.push(TimeRange { from, to }),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn span(from: &str, to: &str) -> TimeRange {
        TimeRange { from: at(from), to: at(to) }
    }

    fn office() -> WorkingHours {
        WorkingHours {
            zone: Tz::Europe__Berlin,
            days: vec![Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri],
            from: NaiveTime::from_hms_opt(9, 0, 0).unwrap(),
            to: NaiveTime::from_hms_opt(17, 0, 0).unwrap(),
        }
    }

    #[test]
    fn free_time_lies_in_working_hours_on_both_sides_of_a_change() {
        // Friday in winter time, Monday in summer time.
        let window = span("2026-03-27T00:00:00Z", "2026-03-31T00:00:00Z");
        let busy = [
            span("2026-03-27T09:00:00Z", "2026-03-27T15:30:00Z"),
            span("2026-03-27T08:30:00Z", "2026-03-27T10:00:00Z"),
        ];
        let slots = free_slots(&busy, window, TimeDelta::minutes(30), &office()).unwrap();
        assert_eq!(
            slots,
            [
                span("2026-03-27T08:00:00Z", "2026-03-27T08:30:00Z"),
                span("2026-03-27T15:30:00Z", "2026-03-27T16:00:00Z"),
                span("2026-03-30T07:00:00Z", "2026-03-30T15:00:00Z"),
            ]
        );
    }

    #[test]
    fn touching_is_no_conflict() {
        let busy = [span("2026-03-27T09:00:00Z", "2026-03-27T10:00:00Z")];
        assert_eq!(conflicts(&busy, span("2026-03-27T10:00:00Z", "2026-03-27T11:00:00Z")), []);
        assert_eq!(conflicts(&busy, span("2026-03-27T09:59:00Z", "2026-03-27T11:00:00Z")), busy);
    }

    #[test]
    fn a_night_shift_and_a_day_round_the_clock() {
        let mut hours = office();
        (hours.from, hours.to) = (hours.to, hours.from);
        let window = span("2026-01-06T00:00:00Z", "2026-01-06T12:00:00Z");
        let slots = |hours: &WorkingHours| free_slots(&[], window, TimeDelta::hours(1), hours).unwrap();
        assert_eq!(slots(&hours), [span("2026-01-06T00:00:00Z", "2026-01-06T08:00:00Z")]);
        hours.to = hours.from;
        assert_eq!(slots(&hours), [window]);
        assert!(free_slots(&[], window, TimeDelta::zero(), &hours).is_err());
    }

    proptest! {
        #[test]
        fn slots_are_free_and_nothing_is_missed(busy in proptest::collection::vec((0..4_000_i64, 1..300_i64), 0..20), duration in 1..200_i64) {
            let minute = |minute: i64| at("2026-03-27T00:00:00Z") + TimeDelta::minutes(minute);
            let busy: Vec<TimeRange> = busy.into_iter().map(|(from, long)| TimeRange { from: minute(from), to: minute(from + long) }).collect();
            let window = TimeRange { from: minute(300), to: minute(4_500) };
            let slots = free_slots(&busy, window, TimeDelta::minutes(duration), &office()).unwrap();
            let open = working(window, &office());
            for from in 0..4_800 {
                let wanted = TimeRange { from: minute(from), to: minute(from + duration) };
                let within = |spans: &[TimeRange]| spans.iter().any(|span| span.from <= wanted.from && wanted.to <= span.to);
                prop_assert_eq!(within(&slots), within(&open) && conflicts(&busy, wanted).is_empty());
            }
        }
    }
}
