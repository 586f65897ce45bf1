//! Calendars on a server (CalDAV, RFC 4791).

use super::client::{Client, Collection, CreateOutcome, Protocol, Resource, WriteOutcome, xml_text};
use super::http::{Account, Request};
use crate::{Result, Series, TimeRange};

const CALDAV: Protocol = Protocol {
    namespace: "urn:ietf:params:xml:ns:caldav",
    collection: "calendar",
    home_set: "calendar-home-set",
    well_known: "/.well-known/caldav",
    content_type: "text/calendar; charset=utf-8",
    data: "calendar-data",
    extension: ".ics",
    uid: |text| Series::read(text).ok().map(|series| series.uid()),
};

/// An account's calendars. Only the connection is kept between calls.
#[derive(Clone)]
pub struct CalDav {
    client: Client,
}

impl CalDav {
    pub fn new(account: &Account) -> Result<Self> {
        Client::new(account, &CALDAV).map(|client| Self { client })
    }

    /// The calendars behind the account's URL: that calendar itself, or those of that home set, that principal
    /// or the logged-in user, with those last that can only be read. Task lists are left out. This also tests whether the
    /// account works.
    pub async fn calendars(&self) -> Result<Vec<Collection>> {
        self.client.collections().await
    }

    /// Whether the server sends invitations to attendees (RFC 6638 §2).
    pub async fn sends_invitations(&self, calendar: &str) -> Result<bool> {
        let url = self.client.url(calendar)?;
        let request = Request { method: "OPTIONS", url: &url, headers: &[], body: None, is_write: false };
        let response = self.client.http.send(request).await?.0.accept().await?;
        let features = response.header("dav").unwrap_or_default();
        Ok(features.split(',').any(|feature| feature.trim() == "calendar-auto-schedule"))
    }

    /// The objects that the server finds in a time range; [`Series::occurrences`] expands them.
    pub async fn list(&self, calendar: &str, range: TimeRange) -> Result<Vec<Resource>> {
        let moment = |at: chrono::DateTime<chrono::Utc>| at.format("%Y%m%dT%H%M%SZ").to_string();
        let (from, to) = (moment(range.from), moment(range.to));
        self.query(calendar, &format!("<C:time-range start=\"{from}\" end=\"{to}\"/>")).await
    }

    /// Another text than before, unless nothing in the calendar has changed since. Empty if the server doesn't say.
    pub async fn tag(&self, calendar: &str) -> Result<String> {
        self.client.tag(calendar).await
    }

    pub async fn find(&self, calendar: &str, uid: &str) -> Result<Option<Resource>> {
        let text = xml_text(uid);
        let filter = format!(
            "<C:prop-filter name=\"UID\"><C:text-match collation=\"i;octet\">{text}</C:text-match></C:prop-filter>"
        );
        let found = self.query(calendar, &filter).await?;
        // Servers match substrings, and some ignore the filter.
        let is_it = |resource: &Resource| (CALDAV.uid)(&resource.text).as_deref() == Some(uid);
        Ok(found.into_iter().find(is_it))
    }

    async fn query(&self, calendar: &str, filter: &str) -> Result<Vec<Resource>> {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><C:calendar-query xmlns:D=\"DAV:\" \
             xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:prop><D:getetag/><C:calendar-data/></D:prop><C:filter>\
             <C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"VEVENT\">{filter}</C:comp-filter>\
             </C:comp-filter></C:filter></C:calendar-query>"
        );
        self.client.query(calendar, body).await
    }

    pub async fn get(&self, url: &str) -> Result<Resource> {
        self.client.get(url).await
    }

    /// Creates an object. Its URL follows from its UID, so a retry after a lost answer finds the first one.
    pub async fn create(&self, calendar: &str, series: &Series) -> Result<CreateOutcome> {
        let uid = series.uid();
        self.client
            .create(calendar, &uid, &without_method(series), async || self.find(calendar, &uid).await)
            .await
    }

    /// Updates an object if its etag is still the same.
    pub async fn update(&self, url: &str, etag: Option<&str>, series: &Series) -> Result<WriteOutcome> {
        self.client.write(url, etag, Some(&without_method(series))).await
    }

    /// Deletes an object if its etag is still the same.
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<WriteOutcome> {
        self.client.write(url, etag, None).await
    }
}

/// A stored object has no METHOD (RFC 4791 §4.1); one from an invitation does.
fn without_method(series: &Series) -> String {
    let mut series = series.clone();
    series.calendar.set("METHOD", None);
    series.text()
}
