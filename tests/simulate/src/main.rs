//! The engine in a world that comes from a seed: `cargo run -p simulate -- --seeds 10000`. See docs/promise.md.

mod bugs;
mod checker;
mod history;
mod model;
mod people;
mod platform;
mod process;
mod random;
mod run;
mod system;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bugs::Bug;
use system::Child;

const USAGE: &str = "simulate [--seeds COUNT | --seconds TIME] [--from SEED] [--jobs COUNT] [--bug NAME]
simulate --seed SEED [--bug NAME] [--log]
simulate --bugs [--seeds COUNT]";

/// A seed that takes longer than this hangs.
const LIMIT_SECONDS: u32 = 120;
/// The stack of a seed's thread.
const STACK: usize = 64 << 20;

#[derive(Default)]
struct Arguments {
    seeds: Option<u64>,
    seconds: Option<u64>,
    from: Option<u64>,
    seed: Option<u64>,
    jobs: Option<u64>,
    bug: Option<Bug>,
    bugs: bool,
    log: bool,
}

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok());
        match word.as_str() {
            "--seeds" => arguments.seeds = Some(number()?),
            "--seconds" => arguments.seconds = Some(number()?),
            "--from" => arguments.from = Some(number()?),
            "--seed" => arguments.seed = Some(number()?),
            "--jobs" => arguments.jobs = Some(number()?),
            "--bug" => {
                let name = words.next()?;
                arguments.bug = Some(Bug::ALL.into_iter().find(|bug| format!("{bug:?}") == name)?);
            }
            "--bugs" => arguments.bugs = true,
            "--log" => arguments.log = true,
            _ => return None,
        }
    }
    Some(arguments)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let folder = Folder::new();
    if let Some(seed) = arguments.seed {
        return if show(seed, &arguments, &folder.0) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if arguments.bugs {
        return if all_bugs(&arguments, &folder.0) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let begun = Instant::now();
    let (seeds, bad) = search(&arguments, arguments.bug, &folder.0);
    let rate = seeds as f64 / begun.elapsed().as_secs_f64();
    println!("{seeds} seeds, {rate:.1} a second");
    match bad {
        None => {
            println!("0 violations");
            ExitCode::SUCCESS
        }
        Some((seed, text)) => {
            println!("seed {seed}:\n{text}");
            println!("cargo run -p simulate -- --seed {seed}");
            ExitCode::FAILURE
        }
    }
}

/// Where the stores are: in memory.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let root = Path::new("/dev/shm");
        let root = if root.is_dir() { root.to_owned() } else { std::env::temp_dir() };
        let folder = root.join(format!("adjutant-simulate-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("empty")).expect("a folder");
        let child = Child::start(LIMIT_SECONDS, || {
            run::prepare(&folder.join("empty"));
            0
        });
        let (_, status) = Child::first(&[Some(child)]);
        assert_eq!(status, Some(0), "no store can be made");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a seed in this process, which does nothing else.
fn play(seed: u64, bug: Option<Bug>, root: &Path) -> run::Outcome {
    let folder = root.join(seed.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(root.join("empty").join(run::STORE), folder.join(run::STORE)).expect("the empty store");
    let place = folder.clone();
    let run = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        system::enter(seed);
        run::run(seed, bug, &place)
    });
    let outcome = run.expect("a thread").join();
    let _ = std::fs::remove_dir_all(&folder);
    outcome.unwrap_or_else(|_| run::Outcome {
        history: Vec::new(),
        violations: vec!["the simulation panicked".into()],
    })
}

/// Prints the history of a seed. Returns whether nothing is wrong.
fn show(seed: u64, arguments: &Arguments, root: &Path) -> bool {
    let child = Child::start(LIMIT_SECONDS, || {
        if arguments.log {
            let log = tracing_subscriber::fmt()
                .with_writer(std::io::stderr)
                .with_max_level(LOG_LEVEL)
                .without_time();
            log.init();
        }
        let outcome = play(seed, arguments.bug, root);
        for (at, event) in &outcome.history {
            println!("{:>8}.{:03} {event:?}", at / 1_000, at % 1_000);
        }
        outcome.violations.iter().for_each(|violation| println!("VIOLATION {violation}"));
        i32::from(!outcome.violations.is_empty())
    });
    Child::first(&[Some(child)]).1 == Some(0)
}

const LOG_LEVEL: tracing_subscriber::filter::LevelFilter = tracing_subscriber::filter::LevelFilter::INFO;

/// Runs seeds until one shows a violation. Returns how many there were, and that one.
fn search(arguments: &Arguments, bug: Option<Bug>, root: &Path) -> (u64, Option<(u64, String)>) {
    let from = arguments.from.unwrap_or(1);
    let seeds = arguments.seeds.unwrap_or(if arguments.seconds.is_some() { u64::MAX } else { 1_000 });
    let deadline = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let jobs = arguments
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |jobs| jobs.get() as u64));
    let mut children: Vec<Option<Child>> = (0..jobs).map(|_| None).collect();
    let mut running: Vec<u64> = vec![0; children.len()];
    let (mut next, mut done) = (0, 0);
    let is_over = |next: u64| next >= seeds || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    loop {
        while let Some(free) = children.iter().position(Option::is_none).filter(|_| !is_over(next)) {
            let seed = from + next;
            next += 1;
            running[free] = seed;
            children[free] = Some(Child::start(LIMIT_SECONDS, || {
                let outcome = play(seed, bug, root);
                let _ = std::fs::write(root.join(format!("{seed}.txt")), outcome.violations.join("\n"));
                i32::from(!outcome.violations.is_empty())
            }));
        }
        if children.iter().all(Option::is_none) {
            return (done, None);
        }
        let (place, status) = Child::first(&children);
        children[place] = None;
        done += 1;
        let seed = running[place];
        let file = root.join(format!("{seed}.txt"));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(file);
        if status != Some(0) {
            while children.iter().any(Option::is_some) {
                let (place, _) = Child::first(&children);
                children[place] = None;
            }
            let text = if status.is_none() { "it hangs, or was killed".to_owned() } else { text };
            return (done, Some((seed, text)));
        }
    }
}

/// Looks for each planted bug. Returns whether all were found.
fn all_bugs(arguments: &Arguments, root: &Path) -> bool {
    println!("| planted bug | seeds | seed | what the checker says |\n| --- | --: | --: | --- |");
    let mut are_found = true;
    for bug in Bug::ALL {
        let (seeds, found) = search(arguments, Some(bug), root);
        are_found &= found.is_some();
        let (seed, text) = found
            .map_or_else(|| ("-".to_owned(), "nothing".to_owned()), |(seed, text)| (seed.to_string(), text));
        println!("| {bug:?} | {seeds} | {seed} | {} |", text.lines().next().unwrap_or_default());
    }
    are_found
}
