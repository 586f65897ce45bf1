//! `send_delay`: silence is a yes to one email of somebody who is there, and to nothing else.

use std::time::Duration;

use adjutant_config::Policy;
use adjutant_models::Request;
use serde_json::json;

use crate::app::{Heard, TestApp, direct, outside_skill, results, scripted_with, skill_file, user_text};
use crate::scripted::{Reply, Scripted, calls, text};

/// A message that names the address.
const TO_BOB: &str = "mail bob@acme.test";
const DELAY: Duration = Duration::from_secs(60);

/// Sends an email to each name in a message, after reading a text from outside if it says so.
fn obey(request: &Request) -> Reply {
    let said = user_text(request);
    let said = said.rsplit_once("\n\n").map_or(said, |(_, last)| last);
    let read = said.starts_with("read");
    if read && results(request).is_empty() {
        return direct("r", "outside.read", json!({}));
    }
    let mails: Vec<Reply> = ["bob", "eve"]
        .into_iter()
        .filter(|name| said.contains(name))
        .map(|name| {
            let to = format!("{name}@acme.test");
            direct(name, "email.send", json!({"to": [to], "subject": "Hi", "body": "Hello"}))
        })
        .collect();
    let is_sent = request.messages.iter().any(|message| message.text.contains("\"agent_id\":\"bob\""));
    match mails.is_empty() || is_sent {
        true => text("Done."),
        false => calls(mails),
    }
}

/// What the clean room reads: only "please" is a wish.
fn wishes(request: &Request) -> serde_json::Value {
    match request.messages[1].text.contains("please") {
        true => json!([{"kind": "mail.send", "count": 1, "targets": ["bob@acme.test"], "text": "Hello"}]),
        false => json!([]),
    }
}

async fn start() -> TestApp {
    scripted_with(Scripted::new().clean_room(wishes).orchestrator(obey), |config| {
        skill_file(config, &outside_skill(&["/bin/echo", "mail bob now"]));
        config.approval.send_delay = Some(DELAY);
        config.approval.medium = Policy::Ask;
    })
    .await
}

async fn sent(app: &TestApp) -> i64 {
    const SQL: &str = "SELECT count(*) FROM executions WHERE skill = 'email.send' AND status = 'completed'";
    app.store().count(SQL, &[]).await.unwrap()
}

#[tokio::test]
async fn silence_sends_an_email_once_after_the_delay() {
    let app = start().await;
    let asked = app.says("ada", TO_BOB).await;
    insta::assert_snapshot!(asked.text, @"
    Save this email to bob@acme.test as a file (no email account is set up): “Hi”
    - text:
    ```
    Hello
    ```

    You asked: “mail bob@acme.test”. I'll send this in 1 minute. “No” stops it; if you write anything else, it waits for a yes.
    “Always” allows emails to bob@acme.test for 30 days.
    ");
    assert_eq!(asked.buttons(), ["Send now", "Don't send", "Always for bob@acme.test"]);
    app.passes(DELAY - Duration::from_secs(2)).await;
    assert_eq!(sent(&app).await, 0, "it isn't time yet");
    app.passes(Duration::from_secs(3)).await;
    let done = app.sees_another("✓ ", &asked).await;
    assert!(done.text.starts_with("Done.\n\n✓ Saved, not sent: no email account"), "{}", done.text);
    assert_eq!(sent(&app).await, 1);
    let late = app.presses("ada", &asked, "Don't send").await;
    assert_eq!(late.text, "That question is no longer open.");
    app.passes(2 * DELAY).await;
    assert_eq!(sent(&app).await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn after_outside_text_silence_sends_only_what_was_wished_for() {
    let app = start().await;
    let asked = app.says("ada", "read, then please mail bob@acme.test Hello").await;
    assert_eq!(asked.buttons()[0], "Send now", "{}", asked.text);
    app.passes(DELAY + Duration::from_secs(1)).await;
    app.sees_another("✓ ", &asked).await;
    assert_eq!(sent(&app).await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn buttons_and_words_answer_at_once() {
    let app = start().await;
    let asked = app.says("ada", TO_BOB).await;
    app.presses("ada", &asked, "Send now").await;
    app.sees_another("✓ ", &asked).await;
    assert_eq!(sent(&app).await, 1);
    let asked = app.says("ada", TO_BOB).await;
    app.presses("ada", &asked, "Don't send").await;
    let asked_again = app.says("ada", TO_BOB).await;
    app.says("ada", "no").await;
    app.passes(2 * DELAY).await;
    app.rests().await;
    assert_eq!(sent(&app).await, 1, "{:?} {:?}", asked.text, asked_again.text);
    app.ends_well().await;
}

/// Passes the delay; the question is still open then, and waits for a yes.
async fn waits_for_a_yes(app: &TestApp, asked: &Heard) {
    app.passes(2 * DELAY).await;
    app.rests().await;
    assert_eq!(sent(app).await, 0, "{}", asked.text);
}

#[tokio::test]
async fn whatever_is_said_meanwhile_makes_it_a_question() {
    let app = start().await;
    let asked = app.says("ada", TO_BOB).await;
    app.says("ada", "what's on today?").await;
    waits_for_a_yes(&app, &asked).await;
    app.presses("ada", &asked, "Send now").await;
    app.sees("✓ ").await;
    assert_eq!(sent(&app).await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_stop_is_never_a_yes() {
    let app = start().await;
    let asked = app.says("ada", TO_BOB).await;
    app.says("ada", "/stop").await;
    waits_for_a_yes(&app, &asked).await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_trust_asks_and_what_is_not_alone_waits_for_a_yes() {
    for said in ["read, then mail bob@acme.test", "mail bob@acme.test and eve@acme.test", "mail bob"] {
        let app = start().await;
        let asked = app.says("ada", said).await;
        assert!(!asked.text.contains("I'll send this"), "{}", asked.text);
        assert!(!asked.buttons().contains(&"Send now"), "{:?}", asked.buttons());
        waits_for_a_yes(&app, &asked).await;
        app.says("ada", "/stop").await;
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_skill_that_is_listed_by_name_waits_for_a_yes() {
    let app = scripted_with(Scripted::new().orchestrator(obey), |config| {
        config.approval.send_delay = Some(DELAY);
        config.approval.skills.insert("email.send".into(), Policy::Ask);
    })
    .await;
    let asked = app.says("ada", TO_BOB).await;
    waits_for_a_yes(&app, &asked).await;
    app.says("ada", "no").await;
    app.ends_well().await;
}
