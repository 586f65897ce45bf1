//! The calendars of an account, whose events are iCalendar here.

use adjutant_dav::{
    CalendarEvent, Collection, CreateOutcome, DavError, EventTime, Resource, Series, TimeRange, WriteOutcome,
};
use chrono::TimeDelta;
use chrono_tz::Tz;
use futures::future::try_join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::event_json::{self, FIELDS, PREFER};
use crate::http::{Call, GraphError, Http, Result};
use crate::{FOREIGN, GraphAccount, UID, by_uid, etag, is_changed, moment, text};

/// In a range of so many days the service itself expands the series; in a longer one that would be too much.
const MAX_EXPANDED: i64 = 62;

const MAX_EVENTS: usize = 10_000;

/// How many pages a list of changes has at most, and how it is asked for
/// (<https://learn.microsoft.com/graph/delta-query-events>).
const MAX_PAGES: usize = 200;
const CHANGES: &str = "outlook.timezone=\"UTC\", odata.maxpagesize=50";

/// The calendars of an account, whose events are iCalendar here. A URL is the id of a calendar or an event.
#[derive(Debug, Clone)]
pub struct GraphCalendar {
    http: Http,
}

impl GraphCalendar {
    pub fn new(account: &GraphAccount) -> Self {
        Self { http: account.http.clone() }
    }

    /// The calendars, the person's main one first. This also tests whether the account works.
    pub async fn calendars(&self) -> Result<Vec<Collection>, DavError> {
        let query = [("$select", "id,name,isDefaultCalendar"), ("$top", "100")];
        let mut all = self.http.all(self.http.get(&["me", "calendars"], &query)?, 1_000).await?;
        all.sort_by_key(|calendar| calendar["isDefaultCalendar"] != json!(true));
        let collection = |calendar: &Value| Collection {
            url: text(calendar, "id").to_owned(),
            name: text(calendar, "name").to_owned(),
        };
        Ok(all.iter().map(collection).collect())
    }

    /// The service tells the guests of each event and change.
    pub async fn sends_invitations(&self, _: &str) -> Result<bool, DavError> {
        Ok(true)
    }

    /// The events in a time range. Of a series, a short range has only the instances in it.
    pub async fn list(&self, calendar: &str, range: TimeRange) -> Result<Vec<Resource>, DavError> {
        let (expand, from, to) = (event_json::expand(), moment(range.from), moment(range.to));
        let filter =
            format!("start/dateTime lt '{to}' and (type eq 'seriesMaster' or end/dateTime gt '{from}')");
        let mut query = vec![("$select", FIELDS), ("$expand", expand.as_str()), ("$top", "100")];
        if range.to - range.from <= TimeDelta::days(MAX_EXPANDED) {
            query.extend([("startDateTime", from.as_str()), ("endDateTime", to.as_str())]);
            let call = self.http.get(&["me", "calendars", calendar, "calendarView"], &query)?;
            let all = self.http.all(call.preferring(PREFER), MAX_EVENTS).await?;
            return Ok(by_series(all));
        }
        query.push(("$filter", filter.as_str()));
        let call = self.http.get(&["me", "calendars", calendar, "events"], &query)?;
        let all = self.http.all(call.preferring(PREFER), MAX_EVENTS).await?;
        let first = (range.from - TimeDelta::days(1)).date_naive().to_string();
        let is_over = |event: &Value| {
            let end = text(&event["recurrence"]["range"], "endDate");
            text(&event["recurrence"]["range"], "type") == "endDate" && end < first.as_str()
        };
        let whole = all.into_iter().filter(|event| !is_over(event)).map(|event| async move {
            // Only the series itself tells its exceptions.
            let is_series = text(&event, "type") == "seriesMaster";
            let whole = if is_series { self.event(text(&event, "id")).await? } else { Some(event) };
            Ok::<_, GraphError>(whole.as_ref().and_then(|event| resource(event).ok()))
        });
        Ok(try_join_all(whole).await?.into_iter().flatten().collect())
    }

    /// Another text than before, unless nothing in a range has changed since. The range is that of the first, which had nothing
    /// before it.
    pub async fn tag(&self, calendar: &str, before: &str, range: TimeRange) -> Result<String, DavError> {
        let (from, to) = (moment(range.from), moment(range.to));
        let query = [("startDateTime", from.as_str()), ("endDateTime", to.as_str())];
        let first = self.http.url(&["me", "calendars", calendar, "calendarView", "delta"], &query)?;
        let link = Some(before).filter(|link| !link.is_empty());
        let mut page = self.http.changes(link, first, CHANGES).await?;
        if page.items.is_empty() && page.next.is_none() {
            return Ok(page.delta.filter(|_| link.is_none()).unwrap_or_else(|| before.to_owned()));
        }
        for _ in 0..MAX_PAGES {
            let Some(next) = page.next else { return Ok(page.delta.unwrap_or_default()) };
            page = self.http.page(&next).await?;
        }
        Err(DavError::tool("Microsoft's list of changes has no end"))
    }

    pub async fn find(&self, calendar: &str, uid: &str) -> Result<Option<Resource>, DavError> {
        let mut found = None;
        if let Some(foreign) = uid.strip_prefix(FOREIGN) {
            let path = ["me", "calendars", calendar, "events", foreign];
            found = self.http.optional(&self.http.get(&path, &[("$select", "id")])?).await?;
        }
        if found.is_none() {
            let filter = by_uid(uid);
            let query = [("$filter", filter.as_str()), ("$select", "id")];
            let call = self.http.get(&["me", "calendars", calendar, "events"], &query)?;
            found = self.http.all(call, 1).await?.pop();
        }
        let Some(found) = found else { return Ok(None) };
        self.event(text(&found, "id")).await?.map(|event| resource(&event)).transpose()
    }

    /// The current state of one event or series.
    pub async fn get(&self, url: &str) -> Result<Resource, DavError> {
        let missing = || DavError::not_found("the event no longer exists");
        resource(&self.event(url).await?.ok_or_else(missing)?)
    }

    /// An event, or a series with its exceptions, which only a request for one event gives
    /// (<https://learn.microsoft.com/graph/api/event-get>).
    async fn event(&self, id: &str) -> Result<Option<Value>> {
        let fields = format!("{FIELDS},cancelledOccurrences,exceptionOccurrences");
        let expand = format!("exceptionOccurrences,{}", event_json::expand());
        let query = [("$select", fields.as_str()), ("$expand", expand.as_str())];
        self.http.optional(&self.http.get(&["me", "events", id], &query)?.preferring(PREFER)).await
    }

    /// Creates an event. Its `transactionId`, the UID, makes it harmless to do that again
    /// (<https://learn.microsoft.com/graph/api/resources/event>), and the UID in a property of ours finds an earlier one.
    pub async fn create(&self, calendar: &str, series: &Series) -> Result<CreateOutcome, DavError> {
        let uid = series.uid();
        if let Some(there) = self.find(calendar, &uid).await? {
            return Ok(CreateOutcome::AlreadyExists(there));
        }
        let mut fields = event_json::changes(None, &series.event()?)?;
        let own = json!({"id": UID, "value": uid});
        match fields.get_mut("singleValueExtendedProperties").and_then(Value::as_array_mut) {
            Some(others) => others.push(own),
            None => _ = fields.insert("singleValueExtendedProperties".to_owned(), json!([own])),
        }
        // Where a deleted event had this one, another one is needed.
        for transaction in [uid.clone(), format!("{uid} again")] {
            fields.insert("transactionId".to_owned(), json!(transaction));
            let body = Value::Object(fields.clone());
            let call = self.http.post(&["me", "calendars", calendar, "events"], body)?;
            match self.http.json(&call.preferring(PREFER)).await {
                Err(error) if error.status == Some(StatusCode::CONFLICT) => {}
                posted => {
                    let made = posted?;
                    self.adjust(&made, series).await?;
                    let (url, etag) = (text(&made, "id").to_owned(), etag(&made));
                    return Ok(CreateOutcome::Created { url, etag });
                }
            }
            if let Some(there) = self.find(calendar, &uid).await? {
                return Ok(CreateOutcome::AlreadyExists(there));
            }
        }
        Err(DavError::tool("Microsoft says that it has this event already"))
    }

    /// Updates an event if its etag is still the same: first the series, then its instances, each as far as it differs, so it
    /// is safe to repeat.
    pub async fn update(
        &self,
        url: &str,
        etag: Option<&str>,
        series: &Series,
    ) -> Result<WriteOutcome, DavError> {
        let Some(mut now) = self.event(url).await? else { return Ok(WriteOutcome::Gone) };
        if is_changed(&now, etag) {
            return Ok(WriteOutcome::Conflict(resource(&now)?));
        }
        let (old, new) = (event_json::series(&now)?.event()?, series.event()?);
        if new.instance.is_some() {
            return Err(DavError::params("these are only some days of a series: change the series"));
        }
        let is_planned_alike = old.rule == new.rule && is_same(&old.start, &new.start);
        if is_planned_alike && old.except.iter().any(|when| !contains(&new.except, when)) {
            let message = "Outlook's calendar can't bring back a day of a series: create an event for it";
            return Err(DavError::params(message));
        }
        let change = event_json::changes(Some(&old), &new)?;
        if !change.is_empty() {
            let call = self.http.patch(&["me", "events", url], Value::Object(change))?;
            if let Some(outcome) = self.write(url, &now, call).await? {
                return Ok(outcome);
            }
            // A new rule can undo exceptions.
            let Some(changed) = self.event(url).await? else { return Ok(WriteOutcome::Gone) };
            now = changed;
        }
        self.adjust(&now, series).await?;
        Ok(WriteOutcome::Done(None))
    }

    /// Deletes an event or a whole series if its etag is still the same.
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError> {
        let Some(now) = self.event(url).await? else { return Ok(WriteOutcome::Gone) };
        if is_changed(&now, etag) {
            return Ok(WriteOutcome::Conflict(resource(&now)?));
        }
        let call = self.http.delete(&["me", "events", url])?;
        Ok(self.write(url, &now, call).await?.unwrap_or(WriteOutcome::Done(None)))
    }

    /// Writes unless somebody else was faster. That the service heeds the etag of an event isn't documented
    /// (<https://learn.microsoft.com/graph/api/event-update>): a change between our look and our write may go unseen.
    async fn write(&self, url: &str, now: &Value, call: Call) -> Result<Option<WriteOutcome>, DavError> {
        match self.http.json(&call.preferring(PREFER).if_match(etag(now).as_deref())).await {
            Ok(_) => Ok(None),
            Err(error) if error.is_not_found() => Ok(Some(WriteOutcome::Gone)),
            Err(error) if error.status == Some(StatusCode::PRECONDITION_FAILED) => {
                self.get(url).await.map(|now| Some(WriteOutcome::Conflict(now)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the instances of a series what they should be.
    async fn adjust(&self, now: &Value, series: &Series) -> Result<(), DavError> {
        let current = event_json::series(now)?;
        let (master, wanted) = (current.event()?, series.event()?);
        let (before, after) = (current.overrides()?, series.overrides()?);
        let plain = event_json::planned;
        for new in &after {
            let Some(instance) = &new.instance else { continue };
            let old = of_instance(&before, instance).cloned().unwrap_or_else(|| plain(&master, instance));
            self.change_instance(now, instance, &old, new).await?;
        }
        for old in &before {
            let Some(instance) = &old.instance else { continue };
            if of_instance(&after, instance).is_none() && !contains(&wanted.except, instance) {
                self.change_instance(now, instance, old, &plain(&master, instance)).await?;
            }
        }
        for instance in wanted.except.iter().filter(|instance| !contains(&master.except, instance)) {
            if let Some(id) = self.instance(now, instance).await? {
                self.http.optional(&self.http.delete(&["me", "events", &id])?).await?;
            }
        }
        Ok(())
    }

    async fn change_instance(
        &self,
        now: &Value,
        instance: &EventTime,
        old: &CalendarEvent,
        new: &CalendarEvent,
    ) -> Result<(), DavError> {
        let new = CalendarEvent { instance: Some(instance.clone()), rule: None, ..new.clone() };
        let change = event_json::changes(Some(&CalendarEvent { rule: None, ..old.clone() }), &new)?;
        if change.is_empty() {
            return Ok(());
        }
        let missing = || DavError::not_found("the series has no such day at Microsoft");
        let id = self.instance(now, instance).await?.ok_or_else(missing)?;
        let call = self.http.patch(&["me", "events", &id], Value::Object(change))?;
        self.http.json(&call.preferring(PREFER)).await?;
        Ok(())
    }

    /// The id of an instance of a series, if there is one.
    async fn instance(&self, series: &Value, instance: &EventTime) -> Result<Option<String>> {
        let zone = event_json::zone_of(series);
        let is_it = |item: &&Value| {
            event_json::original_start(item, &zone).is_some_and(|start| is_same(&start, instance))
        };
        let exceptions = series["exceptionOccurrences"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some(found) = exceptions.iter().find(is_it) {
            return Ok(Some(text(found, "id").to_owned()));
        }
        let at = instance.instant(Tz::UTC);
        let (from, to) = (moment(at - TimeDelta::days(1)), moment(at + TimeDelta::days(2)));
        let query = [
            ("startDateTime", from.as_str()),
            ("endDateTime", to.as_str()),
            ("$select", "id,originalStart,isAllDay"),
        ];
        let call = self.http.get(&["me", "events", text(series, "id"), "instances"], &query)?;
        let all = self.http.all(call.preferring(PREFER), MAX_EVENTS).await?;
        Ok(all.iter().find(is_it).map(|found| text(found, "id").to_owned()))
    }
}

/// The instances of each series together, and each other event.
fn by_series(all: Vec<Value>) -> Vec<Resource> {
    let (mut series, mut found): (Vec<(String, Vec<Value>)>, Vec<Resource>) = (Vec::new(), Vec::new());
    for event in all {
        let master = text(&event, "seriesMasterId").to_owned();
        match series.iter_mut().find(|(id, _)| *id == master) {
            // One that can't be read doesn't hide the others.
            _ if master.is_empty() => found.extend(resource(&event).ok()),
            Some((_, instances)) => instances.push(event),
            None => series.push((master, vec![event])),
        }
    }
    let together = |(url, instances): (String, Vec<Value>)| {
        let text = event_json::instances(&instances).ok()?.text();
        Some(Resource { url, etag: None, text })
    };
    found.extend(series.into_iter().filter_map(together));
    found
}

fn resource(event: &Value) -> Result<Resource, DavError> {
    let (url, text) = (text(event, "id").to_owned(), event_json::series(event)?.text());
    Ok(Resource { url, etag: etag(event), text })
}

fn is_same(one: &EventTime, other: &EventTime) -> bool {
    one.instant(Tz::UTC) == other.instant(Tz::UTC)
}

fn contains(all: &[EventTime], wanted: &EventTime) -> bool {
    all.iter().any(|one| is_same(one, wanted))
}

fn of_instance<'a>(all: &'a [CalendarEvent], instance: &EventTime) -> Option<&'a CalendarEvent> {
    all.iter().find(|event| event.instance.as_ref().is_some_and(|at| is_same(at, instance)))
}
