//! The stream of changes: nothing is lost, nothing comes twice, whatever is cut.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use serde_json::Value;

use crate::client::{Browser, Site};
use crate::gateway::{DEADLINE, wait_until};

/// An event: its place and its data.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    id: String,
    pub(crate) data: Value,
}

/// Reads the stream from a place until `enough`, the line ends or the time is over.
pub(crate) fn follow(
    browser: &Browser,
    after: &str,
    time: Duration,
    mut enough: impl FnMut(&Event) -> bool,
) -> Vec<Event> {
    let mut browser = browser.clone();
    browser.headers.push(("Last-Event-ID", after.to_owned()));
    let Ok(mut stream) = TcpStream::connect(&browser.address) else { return Vec::new() };
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let head = browser.head("GET", "/events?after=0-0");
    write!(stream, "{head}\r\n").unwrap();
    let (mut reader, begun) = (BufReader::new(stream), Instant::now());
    let (mut events, mut id, mut data, mut line) = (Vec::new(), String::new(), String::new(), String::new());
    while begun.elapsed() < time {
        match reader.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => continue,
            Err(_) => break,
        }
        let text = std::mem::take(&mut line);
        match text.trim_end().split_once(": ") {
            Some(("id", value)) => id = value.to_owned(),
            Some(("data", value)) => data = value.to_owned(),
            _ if text.trim().is_empty() && !data.is_empty() => {
                let value = serde_json::from_str(&std::mem::take(&mut data)).unwrap();
                let event = Event { id: id.clone(), data: value };
                events.push(event.clone());
                if enough(&event) {
                    break;
                }
            }
            _ => {}
        }
    }
    events
}

/// Reads the stream through a hundred cuts, then until the last of twelve answers was delivered.
fn follow_in_pieces(browser: &Browser) -> Vec<Event> {
    let (mut all, mut after, mut random) = (Vec::new(), "0-0".to_owned(), 7_u64);
    let mut ended = 0;
    for _ in 0..100 {
        // Cut after some moments or some events.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (time, count) = (Duration::from_millis(5 + (random >> 33) % 60), 1 + (random >> 40) % 5);
        let mut seen = 0;
        let events = follow(browser, &after, time, |_| {
            seen += 1;
            seen == count
        });
        after = events.last().map_or(after, |event: &Event| event.id.clone());
        all.extend(events);
    }
    // The last change of a turn is that its answer was delivered.
    let is_end = |event: &Event| {
        event.data["kind"] == "message" && event.data["status"] == "sent" && event.data["turn"] != ""
    };
    ended += all.iter().filter(|event| is_end(event)).count();
    while ended < 12 {
        let events = follow(browser, &after, DEADLINE, is_end);
        after = events.last().expect("it ends").id.clone();
        ended += events.iter().filter(|event| is_end(event)).count();
        all.extend(events);
    }
    all
}

#[test]
fn a_stream_cut_a_hundred_times_misses_nothing_and_repeats_nothing() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let browser = site.browser(ada);
    let reader = std::thread::spawn({
        let browser = browser.clone();
        move || follow_in_pieces(&browser)
    });
    for number in 0..12 {
        site.telegram.say(ada, ada, &format!("add a task to do thing {number}, then show what is overdue"));
        let done = "SELECT count(*) FROM turns WHERE ended_at IS NOT NULL";
        wait_until("it is done", || site.home.count(done) > number);
    }
    let events = reader.join().unwrap();
    let place = |event: &Event| event.id.split_once('-').unwrap().1.parse::<i64>().unwrap();
    assert!(events.iter().map(place).is_sorted_by(|one, next| one < next), "a place came twice");
    let mut last: HashMap<&str, &str> = HashMap::new();
    for event in &events {
        if event.data["kind"] == "execution" {
            last.insert(event.data["id"].as_str().unwrap(), event.data["status"].as_str().unwrap());
        }
    }
    let person = ada.to_string();
    let traced = site.home.run(&["trace", "--json", "--conversation", &person]);
    let executions: Vec<Value> = traced
        .stdout
        .lines()
        .flat_map(|line| {
            let trace: Value = serde_json::from_str(line).unwrap();
            trace["executions"].as_array().unwrap().clone()
        })
        .collect();
    assert!(executions.len() >= 24, "{}", traced.stdout);
    assert_eq!(last.len(), executions.len());
    for execution in &executions {
        let (id, status) = (execution["id"].as_str().unwrap(), execution["status"].as_str().unwrap());
        assert_eq!(last.get(id), Some(&status), "{execution}");
    }
    site.stop();
}

#[test]
fn an_answer_is_read_while_it_is_written_by_its_person_alone() {
    let gate = Arc::new(AtomicBool::new(false));
    let held = gate.clone();
    let model = FakeModel::start(move |request| match last_message(request).contains("zebra") {
        true => Reply::text("The first half, and the second one.").held(&held),
        false => Reply::text("Hello!"),
    });
    let url = model.base_url();
    let site =
        Site::start(&format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{url}\"\n"));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    browser.say("what is a zebra?");
    let is_draft = |event: &Event| event.data["rest"].is_string();
    for _ in 0..2 {
        let events = follow(&browser, "0-0", DEADLINE, is_draft);
        let draft = events.last().filter(|event| is_draft(event)).expect("it is being written");
        assert!(draft.data["rest"].as_str().unwrap().contains("<p>The first"), "{draft:?}");
    }
    other.say("hello");
    let is_end = |event: &Event| event.data["kind"] == "turn" && event.data["status"] == "completed";
    let events = follow(&other, "0-0", DEADLINE, is_end);
    assert!(events.iter().any(is_end) && !format!("{events:?}").contains("The first"), "{events:?}");
    gate.store(true, Ordering::SeqCst);
    browser.sees("/talk", "and the second one.");
    site.stop();
}

#[test]
fn a_stream_goes_on_where_it_was_after_a_kill() {
    let mut site = Site::start("");
    let ada = site.telegram.person("Ada");
    let browser = site.browser(ada);
    site.telegram.say(ada, ada, "add a task to be first");
    let is_end = |event: &Event| event.data["kind"] == "turn" && event.data["status"] == "completed";
    let first = follow(&browser, "0-0", DEADLINE, is_end);
    site.kill();
    site.begin();
    site.telegram.say(ada, ada, "add a task to be second");
    let second = follow(&browser, &first.last().unwrap().id, DEADLINE, is_end);
    let number = |event: &Event| event.id.split_once('-').unwrap().1.parse::<i64>().unwrap();
    assert!(second.first().map(number) > first.last().map(number));
    assert!(second.iter().any(|event| event.data["kind"] == "arrival"), "{second:?}");
    site.stop();
}

#[test]
fn idle_connections_and_readers_that_take_nothing_keep_nobody_out() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    // Some ask for nothing, some for half a line, and some read nothing of their stream.
    let idle: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(&browser.address).unwrap();
            match number % 3 {
                0 => {}
                1 => write!(stream, "GET /talk HTT").unwrap(),
                _ => write!(stream, "{}\r\n", browser.head("GET", "/events?after=0-0")).unwrap(),
            }
            stream
        })
        .collect();
    site.telegram.say(ada, ada, "add a task to be served");
    browser.sees("/talk", "Added “be served”");
    drop(idle);
    site.stop();
}

#[test]
fn a_heads_size_is_limited() {
    let site = Site::start("");
    let browser = site.browser(site.telegram.person("Ada"));
    let answer = |length: usize| {
        let mut stream = TcpStream::connect(&browser.address).unwrap();
        // It is closed before all is read.
        let _ = write!(stream, "{}X-Long: {}\r\n\r\n", browser.head("GET", "/talk"), "x".repeat(length));
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).ok().map(|_| line)
    };
    assert!(answer(30_000).is_some_and(|line| line.starts_with("HTTP/1.1 200")));
    assert!(answer(300_000).is_none_or(|line| !line.contains("200")));
    site.stop();
}

#[test]
fn streams_are_limited_and_end_with_the_session() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let open: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = TcpStream::connect(&browser.address).unwrap();
            write!(stream, "{}\r\n", browser.head("GET", "/events?after=0-0")).unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            assert!(line.contains("200"), "{line}");
            stream
        })
        .collect();
    assert_eq!(browser.get("/events?after=0-0").status, 503, "that is one tab too many");
    assert_eq!(browser.get("/talk").status, 200);
    drop(open);
    wait_until("there is room again", || {
        let mut stream = TcpStream::connect(&browser.address).unwrap();
        write!(stream, "{}\r\n", browser.head("GET", "/events?after=0-0")).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).is_ok() && line.contains("200")
    });
    site.stop();
}
