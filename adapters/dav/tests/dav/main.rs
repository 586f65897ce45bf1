//! The client against a real server (Radicale), and against one that misbehaves.

#![cfg(test)] // so that the lints know the helpers for tests too

mod calendars;
mod contacts;
mod google;
mod misbehaviour;

use std::time::Duration;

use adjutant_dav::{Account, CalendarEvent, EventStatus, EventTime, Quirks, Series, TimeRange, Zone};
use adjutant_fakes::dav_server::{self, Server};
use chrono::{DateTime, NaiveDateTime, Utc};
use chrono_tz::Tz;

/// The real server, or none where it can't be installed.
fn server() -> Option<&'static Server> {
    dav_server::shared().unwrap()
}

fn account(url: &str, user: &str) -> Account {
    Account {
        url: url.to_owned(),
        user: user.to_owned(),
        credential: format!("{user}-secret").into(),
        ca_pem: None,
        timeout: Duration::from_secs(20),
        quirks: Quirks::default(),
        address_filter: None,
    }
}

fn moment(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn stamp() -> DateTime<Utc> {
    moment("2026-11-21T12:00:00Z")
}

fn span(from: &str, to: &str) -> TimeRange {
    TimeRange { from: moment(from), to: moment(to) }
}

fn berlin(text: &str) -> EventTime {
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
    EventTime::Zoned(local, Zone::Named(Tz::Europe__Berlin))
}

fn meeting(uid: &str, rule: Option<&str>) -> CalendarEvent {
    CalendarEvent {
        uid: uid.to_owned(),
        title: "Café; um 9, täglich".to_owned(),
        start: berlin("2026-03-23 09:00"),
        end: berlin("2026-03-23 09:30"),
        location: "Raum 1".to_owned(),
        notes: "a\nb".to_owned(),
        organizer: None,
        attendees: Vec::new(),
        reminders: vec![15],
        rule: rule.map(str::to_owned),
        except: Vec::new(),
        status: EventStatus::Confirmed,
        is_busy: true,
        sequence: 0,
        instance: None,
    }
}

fn series(uid: &str, rule: Option<&str>) -> Series {
    Series::new(&meeting(uid, rule), stamp()).unwrap()
}
