//! How long a year of a calendar with 2,000 recurring events takes, and how much memory one with 20,000 events needs:
//! `cargo bench -p adjutant-dav`. Prints tables; nothing here fails on a figure. The server of the first is Radicale,
//! asked once before, so that it is warm; that of the second one that sends the same event again and again.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, prints, and takes the time"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use adjutant_dav::{Account, CalDav, Quirks, Series, TimeRange};
use adjutant_fakes::dav_server::{Kind, shared};
use chrono::{DateTime, Utc};
use chrono_tz::Europe::Berlin;

const EVENTS: usize = 2_000;
const ROUNDS: usize = 9;
const MANY: usize = 20_000;

/// As calendars of phones have it: with its time zone, a text, and people.
const BIG_EVENT: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//EN\r\nBEGIN:VTIMEZONE\r\n\
TZID:Europe/Berlin\r\nBEGIN:DAYLIGHT\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST\r\n\
DTSTART:19700329T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\n\
TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET\r\nDTSTART:19701025T030000\r\n\
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n\
UID:3c0a0f0e-5d0b-4a43-9d5c-0d9c2a6f7c11\r\nDTSTAMP:20260101T000000Z\r\n\
DTSTART;TZID=Europe/Berlin:20260601T090000\r\nDTEND;TZID=Europe/Berlin:20260601T093000\r\n\
SUMMARY:A meeting about the plan\r\nLOCATION:Room 12\r\nDESCRIPTION:What was said last time and what is to be \
done until then\\, by whom.\r\nORGANIZER;CN=Ada:mailto:ada@example.test\r\n\
ATTENDEE;CN=Bob;PARTSTAT=ACCEPTED:mailto:bob@example.test\r\n\
ATTENDEE;CN=Carol;PARTSTAT=NEEDS-ACTION:mailto:carol@example.test\r\nSEQUENCE:0\r\nSTATUS:CONFIRMED\r\n\
TRANSP:OPAQUE\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// A server whose one answer is [`MANY`] events, written while it is read.
fn endless() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("a port").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
            let (mut line, mut length) = (String::new(), 0);
            while line != "\r\n" {
                line.clear();
                reader.read_line(&mut line).expect("a line");
                let value = line.to_lowercase().strip_prefix("content-length:").map(|it| it.trim().parse());
                length = value.map_or(length, |value| value.expect("a length"));
            }
            reader.read_exact(&mut vec![0; length]).expect("a body");
            let head = "HTTP/1.1 207 Multi-Status\r\nConnection: close\r\n\r\n<multistatus xmlns=\"DAV:\" \
                        xmlns:C=\"urn:ietf:params:xml:ns:caldav\">";
            stream.write_all(head.as_bytes()).expect("sent");
            for number in 0..MANY {
                let part = format!(
                    "<response><href>/c/{number}.ics</href><propstat><prop><getetag>\"{number}\"</getetag>\
                     <C:calendar-data>{BIG_EVENT}</C:calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat>\
                     </response>"
                );
                stream.write_all(part.as_bytes()).expect("sent");
            }
            stream.write_all(b"</multistatus>").expect("sent");
        }
    });
    port
}

/// A figure of this process (proc_pid_status(5)), in MB.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
    line.split_whitespace().nth(1).expect("a figure").parse::<f64>().expect("a figure") / 1_000.0
}

async fn memory_of_many() {
    let dav = CalDav::new(&account(format!("http://127.0.0.1:{}/c/", endless()))).expect("an account");
    let window = year();
    let before = memory("VmRSS:");
    let mut series = Vec::new();
    // As the office does: an answer is dropped as soon as it is read.
    for resource in dav.list("/c/", window).await.expect("a list") {
        series.push(Series::read(&resource.text).expect("an event"));
    }
    let times: usize = series.iter().map(|one| times_of(one, window)).sum();
    assert_eq!(times, MANY);
    println!("| {MANY} events in the window | |\n| --- | --- |");
    println!("| memory before | {before:.1} MB |\n| the most meanwhile | {:.1} MB |\n", memory("VmHWM:"));
}

fn account(url: String) -> Account {
    Account {
        url,
        user: "me".into(),
        credential: "me-secret".into(),
        ca_pem: None,
        timeout: Duration::from_mins(10),
        quirks: Quirks::default(),
        address_filter: None,
    }
}

fn year() -> TimeRange {
    let at = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
    TimeRange { from: at("2026-01-01T00:00:00Z"), to: at("2027-01-01T00:00:00Z") }
}

fn times_of(series: &Series, window: TimeRange) -> usize {
    series.occurrences(window, Berlin, 2_000).expect("times").occurrences.len()
}

fn event(number: usize) -> String {
    let (day, hour) = (number % 27 + 1, number % 10 + 8);
    let rule = ["FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=YEARLY"][number % 4];
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//EN\r\nBEGIN:VEVENT\r\nUID:bench-{number}\r\n\
         DTSTAMP:20260101T000000Z\r\nDTSTART;TZID=Europe/Berlin:202601{day:02}T{hour:02}0000\r\n\
         DTEND;TZID=Europe/Berlin:202601{day:02}T{hour:02}3000\r\nRRULE:{rule}\r\nSUMMARY:Event {number}\r\n\
         END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

fn median(mut times: Vec<Duration>) -> String {
    times.sort();
    format!("{:.1} ms", times[times.len() / 2].as_secs_f64() * 1_000.0)
}

#[tokio::main]
async fn main() {
    memory_of_many().await;
    let server = shared().expect("a server").expect("Radicale");
    let path = server.collection("me", "bench", Kind::Calendar).expect("a collection");
    for number in 0..EVENTS {
        server.put(&path, &format!("bench-{number}.ics"), &event(number)).expect("an event");
    }
    let dav = CalDav::new(&account(format!("{}me/bench/", server.url()))).expect("an account");
    let calendar = dav.calendars().await.expect("calendars").remove(0).url;
    let window = year();
    let (mut asked, mut read, mut expanded) = (Vec::new(), Vec::new(), Vec::new());
    let mut times = 0;
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        let resources = dav.list(&calendar, window).await.expect("a list");
        asked.push(start.elapsed());
        let start = Instant::now();
        let series: Vec<Series> =
            resources.iter().map(|resource| Series::read(&resource.text).expect("an event")).collect();
        read.push(start.elapsed());
        let start = Instant::now();
        times = series.iter().map(|one| times_of(one, window)).sum();
        expanded.push(start.elapsed());
    }
    // The first round warms the server.
    let rest = |mut all: Vec<Duration>| median(all.split_off(1));
    println!("| a year of {EVENTS} recurring events, {times} times, p50 of {ROUNDS} | |\n| --- | --- |");
    println!("| the server's answer, brought and taken apart | {} |", rest(asked));
    println!("| reading the events | {} |", rest(read));
    println!("| when they take place | {} |", rest(expanded));
}
