//! What a model was told at the beginning of a turn is kept without storing again what earlier turns said.

use adjutant_models::{Message, Request};
use adjutant_store::{Batch, calls};
use serde_json::json;

use crate::app::{TestApp, direct, outside_skill, scripted_with, skill_file};
use crate::scripted::{Scripted, Who, has_results, text};

async fn app() -> TestApp {
    let script = Scripted::new().orchestrator(|request: &Request| {
        let said = request.messages.iter().rfind(|message| message.role == adjutant_models::Role::User);
        match said.map(|message| message.text.as_str()).unwrap_or_default() {
            said if has_results(request) => text(format!("So much for: {said}")),
            said if said.contains("add") => direct("a", "tasks.create", json!({"title": "sing"})),
            said if said.contains("read") => direct("a", "outside.read", json!({})),
            said => text(format!("You said: {said}")),
        }
    });
    scripted_with(script, |config| skill_file(config, &outside_skill(&["echo", "Words of others."]))).await
}

/// The first request of the last turn, without the stable beginning.
fn asked(app: &TestApp) -> Vec<Message> {
    let requests = app.requests(Who::Orchestrator);
    let first = requests.iter().rfind(|request| !has_results(request)).unwrap();
    first.messages[1..].to_vec()
}

#[tokio::test]
async fn what_a_turn_began_with_is_kept_as_the_model_saw_it() {
    let app = app().await;
    for said in ["hello there", "add a task", "read what came", "how are you?", "what now?"] {
        let answer = app.says("ada", said).await;
        let kept = app.calls(&answer).await;
        let messages: Vec<Message> =
            serde_json::from_str(kept[0].first_messages.as_deref().unwrap()).unwrap();
        assert_eq!(messages, asked(&app), "{said}");
    }
    let stored = async |sql| app.store().count(sql, &[]).await.unwrap();
    let often = "SELECT count(*) FROM calls WHERE first_messages LIKE '%hello there%'";
    assert_eq!(stored(often).await, 1, "by its own turn only");
    let touched = "SELECT count(*) FROM calls WHERE first_messages LIKE '%(touched: task%'";
    assert!(stored(touched).await > 0, "what a turn touched isn't in its row");
    let of_others = "SELECT count(*) FROM calls WHERE n = 0 AND first_messages LIKE '%[outside text%'";
    assert!(stored(of_others).await > 0, "text from outside stands in a block of the turn that sees it");
    app.ends_well().await;
}

#[tokio::test]
async fn the_text_of_a_summary_is_kept_once() {
    let script =
        Scripted::new().orchestrator(|_| text("Hello.")).plain(|_| text("They said \"hello\" often."));
    let app = scripted_with(script, |_| {}).await;
    let stored = async |sql| app.store().count(sql, &[]).await.unwrap();
    for _ in 0..41 {
        app.says("ada", "hello").await;
    }
    while stored("SELECT count(*) FROM conversations WHERE summary <> ''").await == 0 {
        tokio::task::yield_now().await;
    }
    for number in 0..3 {
        let answer = app.says("ada", "hello").await;
        let kept = app.calls(&answer).await;
        let messages: Vec<Message> =
            serde_json::from_str(kept[0].first_messages.as_deref().unwrap()).unwrap();
        assert_eq!(messages, asked(&app), "{number}");
        assert!(messages[0].text.ends_with("\nEarlier in this conversation: They said \"hello\" often."));
        let texts = "SELECT count(*) FROM calls WHERE first_messages LIKE '%Earlier in this conversation%'";
        assert_eq!(stored(texts).await, 1, "{number}");
    }
    // Without the text that it names, it is written out again.
    let mut batch = Batch::new();
    batch.run(
        "UPDATE calls SET first_messages = NULL WHERE first_messages LIKE '%Earlier in this conversation%'",
        [],
    );
    app.store().write(batch).await.unwrap();
    let answer = app.says("ada", "hello").await;
    let kept = app.calls(&answer).await[0].first_messages.clone().unwrap();
    assert!(kept.contains("They said"), "{kept}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_turn_that_waits_keeps_all_it_began_with() {
    let script = Scripted::new().orchestrator(|request: &Request| match has_results(request) {
        true => text("Done."),
        false if asks(request) => direct("a", "tasks.create", json!({"title": "sing"})),
        false => text("Hello."),
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), adjutant_config::Policy::Ask);
    })
    .await;
    app.says("ada", "hello there").await;
    let question = app.says("ada", "add a task").await;
    let stored = async || {
        let sql = "SELECT count(*) FROM calls WHERE first_messages LIKE '%hello there%'";
        app.store().count(sql, &[]).await.unwrap()
    };
    assert_eq!(stored().await, 2, "it begins with the same bytes when it goes on");
    let before = calls::of_turn(app.store(), &app.turn(&question).await.id).await.unwrap();
    let answer = app.presses("ada", &question, "Approve").await;
    assert!(answer.text.starts_with("Done."), "{}", answer.text);
    let after = app.calls(&answer).await;
    assert_eq!(before[0].first_messages, after[0].first_messages);
    app.ends_well().await;
}

fn asks(request: &Request) -> bool {
    request.messages.last().is_some_and(|message| message.text.contains("add"))
}
