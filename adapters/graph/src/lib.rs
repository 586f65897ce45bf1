//! Mail, calendars and contacts at Microsoft, by Graph (<https://learn.microsoft.com/graph/api/overview>).
//!
//! Its JSON ends here: a mail is MIME, an event iCalendar, a contact vCard, and the errors are those of the clients that
//! speak these formats to other servers.

mod calendar;
mod contacts;
mod delta;
mod event_json;
mod folders;
mod http;
mod mail;
mod mail_send;
mod recurrence;
mod subscription;

use std::time::Duration;

use adjutant_credential::TokenSource;
use chrono::{DateTime, Datelike, NaiveDate, Utc};

pub use calendar::GraphCalendar;
pub use contacts::GraphContacts;
pub use mail::GraphMail;

/// An account at Microsoft. Cheap to clone; its clients share a limit of requests at once. `Debug` leaves the tokens out.
#[derive(Debug, Clone)]
pub struct GraphAccount {
    http: http::Http,
}

impl GraphAccount {
    /// An account at an address such as `https://graph.microsoft.com/v1.0`. A request may take as long as the timeout, from
    /// connecting to the last byte. No request is sent yet.
    pub fn new(api_url: &str, token: TokenSource, timeout: Duration) -> Self {
        Self { http: http::Http::new(api_url, token, timeout) }
    }
}

/// The property that holds the UID of an event or a contact that we made: its own ids are the service's, and can't be chosen
/// (<https://learn.microsoft.com/graph/api/resources/extended-properties-overview>,
/// <https://learn.microsoft.com/graph/api/singlevaluelegacyextendedproperty-get>).
const UID: &str = "String {6f5b3c52-8f0e-4a3c-9d55-3f2f0a7b9c11} Name adjutant-uid";

/// What the UID of a thing begins with that others made; the rest is its id.
const FOREIGN: &str = "graph:";

/// The filter that finds a thing of ours by its UID.
fn by_uid(uid: &str) -> String {
    with_property(UID, uid)
}

/// The filter for things with this value of an extended property.
fn with_property(name: &str, value: &str) -> String {
    let value = http::quoted(value);
    format!("singleValueExtendedProperties/Any(ep: ep/id eq '{name}' and ep/value eq '{value}')")
}

/// What to expand for these extended properties.
fn expand(names: &[&str]) -> String {
    let wanted: Vec<String> = names.iter().map(|name| format!("id eq '{name}'")).collect();
    format!("singleValueExtendedProperties($filter={})", wanted.join(" or "))
}

/// The value of an extended property of a thing, if it was expanded.
fn property<'a>(thing: &'a serde_json::Value, name: &str) -> Option<&'a str> {
    let all = thing["singleValueExtendedProperties"].as_array()?;
    all.iter().find(|one| text(one, "id").eq_ignore_ascii_case(name)).map(|one| text(one, "value"))
}

/// The UID of a thing, whose id is in this field.
fn uid_of(thing: &serde_json::Value, id: &str) -> String {
    property(thing, UID).map_or_else(|| format!("{FOREIGN}{}", text(thing, id)), str::to_owned)
}

fn changed_at(thing: &serde_json::Value) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text(thing, "lastModifiedDateTime")).unwrap_or_default().to_utc()
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The version of a thing, if it has one.
fn etag(thing: &serde_json::Value) -> Option<String> {
    Some(text(thing, "@odata.etag").to_owned()).filter(|etag| !etag.is_empty())
}

/// Whether a thing is no longer the version that was expected.
fn is_changed(now: &serde_json::Value, expected: Option<&str>) -> bool {
    expected.is_some_and(|expected| expected != text(now, "@odata.etag"))
}

/// Whether a day is one that calendars have. With those far beyond, reckoning could overflow.
fn is_plausible(day: NaiveDate) -> bool {
    (1..=9_999).contains(&day.year())
}

/// A text of an object, empty if there is none.
fn text<'a>(object: &'a serde_json::Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}
