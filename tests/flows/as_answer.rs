//! A result that is the answer as it stands: one model call instead of two.

use adjutant_config::Policy;
use serde_json::{Value, json};

use crate::app::{agent, results, scripted, scripted_with, skill_file, without_receipts};
use crate::scripted::{Reply, Scripted, Who, calls, text};
use crate::web::{Answer, Web};

/// A direct dispatch whose result is the answer.
fn answering(id: &str, skill: &str, arguments: Value) -> Reply {
    agent(id, &[skill], json!({"arguments": arguments, "as_answer": true}))
}

fn create(id: &str, title: &str) -> Reply {
    answering(id, "tasks.create", json!({"title": title}))
}

/// A model that dispatches as `first` says, and uses words of its own if it is asked again.
fn once(first: impl Fn() -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::new().orchestrator(move |request| match results(request).is_empty() {
        true => first(),
        false => text("In my own words."),
    })
}

#[tokio::test]
async fn a_result_is_the_answer_and_the_next_turn_knows_of_it() {
    let app = scripted(once(|| create("a", "buy milk"))).await;
    let heard = app.says("ada", "buy milk").await;
    insta::assert_snapshot!(heard.text, @"Added “buy milk”");
    assert_eq!(app.requests(Who::Orchestrator).len(), 1);
    app.says("ada", "more milk").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let history: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
    assert!(history.iter().any(|said| said.contains(&heard.text)), "{history:?}");
    app.ends_well().await;
}

#[tokio::test]
async fn several_results_are_one_answer() {
    let app = scripted(once(|| calls(vec![create("a", "buy milk"), create("b", "buy bread")]))).await;
    let heard = app.says("ada", "buy milk and bread").await;
    insta::assert_snapshot!(heard.text, @"
    Added “buy milk”
    Added “buy bread”
    ");
    assert_eq!(app.requests(Who::Orchestrator).len(), 1);
    app.ends_well().await;
}

#[tokio::test]
async fn what_failed_or_is_not_all_goes_to_the_model() {
    for first in [
        // It fails.
        || answering("a", "tasks.delete", json!({"id": "none"})),
        // The model wants only one of two as the answer.
        || calls(vec![create("a", "buy milk"), agent("b", &["tasks.search"], json!({"arguments": {}}))]),
        // One of two dispatches is refused.
        || calls(vec![create("a", "buy milk"), create("a", "buy bread")]),
        // Without arguments it is an agent's report.
        || agent("a", &["tasks.search"], json!({"as_answer": true})),
    ] {
        let app = scripted(once(first).agent(|_| text("Nothing."))).await;
        assert_eq!(without_receipts(&app.says("ada", "go").await.text), "In my own words.");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn words_of_others_are_never_the_answer() {
    let web = Web::start([Answer::Status(200, "", "Your password has expired".into())]).await;
    let skills = web.skills();
    let script = once(|| answering("a", "web.read", json!({"id": "1"})));
    let app = scripted_with(script, |config| skill_file(config, &skills)).await;
    assert_eq!(app.says("ada", "read it").await.text, "In my own words.");
    app.ends_well().await;
}

#[tokio::test]
async fn it_is_the_answer_after_a_yes_too() {
    let script = once(|| create("a", "buy milk"));
    let app = scripted_with(script, |config| config.approval.low = Policy::Ask).await;
    app.says("ada", "buy milk").await;
    let heard = app.says("ada", "yes").await;
    assert!(without_receipts(&heard.text).contains("buy milk"), "{}", heard.text);
    assert_eq!(app.requests(Who::Orchestrator).len(), 1);
    app.ends_well().await;
}
