//! Calendars and address books: CalDAV (RFC 4791) and CardDAV (RFC 6352) over HTTP, and the texts they
//! carry, iCalendar (RFC 5545, 5546) and vCard (RFC 2426, 6350).
//!
//! The pure part stands alone, without a server: [`Series`] is one calendar object (an [`Occasion`], how it
//! recurs, and the instances that differ), [`Contact`] one card. Both keep the text they were read from:
//! an edit writes the lines it changes, and every other line stays as it came.
//!
//! Of our own where the libraries would not do: they rewrite or drop what they don't know of an object
//! (calcard, icalendar), hold an answer several times and lose the server's words (libdav), or start each
//! rule at its first day (rrule).
//!
//! Times are arguments everywhere: nothing here asks a clock.

mod caldav;
mod carddav;
mod contact;
mod content;
mod dav;
mod edit;
mod event;
mod expand;
mod fault;
mod free;
mod http;
mod invitation;
mod recurrence;
mod rule;
mod series;
mod when;
mod xml;
mod zone;
mod zone_windows;

pub use caldav::CalDav;
pub use carddav::CardDav;
pub use contact::{Card, Contact};
pub use dav::{Collection, Created, Resource, Written};
pub use event::{Answer, Attendee, Occasion, Status};
pub use fault::{Fault, Kind};
pub use free::{Span, WorkingHours, conflicts, free_slots};
pub use http::Account;
pub use recurrence::{Expansion, Occurrence};
pub use series::Series;
pub use when::When;
pub use zone::{Described, Zone, zone_named};
