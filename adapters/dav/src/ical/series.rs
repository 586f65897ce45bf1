//! One calendar object (RFC 4791 §4.1): an event, its recurrence and its overrides.

use chrono::{DateTime, Datelike, Utc};
use chrono_tz::Tz;

use super::edit::no_master;
use super::event::CalendarEvent;
use super::time::{EventTime, Length};
use super::zone::{self, Zone};
use crate::content::{Component, Line, Node};
use crate::{DavError, Result};

/// The PRODID that iCalendar requires.
const PRODUCT_ID: &str = "-//Adjutant//Adjutant//EN";

/// One calendar object, kept as the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    pub(crate) calendar: Component,
}

impl Series {
    /// A new one; `stamp` is the present time.
    pub fn new(event: &CalendarEvent, stamp: DateTime<Utc>) -> Result<Self> {
        Self::of([(event.clone(), stamp)])
    }

    /// One of these events, each with the time of its last change: a series and instances of it, or instances alone.
    pub fn of(events: impl IntoIterator<Item = (CalendarEvent, DateTime<Utc>)>) -> Result<Self> {
        let mut calendar = Component::new("VCALENDAR");
        calendar.push(Line::new("VERSION", &[], "2.0"));
        calendar.push(Line::new("PRODID", &[], PRODUCT_ID));
        for (event, stamp) in events {
            event.check(None)?;
            let mut vevent = Component::new("VEVENT");
            event.write(None, &mut vevent);
            vevent.set("RECURRENCE-ID", event.instance.as_ref().map(|at| at.line("RECURRENCE-ID")));
            mark_changed(&mut vevent, stamp, event.sequence);
            calendar.nodes.push(Node::Component(vevent));
        }
        let mut series = Self { calendar };
        series.master_or_first()?;
        series.add_zones();
        Ok(series)
    }

    /// Reads the iCalendar text of one series, or of instances of one.
    pub fn read(text: &str) -> Result<Self> {
        let calendars = Component::read_all(text)?.into_iter().filter(|part| part.is("VCALENDAR"));
        let mut series = calendars.map(|calendar| Self { calendar });
        let (Some(first), None) = (series.next(), series.next()) else {
            return Err(DavError::tool("the text isn't a single iCalendar object"));
        };
        let uid = first.uid();
        first.master_or_first()?;
        if first.vevents().any(|vevent| vevent.text("UID") != uid) {
            return Err(DavError::tool("the iCalendar object holds more than one event"));
        }
        Ok(first)
    }

    /// The iCalendar text. Lines that were not changed are as they were read.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.calendar.write(&mut text);
        text
    }

    /// The UID, which all its instances share.
    pub fn uid(&self) -> String {
        self.vevents().next().map(|vevent| vevent.text("UID")).unwrap_or_default()
    }

    /// The master event. If there are only single instances, as in an invitation to them, the first of those.
    pub fn event(&self) -> Result<CalendarEvent> {
        CalendarEvent::read(self.master_or_first()?, &self.calendar)
    }

    /// The overrides: instances that differ from the series.
    pub fn overrides(&self) -> Result<Vec<CalendarEvent>> {
        let others = self.vevents().filter(|vevent| is_override(vevent));
        others.map(|vevent| CalendarEvent::read(vevent, &self.calendar)).collect()
    }

    pub(crate) fn vevents(&self) -> impl Iterator<Item = &Component> {
        self.calendar.components("VEVENT")
    }

    pub(crate) fn vevents_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        self.calendar.nodes.iter_mut().filter_map(|node| match node {
            Node::Component(vevent) if vevent.is("VEVENT") => Some(vevent),
            _ => None,
        })
    }

    pub(crate) fn master(&self) -> Option<&Component> {
        self.vevents().find(|vevent| !is_override(vevent))
    }

    pub(crate) fn master_or_first(&self) -> Result<&Component> {
        let first = self.master().or_else(|| self.vevents().next());
        first.ok_or_else(|| DavError::tool("the iCalendar object holds no event"))
    }

    pub(crate) fn master_mut(&mut self) -> Result<&mut Component> {
        self.vevents_mut().find(|vevent| !is_override(vevent)).ok_or_else(no_master)
    }

    /// The override of an instance; `calendar` is what it was read from.
    pub(crate) fn override_mut(
        &mut self,
        instance: &EventTime,
        calendar: &Component,
    ) -> Result<Option<&mut Component>> {
        for vevent in self.vevents_mut() {
            let id = EventTime::read(vevent, "RECURRENCE-ID", calendar)?;
            if id.is_some_and(|id| id.is_same(instance)) {
                return Ok(Some(vevent));
            }
        }
        Ok(None)
    }

    /// Removes the overrides whose instance fails the test.
    pub(crate) fn keep_overrides(&mut self, keeps: impl Fn(&EventTime) -> bool) -> Result<()> {
        let mut kept = Vec::new();
        for node in &self.calendar.nodes {
            let id = match node {
                Node::Component(part) if part.is("VEVENT") => {
                    EventTime::read(part, "RECURRENCE-ID", &self.calendar)?
                }
                _ => None,
            };
            kept.push(id.is_none_or(|id| keeps(&id)));
        }
        let mut kept = kept.into_iter();
        self.calendar.nodes.retain(|_| kept.next().unwrap_or(true));
        Ok(())
    }

    /// Adds the missing `VTIMEZONE` of each zone in use.
    pub(crate) fn add_zones(&mut self) {
        let mut missing: Vec<(String, i32)> = Vec::new();
        for vevent in self.vevents() {
            for node in &vevent.nodes {
                let Node::Line(line) = node else { continue };
                let Some(name) = line.read().param("TZID").map(str::to_owned) else { continue };
                let is_there = self.calendar.components("VTIMEZONE").any(|zone| zone.text("TZID") == name)
                    || missing.iter().any(|(missing, _)| *missing == name);
                if !is_there {
                    let start = EventTime::read(vevent, "DTSTART", &self.calendar).ok().flatten();
                    missing.push((name, start.map_or(1970, |start| start.local().year())));
                }
            }
        }
        let at = self.calendar.nodes.iter().position(|node| matches!(node, Node::Component(_)));
        let at = at.unwrap_or(self.calendar.nodes.len());
        for (name, year) in missing {
            if let Ok(zone) = zone::zone_named(&name) {
                self.calendar.nodes.insert(at, Node::Component(zone::vtimezone(zone, &name, year)));
            }
        }
    }
}

pub(crate) fn is_override(vevent: &Component) -> bool {
    vevent.lines("RECURRENCE-ID").next().is_some()
}

/// Updates the time and number of changes.
pub(crate) fn mark_changed(vevent: &mut Component, stamp: DateTime<Utc>, sequence: u32) {
    let stamp = stamp.format("%Y%m%dT%H%M%SZ").to_string();
    vevent.set("DTSTAMP", [Line::new("DTSTAMP", &[], &stamp)]);
    vevent.set("LAST-MODIFIED", [Line::new("LAST-MODIFIED", &[], &stamp)]);
    vevent.set("SEQUENCE", [Line::new("SEQUENCE", &[], &sequence.to_string())]);
}

pub(crate) fn start_and_length(vevent: &Component, calendar: &Component) -> Result<(EventTime, Length)> {
    let start = EventTime::read(vevent, "DTSTART", calendar)?
        .ok_or_else(|| DavError::tool("the event has no start"))?;
    let length = Length::read(vevent, &start, calendar)?;
    Ok((start, length))
}

/// The zone in which the days of a time are counted.
pub(crate) fn zone_of(when: &EventTime, home: Tz) -> Zone {
    match when {
        EventTime::Zoned(_, zone) => zone.clone(),
        _ => Zone::Named(home),
    }
}

#[cfg(test)]
mod tests;
