//! The dates, times and lengths of iCalendar.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;

use super::rule;
use super::zone::{self, Zone};
use crate::content::{Component, Line, Property};
use crate::{DavError, Result};

/// The longest event, in days; more is a mistake.
const MAX_DAYS: i64 = 36_525;

/// A date or time in iCalendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventTime {
    /// A whole day, in any zone.
    Day(NaiveDate),
    /// A local time, in any zone.
    Floating(NaiveDateTime),
    Zoned(NaiveDateTime, Zone),
}

/// How long an event lasts: calendar days and seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) days: i64,
    pub(crate) seconds: i64,
}

impl EventTime {
    /// The time in UTC; times without a zone are in `home`. A whole day begins at midnight.
    pub fn instant(&self, home: Tz) -> DateTime<Utc> {
        match self {
            Self::Day(_) | Self::Floating(_) => Zone::Named(home).instant(self.local()),
            Self::Zoned(local, zone) => zone.instant(*local),
        }
    }

    /// The local time; midnight for a whole day.
    pub fn local(&self) -> NaiveDateTime {
        match self {
            Self::Day(day) => day.and_time(NaiveTime::MIN),
            Self::Floating(local) | Self::Zoned(local, _) => *local,
        }
    }

    /// Another local time in the same form and zone.
    pub fn at(&self, local: NaiveDateTime) -> Self {
        match self {
            Self::Day(_) => Self::Day(local.date()),
            Self::Floating(_) => Self::Floating(local),
            Self::Zoned(_, zone) => Self::Zoned(local, zone.clone()),
        }
    }

    /// A UTC time in the same form and zone; in UTC if the local time is ambiguous and means the earlier one.
    pub(crate) fn at_instant(&self, moment: DateTime<Utc>, home: Tz) -> Self {
        let Self::Zoned(_, zone) = self else { return self.at(Zone::Named(home).local(moment)) };
        let local = zone.local(moment);
        if zone.instant(local) == moment {
            Self::Zoned(local, zone.clone())
        } else {
            Self::Zoned(moment.naive_utc(), Zone::UTC)
        }
    }

    /// Whether both mean the same time or day.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Zoned(..), Self::Zoned(..)) => self.instant(Tz::UTC) == other.instant(Tz::UTC),
            _ => {
                std::mem::discriminant(self) == std::mem::discriminant(other) && self.local() == other.local()
            }
        }
    }

    /// The values of a property such as DTSTART or EXDATE.
    pub(crate) fn read_all(property: &Property, calendar: &Component) -> Result<Vec<Self>> {
        let zone = property.param("TZID").map(|name| zone::zone_in(calendar, name));
        let value = |text: &str| {
            let text = text.trim();
            let unreadable = || DavError::tool(format!("the time {text} is invalid"));
            // Of a period only the start counts.
            let start = text.split('/').next().unwrap_or(text);
            if let Some(utc) = start.strip_suffix('Z') {
                return rule::date_time(utc).map(|utc| Self::Zoned(utc, Zone::UTC)).ok_or_else(unreadable);
            }
            if let Some(day) = rule::date(start) {
                return Ok(Self::Day(day));
            }
            let local = rule::date_time(start).ok_or_else(unreadable)?;
            match &zone {
                Some(zone) => Ok(Self::Zoned(local, zone.clone()?)),
                None => Ok(Self::Floating(local)),
            }
        };
        property.value.split(',').map(value).collect()
    }

    pub(crate) fn read(component: &Component, name: &str, calendar: &Component) -> Result<Option<Self>> {
        let Some(property) = component.get(name) else { return Ok(None) };
        Ok(Self::read_all(&property, calendar)?.into_iter().next())
    }

    /// All values of all properties of this name.
    pub(crate) fn read_each(component: &Component, name: &str, calendar: &Component) -> Result<Vec<Self>> {
        let lines = component.lines(name).map(|line| Self::read_all(&line.read(), calendar));
        lines.collect::<Result<Vec<_>, _>>().map(|all| all.concat())
    }

    pub(crate) fn line(&self, name: &str) -> Line {
        let local = self.local().format("%Y%m%dT%H%M%S").to_string();
        match self {
            Self::Day(day) => Line::new(name, &[("VALUE", "DATE")], &day.format("%Y%m%d").to_string()),
            Self::Floating(_) => Line::new(name, &[], &local),
            Self::Zoned(_, zone) if *zone == Zone::UTC => Line::new(name, &[], &format!("{local}Z")),
            Self::Zoned(_, zone) => Line::new(name, &[("TZID", zone.name())], &local),
        }
    }
}

impl Length {
    pub(crate) fn between(start: &EventTime, end: &EventTime) -> Result<Self> {
        let length = match (start, end) {
            (EventTime::Day(start), EventTime::Day(end)) => {
                Self { days: (*end - *start).num_days(), seconds: 0 }
            }
            (EventTime::Floating(start), EventTime::Floating(end)) => {
                Self { days: 0, seconds: (*end - *start).num_seconds() }
            }
            (EventTime::Zoned(..), EventTime::Zoned(..)) => {
                Self { days: 0, seconds: (end.instant(Tz::UTC) - start.instant(Tz::UTC)).num_seconds() }
            }
            _ => {
                return Err(DavError::params(
                    "the start and the end must both be dates, both local times or both times in a zone",
                ));
            }
        };
        length.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.days < 0 || self.seconds < 0 {
            return Err(DavError::params("the end is before the start"));
        }
        if self.days + self.seconds / 86_400 > MAX_DAYS {
            return Err(DavError::params("the event lasts longer than a hundred years"));
        }
        Ok(self)
    }

    /// From DTEND or DURATION; without either, a whole-day event lasts a day.
    pub(crate) fn read(component: &Component, start: &EventTime, calendar: &Component) -> Result<Self> {
        let none = Self { days: i64::from(matches!(start, EventTime::Day(_))), seconds: 0 };
        if let Some(end) = EventTime::read(component, "DTEND", calendar)? {
            let length = Self::between(start, &end)?;
            return Ok(if length.days + length.seconds == 0 { none } else { length });
        }
        match component.get("DURATION") {
            Some(duration) => duration_of(&duration.value)
                .ok_or_else(|| DavError::tool(format!("the duration {} is invalid", duration.value)))?
                .checked(),
            None => Ok(none),
        }
    }

    /// The end of an event with this start, which is `from` in UTC: first calendar days are added, then seconds.
    pub(crate) fn ends(self, start: &EventTime, from: DateTime<Utc>, home: Tz) -> DateTime<Utc> {
        let seconds = TimeDelta::seconds(self.seconds);
        let local = start.local();
        let local = local.checked_add_signed(TimeDelta::days(self.days)).unwrap_or(local);
        match start {
            EventTime::Zoned(..) => {
                let from = if self.days == 0 { from } else { start.at(local).instant(home) };
                from.checked_add_signed(seconds).unwrap_or(from)
            }
            _ => start.at(local.checked_add_signed(seconds).unwrap_or(local)).instant(home),
        }
    }

    /// The end of an event with this start.
    pub(crate) fn after(self, start: &EventTime) -> EventTime {
        start.at_instant(self.ends(start, start.instant(Tz::UTC), Tz::UTC), Tz::UTC)
    }
}

/// `P1DT2H`, `-PT15M`, `P2W`.
pub(crate) fn duration_of(text: &str) -> Option<Length> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1, text.trim_start_matches('+')), |text| (-1, text));
    let (mut length, mut number, mut is_time) = (Length { days: 0, seconds: 0 }, String::new(), false);
    for letter in text.strip_prefix('P')?.chars() {
        if letter.is_ascii_digit() && number.len() < 10 {
            number.push(letter);
            continue;
        }
        if letter == 'T' && number.is_empty() {
            is_time = true;
            continue;
        }
        let amount = sign * number.parse::<i64>().ok()?;
        number.clear();
        let (total, each) = match (letter, is_time) {
            ('W', false) => (&mut length.days, 7),
            ('D', false) => (&mut length.days, 1),
            ('H', true) => (&mut length.seconds, 3_600),
            ('M', true) => (&mut length.seconds, 60),
            ('S', true) => (&mut length.seconds, 1),
            _ => return None,
        };
        *total = total.checked_add(each * amount)?;
    }
    number.is_empty().then_some(length)
}
