//! How long a year of a calendar with 2,000 recurring events takes: `cargo bench -p adjutant-dav`. Prints a table;
//! nothing here fails on a figure. The server is Radicale, asked once before, so that it is warm.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, prints, and takes the time"
)]

use std::time::{Duration, Instant};

use adjutant_dav::{Account, CalDav, Series, Span};
use adjutant_fakes::dav_server::{Kind, shared};
use chrono::{DateTime, Utc};
use chrono_tz::Europe::Berlin;

const EVENTS: usize = 2_000;
const ROUNDS: usize = 9;

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
    let server = shared().expect("a server").expect("Radicale");
    let path = server.collection("me", "bench", Kind::Calendar).expect("a collection");
    for number in 0..EVENTS {
        server.put(&path, &format!("bench-{number}.ics"), &event(number)).expect("an event");
    }
    let account = Account {
        url: format!("{}me/bench/", server.url()),
        user: "me".into(),
        password: "me-secret".into(),
        ca_pem: None,
        timeout: Duration::from_mins(2),
    };
    let dav = CalDav::new(&account).expect("an account");
    let calendar = dav.calendars().await.expect("calendars").remove(0).url;
    let at = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
    let window = Span { from: at("2026-01-01T00:00:00Z"), to: at("2027-01-01T00:00:00Z") };
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
        let count = |one: &Series| one.occurrences(window, Berlin, 2_000).expect("times").occurrences.len();
        times = series.iter().map(count).sum();
        expanded.push(start.elapsed());
    }
    // The first round warms the server.
    let rest = |mut all: Vec<Duration>| median(all.split_off(1));
    println!("| a year of {EVENTS} recurring events, {times} times, p50 of {ROUNDS} | |\n| --- | --- |");
    println!("| the server's answer, brought and taken apart | {} |", rest(asked));
    println!("| reading the events | {} |", rest(read));
    println!("| when they take place | {} |", rest(expanded));
}
