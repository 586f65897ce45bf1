//! How well memory is searched, and how fast: `cargo bench --bench memory`. Prints tables; nothing here fails on a
//! figure.
//!
//! 2,000 questions in six kinds about a generated year (`remembered`), recall at 10 on both databases, by words alone
//! and with vectors, of the set that the search was made with and of one that was held out; and the time of a search
//! among 100,000 memories, by words alone and with vectors; 1,000 questions each about two sets of talk between two people
//! (`talk`), of which the search was tuned with the first alone; and the time of a search among 100,000 of their messages,
//! for questions, for common words and for rare ones.
//! Names of parts run only those (`tuned`, `held-out`, `real-tuned`, `real`, `memories`, `talk`, `messages`). The vectors
//! come from servers on loopback: one that knows the set, and for `real-tuned`, `real` (of smaller sets of the same seeds)
//! and `talk` all-MiniLM-L6-v2, whose packages are installed once under `target`. Without PostgreSQL's programs there are
//! only SQLite's figures.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, and prints"
)]

mod minilm;
mod talk;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_fakes::embeddings::FakeEmbeddings;
use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, SearchIn, index};
use adjutant_models::embeddings::Embedder;
use adjutant_store::people::Conversation;
use adjutant_store::{Batch, Store, people};
use adjutant_test_support::remembered;
use adjutant_test_support::remembered::meanings::direction;
use adjutant_test_support::remembered::{Dice, measure};
use adjutant_types::clock::SystemClock;

/// How many questions, of them for the real model, memories, and timed searches.
const QUESTIONS: usize = 2000;
const REAL_QUESTIONS: usize = 600;
const MEMORIES: usize = 100_000;
const SEARCHES: usize = 200;

/// The seed of the set that the search was made better with, and of one that nobody looked at meanwhile.
const SEEDS: [(&str, u64); 2] = [("the set it was made with", 2026), ("a set held out", 7_340_033_921)];

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = adjutant_fakes::postgres::shared().expect("PostgreSQL starts, or isn't there");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    for of in ["tuned", "held-out", "real-tuned", "real", "memories", "talk", "messages"] {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == of) {
            continue;
        }
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
    let [(tuned, seed), (held_out, other)] = SEEDS;
    match of {
        "tuned" => questions(&store, &format!("{database}, {tuned}"), seed).await,
        "held-out" => questions(&store, &format!("{database}, {held_out}"), other).await,
        "real-tuned" => real(&store, &format!("{database}, {tuned}, smaller"), seed).await,
        "real" => real(&store, &format!("{database}, {held_out}, smaller"), other).await,
        "talk" => {
            talk_of(&store, &format!("{database}, {tuned}"), &talk::rooms(talk::DEV, seed)).await;
            talk_of(&store, &format!("{database}, {held_out}"), &talk::rooms(talk::TEST, other)).await;
        }
        "messages" => messages(&store, database).await,
        _ => memories(&store, database).await,
    }
    store.close().await;
}

async fn questions(store: &Store, which: &str, seed: u64) {
    let set = remembered::set(seed, QUESTIONS);
    let here = by_words(store, which, &set).await;
    let server = FakeEmbeddings::start(remembered::meanings::meaning);
    with_vectors(store, &here, &set, &vectors_of("known", &server.base_url())).await;
}

async fn real(store: &Store, which: &str, seed: u64) {
    let set = remembered::set(seed, REAL_QUESTIONS);
    let here = by_words(store, which, &set).await;
    let Some(server) = minilm::MiniLm::start().expect("a server") else { return };
    let (name, url) = ("all-MiniLM-L6-v2", server.base_url());
    // The server knows the questions then, so that no search gives up waiting for it.
    let embedder = Embedder::new(name, &url, None).expect("an address");
    let texts: Vec<&str> = set.questions.iter().map(|question| question.text.as_str()).collect();
    warm(&embedder, &texts).await;
    with_vectors(store, &here, &set, &vectors_of(name, &url)).await;
}

async fn warm(embedder: &Embedder, texts: &[&str]) {
    for texts in texts.chunks(32) {
        embedder.embed(texts).await.expect("vectors");
    }
}

async fn talk_of(store: &Store, which: &str, rooms: &[talk::Room]) {
    let places = talk::measure::load(store, rooms).await;
    let mut ways = vec![talk::measure::recall(store, &places, rooms, None).await];
    if let Some(server) = minilm::MiniLm::start().expect("a server") {
        let (name, url) = ("all-MiniLM-L6-v2", server.base_url());
        let texts: Vec<&str> =
            rooms.iter().flat_map(|room| &room.questions).map(|question| question.text.as_str()).collect();
        warm(&Embedder::new(name, &url, None).expect("an address"), &texts).await;
        let vectors = vectors_of(name, &url);
        vectors.attempt().await.expect("a vector");
        vectors.catch_up(store).await.expect("vectors");
        ways.push(talk::measure::recall(store, &places, rooms, Some(&vectors)).await);
    }
    let lines: usize = rooms.iter().map(|room| room.lines.len()).sum();
    println!("{which}: recall at 10 among {lines} messages of {} rooms, by words, with vectors", rooms.len());
    println!("{}", talk::measure::table(&ways));
}

/// Searches in one room that has all messages.
async fn messages(store: &Store, database: &str) {
    let rooms = talk::rooms(talk::DEV, SEEDS[0].1);
    let mut room = talk::Room { questions: Vec::new(), ..talk::rooms(talk::DEV, 1).swap_remove(0) };
    let lines = rooms.iter().flat_map(|room| &room.lines).cycle().take(MEMORIES);
    room.lines = lines.cloned().collect();
    let here = talk::measure::load(store, std::slice::from_ref(&room)).await.swap_remove(0);
    store.scrub().await.expect("vacuumed");
    let questions = rooms.iter().flat_map(|room| &room.questions).map(|question| question.text.as_str());
    println!(
        "{database}: a search among {MEMORIES} messages: {}",
        times(store, &here, questions, None).await
    );
    let [common, rare] = by_frequency(&room.lines);
    for (kind, words) in [("common", common), ("rare", rare)] {
        let times = times(store, &here, words.iter().map(String::as_str), None).await;
        println!("{database}: for three {kind} words: {times}");
    }
}

/// Questions of the most frequent words of these lines, and of the rarest, three each.
fn by_frequency(lines: &[talk::Line]) -> [Vec<String>; 2] {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines {
        let words = line.text.split(|char: char| !char.is_alphabetic());
        // Only those that are looked for.
        for word in words.filter(|word| adjutant_memory::has_all_words(word, word)) {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let mut words: Vec<(usize, String)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
    words.sort_unstable();
    let questions = |words: &[(usize, String)]| {
        let three = |words: &[(usize, String)]| {
            words.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ")
        };
        words.chunks(3).map(three).collect()
    };
    let share = words.len().min(60);
    [questions(&words[words.len() - share..]), questions(&words[..share])]
}

fn vectors_of(name: &str, url: &str) -> Vectors {
    Vectors::new(Embedder::new(name, url, None).expect("an address"))
}

async fn by_words(store: &Store, which: &str, set: &remembered::Set) -> Conversation {
    let here = measure::load(store, set).await;
    let words = measure::recall(set, &measure::ask(store, &here, set, None).await);
    println!("{which}: recall at 10 among {} turns, by words alone", set.said.len());
    println!("{}", measure::table(set, &words));
    here
}

async fn with_vectors(store: &Store, here: &Conversation, set: &remembered::Set, vectors: &Vectors) {
    let model = vectors.attempt().await.expect("a vector");
    vectors.catch_up(store).await.expect("vectors");
    let begin = Instant::now();
    let hybrid = measure::recall(set, &measure::ask(store, here, set, Some(vectors)).await);
    let each = begin.elapsed() / u32::try_from(set.questions.len()).unwrap_or(u32::MAX);
    println!("with vectors of {model}, {} a search", shown(each));
    println!("{}", measure::table(set, &hybrid));
}

async fn memories(store: &Store, database: &str) {
    let set = remembered::set(SEEDS[0].1, QUESTIONS);
    let here = measure::load(store, &remembered::Set { said: Vec::new(), questions: Vec::new() }).await;
    fill(store, &here, &set).await;
    let questions = || set.questions.iter().map(|question| question.text.as_str());
    println!(
        "{database}: a search among {MEMORIES} memories: {}",
        times(store, &here, questions(), None).await
    );
    let server = FakeEmbeddings::start(|text| direction(text, 384));
    let vectors = vectors_of("known", &server.base_url());
    vectors.catch_up(store).await.expect("vectors");
    println!("with vectors of 384 numbers: {}", times(store, &here, questions(), Some(&vectors)).await);
}

async fn times(
    store: &Store,
    here: &Conversation,
    questions: impl Iterator<Item = &str> + Clone,
    vectors: Option<&Vectors>,
) -> String {
    let asker = Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors, fade: None };
    let mut times = Vec::new();
    for question in questions.cycle().step_by(7).take(SEARCHES) {
        let begin = Instant::now();
        adjutant_memory::search(store, asker, question, SearchIn::Both, "", 10).await.expect("a search");
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    format!("p50 {}, p95 {}, the slowest {}", shown(at(50)), shown(at(95)), shown(at(100)))
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
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
