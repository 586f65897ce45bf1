//! Facts are taken beside the turns: no turn waits for them, and ten turns cost one call.

use std::sync::Arc;

use adjutant_memory::extraction;
use adjutant_models::{ModelErrorKind, SharedModel};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::{Batch, people};
use chrono_tz::Tz;
use serde_json::json;

use crate::app::scripted;
use crate::memory::{extract, fact, is_second_look, ledger, memories as remembered};
use crate::scripted::{Gate, Scripted, Who, fails, text};

#[tokio::test]
async fn no_turn_waits_for_facts() {
    let app = scripted(Scripted::new().orchestrator(|_| text("OK."))).await;
    for n in 0..10 {
        app.says("ada", &format!("We have {n} cats at home now")).await;
    }
    let (gate, due) = (Gate::closed(), extraction::due(app.store()).await.unwrap().unwrap());
    let behind = gate.clone();
    let model: SharedModel = Arc::new(Scripted::new().plain(move |_| text("{}").behind(&behind)));
    let ledger = ledger(&app, &due);
    let taking = tokio::spawn(async move { extraction::extract(&ledger, &model, &due, Tz::UTC).await });
    gate.arrived(1).await;
    for n in 0..3 {
        assert_eq!(app.says("ada", &format!("message {n}")).await.text, "OK.");
    }
    assert!(!taking.is_finished(), "the model that takes facts hangs");
    gate.open();
    taking.await.unwrap().unwrap().unwrap();
    app.ends_well().await;
}

#[tokio::test]
async fn forty_turns_are_four_calls_also_if_the_model_fails() {
    let app = scripted(Scripted::new().orchestrator(|_| text("OK."))).await;
    let taker =
        Arc::new(Scripted::new().plain(|request| match request.messages[1].text.contains("cat 15 ") {
            true => fails(ModelErrorKind::Network, "down"),
            false => text("I found no facts."),
        }));
    let model: SharedModel = taker.clone();
    for n in 0..40 {
        app.says("ada", &format!("We have cat {n} at home now")).await;
        while let Some(due) = extraction::due(app.store()).await.unwrap() {
            extraction::extract(&ledger(&app, &due), &model, &due, Tz::UTC).await.unwrap();
        }
    }
    assert_eq!(taker.requests().len(), 4);
    // No turn asks a model for more than it would without this.
    assert_eq!((app.requests(Who::Orchestrator).len(), app.all_requests().len()), (40, 40));
    app.ends_well().await;
}

#[tokio::test]
async fn a_recalled_memory_is_not_taken_again() {
    let app = scripted(Scripted::new().orchestrator(|request| {
        let known = request.messages.iter().any(|message| message.text.contains("Bob prefers mornings"));
        text(if known { "Bob prefers mornings, so he may be." } else { "OK." })
    }))
    .await;
    app.says("ada", "hello").await;
    extract(&app, r#"{"facts": []}"#).await.unwrap();
    let ada = people::person(app.store(), "console", "ada", "ada").await.unwrap();
    let here = people::conversation(app.store(), "console", "main", &ada.id, true).await.unwrap();
    let memory = MemoryRow {
        id: "bobs".into(),
        kind: "fact".into(),
        scope: "private".into(),
        text: "Bob prefers mornings".into(),
        tags: "[]".into(),
        topic: String::new(),
        created_at: app.store().now(),
    };
    let mut batch = Batch::new();
    memories::insert(&mut batch, &ada.id, &here.id, &memory);
    app.store().write(batch).await.unwrap();
    let heard = app.says("ada", "is Bob in the office today").await;
    assert!(heard.text.contains("prefers mornings"), "it was recalled: {}", heard.text);
    for topic in ["hours of Bob", "preferences of Bob"] {
        let again = fact("Bob prefers mornings", "Bob prefers mornings in the office", topic);
        let (extracted, request) = extract(&app, &again).await.unwrap();
        assert!(!request.contains("prefers"), "{request}");
        assert_eq!((extracted.kept, extracted.known, extracted.refused), (0, 0, 1));
        app.says("ada", "is Bob in the office today").await;
    }
    assert_eq!(app.store().count("SELECT count(*) FROM memories", &[]).await.unwrap(), 1);
    app.ends_well().await;
}

/// Whether a fact holds, what is wrong with it, a message, the quote, and the fact.
fn pairs() -> Vec<[&'static str; 5]> {
    let line = |line: &'static str| <[&str; 5]>::try_from(line.split(" | ").collect::<Vec<_>>()).unwrap();
    include_str!("../../crates/memory/src/extraction/pairs.txt").lines().map(line).collect()
}

/// Says ten messages each time, and takes what the pairs propose, with a second look that answers this. Returns the pairs
/// whose facts are kept.
async fn taken(answer: fn(&str) -> Option<String>) -> Vec<[&'static str; 5]> {
    let app = scripted(Scripted::new().orchestrator(|_| text("OK."))).await;
    for some in pairs().chunks(10) {
        for [_, _, message, ..] in some {
            app.says("ada", message).await;
        }
        let some = some.to_vec();
        let model = Arc::new(Scripted::new().plain(move |request| {
            let asked = &request.messages[1].text;
            if is_second_look(request) {
                // Nothing but the words and the facts.
                assert!(
                    !asked.contains("Message ") && asked.matches("\nFact: ").count() <= some.len(),
                    "{asked}"
                );
                return answer(asked).map_or_else(|| fails(ModelErrorKind::Network, "down"), text);
            }
            let facts = (1..).zip(&some).map(|(number, [_, _, said, quote, fact])| {
                let topic = format!("{said:.24}");
                json!({"message": number, "quote": quote, "fact": fact, "kind": "fact", "topic": topic})
            });
            text(json!({"facts": facts.collect::<Vec<_>>()}).to_string())
        }));
        let shared: SharedModel = model.clone();
        let due = extraction::due(app.store()).await.unwrap().unwrap();
        extraction::extract(&ledger(&app, &due), &shared, &due, Tz::UTC).await.unwrap().unwrap();
        assert!(model.requests().len() <= 2, "one look for all of them");
    }
    let calls = "SELECT count(*) FROM background_calls WHERE purpose = 'extract'";
    // Of the first ten, the rules leave nothing to look at.
    assert_eq!(app.store().count(calls, &[]).await.unwrap(), 15, "both calls are counted");
    let texts = remembered(&app).await.join("\n");
    app.ends_well().await;
    pairs().into_iter().filter(|[.., fact]| texts.contains(fact)).collect()
}

/// Confirms the facts that hold.
fn knowing(asked: &str) -> Option<String> {
    let good: Vec<&str> = pairs().into_iter().filter(|pair| pair[0] == "good").map(|pair| pair[4]).collect();
    let facts = asked.lines().filter_map(|line| line.strip_prefix("Fact: "));
    let hold: Vec<usize> =
        (1..).zip(facts).filter(|(_, fact)| good.contains(fact)).map(|(number, _)| number).collect();
    Some(json!({"hold": hold}).to_string())
}

#[tokio::test]
async fn a_fact_is_kept_only_if_its_words_say_it() {
    let kept = taken(knowing).await;
    assert!(kept.iter().all(|pair| pair[0] == "good"), "{kept:?}");
    assert!(kept.len() >= 30, "{} of 40: {kept:?}", kept.len());
    // A model that says nothing about them confirms none.
    assert_eq!(taken(|_| Some("They look fine.".into())).await, [[""; 5]; 0]);
}

#[tokio::test]
async fn without_a_second_look_the_rules_decide() {
    let kept = taken(|_| None).await;
    let count = |of: &str| kept.iter().filter(|pair| pair[0] == of).count();
    assert!(count("good") >= 30 && count("bad") <= BAD_BY_RULES, "{kept:?}");
}

/// What only a model can tell: who did it, when, and how often.
const BAD_BY_RULES: usize = 17;
