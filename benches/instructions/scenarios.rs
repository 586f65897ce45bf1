//! A scenario, in a process that does nothing else and is counted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant::service::{self, Service};
use adjutant_store::Batch;
use adjutant_store::simulation::{self, Passing};
use adjutant_test_support::scripted::{Scripted, call, has_results, text};
use adjutant_types::clock::FixedClock;
use futures::future::join_all;
use serde_json::json;

use crate::sink::Sink;
use crate::{Scenario, app, system};

/// The seed of time and randomness.
const SEED: u64 = 1;
/// How long an answer may take, in the time of the simulation.
const PATIENCE: Duration = Duration::from_secs(600);

/// A world in which nothing takes time or goes wrong.
struct Calm;

impl simulation::World for Calm {
    fn before_read(&self) -> Passing<'_> {
        Box::pin(async { Ok(()) })
    }
    fn before_commit<'a>(&'a self, _: &'a [Batch]) -> Passing<'a> {
        Box::pin(async { Ok(()) })
    }
    fn after_commit<'a>(&'a self, _: &'a [Batch]) -> Passing<'a> {
        Box::pin(async { Ok(()) })
    }
    fn reach(&self, _: &str) {}
    fn mailed<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Passing<'a, bool> {
        Box::pin(async { Ok(()) })
    }
}

/// callgrind writes down what it has counted before this is called, and begins at 0.
#[inline(never)]
fn mark_of_a_count() {
    std::hint::black_box(());
}

fn model(scenario: &Scenario) -> Arc<Scripted> {
    let has_skill = scenario.has_skill;
    let script = Scripted::new().forgetful().orchestrator(move |request| {
        if !has_skill || has_results(request) {
            return text("Done.");
        }
        let arguments = json!({"query": "milk"});
        call(
            "dispatch_agent",
            json!({"agent_id": "a1", "mission": "search", "skills": ["tasks.search"], "arguments": arguments}),
        )
    });
    Arc::new(script.plain(|_| text("They talked about milk.")))
}

struct Talk {
    service: Service,
    sink: Arc<Sink>,
    clock: Arc<FixedClock>,
}

impl Talk {
    /// Somebody says this many things in a chat, each after the answer to the last one.
    async fn in_chat(&self, chat: &str, messages: usize) {
        for number in 0..messages {
            self.clock.advance(Duration::from_secs(1));
            let event = format!("{chat}:{number}");
            let saying = self.sink.say(&self.service, chat, &event, "is there any milk left?");
            let (_, answer) = tokio::time::timeout(PATIENCE, saying).await.expect("an answer");
            assert!(answer.contains("Done."), "{answer}");
        }
    }

    /// A second of the simulation, in which what is left to do is done.
    async fn rest(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn start(scenario: &Scenario, folder: &Path) -> Talk {
    let (config, clock) = (app::config(folder), FixedClock::at("2026-11-21T10:00:00Z"));
    let store = simulation::in_place(service::open_store(&config, clock.clone())).unwrap();
    // Tasks of the pools, and their threads, have connections to give back first; nothing else runs yet.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(5));
    }
    let (service, sink) = app::start(model(scenario), &config, store).await;
    Talk { service, sink, clock }
}

/// Ends the process.
pub(crate) fn run(scenario: &Scenario, folder: &Path) {
    system::enter(SEED);
    simulation::enter(Some(Arc::new(Calm)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let talk = start(scenario, folder).await;
        // What is made once doesn't count.
        talk.in_chat("before", 2).await;
        talk.rest().await;
        mark_of_a_count();
        let chats: Vec<String> = (0..scenario.chats).map(|number| format!("chat {number}")).collect();
        join_all(chats.iter().map(|chat| talk.in_chat(chat, scenario.messages))).await;
        talk.rest().await;
        mark_of_a_count();
    });
    // Nothing is closed.
    std::process::exit(0);
}
