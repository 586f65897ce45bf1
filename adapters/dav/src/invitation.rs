//! Invitations by mail (iTIP, RFC 5546): what is sent to attendees where the server does not do it.

use chrono::{DateTime, Utc};

use crate::Fault;
use crate::content::{Component, Line, Node};
use crate::series::{Series, stamped};
use crate::when::When;

impl Series {
    /// The invitation to the whole series, with the instances that differ: the text of a part
    /// `text/calendar; method=REQUEST`. Also what tells of a change.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when there is nobody who invites or is invited.
    pub fn request(&self) -> Result<String, Fault> {
        self.itip("REQUEST", |_| {})
    }

    /// What calls it off, `text/calendar; method=CANCEL`: the whole series, or one instance.
    ///
    /// # Errors
    /// As [`Series::request`]; [`crate::Kind::NotFound`] when there is no such instance.
    pub fn cancel(&self, instance: Option<&When>, stamp: DateTime<Utc>) -> Result<String, Fault> {
        let mut series = self.clone();
        let main = self.main_or_first()?;
        let sequence = main.text("SEQUENCE").trim().parse::<u32>().unwrap_or(0).saturating_add(1);
        let mut event = main.clone();
        if let Some(instance) = instance {
            let id = self.instance(instance)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                event.set(name, None);
            }
            event.set("RECURRENCE-ID", [id.line("RECURRENCE-ID")]);
            event.set("DTEND", None);
            event.set("DURATION", None);
            event.set("DTSTART", [id.line("DTSTART")]);
        }
        series.calendar.nodes.retain(|node| !matches!(node, Node::Part(part) if part.is("VEVENT")));
        series.calendar.nodes.push(Node::Part(event));
        series.itip("CANCEL", |event| {
            stamped(event, stamp, sequence);
            event.set("STATUS", [Line::new("STATUS", &[], "CANCELLED")]);
        })
    }

    fn itip(&self, method: &str, change: impl Fn(&mut Component)) -> Result<String, Fault> {
        let occasion = self.occasion()?;
        if occasion.organizer.is_none() || occasion.attendees.is_empty() {
            return Err(Fault::params("an invitation needs an organizer and attendees"));
        }
        let mut calendar = self.calendar.clone();
        calendar.set("METHOD", [Line::new("METHOD", &[], method)]);
        for node in &mut calendar.nodes {
            if let Node::Part(event) = node
                && event.is("VEVENT")
            {
                // When we want to be reminded is nobody else's business.
                event.nodes.retain(|node| !matches!(node, Node::Part(alarm) if alarm.is("VALARM")));
                change(event);
            }
        }
        Ok(Self { calendar }.text())
    }
}
