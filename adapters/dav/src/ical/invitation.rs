//! Invitations by email (iTIP, RFC 5546), for servers that don't send them.

use chrono::{DateTime, Utc};

use super::series::{Series, mark_changed};
use super::time::EventTime;
use crate::content::{Component, Line, Node};
use crate::{DavError, Result};

impl Series {
    /// The invitation to the whole series with its overrides, also after a change: the text of a
    /// `text/calendar; method=REQUEST` part.
    pub fn request(&self) -> Result<String> {
        self.itip("REQUEST", |_| {})
    }

    /// The cancellation of the whole series or of one instance: the text of a `text/calendar; method=CANCEL` part.
    pub fn cancel(&self, instance: Option<&EventTime>, stamp: DateTime<Utc>) -> Result<String> {
        let mut series = self.clone();
        let master = self.master_or_first()?;
        let sequence = master.text("SEQUENCE").trim().parse::<u32>().unwrap_or(0).saturating_add(1);
        let mut vevent = master.clone();
        if let Some(instance) = instance {
            let id = self.instance(instance)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                vevent.set(name, None);
            }
            vevent.set("RECURRENCE-ID", [id.line("RECURRENCE-ID")]);
            vevent.set("DTEND", None);
            vevent.set("DURATION", None);
            vevent.set("DTSTART", [id.line("DTSTART")]);
        }
        series.calendar.nodes.retain(|node| !matches!(node, Node::Component(part) if part.is("VEVENT")));
        series.calendar.nodes.push(Node::Component(vevent));
        series.itip("CANCEL", |vevent| {
            mark_changed(vevent, stamp, sequence);
            vevent.set("STATUS", [Line::new("STATUS", &[], "CANCELLED")]);
        })
    }

    fn itip(&self, method: &str, change: impl Fn(&mut Component)) -> Result<String> {
        let event = self.event()?;
        if event.organizer.is_none() || event.attendees.is_empty() {
            return Err(DavError::params("an invitation needs an organizer and attendees"));
        }
        let mut series = self.clone();
        series.calendar.set("METHOD", [Line::new("METHOD", &[], method)]);
        for vevent in series.vevents_mut() {
            // Our reminders are private.
            vevent.nodes.retain(|node| !matches!(node, Node::Component(alarm) if alarm.is("VALARM")));
            change(vevent);
        }
        Ok(series.text())
    }
}
