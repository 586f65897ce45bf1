//! How fast and how small the engine is: `cargo bench`. Prints a table; nothing here fails on a figure.
//!
//! The model is a script that answers at once, the store is the embedded one with full durability, each
//! turn makes one dispatch and one skill call. A turn's time is from the message's hand-over to intake
//! until its answer lies in the outbox, as the deliverer sees it.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, and prints"
)]

#[path = "sink/app.rs"]
mod app;
mod sink;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_test_support::scripted::{Scripted, call, calls, has_results, text};
use serde_json::json;

use app::{App, app};

impl App {
    async fn say(&self, place: &str, event: &str) -> Duration {
        self.sink.say(&self.service, place, event, "add a task to buy milk").await.0
    }
}

fn instant_model() -> Arc<Scripted> {
    Arc::new(Scripted::new().forgetful().orchestrator(|request| {
        if has_results(request) {
            return text("Done.");
        }
        let arguments = json!({"query": "milk"});
        call(
            "dispatch_agent",
            json!({"agent_id": "a1", "mission": "search", "skills": ["tasks.search"], "arguments": arguments}),
        )
    }).plain(|_| text("They talked about milk.")))
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn row(what: &str, figure: &str, wanted: &str) {
    println!("| {what:<62} | {figure:>22} | {wanted:>16} |");
}

fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

async fn one_conversation() {
    let app = app(instant_model()).await;
    let mut times = Vec::new();
    for turn in 0..2200 {
        let time = app.say("a", &format!("a:{turn}")).await;
        if turn >= 200 {
            times.push(time);
        }
    }
    row("a turn in one conversation, p50", &ms(percentile(&mut times, 50)), "3 ms");
    row("a turn in one conversation, p99", &ms(percentile(&mut times, 99)), "10 ms");
}

async fn long_conversation() {
    let app = app(instant_model()).await;
    let mut early = Vec::new();
    let mut late = Vec::new();
    for turn in 0..10_050 {
        let time = app.say("a", &format!("a:{turn}")).await;
        match turn {
            50..150 => early.push(time),
            9_950.. => late.push(time),
            _ => {}
        }
    }
    let figure = format!("{} / {}", ms(percentile(&mut early, 50)), ms(percentile(&mut late, 50)));
    row("the 100th and the 10,000th turn of a conversation, p50", &figure, "no more");
}

async fn many_conversations(conversations: usize, turns: usize) {
    let app = Arc::new(app(instant_model()).await);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for conversation in 0..conversations {
        let app = app.clone();
        tasks.spawn(async move {
            for turn in 0..turns {
                app.say(&format!("c{conversation}"), &format!("c{conversation}:{turn}")).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = (conversations * turns) as f64 / began.elapsed().as_secs_f64();
    row(&format!("turns a second over {conversations} conversations"), &format!("{rate:.0}"), "800");
}

async fn side_by_side() {
    let agents = Scripted::new()
        .forgetful()
        .orchestrator(|request| {
            if has_results(request) {
                return text("Done.");
            }
            let agent = |n: i32| {
                call(
                    "dispatch_agent",
                    json!({"agent_id": format!("a{n}"), "mission": "think", "skills": ["tasks.search"]}),
                )
            };
            calls((0..4).map(agent).collect())
        })
        .agent(|_| text("Thought.").after(Duration::from_millis(500)));
    let app = app(Arc::new(agents)).await;
    let mut times = Vec::new();
    for turn in 0..6 {
        times.push(app.say("a", &format!("a:{turn}")).await);
    }
    row("four agents of 500 ms side by side, p50", &ms(percentile(&mut times, 50)), "550 ms");
}

async fn growth() {
    let app = Arc::new(app(instant_model()).await);
    let run = async |from: usize, turns: usize| {
        let mut tasks = tokio::task::JoinSet::new();
        for conversation in 0..50 {
            let app = app.clone();
            tasks.spawn(async move {
                for turn in from..from + turns / 50 {
                    app.say(&format!("g{conversation}"), &format!("g{conversation}:{turn}")).await;
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    };
    run(0, 5_000).await;
    let before = memory(std::process::id());
    run(100, 50_000).await;
    let after = memory(std::process::id());
    row("memory after 5,000 and after 55,000 turns", &format!("{before:.1} / {after:.1} MB"), "no growth");
}

async fn requests() {
    let model = Arc::new(
        Scripted::new()
            .orchestrator(|request| {
                if has_results(request) {
                    return text("Done.");
                }
                let skills = json!(["tasks.search", "memory.search"]);
                call("dispatch_agent", json!({"agent_id": "a1", "mission": "search", "skills": skills}))
            })
            .agent(|_| text("Found.")),
    );
    let app = app(model.clone()).await;
    app.say("a", "a:1").await;
    let sizes: Vec<usize> = model
        .requests()
        .iter()
        .take(2)
        .map(|request| serde_json::to_string(request).map_or(0, |json| json.len()))
        .collect();
    row(
        "first request of a turn, all skills in the catalogue",
        &format!("{} bytes", sizes[0]),
        "8,192 bytes",
    );
    row("first request of a sub-agent with two skills", &format!("{} bytes", sizes[1]), "3,072 bytes");
}

/// Resident memory of a process in MB.
fn memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kb: f64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or_default();
    kb / 1024.0
}

fn processes() {
    let binary = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let began = Instant::now();
            let done = Command::new(binary)
                .args(["chat", "--once", "what is overdue?"])
                .current_dir(folder.path())
                .env("ADJUTANT_DATA_DIR", folder.path())
                .output()
                .expect("a process");
            assert!(done.status.success(), "{done:?}");
            began.elapsed()
        })
        .collect();
    row("chat --once, basic mode, start to exit, p50", &ms(percentile(&mut times, 50)), "100 ms");
    let mut idle = Command::new(binary)
        .args(["chat", "--json"])
        .current_dir(folder.path())
        .env("ADJUTANT_DATA_DIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    std::thread::sleep(Duration::from_secs(2));
    row("memory of an idle process", &format!("{:.1} MB", memory(idle.id())), "25 MB");
    drop(idle.stdin.take());
    idle.wait().expect("an end");
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    row("what", "measured", "wanted");
    println!("|{:-<64}|{:-<24}|{:-<18}|", "", "", "");
    if runs("one") {
        runtime.block_on(one_conversation());
    }
    if runs("many") {
        runtime.block_on(many_conversations(64, 100));
        runtime.block_on(many_conversations(1000, 8));
    }
    if runs("parallel") {
        runtime.block_on(side_by_side());
    }
    if runs("requests") {
        runtime.block_on(requests());
    }
    if runs("long") {
        runtime.block_on(long_conversation());
    }
    if runs("growth") {
        runtime.block_on(growth());
    }
    if runs("process") {
        processes();
    }
}
