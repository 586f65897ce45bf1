//! What the former version left open goes on with this one: questions, turns, runs, deliveries and schedules.

use std::time::Duration;

use adjutant_chat::Choice;
use adjutant_config::{Policy, Secret};
use adjutant_models::Request;
use adjutant_store::check;
use chrono_tz::Europe::Berlin;

use crate::app::{Heard, TestApp, results, scripted_with, user_text};
use crate::former;
use crate::scripted::{Reply, Scripted, text};
use crate::workflows::workflow_file;

const GREET: &str = r#"workflow:
  name: greet
  inputs:
    - { name: customer, type: string, required: true, description: Who is greeted }
  agents:
    writer: { prompt: "Greet {{inputs.customer}}" }
  steps:
    - { id: write, agent: writer }
"#;

const SEND: &str = r#"workflow:
  name: send
  agents:
    writer: { prompt: "Write it" }
    sender: { prompt: "Send it to {{steps.who.output}}" }
  steps:
    - { id: write, agent: writer }
    - { id: who, type: approval, approval: { text: "Who gets it?", choices: [Everybody, Only me] } }
    - { id: send, agent: sender }
"#;

const TWICE: &str = r#"workflow:
  name: twice
  agents:
    first: { prompt: "Begin" }
    second: { prompt: "Take long over {{steps.one.output}}" }
  steps:
    - { id: one, agent: first }
    - { id: two, agent: second }
"#;

/// The orchestrator reads out its results, or what was said to it.
fn read_out(request: &Request) -> Reply {
    match results(request).as_slice() {
        [] => text(format!("You said: {}", user_text(request))),
        results => text(results.join("\n")),
    }
}

fn script() -> Scripted {
    let told = |request: &Request| user_text(request).lines().next().unwrap_or_default().to_owned();
    Scripted::new()
        .orchestrator(read_out)
        .agent(|_| text("looked too"))
        .plain(move |request| text(format!("did: {}", told(request))))
}

async fn upgraded(url: &str) -> TestApp {
    former::load(url).await;
    scripted_with(script(), |config| {
        config.store.url = Secret::new(url);
        config.assistant.timezone = Berlin;
        config.approval.skills.insert("contacts.create".into(), Policy::Ask);
        config.limits.agents_per_turn = 4;
        config.limits.day_tokens = 10_000;
        for (name, yaml) in [("greet", GREET), ("send", SEND), ("twice", TWICE)] {
            workflow_file(config, name, yaml);
        }
    })
    .await
}

/// The buttons of the question that waits in a place.
async fn buttons(app: &TestApp, place: &str) -> Heard {
    let sql = "SELECT o.choices FROM outbox o JOIN conversations c ON c.id = o.conversation_id \
               WHERE c.place = $1 AND o.choices <> '[]' ORDER BY o.seq DESC";
    let row: Option<(String,)> = app.store().first(sql, &[place.into()]).await.unwrap();
    let choices: Vec<serde_json::Value> = serde_json::from_str(&row.unwrap().0).unwrap();
    let word = |choice: &serde_json::Value, key: &str| choice[key].as_str().unwrap().to_owned();
    let choice = |it: &serde_json::Value| Choice { id: word(it, "id"), label: word(it, "label") };
    Heard::earlier(place, choices.iter().map(choice).collect())
}

async fn count(app: &TestApp, sql: &'static str) -> i64 {
    app.store().count(sql, &[]).await.unwrap()
}

/// What the dead process was about, and had not delivered.
async fn what_was_at_work_is_finished(app: &TestApp) {
    app.passes(Duration::from_mins(2)).await;
    app.sees("Added “look behind the door”").await;
    app.sees("You said: and then say hello").await;
    let run = app.sees("twice is complete: 2 of 2 steps").await;
    assert_eq!((run.place.as_str(), app.turn(&run).await.person_id.is_empty()), ("run", false));
    app.rests().await;
    let delivered = app.texts().iter().filter(|text| *text == "Hello!").count();
    assert_eq!(delivered, 2, "one was to be sent again, of the other nobody knew: {:#?}", app.texts());
    assert_eq!(count(app, "SELECT count(*) FROM tasks WHERE title = 'look behind the door'").await, 1);
}

async fn open_questions_are_answered(app: &TestApp) {
    let asked = buttons(app, "approve").await;
    let done = app.presses("bea", &asked, "Approve").await;
    assert!(done.text.contains("Carl Bauer"), "{}", done.text);
    assert_eq!(count(app, "SELECT count(*) FROM objects WHERE kind = 'contact'").await, 1);

    let done = app.direct("limit").says("cleo", "continue").await;
    assert!(done.text.contains("buy milk") && done.text.contains("buy tea"), "{}", done.text);
    assert_eq!(count(app, "SELECT count(*) FROM tasks WHERE title LIKE 'buy %'").await, 4, "once each");

    let done = app.direct("choose").says("dora", "only me").await;
    assert!(done.text.starts_with("send is complete: 3 of 3 steps"), "{}", done.text);
    assert!(done.text.contains("Send it to Only me"), "{}", done.text);

    let done = app.direct("input").says("emil", "Acme").await;
    assert!(done.text.contains("Greet Acme"), "{}", done.text);

    let done = app.presses("finn", &buttons(app, "paused").await, "Continue").await;
    assert!(done.text.contains("looked") && done.text.contains("looked too"), "{}", done.text);

    app.presses("local", &buttons(app, "desk").await, "Continue").await;
    assert_eq!(app.sees("You said: say a lot more").await.place, "spent");
}

async fn time_goes_on(app: &TestApp) {
    app.rests().await;
    app.passes(Duration::from_hours(48)).await;
    app.sees("You said: show my open tasks").await;
    app.sees("Reminder: water the plants").await;
    app.rests().await;
    assert!(!app.texts().iter().any(|text| text.contains("show my week")), "that schedule is paused");
}

async fn it_goes_on(url: String) {
    let app = upgraded(&url).await;
    what_was_at_work_is_finished(&app).await;
    open_questions_are_answered(&app).await;
    time_goes_on(&app).await;
    assert_eq!(check::findings(app.store()).await.unwrap(), []);
    for (what, sql) in [
        ("open turns", "SELECT count(*) FROM turns WHERE ended_at IS NULL"),
        ("open questions", "SELECT count(*) FROM questions WHERE state = 'pending'"),
        ("undelivered", "SELECT count(*) FROM outbox WHERE state <> 'sent'"),
        ("leases", "SELECT count(*) FROM leases WHERE instance IS NOT NULL"),
        ("open runs", "SELECT count(*) FROM runs WHERE status = 'running'"),
        ("reservations", "SELECT count(*) FROM reservations"),
    ] {
        assert_eq!(count(&app, sql).await, 0, "{what}");
    }
}

#[tokio::test]
async fn a_file_of_the_former_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    it_goes_on(format!("sqlite://{}/adjutant.db", folder.path().display())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_the_former_version_goes_on() {
    let server = adjutant_fakes::postgres::shared().unwrap_or_else(|error| panic!("{error}"));
    if let Some(server) = server {
        it_goes_on(server.database().unwrap()).await;
    }
}
