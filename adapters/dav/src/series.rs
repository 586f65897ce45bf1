//! One calendar object (RFC 4791 §4.1): an occasion, how it recurs, and the instances that differ.

use chrono::{DateTime, Datelike, Utc};
use chrono_tz::Tz;

use crate::Fault;
use crate::content::{Component, Line, Node};
use crate::event::Occasion;
use crate::when::{Length, When};
use crate::zone::{self, Zone};

/// Who wrote the text, as iCalendar asks for.
const PRODUCT: &str = "-//Adjutant//Adjutant//EN";

/// One calendar object, kept as the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    pub(crate) calendar: Component,
}

impl Series {
    /// A new one. `stamp` is now.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when the occasion makes no sense.
    pub fn new(occasion: &Occasion, stamp: DateTime<Utc>) -> Result<Self, Fault> {
        occasion.check(None)?;
        let mut event = Component::new("VEVENT");
        occasion.write(None, &mut event);
        stamped(&mut event, stamp, occasion.sequence);
        let mut calendar = Component::new("VCALENDAR");
        calendar.push(Line::new("VERSION", &[], "2.0"));
        calendar.push(Line::new("PRODID", &[], PRODUCT));
        calendar.nodes.push(Node::Part(event));
        let mut series = Self { calendar };
        series.describe_zones();
        Ok(series)
    }

    /// Reads iCalendar text that holds one series, or instances of one.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when it can't be read, or holds anything but one series.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let calendars = Component::read_all(text)?.into_iter().filter(|part| part.is("VCALENDAR"));
        let mut series = calendars.map(|calendar| Self { calendar });
        let (Some(first), None) = (series.next(), series.next()) else {
            return Err(Fault::unreadable("the text is not one iCalendar object"));
        };
        let uid = first.uid();
        first.main_or_first()?;
        if first.events().any(|event| event.text("UID") != uid) {
            return Err(Fault::unreadable("the iCalendar object holds more than one event"));
        }
        Ok(first)
    }

    /// As iCalendar text. What was not changed is as it was read.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.calendar.write(&mut text);
        text
    }

    /// The UID of all its instances.
    #[must_use]
    pub fn uid(&self) -> String {
        self.events().next().map(|event| event.text("UID")).unwrap_or_default()
    }

    /// The occasion as it is without the instances that differ. Where somebody was invited to single
    /// instances only, the first of them.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when it can't be read.
    pub fn occasion(&self) -> Result<Occasion, Fault> {
        Occasion::read(self.main_or_first()?, &self.calendar)
    }

    /// The instances that differ from the rule.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when one can't be read.
    pub fn overrides(&self) -> Result<Vec<Occasion>, Fault> {
        let others = self.events().filter(|event| is_override(event));
        others.map(|event| Occasion::read(event, &self.calendar)).collect()
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &Component> {
        self.calendar.parts("VEVENT")
    }

    pub(crate) fn main(&self) -> Option<&Component> {
        self.events().find(|event| !is_override(event))
    }

    pub(crate) fn main_or_first(&self) -> Result<&Component, Fault> {
        let first = self.main().or_else(|| self.events().next());
        first.ok_or_else(|| Fault::unreadable("the iCalendar object holds no event"))
    }

    pub(crate) fn main_mut(&mut self) -> Result<&mut Component, Fault> {
        let mut events = self.calendar.nodes.iter_mut().filter_map(|node| match node {
            Node::Part(part) if part.is("VEVENT") => Some(part),
            _ => None,
        });
        let main = events.find(|event| !is_override(event));
        main.ok_or_else(|| Fault::params("only single instances are known here, not the whole series"))
    }

    /// The override of an instance.
    pub(crate) fn override_mut(&mut self, instance: &When) -> Result<Option<&mut Component>, Fault> {
        for at in 0..self.calendar.nodes.len() {
            let Some(Node::Part(part)) = self.calendar.nodes.get(at) else { continue };
            let id = When::read(part, "RECURRENCE-ID", &self.calendar)?;
            if part.is("VEVENT") && id.is_some_and(|id| id.is_same(instance)) {
                let Some(Node::Part(part)) = self.calendar.nodes.get_mut(at) else { return Ok(None) };
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    /// Keeps the overrides whose instance passes.
    pub(crate) fn keep_overrides(&mut self, keeps: impl Fn(&When) -> bool) -> Result<(), Fault> {
        let mut kept = Vec::new();
        for node in &self.calendar.nodes {
            let id = match node {
                Node::Part(part) if part.is("VEVENT") => When::read(part, "RECURRENCE-ID", &self.calendar)?,
                _ => None,
            };
            kept.push(id.is_none_or(|id| keeps(&id)));
        }
        let mut kept = kept.into_iter();
        self.calendar.nodes.retain(|_| kept.next().unwrap_or(true));
        Ok(())
    }

    /// Adds the `VTIMEZONE` of each zone that is named and not yet described.
    pub(crate) fn describe_zones(&mut self) {
        let mut missing: Vec<(String, i32)> = Vec::new();
        for event in self.events() {
            for node in &event.nodes {
                let Node::Line(line) = node else { continue };
                let Some(name) = line.read().param("TZID").map(str::to_owned) else { continue };
                let is_there = self.calendar.parts("VTIMEZONE").any(|zone| zone.text("TZID") == name)
                    || missing.iter().any(|(missing, _)| *missing == name);
                if !is_there {
                    let start = When::read(event, "DTSTART", &self.calendar).ok().flatten();
                    missing.push((name, start.map_or(1970, |start| start.local().year())));
                }
            }
        }
        let at = self.calendar.nodes.iter().position(|node| matches!(node, Node::Part(_)));
        let at = at.unwrap_or(self.calendar.nodes.len());
        for (name, year) in missing {
            if let Ok(zone) = zone::zone_named(&name) {
                self.calendar.nodes.insert(at, Node::Part(zone::described(zone, &name, year)));
            }
        }
    }
}

pub(crate) fn is_override(event: &Component) -> bool {
    event.lines("RECURRENCE-ID").next().is_some()
}

/// Notes when it was changed, and how often.
pub(crate) fn stamped(event: &mut Component, stamp: DateTime<Utc>, sequence: u32) {
    let stamp = stamp.format("%Y%m%dT%H%M%SZ").to_string();
    event.set("DTSTAMP", [Line::new("DTSTAMP", &[], &stamp)]);
    event.set("LAST-MODIFIED", [Line::new("LAST-MODIFIED", &[], &stamp)]);
    event.set("SEQUENCE", [Line::new("SEQUENCE", &[], &sequence.to_string())]);
}

/// The times of a `VEVENT`: its start and how long it lasts.
pub(crate) fn shape(event: &Component, calendar: &Component) -> Result<(When, Length), Fault> {
    let start = When::read(event, "DTSTART", calendar)?
        .ok_or_else(|| Fault::unreadable("the calendar object has no start"))?;
    let length = Length::read(event, &start, calendar)?;
    Ok((start, length))
}

/// The zone in which a time's days are counted.
pub(crate) fn zone_of(when: &When, home: Tz) -> Zone {
    match when {
        When::Zoned(_, zone) => zone.clone(),
        _ => Zone::Named(home),
    }
}

#[cfg(test)]
mod tests;
