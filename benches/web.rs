//! What the web page costs: `cargo bench --bench web`. Prints a table; nothing here fails on a figure.
//!
//! The real binary with the embedded store, a chat platform on loopback, the built-in planner, and viewers that each
//! read a stream of changes. `seen` is the time from a turn's last commit until its change has arrived at a viewer.

#![cfg(test)] // as the modules that it shares with the tests

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant::clock::{Clock, SystemClock};
use adjutant::store::Batch;

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/web/chromium.rs"]
mod chromium;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/web/client.rs"]
mod client;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/binary/gateway.rs"]
mod gateway;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/binary/process.rs"]
mod process;

use chromium::Chromium;
use client::{Browser, Site};

const VIEWERS: usize = 50;
/// Messages of each of eight chats in a block, and blocks.
const ROUNDS: usize = 60;
const BLOCKS: usize = 5;
const EXECUTIONS: usize = 2_000;

/// When each turn's end was seen, by all viewers.
type Seen = Arc<Mutex<Vec<(String, i64)>>>;

/// Reads a stream from now on, until its line is cut.
fn view(mut browser: Browser, seen: &Seen) -> TcpStream {
    let page = browser.get("/");
    let place =
        page.body.split("data-after=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let mut stream = TcpStream::connect(&browser.address).unwrap();
    write!(stream, "{}\r\n", browser.head("GET", &format!("/events?after={place}"))).unwrap();
    let (lines, seen) = (BufReader::new(stream.try_clone().unwrap()).lines(), seen.clone());
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data.contains("\"kind\":\"turn\"") && data.contains("\"status\":\"completed\"") {
                let turn = data.split("\"turn\":\"").nth(1).and_then(|rest| rest.split('"').next());
                seen.lock().unwrap().push((turn.unwrap_or_default().to_owned(), SystemClock.now_ms()));
            }
        }
    });
    stream
}

/// How many turns a second, over several chats at once. A chat's next message waits for all answers: messages of a chat that
/// arrive together would become one turn.
fn turns_a_second(site: &Site, people: &[i64]) -> f64 {
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let before = site.telegram.calls("sendMessage");
        for person in people {
            site.telegram.say(*person, *person, &format!("add a task to do thing {before}"));
        }
        assert!(site.telegram.wait_for_said(before + people.len(), Duration::from_secs(30)), "no answers");
    }
    f64::from(u32::try_from(ROUNDS * people.len()).unwrap()) / begun.elapsed().as_secs_f64()
}

fn resident(site: &mut Site) -> f64 {
    let text = site.gateway.as_mut().unwrap().get("/metrics").1;
    let line = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or_default() / 1e6
}

fn main() {
    let mut site = Site::start("[limits]\nturns_per_minute = 0\n");
    let people: Vec<i64> = (0..8).map(|number| site.telegram.person(&format!("Person {number}"))).collect();
    turns_a_second(&site, &people);
    let (before, mut with_viewers) = (resident(&mut site), 0.0);
    let seen = Seen::default();
    // By turns: a store that grows is slower by itself.
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        alone.push(turns_a_second(&site, &people));
        let browsers = (0..VIEWERS).map(|number| site.browser(people[number % people.len()]));
        let streams: Vec<TcpStream> = browsers.map(|browser| view(browser, &seen)).collect();
        watched.push(turns_a_second(&site, &people));
        with_viewers = resident(&mut site);
        // The last changes arrive; then everybody leaves.
        std::thread::sleep(Duration::from_secs(1));
        streams.iter().for_each(|stream| stream.shutdown(Shutdown::Both).unwrap());
        site.home.ask(async |store| {
            let mut batch = Batch::new();
            batch.run("DELETE FROM web_sessions", []);
            store.write(batch).await.unwrap();
        });
    }
    let ended: Vec<(String, i64)> = site.home.ask(async |store| {
        store.all("SELECT id, ended_at FROM turns WHERE ended_at IS NOT NULL", &[]).await.unwrap()
    });
    let ended: std::collections::HashMap<String, i64> = ended.into_iter().collect();
    let mut late: Vec<i64> =
        seen.lock().unwrap().iter().filter_map(|(turn, at)| Some(at - ended.get(turn)?)).collect();
    late.sort_unstable();
    let p95 = late.get(late.len() * 95 / 100).copied().unwrap_or_default();
    let mean = |blocks: &[f64]| blocks.iter().sum::<f64>() / blocks.len() as f64;
    println!(
        "turns a second: {:.0} without viewers, {:.0} with {VIEWERS} ({:+.1} %)",
        mean(&alone),
        mean(&watched),
        (mean(&watched) / mean(&alone) - 1.0) * 100.0
    );
    println!("seen, p95 of {}: {p95} ms", late.len());
    println!("memory: {before:.1} MB, {with_viewers:.1} MB with {VIEWERS} viewers");
    paint(&site, people[0]);
}

/// A turn with very many steps.
fn paint(site: &Site, person: i64) {
    let (turn, parent): (String, String) = site.home.ask(async |store| {
        let sql = "SELECT t.id, e.id FROM turns t JOIN executions e ON e.turn_id = t.id AND e.kind = 'orchestrator' \
                   JOIN accounts a ON a.person_id = t.person_id AND a.user_id = $1 ORDER BY t.seq DESC LIMIT 1";
        store.first(sql, &[person.to_string().into()]).await.unwrap().unwrap()
    });
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        for number in 0..EXECUTIONS {
            batch.run(
                "INSERT INTO executions (id, turn_id, conversation_id, parent_id, kind, status, call_n, call_idx, skill, \
                 parameters, result, started_at, ended_at) SELECT $1, turn_id, conversation_id, id, 'skill', 'completed', \
                 1000, $2, 'tasks.search', '{}', 'No tasks', started_at, ended_at FROM executions WHERE id = $3",
                [
                    format!("0Step{number:017}").into(),
                    i64::try_from(number).unwrap().into(),
                    parent.clone().into(),
                ],
            );
        }
        store.write(batch).await.unwrap();
    });
    let mut browser = site.browser(person);
    for path in [format!("/turn/{turn}"), format!("/turn/{turn}/waterfall"), "/talk".to_owned()] {
        let begun = Instant::now();
        let page = browser.get(&path);
        let (rows, ms) = (page.body.matches("<li class=").count(), begun.elapsed().as_millis());
        println!("{path}: {ms} ms, {rows} rows of {EXECUTIONS}, {} KB", page.body.len() / 1000);
    }
    let assets = ["/assets/page.css", "/assets/page.js", "/assets/icon.svg"];
    let size: usize = assets.iter().map(|path| browser.get(path).body.len()).sum();
    println!("assets: {size} bytes, not compressed");
    let Some(mut chromium) = Chromium::start() else { return };
    let link = site.link_for(person);
    chromium.run(&format!("await page.goto({link:?}); await page.waitForURL(/\\/$/);"));
    for path in ["/talk".to_owned(), format!("/turn/{turn}")] {
        let address = format!("http://{}{path}", site.address);
        // From a cold cache each time.
        let painted = chromium.run(&format!(
            "const session = await context.newCDPSession(page); await session.send('Network.clearBrowserCache'); \
             await page.goto({address:?}); return page.evaluate(() => new Promise((done) => new PerformanceObserver(\
             (all) => done(all.getEntries()[0].startTime)).observe({{type: 'paint', buffered: true}})));"
        ));
        println!("{path}: painted after {:.0} ms", painted.as_f64().unwrap_or_default());
    }
}
