//! How well memory is searched, and how fast: `cargo bench --bench memory`. Prints tables; nothing here fails on a
//! figure.
//!
//! 2,000 questions in six kinds about a generated year (`remembered`), recall at 10 on both databases, and the time of
//! a search among 100,000 memories. Without PostgreSQL's programs there are only SQLite's figures.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, and prints"
)]

mod remembered;

use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant::clock::SystemClock;
use adjutant::memory::{self, Asker, SearchIn, index};
use adjutant::store::people::Conversation;
use adjutant::store::{Batch, Store, people};

use remembered::{Dice, measure};

/// How many questions, memories and timed searches.
const QUESTIONS: usize = 2000;
const MEMORIES: usize = 100_000;
const SEARCHES: usize = 200;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = adjutant_fakes::postgres::shared().expect("PostgreSQL starts, or isn't there");
    for of in ["questions", "memories"] {
        let file = format!("sqlite://{}/{of}.db", folder.path().display());
        run(of, "SQLite", &file).await;
        match server {
            Some(server) => run(of, "PostgreSQL", &server.database().expect("a database")).await,
            None => println!("SKIPPED: PostgreSQL isn't installed"),
        }
    }
}

async fn run(of: &str, database: &str, url: &str) {
    let store = Store::open(url, Arc::new(SystemClock)).await.expect("a store");
    match of {
        "questions" => questions(&store, database).await,
        _ => memories(&store, database).await,
    }
    store.close().await;
}

async fn questions(store: &Store, database: &str) {
    let set = remembered::set(2026, QUESTIONS);
    let here = measure::load(store, &set).await;
    let found = measure::ask(store, &here, &set).await;
    println!("{database}: recall at 10 among {} turns", set.said.len());
    println!("{}", measure::table(&set, &measure::recall(&set, &found)));
}

async fn memories(store: &Store, database: &str) {
    let set = remembered::set(2026, QUESTIONS);
    let here = measure::load(store, &remembered::Set { said: Vec::new(), questions: Vec::new() }).await;
    fill(store, &here, &set).await;
    let asker = Asker { person: &here.person_id, here: &here, zone: chrono_tz::Tz::UTC };
    let mut times = Vec::new();
    for question in set.questions.iter().cycle().step_by(7).take(SEARCHES) {
        let begin = Instant::now();
        memory::search(store, asker, &question.text, SearchIn::Both, "", 10).await.expect("a search");
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    println!("{database}: a search among {MEMORIES} memories: p50 {}, p95 {}", shown(at(50)), shown(at(95)));
}

/// Memories made of what was said in the set, each with a number that makes it different.
async fn fill(store: &Store, here: &Conversation, set: &remembered::Set) {
    let mut dice = Dice(1);
    let person = people::person_by_id(store, &here.person_id).await.expect("a person");
    for chunk in 0..MEMORIES / 500 {
        let mut batch = Batch::new();
        for n in 0..500 {
            let said = &set.said[dice.below(set.said.len())];
            let number = chunk * 500 + n;
            batch.run(
                "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
                 VALUES ($1, $2, 'private', $3, 'fact', $4, '[]', $5)",
                [
                    format!("m{number}").into(),
                    (&person.id).into(),
                    (&here.id).into(),
                    format!("{} ({})", said.text, dice.below(30_000)).into(),
                    said.at.into(),
                ],
            );
        }
        store.write(batch).await.expect("written");
    }
    index::catch_up(store, chrono_tz::Tz::UTC, true, usize::MAX).await.expect("indexed");
    // A server does this by itself after a while.
    store.scrub().await.expect("vacuumed");
}
