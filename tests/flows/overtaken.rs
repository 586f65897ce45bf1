//! What a person writes while an effect still waits for something slow goes before it.

use std::sync::Arc;

use adjutant_config::Policy;
use serde_json::{Value, json};

use crate::app::{TestApp, direct, scripted_with, skill_file};
use crate::scripted::{Gate, Scripted, Who, has_results, last_text, text};
use crate::trust::{effects, world};
use crate::trust_clean_room::is_asked;
use crate::web::{Answer, Web};
use crate::workflows::workflow_file;

/// An app that has read text from outside, whose clean room answers behind a gate. Its model makes one call, and once
/// more (`again`) if that was held back.
async fn held(gate: &Arc<Gate>, (skill, how): (&'static str, Value), wished: Value, again: bool) -> TestApp {
    let gate = Arc::clone(gate);
    let script = Scripted::new()
        .orchestrator(move |request| match last_text(request) {
            said if has_results(request) => match said.contains("has just written again") {
                true if again => direct("again", skill, how.clone()),
                true => text("Then not."),
                false => text("Done."),
            },
            said if said.contains("what came in") => direct("read", "outside.read", json!({})),
            _ => direct("first", skill, how.clone()),
        })
        .when(Who::CleanRoom, "", move |request| {
            let is_taken_back = request.messages[1].text.contains("no wait");
            let wished = if is_taken_back { json!([]) } else { wished.clone() };
            text(json!({"wishes": wished}).to_string()).behind(&gate)
        });
    let app = scripted_with(script, |config| {
        world(config, "");
        // An email becomes a file, and trust alone asks.
        config.mail = None;
        config.approval.high = Policy::Auto;
        let step = "{ id: one, skill: tasks.create, arguments: { title: Milk } }";
        workflow_file(config, "adds", &format!("workflow:\n  name: adds\n  steps:\n    - {step}\n"));
    })
    .await;
    app.says("ada", "what came in?").await;
    app
}

#[tokio::test]
async fn what_is_written_while_the_wishes_are_read_goes_before_the_effect() {
    let team = ["carol@example.test", "dan@example.test", "eva@example.test"];
    let mail = || {
        let wished = json!([{"kind": "mail.send", "targets": team, "text": "lunch is at 2pm"}]);
        (("email.send", json!({"to": team, "subject": "Lunch", "body": "At 2pm."})), wished, "email.send")
    };
    let workflow = || {
        let wished = json!([{"kind": "workflow.run", "targets": ["adds"]}]);
        (("workflow.adds", json!({})), wished, "tasks.create")
    };
    // What is written, whether the model wants the effect all the same, and whether it is done.
    for (added, again, is_done) in [
        ("no wait, not yet", false, false),
        // It does what an email says.
        ("no wait, not yet", true, false),
        ("thx!", true, true),
    ] {
        for (wanted, wished, effect) in [mail(), workflow()] {
            let (gate, is_mail) = (Gate::closed(), effect == "email.send");
            let app = held(&gate, wanted, wished, again).await;
            let said = format!("tell {} that lunch is at 2pm, or run adds", team.join(", "));
            let first = app.tells("ada", &said).await;
            gate.arrived(1).await;
            app.tells("ada", added).await;
            gate.open();
            let heard = app.answer(&first).await;
            assert_eq!(
                effects(&app, effect).await,
                i64::from(is_done),
                "{added} {again} {effect}: {}",
                heard.text
            );
            let asks = again && !is_done && is_mail;
            assert_eq!(is_asked(&app, &heard).await, asks, "{added} {effect}: {}", heard.text);
            if asks {
                app.says("ada", "no").await;
            }
            app.ends_well().await;
        }
    }
}

#[tokio::test]
async fn what_is_written_while_a_service_rests_goes_before_the_next_try() {
    let web = Web::start([Answer::Status(429, "retry-after: 5\r\n", String::new())]).await;
    let skills = web.skills();
    let script = Scripted::new().orchestrator(|request| match has_results(request) {
        true => text("Then not."),
        false => direct("post", "web.post", json!({"id": "1"})),
    });
    let app = scripted_with(script, |config| skill_file(config, &skills)).await;
    let first = app.tells("ada", "post it").await;
    web.arrived(1).await;
    app.tells("ada", "no wait, don't").await;
    assert_eq!(app.answer(&first).await.text, "Then not.");
    assert_eq!(web.requests(), ["POST /post/1"]);
    app.ends_well().await;
}
