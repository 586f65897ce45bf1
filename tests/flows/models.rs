//! Provider errors: whatever the model does, the person reads a clear sentence.

use adjutant_config::{Config, Price, Secret};
use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_types::TurnStatus;
use serde_json::{Value, json};

use crate::app::{TestApp, configured, without_receipts};

const KEY: &str = "sk-very-secret-key";

fn provider(fake: &FakeModel) -> impl FnOnce(&mut Config) {
    let base_url = fake.base_url();
    move |config| {
        let first = &mut config.model.main.first;
        first.provider = "openai".into();
        first.name = "fake".into();
        first.api_key = Some(Secret::new(KEY));
        first.base_url = Some(base_url);
        first.timeout = std::time::Duration::from_secs(5);
        first.price = Some(Price { input: 1.0, cached_input: None, output: 10.0 });
    }
}

async fn app(script: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> (TestApp, FakeModel) {
    let fake = FakeModel::start(script);
    let app = configured(provider(&fake)).await;
    (app, fake)
}

#[tokio::test]
async fn a_real_provider_plans_dispatches_and_answers_and_its_cost_is_known() {
    let (app, fake) = app(|request| {
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
        match (has_tool(request, "dispatch_agent"), last_message(request).contains("\"tool\"")) {
            (true, false) => Reply::empty()
                .and_call(
                    "dispatch_agent",
                    r#"{"agent_id": "a", "mission": "look", "skills": ["tasks.search"], "arguments": {}}"#,
                )
                .and_call(
                    "dispatch_agent",
                    r#"{"agent_id": "b", "mission": "add", "skills": ["tasks.create"]}"#,
                ),
            (true, true) => Reply::text("All is there."),
            (false, false) => {
                Reply::call("use_skill", &json!({"skill": "tasks.create", "arguments": {"title": "milk"}}))
            }
            (false, true) => Reply::text("Added."),
        }
        .usage(usage)
    })
    .await;
    let heard = app.says("ada", "milk").await;
    assert_eq!(without_receipts(&heard.text), "All is there.");
    let calls = app.calls(&heard).await;
    assert_eq!(calls.len(), 4);
    let tokens: i64 = calls.iter().map(|call| call.prompt_tokens + call.completion_tokens).sum();
    let cost: f64 = calls.iter().map(|call| call.cost_usd).sum();
    assert_eq!(tokens, 440);
    assert!((cost - 4.0 * 200.0 / 1e6).abs() < 1e-9, "{cost}");
    assert_eq!(fake.received().len(), 4);
    app.ends_well().await;
}

#[tokio::test]
async fn whatever_the_model_does_the_person_reads_a_clear_sentence() {
    type Mood = fn() -> Reply;
    let moods: Vec<(&str, Mood)> = vec![
        ("empty", Reply::empty),
        ("cut", || Reply::text("I was about to say something long").cut()),
        ("unfinished", || Reply::text("I was about to say something long").unfinished()),
        ("not JSON", || Reply::frames(&["{nonsense", "<html>"])),
        ("401", || Reply::status(401, r#"{"error": {"message": "bad key {key}"}}"#)),
        ("400", || Reply::status(400, r#"{"error": {"message": "no such model"}}"#)),
        ("429 for an hour", || {
            Reply::status(429, r#"{"error": {"message": "slow down"}}"#).header("retry-after", "3600")
        }),
        ("500", || Reply::status(500, "oops")),
    ];
    let told = moods.into_iter().map(|(mood, reply)| async move {
        let (app, _fake) = app(move |_| reply()).await;
        let heard = app.says("ada", "hello").await;
        assert_eq!(app.turn(&heard).await.status, TurnStatus::Failed, "{mood}");
        let calls = app.calls(&heard).await;
        assert_eq!(calls.len(), 1, "{mood}: kept in the journal");
        let error = calls[0].error.clone().unwrap_or_default();
        assert!(!error.is_empty() && !error.contains(KEY), "{mood}: {error}");
        app.ends_well().await;
        format!("{mood}: {}", heard.text)
    });
    let told = futures::future::join_all(told).await;
    insta::assert_snapshot!(told.join("\n"), @"
    empty: My language model gave no usable answer. Please try again, perhaps in other words.
    cut: I can't reach my language model right now. Please try again in a few minutes.
    unfinished: I can't reach my language model right now. Please try again in a few minutes.
    not JSON: My language model gave no usable answer. Please try again, perhaps in other words.
    401: I can't sign in to my language model. Please tell whoever runs me.
    400: My language model refused this request. Please try other words.
    429 for an hour: My language model is overloaded or its quota is used up. Please try again in a few minutes.
    500: I can't reach my language model right now. Please try again in a few minutes.
    ");
}

#[tokio::test]
async fn a_passing_failure_is_not_noticed() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let (app, fake) = app(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::status(429, "{}").header("retry-after", "0"),
        _ => Reply::text("Here I am."),
    })
    .await;
    assert_eq!(app.says("ada", "hello").await.text, "Here I am.");
    assert_eq!(fake.received().len(), 2);
    app.ends_well().await;
}

#[tokio::test]
async fn malformed_calls_of_a_real_provider_are_survived() {
    let (app, _fake) = app(|request| match last_message(request).contains("\"tool\"") {
        false => Reply::empty()
            .and_call("dispatch_agent", "{\"agent_id\": ")
            .and_call("no_such_tool", "not json")
            .ids(Some("same")),
        true => Reply::text("I will try in other words."),
    })
    .await;
    assert_eq!(app.says("ada", "hello").await.text, "I will try in other words.");
    app.ends_well().await;
}

#[tokio::test]
async fn a_fallback_answers_when_the_first_does_not() {
    let broken = FakeModel::start(|_| Reply::status(401, "{}"));
    let works = FakeModel::start(|_| Reply::text("The other one answers."));
    let other = works.base_url();
    let first = provider(&broken);
    let app = configured(move |config| {
        first(config);
        let mut fallback = config.model.main.first.clone();
        fallback.base_url = Some(other);
        config.model.main.fallback.push(fallback);
    })
    .await;
    assert_eq!(app.says("ada", "hello").await.text, "The other one answers.");
    app.ends_well().await;
}

#[tokio::test]
async fn basic_mode_takes_what_it_understands_when_no_model_answers() {
    let broken = FakeModel::start(|_| Reply::status(401, "{}"));
    let first = provider(&broken);
    let app = configured(move |config| {
        first(config);
        let mut fallback = config.model.main.first.clone();
        fallback.provider = "builtin".into();
        config.model.main.fallback.push(fallback);
    })
    .await;
    let heard = app.says("ada", "add a task to buy milk, then show my tasks").await;
    assert_eq!(heard.text, "- Added “buy milk”\n- 1 open task:\n  - buy milk");
    assert_eq!(app.turn(&heard).await.status, TurnStatus::Completed);
    let heard = app.says("ada", "what do you make of this?").await;
    assert!(heard.text.contains("I can't sign in"), "{}", heard.text);
    assert_eq!(app.turn(&heard).await.status, TurnStatus::Failed);
    app.ends_well().await;
}
