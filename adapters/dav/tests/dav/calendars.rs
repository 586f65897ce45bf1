//! Calendars on Radicale; what we wrote is read back by python's `caldav`.

use adjutant_dav::{CalDav, CreateOutcome, ErrorKind, Series, WriteOutcome};
use adjutant_dav::{EventTime, Zone};
use adjutant_fakes::dav_server::{Kind as Collection, Server};
use chrono_tz::Tz;

use super::{account, berlin, meeting, series, server, span, stamp};

/// Prints the starts, in UTC, of what takes place in a calendar in spring 2026, expanded by the other client.
const STARTS: &str = r#"
import sys, datetime, caldav
url, user, path = sys.argv[1:4]
client = caldav.DAVClient(url=url, username=user, password=user + "-secret")
utc = datetime.timezone.utc
found = client.calendar(url=url.rstrip("/") + path).search(
    start=datetime.datetime(2026, 3, 1, tzinfo=utc), end=datetime.datetime(2026, 5, 1, tzinfo=utc), event=True, expand=True)
lines = []
for event in found:
    part = event.icalendar_component
    start = part["DTSTART"].dt.astimezone(utc).strftime("%m-%dT%H:%M")
    lines.append(f"{start} {part['SUMMARY']}")
print("\n".join(sorted(lines)))
"#;

fn starts(server: &Server, path: &str) -> String {
    server.python(STARTS, &[&server.url(), "me", path]).unwrap()
}

async fn calendar(server: &Server, name: &str) -> (CalDav, String) {
    let path = server.collection("me", name, Collection::Calendar).unwrap();
    let dav = CalDav::new(&account(&server.url(), "me")).unwrap();
    (dav, format!("{}{}", server.url().trim_end_matches('/'), path))
}

#[tokio::test]
async fn calendars_are_found_from_any_url() {
    let Some(server) = server() else { return };
    server.collection("ann", "work", Collection::Calendar).unwrap();
    server.collection("ann", "todo", Collection::Tasks).unwrap();
    server.collection("ann", "people", Collection::AddressBook).unwrap();
    for path in ["", "ann/", "ann/work/", ".well-known/caldav"] {
        let dav = CalDav::new(&account(&format!("{}{path}", server.url()), "ann")).unwrap();
        let found = dav.calendars().await.unwrap();
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert_eq!(found[0].name, "work of ann");
        assert_eq!(found[0].url, format!("{}ann/work/", server.url()));
        assert!(!dav.sends_invitations(&found[0].url).await.unwrap());
    }
}

#[tokio::test]
async fn a_refused_login_and_a_stranger_s_calendar() {
    let Some(server) = server() else { return };
    let mut wrong = account(&server.url(), "me");
    wrong.credential = "wrong".into();
    let error = CalDav::new(&wrong).unwrap().calendars().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth, "{error}");
    assert!(!format!("{error:?}").contains("wrong"));
    let theirs = server.collection("bob", "private", Collection::Calendar).unwrap();
    let dav = CalDav::new(&account(&server.url(), "me")).unwrap();
    let error = dav.create(&theirs, &series("x", None)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Permission, false), "{error}");
    assert_eq!(dav.get("/me/nowhere.ics").await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn what_we_write_another_client_reads() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "written").await;
    let written = series("weekly@example.org", Some("FREQ=WEEKLY;COUNT=3"));
    let CreateOutcome::Created { url: object, .. } = dav.create(&url, &written).await.unwrap() else {
        panic!()
    };
    // The clock changes on the 29th.
    let title = meeting("", None).title;
    assert_eq!(
        starts(server, "/me/written/"),
        format!("03-23T08:00 {title}\n03-30T07:00 {title}\n04-06T07:00 {title}\n")
    );
    let there = dav.get(&object).await.unwrap();
    let mut edited = Series::read(&there.text).unwrap();
    let mut one = meeting("weekly@example.org", None);
    one.title = "moved".to_owned();
    (one.start, one.end) = (berlin("2026-03-31 15:00"), berlin("2026-03-31 16:00"));
    edited.change_one(&berlin("2026-03-30 09:00"), &one, stamp()).unwrap();
    assert!(edited.delete_one(&berlin("2026-03-23 09:00"), stamp()).unwrap());
    let done = dav.update(&object, there.etag.as_deref(), &edited).await.unwrap();
    assert!(matches!(done, WriteOutcome::Done(_)), "{done:?}");
    assert_eq!(starts(server, "/me/written/"), format!("03-31T13:00 moved\n04-06T07:00 {title}\n"));
    // What follows becomes a series of its own.
    let there = dav.find(&url, "weekly@example.org").await.unwrap().unwrap();
    let mut head = Series::read(&there.text).unwrap();
    let mut new = meeting("", None);
    (new.start, new.end) = (berlin("2026-04-06 11:00"), berlin("2026-04-06 12:00"));
    new.rule = Some("FREQ=DAILY;COUNT=2".to_owned());
    let tail = head.change_following(&berlin("2026-04-06 09:00"), &new, "tail", stamp()).unwrap().unwrap();
    dav.create(&url, &tail).await.unwrap();
    dav.update(&there.url, there.etag.as_deref(), &head).await.unwrap();
    assert_eq!(
        starts(server, "/me/written/"),
        format!("03-31T13:00 moved\n04-06T09:00 {title}\n04-07T09:00 {title}\n")
    );
}

#[tokio::test]
async fn a_calendar_has_another_tag_once_something_changed() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "tagged").await;
    let empty = dav.tag(&url).await.unwrap();
    assert!(!empty.is_empty());
    assert_eq!(dav.tag(&url).await.unwrap(), empty);
    let CreateOutcome::Created { url: object, etag } = dav.create(&url, &series("a", None)).await.unwrap()
    else {
        panic!()
    };
    let created = dav.tag(&url).await.unwrap();
    assert_ne!(created, empty);
    dav.delete(&object, etag.as_deref()).await.unwrap();
    assert_ne!(dav.tag(&url).await.unwrap(), created);
    assert_eq!(dav.tag("/me/nowhere/").await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_second_try_finds_the_first() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "twice").await;
    let written = series("once/ü@example.org", None);
    assert!(matches!(dav.create(&url, &written).await.unwrap(), CreateOutcome::Created { .. }));
    let CreateOutcome::AlreadyExists(there) = dav.create(&url, &written).await.unwrap() else { panic!() };
    assert_eq!(Series::read(&there.text).unwrap().uid(), "once/ü@example.org");
    // Also when another program has put it elsewhere.
    server.put("/me/twice/", "elsewhere.ics", &series("other", None).text()).unwrap();
    let again = dav.create(&url, &series("other", None)).await.unwrap();
    let CreateOutcome::AlreadyExists(there) = again else { panic!("{again:?}") };
    assert!(there.url.ends_with("elsewhere.ics"));
    assert_eq!(dav.find(&url, "once").await.unwrap(), None, "a part of a UID is not the UID");
}

#[tokio::test]
async fn whoever_is_late_is_told_how_it_is_now() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "late").await;
    let CreateOutcome::Created { url: object, .. } = dav.create(&url, &series("a", None)).await.unwrap()
    else {
        panic!()
    };
    let there = dav.get(&object).await.unwrap();
    let change = |title: &str| {
        let mut series = Series::read(&there.text).unwrap();
        let mut event = series.event().unwrap();
        event.title = title.to_owned();
        series.change_all(&event, stamp()).unwrap();
        series
    };
    let first = dav.update(&object, there.etag.as_deref(), &change("first")).await.unwrap();
    assert!(matches!(first, WriteOutcome::Done(_)));
    let second = dav.update(&object, there.etag.as_deref(), &change("second")).await.unwrap();
    let WriteOutcome::Conflict(now) = second else { panic!("{second:?}") };
    assert_eq!(Series::read(&now.text).unwrap().event().unwrap().title, "first");
    assert!(matches!(dav.delete(&object, there.etag.as_deref()).await.unwrap(), WriteOutcome::Conflict(_)));
    assert!(matches!(dav.delete(&object, now.etag.as_deref()).await.unwrap(), WriteOutcome::Done(_)));
    assert_eq!(dav.delete(&object, now.etag.as_deref()).await.unwrap(), WriteOutcome::Gone);
    assert_eq!(dav.update(&object, now.etag.as_deref(), &change("third")).await.unwrap(), WriteOutcome::Gone);
}

#[tokio::test]
async fn a_window_lists_what_recurs_into_it() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "window").await;
    for (uid, rule) in [("a", Some("FREQ=DAILY")), ("b", None), ("c", Some("FREQ=YEARLY"))] {
        dav.create(&url, &series(uid, rule)).await.unwrap();
    }
    let window = span("2027-03-23T00:00:00Z", "2027-03-24T00:00:00Z");
    let mut uids: Vec<String> = Vec::new();
    for resource in dav.list(&url, window).await.unwrap() {
        let series = Series::read(&resource.text).unwrap();
        assert_eq!(series.occurrences(window, Tz::UTC, 10).unwrap().occurrences.len(), 1);
        assert!(resource.etag.is_some());
        uids.push(series.uid());
    }
    uids.sort();
    assert_eq!(uids, ["a", "c"]);
}

#[tokio::test]
async fn what_we_do_not_know_survives_on_the_server() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "foreign").await;
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Other//EN\r\nBEGIN:VEVENT\r\nUID:f\r\n\
        DTSTAMP:20260101T000000Z\r\nDTSTART:20260323T080000Z\r\nDURATION:PT1H\r\nSUMMARY:Theirs\r\n\
        X-ODD;X-P=\"a;b\":1\\,2\r\nCLASS:PRIVATE\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    server.put("/me/foreign/", "f.ics", text).unwrap();
    let there = dav.find(&url, "f").await.unwrap().unwrap();
    let mut series = Series::read(&there.text).unwrap();
    let mut event = series.event().unwrap();
    event.location = "Here".to_owned();
    series.change_all(&event, stamp()).unwrap();
    dav.update(&there.url, there.etag.as_deref(), &series).await.unwrap();
    let now = dav.get(&there.url).await.unwrap().text;
    for line in ["X-ODD;X-P=\"a;b\":1\\,2", "CLASS:PRIVATE", "DURATION:PT1H", "LOCATION:Here"] {
        assert!(now.lines().any(|ours| ours == line), "{line} in {now}");
    }
}

/// Prints, for each object, the hours between 2026 and 2036 at which the zone as we describe it and the zone
/// of the same name as python knows it differ.
const ZONES: &str = r#"
import sys, datetime, zoneinfo, caldav, icalendar
url, user, path = sys.argv[1:4]
client = caldav.DAVClient(url=url, username=user, password=user + "-secret")
utc = datetime.timezone.utc
for event in client.calendar(url=url.rstrip("/") + path).events():
    (described,) = icalendar.Calendar.from_ical(event.data).walk("VTIMEZONE")
    ours, theirs = described.to_tz(lookup_tzid=False), zoneinfo.ZoneInfo(described["TZID"])
    assert ours is not theirs
    hours = (datetime.datetime(2026, 1, 2, tzinfo=utc) + datetime.timedelta(hours=n) for n in range(0, 24 * 3650, 5))
    print(described["TZID"], [h.isoformat() for h in hours if h.astimezone(ours).utcoffset() != h.astimezone(theirs).utcoffset()][:5])
"#;

#[tokio::test]
async fn another_client_understands_our_zones() {
    let Some(server) = server() else { return };
    let (dav, url) = calendar(server, "zones").await;
    let zones = [Tz::Europe__Berlin, Tz::America__New_York, Tz::Australia__Sydney, Tz::America__Sao_Paulo];
    for zone in zones {
        let mut event = meeting(zone.name(), None);
        let there = |when: &EventTime| EventTime::Zoned(when.local(), Zone::Named(zone));
        (event.start, event.end) = (there(&event.start), there(&event.end));
        dav.create(&url, &Series::new(&event, stamp()).unwrap()).await.unwrap();
    }
    let said = server.python(ZONES, &[&server.url(), "me", "/me/zones/"]).unwrap();
    let mut said: Vec<&str> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(
        said,
        ["America/New_York []", "America/Sao_Paulo []", "Australia/Sydney []", "Europe/Berlin []"]
    );
}
