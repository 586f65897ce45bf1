//! Calendars and address books: CalDAV (RFC 4791) and CardDAV (RFC 6352) over HTTP, and their formats,
//! iCalendar (RFC 5545, 5546) and vCard (RFC 2426, 6350).
//!
//! [`ical`] and [`vcard`] need no server: a [`Series`] is one calendar object (a [`CalendarEvent`], its recurrence
//! and its overrides), a [`Card`] one vCard. Both keep the text they were read from: an edit rewrites the lines
//! it changes and leaves all others as they were.
//!
//! We wrote this ourselves because the libraries fall short: they rewrite or drop properties they don't know
//! (calcard, icalendar), hold a response in memory several times and lose the server's error text (libdav), or
//! expand each rule from its first day (rrule).
//!
//! Times are always arguments: nothing here reads a clock.

mod content;
mod ical;
mod protocol;
mod vcard;

pub use adjutant_credential::{ErrorKind, ServiceError as DavError};
pub use ical::{
    Attendee, CalendarEvent, CustomZone, Effort, EventStatus, EventTime, Expansion, Occurrence,
    RecurrenceRule, ResponseStatus, Series, TimeRange, WorkingHours, Zone, conflicts, free_slots, zone_named,
};
pub use protocol::{
    Account, CalDav, CardDav, Collection, CreateOutcome, Quirks, Resource, WriteOutcome, http_client,
    retry_after,
};
pub use vcard::{Card, Contact};

pub type Result<T, E = DavError> = std::result::Result<T, E>;
