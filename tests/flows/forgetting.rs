//! `/memories` and `/forget` as people type them, what is corrected, and how both are told.

use serde_json::json;

use crate::app::{configured, scripted};
use crate::memory::{doer, memories};

#[tokio::test]
async fn what_may_be_meant_is_shown_before_it_is_forgotten() {
    let app = configured(|_| {}).await;
    app.says("ada", "remember that Bob prefers mornings").await;
    app.says("ada", "remember that the office is in Lyon").await;
    for typed in
        ["/forget lyon", "/Forget 1", "/forget the office please", "/forget the ofice", "/forget lyno"]
    {
        let asked = app.says("ada", typed).await;
        assert_eq!(
            asked.text, "Should I forget this?\n\n1. the office is in Lyon (you told me on 21 November 2026)",
            "{typed}"
        );
        assert_eq!(asked.buttons(), ["Forget 1"]);
    }
    let both = app.says("ada", "/forget mornings in the office").await;
    assert!(both.text.starts_with("Which of these should I forget?\n\n"), "{}", both.text);
    assert_eq!(both.buttons().len(), 2);
    for typed in ["/forget", "/Memories", "/memory"] {
        let listed = app.says("ada", typed).await;
        assert!(listed.text.starts_with("I remember:\n\n1. the office"), "{}", listed.text);
    }
    for typed in ["/forget 7", "/forget 0", "/forget quarks"] {
        let told = app.says("ada", typed).await.text;
        assert!(told.starts_with("I don't have that memory here."), "{told}");
    }
    let told = app.room("team").says("ada", "/forget lyon").await.text;
    assert!(told.starts_with("I don't have that memory here."), "{told}");
    for (typed, meant) in [("/forgot it", "/forget"), ("/memoires", "/memories")] {
        let told = app.says("ada", typed).await.text;
        assert!(told.contains(&format!("Did you mean `{meant}`?")), "{told}");
    }
    let kept = "SELECT count(*) FROM memories";
    assert_eq!(app.store().count(kept, &[]).await.unwrap(), 2);
    let done = app.presses("ada", &both, "Forget 2").await;
    assert!(done.text.starts_with("Forgotten: Bob prefers mornings"), "{}", done.text);
    assert_eq!(app.store().count(kept, &[]).await.unwrap(), 1);
    app.ends_well().await;
}

#[tokio::test]
async fn what_a_button_or_a_command_forgets_comes_back_by_undo() {
    let app = configured(|_| {}).await;
    app.says("ada", "remember that Bob prefers mornings").await;
    let listed = app.says("ada", "/memories").await;
    let id = listed.choices[0].id.strip_prefix("memory:").unwrap();
    app.presses("ada", &listed, "Forget 1").await;
    assert_eq!(memories(&app).await, [""; 0]);
    assert_eq!(app.says("ada", "/undo").await.text, "I remember again: Bob prefers mornings");
    assert_eq!(memories(&app).await, ["Bob prefers mornings"]);
    app.says("ada", &format!("/forget {id}")).await;
    assert_eq!(memories(&app).await, [""; 0]);
    // What forgets is forgotten with it.
    let forgets = "SELECT count(*) FROM turns t JOIN executions e ON e.turn_id = t.id AND e.skill = 'memory.forget' \
                   WHERE t.forgotten_at IS NOT NULL";
    assert_eq!(app.store().count(forgets, &[]).await.unwrap(), 2);
    assert_eq!(app.says("ada", "/undo").await.text, "I remember again: Bob prefers mornings");
    assert_eq!(memories(&app).await, ["Bob prefers mornings"]);
    // A room's memory comes back in its room.
    let room = app.room("team");
    room.says("ada", "remember that the demo is on Friday").await;
    let listed = room.says("ada", "/memories").await;
    let id = listed.choices[0].id.strip_prefix("memory:").unwrap();
    room.says("ada", &format!("/forget {id}")).await;
    assert_eq!(memories(&app).await, ["Bob prefers mornings"]);
    room.says("ada", "/undo").await;
    let listed = room.says("ada", "/memories").await.text;
    assert!(listed.contains("the demo is on Friday"), "{listed}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_japanese_sentence_is_saved_found_and_forgotten() {
    let app = configured(|_| {}).await;
    let saved = app.says("ada", "remember that 私の誕生日は五月三日です").await;
    assert!(saved.text.contains("私の誕生日は五月三日です"), "{}", saved.text);
    let found = app.says("ada", "what do you know about 誕生日?").await;
    assert!(found.text.contains("私の誕生日は五月三日です"), "{}", found.text);
    let asked = app.says("ada", "/forget 誕生日").await;
    assert!(asked.text.starts_with("Should I forget this?\n\n1. 私の誕生日は"), "{}", asked.text);
    app.presses("ada", &asked, "Forget 1").await;
    assert_eq!(memories(&app).await, [""; 0]);
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_remembered_and_what_was_said_have_their_headings() {
    let app = configured(|_| {}).await;
    app.says("ada", "Bob was at the party in the garden").await;
    app.says("ada", "remember that Bob prefers mornings").await;
    assert_eq!(
        app.says("ada", "what do you know about Bob?").await.text,
        "I remember:\n- Bob prefers mornings\nSaid before:\n\
         - ada, Sat 21 Nov 2026, 10:00 (console): Bob was at the party in the garden"
    );
    app.ends_well().await;
}

#[tokio::test]
async fn nothing_private_is_told_in_a_group() {
    let app = configured(|_| {}).await;
    app.direct("home").says("ada", "remember that I live in Lyon").await;
    let room = app.room("team");
    room.says("ada", "remember that the demo is on Friday").await;
    for asks in ["what do you know about me?", "what do you know about me", "where do I live?", "/memories"] {
        let told = room.says("ada", asks).await.text;
        assert!(!told.contains("Lyon"), "{asks}: {told}");
        let told = room.says("bob", asks).await.text;
        assert!(!told.contains("Lyon"), "{asks}: {told}");
    }
    let told = app.direct("home").says("ada", "what do you know about me?").await.text;
    assert!(told.contains("Lyon"), "{told}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_correction_takes_the_place_of_what_was_wrong() {
    // Bob speaks in the room before Ada does.
    let wish = json!([{"kind": "memory.save", "count": 1, "text": "Ada lives in Villeurbanne"}]);
    let app = scripted(doer().clean_room(move |_| wish.clone())).await;
    app.says("ada", r#"memory.save: {"text": "Ada moved to Lyon", "tags": ["home"]}"#).await;
    let id: Vec<(String,)> = app.store().all("SELECT id FROM memories", &[]).await.unwrap();
    let correction = json!({"text": "Ada lives in Villeurbanne", "replaces_id": id[0].0});
    let corrects = format!("memory.save: {correction}");
    for place in [app.direct("bob's"), app.room("team")] {
        place.says("bob", &corrects).await;
        assert_eq!(memories(&app).await, ["Ada moved to Lyon"], "it's somebody else's");
    }
    app.room("team").says("ada", &corrects).await;
    assert_eq!(memories(&app).await, ["Ada moved to Lyon"], "nothing private is touched among others");
    app.says("ada", &corrects).await;
    let now = "Ada lives in Villeurbanne (since 21 November 2026; before: Ada moved to Lyon)";
    assert_eq!(memories(&app).await, [now]);
    let heard = app.says("ada", r#"memory.search: {"query": "home", "in": "memories"}"#).await;
    assert!(heard.text.contains(now), "it's found by the same words: {}", heard.text);
    let heard = app.says("ada", &corrects).await;
    assert!(!heard.text.contains("remember:"), "{}", heard.text);
    assert_eq!(memories(&app).await, [now]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_correction_is_taken_back_by_undo() {
    let app = scripted(doer()).await;
    app.says("ada", r#"memory.save: {"text": "Ada moved to Lyon"}"#).await;
    let id: Vec<(String,)> = app.store().all("SELECT id FROM memories", &[]).await.unwrap();
    let correction = json!({"text": "Ada lives in Villeurbanne", "replaces_id": id[0].0});
    app.says("ada", &format!("memory.save: {correction}")).await;
    app.says("ada", "/undo").await;
    assert_eq!(memories(&app).await, ["Ada moved to Lyon"]);
    app.ends_well().await;
}

#[tokio::test]
async fn what_may_be_meant_as_well_is_shown_when_something_is_forgotten() {
    let app = scripted(doer()).await;
    app.says("ada", r#"memory.save: {"text": "Ada moved to Lyon in March"}"#).await;
    app.says("ada", r#"memory.save: {"text": "Ada likes tea"}"#).await;
    app.says("ada", r#"memory.save: {"text": "Ada lives in Villeurbanne near Lyon", "replaces_id": "none"}"#)
        .await;
    let heard = app.says("ada", r#"memory.forget: {"query": "where I live"}"#).await;
    assert!(heard.text.contains("Forgotten: Ada lives in Villeurbanne"), "{}", heard.text);
    let still = heard.text.split("Still remembered").nth(1).unwrap();
    assert!(still.contains("- Ada moved to Lyon in March") && !still.contains("tea"), "{}", heard.text);
    let heard = app.says("ada", r#"memory.forget: {"query": "tea"}"#).await;
    assert!(!heard.text.contains("Still remembered"), "{}", heard.text);
    app.ends_well().await;
}
