//! Between an event of Graph (<https://learn.microsoft.com/graph/api/resources/event>) and iCalendar.

use adjutant_dav::{
    Attendee, CalendarEvent, DavError, EventStatus, EventTime, ResponseStatus, Series, Zone, zone_named,
};
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

use crate::recurrence::{from_graph, to_graph};
use crate::{UID, changed_at, is_plausible, property, text, uid_of};

/// What is asked of an event.
pub(crate) const FIELDS: &str = "id,subject,body,start,end,isAllDay,location,organizer,attendees,\
    isReminderOn,reminderMinutesBeforeStart,showAs,isCancelled,type,seriesMasterId,originalStart,\
    originalStartTimeZone,recurrence,lastModifiedDateTime";

/// The property that holds the zone in which an event of ours was planned: the service gives Windows zones, of which several
/// of ours are one.
pub(crate) const ZONE: &str = "String {6f5b3c52-8f0e-4a3c-9d55-3f2f0a7b9c11} Name adjutant-zone";

/// How times and texts are given in answers.
pub(crate) const PREFER: &str = "outlook.timezone=\"UTC\", outlook.body-content-type=\"text\"";

/// The properties of ours that are asked for.
pub(crate) fn expand() -> String {
    crate::expand(&[UID, ZONE])
}

fn refused(what: &str) -> DavError {
    DavError::params(format!("Outlook's calendar can't hold {what}"))
}

/// A whole series with its exceptions, or a single event.
pub(crate) fn series(master: &Value) -> Result<Series, DavError> {
    let (uid, zone) = (uid_of(master, "id"), zone_of(master));
    let unreadable = || DavError::tool("Microsoft's answer isn't an event");
    let first = stamped(master, &uid, &zone).ok_or_else(unreadable)?;
    let exception = |one: &Value| {
        let (event, at) = stamped(one, &uid, &zone)?;
        let instance = Some(original_start(one, &zone)?);
        Some((CalendarEvent { instance, rule: None, except: Vec::new(), ..event }, at))
    };
    let exceptions = master["exceptionOccurrences"].as_array().into_iter().flatten();
    Series::of(std::iter::once(first).chain(exceptions.filter_map(exception)))
}

/// Instances of one series, without the series itself.
pub(crate) fn instances(all: &[Value]) -> Result<Series, DavError> {
    let instance = |one: &Value| {
        // Of the series: an instance has another one.
        let (uid, zone) = (uid_of(one, "seriesMasterId"), zone_of(one));
        let (event, at) = stamped(one, &uid, &zone)?;
        let instance = Some(original_start(one, &zone).unwrap_or_else(|| event.start.clone()));
        Some((CalendarEvent { instance, rule: None, except: Vec::new(), ..event }, at))
    };
    Series::of(all.iter().filter_map(instance))
}

/// The start that an instance has by its rule.
pub(crate) fn original_start(instance: &Value, zone: &Zone) -> Option<EventTime> {
    let at = DateTime::parse_from_rfc3339(text(instance, "originalStart")).ok()?.with_timezone(&Utc);
    Some(match instance["isAllDay"] == json!(true) {
        true => EventTime::Day(at.date_naive()),
        false => EventTime::Zoned(zone.local(at), zone.clone()),
    })
}

/// The zone in which an event was planned.
pub(crate) fn zone_of(event: &Value) -> Zone {
    let name = property(event, ZONE).unwrap_or_else(|| text(event, "originalStartTimeZone"));
    Zone::Named(zone_named(name).unwrap_or(Tz::UTC))
}

/// An event, and when it was last changed.
fn stamped(item: &Value, uid: &str, zone: &Zone) -> Option<(CalendarEvent, DateTime<Utc>)> {
    Some((read(item, uid, zone)?, changed_at(item)))
}

fn read(item: &Value, uid: &str, zone: &Zone) -> Option<CalendarEvent> {
    let is_all_day = item["isAllDay"] == json!(true);
    let time = |name: &str| {
        let at = NaiveDateTime::parse_from_str(text(&item[name], "dateTime"), "%Y-%m-%dT%H:%M:%S%.f");
        let at = at.ok().filter(|at| is_plausible(at.date()))?;
        Some(match is_all_day {
            true => EventTime::Day(at.date()),
            false => EventTime::Zoned(zone.local(at.and_utc()), zone.clone()),
        })
    };
    let start = time("start")?;
    let status = match text(item, "showAs") {
        _ if item["isCancelled"] == json!(true) => EventStatus::Cancelled,
        "tentative" => EventStatus::Tentative,
        _ => EventStatus::Confirmed,
    };
    let guests = item["attendees"].as_array().into_iter().flatten().filter_map(attendee);
    let attendees: Vec<Attendee> = guests.collect();
    let minutes = item["reminderMinutesBeforeStart"].as_u64().and_then(|minutes| u32::try_from(minutes).ok());
    let deleted = item["cancelledOccurrences"].as_array().into_iter().flatten();
    Some(CalendarEvent {
        uid: uid.to_owned(),
        title: text(item, "subject").to_owned(),
        end: time("end")?,
        location: text(&item["location"], "displayName").to_owned(),
        notes: text(&item["body"], "content").replace("\r\n", "\n").trim_end().to_owned(),
        organizer: attendee(&item["organizer"]).filter(|_| !attendees.is_empty()),
        attendees,
        reminders: minutes.filter(|_| item["isReminderOn"] == json!(true)).into_iter().collect(),
        rule: Some(&item["recurrence"]).filter(|it| it.is_object()).and_then(|it| from_graph(it, &start)),
        except: deleted.filter_map(|id| on_day(&start, id.as_str()?)).collect(),
        status,
        is_busy: text(item, "showAs") != "free",
        sequence: 0,
        instance: None,
        start,
    })
}

/// The start of a deleted instance, of which an id that ends in its day is left: `OID.….2026-11-29`.
fn on_day(start: &EventTime, id: &str) -> Option<EventTime> {
    let day: NaiveDate = id.rsplit('.').next()?.parse().ok().filter(|day| is_plausible(*day))?;
    Some(start.at(day.and_time(start.local().time())))
}

/// A guest; none if the address isn't one, as with people inside of some organizations.
fn attendee(party: &Value) -> Option<Attendee> {
    let address = text(&party["emailAddress"], "address");
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let response = match text(&party["status"], "response") {
        "accepted" | "organizer" => ResponseStatus::Accepted,
        "declined" => ResponseStatus::Declined,
        "tentativelyAccepted" => ResponseStatus::Tentative,
        _ => ResponseStatus::NeedsAction,
    };
    let name = text(&party["emailAddress"], "name").to_owned();
    let attendee = Attendee { address: address.to_owned(), name, response };
    (!address.is_empty() && address.chars().all(is_plain)).then_some(attendee)
}

/// An instance as its series plans it.
pub(crate) fn planned(master: &CalendarEvent, instance: &EventTime) -> CalendarEvent {
    let length = master.end.instant(Tz::UTC) - master.start.instant(Tz::UTC);
    let end = instance.at(match instance {
        EventTime::Zoned(_, zone) => zone.local(instance.instant(Tz::UTC) + length),
        _ => instance.local() + length,
    });
    let (start, instance) = (instance.clone(), Some(instance.clone()));
    CalendarEvent { start, end, instance, rule: None, except: Vec::new(), ..master.clone() }
}

/// The fields that differ, as Graph says them; all if the event is new.
pub(crate) fn changes(
    before: Option<&CalendarEvent>,
    new: &CalendarEvent,
) -> Result<Map<String, Value>, DavError> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    if before.is_none_or(|before| before.title != new.title) {
        set("subject", json!(new.title));
    }
    if before.is_none_or(|before| before.notes != new.notes) {
        set("body", json!({"contentType": "text", "content": new.notes}));
    }
    if before.is_none_or(|before| before.location != new.location) {
        set("location", json!({"displayName": new.location}));
    }
    if before.is_none_or(|before| before.reminders != new.reminders) {
        match new.reminders.as_slice() {
            [] => set("isReminderOn", json!(false)),
            [minutes] => {
                set("isReminderOn", json!(true));
                set("reminderMinutesBeforeStart", json!(minutes));
            }
            _ => return Err(refused("more than one reminder of an event")),
        }
    }
    let people = |event: &CalendarEvent| -> Vec<(String, String)> {
        event.attendees.iter().map(|guest| (guest.address.to_lowercase(), guest.name.clone())).collect()
    };
    if before.map_or(!new.attendees.is_empty(), |before| people(before) != people(new)) {
        let guest = |guest: &Attendee| {
            let name = if guest.name.is_empty() { &guest.address } else { &guest.name };
            json!({"emailAddress": {"address": guest.address, "name": name}, "type": "required"})
        };
        set("attendees", new.attendees.iter().map(guest).collect());
    }
    if before.is_none_or(|before| (before.status, before.is_busy) != (new.status, new.is_busy)) {
        let shown = match (new.status, new.is_busy) {
            (EventStatus::Cancelled, _) => return Err(refused("a cancelled event: delete it")),
            (_, false) => "free",
            (EventStatus::Tentative, true) => "tentative",
            (EventStatus::Confirmed, true) => "busy",
        };
        set("showAs", json!(shown));
    }
    let is_moved = before.is_none_or(|before| before.start != new.start || before.end != new.end);
    if is_moved {
        let is_recurring = new.rule.is_some();
        set("start", moment(&new.start, is_recurring)?);
        set("end", moment(&new.end, is_recurring)?);
        set("isAllDay", json!(matches!(new.start, EventTime::Day(_))));
        if let (EventTime::Zoned(_, zone @ Zone::Named(_)), None) = (&new.start, &new.instance) {
            set("singleValueExtendedProperties", json!([{"id": ZONE, "value": zone.name()}]));
        }
    }
    let rule = |event: &CalendarEvent| event.rule.as_deref().map(|rule| rule.trim().to_ascii_uppercase());
    match &new.rule {
        Some(text) if is_moved || before.is_none_or(|before| rule(before) != rule(new)) => {
            set("recurrence", to_graph(text, &new.start)?);
        }
        None if before.is_some_and(|before| before.rule.is_some()) => set("recurrence", Value::Null),
        _ => {}
    }
    Ok(fields)
}

/// A time as Graph takes it (<https://learn.microsoft.com/graph/api/resources/datetimetimezone>). Only a series needs its
/// zone.
fn moment(when: &EventTime, is_recurring: bool) -> Result<Value, DavError> {
    let at = |local: NaiveDateTime, zone: &str| json!({"dateTime": local.format("%Y-%m-%dT%H:%M:%S").to_string(), "timeZone": zone});
    match when {
        EventTime::Day(_) => Ok(at(when.local(), "UTC")),
        EventTime::Zoned(local, zone @ Zone::Named(_)) if is_recurring => Ok(at(*local, zone.name())),
        EventTime::Zoned(..) if !is_recurring => Ok(at(when.instant(Tz::UTC).naive_utc(), "UTC")),
        _ => Err(refused("a time without a known zone")),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_dav::ErrorKind;

    use super::*;

    fn event() -> CalendarEvent {
        let zone = Zone::Named(Tz::Europe__Vienna);
        let at = |local: &str| EventTime::Zoned(local.parse().unwrap(), zone.clone());
        CalendarEvent {
            uid: "1@adjutant".to_owned(),
            title: "Review; weekly".to_owned(),
            start: at("2026-11-23T09:00:00"),
            end: at("2026-11-23T10:00:00"),
            location: "Room 1".to_owned(),
            notes: "First line\nsecond".to_owned(),
            organizer: None,
            attendees: Vec::new(),
            reminders: vec![10],
            rule: Some("FREQ=WEEKLY;BYDAY=MO".to_owned()),
            except: Vec::new(),
            status: EventStatus::Confirmed,
            is_busy: true,
            sequence: 0,
            instance: None,
        }
    }

    /// What the service gives for what it was given.
    fn given(event: &CalendarEvent) -> Value {
        let mut item = Value::Object(changes(None, event).unwrap());
        for (name, when) in [("start", &event.start), ("end", &event.end)] {
            let at = when.instant(Tz::UTC).format("%Y-%m-%dT%H:%M:%S.0000000").to_string();
            item[name] = json!({"dateTime": at});
        }
        item["id"] = json!("AAMk-1");
        item["originalStartTimeZone"] = json!("W. Europe Standard Time");
        let own = json!({"id": UID, "value": event.uid});
        item["singleValueExtendedProperties"].as_array_mut().unwrap().push(own);
        item
    }

    #[test]
    fn an_event_comes_back_as_it_was() {
        assert_eq!(series(&given(&event())).unwrap().event().unwrap(), event());
        let day = |text: &str| EventTime::Day(text.parse().unwrap());
        let holiday = CalendarEvent {
            start: day("2026-11-23"),
            end: day("2026-11-25"),
            rule: None,
            reminders: Vec::new(),
            is_busy: false,
            ..event()
        };
        let mut item = given(&event());
        item["recurrence"] = Value::Null;
        for (name, value) in changes(None, &holiday).unwrap() {
            item[name] = value;
        }
        item["singleValueExtendedProperties"] = json!([{"id": UID, "value": "1@adjutant"}]);
        item["start"]["dateTime"] = json!("2026-11-23T00:00:00.0000000");
        item["end"]["dateTime"] = json!("2026-11-25T00:00:00.0000000");
        assert_eq!(series(&item).unwrap().event().unwrap(), holiday);
    }

    #[test]
    fn exceptions_and_deleted_instances_come_along() {
        let mut item = given(&event());
        item["cancelledOccurrences"] = json!(["OID.AAMk-1.2026-11-30"]);
        item["exceptionOccurrences"] = json!([{
            "id": "AAMk-2", "subject": "Moved", "originalStart": "2026-12-07T08:00:00Z", "showAs": "busy",
            "start": {"dateTime": "2026-12-08T08:00:00.0000000"},
            "end": {"dateTime": "2026-12-08T09:00:00.0000000"},
        }]);
        let series = series(&item).unwrap();
        let deleted = series.event().unwrap().except[0].instant(Tz::UTC);
        assert_eq!(deleted.to_rfc3339(), "2026-11-30T08:00:00+00:00");
        let moved = series.overrides().unwrap();
        assert_eq!((moved[0].title.as_str(), moved.len()), ("Moved", 1));
        let range = adjutant_dav::TimeRange {
            from: "2026-11-23T00:00:00Z".parse().unwrap(),
            to: "2026-12-15T00:00:00Z".parse().unwrap(),
        };
        let days: Vec<String> = series
            .occurrences(range, Tz::UTC, 10)
            .unwrap()
            .occurrences
            .iter()
            .map(|one| one.start.local().format("%m-%d %H:%M").to_string())
            .collect();
        assert_eq!(days, ["11-23 09:00", "12-08 09:00", "12-14 09:00"]);
    }

    #[test]
    fn days_beyond_all_calendars_are_none() {
        for at in ["+262142-12-31T23:30:00.0", "-262143-01-01T00:30:00.0"] {
            for name in ["start", "end"] {
                let mut item = given(&event());
                item[name]["dateTime"] = json!(at);
                assert!(series(&item).is_err(), "{name} {at}");
            }
        }
        let mut item = given(&event());
        item["cancelledOccurrences"] = json!(["OID.AAMk-1.+262142-12-31"]);
        item["recurrence"]["range"] = json!({"type": "endDate", "endDate": "+262142-12-31"});
        let read = series(&item).unwrap().event().unwrap();
        assert_eq!((read.except, read.rule), (Vec::new(), None));
    }

    #[test]
    fn instances_are_a_series_without_its_rule() {
        let instance = |day: &str| {
            json!({
                "id": format!("AAMk-{day}"), "type": "occurrence", "seriesMasterId": "AAMk-1",
                "originalStart": format!("2026-11-{day}T08:00:00Z"), "originalStartTimeZone": "UTC",
                "start": {"dateTime": format!("2026-11-{day}T08:00:00.0000000")},
                "end": {"dateTime": format!("2026-11-{day}T09:00:00.0000000")},
            })
        };
        let series = instances(&[instance("23"), instance("30")]).unwrap();
        assert_eq!((series.uid().as_str(), series.overrides().unwrap().len()), ("graph:AAMk-1", 2));
    }

    #[test]
    fn only_what_differs_is_written() {
        let renamed = CalendarEvent { title: "Other".to_owned(), ..event() };
        assert_eq!(json!(changes(Some(&event()), &renamed).unwrap()), json!({"subject": "Other"}));
        let twice = CalendarEvent { reminders: vec![10, 60], ..event() };
        assert_eq!(changes(Some(&event()), &twice).unwrap_err().kind, ErrorKind::Params);
        let single = CalendarEvent { rule: None, ..event() };
        assert_eq!(json!(changes(Some(&event()), &single).unwrap()), json!({"recurrence": null}));
    }
}
