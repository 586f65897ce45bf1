//! What the web page costs: `cargo bench --bench web`. Prints a table; nothing here fails on a figure.
//!
//! The real binary with the embedded store, a chat platform on loopback, the built-in planner, and viewers that each
//! read a stream of changes. `seen` is the time from a turn's last commit until its change has arrived at a viewer.

#![cfg(test)] // as the modules that it shares with the tests

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
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
use gateway::wait_until;

const VIEWERS: usize = 50;
const TURNS: i64 = 200;
const EXECUTIONS: usize = 2_000;

/// When each turn's end was seen, by all viewers.
type Seen = Arc<Mutex<Vec<(String, i64)>>>;

/// Reads a stream until the line ends.
fn view(browser: &Browser, seen: &Seen) {
    let mut stream = TcpStream::connect(&browser.address).unwrap();
    write!(stream, "{}\r\n", browser.head("GET", "/events?after=0-0")).unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some(data) = line.strip_prefix("data: ") else { continue };
        if data.contains("\"kind\":\"turn\"") && data.contains("\"status\":\"completed\"") {
            let turn = data.split("\"turn\":\"").nth(1).and_then(|rest| rest.split('"').next());
            seen.lock().unwrap().push((turn.unwrap_or_default().to_owned(), SystemClock.now_ms()));
        }
    }
}

/// How many turns a second, over several chats at once.
fn turns_a_second(site: &Site, people: &[i64]) -> f64 {
    let count = "SELECT count(*) FROM turns WHERE ended_at IS NOT NULL";
    let (before, begun) = (site.home.count(count), Instant::now());
    for number in 0..TURNS {
        let person = people[usize::try_from(number).unwrap() % people.len()];
        site.telegram.say(person, person, &format!("add a task to do thing {number}"));
        // Messages that arrive together would become one turn.
        if number % 8 == 7 {
            wait_until("they are done", || site.home.count(count) > before + number - 8);
        }
    }
    wait_until("all are done", || site.home.count(count) >= before + TURNS);
    f64::from(u32::try_from(TURNS).unwrap()) / begun.elapsed().as_secs_f64()
}

fn resident(site: &mut Site) -> f64 {
    let text = site.gateway.as_mut().unwrap().get("/metrics").1;
    let line = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or_default() / 1e6
}

fn main() {
    let mut site = Site::start("[limits]\nturns_per_minute = 0\n");
    let people: Vec<i64> = (0..8).map(|number| site.telegram.person(&format!("Person {number}"))).collect();
    let alone = turns_a_second(&site, &people);
    let before = resident(&mut site);
    let seen = Seen::default();
    // Each session may have ten streams.
    for number in 0..VIEWERS {
        let (browser, seen) = (site.browser(people[number % people.len()]), seen.clone());
        std::thread::spawn(move || view(&browser, &seen));
    }
    let watched = turns_a_second(&site, &people);
    let after = resident(&mut site);
    std::thread::sleep(Duration::from_secs(1));
    let ended: Vec<(String, i64)> = site.home.ask(async |store| {
        store.all("SELECT id, ended_at FROM turns WHERE ended_at IS NOT NULL", &[]).await.unwrap()
    });
    let ended: std::collections::HashMap<String, i64> = ended.into_iter().collect();
    let mut late: Vec<i64> =
        seen.lock().unwrap().iter().filter_map(|(turn, at)| Some(at - ended.get(turn)?)).collect();
    late.sort_unstable();
    let p95 = late.get(late.len() * 95 / 100).copied().unwrap_or_default();
    println!(
        "turns a second: {alone:.0} without viewers, {watched:.0} with {VIEWERS} ({:+.1} %)",
        (watched / alone - 1.0) * 100.0
    );
    println!("seen, p95 of {}: {p95} ms", late.len());
    println!("memory: {before:.1} MB, {after:.1} MB with {VIEWERS} viewers");
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
