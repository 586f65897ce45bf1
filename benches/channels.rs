//! How fast and how small the gateway is: `cargo bench --bench channels`, with the names of parts to run only
//! those (`latency`, `burst`, `memory`, `start`). `--messages N` changes how many the memory is measured after,
//! over all platforms. Prints a table; nothing here fails on a figure.
//!
//! The real binary on loopback fakes of the platforms, with a model server on loopback that answers at once,
//! and the embedded store with full durability. Times are taken in the fakes' process, from the moment when a
//! person's message is there to be told until the answer has arrived.

#![cfg(test)] // as the modules that it shares with the tests

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, last_message};

#[expect(dead_code, reason = "the scorecard uses more of it")]
#[path = "../tests/binary/platform.rs"]
mod platform;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/binary/process.rs"]
mod process;

use platform::{Make, PLATFORMS, Platform};
use process::Home;

/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_mins(1);

/// How many write on each platform.
const PEOPLE: usize = 50;

/// The gateway with its surroundings.
struct House {
    platforms: Vec<Box<dyn Platform>>,
    home: Home,
    gateway: Child,
    _model: FakeModel,
}

/// Starts the gateway on these platforms; the model thinks for so long.
fn house(platforms: &[Make], thinks: Duration) -> House {
    let platforms: Vec<Box<dyn Platform>> = platforms.iter().map(|make| make(PEOPLE)).collect();
    // It answers with the numbers of what it was told, a line each.
    let model = FakeModel::start(move |request| {
        std::thread::sleep(thinks);
        let told = last_message(request).replace("\\n", " ");
        Reply::text(&numbers(&told).map(|number| format!("m{number} ")).collect::<String>())
    });
    let channels: String = platforms.iter().map(|platform| platform.config()).collect();
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n{channels}",
        model.base_url()
    ));
    let gateway = serve(&home);
    let house = House { platforms, home, gateway, _model: model };
    house.wait_until_heard(&vec![0; house.platforms.len()]);
    house
}

fn serve(home: &Home) -> Child {
    let mut command = home.command(&["serve"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The numbers of the messages that are named in a text.
fn numbers(text: &str) -> impl Iterator<Item = usize> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('m')?.parse().ok())
}

impl House {
    /// Waits until it listens on each platform once more than this.
    fn wait_until_heard(&self, before: &[usize]) {
        for (platform, before) in self.platforms.iter().zip(before) {
            let begun = Instant::now();
            while platform.heard() <= *before {
                assert!(begun.elapsed() < DEADLINE, "it does not listen");
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }

    fn heard(&self) -> Vec<usize> {
        self.platforms.iter().map(|platform| platform.heard()).collect()
    }

    /// Resident memory in MB, some time after there was something to do.
    fn memory(&self) -> f64 {
        std::thread::sleep(Duration::from_secs(3));
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.gateway.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

/// One chat, one message at a time.
fn latency(make: Make) {
    let house = house(&[make], Duration::ZERO);
    let platform = &house.platforms[0];
    let mut times = Vec::new();
    for number in 0..2_200 {
        let begun = Instant::now();
        platform.say(0, &format!("m{number}"));
        assert!(platform.wait_for_said(number + 1, DEADLINE), "m{number} was not answered");
        if number >= 200 {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let percentile = |percent: usize| ms(times[times.len() * percent / 100]);
    let what = format!("{}: event in, answer out, p50 / p99", platform.name());
    row(&what, &format!("{} / {}", percentile(50), percentile(99)), "5 / 12 ms");
}

/// Four messages in each of the chats, all at once.
fn burst(make: Make, thinks: Duration, wanted: &str) {
    let house = house(&[make], thinks);
    let platform = &house.platforms[0];
    let messages = 4 * PEOPLE;
    let begun = Instant::now();
    for number in 0..messages {
        platform.say(number % PEOPLE, &format!("m{number}"));
    }
    let mut answered = Vec::new();
    while answered.len() < messages {
        assert!(begun.elapsed() < DEADLINE, "{} of {messages} were answered", answered.len());
        std::thread::sleep(Duration::from_millis(2));
        answered = platform.said().iter().flat_map(|text| numbers(text)).collect();
        answered.sort_unstable();
        answered.dedup();
    }
    let model = if thinks.is_zero() { "an instant model" } else { "a model that takes 1 s" };
    let what = format!("{}: {messages} messages over {PEOPLE} chats at once, {model}", platform.name());
    row(&what, &format!("{:.2} s", begun.elapsed().as_secs_f64()), wanted);
}

fn memory(messages: usize) {
    let house = house(&PLATFORMS, Duration::ZERO);
    let idle = house.memory();
    row("all connected and idle, resident memory", &format!("{idle:.1} MB"), "30 MB");
    let rounds = messages.div_ceil(PEOPLE * PLATFORMS.len());
    let begun = Instant::now();
    for round in 0..rounds {
        for person in 0..PEOPLE {
            house.platforms.iter().for_each(|platform| platform.say(person, &format!("m{round}")));
        }
        for platform in &house.platforms {
            assert!(platform.wait_for_said((round + 1) * PEOPLE, DEADLINE), "{} is stuck", platform.name());
        }
    }
    let messages = rounds * PEOPLE * PLATFORMS.len();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = messages as f64 / begun.elapsed().as_secs_f64();
    let after = house.memory();
    row(&format!("the same after {messages} messages"), &format!("{after:.1} MB"), "10 MB more");
    row("messages a second meanwhile", &format!("{rate:.0}"), "");
}

/// With a store that is there.
fn start() {
    let mut house = house(&PLATFORMS, Duration::ZERO);
    for (which, make) in PLATFORMS.iter().enumerate() {
        let name = make(0).name();
        let mut times: Vec<Duration> = (0..20).map(|_| house.start_again(which)).collect();
        times.sort_unstable();
        row(&format!("{name}: process start to the first poll or session, p50"), &ms(times[10]), "60 ms");
    }
}

impl House {
    /// How long it takes from the start of the process until it listens on one of the platforms.
    fn start_again(&mut self, which: usize) -> Duration {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
        let before = self.heard();
        let begun = Instant::now();
        self.gateway = serve(&self.home);
        while self.platforms[which].heard() <= before[which] {
            assert!(begun.elapsed() < DEADLINE, "it does not listen");
            std::thread::sleep(Duration::from_micros(100));
        }
        let took = begun.elapsed();
        self.wait_until_heard(&before);
        took
    }
}

fn row(what: &str, figure: &str, wanted: &str) {
    println!("| {what} | {figure} | {wanted} |");
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (mut wanted, mut messages) = (Vec::new(), 100_000);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--messages" => messages = words.next().and_then(|number| number.parse().ok()).unwrap(),
            // What cargo itself passes.
            "--bench" => {}
            _ => wanted.push(word),
        }
    }
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    row("what", "measured", "wanted");
    row("---", "---", "---");
    if runs("latency") {
        PLATFORMS.into_iter().for_each(latency);
    }
    if runs("burst") {
        for make in PLATFORMS {
            burst(make, Duration::ZERO, "0.6 s");
            burst(make, Duration::from_secs(1), "4.4 s");
        }
    }
    if runs("start") {
        start();
    }
    if runs("memory") {
        memory(messages);
    }
}
