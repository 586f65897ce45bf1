//! The scorecard: `cargo bench --bench scorecard`. The real binary on every faked platform, on both databases,
//! killed again and again under load; the table goes to `docs/scorecard.md`.
//!
//! `--kills N` processes are killed in all, `--seed N` is the random seed, `--machine TEXT` is what the document
//! says it ran on.

#![cfg(test)] // so that the lints know it for no part of the product

use std::path::Path;

use adjutant_fakes::postgres;
use adjutant_test_support::chaos;
use adjutant_test_support::chaos::{Run, Score};
use adjutant_test_support::platform::{PLATFORMS, STREAMING};

struct Options {
    kills: u32,
    seed: u64,
    machine: String,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { kills: 240, seed: 20_261_121, machine: "a machine".to_owned() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} wants a value"));
            match word.as_str() {
                "--kills" => options.kills = value().parse().unwrap(),
                "--seed" => options.seed = value().parse().unwrap(),
                "--machine" => options.machine = value(),
                // What cargo itself passes.
                "--bench" => {}
                _ => panic!("unknown option {word}"),
            }
        }
        options
    }
}

fn main() {
    let options = Options::read();
    let server = postgres::shared().unwrap();
    // SQLite; PostgreSQL with two instances, and with four.
    let stores = if server.is_some() { 3 } else { 1 };
    // And on SQLite with answers that a model writes.
    let (plain, runs) = (PLATFORMS.len() * stores, PLATFORMS.len() * stores + STREAMING.len());
    println!("{}", Score::HEAD);
    let mut scores = Vec::new();
    for which in 0..runs {
        let (streams, store) = (which >= plain, if which < plain { which % stores } else { 0 });
        let database = server.filter(|_| store > 0).map(|server| server.database().unwrap());
        let run = Run {
            platform: if streams { STREAMING[which - plain] } else { PLATFORMS[which / stores] },
            instances: [1, 2, 4][store],
            database,
            kills: options.kills.div_ceil(u32::try_from(runs).unwrap()),
            streams,
            seed: options.seed + which as u64,
        };
        let score = chaos::run(run);
        println!("{}", score.row());
        if !score.is_clean() {
            eprintln!("{}\n{}", score.problems(), score.log);
        }
        scores.push(score);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scorecard.md");
    // The soak's section is written by hand.
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let soak = before.find("\n## The soak").map_or("", |at| &before[at..]);
    std::fs::write(path, document(&options, &scores) + soak).unwrap();
    assert!(scores.iter().all(Score::is_clean), "something was lost, or done twice");
}

fn document(options: &Options, scores: &[Score]) -> String {
    let rows: Vec<String> = scores.iter().map(Score::row).collect();
    let kills: u32 = scores.iter().map(|score| score.kills).sum();
    let messages: usize = scores.iter().map(|score| score.messages).sum();
    format!(
        "# Scorecard\n\n\
         Eight people, in direct messages and all in one room, write to the real binary on loopback fakes of the platforms, while\n\
         it's killed (`kill -9`) and restarted at random moments: {kills} kills, {messages} messages. Meanwhile the platforms\n\
         misbehave: deliveries arrive but their replies don't, requests fail after taking effect, rate limits hit, connections\n\
         break, and messages arrive twice. On PostgreSQL, two or four instances serve the same accounts and share the turns, and\n\
         one or all are killed. Of four, one is also suspended or cut off from the database for up to three seconds, again and again.\n\
         Every message asks for its own task, so each answer and each effect can be told apart. One in six messages runs a\n\
         workflow for it, and every other one of those answers with a file. Where answers are streamed, a model writes them, a\n\
         token every 20 ms, and a part of one that is left in a chat counts as left undone. The target is zero everywhere.\n\n\
         The load stays within the [promise's limit](promise.md) of 50 messages between a crash on Telegram and its recovery: several\n\
         instances get a third of the load, and receiving isn't disturbed again until it has recovered. Beyond that\n\
         limit, answers on Telegram were seen twice.\n\n\
         {}\n{}\n\n\
         The longest wait is from a message to its answer, including crashes and pauses that the platform asked for.\n\
         Made with `cargo bench --bench scorecard -- --kills {} --seed {}` on {}.\n",
        Score::HEAD,
        rows.join("\n"),
        options.kills,
        options.seed,
        options.machine
    )
}
