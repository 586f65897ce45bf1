//! `/spawn`: an agent of a role works beside the conversation, and its result is a message of its own.

use adjutant_config::Policy;
use adjutant_models::Message;
use adjutant_types::TurnStatus;
use serde_json::json;

use crate::app::{TestApp, direct, scripted, scripted_with, skill, user_text, without_receipts};
use crate::scripted::{Gate, Scripted, Who, has_results, text};

fn id_in(ack: &str) -> String {
    ack.split("/stop ").nth(1).unwrap().split('`').next().unwrap().to_owned()
}

async fn turns(app: &TestApp) -> Vec<(String, TurnStatus)> {
    let conversation =
        adjutant_store::people::find_conversation(app.store(), "console", "home").await.unwrap();
    let turns = adjutant_store::turns::of_conversation(app.store(), &conversation.unwrap().id).await.unwrap();
    turns.into_iter().map(|turn| (turn.text, turn.status)).collect()
}

#[tokio::test]
async fn the_conversation_goes_on_and_the_result_comes_later() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .orchestrator(|request| text(format!("You said: {}", user_text(request))))
        .agent(move |request| {
            assert!(request.messages[0].text.starts_with("You are a researcher."));
            let answer =
                json!({"summary": "Three mails.", "details": "All about figs (mail “Figs”, id <7@acme.test>).",
                    "data": {"mails": ["<7@acme.test>"]}, "warnings": ["one is old"]});
            text(answer.to_string()).behind(&held)
        });
    let app = scripted(script).await;
    let ack = app.says("ada", "/spawn researcher what did Acme write us this year?").await;
    let id = id_in(&ack.text);
    assert_eq!(ack.text, format!("The researcher is on it. I'll send you the result; `/stop {id}` ends it."));
    gate.arrived(1).await;
    assert_eq!(app.says("ada", "how are you?").await.text, "You said: how are you?");
    // The model knows of it.
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let listed = format!("- researcher what did Acme write us this year? (since 10:00, 0 calls) [{id}]");
    let is_told = |message: &Message| message.text.contains(&format!("\nIn the background:\n{listed}\n"));
    assert!(request.messages.iter().any(is_told), "{request:#?}");
    let status = app.says("ada", "/status").await.text;
    let listed = format!("- researcher what did Acme write us this year? (`/stop {id}` ends it)");
    assert!(status.contains("In the background:") && status.contains(&listed), "{status}");
    gate.open();
    let result = app.sees("Three mails.").await;
    insta::assert_snapshot!(result.text, @"
    **researcher**, “what did Acme write us this year?”:

    Three mails.
    All about figs (mail “Figs”).
    Warning: one is old
    ");
    // The result stands behind what came before it.
    app.rests().await;
    app.says("ada", "thanks").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!request.messages.iter().any(|message| message.text.contains("In the background:")));
    let at = |said: &str| request.messages.iter().position(|message| message.text.contains(said)).unwrap();
    assert!(at("You said: how are you?") < at("Three mails."), "{request:#?}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_turn_hears_of_what_has_ended_beside_it() {
    let [research, look] = [Gate::closed(), Gate::closed()];
    let (held, looking) = (research.clone(), look.clone());
    let script = Scripted::new()
        .orchestrator(move |request| match has_results(request) {
            false => direct("look", "tasks.search", json!({})).behind(&looking),
            true => text("It has ended."),
        })
        .agent(move |_| text("Three mails.").behind(&held));
    let app = scripted(script).await;
    let id = id_in(&app.says("ada", "/spawn find out what Dana wants").await.text);
    research.arrived(1).await;
    let asked = app.tells("ada", "how far is it?").await;
    look.arrived(1).await;
    research.open();
    app.sees("Three mails.").await;
    look.open();
    app.answer(&asked).await;
    let requests = app.requests(Who::Orchestrator);
    let told = format!("\nMeanwhile [{id}] in the background has ended; they have its result.");
    let result = &requests[1].messages.last().unwrap().text;
    assert!(
        !requests[0].messages.iter().any(|message| message.text.contains(&told)) && result.ends_with(&told),
        "{result}"
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_bad_spawn_says_what_to_send() {
    let app = scripted(Scripted::new()).await;
    let told = [
        app.says("ada", "/spawn").await.text,
        app.says("ada", "/spawn researcher").await.text,
        app.says("ada", "/spawn reseacher look").await.text,
    ];
    assert!(
        told[0].starts_with("Send `/spawn ROLE TASK`") && told[0].contains("tester: checks"),
        "{}",
        told[0]
    );
    assert_eq!(told[0], told[1]);
    let (why, meant) = ("I can't start that: there is no role", "did you mean “researcher”?");
    assert!(told[2].starts_with(why) && told[2].contains(meant), "{}", told[2]);
    assert!(app.says("ada", "/stop ABCDEF").await.text.contains("No request in the background has that ID"));
    app.ends_well().await;
}

#[tokio::test]
async fn stop_with_an_id_ends_one_and_leaves_the_conversation_alone() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script =
        Scripted::new().orchestrator(|_| text("hello")).agent(move |_| text("never told").behind(&held));
    let app = scripted(script).await;
    let ack = app.says("ada", "/spawn researcher look").await;
    gate.arrived(1).await;
    app.says("ada", &format!("/stop {}", id_in(&ack.text).to_lowercase())).await;
    app.rests().await;
    assert_eq!(turns(&app).await, [("/spawn researcher look".to_owned(), TurnStatus::Cancelled)]);
    assert_eq!(app.says("ada", "hi").await.text, "hello");
    gate.open();
    app.ends_well().await;
}

#[tokio::test]
async fn stop_ends_the_only_one_and_a_task_without_a_role_is_a_researchers() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().agent(move |request| {
        assert!(request.messages[0].text.starts_with("You are a researcher."));
        text("Bob wants a room.").behind(&held)
    });
    let app = scripted(script).await;
    let said = "/spawn research what bob wants";
    let ack = app.says("ada", said).await.text;
    assert!(ack.starts_with("The researcher is on it."), "{ack}");
    gate.arrived(1).await;
    app.says("ada", "/stop").await;
    app.rests().await;
    assert_eq!(turns(&app).await, [(said.to_owned(), TurnStatus::Cancelled)]);
    for n in 2..=3 {
        app.says("ada", said).await;
        gate.arrived(n).await;
    }
    let told = app.says("ada", "/stop").await.text;
    assert!(told.contains("Only requests in the background are running."), "{told}");
    gate.open();
    let result = app.sees("Bob wants a room.").await.text;
    assert!(result.starts_with("**researcher**, “research what bob wants”:"), "{result}");
    app.rests().await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_done_in_the_background_asks_and_has_receipts() {
    let script =
        Scripted::new().orchestrator(|_| text("hello")).agent(|request| match has_results(request) {
            false => skill("tasks.create", json!({"title": "milk"})),
            true => text("Saved."),
        });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    app.says("ada", "/spawn executor add a task to buy milk").await;
    let asked = app.sees("Add a task").await;
    // It waits, and the conversation doesn't.
    assert_eq!(app.says("ada", "hi").await.text, "hello");
    assert!(app.says("ada", "/status").await.text.contains("waiting for you"));
    let answered = app.pushes("ada", &asked, "Approve").await;
    let result = app.sees("Saved.").await;
    assert!(result.text.contains("✓ Added “milk”"), "{}", result.text);
    assert!(without_receipts(&result.text).ends_with("Saved."));
    app.answer(&answered).await;
    app.ends_well().await;
}

#[tokio::test]
async fn three_of_a_conversation_work_side_by_side_and_the_next_when_one_has_ended() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(|_| text("hello")).agent(move |request| {
        text(format!("found {}", user_text(request).lines().next().unwrap_or_default())).behind(&held)
    });
    let app = scripted(script).await;
    let mut ids = Vec::new();
    for (n, what) in (1..).zip(["one", "two", "three"]) {
        ids.push(id_in(&app.says("ada", &format!("/spawn researcher {what}")).await.text));
        gate.arrived(n).await;
    }
    app.tells("ada", "/spawn researcher four").await;
    let status = app.says("ada", "/status").await.text;
    assert!(ids.iter().all(|id| status.contains(&format!("`/stop {id}`"))), "{status}");
    assert!(!status.contains("four"), "{status}");
    assert_eq!(app.says("ada", "hi").await.text, "hello", "the conversation is free");
    // One that ends makes room, and the others aren't touched.
    app.says("ada", &format!("/stop {}", ids[1])).await;
    gate.arrived(4).await;
    gate.open();
    for what in ["one", "three", "four"] {
        app.sees(&format!("found Mission: {what}")).await;
    }
    app.rests().await;
    let ended = turns(&app).await.into_iter().filter(|(said, _)| said.contains("/spawn"));
    let stopped = ended.filter(|(_, status)| *status == TurnStatus::Cancelled).map(|(said, _)| said);
    assert_eq!(stopped.collect::<Vec<_>>(), ["/spawn researcher two"]);
    app.ends_well().await;
}
