//! What delegation costs beyond its model calls, and what 64 trees of agents at once take of memory:
//! `cargo bench --bench delegation`. Prints a table; nothing here fails on a figure.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, and prints"
)]

#[path = "sink/app.rs"]
mod app;
mod sink;

use std::sync::Arc;
use std::time::Duration;

use adjutant_models::Request;
use adjutant_test_support::scripted::{Gate, Reply, Scripted, call, calls, has_results, text};
use serde_json::json;

use app::app;

const TURNS: usize = 300;
const TREES: usize = 64;

/// An orchestrator that dispatches an executor, which has this many reviewers look at its work.
fn model(reviewers: usize, gate: Option<Arc<Gate>>) -> Arc<Scripted> {
    let dispatch = |request: &Request| match has_results(request) {
        true => text("Done."),
        false => call("dispatch_agent", json!({"agent_id": "a", "role": "executor", "mission": "work"})),
    };
    let works = move |request: &Request| -> Reply {
        let is_reviewer = request.messages[0].text.starts_with("You are a reviewer.");
        if is_reviewer || has_results(request) || reviewers == 0 {
            let reply = text("good");
            return match gate.as_ref().filter(|_| is_reviewer) {
                Some(gate) => reply.behind(gate),
                None => reply,
            };
        }
        let one = |_| call("delegate_to_agent", json!({"role": "reviewer", "task": "look"}));
        calls((0..reviewers).map(one).collect())
    };
    Arc::new(Scripted::new().forgetful().orchestrator(dispatch).agent(works))
}

/// The median time of a turn.
async fn median(reviewers: usize) -> Duration {
    let app = app(model(reviewers, None)).await;
    let mut times = Vec::new();
    for n in 0..TURNS {
        times.push(app.sink.say(&app.service, "home", &format!("e{n}"), "go").await.0);
    }
    times.sort_unstable();
    app.service.shut_down(Duration::from_secs(5)).await.expect("shut down");
    times[TURNS / 2]
}

/// Resident memory of this process in MB.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    let kb: f64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number");
    kb / 1024.0
}

/// What trees of three levels take while all of their reviewers are at work.
async fn trees() -> f64 {
    let gate = Gate::closed();
    let app = app(model(2, Some(gate.clone()))).await;
    let before = memory();
    let turns = (0..TREES).map(|n| {
        let (app, place) = (&app, format!("place-{n}"));
        async move { app.sink.say(&app.service, &place, &format!("t{n}"), "go").await }
    });
    let watch = async {
        gate.arrived(2 * TREES).await;
        let grown = memory() - before;
        gate.open();
        grown
    };
    let (_, grown) = futures::join!(futures::future::join_all(turns), watch);
    app.service.shut_down(Duration::from_secs(5)).await.expect("shut down");
    grown
}

fn row(what: &str, figure: &str, wanted: &str) {
    println!("| {what:<58} | {figure:>12} | {wanted:>10} |");
}

#[tokio::main]
async fn main() {
    row("what", "measured", "goal");
    let (without, with) = (median(0).await, median(1).await);
    let step = with.saturating_sub(without).as_secs_f64() * 1000.0;
    row("a step of delegation beyond its model calls", &format!("{step:.2} ms"), "3 ms");
    let grown = trees().await;
    row("64 trees of three levels at once, resident memory", &format!("{grown:.1} MB"), "100 MB");
}
