//! What collides, and when there is time.

use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;

use crate::Fault;
use crate::zone::Zone;

/// From a moment up to another, that one not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its first moment.
    pub from: DateTime<Utc>,
    /// The first moment after it.
    pub to: DateTime<Utc>,
}

/// When somebody wants to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingHours {
    /// Where they are.
    pub zone: Tz,
    /// On which days.
    pub days: Vec<Weekday>,
    /// From which time of day.
    pub from: NaiveTime,
    /// Up to which; before or at `from` it is on the next day.
    pub to: NaiveTime,
}

/// The longest window to look for free time in, in days.
const LONGEST_WINDOW: i64 = 366;

/// Which of the busy spans collide with a wanted one. Spans that only touch don't.
#[must_use]
pub fn conflicts(busy: &[Span], wanted: Span) -> Vec<Span> {
    busy.iter().copied().filter(|span| span.from < wanted.to && wanted.from < span.to).collect()
}

/// The free spans of at least this duration within working hours, each as long as it can be, by time.
///
/// # Errors
/// [`crate::Kind::Params`] when the duration is not positive or the window longer than 366 days.
pub fn free_slots(
    busy: &[Span],
    window: Span,
    duration: TimeDelta,
    hours: &WorkingHours,
) -> Result<Vec<Span>, Fault> {
    if duration <= TimeDelta::zero() {
        return Err(Fault::params("the duration must be more than nothing"));
    }
    if window.to - window.from > TimeDelta::days(LONGEST_WINDOW) {
        return Err(Fault::params("free time can be looked for in a year at most"));
    }
    let mut busy: Vec<Span> = conflicts(busy, window);
    busy.sort_unstable();
    let mut slots = Vec::new();
    for open in working(window, hours) {
        let mut at = open.from;
        for span in busy.iter().filter(|span| span.to > open.from && span.from < open.to) {
            if span.from - at >= duration {
                slots.push(Span { from: at, to: span.from });
            }
            at = at.max(span.to);
        }
        if open.to - at >= duration {
            slots.push(Span { from: at, to: open.to });
        }
    }
    Ok(slots)
}

/// The working hours in a window.
fn working(window: Span, hours: &WorkingHours) -> Vec<Span> {
    let zone = Zone::Named(hours.zone);
    let last = zone.local(window.to).date();
    // The hours of the day before may reach into the window.
    let mut day = zone.local(window.from).date().pred_opt();
    let mut open: Vec<Span> = Vec::new();
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
            _ if from < to => open.push(Span { from, to }),
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

    fn span(from: &str, to: &str) -> Span {
        Span { from: at(from), to: at(to) }
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
            let busy: Vec<Span> = busy.into_iter().map(|(from, long)| Span { from: minute(from), to: minute(from + long) }).collect();
            let window = Span { from: minute(300), to: minute(4_500) };
            let slots = free_slots(&busy, window, TimeDelta::minutes(duration), &office()).unwrap();
            let open = working(window, &office());
            for from in 0..4_800 {
                let wanted = Span { from: minute(from), to: minute(from + duration) };
                let within = |spans: &[Span]| spans.iter().any(|span| span.from <= wanted.from && wanted.to <= span.to);
                prop_assert_eq!(within(&slots), within(&open) && conflicts(&busy, wanted).is_empty());
            }
        }
    }
}
