//! Calendars on a server (CalDAV, RFC 4791).

use crate::Fault;
use crate::dav::{Collection, Created, Dav, Resource, Words, Written, xml_text};
use crate::free::Span;
use crate::http::{Account, Request};
use crate::series::Series;

const WORDS: Words = Words {
    namespace: "urn:ietf:params:xml:ns:caldav",
    collection: "calendar",
    home_set: "calendar-home-set",
    well_known: "/.well-known/caldav",
    content_type: "text/calendar; charset=utf-8",
    data: "calendar-data",
    ending: ".ics",
    uid: |text| Series::read(text).ok().map(|series| series.uid()),
};

/// An account's calendars. Nothing is kept between the calls but the connection.
#[derive(Clone)]
pub struct CalDav {
    dav: Dav,
}

impl CalDav {
    /// Ready to be used; the server is not asked yet.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when the URL or the CA makes no sense.
    pub fn new(account: &Account) -> Result<Self, Fault> {
        Dav::new(account, &WORDS).map(|dav| Self { dav })
    }

    /// The calendars that the account's URL leads to: that calendar, those of that home set or principal, or
    /// those of whoever logs in. Calendars without events (lists of tasks) are left out. This is also what
    /// shows whether the account works.
    ///
    /// # Errors
    /// What the server refuses, and whether it is reached.
    pub async fn calendars(&self) -> Result<Vec<Collection>, Fault> {
        self.dav.collections().await
    }

    /// Whether the server itself sends invitations to attendees (RFC 6638 §2).
    ///
    /// # Errors
    /// As [`CalDav::calendars`].
    pub async fn sends_invitations(&self, calendar: &str) -> Result<bool, Fault> {
        let url = self.dav.url(calendar)?;
        let request = Request { method: "OPTIONS", url: &url, headers: &[], body: None, is_write: false };
        let answer = self.dav.http.send(request).await?.0.accept().await?;
        let features = answer.header("dav").unwrap_or_default();
        Ok(features.split(',').any(|feature| feature.trim() == "calendar-auto-schedule"))
    }

    /// The objects that take place in a window, as the server sees it; [`Series::occurrences`] tells when.
    ///
    /// # Errors
    /// As [`CalDav::calendars`].
    pub async fn list(&self, calendar: &str, window: Span) -> Result<Vec<Resource>, Fault> {
        let moment = |at: chrono::DateTime<chrono::Utc>| at.format("%Y%m%dT%H%M%SZ").to_string();
        let (from, to) = (moment(window.from), moment(window.to));
        self.query(calendar, &format!("<C:time-range start=\"{from}\" end=\"{to}\"/>")).await
    }

    /// The object with this UID.
    ///
    /// # Errors
    /// As [`CalDav::calendars`].
    pub async fn find(&self, calendar: &str, uid: &str) -> Result<Option<Resource>, Fault> {
        let text = xml_text(uid);
        let filter = format!(
            "<C:prop-filter name=\"UID\"><C:text-match collation=\"i;octet\">{text}</C:text-match></C:prop-filter>"
        );
        let found = self.query(calendar, &filter).await?;
        // A server's match is one of a part, and some ignore the filter.
        let is_it = |resource: &Resource| (WORDS.uid)(&resource.text).as_deref() == Some(uid);
        Ok(found.into_iter().find(is_it))
    }

    async fn query(&self, calendar: &str, filter: &str) -> Result<Vec<Resource>, Fault> {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><C:calendar-query xmlns:D=\"DAV:\" \
             xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:prop><D:getetag/><C:calendar-data/></D:prop><C:filter>\
             <C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"VEVENT\">{filter}</C:comp-filter>\
             </C:comp-filter></C:filter></C:calendar-query>"
        );
        self.dav.query(calendar, body).await
    }

    /// One object as it is now.
    ///
    /// # Errors
    /// As [`CalDav::calendars`]; [`crate::Kind::NotFound`] when it is not there.
    pub async fn get(&self, url: &str) -> Result<Resource, Fault> {
        self.dav.get(url).await
    }

    /// Makes an object. Its place follows from its UID, so that a second try after an unknown outcome finds
    /// the first.
    ///
    /// # Errors
    /// As [`CalDav::calendars`]; see [`Fault::may_have_happened`].
    pub async fn create(&self, calendar: &str, series: &Series) -> Result<Created, Fault> {
        let uid = series.uid();
        self.dav
            .created(calendar, &uid, &without_method(series), async || self.find(calendar, &uid).await)
            .await
    }

    /// Writes a new state of an object, if it is still in the state `etag`.
    ///
    /// # Errors
    /// As [`CalDav::create`].
    pub async fn update(&self, url: &str, etag: Option<&str>, series: &Series) -> Result<Written, Fault> {
        self.dav.write(url, etag, Some(&without_method(series))).await
    }

    /// Deletes an object, if it is still in the state `etag`. One that is gone is [`Written::Gone`].
    ///
    /// # Errors
    /// As [`CalDav::create`].
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<Written, Fault> {
        self.dav.write(url, etag, None).await
    }
}

/// A stored object has no METHOD (RFC 4791 §4.1); one that came as an invitation has.
fn without_method(series: &Series) -> String {
    let mut series = series.clone();
    series.calendar.set("METHOD", None);
    series.text()
}
