//! Questions of MCP servers in the middle of a call: a person answers them, and only what they gave goes back.

use std::time::Duration;

use adjutant_types::Risk;
use serde_json::json;

use crate::app::{Heard, TestApp, direct, plan, scripted_with};
use crate::mcp::World;
use crate::scripted::{Reply, Scripted, Who};

/// Both revisions of the protocol, by the stand-in's behaviours: one asks while the call runs, the other ends the call
/// with the question.
const REVISIONS: [&str; 2] = ["", "stateless"];

/// A call in the middle of which the server asks this.
fn add(question: &'static str) -> impl Fn() -> Reply {
    move || direct("a", "notes.add_note", json!({"text": format!("ask {question}")}))
}

/// An app in which such a call needs no approval.
async fn app(world: &World, behaviour: &str, question: &'static str) -> TestApp {
    app_that(world, behaviour, add(question)).await
}

/// The same for this first answer of the model.
async fn app_that(
    world: &World,
    behaviour: &str,
    first: impl Fn() -> Reply + Send + Sync + 'static,
) -> TestApp {
    let mut config = world.config(behaviour);
    config.mcp.get_mut("notes").unwrap().risk = [("*".to_owned(), Risk::Low)].into();
    scripted_with(Scripted::new().orchestrator(plan(first)), |app| *app = config).await
}

/// What the server was answered.
fn answered(world: &World) -> Vec<String> {
    let lines = world.server.log().into_iter();
    lines.filter_map(|line| line.strip_prefix("answered ").map(str::to_owned)).collect()
}

async fn ends_with(app: &TestApp, heard: &Heard, end: &str) {
    assert_eq!(app.ends(heard).await[1], format!("notes.add_note {end}"), "{}", heard.text);
}

#[tokio::test]
async fn a_server_asks_in_the_middle_of_a_call_and_goes_on_with_the_answer() {
    for revision in REVISIONS {
        let world = World::new().await;
        let app = app(&world, revision, "which").await;
        let asked = app.says("ada", "note it").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked.text, @"
            Before it goes on with “Add a note”, the MCP server notes asks:

            ```
            Which folder? [Pick here](https://evil.example)
            Folder (at most 20 characters)
            ```

            (This text comes from the server, not from me.) Your reply goes to the server word for word. `decline` gives no answer.
            ");
        }
        assert_eq!(answered(&world), [""; 0], "{revision}: nothing goes out by itself");
        let done = app.says("ada", "Recipes").await;
        assert_eq!(done.turn, asked.turn, "what the turn says next is the reply");
        assert_eq!(answered(&world), [r#"{"action": "accept", "content": {"folder": "Recipes"}}"#]);
        ends_with(&app, &done, "completed").await;
        assert!(
            app.requests(Who::Orchestrator)
                .iter()
                .all(|it| it.messages.iter().all(|m| !m.text.contains("evil"))),
            "no model reads the server's question"
        );
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_server_that_can_ask_only_in_the_older_revision_is_called_again_in_that() {
    for behaviour in ["pushes", "pushes and fails"] {
        let world = World::new().await;
        let app = app(&world, behaviour, "which").await;
        let asked = app.says("ada", "note it").await;
        assert!(asked.text.contains("Which folder?"), "{behaviour}: {}", asked.text);
        let done = app.says("ada", "Recipes").await;
        assert_eq!(answered(&world), [r#"{"action": "accept", "content": {"folder": "Recipes"}}"#]);
        ends_with(&app, &done, "completed").await;
        assert_eq!(world.server.calls(), 2, "{behaviour}: once in each revision");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn what_the_model_says_stands_above_a_servers_question_and_is_said_once() {
    for revision in REVISIONS {
        let world = World::new().await;
        let first = || add("which")().saying("I'll file it. ✓ Filed");
        let app = app_that(&world, revision, first).await;
        let asked = app.says("ada", "note it").await;
        let above = "I'll file it. - Filed\n\nBefore I go on:\n\nBefore it goes on with “Add a note”, ";
        assert!(asked.text.starts_with(above), "{revision}: {}", asked.text);
        let done = app.says("ada", "1").await;
        assert_eq!(answered(&world), [r#"{"action": "accept", "content": {"folder": "1"}}"#]);
        ends_with(&app, &done, "completed").await;
        assert!(!done.text.contains("file it"), "{revision}: {}", done.text);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_list_a_yes_and_an_address_have_buttons() {
    for revision in REVISIONS {
        for (question, buttons, press, answer) in [
            (
                "pick",
                vec!["acme/web", "acme/api", "Decline"],
                "acme/api",
                r#"{"action": "accept", "content": {"repository": "acme/api"}}"#,
            ),
            ("pick", vec!["acme/web", "acme/api", "Decline"], "Decline", r#"{"action": "decline"}"#),
            ("sure", vec!["Yes", "No"], "Yes", r#"{"action": "accept", "content": {}}"#),
            ("sure", vec!["Yes", "No"], "No", r#"{"action": "decline"}"#),
            ("login", vec!["Done", "Decline"], "Done", r#"{"action": "accept"}"#),
        ] {
            let world = World::new().await;
            let app = app(&world, revision, question).await;
            let asked = app.says("ada", "note it").await;
            assert_eq!(asked.buttons(), buttons);
            if question == "login" {
                assert!(asked.text.contains("this page on `login.example.org`"), "{}", asked.text);
                assert!(asked.text.contains("<https://login.example.org/start?x=1>"), "{}", asked.text);
            }
            let done = app.presses("ada", &asked, press).await;
            assert_eq!(answered(&world), [answer], "{revision} {question}");
            ends_with(&app, &done, "completed").await;
            app.ends_well().await;
        }
    }
}

#[tokio::test]
async fn a_form_is_filled_in_step_by_step_and_what_does_not_fit_is_asked_again() {
    for revision in REVISIONS {
        let world = World::new().await;
        let app = app(&world, revision, "all").await;
        let title = app.says("ada", "note it").await;
        assert!(title.text.contains("About the note\ntitle\n"), "{}", title.text);
        // What is said is the answer, also if it would decline approvals.
        let copies = app.says("ada", "No to all, says Erin").await;
        assert!(copies.text.contains("copies (1 to 9)") && copies.text.contains("`skip`"), "{}", copies.text);
        let again = app.says("ada", "a few").await;
        assert!(
            again.text.starts_with("That doesn't work: `“a few” isn't a whole number`"),
            "{}",
            again.text
        );
        let again = app.says("ada", "20").await;
        assert!(
            again.text.starts_with("That doesn't work: `20 is greater than the maximum of 9`"),
            "{}",
            again.text
        );
        let public = app.says("ada", "skip").await;
        assert_eq!(public.buttons(), ["Yes", "No", "Decline"]);
        let done = app.says("ada", "no").await;
        assert_eq!(
            answered(&world),
            [r#"{"action": "accept", "content": {"public": false, "title": "No to all, says Erin"}}"#]
        );
        ends_with(&app, &done, "completed").await;
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_call_that_was_approved_is_asked_about_too() {
    let world = World::new().await;
    let config = world.config("");
    let app = scripted_with(Scripted::new().orchestrator(plan(add("which"))), |app| *app = config).await;
    let approval = app.says("ada", "note it").await;
    let asked = app.presses("ada", &approval, "Approve").await;
    assert!(asked.text.contains("Which folder?"), "{}", asked.text);
    let done = app.says("ada", "decline").await;
    assert_eq!(answered(&world), [r#"{"action": "decline"}"#]);
    ends_with(&app, &done, "completed").await;
    app.ends_well().await;
}

#[tokio::test]
async fn nobody_is_asked_for_a_password() {
    for (revision, end) in [("", "completed"), ("stateless", "failed tool")] {
        let world = World::new().await;
        let app = app(&world, revision, "secret").await;
        let done = app.says("ada", "note it").await;
        ends_with(&app, &done, end).await;
        assert!(app.texts().iter().all(|text| !text.contains("What is your password?")), "{:?}", app.texts());
        assert!(answered(&world).iter().all(|answer| answer == r#"{"action": "decline"}"#));
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_server_that_asks_endlessly_is_stopped() {
    for (revision, end) in [("", "unknown tool"), ("stateless", "failed tool")] {
        let world = World::new().await;
        let app = app(&world, revision, "endless").await;
        let mut heard = app.says("ada", "note it").await;
        for _ in 0..5 {
            assert!(heard.text.contains("And now?"), "{}", heard.text);
            heard = app.presses("ada", &heard, "Yes").await;
        }
        ends_with(&app, &heard, end).await;
        assert!(heard.text.contains("asked more than 5 times during one call"), "{}", heard.text);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn without_an_answer_in_time_the_server_is_told_so() {
    for revision in REVISIONS {
        let world = World::new().await;
        let app = app(&world, revision, "which").await;
        app.says("ada", "note it").await;
        app.rests().await;
        app.passes(Duration::from_hours(25)).await;
        let done = app.sees("notes.add_note").await;
        assert_eq!(answered(&world), [r#"{"action": "cancel"}"#]);
        ends_with(&app, &done, "completed").await;
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_turn_that_is_stopped_lets_go_of_its_call() {
    let world = World::new().await;
    let app = app(&world, "", "which").await;
    app.says("ada", "note it").await;
    app.rests().await;
    app.says("ada", "/stop").await;
    app.rests().await;
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while answered(&world).is_empty() {
        assert!(std::time::Instant::now() < until, "the server still waits");
        tokio::task::yield_now().await;
    }
    assert_eq!(answered(&world), [r#"{"action": "cancel"}"#]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_server_that_wants_a_page_opened_first_is_called_again_once_it_was() {
    for (press, end, calls) in [("Done", "completed", 2), ("Decline", "failed unapproved", 1)] {
        let world = World::new().await;
        let app = app(&world, "", "first").await;
        let asked = app.says("ada", "note it").await;
        assert!(asked.text.contains("<https://login.example.org/start?x=1>"), "{}", asked.text);
        let done = app.presses("ada", &asked, press).await;
        ends_with(&app, &done, end).await;
        assert_eq!(world.server.calls(), calls, "{press}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn an_answer_in_a_hurry_is_understood_and_another_thing_is_asked_again() {
    let world = World::new().await;
    let app = app(&world, "", "pick").await;
    app.says("ada", "note it").await;
    let again = app.says("ada", "what was that again?").await;
    assert!(
        again.text.starts_with("That doesn't work: `“what was that again?” isn't in the list`"),
        "{}",
        again.text
    );
    let done = app.says("ada", "the api one").await;
    assert_eq!(answered(&world), [r#"{"action": "accept", "content": {"repository": "acme/api"}}"#]);
    ends_with(&app, &done, "completed").await;
    app.ends_well().await;
}
