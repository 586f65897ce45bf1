//! Requests to models, no more than their providers allow.
//!
//! Properties:
//!
//! - Within any minute, no more requests to a model start than its `requests_per_minute`. On a server that holds for all
//!   instances together, by the server's clock; on an embedded store for this process.
//! - While a provider asks for a pause (`Retry-After`), no instance sends a request to this model: the one that was told
//!   stops at once, the others within [`LOOK_INTERVAL`].
//! - Nothing is held. A request counts for a minute from its start, and a pause ends by itself, so an instance that dies
//!   leaves nothing behind.
//! - Without `requests_per_minute`, a request costs the store nothing.
//!
//! Special cases:
//!
//! - A request that must wait goes to the next model of its chain after [`PATIENCE`]. The last one of a chain waits for
//!   as long as its turn may take.
//! - A provider that asks for hours is asked again after [`MAX_PAUSE`]: a quota may be raised meanwhile.
//! - The store fails: the requests of this process count for themselves until it is back.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_config::Secret;
use adjutant_models::price::Price;
use adjutant_models::{Model, ModelError, ModelErrorKind, ModelResponse, Request, SharedModel};
use adjutant_store::leases::Instance;
use adjutant_store::{Backend, Store, rate_limits};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a request counts: a second more than a minute, because it reaches its provider after it was counted.
const WINDOW: Duration = Duration::from_secs(61);
/// The longest wait for a model when there is another one to ask, and for the end of a pause.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest pause, whatever a provider says.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// How often to look whether another instance was told to pause, or whether a request may start.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// The pause after a look that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The rate limits of all models in use.
#[derive(Clone, Default)]
pub struct RateLimits {
    models: Arc<Mutex<Vec<Arc<RateLimit>>>>,
    store: Arc<OnceLock<Store>>,
}

/// What limits the requests to one model with one key.
struct RateLimit {
    /// The provider and the model, and a number if it is used with several keys.
    name: String,
    key: Option<Secret>,
    paused_until: Mutex<Option<Instant>>,
    /// When this process's last requests started. A request holds it until it may start, so they start in order.
    recent: tokio::sync::Mutex<VecDeque<Instant>>,
    /// Where instances share the limit.
    store: Arc<OnceLock<Store>>,
}

impl RateLimits {
    /// A model that is asked no more often than its provider allows. `is_last`: no other model can be asked instead.
    pub fn limited(
        &self,
        (name, key): (String, Option<&Secret>),
        per_minute: Option<u32>,
        is_last: bool,
        model: SharedModel,
    ) -> SharedModel {
        Arc::new(Limited { limit: self.of(&name, key), per_minute, is_last, model })
    }

    /// What limits a model with a key. A provider counts each key by itself.
    fn of(&self, name: &str, key: Option<&Secret>) -> Arc<RateLimit> {
        let mut models = self.models.lock();
        let (mut own_name, mut number) = (name.to_owned(), 1);
        while let Some(existing) = models.iter().find(|limit| limit.name == own_name) {
            if existing.key.as_ref() == key {
                return existing.clone();
            }
            number += 1;
            own_name = format!("{name} #{number}");
        }
        let limit = Arc::new(RateLimit {
            name: own_name,
            key: key.cloned(),
            paused_until: Mutex::default(),
            recent: tokio::sync::Mutex::default(),
            store: self.store.clone(),
        });
        models.push(limit.clone());
        limit
    }

    /// Shares the limits with the other instances on this store, if it is on a server. Returns whether it is.
    pub fn share(&self, store: &Store) -> bool {
        let is_server = matches!(store.backend(), Backend::Server { .. });
        is_server && self.store.set(store.clone()).is_ok()
    }

    /// Learns which providers have asked other instances for a pause, until it is stopped.
    pub async fn follow(self, instance: Arc<Instance>, stop: CancellationToken) {
        let Some(store) = self.store.get() else { return };
        let mut interval = LOOK_INTERVAL;
        while stop.run_until_cancelled(sleep(interval)).await.is_some() {
            interval = LOOK_INTERVAL;
            if instance.is_alone() {
                continue;
            }
            match rate_limits::pauses(store).await {
                Ok(pauses) => self.learn(&pauses),
                Err(error) => {
                    tracing::error!(%error, "looking for the pauses of models failed; retrying");
                    interval = RETRY_PAUSE;
                }
            }
        }
    }

    fn learn(&self, pauses: &[(String, Duration)]) {
        let models = self.models.lock();
        for (name, left) in pauses {
            for limit in models.iter().filter(|limit| limit.name == *name) {
                limit.extend_pause(*left);
            }
        }
    }
}

impl RateLimit {
    /// Pauses for this long from now. Returns whether that is longer than the current pause.
    fn extend_pause(&self, left: Duration) -> bool {
        let until = Instant::now() + left.min(MAX_PAUSE);
        let mut paused = self.paused_until.lock();
        let is_longer = paused.is_none_or(|current| current + LOOK_INTERVAL < until);
        if is_longer {
            *paused = Some(until);
            let seconds = left.as_secs_f64();
            tracing::info!(model = self.name, seconds, "the model's provider asks for a pause");
        }
        is_longer
    }

    fn pause_left(&self) -> Option<Duration> {
        let paused = self.paused_until.lock();
        let left = (*paused)?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Tells everybody that the provider asks for a pause.
    async fn pause(&self, asked: Duration) {
        if !self.extend_pause(asked) {
            return;
        }
        if let Some(store) = self.store.get()
            && let Err(error) = rate_limits::pause(store, &self.name, asked.min(MAX_PAUSE)).await
        {
            tracing::warn!(model = self.name, %error, "couldn't tell other instances about the pause");
        }
    }

    /// Waits until the provider's pause is over. Fails if that takes too long.
    async fn wait_for_pause(&self) -> Result<(), ModelError> {
        let mut patience = PATIENCE;
        while let Some(left) = self.pause_left() {
            let Some(rest) = patience.checked_sub(left) else {
                return Err(later("has asked for a pause", left));
            };
            patience = rest;
            sleep(left).await;
        }
        Ok(())
    }

    /// Waits until one more request may start, and counts it.
    async fn wait_for_slot(&self, max: u32) -> Result<(), ModelError> {
        let mut recent = self.recent.lock().await;
        let mut is_logged = false;
        loop {
            self.wait_for_pause().await?;
            let Some(wait) = self.take_slot(&mut recent, max).await else { return Ok(()) };
            if !wait.is_zero() && !is_logged {
                tracing::info!(
                    model = self.name,
                    seconds = wait.as_secs_f64(),
                    "requests_per_minute is reached; waiting"
                );
                is_logged = true;
            }
            sleep(wait.clamp(Duration::from_millis(5), LOOK_INTERVAL)).await;
        }
    }

    /// Counts a request, or returns how long it must wait.
    async fn take_slot(&self, recent: &mut VecDeque<Instant>, max: u32) -> Option<Duration> {
        if let Some(store) = self.store.get() {
            match rate_limits::take_slot(store, &self.name, max, WINDOW).await {
                Ok(wait) => return wait,
                Err(error) => {
                    tracing::warn!(model = self.name, %error, "couldn't count a request; counting it here")
                }
            }
        }
        let now = Instant::now();
        while recent.front().is_some_and(|started| *started + WINDOW <= now) {
            recent.pop_front();
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        if recent.len() < max {
            recent.push_back(now);
            return None;
        }
        // Two values of the limit may be in use, so there may be more than this one allows.
        recent.get(recent.len() - max).map(|started| (*started + WINDOW).saturating_duration_since(now))
    }
}

/// Sends nobody a request now.
fn later(why: &str, left: Duration) -> ModelError {
    let message = format!("the provider {why}; {} s are left", left.as_secs().max(1));
    ModelError { retry_after: Some(left), ..ModelError::new(ModelErrorKind::RateLimit, message) }
}

/// A model that is asked no more often than its provider allows.
struct Limited {
    limit: Arc<RateLimit>,
    per_minute: Option<u32>,
    is_last: bool,
    model: SharedModel,
}

impl Limited {
    async fn wait(&self) -> Result<(), ModelError> {
        let Some(max) = self.per_minute else { return self.limit.wait_for_pause().await };
        let waiting = self.limit.wait_for_slot(max);
        if self.is_last {
            return waiting.await;
        }
        timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| Err(later("has had its requests_per_minute", WINDOW)))
    }
}

#[async_trait]
impl Model for Limited {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        self.wait().await?;
        let outcome = self.model.call(request).await;
        if let Err(error) = &outcome
            && let Some(asked) = error.retry_after.filter(|asked| !asked.is_zero())
        {
            self.limit.pause(asked).await;
        }
        outcome
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn takes_pictures(&self) -> bool {
        self.model.takes_pictures()
    }
}

#[cfg(test)]
mod tests;
