//! Pause: running work finishes, nothing new starts, and a continue resumes where it stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_config::Policy;
use adjutant_store::{Batch, control};
use adjutant_types::TurnStatus;
use serde_json::json;

use crate::app::{Heard, TestApp, agent, direct, reports, scripted, scripted_with, skill, without_receipts};
use crate::scripted::{Gate, Scripted, Who, calls, has_results, in_order, text};
use crate::workflows::workflow_file;

/// An app in which two agents work, each within its model, and a third waits for one of them.
async fn at_work() -> (TestApp, Arc<Gate>) {
    let gate = Gate::closed();
    let (a, b) = (gate.clone(), gate.clone());
    let script = Scripted::new()
        .orchestrator(|request| match has_results(request) {
            true => text(format!("All in: {} reports.", reports(request).len())),
            false => calls(vec![
                agent("a", &["tasks.create"], json!({})),
                agent("b", &["tasks.search"], json!({})),
                direct("c", "tasks.create", json!({"title": "call Bob"})),
                agent("d", &["tasks.search"], json!({"depends_on": ["b"]})),
            ]),
        })
        .when(Who::Agent, "Mission: mission a", {
            let steps = in_order([skill("tasks.create", json!({"title": "buy milk"})), text("bought")]);
            move |request| steps(request).behind(&a)
        })
        .when(Who::Agent, "Mission: mission b", move |_| text("looked").behind(&b))
        .agent(|_| text("looked too"));
    (scripted(script).await, gate)
}

async fn tasks(app: &TestApp) -> i64 {
    app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap()
}

/// It has paused; returns its question.
async fn paused() -> (TestApp, Heard) {
    let (app, gate) = at_work().await;
    let event = app.tells("ada", "do it all").await;
    gate.arrived(2).await;
    app.says("ada", "/pause").await;
    gate.open();
    let asked = app.answer(&event).await;
    (app, asked)
}

async fn ending(app: &TestApp, heard: &Heard) -> Option<String> {
    app.turn(heard).await.ending.map(|ending| ending.to_string())
}

#[tokio::test]
async fn what_runs_is_let_finish_nothing_new_begins_and_continue_goes_on() {
    let (app, gate) = at_work().await;
    let event = app.tells("ada", "do it all").await;
    gate.arrived(2).await;
    while tasks(&app).await == 0 {
        tokio::task::yield_now().await;
    }
    let pausing = app.says("ada", "/pause").await;
    insta::assert_snapshot!(pausing.text, @"Pausing. I'll finish what's running, then ask whether to go on.");
    gate.open();
    let asked = app.answer(&event).await;
    insta::assert_snapshot!(asked.text, @"
    I've paused this.

    ✓ Added “call Bob”

    There are 2 things left to do. Shall I continue?
    ");
    assert_eq!(asked.buttons(), ["Continue", "Summarize", "Stop"]);
    app.rests().await;
    assert_eq!((tasks(&app).await, app.turn(&asked).await.status.as_str()), (1, "waiting"));
    assert_eq!(ending(&app, &asked).await, None);
    assert_eq!(app.requests(Who::Agent).len(), 2, "no agent's model was asked again");
    assert_eq!(app.says("ada", "/pause").await.text, "Nothing is running.");

    let done = app.says("ada", "continue").await;
    assert_eq!((without_receipts(&done.text), &done.turn), ("All in: 4 reports.", &asked.turn));
    assert_eq!((tasks(&app).await, app.requests(Who::Agent).len()), (2, 4), "nothing is done twice");
    app.ends_well().await;
}

#[tokio::test]
async fn a_plain_wait_pauses_what_runs() {
    let (app, gate) = at_work().await;
    let event = app.tells("ada", "do it all").await;
    gate.arrived(2).await;
    let pausing = app.says("ada", "Wait!").await;
    assert!(pausing.text.starts_with("Pausing."), "{}", pausing.text);
    gate.open();
    let asked = app.answer(&event).await;
    assert!(asked.text.starts_with("I've paused this."), "{}", asked.text);
    let done = app.says("ada", "continue").await;
    assert_eq!((without_receipts(&done.text), &done.turn), ("All in: 4 reports.", &asked.turn));
    assert_eq!(app.requests(Who::Agent).len(), 4, "nothing is done twice");
    app.ends_well().await;
}

#[tokio::test]
async fn a_plain_wait_is_a_message_if_nothing_runs() {
    let app = scripted(Scripted::new().orchestrator(|_| text("For whom?"))).await;
    assert_eq!(app.says("ada", "wait").await.text, "For whom?");
    app.ends_well().await;
}

#[tokio::test]
async fn a_paused_turn_can_be_stopped() {
    let (app, asked) = paused().await;
    let done = app.presses("ada", &asked, "Stop").await;
    assert!(done.text.starts_with("Stopped."), "{}", done.text);
    assert_eq!(app.turn(&done).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn there_is_nothing_to_pause() {
    let (app, _) = at_work().await;
    assert_eq!(app.says("ada", "/pause").await.text, "Nothing is running.");
    app.ends_well().await;
}

/// The only running turn.
async fn open_turn(app: &TestApp) -> String {
    let open: Option<(String,)> =
        app.store().first("SELECT id FROM turns WHERE ended_at IS NULL", &[]).await.unwrap();
    open.unwrap().0
}

/// An app in which an agent works until it has done enough.
async fn busy(enough: &Arc<AtomicBool>) -> TestApp {
    let enough = enough.clone();
    let script = Scripted::new()
        .orchestrator(|request| match has_results(request) {
            true => text("done"),
            false => agent("a", &["tasks.search"], json!({})),
        })
        .agent(move |_| match enough.load(Ordering::SeqCst) {
            true => text("enough"),
            false => skill("tasks.search", json!({})).after(Duration::from_millis(20)),
        });
    scripted_with(script, |config| {
        config.limits.skill_calls_per_agent = 100_000;
        config.limits.skill_calls_per_turn = 100_000;
        config.limits.conversation_calls = 100_000;
    })
    .await
}

/// As another process's command line does it.
#[tokio::test]
async fn another_process_pauses_and_resumes() {
    let enough = Arc::new(AtomicBool::new(false));
    let app = busy(&enough).await;
    let event = app.tells("ada", "look around").await;
    while app.requests(Who::Agent).len() < 2 {
        tokio::task::yield_now().await;
    }
    let turn = open_turn(&app).await;
    assert!(!control::resume(app.store(), &turn.as_str().into()).await.unwrap(), "it asks nothing");
    assert!(control::pause(app.store(), &turn.as_str().into()).await.unwrap());
    let asked = app.answer(&event).await;
    assert!(asked.text.starts_with("I've paused this."), "{}", asked.text);
    app.rests().await;
    enough.store(true, Ordering::SeqCst);
    assert!(control::resume(app.store(), &turn.as_str().into()).await.unwrap());
    app.passes(Duration::from_secs(1)).await;
    assert_eq!(app.sees("done").await.turn, asked.turn);
    let late = app.presses("ada", &asked, "Continue").await;
    assert_eq!(late.text, "You already answered: Continue.");
    app.ends_well().await;
}

#[tokio::test]
async fn another_process_cancels_what_runs() {
    let app = busy(&Arc::default()).await;
    let event = app.tells("ada", "look around").await;
    while app.requests(Who::Agent).is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(control::cancel(app.store(), &open_turn(&app).await.into()).await.unwrap());
    let stopped = app.answer(&event).await;
    assert!(stopped.text.starts_with("Stopped."), "{}", stopped.text);
    assert_eq!(app.turn(&stopped).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn another_process_cancels_what_waits() {
    let (app, asked) = paused().await;
    app.rests().await;
    assert!(control::cancel(app.store(), &asked.turn.as_deref().unwrap().into()).await.unwrap());
    app.passes(Duration::from_secs(1)).await;
    assert_eq!(app.sees("Stopped.").await.turn, asked.turn);
    app.ends_well().await;
}

/// A process that dies before its turn comes to rest leaves the pause behind; so does an answer that comes first.
#[tokio::test]
async fn a_pause_is_kept_until_the_turn_is_at_rest() {
    let script = Scripted::new().orchestrator(|request| match has_results(request) {
        true => text("done"),
        false => direct("a", "tasks.create", json!({"title": "pay"})),
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    let approve = app.says("ada", "pay it").await;
    app.rests().await;
    let turn = approve.turn.clone().unwrap();
    let mut batch = Batch::new();
    batch.run("UPDATE turns SET status = 'queued', instance = '' WHERE id = $1", [(&turn).into()]);
    app.store().write(batch).await.unwrap();
    assert!(control::pause(app.store(), &turn.as_str().into()).await.unwrap());
    app.passes(Duration::from_secs(1)).await;
    let asked = app.sees("I've paused this.").await;
    app.rests().await;
    assert_eq!((asked.turn.as_deref(), ending(&app, &asked).await), (Some(turn.as_str()), None));
    // An approval has no effect until the turn resumes.
    app.presses("ada", &approve, "Approve").await;
    app.rests().await;
    app.presses("ada", &asked, "Continue").await;
    app.sees("done").await;
    assert_eq!(tasks(&app).await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_run_is_paused_between_its_steps() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().plain(move |_| text("written").behind(&held));
    let yaml = "workflow:\n  name: flow\n  agents:\n    one: { prompt: One }\n    two: { prompt: Two }\n  \
                steps:\n    - { id: a, agent: one }\n    - { id: b, agent: two }\n";
    let app = scripted_with(script, |config| workflow_file(config, "flow", yaml)).await;
    let event = app.tells("ada", "/run flow").await;
    gate.arrived(1).await;
    app.says("ada", "/pause").await;
    gate.open();
    let asked = app.answer(&event).await;
    assert!(asked.text.starts_with("I've paused this."), "{}", asked.text);
    app.rests().await;
    assert_eq!(app.requests(Who::Plain).len(), 1, "the second step has not begun");
    let done = app.says("ada", "continue").await;
    assert_eq!((&done.turn, app.turn(&done).await.status.as_str()), (&asked.turn, "completed"));
    assert_eq!(app.requests(Who::Plain).len(), 2, "nothing is done twice");
    app.ends_well().await;
}
