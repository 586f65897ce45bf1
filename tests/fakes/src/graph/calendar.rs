//! Calendars, events, series and their instances.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::query::{shown, text};
use super::{Answered, Asked, Refusal, State, merge, missing, touch, wrong};

const EVENT: [&str; 20] = [
    "id",
    "subject",
    "body",
    "start",
    "end",
    "isAllDay",
    "location",
    "organizer",
    "attendees",
    "isReminderOn",
    "reminderMinutesBeforeStart",
    "showAs",
    "isCancelled",
    "type",
    "seriesMasterId",
    "originalStart",
    "originalStartTimeZone",
    "recurrence",
    "lastModifiedDateTime",
    "transactionId",
];

/// What only the request for one series gives.
const OF_SERIES: [&str; 2] = ["cancelledOccurrences", "exceptionOccurrences"];

const WRITABLE: [&str; 12] = [
    "subject",
    "body",
    "start",
    "end",
    "isAllDay",
    "location",
    "attendees",
    "isReminderOn",
    "reminderMinutesBeforeStart",
    "showAs",
    "recurrence",
    "singleValueExtendedProperties",
];

/// The most instances of a series.
const MAX_INSTANCES: usize = 400;

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl State {
    pub(super) fn calendar(&mut self, asked: &Asked, person: &str, path: &[&str]) -> Answered {
        if asked.request.method == "GET"
            && path != ["calendars"]
            && !asked.header("prefer").contains("outlook.timezone=\"UTC\"")
            && !asked.query.contains_key("$filter")
            && asked.query.get("$select").is_none_or(|select| select != "id")
        {
            return Err(wrong("the times would be in the zone of the mailbox"));
        }
        match (asked.request.method.as_str(), path) {
            ("GET", ["calendars"]) => {
                asked.options(&["$select", "$top"])?;
                let all = self.mailbox(person).calendars.clone().into_iter().enumerate();
                let item = |(at, (id, name)): (usize, (String, String))| json!({"id": id, "name": name, "isDefaultCalendar": at == 0});
                self.list(asked, all.map(item).collect(), &["id", "name", "isDefaultCalendar", "canEdit"])
            }
            ("GET", ["calendars", calendar, "events"]) => {
                asked.options(&["$select", "$expand", "$filter", "$top"])?;
                let all = self.events(person, calendar, false);
                self.list(asked, all, &EVENT)
            }
            ("GET", ["calendars", calendar, "events", id]) => {
                let all = self.events(person, calendar, false);
                shown(asked, all.iter().find(|event| text(event, "id") == *id).ok_or_else(missing)?, &EVENT)
            }
            ("GET", ["calendars", calendar, "calendarView", "delta"]) => {
                // It gives all properties, whatever is asked for.
                let seen = self.seen(asked, &["startDateTime", "endDateTime"])?;
                let all = within(&seen.query, self.events(person, calendar, true))?;
                self.changes(asked, seen, &all, &[])
            }
            ("GET", ["calendars", calendar, "calendarView"]) => {
                asked.options(&["$select", "$expand", "$top", "startDateTime", "endDateTime"])?;
                let all = self.events(person, calendar, true);
                self.list(asked, within(&asked.query, all)?, &EVENT)
            }
            ("GET", ["events", id, "instances"]) => {
                asked.options(&["$select", "$top", "startDateTime", "endDateTime"])?;
                let mut all = self.events(person, "", true);
                all.retain(|event| text(event, "seriesMasterId") == *id);
                self.list(asked, within(&asked.query, all)?, &EVENT)
            }
            ("POST", ["calendars", calendar, "events"]) => self.make_event(asked, person, calendar),
            ("GET", ["events", id]) => {
                let all = self.events(person, "", true);
                let series = self.events(person, "", false);
                let event = series.iter().chain(&all).find(|event| text(event, "id") == *id);
                shown(asked, event.ok_or_else(missing)?, &[&EVENT[..], &OF_SERIES[..]].concat())
            }
            ("PATCH", ["events", id]) => self.change_event(asked, person, id),
            ("DELETE", ["events", id]) => self.delete_event(asked, person, id),
            _ => Err(wrong("there is no such address")),
        }
    }

    /// The events of a calendar, or of all: with series as such, or with their instances instead.
    fn events(&mut self, person: &str, calendar: &str, is_expanded: bool) -> Vec<Value> {
        let all = &self.mailbox(person).events;
        let is_in = |event: &&Value| calendar.is_empty() || text(event, "calendar") == calendar;
        let expanded = |event: &Value| match is_expanded {
            true if event["recurrence"].is_object() => instances(event),
            _ => vec![event.clone()],
        };
        all.iter().filter(is_in).flat_map(expanded).collect()
    }

    fn make_event(&mut self, asked: &Asked, person: &str, calendar: &str) -> Answered {
        let body = asked.json(&[&WRITABLE[..], &["transactionId"]].concat())?;
        let all = &self.mailbox(person).events;
        let transaction = &body["transactionId"];
        if let Some(there) = all.iter().find(|event| event["transactionId"] == *transaction) {
            return Ok(there.clone());
        }
        if !self.mailbox(person).calendars.iter().any(|(id, _)| id == calendar) {
            return Err(missing());
        }
        let id = self.next("AAMk/event=");
        let mut event = json!({
            "id": id, "calendar": calendar, "type": "singleInstance", "isCancelled": false, "isAllDay": false,
            "isReminderOn": true, "reminderMinutesBeforeStart": 15, "showAs": "busy", "attendees": [],
            "organizer": {"emailAddress": {"name": person, "address": person}}, "recurrence": null,
            "cancelledOccurrences": [], "exceptionOccurrences": [], "transactionId": transaction,
        });
        self.apply(&mut event, &body)?;
        self.mailbox(person).events.push(event.clone());
        Ok(event)
    }

    /// Writes properties of an event, with what follows from them.
    fn apply(&mut self, event: &mut Value, change: &Value) -> Result<(), Refusal> {
        let mut change = change.clone();
        for name in ["start", "end"] {
            if change[name].is_null() {
                continue;
            }
            let (at, zone) = moment(&change[name])?;
            if name == "start" {
                event["originalStartTimeZone"] = json!(zone.name());
            }
            change[name] = utc(at, zone);
        }
        let (start, end) = (&change["start"]["dateTime"], &change["end"]["dateTime"]);
        let is_midnight = |at: &Value| at.is_null() || at.as_str().is_some_and(|at| at.contains("T00:00:00"));
        if change["isAllDay"] == true && !(is_midnight(start) && is_midnight(end)) {
            return Err(wrong("a whole day begins at midnight"));
        }
        if let Some(fields) = change.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        let new = &change["recurrence"];
        let is_new_pattern = new.is_object() && new["pattern"] != event["recurrence"]["pattern"];
        merge(event, &change);
        if is_new_pattern {
            event["exceptionOccurrences"] = json!([]);
            event["cancelledOccurrences"] = json!([]);
            event["type"] = json!("seriesMaster");
        }
        let version = self.next("version");
        touch(event, version, self.now);
        Ok(())
    }

    fn change_event(&mut self, asked: &Asked, person: &str, id: &str) -> Answered {
        let change = asked.json(&WRITABLE)?;
        let (mut event, series) = self.find_event(person, id)?;
        asked.check_version(&event)?;
        self.apply(&mut event, &change)?;
        if change.get("recurrence").is_some_and(Value::is_null) {
            (event["recurrence"], event["type"]) = (Value::Null, json!("singleInstance"));
        }
        let events = &mut self.mailbox(person).events;
        let place = series.as_deref().unwrap_or(id);
        let stored = events.iter_mut().find(|event| text(event, "id") == place).ok_or_else(missing)?;
        if series.is_none() {
            *stored = event.clone();
            return Ok(event);
        }
        event["type"] = json!("exception");
        let exceptions = stored["exceptionOccurrences"].as_array_mut().ok_or_else(missing)?;
        exceptions.retain(|exception| text(exception, "id") != id);
        exceptions.push(event.clone());
        Ok(event)
    }

    fn delete_event(&mut self, asked: &Asked, person: &str, id: &str) -> Answered {
        let (event, series) = self.find_event(person, id)?;
        asked.check_version(&event)?;
        let events = &mut self.mailbox(person).events;
        let Some(series) = series else {
            events.retain(|event| text(event, "id") != id);
            return Ok(Value::Null);
        };
        let stored = events.iter_mut().find(|event| text(event, "id") == series).ok_or_else(missing)?;
        let day = text(&event, "occurrenceId").to_owned();
        stored["cancelledOccurrences"].as_array_mut().ok_or_else(missing)?.push(json!(day));
        let exceptions = stored["exceptionOccurrences"].as_array_mut().ok_or_else(missing)?;
        exceptions.retain(|exception| text(exception, "id") != id);
        Ok(Value::Null)
    }

    /// An event, or an instance with the id of its series.
    fn find_event(&mut self, person: &str, id: &str) -> Result<(Value, Option<String>), Refusal> {
        if let Some(event) = self.mailbox(person).events.iter().find(|event| text(event, "id") == id) {
            return Ok((event.clone(), None));
        }
        let all = self.events(person, "", true);
        let instance = all.into_iter().find(|event| text(event, "id") == id).ok_or_else(missing)?;
        let series = text(&instance, "seriesMasterId").to_owned();
        Ok((instance, Some(series)))
    }
}

/// A time as it was written. It is local to its zone.
fn moment(written: &Value) -> Result<(NaiveDateTime, Tz), Refusal> {
    let zone = text(written, "timeZone").parse::<Tz>().map_err(|_| wrong("TimeZoneNotSupported"))?;
    let at = NaiveDateTime::parse_from_str(text(written, "dateTime"), "%Y-%m-%dT%H:%M:%S%.f");
    Ok((at.map_err(|_| wrong("a time that is none"))?, zone))
}

/// A time as it is given.
fn utc(local: NaiveDateTime, zone: Tz) -> Value {
    let at = zone.from_local_datetime(&local).earliest().map_or(local, |at| at.naive_utc());
    json!({"dateTime": at.format("%Y-%m-%dT%H:%M:%S.0000000").to_string(), "timeZone": "UTC"})
}

/// Those that overlap the asked range.
fn within(query: &BTreeMap<String, String>, mut all: Vec<Value>) -> Result<Vec<Value>, Refusal> {
    let bound = |name: &str| -> Result<DateTime<Utc>, Refusal> {
        let bound = query.get(name).and_then(|at| at.parse().ok());
        bound.ok_or_else(|| wrong(format!("{name} is missing")))
    };
    let (from, to) = (bound("startDateTime")?.naive_utc(), bound("endDateTime")?.naive_utc());
    if to - from > TimeDelta::days(1_825) {
        return Err(wrong("the range is longer than five years"));
    }
    all.retain(|event| {
        let at = |name: &str| moment(&event[name]).map(|(at, _)| at).unwrap_or_default();
        at("start") < to && at("end") > from
    });
    Ok(all)
}

/// The instances of a series, without those that were deleted, and the exceptions in place of theirs.
fn instances(series: &Value) -> Vec<Value> {
    let zone: Tz = text(series, "originalStartTimeZone").parse().unwrap_or(Tz::UTC);
    let Ok((start, _)) = moment(&series["start"]) else { return Vec::new() };
    let Ok((end, _)) = moment(&series["end"]) else { return Vec::new() };
    let local = start.and_utc().with_timezone(&zone).naive_local();
    let range = &series["recurrence"]["range"];
    let last: Option<NaiveDate> = text(range, "endDate").parse().ok();
    let most = range["numberOfOccurrences"].as_u64().and_then(|most| usize::try_from(most).ok());
    let first: NaiveDate = text(range, "startDate").parse().unwrap_or(local.date());
    let days = first.iter_days().take(5 * 366).take_while(|day| last.is_none_or(|last| *day <= last));
    let days = days.filter(|day| is_on(&series["recurrence"]["pattern"], first, *day));
    let mut all = Vec::new();
    for day in days.take(most.unwrap_or(MAX_INSTANCES).min(MAX_INSTANCES)) {
        let occurrence = format!("OID.{}.{day}", text(series, "id"));
        let is_deleted = |list: &Value| list.as_array().is_some_and(|all| all.contains(&json!(occurrence)));
        if is_deleted(&series["cancelledOccurrences"]) {
            continue;
        }
        let mut exceptions = series["exceptionOccurrences"].as_array().into_iter().flatten();
        if let Some(exception) = exceptions.find(|one| text(one, "occurrenceId") == occurrence) {
            all.push(exception.clone());
            continue;
        }
        let from = day.and_time(local.time());
        let at = zone.from_local_datetime(&from).earliest().map_or(from, |at| at.naive_utc());
        let mut instance = series.clone();
        instance["id"] = json!(format!("{}.{day}", text(series, "id")));
        instance["occurrenceId"] = json!(occurrence);
        instance["seriesMasterId"] = series["id"].clone();
        instance["type"] = json!("occurrence");
        instance["recurrence"] = Value::Null;
        instance["singleValueExtendedProperties"] = json!([]);
        instance["originalStart"] = json!(at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
        instance["start"] = utc(at, Tz::UTC);
        instance["end"] = utc(at + (end - start), Tz::UTC);
        all.push(instance);
    }
    all
}

/// Whether a pattern has an instance on a day.
fn is_on(pattern: &Value, first: NaiveDate, day: NaiveDate) -> bool {
    let interval = pattern["interval"].as_i64().unwrap_or(1).max(1);
    let name = DAYS.get(usize::try_from(day.weekday().num_days_from_monday()).unwrap_or(0));
    let mut named = pattern["daysOfWeek"].as_array().into_iter().flatten();
    let is_named = named.any(|one| one.as_str() == name.copied());
    let month = |day: NaiveDate| i64::from(day.year()) * 12 + i64::from(day.month());
    let months = month(day) - month(first);
    let is_last = |day: NaiveDate| (day + TimeDelta::days(1)).month() != day.month();
    let is_absolute = || {
        let wanted = pattern["dayOfMonth"].as_u64().unwrap_or(1);
        u64::from(day.day()) == wanted || (u64::from(day.day()) < wanted && is_last(day))
    };
    let is_relative = || {
        let before = |number: u32| is_named && (day.day() - 1) / 7 == number;
        match text(pattern, "index") {
            "first" => before(0),
            "second" => before(1),
            "third" => before(2),
            "fourth" => before(3),
            _ => is_named && (day + TimeDelta::days(7)).month() != day.month(),
        }
    };
    let is_month = || u64::from(day.month()) == pattern["month"].as_u64().unwrap_or(1);
    match text(pattern, "type") {
        "daily" => (day - first).num_days() % interval == 0,
        "weekly" => {
            let monday = |day: NaiveDate| day - TimeDelta::days(day.weekday().num_days_from_monday().into());
            is_named && ((monday(day) - monday(first)).num_days() / 7) % interval == 0
        }
        "absoluteMonthly" => months % interval == 0 && is_absolute(),
        "relativeMonthly" => months % interval == 0 && is_relative(),
        "absoluteYearly" => is_month() && (months / 12) % interval == 0 && is_absolute(),
        "relativeYearly" => is_month() && (months / 12) % interval == 0 && is_relative(),
        _ => false,
    }
}
