use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Answers, or asks for these pauses first.
#[derive(Default)]
struct Busy {
    pauses: Mutex<VecDeque<Duration>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Model for Busy {
    async fn call(&self, _: &Request) -> Result<ModelResponse, ModelError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.pauses.lock().pop_front() {
            Some(pause) => Err(ModelError {
                retry_after: Some(pause),
                ..ModelError::new(ModelErrorKind::RateLimit, "slow down")
            }),
            None => Ok(ModelResponse::default()),
        }
    }
}

struct World {
    busy: Arc<Busy>,
    limits: RateLimits,
    begun: Instant,
}

impl World {
    fn asks_for(pauses: &[u64]) -> Self {
        let pauses = pauses.iter().copied().map(Duration::from_secs).collect();
        let busy = Arc::new(Busy { pauses: Mutex::new(pauses), asked: AtomicUsize::new(0) });
        Self { busy, limits: RateLimits::default(), begun: Instant::now() }
    }

    fn model(&self, key: &str, per_minute: Option<u32>, is_last: bool) -> SharedModel {
        let key = Secret::new(key);
        self.limits.limited(("a/b".into(), Some(&key)), per_minute, is_last, self.busy.clone())
    }

    /// How many requests have reached the provider, and after how many seconds.
    fn asked(&self) -> (usize, u64) {
        (self.busy.asked.load(Ordering::SeqCst), self.begun.elapsed().as_secs())
    }
}

fn request() -> Request {
    Request::default()
}

#[tokio::test(start_paused = true)]
async fn no_more_than_so_many_requests_start_within_a_minute() {
    let world = World::asks_for(&[]);
    let (one, same) = (world.model("k", Some(3), true), world.model("k", Some(3), true));
    for _ in 0..3 {
        same.call(&request()).await.unwrap();
    }
    assert_eq!(world.asked(), (3, 0));
    one.call(&request()).await.unwrap();
    assert_eq!(world.asked(), (4, 61));
    world.model("another key", Some(3), true).call(&request()).await.unwrap();
    assert_eq!(world.asked(), (5, 61), "each key is counted by itself");
    world.model("k", None, true).call(&request()).await.unwrap();
    assert_eq!(world.asked(), (6, 61), "where nothing is configured, nothing waits");
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_start_in_order_and_one_that_is_stopped_takes_nothing() {
    let world = World::asks_for(&[]);
    let model = world.model("k", Some(1), true);
    model.call(&request()).await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(10), model.call(&request())).await;
    assert!(stopped.is_err());
    let ended = async || {
        model.call(&request()).await.unwrap();
        world.begun.elapsed().as_secs()
    };
    assert_eq!(futures::join!(ended(), ended()), (61, 122));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_one_request_was_asked_for_holds_for_all() {
    let world = World::asks_for(&[7]);
    let model = world.model("k", None, true);
    model.call(&request()).await.unwrap_err();
    world.model("another key", None, true).call(&request()).await.unwrap();
    assert_eq!(world.asked(), (2, 0));
    for _ in 0..2 {
        world.model("k", None, true).call(&request()).await.unwrap();
    }
    assert_eq!(world.asked(), (4, 7));
}

#[tokio::test(start_paused = true)]
async fn what_would_wait_too_long_fails_at_once_and_no_pause_is_longer_than_a_minute() {
    let world = World::asks_for(&[3600]);
    let model = world.model("k", None, true);
    model.call(&request()).await.unwrap_err();
    let error = model.call(&request()).await.unwrap_err();
    assert_eq!((error.kind, error.retry_after), (ModelErrorKind::RateLimit, Some(MAX_PAUSE)));
    insta::assert_snapshot!(error, @"the provider has asked for a pause; 60 s are left");
    assert_eq!(world.asked(), (1, 0));
    sleep(MAX_PAUSE).await;
    model.call(&request()).await.unwrap();
    assert_eq!(world.asked(), (2, 60));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_has_another_one_behind_it_is_not_waited_for_in_vain() {
    let world = World::asks_for(&[]);
    let model = world.model("k", Some(1), false);
    model.call(&request()).await.unwrap();
    let error = model.call(&request()).await.unwrap_err();
    assert_eq!((world.asked(), error.retry_after), ((1, 30), Some(WINDOW)), "and it isn't tried again");
}

#[tokio::test(start_paused = true)]
async fn what_another_instance_was_told_holds_here_too() {
    let world = World::asks_for(&[]);
    let model = world.model("k", None, true);
    world.limits.learn(&[("a/b".into(), Duration::from_secs(4)), ("a/c".into(), Duration::from_secs(9))]);
    // The next look finds less of the same pause.
    world.limits.learn(&[("a/b".into(), Duration::from_secs(2))]);
    model.call(&request()).await.unwrap();
    assert_eq!(world.asked(), (1, 4));
}
