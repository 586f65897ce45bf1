//! iCalendar (RFC 5545): events, time zones, recurrence, edits, invitations and free time.

mod edit;
mod event;
mod expand;
mod free_time;
mod invitation;
mod occurrences;
mod rule;
mod series;
mod time;
mod zone;

pub use event::{Attendee, CalendarEvent, EventStatus, ResponseStatus};
pub use expand::Effort;
pub use free_time::{TimeRange, WorkingHours, conflicts, free_slots};
pub use occurrences::{Expansion, Occurrence};
pub use rule::RecurrenceRule;
pub use series::Series;
pub use time::EventTime;
pub use zone::{CustomZone, Zone, zone_named};
