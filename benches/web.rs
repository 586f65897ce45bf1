//! What the web page costs: `cargo bench --bench web`. Prints a table; nothing here fails on a figure.
//!
//! The real binary with the embedded store, a chat platform on loopback, basic mode, and viewers that each
//! read a stream of changes. Blocks without and with viewers take turns, so that both meet the same store. `seen` is the
//! time from a turn's last commit until its change has arrived at a viewer. Viewers, platform and gateway share the
//! machine, so what the gateway itself uses is told, too.

#![cfg(test)] // so that the lints know it for no part of the product

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_store::Batch;
use adjutant_test_support::chromium::Chromium;
use adjutant_test_support::client::{Browser, Site};
use adjutant_test_support::gateway::{DEADLINE, wait_until};
use adjutant_test_support::share;
use adjutant_types::clock::{Clock, SystemClock};

const VIEWERS: usize = 50;
const PEOPLE: usize = 8;
/// In each block, everybody says something and waits for the answer this often.
const ROUNDS: usize = 25;
/// Pairs of blocks.
const PAIRS: usize = 8;
const EXECUTIONS: usize = 2_000;
/// How many answers are watched while they are written.
const ANSWERS: usize = 20;

/// One open page.
struct Viewer {
    stream: TcpStream,
    reader: JoinHandle<Vec<(i64, String)>>,
}

impl Viewer {
    /// Reads a stream from now on, and does nothing else meanwhile.
    fn open(browser: &mut Browser) -> Self {
        let page = browser.get("/talk").body;
        let after = page.split("data-after=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let mut stream = TcpStream::connect(&browser.address).unwrap();
        write!(stream, "{}\r\n", browser.head("GET", &format!("/events?after={after}"))).unwrap();
        let mut chunk = vec![0; 1 << 16];
        let first = stream.read(&mut chunk).unwrap();
        assert!(chunk[..first].starts_with(b"HTTP/1.1 200"));
        let mut source = stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            while let Ok(size @ 1..) = source.read(&mut chunk) {
                read.push((SystemClock.now_ms(), String::from_utf8_lossy(&chunk[..size]).into_owned()));
            }
            read
        });
        Self { stream, reader }
    }

    /// The turns whose ends it saw, and when.
    fn close(self) -> Vec<(String, i64)> {
        self.stream.shutdown(Shutdown::Both).unwrap();
        let read = self.reader.join().unwrap();
        let ends = read.iter().flat_map(|(at, text)| text.lines().map(move |line| (*at, line)));
        let ends = ends.filter(|(_, line)| {
            line.contains("\"kind\":\"turn\"") && line.contains("\"status\":\"completed\"")
        });
        let turn = |line: &str| line.split("\"turn\":\"").nth(1)?.split('"').next().map(str::to_owned);
        ends.filter_map(|(at, line)| Some((turn(line)?, at))).collect()
    }
}

/// What a block of turns took.
struct Block {
    turns_a_second: f64,
    /// What the gateway's process used for a turn.
    cpu_ms: f64,
}

/// Everybody says something and waits for the answer, again and again.
fn block(site: &Site, people: &[i64], said: &mut usize) -> Block {
    let pid = site.gateway.as_ref().unwrap().pid();
    let (cpu, begun) = (share::used(pid), Instant::now());
    for _ in 0..ROUNDS {
        for person in people {
            *said += 1;
            site.telegram.say(*person, *person, &format!("add a task to do thing {said}"));
        }
        assert!(site.telegram.wait_for_said(*said, DEADLINE), "everybody is answered");
    }
    let turns = f64::from(u32::try_from(ROUNDS * PEOPLE).unwrap());
    Block { turns_a_second: turns / begun.elapsed().as_secs_f64(), cpu_ms: (share::used(pid) - cpu) / turns }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn resident(site: &mut Site) -> f64 {
    let text = site.gateway.as_mut().unwrap().get("/metrics").1;
    let line = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or_default() / 1e6
}

fn main() {
    let mut site = Site::start("[limits]\nturns_per_minute = 0\nconversation_calls = 1000000\n");
    let people: Vec<i64> =
        (0..PEOPLE).map(|number| site.telegram.person(&format!("Person {number}"))).collect();
    // Each session may have ten streams.
    let mut browsers: Vec<Browser> = people.iter().map(|person| site.browser(*person)).collect();
    let mut said = people.len();
    block(&site, &people, &mut said); // The first turns of a process are slower.
    let (mut alone, mut watched, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let (mut before, mut after) = (0.0, 0.0);
    for _ in 0..PAIRS {
        alone.push(block(&site, &people, &mut said));
        before = if after == 0.0 { resident(&mut site) } else { before };
        let viewers: Vec<Viewer> =
            (0..VIEWERS).map(|number| Viewer::open(&mut browsers[number % PEOPLE])).collect();
        watched.push(block(&site, &people, &mut said));
        after = resident(&mut site);
        wait_until("all have ended", || {
            site.home.count("SELECT count(*) FROM turns WHERE ended_at IS NULL") == 0
        });
        seen.extend(viewers.into_iter().flat_map(Viewer::close));
    }
    let ended: Vec<(String, i64)> = site.home.ask(async |store| {
        store.all("SELECT id, ended_at FROM turns WHERE ended_at IS NOT NULL", &[]).await.unwrap()
    });
    let ended: HashMap<String, i64> = ended.into_iter().collect();
    let mut late: Vec<i64> = seen.iter().filter_map(|(turn, at)| Some(at - ended.get(turn)?)).collect();
    late.sort_unstable();
    let p95 = late.get(late.len() * 95 / 100).copied().unwrap_or_default();
    for (what, value) in [
        ("turns a second", (|block| block.turns_a_second) as fn(&Block) -> f64),
        ("ms of the gateway's CPU for a turn", |block| block.cpu_ms),
    ] {
        let pairs: Vec<f64> = alone
            .iter()
            .zip(&watched)
            .map(|(alone, watched)| (value(watched) / value(alone) - 1.0) * 100.0)
            .collect();
        let of = |blocks: &[Block]| median(blocks.iter().map(value).collect());
        println!(
            "{what}: {:.1} without viewers, {:.1} with {VIEWERS}; {:+.1} % in the median of {PAIRS} pairs",
            of(&alone),
            of(&watched),
            median(pairs)
        );
    }
    println!("seen, p95 of {}: {p95} ms (150 ms)", late.len());
    println!("memory: {before:.1} MB, {after:.1} MB with {VIEWERS} viewers");
    paint(&site, people[0]);
    first_characters();
}

/// From the model's first token to the first character in a browser.
fn first_characters() {
    let Some(mut chromium) = Chromium::start() else { return };
    let model = FakeModel::start(|_| Reply::text(&"word ".repeat(60)).tokens(Duration::from_millis(20)));
    let site = Site::start(&format!(
        "[limits]\nturns_per_minute = 0\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let link = site.link_for(site.telegram.person("Ada"));
    chromium.run(&format!(
        "await page.goto({link:?}); await page.waitForURL(/\\/$/); await page.goto('http://{}/talk');",
        site.address
    ));
    chromium.shows("body[data-live]");
    let mut times: Vec<i64> = (0..ANSWERS)
        .map(|number| {
            let seen = chromium.run(
                "const seen = page.evaluate(() => new Promise((done) => { const look = () => { \
                 const draft = document.querySelector('.draft .text'); \
                 if (draft && draft.textContent) done(Date.now()); else requestAnimationFrame(look); }; look(); })); \
                 await page.fill('#text', 'go on'); await page.keyboard.press('Enter'); return seen;",
            );
            let ago = i64::try_from(model.first_words()[number].elapsed().as_millis()).unwrap();
            let late = seen.as_i64().unwrap() - (SystemClock.now_ms() - ago);
            chromium.hides(".draft");
            late
        })
        .collect();
    times.sort_unstable();
    let (median, slowest) = (times[ANSWERS / 2], times[ANSWERS - 1]);
    println!("first token to first character, p50 / slowest of {ANSWERS}: {median} / {slowest} ms (200 ms)");
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
    for path in [format!("/turn/{turn}"), "/talk".to_owned()] {
        let begun = Instant::now();
        let page = browser.get(&path);
        let (rows, ms) = (page.body.matches("<li ").count(), begun.elapsed().as_millis());
        println!("{path}: {ms} ms, {rows} rows of {EXECUTIONS}, {} KB", page.body.len() / 1000);
    }
    let assets = ["/assets/page.css", "/assets/page.js", "/assets/app.js", "/assets/icon.svg"];
    let size: usize = assets.iter().map(|path| browser.get(path).body.len()).sum();
    println!("assets: {size} bytes, not compressed");
    let Some(mut chromium) = Chromium::start() else { return };
    let link = site.link_for(person);
    chromium.run(&format!("await page.goto({link:?}); await page.waitForURL(/\\/$/);"));
    for path in ["/".to_owned(), "/talk".to_owned(), format!("/turn/{turn}")] {
        let address = format!("http://{}{path}", site.address);
        // From a cold cache each time.
        let painted = chromium.run(&format!(
            "const session = await context.newCDPSession(page); await session.send('Network.clearBrowserCache'); \
             await page.goto({address:?}); return page.evaluate(() => new Promise((done) => new PerformanceObserver(\
             (all) => done(all.getEntries()[0].startTime)).observe({{type: 'paint', buffered: true}})));"
        ));
        println!("{path}: painted after {:.0} ms (300 ms)", painted.as_f64().unwrap_or_default());
    }
    // The last page has the steps.
    let sifted = chromium.run(
        "return page.evaluate(() => { const field = document.querySelector('.filter input'); const begun = performance.now(); \
         field.value = 'no such step'; field.dispatchEvent(new Event('input', { bubbles: true })); \
         document.body.getBoundingClientRect(); return performance.now() - begun; });",
    );
    println!("{EXECUTIONS} steps: searched in {:.0} ms (300 ms)", sifted.as_f64().unwrap_or_default());
}
