//! Time zones: by IANA name, by Windows name, or from a `VTIMEZONE`.

use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use super::expand::Effort;
use super::rule::{self, RecurrenceRule, Until};
use crate::content::{Component, Line, Node};
use crate::{DavError, Result};

/// How many offset changes a custom zone may have.
const MAX_CHANGES: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// A zone of the IANA database.
    Named(Tz),
    /// A zone with an unknown name, defined by the calendar that uses it.
    Custom(Arc<CustomZone>),
}

/// A zone defined by a `VTIMEZONE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomZone {
    name: String,
    /// The offset before the first change.
    before: TimeDelta,
    /// When the offset changes, and to what; in order.
    changes: Vec<(NaiveDateTime, TimeDelta)>,
}

impl Zone {
    pub const UTC: Self = Self::Named(Tz::UTC);

    /// The name, as in `TZID`.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(zone) => zone.name(),
            Self::Custom(zone) => &zone.name,
        }
    }

    pub(crate) fn offset(&self, utc: NaiveDateTime) -> TimeDelta {
        match self {
            Self::Named(zone) => {
                TimeDelta::seconds(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc().into())
            }
            Self::Custom(zone) => {
                let next = zone.changes.partition_point(|(at, _)| *at <= utc);
                next.checked_sub(1)
                    .and_then(|last| zone.changes.get(last))
                    .map_or(zone.before, |(_, offset)| *offset)
            }
        }
    }

    /// The offsets a day before and a day after a local time. If they are equal, there is no change between.
    fn around(&self, local: NaiveDateTime) -> (TimeDelta, TimeDelta) {
        let near = |days: i64| local.checked_add_signed(TimeDelta::days(days)).unwrap_or(local);
        (self.offset(near(-1)), self.offset(near(1)))
    }

    /// The UTC time of a local time, and whether the offset stays the same within a day of it.
    pub(crate) fn steady_instant(&self, local: NaiveDateTime) -> (DateTime<Utc>, bool) {
        let (before, after) = self.around(local);
        let utc = local.checked_sub_signed(before).filter(|_| before == after);
        utc.map_or_else(|| (self.instant(local), false), |utc| (utc.and_utc(), true))
    }

    /// The UTC time of a local time. An ambiguous one is the earlier; a skipped one uses the offset before the
    /// change, so half past two is half past three (RFC 5545 §3.3.5).
    pub fn instant(&self, local: NaiveDateTime) -> DateTime<Utc> {
        let minus = |offset: TimeDelta| local.checked_sub_signed(offset).unwrap_or(local);
        let (before, after) = self.around(local);
        if before == after {
            return minus(before).and_utc();
        }
        let (early, late) = (minus(before), minus(after));
        let is_late = self.offset(early) != before && self.offset(late) == after;
        (if is_late { late } else { early }).and_utc()
    }

    pub fn local(&self, at: DateTime<Utc>) -> NaiveDateTime {
        let utc = at.naive_utc();
        utc.checked_add_signed(self.offset(utc)).unwrap_or(utc)
    }
}

/// The Windows names of time zones with the IANA ones (CLDR's windowsZones, the main territory of each).
fn windows_zones() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("windows_zones.txt").lines().filter_map(|line| line.split_once('\t'))
}

/// The zone of this name: an IANA or Windows name, or an IANA name after a path, as some programs write it
/// (`/freeassociation.sourceforge.net/Europe/Berlin`).
pub fn zone_named(name: &str) -> Result<Tz> {
    let name = name.trim().trim_matches('"');
    let known = |name: &str| Tz::from_str_insensitive(name).ok();
    let windows = || windows_zones().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    let tail = || {
        let from = name.rmatch_indices('/').map(|(at, _)| &name[at + 1..]);
        from.filter(|tail| tail.contains('/')).find_map(known)
    };
    known(name).or_else(|| windows().and_then(|(_, ours)| known(ours))).or_else(tail).ok_or_else(|| {
        DavError::params(format!("unknown time zone {name}; write an IANA name such as Europe/Berlin"))
    })
}

/// The zone of a `TZID`: a known name, else the calendar's `VTIMEZONE`.
pub(crate) fn zone_in(calendar: &Component, name: &str) -> Result<Zone> {
    zone_named(name).map(Zone::Named).or_else(|unknown| {
        let described = calendar.components("VTIMEZONE").find(|zone| zone.text("TZID") == name);
        described.map_or(Err(unknown), |zone| read_vtimezone(name, zone))
    })
}

fn read_vtimezone(name: &str, zone: &Component) -> Result<Zone> {
    let unreadable = || DavError::tool(format!("the definition of the time zone {name} is invalid"));
    let mut changes = Vec::new();
    for part in zone.components("STANDARD").chain(zone.components("DAYLIGHT")) {
        let offset = |name: &str| part.get(name).and_then(|property| utc_offset(&property.value));
        let (Some(from), Some(to)) = (offset("TZOFFSETFROM"), offset("TZOFFSETTO")) else {
            return Err(unreadable());
        };
        let start = part.get("DTSTART").and_then(|start| rule::date_time(start.value.trim()));
        let start = start.ok_or_else(unreadable)?;
        let mut onsets = vec![start];
        if let Some(recurs) = part.get("RRULE") {
            let recurs = RecurrenceRule::read(&recurs.value)?;
            let until = recurs.until.map(|until| match until {
                Until::Day(day) => day.and_time(start.time()),
                Until::Local(until) => until,
                Until::Utc(until) => until.checked_add_signed(from).unwrap_or(until),
            });
            // Outlook's zones begin in 1601.
            let year = |year| NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or_default().into();
            onsets.extend(
                recurs.expand(start, until, (year(1900), year(2100)), Effort::of(MAX_CHANGES)).starts,
            );
        }
        for dates in part.lines("RDATE") {
            onsets.extend(dates.read().value.split(',').filter_map(rule::date_time));
        }
        if onsets.len() + changes.len() > MAX_CHANGES {
            return Err(unreadable());
        }
        changes
            .extend(onsets.into_iter().filter_map(|onset| Some((onset.checked_sub_signed(from)?, from, to))));
    }
    changes.sort_unstable_by_key(|(at, ..)| *at);
    let before = changes.first().map(|(_, from, _)| *from).ok_or_else(unreadable)?;
    let changes = changes.into_iter().map(|(at, _, to)| (at, to)).collect();
    Ok(Zone::Custom(Arc::new(CustomZone { name: name.to_owned(), before, changes })))
}

/// `+0100` or `-033000`, less than a day.
fn utc_offset(text: &str) -> Option<TimeDelta> {
    let text = text.trim();
    let (sign, digits) =
        text.strip_prefix('-').map_or((1, text.trim_start_matches('+')), |digits| (-1, digits));
    if !matches!(digits.len(), 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part =
        |range: std::ops::Range<usize>| digits.get(range).map_or(Some(0), |part| part.parse::<i64>().ok());
    let seconds = part(0..2)? * 3_600 + part(2..4)? * 60 + part(4..6)?;
    (seconds < 86_400).then(|| TimeDelta::seconds(sign * seconds))
}

struct Change {
    /// The local time of the change, before it.
    onset: NaiveDateTime,
    from: TimeDelta,
    to: TimeDelta,
    is_daylight: bool,
}

/// The `VTIMEZONE` of a zone from a year on: the changes of twenty years, as rules if they follow one; the last
/// rules have no end.
pub(crate) fn vtimezone(zone: Tz, name: &str, year: i32) -> Component {
    let mut component = Component::new("VTIMEZONE");
    component.push(Line::new("TZID", &[], name));
    let begin = NaiveDate::from_ymd_opt(year.saturating_sub(1).clamp(1900, 2070), 1, 1).unwrap_or_default();
    let years = 20;
    let first = begin.and_time(chrono::NaiveTime::MIN);
    let offset = Zone::Named(zone).offset(first);
    let start = Change { onset: first, from: offset, to: offset, is_daylight: false };
    component.nodes.push(observance(&start, None));
    let mut runs: Vec<(Change, Vec<NaiveDateTime>)> = Vec::new();
    for change in changes(zone, first, years) {
        let same = runs.iter_mut().rev().find(|(old, onsets)| {
            let last = onsets.last().copied().unwrap_or(old.onset);
            old.from == change.from
                && old.to == change.to
                && last.year() + 1 == change.onset.year()
                && pattern(onsets.iter().chain([&change.onset])).is_some()
        });
        match same {
            Some((_, onsets)) => onsets.push(change.onset),
            None => runs.push((Change { ..change }, vec![change.onset])),
        }
    }
    for (first, onsets) in runs {
        let is_last = onsets.last().is_some_and(|last| last.year() >= begin.year() + years - 1);
        let rule = pattern(onsets.iter()).filter(|_| onsets.len() > 1).map(|rule| match onsets.last() {
            Some(last) if !is_last => {
                let until = last.checked_sub_signed(first.from).unwrap_or(*last);
                format!("{rule};UNTIL={}", until.format("%Y%m%dT%H%M%SZ"))
            }
            _ => rule,
        });
        component.nodes.push(observance(&first, rule));
    }
    component
}

fn observance(change: &Change, rule: Option<String>) -> Node {
    let offset = |delta: TimeDelta| {
        let (sign, seconds) = if delta < TimeDelta::zero() { ('-', -delta) } else { ('+', delta) };
        let seconds = seconds.num_seconds();
        let rest = if seconds % 60 == 0 { String::new() } else { format!("{:02}", seconds % 60) };
        format!("{sign}{:02}{:02}{rest}", seconds / 3_600, seconds / 60 % 60)
    };
    let mut part = Component::new(if change.is_daylight { "DAYLIGHT" } else { "STANDARD" });
    part.push(Line::new("DTSTART", &[], &change.onset.format("%Y%m%dT%H%M%S").to_string()));
    part.push(Line::new("TZOFFSETFROM", &[], &offset(change.from)));
    part.push(Line::new("TZOFFSETTO", &[], &offset(change.to)));
    if let Some(rule) = rule {
        part.push(Line::new("RRULE", &[], &rule));
    }
    Node::Component(part)
}

/// The rule that these yearly onsets follow: the n-th or last of a weekday in a month.
fn pattern<'a>(onsets: impl Iterator<Item = &'a NaiveDateTime> + Clone) -> Option<String> {
    let first = *onsets.clone().next()?;
    let nth = |onset: &NaiveDateTime| (onset.day() - 1) / 7 + 1;
    let is_last = |onset: &NaiveDateTime| onset.day() + 7 > u32::from(onset.num_days_in_month());
    let alike = |onset: &NaiveDateTime| {
        (onset.month(), onset.weekday(), onset.time()) == (first.month(), first.weekday(), first.time())
    };
    if !onsets.clone().all(alike) {
        return None;
    }
    let number = if onsets.clone().all(is_last) {
        -1
    } else if onsets.clone().all(|onset| nth(onset) == nth(&first)) {
        i64::from(nth(&first))
    } else {
        return None;
    };
    let day = rule::code(first.weekday());
    Some(format!("FREQ=YEARLY;BYMONTH={};BYDAY={number}{day}", first.month()))
}

/// The offset changes of a zone over some years, in order.
fn changes(zone: Tz, first: NaiveDateTime, years: i32) -> Vec<Change> {
    use chrono_tz::OffsetComponents;
    let named = Zone::Named(zone);
    let mut changes = Vec::new();
    let (mut at, step) = (first, TimeDelta::days(7));
    while at.year() < first.year() + years {
        let (mut low, mut high) = (at, at + step);
        let (from, to) = (named.offset(low), named.offset(high));
        at = high;
        if from == to {
            continue;
        }
        while high - low > TimeDelta::seconds(1) {
            let middle = low + (high - low) / 2;
            let middle = middle - TimeDelta::nanoseconds(middle.and_utc().timestamp_subsec_nanos().into());
            if named.offset(middle) == from { low = middle } else { high = middle }
        }
        let is_daylight = zone.offset_from_utc_datetime(&high).dst_offset() != TimeDelta::zero();
        changes.push(Change { onset: high + from, from, to, is_daylight });
    }
    changes
}

#[cfg(test)]
mod tests {
    use chrono::NaiveTime;

    use super::*;
    use crate::ical::rule::date_time;

    fn at(text: &str) -> NaiveDateTime {
        date_time(text).unwrap()
    }

    #[test]
    fn names_are_understood() {
        for (name, zone) in [
            ("Europe/Berlin", Tz::Europe__Berlin),
            ("europe/berlin", Tz::Europe__Berlin),
            ("W. Europe Standard Time", Tz::Europe__Berlin),
            ("/freeassociation.sourceforge.net/Europe/Berlin", Tz::Europe__Berlin),
            ("/softwarestudio.org/Olson_20011030_5/America/Indiana/Knox", Tz::America__Indiana__Knox),
            ("UTC", Tz::UTC),
        ] {
            assert_eq!(zone_named(name), Ok(zone), "{name}");
        }
        assert_eq!(
            zone_named("Mars/Olympus").unwrap_err().message,
            "unknown time zone Mars/Olympus; write an IANA name such as Europe/Berlin"
        );
        for (theirs, ours) in windows_zones() {
            assert!(ours.parse::<Tz>().is_ok(), "{theirs}");
        }
    }

    #[test]
    fn a_skipped_hour_counts_from_before_and_a_doubled_one_is_its_first() {
        for (zone, gap, gap_utc, fold, fold_utc) in [
            (Tz::Europe__Berlin, "20260329T023000", "20260329T013000", "20261025T023000", "20261025T003000"),
            (
                Tz::America__New_York,
                "20260308T023000",
                "20260308T073000",
                "20261101T013000",
                "20261101T053000",
            ),
            (
                Tz::Australia__Sydney,
                "20261004T023000",
                "20261003T163000",
                "20260405T023000",
                "20260404T153000",
            ),
        ] {
            let zone = Zone::Named(zone);
            assert_eq!(zone.instant(at(gap)).naive_utc(), at(gap_utc));
            assert_eq!(zone.instant(at(fold)).naive_utc(), at(fold_utc));
            assert_eq!(zone.local(zone.instant(at(gap))), at(gap) + TimeDelta::hours(1));
        }
    }

    #[test]
    fn every_zone_described_is_read_as_itself() {
        let first = at("20250101T000000");
        for zone in chrono_tz::TZ_VARIANTS {
            let Zone::Custom(read) = read_vtimezone("x", &vtimezone(zone, zone.name(), 2026)).unwrap() else {
                panic!()
            };
            let (ours, read) = (Zone::Named(zone), Zone::Custom(read));
            let mut local = first;
            while local < at("20440601T000000") {
                assert_eq!(ours.offset(local), read.offset(local), "{zone} {local}");
                local += TimeDelta::hours(997);
            }
        }
    }

    #[test]
    fn a_zone_with_a_rule_has_a_short_definition() {
        let mut text = String::new();
        vtimezone(Tz::Europe__Berlin, "Europe/Berlin", 2026).write(&mut text);
        insta::assert_snapshot!(text.replace("\r\n", "\n"), @r"
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:STANDARD
DTSTART:20250101T000000
TZOFFSETFROM:+0100
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20250330T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:20251026T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
");
        let mut text = String::new();
        vtimezone(Tz::America__New_York, "x", 2000).write(&mut text);
        assert_eq!(text.matches("RRULE").count(), 4, "{text}");
    }

    #[test]
    fn invalid_definitions_are_errors() {
        let zone = |lines: &str| {
            let text =
                format!("BEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\n{lines}\nEND:STANDARD\nEND:VTIMEZONE\n");
            read_vtimezone("x", &Component::read_all(&text).unwrap()[0])
        };
        for lines in [
            "",
            "DTSTART:20260101T000000",
            "DTSTART:20260101T000000\nTZOFFSETFROM:+9900\nTZOFFSETTO:+0100",
            "DTSTART:20260101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0100\nRRULE:FREQ=SECONDLY",
        ] {
            assert!(zone(lines).is_err(), "{lines}");
        }
        let described = zone("DTSTART:19700101T000000\nTZOFFSETFROM:-0330\nTZOFFSETTO:-0330").unwrap();
        let noon = at("20260101T000000").date().and_time(NaiveTime::from_hms_opt(12, 0, 0).unwrap());
        assert_eq!(described.instant(noon).naive_utc(), at("20260101T153000"));
    }
}
