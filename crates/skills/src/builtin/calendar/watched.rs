//! The events that are coming, as watches see them.

use adjutant_dav::{CalendarEvent, TimeRange};
use adjutant_mail::Address;
use adjutant_store::{Store, StoreError, objects};
use adjutant_types::PersonId;
use adjutant_types::clock::utc;
use adjutant_types::text::one_line;
use chrono_tz::Tz;
use sha2::{Digest, Sha256};

use super::backend::{CalendarAccount, EVENT};
use super::event::iso;
use super::today::occurring;
use crate::Result;

/// The longest place and notes, in characters.
const TEXT: usize = 600;

/// An event that is coming, or an instance of a series. All its texts are from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComingEvent {
    pub uid: String,
    /// The start of the instance by the rule of its series; empty of a single event.
    pub instance: String,
    pub title: String,
    /// Its place and its notes.
    pub text: String,
    /// Who takes part, the organizer first.
    pub people: Vec<Address>,
    /// In milliseconds.
    pub starts_at: i64,
    /// Changes with everything that its guests must know.
    pub digest: String,
}

impl ComingEvent {
    fn of(event: &CalendarEvent, zone: Tz) -> Self {
        let people = event.organizer.iter().chain(&event.attendees).map(|one| Address {
            name: Some(one.name.clone()).filter(|name| !name.is_empty()),
            address: one.address.clone(),
        });
        let answers: Vec<_> = event.attendees.iter().map(|one| (&one.address, one.response)).collect();
        let whole = format!("{:?}", (&event.title, &event.start, &event.end, &event.location, answers));
        Self {
            uid: event.uid.clone(),
            instance: event.instance.as_ref().map(|at| iso(at, zone)).unwrap_or_default(),
            title: event.title.clone(),
            text: one_line(&format!("{} {}", event.location, event.notes), TEXT),
            people: people.collect(),
            starts_at: event.start.instant(zone).timestamp_millis(),
            digest: Sha256::digest(whole).iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

impl CalendarAccount {
    /// The events between two times, in milliseconds, in the calendar of that name, or in all if it is empty; none if nothing
    /// has changed since the tag, which becomes that of now.
    pub async fn coming(
        &self,
        name: &str,
        tag: &mut String,
        period: (i64, i64),
        zone: Tz,
    ) -> Result<Option<Vec<ComingEvent>>> {
        let calendars = self.named(Some(name).filter(|name| !name.is_empty())).await?;
        let (mut before, mut tags) = (tag.split('\n'), Vec::new());
        for calendar in &calendars {
            let before = before.next().unwrap_or_default();
            tags.push(self.dav.tag(&calendar.url, before, range(period)).await?);
        }
        let now = tags.join("\n");
        // One that is empty says nothing.
        if now == *tag && !tags.iter().any(String::is_empty) {
            return Ok(None);
        }
        let mut texts = Vec::new();
        for calendar in &calendars {
            let found = self.dav.list(&calendar.url, range(period)).await?;
            texts.extend(found.into_iter().map(|resource| resource.text));
        }
        *tag = now;
        Ok(Some(coming(&texts, period, zone)))
    }
}

/// The events of a person's own calendar between two times, in milliseconds.
pub async fn coming_to(
    store: &Store,
    person: &PersonId,
    period: (i64, i64),
    zone: Tz,
) -> Result<Vec<ComingEvent>, StoreError> {
    let rows = objects::between(store, person, EVENT, period.0, period.1).await?;
    let texts: Vec<String> = rows.into_iter().map(|row| row.text).collect();
    Ok(coming(&texts, period, zone))
}

fn range((from, to): (i64, i64)) -> TimeRange {
    TimeRange { from: utc(from), to: utc(to) }
}

fn coming(texts: &[String], period: (i64, i64), zone: Tz) -> Vec<ComingEvent> {
    occurring(texts, range(period), zone).iter().map(|(_, event)| ComingEvent::of(event, zone)).collect()
}
