//! What was said on other days comes with its day, so that a model knows when "yesterday" was.

use std::time::Duration;

use adjutant_models::{Message, Role};

use crate::app::{TestApp, scripted, scripted_with, user_text};
use crate::scripted::{Scripted, Who, text};

fn echo() -> Scripted {
    Scripted::new()
        .orchestrator(|request| text(format!("You said: {}", user_text(request))))
        .plain(|request| text(request.messages[1].text.clone()))
}

/// What the last turn saw of earlier ones, with its own message.
fn seen(app: &TestApp) -> Vec<String> {
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let said = request.messages.into_iter().filter(|message| message.role == Role::User);
    said.map(|message| message.text.to_string()).collect()
}

#[tokio::test]
async fn what_was_said_on_another_day_has_its_day() {
    let app = scripted_with(echo(), |config| config.assistant.timezone = chrono_tz::Tz::Europe__Berlin).await;
    app.says("ada", "one").await;
    app.says("ada", "two").await;
    assert_eq!(seen(&app), ["one", "two"], "today goes without saying");
    // 23:30 in Berlin, and then it's Sunday there.
    app.passes(Duration::from_mins(750)).await;
    app.says("ada", "three").await;
    assert_eq!(seen(&app), ["one", "two", "three"]);
    app.passes(Duration::from_hours(1)).await;
    app.says("ada", "four").await;
    assert_eq!(seen(&app), ["[Sat 21 Nov 2026] one", "two", "three", "four"]);
    let before = seen(&app);
    let answer = app.says("ada", "five").await;
    assert_eq!(seen(&app)[..3], before[..3], "a provider can cache it");
    assert_eq!(seen(&app)[3..], ["[Sun 22 Nov 2026] four", "five"]);
    // It is kept as the model saw it.
    let kept = app.calls(&answer).await;
    let messages: Vec<Message> = serde_json::from_str(kept[0].first_messages.as_deref().unwrap()).unwrap();
    assert_eq!(messages, app.requests(Who::Orchestrator).pop().unwrap().messages[1..]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_summary_is_made_of_messages_with_their_days() {
    let app = scripted(echo()).await;
    for n in 0..41 {
        if n == 10 {
            app.passes(Duration::from_hours(24)).await;
        }
        app.says("ada", &format!("message {n}")).await;
    }
    let summary = "SELECT count(*) FROM conversations WHERE summary <> ''";
    let compacted = async { while app.store().count(summary, &[]).await.unwrap() == 0 {} };
    tokio::time::timeout(Duration::from_secs(30), compacted).await.unwrap();
    let asked = app.requests(Who::Plain).remove(0).messages.remove(1).text;
    assert!(asked.contains("\n[Sat 21 Nov 2026] Person: message 0\n"), "{asked}");
    assert!(asked.contains("\nPerson: message 9\n"), "{asked}");
    assert!(asked.contains("\n[Sun 22 Nov 2026] Person: message 10\n"), "{asked}");
    app.ends_well().await;
}
