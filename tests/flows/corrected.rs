//! What was corrected and then forgotten: nothing of what it was comes back either.

use adjutant_store::{Batch, known, people};
use serde_json::{Value, json};

use crate::app::{Heard, TestApp, scripted};
use crate::groupware::{call, skill_caller};
use crate::memory::{TURNS, doer, extract, fact, memories};
use crate::scripted::Who;

/// The id of the newest memory.
async fn newest(app: &TestApp) -> String {
    let rows: Vec<(String,)> =
        app.store().all("SELECT id FROM memories ORDER BY seq DESC LIMIT 1", &[]).await.unwrap();
    rows[0].0.clone()
}

async fn corrects(app: &TestApp, text: &str) -> Heard {
    let correction = json!({"text": text, "replaces_id": newest(app).await});
    app.says("ada", &format!("memory.save: {correction}")).await
}

/// Ada says that she lives in Paris, then in Lyon, and talks of both in between.
async fn moved() -> TestApp {
    let app = scripted(doer()).await;
    app.says("ada", r#"memory.save: {"text": "I live in Paris"}"#).await;
    app.says("ada", "I live in Paris, by the river, did I say that?").await;
    app.says("ada", "Which theatre do you know in Paris, where I live?").await;
    app.says("ada", r#"memory.search: {"query": "where do I live"}"#).await;
    corrects(&app, "I live in Lyon").await;
    app.says("ada", "Lyon has the better food, I live well there").await;
    app.says("ada", "The lamp in the hall is broken").await;
    app
}

/// What any model was asked from now on, as one text each.
async fn asked_meanwhile(app: &TestApp, turns: usize) -> Vec<String> {
    let before = app.all_requests().len();
    for n in 0..turns {
        app.says("ada", &format!("message {n}, where I live")).await;
    }
    let requests = app.all_requests().split_off(before);
    assert!(requests.len() >= turns);
    requests.iter().map(|request| serde_json::to_string(request).unwrap()).collect()
}

/// The tables in which an export still has a word, and the first messages that show it in a trace of what wasn't forgotten.
async fn kept_in(app: &TestApp, word: &str) -> Vec<String> {
    let ada = people::person(app.store(), "console", "ada", "ada").await.unwrap();
    let known = known::export(app.store(), &ada.id).await.unwrap();
    let tables = known.as_object().unwrap().iter();
    let mut kept: Vec<String> = tables
        .filter(|(_, rows)| rows.to_string().contains(word))
        .map(|(table, rows)| format!("{table}: {rows}"))
        .collect();
    let shown = "SELECT coalesce(c.first_messages, '') FROM calls c JOIN executions e ON e.id = c.execution_id \
                 JOIN turns t ON t.id = e.turn_id WHERE t.forgotten_at IS NULL";
    let stored: Vec<(String,)> = app.store().all(shown, &[]).await.unwrap();
    kept.extend(stored.into_iter().map(|(messages,)| messages).filter(|messages| messages.contains(word)));
    kept
}

#[tokio::test]
async fn what_was_corrected_is_forgotten_with_what_it_was() {
    let app = moved().await;
    let heard = app.says("ada", r#"memory.forget: {"query": "where I live"}"#).await;
    assert!(heard.text.contains("Forgotten: I live in Lyon"), "{}", heard.text);
    assert!(!heard.text.contains("Still remembered"), "{}", heard.text);
    for text in asked_meanwhile(&app, TURNS).await {
        assert!(!text.contains("Paris") && !text.contains("Lyon"), "{text}");
    }
    let heard = app.says("ada", r#"memory.search: {"query": "live river theatre food"}"#).await;
    assert!(!heard.text.contains("Paris") && !heard.text.contains("Lyon"), "{}", heard.text);
    assert_eq!(kept_in(&app, "Paris").await, [""; 0]);
    assert_eq!(kept_in(&app, "Lyon").await, [""; 0]);
    assert!(app.requests(Who::Orchestrator).pop().is_some());
    app.ends_well().await;
}

#[tokio::test]
async fn facts_that_were_taken_are_forgotten_with_what_they_were() {
    let app = scripted(doer()).await;
    app.says("ada", "We moved to Paris last week, near the opera").await;
    let paris = fact("We moved to Paris last week", "Ada moved to Paris in November 2026", "home town");
    assert_eq!(extract(&app, &paris).await.unwrap().0.kept, 1);
    app.says("ada", "The opera house in Paris is wonderful").await;
    app.says("ada", "We moved on to Lyon in the end").await;
    let lyon = fact("We moved on to Lyon in the end", "Ada moved on to Lyon in 2026", "home town");
    let lyon = lyon.replace(r#""message":1"#, r#""message":2"#);
    assert_eq!(extract(&app, &lyon).await.unwrap().0.kept, 1);
    let now =
        "Ada moved on to Lyon in 2026 (since 21 November 2026; before: Ada moved to Paris in November 2026)";
    assert_eq!(memories(&app).await, [now]);
    app.says("ada", &format!("/forget {}", newest(&app).await)).await;
    assert_eq!(memories(&app).await, [""; 0]);
    for text in asked_meanwhile(&app, 20).await {
        assert!(!text.contains("Paris") && !text.contains("Lyon"), "{text}");
    }
    assert_eq!(kept_in(&app, "Paris").await, [""; 0]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_former_home_is_forgotten_without_the_present_one() {
    let app = moved().await;
    let heard = app.says("ada", r#"memory.forget: {"query": "lived in Paris"}"#).await;
    assert!(heard.text.contains("Forgotten: I live in Paris"), "{}", heard.text);
    assert_eq!(memories(&app).await, ["I live in Lyon (since 21 November 2026)"]);
    let known = app.says("ada", r#"memory.search: {"query": "where do I live", "in": "memories"}"#).await;
    assert!(known.text.contains("I remember: I live in Lyon (since"), "{}", known.text);
    for text in asked_meanwhile(&app, 60).await {
        assert!(!text.contains("Paris"), "{text}");
        assert!(text.contains("I live in Lyon (since 21 November 2026)"), "{text}");
    }
    let heard = app.says("ada", r#"memory.search: {"query": "Lyon river theatre food lamp"}"#).await;
    assert!(!heard.text.contains("Paris"), "{}", heard.text);
    assert!(
        heard.text.contains("Lyon has the better food"),
        "what was said of the other stays: {}",
        heard.text
    );
    assert_eq!(kept_in(&app, "Paris").await, [""; 0]);
    app.ends_well().await;
}

#[tokio::test]
async fn the_past_of_a_memory_goes_by_a_button_and_comes_back_by_undo() {
    let app = moved().await;
    let asked = app.says("ada", "/forget paris").await;
    assert_eq!(asked.buttons(), ["Forget 1", "Forget old version 1"], "{}", asked.text);
    let done = app.presses("ada", &asked, "Forget old version 1").await;
    assert!(
        done.text.starts_with("Forgotten: I live in Paris\nStill remembered: I live in Lyon"),
        "{}",
        done.text
    );
    assert_eq!(memories(&app).await, ["I live in Lyon (since 21 November 2026)"]);
    assert_eq!(app.says("ada", "/forget lyon").await.buttons(), ["Forget 1"]);
    corrects(&app, "I live in Rome").await;
    let rome = "I live in Rome (since 21 November 2026; before: I live in Lyon (since 21 November 2026))";
    assert_eq!(memories(&app).await, [rome]);
    app.says("ada", r#"memory.forget: {"query": "Lyon"}"#).await;
    assert_eq!(memories(&app).await, ["I live in Rome (since 21 November 2026)"]);
    app.says("ada", "/undo").await;
    assert_eq!(memories(&app).await, [rome]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_correction_that_was_taken_back_is_forgotten_too() {
    let app = moved().await;
    let correction = json!({"text": "I live in Rome", "replaces_id": newest(&app).await});
    app.says("ada", &format!("memory.save: {correction}")).await;
    app.says("ada", "/undo").await;
    let asked = app.says("ada", r#"memory.forget: {"query": "where I live"}"#).await;
    assert!(asked.text.contains("messages that say it"), "{}", asked.text);
    app.presses("ada", &asked, "Approve").await;
    assert_eq!(memories(&app).await, [""; 0]);
    for text in asked_meanwhile(&app, 20).await {
        assert!(!["Paris", "Lyon", "Rome"].iter().any(|word| text.contains(word)), "{text}");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn what_others_wrote_does_not_go_on_in_what_replaces_it() {
    let app = scripted(skill_caller()).await;
    let letter = json!({"text": "The rent goes to Eve", "tags": ["eve"], "topic": "landlord"});
    call(&app, "memory.save", letter).await;
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT person_id, 'memory', id, 'a letter', '', 1 FROM memories",
        [],
    );
    app.store().write(batch).await.unwrap();
    let correction = json!({"text": "The rent goes to Bob", "replaces_id": newest(&app).await});
    call(&app, "memory.save", correction).await;
    assert_eq!(memories(&app).await, ["The rent goes to Bob"]);
    let tagged = "SELECT count(*) FROM memories WHERE tags <> '[]'";
    assert_eq!(app.store().count(tagged, &[]).await.unwrap(), 0);
    app.says("ada", "/undo").await;
    assert_eq!(memories(&app).await, ["The rent goes to Eve"]);
    let marked = "SELECT count(*) FROM memories m JOIN taints x ON x.domain = 'memory' AND x.id = m.id";
    assert_eq!(app.store().count(marked, &[]).await.unwrap(), 1, "it is marked as before");
    app.ends_well().await;
}

#[tokio::test]
async fn a_second_home_is_asked_about() {
    let app = scripted(skill_caller()).await;
    let saves = async |memory: Value| call(&app, "memory.save", memory).await.0;
    saves(json!({"text": "Lives in Berlin", "topic": "home town"})).await;
    let berlin = newest(&app).await;
    let told = saves(json!({"text": "Lives in Potsdam", "topic": "Town of her home"})).await;
    assert_eq!(
        told,
        format!(
            "params: since 21 November 2026 I remember: “Lives in Berlin” [{berlin}]. If the person hasn't said which is true now, ask. With \
             replaces_id = {berlin} the new one takes its place; with replaces_id = none both stay"
        )
    );
    assert_eq!(memories(&app).await, ["Lives in Berlin"]);
    saves(json!({"text": "Works at Acme", "topic": "employer"})).await;
    saves(json!({"text": "Lives in Rome, too", "topic": "home town", "replaces_id": "none"})).await;
    let moved = "Lives in Potsdam (since 21 November 2026; before: Lives in Berlin)";
    saves(json!({"text": "Lives in Potsdam", "topic": "home town", "replaces_id": berlin})).await;
    assert_eq!(memories(&app).await, ["Works at Acme", "Lives in Rome, too", moved]);
    app.says("ada", "/undo").await;
    assert_eq!(memories(&app).await, ["Works at Acme", "Lives in Rome, too", "Lives in Berlin"]);
    let on_topic = "SELECT count(*) FROM memories WHERE topic = 'home town'";
    assert_eq!(app.store().count(on_topic, &[]).await.unwrap(), 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_second_home_or_employer_is_noticed_without_a_topic() {
    let app = scripted(skill_caller()).await;
    let save = async |fact: Value| call(&app, "memory.save", fact).await.0;
    for (first, second) in [
        (json!({"text": "Lives in Berlin"}), json!({"text": "Moved to Hamburg"})),
        (json!({"text": "Works for Example", "topic": "employer"}), json!({"text": "Works at Fabrikam"})),
    ] {
        save(first.clone()).await;
        let refused = save(second).await;
        let why = format!("I remember: “{}”", first["text"].as_str().unwrap());
        assert!(refused.contains(&why) && refused.contains("If the person hasn't said"), "{refused}");
    }
    for other in ["Bob lives in Paris", "Works from home on Fridays", "Lives with Ann"] {
        let saved = save(json!({"text": other})).await;
        assert!(saved.contains(other) && !saved.contains("I remember: “"), "{saved}");
    }
    app.ends_well().await;
}
