//! Reading, expanding and editing calendar objects, as a caller does it.

use std::fmt::Write;

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use proptest::prelude::*;

use super::*;
use crate::ical::rule::date_time;
use crate::{Attendee, ErrorKind, EventStatus, ResponseStatus, TimeRange};

const HOME: Tz = Tz::Europe__Berlin;

fn moment(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn stamp() -> DateTime<Utc> {
    moment("2026-11-21T12:00:00Z")
}

fn local(text: &str) -> NaiveDateTime {
    date_time(text).unwrap()
}

fn zoned(text: &str, zone: Tz) -> EventTime {
    EventTime::Zoned(local(text), Zone::Named(zone))
}

fn berlin(text: &str) -> EventTime {
    zoned(text, Tz::Europe__Berlin)
}

fn span(from: &str, to: &str) -> TimeRange {
    TimeRange { from: moment(from), to: moment(to) }
}

fn year() -> TimeRange {
    span("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
}

fn meeting() -> CalendarEvent {
    CalendarEvent {
        uid: "1@example.org".into(),
        title: "Stand-up; daily, short".into(),
        start: berlin("20260105T090000"),
        end: berlin("20260105T093000"),
        location: String::new(),
        notes: String::new(),
        organizer: None,
        attendees: Vec::new(),
        reminders: Vec::new(),
        rule: None,
        except: Vec::new(),
        status: EventStatus::Confirmed,
        is_busy: true,
        sequence: 0,
        instance: None,
    }
}

fn weekly(rule: &str) -> Series {
    Series::new(&CalendarEvent { rule: Some(rule.into()), ..meeting() }, stamp()).unwrap()
}

/// An object with these lines in its one event.
fn with(lines: &str) -> Result<Series, DavError> {
    Series::read(&format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:1\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    ))
}

/// What takes place, a line each: the local start, the moments, the title if it is not the usual one.
fn listed(series: &Series, window: TimeRange) -> String {
    let expansion = series.occurrences(window, HOME, 1_000).unwrap();
    assert!(!expansion.is_truncated);
    let mut list = String::new();
    let events = series.events_at(&expansion.occurrences).unwrap();
    assert_eq!(events.len(), expansion.occurrences.len());
    for (occurrence, event) in expansion.occurrences.iter().zip(events) {
        assert_eq!(series.event_at(occurrence).as_ref(), Ok(&event));
        assert_eq!(occurrence.is_busy, event.is_busy);
        let start = match &occurrence.start {
            EventTime::Day(day) => day.format("%m-%d").to_string(),
            other => other.local().format("%m-%d %H:%M").to_string(),
        };
        let moments = occurrence.range.from.format("%m-%dT%H:%M").to_string();
        let minutes = (occurrence.range.to - occurrence.range.from).num_minutes();
        let title = if event.title == meeting().title { "" } else { &event.title };
        writeln!(list, "{start} {moments}Z {minutes}m {title}").unwrap();
    }
    list.replace(" \n", "\n")
}

fn edited(series: &Series) -> String {
    let text = series.text().replace("\r\n", "\n");
    let from = text.find("BEGIN:VEVENT").unwrap();
    text[from..].trim_end_matches("END:VCALENDAR\n").to_owned()
}

/// An occasion that has everything.
fn full() -> CalendarEvent {
    CalendarEvent {
        location: "Café, 1. Stock".into(),
        notes: "bring:\n- tea\\coffee".into(),
        organizer: Some(Attendee {
            address: "me@example.org".into(),
            name: "Me".into(),
            response: ResponseStatus::NeedsAction,
        }),
        attendees: vec![Attendee {
            address: "bob@example.org".into(),
            name: "Bob \"B\", jr".into(),
            response: ResponseStatus::NeedsAction,
        }],
        reminders: vec![10, 60],
        rule: Some("FREQ=WEEKLY;BYDAY=MO".into()),
        except: vec![berlin("20260112T090000")],
        status: EventStatus::Tentative,
        is_busy: false,
        ..meeting()
    }
}

#[test]
fn a_new_occasion_is_written_and_read_back() {
    let event = full();
    let series = Series::new(&event, stamp()).unwrap();
    insta::assert_snapshot!(series.text().replace("\r\n", "\n"), @r#"
    BEGIN:VCALENDAR
    VERSION:2.0
    PRODID:-//Adjutant//Adjutant//EN
    BEGIN:VTIMEZONE
    TZID:Europe/Berlin
    BEGIN:STANDARD
    DTSTART:20250101T000000
    TZOFFSETFROM:+0100
    TZOFFSETTO:+0100
    END:STANDARD
    BEGIN:DAYLIGHT
    DTSTART:20250330T020000
    TZOFFSETFROM:+0100
    TZOFFSETTO:+0200
    RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
    END:DAYLIGHT
    BEGIN:STANDARD
    DTSTART:20251026T030000
    TZOFFSETFROM:+0200
    TZOFFSETTO:+0100
    RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
    END:STANDARD
    END:VTIMEZONE
    BEGIN:VEVENT
    UID:1@example.org
    SUMMARY:Stand-up\; daily\, short
    LOCATION:Café\, 1. Stock
    DESCRIPTION:bring:\n- tea\\coffee
    DTSTART;TZID=Europe/Berlin:20260105T090000
    DTEND;TZID=Europe/Berlin:20260105T093000
    RRULE:FREQ=WEEKLY;BYDAY=MO
    EXDATE;TZID=Europe/Berlin:20260112T090000
    STATUS:TENTATIVE
    TRANSP:TRANSPARENT
    ORGANIZER;CN=Me:mailto:me@example.org
    ATTENDEE;CN="Bob ^'B^', jr";PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:bob@exam
     ple.org
    DTSTAMP:20261121T120000Z
    LAST-MODIFIED:20261121T120000Z
    SEQUENCE:0
    BEGIN:VALARM
    ACTION:DISPLAY
    TRIGGER:-PT10M
    DESCRIPTION:Stand-up\; daily\, short
    END:VALARM
    BEGIN:VALARM
    ACTION:DISPLAY
    TRIGGER:-PT60M
    DESCRIPTION:Stand-up\; daily\, short
    END:VALARM
    END:VEVENT
    END:VCALENDAR
    "#);
    let read = Series::read(&series.text()).unwrap();
    assert_eq!(read, series);
    assert_eq!(read.event().unwrap(), event);
}

#[test]
fn nine_oclock_stays_nine_oclock_over_both_changes_of_the_year() {
    for (zone, before, after) in [
        (
            Tz::Europe__Berlin,
            ["2026-03-23T08:00:00Z", "2026-10-19T07:00:00Z"],
            ["2026-03-30T07:00:00Z", "2026-10-26T08:00:00Z"],
        ),
        (
            Tz::America__New_York,
            ["2026-03-02T14:00:00Z", "2026-10-26T13:00:00Z"],
            ["2026-03-09T13:00:00Z", "2026-11-02T14:00:00Z"],
        ),
        (
            Tz::Australia__Sydney,
            ["2026-03-29T22:00:00Z", "2026-09-27T23:00:00Z"],
            ["2026-04-05T23:00:00Z", "2026-10-04T22:00:00Z"],
        ),
    ] {
        let event = CalendarEvent {
            start: zoned("20260105T090000", zone),
            end: zoned("20260105T093000", zone),
            rule: Some("FREQ=WEEKLY".into()),
            ..meeting()
        };
        let series = Series::new(&event, stamp()).unwrap();
        let found = series.occurrences(year(), HOME, 100).unwrap().occurrences;
        assert_eq!(found.len(), 52);
        assert!(
            found.iter().all(|one| one.start.local().time() == local("20260101T090000").time()),
            "{zone}"
        );
        for at in before.iter().chain(&after) {
            assert!(found.iter().any(|one| one.range.from == moment(at)), "{zone} {at}");
        }
    }
}

#[test]
fn times_that_the_clock_skips_or_doubles() {
    let daily = |start: &str, end: &str| {
        with(&format!(
            "DTSTART;TZID=Europe/Berlin:{start}\nDTEND;TZID=Europe/Berlin:{end}\nRRULE:FREQ=DAILY;COUNT=3"
        ))
        .unwrap()
    };
    insta::assert_snapshot!(listed(&daily("20260328T023000", "20260328T030000"), year()), @r"
    03-28 02:30 03-28T01:30Z 30m
    03-29 03:30 03-29T01:30Z 30m
    03-30 02:30 03-30T00:30Z 30m
    ");
    insta::assert_snapshot!(listed(&daily("20261024T023000", "20261024T033000"), year()), @r"
    10-24 02:30 10-24T00:30Z 60m
    10-25 02:30 10-25T00:30Z 60m
    10-26 02:30 10-26T01:30Z 60m
    ");
}

#[test]
fn what_is_left_out_added_moved_and_cancelled() {
    let text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT30M\n\
        SUMMARY:S\nRRULE:FREQ=WEEKLY;COUNT=6\nEXDATE;TZID=Europe/Berlin:20260112T090000\nEXDATE:20260119T080000Z\n\
        RDATE;TZID=America/New_York:20260107T030000\nEND:VEVENT\nBEGIN:VEVENT\nUID:1\n\
        RECURRENCE-ID:20260126T080000Z\nDTSTART;TZID=Europe/Berlin:20260301T110000\nSUMMARY:moved\nDURATION:PT1H\nEND:VEVENT\n\
        BEGIN:VEVENT\nUID:1\nRECURRENCE-ID;TZID=Europe/Berlin:20260202T090000\nDTSTART;TZID=Europe/Berlin:20260202T090000\n\
        STATUS:CANCELLED\nEND:VEVENT\nEND:VCALENDAR\n";
    let series = Series::read(text).unwrap();
    insta::assert_snapshot!(listed(&series, year()), @r"
    01-05 09:00 01-05T08:00Z 30m S
    01-07 09:00 01-07T08:00Z 30m S
    02-09 09:00 02-09T08:00Z 30m S
    03-01 11:00 03-01T10:00Z 60m moved
    ");
    // In a window where the rule would put it, the moved one is not; where it was moved to, it is.
    assert_eq!(listed(&series, span("2026-01-20T00:00:00Z", "2026-02-01T00:00:00Z")), "");
    assert_eq!(listed(&series, span("2026-03-01T10:59:00Z", "2026-03-02T00:00:00Z")).lines().count(), 1);
    assert_eq!(series.overrides().unwrap().len(), 2);
}

#[test]
fn this_and_future_moves_what_follows() {
    let text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260105T090000Z\nDURATION:PT30M\nSUMMARY:S\n\
        RRULE:FREQ=WEEKLY;COUNT=4\nEND:VEVENT\nBEGIN:VEVENT\nUID:1\nSUMMARY:late\n\
        RECURRENCE-ID;RANGE=THISANDFUTURE:20260119T090000Z\nDTSTART:20260120T100000Z\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n";
    insta::assert_snapshot!(listed(&Series::read(text).unwrap(), year()), @r"
    01-05 09:00 01-05T09:00Z 30m S
    01-12 09:00 01-12T09:00Z 30m S
    01-20 10:00 01-20T10:00Z 60m late
    01-27 10:00 01-27T10:00Z 60m late
    ");
}

#[test]
fn ends_by_count_by_moment_and_by_day() {
    let count = |rule: &str, start: &str| {
        let series = with(&format!("DTSTART{start}\nRRULE:FREQ=DAILY;{rule}")).unwrap();
        series.occurrences(year(), HOME, 100).unwrap().occurrences.len()
    };
    let nine = ";TZID=Europe/Berlin:20260325T090000";
    assert_eq!(count("COUNT=5", nine), 5);
    assert_eq!(count("UNTIL=20260329", nine), 5);
    // Nine o'clock in summer is seven in UTC.
    assert_eq!(count("UNTIL=20260329T070000Z", nine), 5);
    assert_eq!(count("UNTIL=20260329T065959Z", nine), 4);
    assert_eq!(count("UNTIL=20260329T090000", ":20260325T090000"), 5);
    assert_eq!(count("UNTIL=20260329", ";VALUE=DATE:20260325"), 5);
    assert_eq!(count("UNTIL=20260329T000000Z", ";VALUE=DATE:20260325"), 5);
    assert_eq!(count("UNTIL=20200101", nine), 1);
}

#[test]
fn whole_days_and_floating_times_are_at_home() {
    let days =
        with("DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260330\nRRULE:FREQ=MONTHLY;COUNT=2").unwrap();
    insta::assert_snapshot!(listed(&days, year()), @r"
    03-28 03-27T23:00Z 2820m
    04-28 04-27T22:00Z 2880m
    ");
    let floating = with("DTSTART:20260701T120000\nDURATION:P1DT1H").unwrap();
    insta::assert_snapshot!(listed(&floating, year()), @"07-01 12:00 07-01T10:00Z 1500m");
    // A day without an end is a day; its last moment is not in the next window.
    let day = with("DTSTART;VALUE=DATE:20260701").unwrap();
    assert_eq!(listed(&day, span("2026-07-01T22:00:00Z", "2026-07-02T22:00:00Z")), "");
    assert_eq!(listed(&day, span("2026-07-01T21:59:00Z", "2026-07-02T22:00:00Z")).lines().count(), 1);
    // What lasts no time is at its moment.
    let bell = with("DTSTART:20260701T120000Z").unwrap();
    assert_eq!(listed(&bell, span("2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z")).lines().count(), 1);
    assert_eq!(listed(&bell, span("2026-07-01T11:00:00Z", "2026-07-01T12:00:00Z")), "");
}

#[test]
fn zones_of_windows_and_zones_nobody_knows() {
    let windows = with("DTSTART;TZID=\"W. Europe Standard Time\":20260701T090000").unwrap();
    assert_eq!(windows.event().unwrap().start, berlin("20260701T090000"));
    let text = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Customized\nBEGIN:STANDARD\nDTSTART:16010101T030000\n\
        TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\nBEGIN:DAYLIGHT\n\
        DTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\n\
        END:DAYLIGHT\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:1\nDTSTART;TZID=Customized:20260328T090000\n\
        RRULE:FREQ=DAILY;COUNT=2\nEND:VEVENT\nEND:VCALENDAR\n";
    let series = Series::read(text).unwrap();
    insta::assert_snapshot!(listed(&series, year()), @r"
    03-28 09:00 03-28T08:00Z 0m
    03-29 09:00 03-29T07:00Z 0m
    ");
    let unknown = with("DTSTART;TZID=Mars/Olympus:20260701T090000").unwrap().event().unwrap_err();
    assert_eq!(
        (unknown.kind, unknown.message.as_str()),
        (ErrorKind::Params, "unknown time zone Mars/Olympus; write an IANA name such as Europe/Berlin")
    );
}

#[test]
fn absurd_objects_are_faults() {
    for lines in [
        "SUMMARY:no start",
        "DTSTART:yesterday",
        "DTSTART:20260230T000000Z",
        "DTSTART:20260701T090000Z\nDTEND:20260701T080000Z",
        "DTSTART:20260701T090000Z\nDTEND;VALUE=DATE:20260702",
        "DTSTART:20260701T090000Z\nDURATION:-PT1H",
        "DTSTART:20260701T090000Z\nDURATION:P999999999W",
        &format!("DTSTART:20260701T090000Z\nDURATION:PT{}", "9999999999H".repeat(300_000)),
        "DTSTART:20260701T090000Z\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-2147483648",
        "DTSTART:20260701T090000Z\nRRULE:FREQ=DAILY;INTERVAL=0",
        "DTSTART:20260701T090000Z\nRRULE:FREQ=DAILY;COUNT=-1",
        "DTSTART:20260701T090000Z\nRRULE:BYDAY=MO",
        "DTSTART:20260701T090000Z\nRRULE:FREQ=DAILY;BYHOUR=25",
        "DTSTART:20260701T090000Z\nRRULE:FREQ=DAILY\nEXDATE:soon",
    ] {
        assert!(with(lines).unwrap().occurrences(year(), HOME, 10).is_err(), "{lines}");
    }
    for text in ["", "BEGIN:VCALENDAR\nEND:VCALENDAR\n", "BEGIN:VCARD\nEND:VCARD\n"] {
        assert_eq!(Series::read(text).unwrap_err().kind, ErrorKind::Tool);
    }
    let two =
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nEND:VEVENT\nBEGIN:VEVENT\nUID:2\nEND:VEVENT\nEND:VCALENDAR\n";
    assert!(Series::read(two).is_err());
    let bad = |change: fn(&mut CalendarEvent)| {
        let mut event = meeting();
        change(&mut event);
        Series::new(&event, stamp()).unwrap_err().kind
    };
    assert_eq!(bad(|event| event.uid.clear()), ErrorKind::Params);
    assert_eq!(bad(|event| event.end = berlin("20260105T080000")), ErrorKind::Params);
    assert_eq!(bad(|event| event.end = EventTime::Day(NaiveDate::MAX)), ErrorKind::Params);
    assert_eq!(bad(|event| event.rule = Some("weekly".into())), ErrorKind::Params);
    let nobody =
        Attendee { address: "a b".into(), name: String::new(), response: ResponseStatus::NeedsAction };
    let with_nobody = CalendarEvent { attendees: vec![nobody], ..meeting() };
    assert_eq!(Series::new(&with_nobody, stamp()).unwrap_err().kind, ErrorKind::Params);
}

#[test]
fn a_rule_for_ever_is_bounded_by_the_window_and_the_cap() {
    let dense = with("DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY").unwrap();
    let found = dense.occurrences(year(), HOME, 500).unwrap();
    assert!(found.is_truncated && found.occurrences.len() == 500);
    let daily = with("DTSTART:19700101T000000Z\nRRULE:FREQ=DAILY").unwrap();
    assert_eq!(daily.occurrences(year(), HOME, 500).unwrap().occurrences.len(), 365);
    let never =
        with("DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;COUNT=9").unwrap();
    assert!(never.occurrences(year(), HOME, 500).unwrap().occurrences.is_empty());
}

const FOREIGN: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Other//EN\r\nX-WR-CALNAME:Work\r\nBEGIN:VEVENT\r\n\
    UID:f\r\nDTSTART;TZID=W. Europe Standard Time:20260105T090000\r\nDURATION:PT30M\r\nSUMMARY;LANGUAGE=de:Runde\r\n\
    RRULE:FREQ=WEEKLY;X-NEW=1;BYDAY=MO\r\nX-MICROSOFT-CDO-BUSYSTATUS:BUSY\r\nSEQUENCE:3\r\n\
    ATTENDEE;ROLE=OPT-PARTICIPANT;X-NUM-GUESTS=2;CN=Bob;PARTSTAT=ACCEPTED:mailto:bob@example.org\r\n\
    DESCRIPTION:long\r\n  folded\r\nX-ALT-DESC;FMTTYPE=text/html:<b>long</b>\r\nBEGIN:VALARM\r\nACTION:EMAIL\r\n\
    TRIGGER;VALUE=DATE-TIME:20260105T070000Z\r\nX-ODD:1\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

#[test]
fn an_edit_writes_what_it_changes_and_leaves_the_rest() {
    let mut series = Series::read(FOREIGN).unwrap();
    assert_eq!(series.text(), FOREIGN);
    let mut event = series.event().unwrap();
    event.location = "Room 1".into();
    event.reminders = vec![5];
    event.attendees[0].response = ResponseStatus::Declined;
    series.change_all(&event, stamp()).unwrap();
    insta::assert_snapshot!(edited(&series), @r"
    BEGIN:VEVENT
    UID:f
    DTSTART;TZID=W. Europe Standard Time:20260105T090000
    DURATION:PT30M
    SUMMARY;LANGUAGE=de:Runde
    RRULE:FREQ=WEEKLY;X-NEW=1;BYDAY=MO
    X-MICROSOFT-CDO-BUSYSTATUS:BUSY
    SEQUENCE:4
    ATTENDEE;ROLE=OPT-PARTICIPANT;X-NUM-GUESTS=2;CN=Bob;PARTSTAT=DECLINED:mailt
     o:bob@example.org
    DESCRIPTION:long
      folded
    X-ALT-DESC;FMTTYPE=text/html:<b>long</b>
    LOCATION:Room 1
    DTSTAMP:20261121T120000Z
    LAST-MODIFIED:20261121T120000Z
    BEGIN:VALARM
    ACTION:EMAIL
    TRIGGER;VALUE=DATE-TIME:20260105T070000Z
    X-ODD:1
    END:VALARM
    BEGIN:VALARM
    ACTION:DISPLAY
    TRIGGER:-PT5M
    DESCRIPTION:Runde
    END:VALARM
    END:VEVENT
    ");
}

#[test]
fn odd_people_of_a_server_don_t_keep_us_from_an_edit() {
    let mut series =
        with("DTSTART:20260701T090000Z\nATTENDEE;CN=Room:urn:x: y\nORGANIZER:MAILTO:a@b.c").unwrap();
    let mut event = series.event().unwrap();
    assert_eq!(
        (event.attendees[0].address.as_str(), event.organizer.as_ref().unwrap().address.as_str()),
        ("urn:x: y", "a@b.c")
    );
    event.attendees[0].response = ResponseStatus::Accepted;
    series.change_all(&event, stamp()).unwrap();
    assert!(series.text().contains("ATTENDEE;CN=Room;PARTSTAT=ACCEPTED:urn:x: y\r\n"), "{}", series.text());
}

#[test]
fn what_follows_has_the_answers_of_what_it_follows() {
    let invited = |guests: &str| with(&format!("DTSTART:20260701T090000Z\nSEQUENCE:1\n{guests}")).unwrap();
    let mut series = invited("ATTENDEE:mailto:Bob@x.test\nATTENDEE;PARTSTAT=TENTATIVE:mailto:eve@x.test");
    let now = "ATTENDEE;PARTSTAT=DECLINED:mailto:cat@x.test\nATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@x.test";
    series.follow(&invited(now), stamp());
    let event = series.event().unwrap();
    let guests = event.attendees.iter().map(|guest| (guest.address.as_str(), guest.response));
    let (bob, eve) = (("bob@x.test", ResponseStatus::Accepted), ("eve@x.test", ResponseStatus::Tentative));
    assert_eq!((guests.collect::<Vec<_>>(), event.sequence), (vec![bob, eve], 2));
    assert!(series.text().contains("ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@x.test\r\n"), "{}", series.text());
}

#[test]
fn one_instance_is_changed_and_changed_again() {
    let mut series = weekly("FREQ=WEEKLY;COUNT=3");
    let window = span("2026-01-12T00:00:00Z", "2026-01-13T00:00:00Z");
    let found = series.occurrences(window, HOME, 10).unwrap().occurrences.remove(0);
    let mut event = series.event_at(&found).unwrap();
    event.title = "Planning".into();
    event.start = berlin("20260113T100000");
    event.end = berlin("20260113T110000");
    series.change_one(found.instance.as_ref().unwrap(), &event, stamp()).unwrap();
    event.title = "Planning 2".into();
    // Called by the same moment in another zone.
    series.change_one(&zoned("20260112T080000", Tz::UTC), &event, stamp()).unwrap();
    insta::assert_snapshot!(listed(&series, year()), @r"
    01-05 09:00 01-05T08:00Z 30m
    01-13 10:00 01-13T09:00Z 60m Planning 2
    01-19 09:00 01-19T08:00Z 30m
    ");
    insta::assert_snapshot!(edited(&series), @r"
    BEGIN:VEVENT
    UID:1@example.org
    SUMMARY:Stand-up\; daily\, short
    DTSTART;TZID=Europe/Berlin:20260105T090000
    DTEND;TZID=Europe/Berlin:20260105T093000
    RRULE:FREQ=WEEKLY;COUNT=3
    DTSTAMP:20261121T120000Z
    LAST-MODIFIED:20261121T120000Z
    SEQUENCE:0
    END:VEVENT
    BEGIN:VEVENT
    UID:1@example.org
    SUMMARY:Planning 2
    DTSTART;TZID=Europe/Berlin:20260113T100000
    DTEND;TZID=Europe/Berlin:20260113T110000
    DTSTAMP:20261121T120000Z
    LAST-MODIFIED:20261121T120000Z
    SEQUENCE:2
    RECURRENCE-ID;TZID=Europe/Berlin:20260112T090000
    END:VEVENT
    ");
    let gone = series.change_one(&berlin("20260113T090000"), &event, stamp()).unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
}

#[test]
fn this_and_following_become_a_series_of_their_own() {
    let mut series = weekly("FREQ=WEEKLY;COUNT=6");
    for (at, title) in [("20260112T090000", "first"), ("20260202T090000", "second")] {
        let mut one =
            CalendarEvent { start: berlin(at), end: berlin(&at.replace("0900", "0930")), ..meeting() };
        one.title = title.into();
        series.change_one(&berlin(at), &one, stamp()).unwrap();
    }
    assert!(series.delete_one(&berlin("20260126T090000"), stamp()).unwrap());
    let id = berlin("20260119T090000");
    let window = span("2026-01-19T00:00:00Z", "2026-01-20T00:00:00Z");
    let found = series.occurrences(window, HOME, 10).unwrap().occurrences.remove(0);
    let mut new = series.event_at(&found).unwrap();
    (new.start, new.end) = (berlin("20260119T100000"), berlin("20260119T104500"));
    let tail = series.change_following(&id, &new, "2@example.org", stamp()).unwrap().unwrap();
    insta::assert_snapshot!(listed(&series, year()), @r"
    01-05 09:00 01-05T08:00Z 30m
    01-12 09:00 01-12T08:00Z 30m first
    ");
    insta::assert_snapshot!(listed(&tail, year()), @r"
    01-19 10:00 01-19T09:00Z 45m
    02-02 10:00 02-02T09:00Z 45m second
    02-09 10:00 02-09T09:00Z 45m
    ");
    assert_eq!((series.uid().as_str(), tail.uid().as_str()), ("1@example.org", "2@example.org"));
    assert_eq!(Series::read(&tail.text()).unwrap(), tail);
    // From the first on it is all.
    let mut whole = weekly("FREQ=WEEKLY;COUNT=6");
    let all = CalendarEvent { title: "All".into(), rule: Some("FREQ=WEEKLY;COUNT=6".into()), ..meeting() };
    assert_eq!(whole.change_following(&meeting().start, &all, "3", stamp()).unwrap(), None);
    assert_eq!((whole.uid().as_str(), whole.event().unwrap().title.as_str()), ("1@example.org", "All"));
}

#[test]
fn all_move_and_what_was_left_out_moves_along() {
    let mut series = weekly("FREQ=WEEKLY;BYDAY=MO;UNTIL=20260202T080000Z");
    series.delete_one(&berlin("20260112T090000"), stamp()).unwrap();
    let mut one = CalendarEvent { title: "renamed".into(), ..meeting() };
    (one.start, one.end) = (berlin("20260119T090000"), berlin("20260119T093000"));
    series.change_one(&berlin("20260119T090000"), &one, stamp()).unwrap();
    // Taken from the instance of the 26th, which moves to Tuesday, an hour later.
    let window = span("2026-01-26T00:00:00Z", "2026-01-27T00:00:00Z");
    let found = series.occurrences(window, HOME, 10).unwrap().occurrences.remove(0);
    let mut new = series.event_at(&found).unwrap();
    (new.start, new.end) = (berlin("20260127T100000"), berlin("20260127T103000"));
    series.change_all(&new, stamp()).unwrap();
    insta::assert_snapshot!(listed(&series, year()), @r"
    01-06 10:00 01-06T09:00Z 30m
    01-20 10:00 01-20T09:00Z 30m renamed
    01-27 10:00 01-27T09:00Z 30m
    02-03 10:00 02-03T09:00Z 30m
    ");
    assert_eq!(series.event().unwrap().rule.as_deref(), Some("FREQ=WEEKLY;BYDAY=TU;UNTIL=20260203T090000Z"));
    let mut several = weekly("FREQ=WEEKLY;BYDAY=MO,WE");
    let before = several.clone();
    let moved = CalendarEvent {
        start: berlin("20260106T090000"),
        end: berlin("20260106T093000"),
        ..several.event().unwrap()
    };
    assert_eq!(several.change_all(&moved, stamp()).unwrap_err().kind, ErrorKind::Params);
    assert_eq!(several, before);
}

#[test]
fn instances_are_deleted() {
    let mut series = weekly("FREQ=WEEKLY;COUNT=3");
    let mut one = CalendarEvent { title: "changed".into(), ..meeting() };
    (one.start, one.end) = (berlin("20260112T150000"), berlin("20260112T153000"));
    series.change_one(&berlin("20260112T090000"), &one, stamp()).unwrap();
    assert!(series.delete_one(&berlin("20260112T090000"), stamp()).unwrap());
    insta::assert_snapshot!(listed(&series, year()), @r"
    01-05 09:00 01-05T08:00Z 30m
    01-19 09:00 01-19T08:00Z 30m
    ");
    assert_eq!(series.delete_one(&berlin("20260112T090000"), stamp()).unwrap_err().kind, ErrorKind::NotFound);
    assert!(series.delete_following(&berlin("20260119T090000"), stamp()).unwrap());
    assert_eq!(listed(&series, year()).lines().count(), 1);
    assert!(!series.delete_one(&berlin("20260105T090000"), stamp()).unwrap(), "nothing is left");
    let mut days = with("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=DAILY").unwrap();
    let day = |text: &str| EventTime::Day(local(text).date());
    assert!(days.delete_one(&day("20260102T000000"), stamp()).unwrap());
    assert!(days.delete_following(&day("20260104T000000"), stamp()).unwrap());
    assert_eq!(listed(&days, year()).lines().count(), 2);
    assert!(!days.delete_following(&day("20260101T000000"), stamp()).unwrap());
}

#[test]
fn invitations_are_sent_and_called_off() {
    let person = |address: &str| Attendee {
        address: address.into(),
        name: String::new(),
        response: ResponseStatus::NeedsAction,
    };
    let event = CalendarEvent {
        organizer: Some(person("me@example.org")),
        attendees: vec![person("bob@example.org")],
        reminders: vec![5],
        rule: Some("FREQ=WEEKLY;COUNT=3".into()),
        ..meeting()
    };
    let series = Series::new(&event, stamp()).unwrap();
    let request = series.request().unwrap();
    assert!(request.contains("\r\nMETHOD:REQUEST\r\n") && request.contains("BEGIN:VTIMEZONE"));
    assert!(!request.contains("VALARM"));
    assert_eq!(Series::read(&request).unwrap().event().unwrap().attendees, event.attendees);
    let cancel = series.cancel(Some(&berlin("20260112T090000")), stamp()).unwrap();
    let from = cancel.find("BEGIN:VEVENT").unwrap();
    insta::assert_snapshot!(cancel[from..].replace("\r\n", "\n"), @r"
    BEGIN:VEVENT
    UID:1@example.org
    SUMMARY:Stand-up\; daily\, short
    DTSTART;TZID=Europe/Berlin:20260112T090000
    ORGANIZER:mailto:me@example.org
    ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:bob@example.org
    DTSTAMP:20261121T120000Z
    LAST-MODIFIED:20261121T120000Z
    SEQUENCE:1
    RECURRENCE-ID;TZID=Europe/Berlin:20260112T090000
    STATUS:CANCELLED
    END:VEVENT
    END:VCALENDAR
    ");
    let cancel = Series::read(&series.cancel(None, stamp()).unwrap()).unwrap().event().unwrap();
    assert_eq!((cancel.status, cancel.sequence, cancel.rule), (EventStatus::Cancelled, 1, event.rule));
    assert_eq!(weekly("FREQ=DAILY").request().unwrap_err().kind, ErrorKind::Params);
}

/// A year of thousands of series: how long it takes is printed, and that it is not absurd is checked.
#[test]
fn two_thousand_series_are_quick() {
    let texts: Vec<String> = (0..2_000)
        .map(|number| {
            let rule =
                ["FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=MONTHLY;BYDAY=2TU", "FREQ=YEARLY"];
            let event = CalendarEvent {
                uid: format!("{number}@example.org"),
                start: berlin("20150105T090000"),
                end: berlin("20150105T093000"),
                rule: Some(rule[number % 4].into()),
                ..meeting()
            };
            Series::new(&event, stamp()).unwrap().text()
        })
        .collect();
    let started = std::time::Instant::now();
    let count: usize = texts
        .iter()
        .map(|text| Series::read(text).unwrap().occurrences(year(), HOME, 1_000).unwrap().occurrences.len())
        .sum();
    println!("{count} occurrences in {:?}", started.elapsed());
    assert_eq!(count, 500 * (52 + 104 + 12 + 1));
    assert!(started.elapsed().as_secs() < 20);
}

proptest! {
    /// A brute force of its own: a daily rule with an interval, left-out days and one moved instance.
    #[test]
    fn a_daily_series_is_what_counting_days_finds(
        interval in 1..9_i64,
        except in proptest::collection::btree_set(0..60_i64, 0..6),
        from in 0..500_i64,
        long in 1..90_i64,
    ) {
        let first = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
        let nth = |nth: i64| first + TimeDelta::days(nth * interval);
        let nine = |day: NaiveDate| EventTime::Zoned(day.and_hms_opt(9, 0, 0).unwrap(), Zone::Named(HOME));
        let event = CalendarEvent {
            start: nine(first),
            end: EventTime::Zoned(first.and_hms_opt(10, 0, 0).unwrap(), Zone::Named(HOME)),
            rule: Some(format!("FREQ=DAILY;INTERVAL={interval}")),
            except: except.iter().map(|at| nine(nth(*at))).collect(),
            ..meeting()
        };
        let series = Series::new(&event, stamp()).unwrap();
        let (from, to) = (first + TimeDelta::days(from), first + TimeDelta::days(from + long));
        let midnight = |day| EventTime::Day(day).instant(HOME);
        let found = series.occurrences(TimeRange { from: midnight(from), to: midnight(to) }, HOME, 1_000).unwrap();
        let wanted: Vec<EventTime> = (0..700)
            .filter(|at| !except.contains(at))
            .map(nth)
            .filter(|day| (from..to).contains(day))
            .map(nine)
            .collect();
        prop_assert_eq!(found.occurrences.into_iter().map(|one| one.start).collect::<Vec<_>>(), wanted);
    }

    /// Splitting and joining leaves the same instances, whatever the rule.
    #[test]
    fn a_split_loses_and_doubles_nothing(
        rule in prop_oneof![
            Just("FREQ=WEEKLY;COUNT=9"), Just("FREQ=DAILY;UNTIL=20260120"), Just("FREQ=MONTHLY;BYMONTHDAY=5,6,7"),
            Just("FREQ=WEEKLY;BYDAY=MO,TU;COUNT=8")
        ],
        at in 0..8_usize,
    ) {
        let series = weekly(rule);
        let before = series.occurrences(year(), HOME, 1_000).unwrap().occurrences;
        let mut head = series.clone();
        let new = series.event_at(&before[at]).unwrap();
        let tail = head.change_following(before[at].instance.as_ref().unwrap(), &new, "2", stamp()).unwrap();
        let mut after = head.occurrences(year(), HOME, 1_000).unwrap().occurrences;
        prop_assert_eq!(after.len(), if at == 0 { before.len() } else { at });
        if let Some(tail) = tail {
            after.extend(tail.occurrences(year(), HOME, 1_000).unwrap().occurrences);
        }
        let spans = |list: &[crate::Occurrence]| list.iter().map(|one| one.range).collect::<Vec<_>>();
        prop_assert_eq!(spans(&before), spans(&after));
    }

    #[test]
    fn any_object_is_read_without_panic(lines in proptest::collection::vec(
        "(DTSTART|DTEND|RDATE|EXDATE|RECURRENCE-ID|DURATION|RRULE|TRIGGER|SEQUENCE|ATTENDEE|X)(;TZID=(UTC|x)|;VALUE=DATE)?:(00010101T000000|99991231T235959Z?|20260101|P9999999999D|-P1W|FREQ=YEARLY;INTERVAL=1000000|FREQ=MONTHLY;COUNT=9|ü|MAILTO|)",
        0..8))
    {
        if let Ok(mut series) = with(&lines.join("\n")) {
            let whole = TimeRange { from: DateTime::<Utc>::MIN_UTC, to: DateTime::<Utc>::MAX_UTC };
            for window in [whole, year()] {
                if let Ok(found) = series.occurrences(window, HOME, 50) {
                    for one in &found.occurrences {
                        let _ = series.event_at(one);
                    }
                }
            }
            if let Ok(event) = series.event() {
                let _ = series.change_one(&event.start, &event, stamp());
                let _ = series.change_following(&event.start, &event, "2", stamp());
                let _ = series.delete_one(&event.start, stamp());
                let _ = series.delete_following(&event.start, stamp());
                let _ = series.cancel(None, stamp());
            }
        }
    }
}
