//! How fast and how small the gateway is: `cargo bench --bench channels`, with the names of parts to run only
//! those (`latency`, `streaming`, `postgres`, `burst`, `chats`, `old`, `start`, `memory`). `--messages N` changes how many the
//! memory is measured after, over all platforms, and `--turns N` how many old turns there are. Prints a table; nothing
//! here fails on a figure.
//!
//! The real binary on loopback fakes of the platforms, with a model server on loopback that answers at once,
//! and the embedded store with full durability, or PostgreSQL with it. Times are taken in the fakes' process, from the moment when a
//! person's message is there to be told until the answer has arrived.

#![cfg(test)] // so that the lints know it for no part of the product

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::postgres;
use adjutant_fakes::wire::Wire;
use adjutant_test_support::platform::{Make, PLATFORMS, Platform};
use adjutant_test_support::process::Home;
use adjutant_test_support::share;

#[path = "channels/old.rs"]
mod old;
#[path = "channels/streaming.rs"]
mod streaming;

/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_mins(1);

/// How many write on each platform.
const PEOPLE: usize = 50;

/// The gateway with its surroundings.
struct House {
    platforms: Vec<Box<dyn Platform>>,
    home: Home,
    gateway: Child,
    model: FakeModel,
}

/// Starts the gateway on these platforms; the model thinks for so long.
fn house(platforms: &[Make], thinks: Duration) -> House {
    house_of(platforms, PEOPLE, thinks, "")
}

/// With so many people, and this in the configuration.
fn house_of(platforms: &[Make], people: usize, thinks: Duration, config: &str) -> House {
    // It answers with the numbers of what it was told, a line each.
    let model = FakeModel::start(move |request| {
        std::thread::sleep(thinks);
        let told = last_message(request).replace("\\n", " ");
        Reply::text(&numbers(&told).map(|number| format!("m{number} ")).collect::<String>())
    });
    house_with(platforms, people, model, config)
}

/// With this model.
fn house_with(platforms: &[Make], people: usize, model: FakeModel, config: &str) -> House {
    let platforms: Vec<Box<dyn Platform>> = platforms.iter().map(|make| make(people)).collect();
    let channels: String = platforms.iter().map(|platform| platform.config()).collect();
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n{config}\n{channels}",
        model.base_url()
    ));
    let gateway = serve(&home);
    let house = House { platforms, home, gateway, model };
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

    /// The processor time that the gateway has used, in milliseconds.
    fn cpu(&self) -> f64 {
        share::used(self.gateway.id())
    }

    /// What one person's messages take, one after the other, sorted; and the milliseconds that the gateway uses for one. This many were
    /// answered before.
    fn one_by_one(&self, said: usize, messages: usize) -> (Vec<Duration>, f64) {
        let platform = &self.platforms[0];
        let (mut times, mut cpu) = (Vec::new(), self.cpu());
        for number in said..said + messages {
            // The first ones of a process are slower.
            if number == said + messages / 10 {
                (times, cpu) = (Vec::new(), self.cpu());
            }
            let begun = Instant::now();
            platform.say(0, &format!("m{number}"));
            assert!(platform.wait_for_said(number + 1, DEADLINE), "m{number} was not answered");
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let used = (self.cpu() - cpu) / f64::from(u32::try_from(times.len()).unwrap());
        (times, used)
    }

    /// A message in each of so many chats at once, until all are answered. This many were answered before.
    fn at_once(&self, said: usize, chats: usize) -> Duration {
        let platform = &self.platforms[0];
        let begun = Instant::now();
        (0..chats).for_each(|person| platform.say(person, &format!("m{person}")));
        assert!(platform.wait_for_said(said + chats, DEADLINE), "not all were answered");
        begun.elapsed()
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
    one_chat(&house, house.platforms[0].name(), "4 / 8 ms");
}

fn one_chat(house: &House, what: &str, wanted: &str) {
    let (times, cpu) = house.one_by_one(0, 2_200);
    row(&format!("{what}: event in, answer out, p50 / p99"), &percentiles(&times), wanted);
    row(&format!("{what}: the gateway's CPU for a message"), &format!("{cpu:.1} ms"), "2.5 ms");
}

fn percentiles(sorted: &[Duration]) -> String {
    let percentile = |percent: usize| ms(sorted[sorted.len() * percent / 100]);
    format!("{} / {}", percentile(50), percentile(99))
}

/// The same with the store in PostgreSQL, next door and a millisecond away.
fn postgres() {
    let server = postgres::shared().unwrap().unwrap();
    for (delay, what, wanted) in [(0, "PostgreSQL", "5 ms"), (1, "PostgreSQL, 1 ms away", "15 ms")] {
        let wire = Wire::to(&server.database().unwrap()).unwrap();
        wire.slow_down(Duration::from_millis(delay));
        let store = format!("[store]\nurl = \"{}\"\n", wire.url());
        let house = house_of(&PLATFORMS[..1], PEOPLE, Duration::ZERO, &store);
        one_chat(&house, &format!("{}, {what}", house.platforms[0].name()), wanted);
    }
}

/// Very many chats, a message in each.
fn chats() {
    let house = house_of(&PLATFORMS[..1], 2_000, Duration::ZERO, "");
    // Everybody has written before.
    house.at_once(0, 2_000);
    let before = house.cpu();
    let took = house.at_once(2_000, 2_000);
    row("Telegram: 2,000 chats at once", &format!("{:.2} s", took.as_secs_f64()), "2 s");
    let cpu = format!("{:.1} ms", (house.cpu() - before) / 2_000.0);
    row("Telegram: the gateway's CPU for a message meanwhile", &cpu, "1.3 ms");
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
    let (mut wanted, mut messages, mut turns) = (Vec::new(), 100_000, 1_000_000);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--messages" => messages = words.next().and_then(|number| number.parse().ok()).unwrap(),
            "--turns" => turns = words.next().and_then(|number| number.parse().ok()).unwrap(),
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
    if runs("streaming") {
        streaming::run();
    }
    if runs("postgres") {
        postgres();
    }
    if runs("chats") {
        chats();
    }
    if runs("old") {
        old::run(turns);
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
