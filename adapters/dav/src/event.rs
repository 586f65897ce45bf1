//! An occasion in a calendar, and how it stands in iCalendar text.

use crate::Fault;
use crate::content::{Component, Line, Node, Property, escaped};
use crate::rule::Rule;
use crate::when::{Length, When, duration_of};

/// An attendee's answer to an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// None yet.
    Open,
    /// Yes.
    Accepted,
    /// No.
    Declined,
    /// Perhaps.
    Tentative,
}

/// Somebody invited, or who invites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attendee {
    /// The mail address, without `mailto:`.
    pub address: String,
    /// The name, or nothing.
    pub name: String,
    /// What they said.
    pub answer: Answer,
}

/// Whether an occasion takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Confirmed,
    /// It may.
    Tentative,
    /// It does not.
    Cancelled,
}

/// Something in a calendar. Empty texts are texts that are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// The same for all instances of a series, and on every calendar it is on.
    pub uid: String,
    /// What it is called.
    pub title: String,
    /// When it starts.
    pub start: When,
    /// When it is over; for whole days the day after the last.
    pub end: When,
    /// Where it is.
    pub location: String,
    /// What else is to be said.
    pub notes: String,
    /// Who invites. Needed as soon as there are attendees.
    pub organizer: Option<Attendee>,
    /// Who is invited.
    pub attendees: Vec<Attendee>,
    /// When to remind of it, in minutes before the start.
    pub reminders: Vec<u32>,
    /// How it recurs: the value of an RRULE (RFC 5545 §3.3.10).
    pub rule: Option<String>,
    /// The instances that don't take place: their starts.
    pub except: Vec<When>,
    /// Whether it takes place.
    pub status: Status,
    /// Whether it takes up the time, or is only noted.
    pub is_busy: bool,
    /// How often it was changed in a way the attendees must know. Counted by the edits.
    pub sequence: u32,
    /// Of an instance of a series: when it would start by the rule.
    pub instance: Option<When>,
}

impl Answer {
    fn read(text: &str) -> Self {
        match text.to_ascii_uppercase().as_str() {
            "ACCEPTED" => Self::Accepted,
            "DECLINED" => Self::Declined,
            "TENTATIVE" => Self::Tentative,
            _ => Self::Open,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Open => "NEEDS-ACTION",
            Self::Accepted => "ACCEPTED",
            Self::Declined => "DECLINED",
            Self::Tentative => "TENTATIVE",
        }
    }
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::Tentative => "TENTATIVE",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl Attendee {
    fn read(line: &Line) -> Self {
        let property = line.read();
        let value = property.value.trim();
        let is_mail = value.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
        Self {
            address: if is_mail { value[7..].to_owned() } else { value.to_owned() },
            name: property.param("CN").unwrap_or_default().to_owned(),
            answer: Answer::read(property.param("PARTSTAT").unwrap_or_default()),
        }
    }

    /// The line, with what we don't know of the line it had before.
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
            add("PARTSTAT", self.answer.name());
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

/// How many minutes before the start an alarm goes off, if it is such a one.
fn minutes_before(alarm: &Component) -> Option<u32> {
    let trigger = alarm.get("TRIGGER")?;
    if trigger.param("RELATED").is_some_and(|related| related.eq_ignore_ascii_case("END")) {
        return None;
    }
    let Length { days, seconds } = duration_of(&trigger.value)?;
    u32::try_from(-(days.checked_mul(1_440)?.checked_add(seconds / 60)?)).ok()
}

impl Occasion {
    /// What a `VEVENT` says.
    pub(crate) fn read(event: &Component, calendar: &Component) -> Result<Self, Fault> {
        let start = When::read(event, "DTSTART", calendar)?
            .ok_or_else(|| Fault::unreadable("the calendar object has no start"))?;
        let status = match event.text("STATUS").to_ascii_uppercase().as_str() {
            "CANCELLED" => Status::Cancelled,
            "TENTATIVE" => Status::Tentative,
            _ => Status::Confirmed,
        };
        let mut reminders: Vec<u32> = event.parts("VALARM").filter_map(minutes_before).collect();
        reminders.sort_unstable();
        reminders.dedup();
        Ok(Self {
            uid: event.text("UID"),
            title: event.text("SUMMARY"),
            end: Length::read(event, &start, calendar)?.after(&start),
            location: event.text("LOCATION"),
            notes: event.text("DESCRIPTION"),
            organizer: event.lines("ORGANIZER").next().map(Attendee::read),
            attendees: event.lines("ATTENDEE").map(Attendee::read).collect(),
            reminders,
            rule: event.get("RRULE").map(|rule| rule.value),
            except: When::read_each(event, "EXDATE", calendar)?,
            status,
            is_busy: !event.text("TRANSP").eq_ignore_ascii_case("TRANSPARENT"),
            sequence: event.text("SEQUENCE").trim().parse().unwrap_or_default(),
            instance: When::read(event, "RECURRENCE-ID", calendar)?,
            start,
        })
    }

    /// Whether it makes sense. Who was in it before is not judged again: servers have all sorts of people.
    ///
    /// # Errors
    /// What does not.
    pub(crate) fn check(&self, before: Option<&Self>) -> Result<(), Fault> {
        let is_uid =
            !self.uid.trim().is_empty() && self.uid.len() <= 255 && !self.uid.chars().any(char::is_control);
        if before.is_none_or(|before| before.uid != self.uid) && !is_uid {
            return Err(Fault::params("an occasion needs a UID of at most 255 bytes"));
        }
        let length = Length::between(&self.start, &self.end)?;
        if matches!(self.start, When::Day(_)) && length.days == 0 {
            return Err(Fault::params("a whole day ends on the day after"));
        }
        if let Some(rule) = &self.rule {
            Rule::read(rule)?;
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
            Some(person) => Err(Fault::params(format!("{} is not a mail address", person.address))),
            None => Ok(()),
        }
    }

    /// Writes into a `VEVENT` what differs from what it said before; all, when it is new.
    pub(crate) fn write(&self, before: Option<&Self>, event: &mut Component) {
        let mut text = |name: &str, get: fn(&Self) -> &str| {
            if before.is_none_or(|before| get(before) != get(self)) {
                let value = get(self);
                event.set(name, (!value.is_empty()).then(|| Line::new(name, &[], &escaped(value))));
            }
        };
        text("UID", |occasion| &occasion.uid);
        text("SUMMARY", |occasion| &occasion.title);
        text("LOCATION", |occasion| &occasion.location);
        text("DESCRIPTION", |occasion| &occasion.notes);
        if before.is_some_and(|before| before.notes != self.notes) {
            // The same in HTML, which would now be wrong.
            event.set("X-ALT-DESC", None);
        }
        if before.is_none_or(|before| before.start != self.start || before.end != self.end) {
            event.set("DTSTART", [self.start.line("DTSTART")]);
            event.set("DURATION", None);
            event.set("DTEND", [self.end.line("DTEND")]);
        }
        if before.is_none_or(|before| before.rule != self.rule) {
            let rule =
                self.rule.as_ref().map(|rule| Line::new("RRULE", &[], &rule.trim().to_ascii_uppercase()));
            event.set("RRULE", rule);
        }
        if before.is_none_or(|before| before.except != self.except) {
            event.set("EXDATE", self.except.iter().map(|start| start.line("EXDATE")).collect::<Vec<_>>());
        }
        if before.map_or(Status::Confirmed, |before| before.status) != self.status {
            event.set("STATUS", [Line::new("STATUS", &[], self.status.name())]);
        }
        if before.is_none_or(|before| before.is_busy) != self.is_busy {
            let value = if self.is_busy { "OPAQUE" } else { "TRANSPARENT" };
            event.set("TRANSP", [Line::new("TRANSP", &[], value)]);
        }
        self.write_people(before, event);
        self.write_reminders(before, event);
    }

    fn write_people(&self, before: Option<&Self>, event: &mut Component) {
        let write = |event: &mut Component, name: &str, people: &[Attendee]| {
            let old: Vec<(Attendee, Line)> =
                event.lines(name).map(|line| (Attendee::read(line), line.clone())).collect();
            let line = |person: &Attendee| {
                let before = old.iter().find(|(old, _)| old.address.eq_ignore_ascii_case(&person.address));
                match before {
                    Some((old, line)) if old == person => line.clone(),
                    before => person.line(name, before.map(|(_, line)| line)),
                }
            };
            event.set(name, people.iter().map(line).collect::<Vec<_>>());
        };
        if before.is_none_or(|before| before.organizer != self.organizer) {
            write(event, "ORGANIZER", self.organizer.as_slice());
        }
        if before.is_none_or(|before| before.attendees != self.attendees) {
            write(event, "ATTENDEE", &self.attendees);
        }
    }

    /// Alarms of another kind than ours stay.
    fn write_reminders(&self, before: Option<&Self>, event: &mut Component) {
        let old = before.map(|before| before.reminders.as_slice()).unwrap_or_default();
        event.nodes.retain(|node| match node {
            Node::Part(alarm) if alarm.is("VALARM") => {
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
            event.nodes.push(Node::Part(alarm));
        }
    }
}
