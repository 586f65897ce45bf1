//! How many instructions a turn takes: `.ci/instructions`. Prints a table, and fails if one of the scenarios takes over
//! 3 % more than the number in `instructions.toml`. With `--write` it keeps the new numbers; the commit says why.
//!
//! Times depend on the machine's hour, instructions hardly. callgrind counts them, of all threads, from one mark to the
//! next, in a process for each scenario. It has the system of the simulation (`tests/simulate`): one thread whose time
//! and randomness come from a seed, in which each operation of the database is done in place. Only SQLite's own threads
//! are scheduled by chance.
//!
//! The dev build is counted, as `.ci/run` compiles it for the tests: a release build would be compiled for this alone.
//! Its numbers are larger, and grow for the same reasons. Processors differ in the forms of `memcpy` and its like that
//! they have, so the numbers of another model are shown beside the kept ones, and not held against them.

#![cfg(test)] // so that the lints know it for no part of the product

#[cfg(debug_assertions)]
#[expect(dead_code, reason = "the other benches use more of it")]
#[path = "sink/app.rs"]
mod app;
#[cfg(debug_assertions)]
#[expect(dead_code, reason = "the simulation uses more of it")]
#[path = "../tests/simulate/src/random.rs"]
mod random;
#[cfg(debug_assertions)]
#[path = "instructions/scenarios.rs"]
mod scenarios;
#[cfg(debug_assertions)]
mod sink;
#[cfg(debug_assertions)]
#[expect(
    dead_code,
    unsafe_code,
    reason = "it takes the place of functions of C; the simulation uses more of it"
)]
#[path = "../tests/simulate/src/system.rs"]
mod system;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use adjutant::service;
use adjutant_config::Config;
use adjutant_types::clock::SystemClock;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.toml");
/// Where callgrind's files stay, for `callgrind_annotate`.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/instructions");
/// By how much a number may grow.
const GROWTH: f64 = 0.03;

struct Scenario {
    /// Its key in the file.
    name: &'static str,
    shown: &'static str,
    /// Whether each turn has an agent that searches the tasks.
    #[cfg_attr(not(debug_assertions), expect(dead_code))]
    has_skill: bool,
    chats: usize,
    /// Messages in each chat, one after another.
    messages: usize,
}

static SCENARIOS: [Scenario; 3] = [
    Scenario { name: "plain", shown: "plain turns", has_skill: false, chats: 1, messages: 10 },
    Scenario { name: "skill", shown: "turns with a skill", has_skill: true, chats: 1, messages: 10 },
    Scenario { name: "crowd", shown: "plain turns over 50 chats", has_skill: false, chats: 50, messages: 4 },
];

/// A store whose migrations aren't counted.
fn make_store(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = Config::in_dir(folder);
        service::open_store(&config, Arc::new(SystemClock)).await.unwrap().close().await;
    });
}

/// Runs a scenario below callgrind, in a process of its own.
fn count(scenario: &Scenario) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    make_store(folder.path());
    let file = format!("{FOLDER}/{}", scenario.name);
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--fair-sched=yes", "--dump-before=*mark_of_a_count*"])
        .arg(format!("--callgrind-out-file={file}"))
        .arg(std::env::current_exe().unwrap())
        .args(["--run", scenario.name])
        .arg(folder.path())
        .output()
        .expect("it needs the Debian package valgrind");
    assert!(done.status.success(), "{}: {}", scenario.name, String::from_utf8_lossy(&done.stderr));
    // The first part is before the first mark, and what is after the second one has no number.
    assert!(!Path::new(&format!("{file}.3")).exists(), "{}: there are more than two marks", scenario.name);
    let part = fs::read_to_string(format!("{file}.2")).unwrap();
    part.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok()).unwrap()
}

/// Prints a scenario's row. Returns whether it grew too much, or has no number yet.
fn is_too_many(scenario: &Scenario, count: u64, kept: Option<&u64>) -> bool {
    let messages = scenario.chats * scenario.messages;
    let change = kept.map(|kept| count as f64 / *kept as f64 - 1.0);
    println!(
        "| {} | {messages} | {count} | {} | {} | {} |",
        scenario.shown,
        count / messages as u64,
        kept.map_or("none".into(), ToString::to_string),
        change.map_or("new".into(), |change| format!("{:+.2} %", change * 100.0)),
    );
    change.is_none_or(|change| change > GROWTH)
}

/// What the file holds.
#[derive(serde::Deserialize)]
struct Kept {
    /// The model of the processor that counted.
    #[serde(default)]
    processor: String,
    #[serde(flatten)]
    counts: BTreeMap<String, u64>,
}

fn write(counts: &BTreeMap<&str, u64>) {
    let lines: String = counts.iter().map(|(name, count)| format!("{name} = {count}\n")).collect();
    let head = "# Instructions of each scenario, written by `.ci/instructions --write`.";
    fs::write(FILE, format!("{head}\nprocessor = \"{}\"\n{lines}", processor())).unwrap();
}

/// The model of this machine's processor.
fn processor() -> String {
    let all = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = all.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    model.replace([':', '\t', '"'], "").trim().to_owned()
}

#[cfg(debug_assertions)]
fn run(name: &str, folder: &str) {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
    scenarios::run(scenario, Path::new(folder));
}

#[cfg(not(debug_assertions))]
fn run(_: &str, _: &str) {
    panic!("only a dev build has the simulated system: use .ci/instructions");
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [option, name, folder] = &words[..]
        && option == "--run"
    {
        run(name, folder);
        return ExitCode::SUCCESS;
    }
    let _ = fs::remove_dir_all(FOLDER);
    fs::create_dir_all(FOLDER).unwrap();
    let counts: BTreeMap<&str, u64> = std::thread::scope(|scope| {
        let counting =
            SCENARIOS.each_ref().map(|scenario| (scenario.name, scope.spawn(move || count(scenario))));
        counting.into_iter().map(|(name, count)| (name, count.join().unwrap())).collect()
    });
    if words.iter().any(|word| word == "--write") {
        write(&counts);
    }
    let kept: Kept = toml::from_str(&fs::read_to_string(FILE).unwrap()).unwrap();
    println!("| scenario | messages | instructions | for a message | kept | change |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let grown: Vec<&str> = SCENARIOS
        .iter()
        .filter(|scenario| is_too_many(scenario, counts[scenario.name], kept.counts.get(scenario.name)))
        .map(|scenario| scenario.name)
        .collect();
    let is_other = !kept.processor.is_empty() && kept.processor != processor();
    if is_other {
        println!("Not compared: the kept numbers are of another processor, {}.", kept.processor);
    }
    if grown.is_empty() || is_other {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "More than {} % over the number that is kept, or without one: {}. `callgrind_annotate {FOLDER}/NAME.2` shows what \
         takes them. If they are worth it, keep them with `.ci/instructions --write`, and say why in the commit.",
        GROWTH * 100.0,
        grown.join(", ")
    );
    ExitCode::FAILURE
}
