//! Trying models again, and falling back to another one.

use std::sync::Arc;
use std::time::Duration;

use adjutant_models::price::Price;
use adjutant_models::resilience::Resilient;
use adjutant_models::{Message, Model, ModelError, ModelErrorKind, Request, Role, SharedModel, Usage};
use adjutant_types::clock::FixedClock;

use crate::scripted::{Reply, Scripted, error, fails, in_order, panics, text};

fn ask() -> Request {
    Request {
        messages: vec![Message::new(Role::System, "s"), Message::new(Role::User, "u")],
        ..Request::default()
    }
}

fn scripted(replies: Vec<Reply>) -> Arc<Scripted> {
    Arc::new(Scripted::new().plain(in_order(replies)))
}

fn chain(models: &[(&str, &Arc<Scripted>)]) -> Resilient {
    let shared = |(name, model): &(&str, &Arc<Scripted>)| ((*name).into(), Arc::clone(model) as SharedModel);
    Resilient::new(models.iter().map(shared).collect(), FixedClock::at("2026-01-01T00:00:00Z"))
}

fn limited(seconds: u64) -> Reply {
    let retry_after = Some(Duration::from_secs(seconds));
    error(ModelError { retry_after, ..ModelError::new(ModelErrorKind::RateLimit, "slow down") })
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_with_growing_waits() {
    let model = scripted(vec![
        fails(ModelErrorKind::Network, "reset"),
        fails(ModelErrorKind::Timeout, "slow"),
        fails(ModelErrorKind::Nonsense, "empty"),
        text("at last"),
    ]);
    let start = tokio::time::Instant::now();
    assert_eq!(chain(&[("a", &model)]).call(&ask()).await.unwrap().text, "at last");
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(3500) && waited <= Duration::from_secs(7), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn what_tries_used_that_brought_nothing_is_paid_for_too() {
    let wasted = || {
        let usage = Usage { prompt: 100, cached: 40, completion: 10 };
        let nonsense = ModelError::new(ModelErrorKind::Nonsense, "empty");
        error(ModelError { usage, cost_usd: 0.25, ..nonsense })
    };
    let usage = Usage { prompt: 7, cached: 0, completion: 1 };
    let (first, second) =
        (scripted((0..4).map(|_| wasted()).collect()), scripted(vec![text("b").usage(usage)]));
    let answer = chain(&[("a", &first), ("b", &second)]).call(&ask()).await.unwrap();
    assert_eq!(answer.usage, Usage { prompt: 407, cached: 160, completion: 41 });
    assert_eq!(answer.cost_usd, 1.0);
    let alone = scripted(vec![wasted(), fails(ModelErrorKind::Auth, "no")]);
    let error = chain(&[("a", &alone)]).call(&ask()).await.unwrap_err();
    assert_eq!((error.usage.prompt, error.cost_usd), (100, 0.25));
}

#[tokio::test]
async fn a_chain_is_as_dear_as_its_dearest_model() {
    let price = |input, output| Price { input, cached_input: None, output };
    let priced = |price| Arc::new(Scripted::new().priced(price));
    let models = [priced(price(1.0, 9.0)), Arc::new(Scripted::new()), priced(price(3.0, 2.0))];
    let named: Vec<_> = models.iter().map(|model| ("a", model)).collect();
    assert_eq!(chain(&named).price(), Some(price(3.0, 9.0)));
    assert_eq!(chain(&named[1..2]).price(), None);
}

#[tokio::test(start_paused = true)]
async fn after_four_tries_the_fallback_answers() {
    let first = scripted((0..9).map(|_| fails(ModelErrorKind::Network, "down")).collect());
    let second = scripted(vec![text("hello from b")]);
    assert_eq!(chain(&[("a", &first), ("b", &second)]).call(&ask()).await.unwrap().text, "hello from b");
    assert_eq!((first.count(), second.count()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_and_a_refusal_go_to_the_fallback_at_once() {
    for kind in [ModelErrorKind::Auth, ModelErrorKind::Refused] {
        let first = scripted(vec![fails(kind, "no")]);
        let second = scripted(vec![text("yes")]);
        let start = tokio::time::Instant::now();
        assert_eq!(chain(&[("a", &first), ("b", &second)]).call(&ask()).await.unwrap().text, "yes");
        assert_eq!((first.count(), start.elapsed()), (1, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_up_to_30_seconds() {
    let model = scripted(vec![limited(30), text("thanks")]);
    let start = tokio::time::Instant::now();
    assert_eq!(chain(&[("a", &model)]).call(&ask()).await.unwrap().text, "thanks");
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_longer_retry_after_goes_to_the_fallback_at_once() {
    let first = scripted(vec![limited(31)]);
    let second = scripted(vec![text("yes")]);
    let start = tokio::time::Instant::now();
    assert_eq!(chain(&[("a", &first), ("b", &second)]).call(&ask()).await.unwrap().text, "yes");
    assert_eq!((first.count(), start.elapsed()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn waits_that_the_provider_asks_for_end_after_30_seconds_in_all() {
    let model = scripted((0..4).map(|_| limited(12)).collect());
    let start = tokio::time::Instant::now();
    let error = chain(&[("a", &model)]).call(&ask()).await.unwrap_err();
    assert_eq!((model.count(), start.elapsed().as_secs()), (3, 24));
    assert_eq!((error.kind, error.retry_after), (ModelErrorKind::RateLimit, Some(Duration::from_secs(12))));
}

#[tokio::test(start_paused = true)]
async fn the_last_error_tells_the_whole_chain() {
    let first = scripted((0..4).map(|_| fails(ModelErrorKind::Network, "the connection was cut")).collect());
    let second = scripted(vec![fails(ModelErrorKind::Auth, "the key is wrong (401)")]);
    let error = chain(&[("gpt", &first), ("claude", &second)]).call(&ask()).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    insta::assert_snapshot!(error, @"gpt: the connection was cut (4 tries); then claude: the key is wrong (401)");
}

#[tokio::test]
async fn an_empty_chain_is_an_error() {
    let error = chain(&[]).call(&ask()).await.unwrap_err();
    insta::assert_snapshot!(error, @"no model is configured");
}

#[tokio::test]
async fn a_panic_is_not_swallowed() {
    let model = scripted(vec![panics("boom")]);
    let chain = chain(&[("a", &model)]);
    assert!(tokio::spawn(async move { chain.call(&ask()).await }).await.unwrap_err().is_panic());
}
