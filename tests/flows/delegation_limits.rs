//! A tree of agents ends within its limits, each with a question or an honest partial result.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_types::{Bailout, ExecutionKind, ExecutionStatus};
use serde_json::json;

use crate::app::{plan, results, scripted, scripted_with};
use crate::delegation::{delegate, lead_and_hands};
use crate::roles::{mission, of_role};
use crate::scripted::{Scripted, Who, calls, has_results, text};

/// A lead that does nothing but delegate.
fn always_delegating() -> Scripted {
    Scripted::new()
        .orchestrator(plan(|| of_role("top", "lead", json!({}))))
        .when(Who::Agent, "You are a hand.", |_| text("done"))
        .agent(|request| match results(request).iter().any(|result| result.contains("no more agents")) {
            true => text("as far as I could"),
            false => delegate("hand", "more"),
        })
}

#[tokio::test]
async fn a_model_that_always_delegates_is_stopped_by_a_question_or_ends_partial() {
    let app = scripted_with(always_delegating(), |config| {
        lead_and_hands(config);
        config.limits.agents_per_turn = 8;
    })
    .await;
    let asked = app.says("ada", "go").await;
    assert!(asked.text.contains("Continue") || asked.buttons().contains(&"Continue"), "{}", asked.text);
    assert_eq!(app.executions(&asked).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 8);
    let heard = app.presses("ada", &asked, "Stop").await;
    assert!(heard.turn.is_some());
    app.ends_well().await;

    let app = scripted_with(always_delegating(), |config| {
        lead_and_hands(config);
        config.limits.agents_per_turn = 100;
        config.limits.agents_per_tree = 5;
    })
    .await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "top").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::Agents)));
    assert_eq!(app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 5);
    app.ends_well().await;

    // It never reads that it may not: its model calls end it.
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("top", "lead", json!({}))))
        .when(Who::Agent, "You are a hand.", |_| text("done"))
        .agent(|_| delegate("hand", "more"));
    let app = scripted_with(script, |config| {
        lead_and_hands(config);
        config.limits.agents_per_turn = 100;
    })
    .await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "top").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::ModelCalls)));
    assert_eq!(
        app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(),
        20
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_tree_calls_no_model_once_its_budget_is_empty() {
    let usage = adjutant_models::Usage { prompt: 90, cached: 0, completion: 10 };
    let script = Scripted::new()
        .orchestrator(move |request| match has_results(request) {
            true => text("done").usage(usage),
            false => of_role("top", "lead", json!({})).usage(usage),
        })
        .when(Who::Agent, "You are a hand.", move |_| text("done").usage(usage))
        .agent(move |_| calls(vec![delegate("hand", "a"), delegate("hand", "b")]).usage(usage));
    let app = scripted_with(script, |config| {
        lead_and_hands(config);
        config.limits.turn_tokens = 300;
        config.limits.agents_per_turn = 100;
    })
    .await;
    let asked = app.says("ada", "go").await;
    assert!(asked.buttons().contains(&"Continue"), "{}", asked.text);
    // A call that is expected to fit may begin; after that none does.
    let spent: i64 =
        app.calls(&asked).await.iter().map(|call| call.prompt_tokens + call.completion_tokens).sum();
    assert!(spent <= 400, "{spent}");
    let made = app.requests(Who::Agent).len() + app.requests(Who::Orchestrator).len();
    app.presses("ada", &asked, "Stop").await;
    let after = app.requests(Who::Agent).len() + app.requests(Who::Orchestrator).len();
    assert_eq!((made, app.calls(&asked).await.len()), (after, made), "0 calls after the budget is empty");
    app.ends_well().await;
}

#[tokio::test]
async fn a_reviewer_that_never_agrees_ends_after_two_rounds_and_the_person_is_told() {
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({}))))
        .when(Who::Agent, "You are a reviewer.", |_| {
            text(json!({"summary": "Not good.", "data": {"verdict": "reject"}}).to_string())
        })
        .agent(|request| {
            match results(request).iter().any(|result| result.contains("rejected this twice")) {
                true => text("The reviewer objects to the date."),
                false => delegate("reviewer", "check it"),
            }
        });
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "do").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::Agents)));
    assert_eq!(app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 3);
    app.ends_well().await;
}

#[tokio::test]
async fn children_that_end_in_the_same_millisecond_both_arrive() {
    // The clock of the tests stands still while a turn runs, so all children end in one millisecond.
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = turns.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({}))))
        .when(Who::Agent, "You are a reviewer.", |request| text(mission(request).to_owned()))
        .agent(move |request| match results(request).as_slice() {
            [] => calls(vec![delegate("reviewer", "a"), delegate("reviewer", "b")]),
            [a, b] if a.contains("Mission: a") && b.contains("Mission: b") => {
                counted.fetch_add(1, Ordering::SeqCst);
                text("both")
            }
            results => text(results.join("\n")),
        })
        .forgetful();
    let app = scripted(script).await;
    for _ in 0..1_000 {
        assert!(app.says("ada", "go").await.text.contains("both"));
    }
    assert_eq!(turns.load(Ordering::SeqCst), 1_000);
    app.ends_well().await;
}
