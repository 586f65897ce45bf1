//! Calendar events and their form in iCalendar (`VEVENT`).

use super::rule::RecurrenceRule;
use super::series::start_and_length;
use super::time::{EventTime, Length, duration_of};
use crate::content::{Component, Line, Node, Property, after, escaped};
use crate::{DavError, Result};

/// An attendee's response to an invitation (PARTSTAT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    NeedsAction,
    Accepted,
    Declined,
    Tentative,
}

/// An invited person, or the organizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attendee {
    /// The email address, without `mailto:`.
    pub address: String,
    /// The name; may be empty.
    pub name: String,
    pub response: ResponseStatus,
}

/// Whether an event takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    Confirmed,
    Tentative,
    Cancelled,
}

/// A calendar event. An empty text means that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarEvent {
    /// The same for all instances of a series, in every calendar.
    pub uid: String,
    pub title: String,
    pub start: EventTime,
    /// When it ends; for whole days the day after the last.
    pub end: EventTime,
    pub location: String,
    pub notes: String,
    /// The organizer; required if there are attendees.
    pub organizer: Option<Attendee>,
    pub attendees: Vec<Attendee>,
    /// Reminders, in minutes before the start.
    pub reminders: Vec<u32>,
    /// Its recurrence: the value of an RRULE (RFC 5545 §3.3.10).
    pub rule: Option<String>,
    /// The starts of the instances that don't take place (EXDATE).
    pub except: Vec<EventTime>,
    pub status: EventStatus,
    /// Whether it blocks the time.
    pub is_busy: bool,
    /// How often it changed in a way attendees must know; the edits count it.
    pub sequence: u32,
    /// For an instance of a series, its start according to the rule.
    pub instance: Option<EventTime>,
}

impl ResponseStatus {
    fn read(text: &str) -> Self {
        match text.to_ascii_uppercase().as_str() {
            "ACCEPTED" => Self::Accepted,
            "DECLINED" => Self::Declined,
            "TENTATIVE" => Self::Tentative,
            _ => Self::NeedsAction,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::NeedsAction => "NEEDS-ACTION",
            Self::Accepted => "ACCEPTED",
            Self::Declined => "DECLINED",
            Self::Tentative => "TENTATIVE",
        }
    }
}

impl EventStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::Tentative => "TENTATIVE",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl Attendee {
    pub(super) fn read(line: &Line) -> Self {
        let property = line.read();
        let value = property.value.trim();
        Self {
            address: after(value, "mailto:").unwrap_or(value).to_owned(),
            name: property.param("CN").unwrap_or_default().to_owned(),
            response: ResponseStatus::read(property.param("PARTSTAT").unwrap_or_default()),
        }
    }

    /// The content line; parameters that we don't know are kept from the old line.
    fn line(&self, name: &str, before: Option<&Line>) -> Line {
        let mut property =
            before.map_or_else(|| Property { params: Vec::new(), value: String::new() }, Line::read);
        let known = ["CN", "PARTSTAT"];
        property.params.retain(|(param, _)| !known.contains(&param.as_str()));
        let mut add =
            |param: &str, value: &str| property.params.push((param.to_owned(), vec![value.to_owned()]));
        if !self.name.is_empty() {
            add("CN", &self.name);
        }
        if name == "ATTENDEE" {
            add("PARTSTAT", self.response.name());
            if before.is_none() {
                add("RSVP", "TRUE");
            }
        }
        if before.is_none() {
            property.value = format!("mailto:{}", self.address);
        }
        Line::of(name, &property)
    }
}

/// The minutes before the start at which an alarm goes off, if it is relative to the start.
fn minutes_before(alarm: &Component) -> Option<u32> {
    let trigger = alarm.get("TRIGGER")?;
    if trigger.param("RELATED").is_some_and(|related| related.eq_ignore_ascii_case("END")) {
        return None;
    }
    let Length { days, seconds } = duration_of(&trigger.value)?;
    u32::try_from(-(days.checked_mul(1_440)?.checked_add(seconds / 60)?)).ok()
}

impl CalendarEvent {
    pub(crate) fn read(vevent: &Component, calendar: &Component) -> Result<Self> {
        let (start, length) = start_and_length(vevent, calendar)?;
        let status = match vevent.text("STATUS").to_ascii_uppercase().as_str() {
            "CANCELLED" => EventStatus::Cancelled,
            "TENTATIVE" => EventStatus::Tentative,
            _ => EventStatus::Confirmed,
        };
        let mut reminders: Vec<u32> = vevent.components("VALARM").filter_map(minutes_before).collect();
        reminders.sort_unstable();
        reminders.dedup();
        Ok(Self {
            uid: vevent.text("UID"),
            title: vevent.text("SUMMARY"),
            end: length.after(&start),
            location: vevent.text("LOCATION"),
            notes: vevent.text("DESCRIPTION"),
            organizer: vevent.lines("ORGANIZER").next().map(Attendee::read),
            attendees: vevent.lines("ATTENDEE").map(Attendee::read).collect(),
            reminders,
            rule: vevent.get("RRULE").map(|rule| rule.value),
            except: EventTime::read_each(vevent, "EXDATE", calendar)?,
            status,
            is_busy: !vevent.text("TRANSP").eq_ignore_ascii_case("TRANSPARENT"),
            sequence: vevent.text("SEQUENCE").trim().parse().unwrap_or_default(),
            instance: EventTime::read(vevent, "RECURRENCE-ID", calendar)?,
            start,
        })
    }

    /// Checks that it is valid. People who were in it before are not checked again: servers have odd addresses.
    pub(crate) fn check(&self, before: Option<&Self>) -> Result<()> {
        let is_uid =
            !self.uid.trim().is_empty() && self.uid.len() <= 255 && !self.uid.chars().any(char::is_control);
        if before.is_none_or(|before| before.uid != self.uid) && !is_uid {
            return Err(DavError::params("an event needs a UID of at most 255 bytes"));
        }
        let length = Length::between(&self.start, &self.end)?;
        if matches!(self.start, EventTime::Day(_)) && length.days == 0 {
            return Err(DavError::params("a whole-day event ends on a later day than it starts"));
        }
        if let Some(rule) = &self.rule {
            RecurrenceRule::read(rule)?;
        }
        let known = |person: &Attendee| {
            let mut people =
                before.into_iter().flat_map(|before| before.attendees.iter().chain(&before.organizer));
            people.any(|known| known.address == person.address)
        };
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
        let is_sound = |person: &Attendee| !person.address.is_empty() && person.address.chars().all(is_plain);
        match self.attendees.iter().chain(&self.organizer).find(|person| !is_sound(person) && !known(person))
        {
            Some(person) => Err(DavError::params(format!("{} is not an email address", person.address))),
            None => Ok(()),
        }
    }

    /// Writes the fields that differ from `before` into a `VEVENT`; all if it is new.
    pub(crate) fn write(&self, before: Option<&Self>, vevent: &mut Component) {
        let mut text = |name: &str, get: fn(&Self) -> &str| {
            if before.is_none_or(|before| get(before) != get(self)) {
                let value = get(self);
                vevent.set(name, (!value.is_empty()).then(|| Line::new(name, &[], &escaped(value))));
            }
        };
        text("UID", |event| &event.uid);
        text("SUMMARY", |event| &event.title);
        text("LOCATION", |event| &event.location);
        text("DESCRIPTION", |event| &event.notes);
        if before.is_some_and(|before| before.notes != self.notes) {
            // The same text in HTML, now out of date.
            vevent.set("X-ALT-DESC", None);
        }
        if before.is_none_or(|before| before.start != self.start || before.end != self.end) {
            vevent.set("DTSTART", [self.start.line("DTSTART")]);
            vevent.set("DURATION", None);
            vevent.set("DTEND", [self.end.line("DTEND")]);
        }
        if before.is_none_or(|before| before.rule != self.rule) {
            let rule =
                self.rule.as_ref().map(|rule| Line::new("RRULE", &[], &rule.trim().to_ascii_uppercase()));
            vevent.set("RRULE", rule);
        }
        if before.is_none_or(|before| before.except != self.except) {
            vevent.set("EXDATE", self.except.iter().map(|start| start.line("EXDATE")).collect::<Vec<_>>());
        }
        if before.map_or(EventStatus::Confirmed, |before| before.status) != self.status {
            vevent.set("STATUS", [Line::new("STATUS", &[], self.status.name())]);
        }
        if before.is_none_or(|before| before.is_busy) != self.is_busy {
            let value = if self.is_busy { "OPAQUE" } else { "TRANSPARENT" };
            vevent.set("TRANSP", [Line::new("TRANSP", &[], value)]);
        }
        self.write_people(before, vevent);
        self.write_reminders(before, vevent);
    }

    fn write_people(&self, before: Option<&Self>, vevent: &mut Component) {
        let write = |vevent: &mut Component, name: &str, people: &[Attendee]| {
            let old: Vec<(Attendee, Line)> =
                vevent.lines(name).map(|line| (Attendee::read(line), line.clone())).collect();
            let line = |person: &Attendee| {
                let before = old.iter().find(|(old, _)| old.address.eq_ignore_ascii_case(&person.address));
                match before {
                    Some((old, line)) if old == person => line.clone(),
                    before => person.line(name, before.map(|(_, line)| line)),
                }
            };
            vevent.set(name, people.iter().map(line).collect::<Vec<_>>());
        };
        if before.is_none_or(|before| before.organizer != self.organizer) {
            write(vevent, "ORGANIZER", self.organizer.as_slice());
        }
        if before.is_none_or(|before| before.attendees != self.attendees) {
            write(vevent, "ATTENDEE", &self.attendees);
        }
    }

    /// Other kinds of alarms stay.
    fn write_reminders(&self, before: Option<&Self>, vevent: &mut Component) {
        let old = before.map(|before| before.reminders.as_slice()).unwrap_or_default();
        vevent.nodes.retain(|node| match node {
            Node::Component(alarm) if alarm.is("VALARM") => {
                minutes_before(alarm).is_none_or(|minutes| self.reminders.contains(&minutes))
            }
            _ => true,
        });
        for minutes in self.reminders.iter().filter(|minutes| !old.contains(minutes)) {
            let mut alarm = Component::new("VALARM");
            alarm.push(Line::new("ACTION", &[], "DISPLAY"));
            alarm.push(Line::new("TRIGGER", &[], &format!("-PT{minutes}M")));
            let title = if self.title.is_empty() { "Reminder" } else { &self.title };
            alarm.push(Line::new("DESCRIPTION", &[], &escaped(title)));
            vevent.nodes.push(Node::Component(alarm));
        }
    }
}
