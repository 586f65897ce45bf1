//! One memory through half a year: said in passing, used months later, explained, and forgotten everywhere.

use std::time::Duration;

use adjutant_store::retention::{self, Ages};
use adjutant_store::{known, people};
use serde_json::json;

use crate::app::{TestApp, direct, reports, scripted, user_text, without_receipts};
use crate::memory::{extract, fact};
use crate::scripted::{Scripted, Who, has_results, text};

const SAID: &str = "We moved to Lyon last week, near the opera";

/// A model that uses what it is told, looks up why, and forgets by the id of what a first attempt showed it.
fn model() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let everything = serde_json::to_string(request).unwrap();
        let said = user_text(request).to_owned();
        if !has_results(request) {
            return match said.as_str() {
                "why?" => direct("m", "memory.search", json!({"query": "home town"})),
                "forget where I live" => direct("m", "memory.forget", json!({"query": "where I live"})),
                _ if said.contains("near home") && everything.contains("moved to Lyon") => {
                    text("I booked Chez Louise in Lyon for Friday.")
                }
                _ => text("OK."),
            };
        }
        let reports = reports(request);
        if reports.contains_key("again") {
            return text("It's forgotten.");
        }
        if said == "why?" {
            let told = reports["m"]["result"].as_str().unwrap_or_default();
            let quote = told.split_once(", quote ").and_then(|(_, rest)| rest.split_once(']'));
            return text(quote.map_or("I don't know.", |(quote, _)| quote));
        }
        let hint = reports["m"].to_string();
        let id =
            hint.split_once("Ada moved to Lyon in November 2026 [").unwrap().1.split(']').next().unwrap();
        direct("again", "memory.forget", json!({"id": id}))
    })
}

/// How many rows of the tables that hold texts name the town.
async fn rows_that_say_it(app: &TestApp) -> i64 {
    const SQL: &str = "SELECT (SELECT count(*) FROM memories WHERE text LIKE '%Lyon%') \
        + (SELECT count(*) FROM memory_origins WHERE quote LIKE '%Lyon%') \
        + (SELECT count(*) FROM search_words WHERE word = 'lyon') \
        + (SELECT count(*) FROM turns WHERE text LIKE '%Lyon%' OR answer LIKE '%Lyon%') \
        + (SELECT count(*) FROM conversations WHERE summary LIKE '%Lyon%') \
        + (SELECT count(*) FROM inbox WHERE text LIKE '%Lyon%') \
        + (SELECT count(*) FROM outbox WHERE text LIKE '%Lyon%') \
        + (SELECT count(*) FROM questions WHERE subject LIKE '%Lyon%' OR body LIKE '%Lyon%' OR detail LIKE '%Lyon%') \
        + (SELECT count(*) FROM calls WHERE first_messages LIKE '%Lyon%' OR text LIKE '%Lyon%') \
        + (SELECT count(*) FROM tool_calls WHERE arguments LIKE '%Lyon%' OR result LIKE '%Lyon%') \
        + (SELECT count(*) FROM executions WHERE result LIKE '%Lyon%' OR data LIKE '%Lyon%' OR undo LIKE '%Lyon%' \
           OR error LIKE '%Lyon%')";
    app.store().count(SQL, &[]).await.unwrap()
}

#[tokio::test]
async fn a_home_is_known_explained_and_forgotten_everywhere() {
    let app = scripted(model()).await;
    app.says("ada", SAID).await;
    let lyon = fact("We moved to Lyon last week", "Ada moved to Lyon in November 2026", "home town");
    assert_eq!(extract(&app, &lyon).await.unwrap().0.kept, 1);
    app.says("ada", "As I told you, we moved to Lyon in November").await;
    let again = fact("we moved to Lyon in November", "Ada moved to Lyon in November 2026", "home");
    assert_eq!(extract(&app, &again).await.unwrap().0.known, 1);

    app.passes(Duration::from_hours(24 * 90)).await;
    let booked = app.says("ada", "book a table near home on Friday").await;
    assert_eq!(without_receipts(&booked.text), "I booked Chez Louise in Lyon for Friday.");
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let known_as = request.messages.iter().find(|message| message.text.contains("You remember:")).unwrap();
    assert!(known_as.text.contains("(21 Nov 2026)"), "when it was said: {}", known_as.text);
    assert_eq!(without_receipts(&app.says("ada", "why?").await.text), "We moved to Lyon last week");
    app.says("ada", "is my home tidy?").await;
    // In a room nothing private is used.
    let heard = app.room("team").says("ada", "book a table near home on Friday").await;
    assert_eq!(without_receipts(&heard.text), "OK.");
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!serde_json::to_string(&request).unwrap().contains("Lyon"));

    let heard = app.says("ada", "forget where I live").await;
    assert!(without_receipts(&heard.text).starts_with("It's forgotten."), "{}", heard.text);
    let before = app.all_requests().len();
    app.says("ada", "book a table near home on Friday").await;
    app.says("ada", "why?").await;
    let requests = serde_json::to_string(&app.all_requests().split_off(before)).unwrap();
    assert!(!requests.contains("Lyon"), "{requests}");
    let ada = people::person(app.store(), "console", "ada", "ada").await.unwrap();
    let exported = known::export(app.store(), &ada.id).await.unwrap().to_string();
    assert!(!exported.contains("Lyon") && exported.contains("is my home tidy?"), "{exported}");
    // For an hour it can be undone; then nothing of it is left, however long other texts are kept.
    assert_ne!(rows_that_say_it(&app).await, 0);
    app.passes(Duration::from_mins(61)).await;
    retention::pass(app.store(), &Ages::default()).await.unwrap();
    assert_eq!(rows_that_say_it(&app).await, 0);
    app.ends_well().await;
}
