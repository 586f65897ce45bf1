//! Choice and input questions: who can answer them, how, and what is stored.

use std::time::Duration;

use adjutant_chat::Choice;
use adjutant_config::Policy;
use adjutant_store::Batch;
use adjutant_store::questions::{self, QuestionRow};
use adjutant_types::TurnStatus;
use serde_json::json;

use crate::app::{Heard, TestApp, direct, plan, scripted_with};
use crate::scripted::{Scripted, Who, text};
use crate::workflows::workflow_file;

/// An app in which a question waits for an answer, as a step would ask it. What it comes to is not a yes, so what
/// waits goes on without.
async fn asked(kind: &'static str, options: &[&str]) -> (TestApp, Heard) {
    let script = Scripted::new()
        .when(Who::Orchestrator, "say hello", |_| text("Hello!"))
        .orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "pay"}))));
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    let mut asked = app.says("ada", "go").await;
    app.rests().await;
    let id = pending(&app, &asked).await.id;
    let mut batch = Batch::new();
    let detail = serde_json::to_string(options).unwrap();
    batch.run(
        "UPDATE questions SET kind = $1, detail = $2 WHERE id = $3",
        [kind.into(), detail.into(), (&id).into()],
    );
    app.store().write(batch).await.unwrap();
    let button = |(n, label): (usize, &&str)| Choice { id: format!("{id}:{n}"), label: (*label).into() };
    asked.choices = options.iter().enumerate().map(button).collect();
    (app, asked)
}

async fn pending(app: &TestApp, heard: &Heard) -> QuestionRow {
    let turn = heard.turn.as_deref().unwrap();
    let row = questions::of_turn(app.store(), &turn.into()).await.unwrap().pop().unwrap();
    let execution = row.execution_id.as_deref().unwrap();
    assert_eq!(
        questions::of_execution(app.store(), &turn.into(), &execution.into()).await.unwrap().as_ref(),
        Some(&row)
    );
    row
}

/// The question's state and answer.
async fn stored(app: &TestApp, heard: &Heard) -> (String, Option<String>) {
    let row = pending(app, heard).await;
    (row.state.to_string(), row.answer.map(|answer| answer.as_str().to_owned()))
}

fn answered(answer: &str) -> (String, Option<String>) {
    ("answered".into(), Some(answer.into()))
}

#[tokio::test]
async fn the_next_message_is_what_was_asked_for_as_it_was_written() {
    let (app, asked) = asked("input", &[]).await;
    let done = app.says("ada", "stop the press,\nsaid Acme.").await;
    assert_eq!(done.turn, asked.turn, "what the turn says next is the reply");
    assert_eq!(stored(&app, &asked).await, answered("stop the press,\nsaid Acme."));
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Completed, "its words stopped nothing");
    let late = app.replies_to("ada", &asked, "Acme").await;
    assert_eq!(late.text, "That's already been answered.");
    assert_eq!(app.says("ada", "say hello").await.text, "Hello!", "only the next one");
    app.ends_well().await;
}

#[tokio::test]
async fn a_question_for_a_word_is_answered_by_the_person_asked_and_not_by_a_command() {
    let (app, asked) = asked("input", &[]).await;
    let status = app.says("ada", "/status").await;
    assert!(status.text.contains("1 question is waiting for you:\n**13** "), "{}", status.text);
    assert_eq!(app.says("eve", "say hello").await.text, "Hello!");
    // The owner is at the terminal; not everything they write answers Ada's question.
    assert_eq!(app.says("local", "say hello").await.text, "Hello!");
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    let no = app.replies_to("eve", &asked, "Acme").await;
    assert!(no.text.starts_with("Only the person I asked, or an owner, can answer"), "{}", no.text);
    app.replies_to("local", &asked, "/home/ada/leads.csv").await;
    app.rests().await;
    assert_eq!(stored(&app, &asked).await, answered("/home/ada/leads.csv"));
    app.ends_well().await;
}

#[tokio::test]
async fn stop_ends_what_asks_for_a_word() {
    let (app, asked) = asked("input", &[]).await;
    assert_eq!(app.says("ada", "/stop").await.text, "Nothing else is running.");
    app.rests().await;
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Cancelled);
    assert_eq!(stored(&app, &asked).await, ("expired".into(), None));
    app.ends_well().await;
}

#[tokio::test]
async fn a_choice_is_its_word_its_number_or_its_button() {
    let options = ["Red, please", "continue", "Stop!"];
    for (said, chosen) in
        [("red, PLEASE.", "Red, please"), ("2", "continue"), ("stop", "Stop!"), ("Continue", "continue")]
    {
        let (app, asked) = asked("choose", &options).await;
        let done = app.says("ada", said).await;
        assert_eq!((done.turn.as_ref(), stored(&app, &asked).await), (asked.turn.as_ref(), answered(chosen)));
        assert_eq!(app.turn(&asked).await.status, TurnStatus::Completed);
        app.ends_well().await;
    }
    let (app, asked) = self::asked("choose", &options).await;
    let done = app.presses("ada", &asked, "Stop!").await;
    assert_eq!((done.turn.as_ref(), stored(&app, &asked).await), (asked.turn.as_ref(), answered("Stop!")));
    app.ends_well().await;
}

#[tokio::test]
async fn a_choice_is_made_once_by_whom_it_was_asked_of() {
    let (app, asked) = asked("choose", &["red", "approve"]).await;
    let no = app.presses("eve", &asked, "red").await;
    assert!(no.text.starts_with("Only the person I asked, or an owner, can answer"), "{}", no.text);
    // Anything but a choice is a new message, and so is a bare word after it.
    assert_eq!(app.says("ada", "say hello").await.text, "Hello!");
    let mut yes = asked.clone();
    yes.choices[0].id = yes.choices[0].id.replace(":0", ":7");
    assert!(app.presses("ada", &yes, "red").await.text.starts_with("That button no longer works"));
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    app.replies_to("local", &asked, "2").await;
    let late = app.presses("ada", &asked, "red").await;
    assert_eq!(late.text, "You already answered: approve.");
    assert_eq!(stored(&app, &asked).await, answered("approve"));
    app.ends_well().await;
}

#[tokio::test]
async fn a_bare_word_after_another_message_chooses_nothing() {
    let (app, asked) = asked("choose", &["say hello", "red"]).await;
    assert_eq!(app.says("ada", "say hello there").await.text, "Hello!");
    assert_eq!(app.says("ada", "say hello").await.text, "Hello!");
    assert_eq!(stored(&app, &asked).await, ("pending".into(), None));
    app.replies_to("ada", &asked, "red").await;
    app.rests().await;
    app.ends_well().await;
}

#[tokio::test]
async fn nobody_answers_and_whoever_asked_goes_on_without() {
    for kind in ["choose", "input"] {
        let (app, asked) = asked(kind, &["red", "green"]).await;
        app.passes(Duration::from_hours(25)).await;
        app.rests().await;
        assert_eq!(stored(&app, &asked).await, ("expired".into(), None));
        let turn = app.turn(&asked).await;
        assert_ne!(turn.status, TurnStatus::Waiting, "it went on, and decided by itself what that means");
        let late = app.replies_to("ada", &asked, "red").await;
        assert_eq!(late.text, "That question is no longer open.");
        app.ends_waiting(i64::from(turn.ended_at.is_none())).await;
    }
}

/// A workflow that needs an input, and asks a question before it ends.
const LAUNCH: &str = r#"workflow:
  name: launch
  inputs:
    - { name: customer, type: string, required: true, description: Who it is for }
  agents:
    writer: { prompt: "Write to {{inputs.customer}}" }
  steps:
    - { id: write, agent: writer }
    - { id: ok, approval: { text: "Shall it go out to {{inputs.customer}}?", choices: ["Send it", "Wait a day"] } }
"#;

async fn launch() -> TestApp {
    let script = Scripted::new().plain(|_| text("Dear customer"));
    scripted_with(script, |config| workflow_file(config, "launch", LAUNCH)).await
}

#[tokio::test]
async fn a_run_asks_for_what_it_has_to_know_and_for_a_choice() {
    let app = launch().await;
    let asked = app.says("ada", "/run launch").await;
    insta::assert_snapshot!(asked.text, @r"
    To run launch, I still need the customer: Who it is for

    Reply with your answer, or send `/stop` to cancel.
    ");
    assert_eq!(asked.buttons(), [""; 0]);
    let choose = app.says("ada", "Acme GmbH").await;
    insta::assert_snapshot!(choose.text, @r"
    Shall it go out to Acme GmbH?

    1. Send it
    2. Wait a day
    ");
    assert_eq!(choose.buttons(), ["Send it", "Wait a day"]);
    assert!(choose.choices.iter().all(|choice| choice.id.len() <= 64), "platforms take no longer ones");
    let done = app.presses("ada", &choose, "Wait a day").await;
    assert!(done.text.contains("Wait a day"), "{}", done.text);
    assert_eq!((&done.turn, app.turn(&done).await.status.as_str()), (&asked.turn, "completed"));
    app.ends_well().await;
}

#[tokio::test]
async fn a_run_that_nobody_answers_ends() {
    let app = launch().await;
    let asked = app.says("ada", "/run launch").await;
    app.passes(Duration::from_hours(25)).await;
    let ended = app.sees("I got no value for “customer” in time.").await;
    assert_eq!((&ended.turn, app.turn(&ended).await.status.as_str()), (&asked.turn, "failed"));
    app.ends_well().await;
}
