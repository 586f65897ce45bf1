//! A model that tries again, and falls back to another one: what stands between the engine and the
//! moods of providers.

use std::time::Duration;

use async_trait::async_trait;

use super::price::Price;
use super::{Answer, Model, ModelError, ModelErrorKind, Request, SharedModel, Usage};
use crate::clock::{Clock, SharedClock};
use crate::metrics;

const TRIES: u32 = 4;
/// The first wait of our own; each further one is twice as long.
const BACKOFF: Duration = Duration::from_secs(1);
/// All waiting for one model, when it is ours to choose.
const PATIENCE: Duration = Duration::from_secs(20);
/// All waiting for one model, when the provider has asked for it.
const ASKED_PATIENCE: Duration = Duration::from_secs(30);

/// A chain of models: each is tried up to four times, then the next is asked.
pub struct Resilient {
    models: Vec<(String, SharedModel)>,
    clock: SharedClock,
}

impl Resilient {
    /// The chain, first choice first, each with the name that errors give it.
    pub fn new(models: Vec<(String, SharedModel)>, clock: SharedClock) -> Self {
        Self { models, clock }
    }
}

#[async_trait]
impl Model for Resilient {
    async fn call(&self, request: &Request) -> Result<Answer, ModelError> {
        let mut reasons = Vec::new();
        let mut last = ModelError::new(ModelErrorKind::Refused, "no model is configured");
        // What tries used that brought nothing is paid for too.
        let (mut usage, mut cost_usd) = (Usage::default(), 0.0);
        for (name, model) in &self.models {
            let outcome = persist(name, model, request, &*self.clock, (&mut usage, &mut cost_usd)).await;
            match outcome {
                Ok(mut answer) => {
                    answer.usage += usage;
                    answer.cost_usd += cost_usd;
                    return Ok(answer);
                }
                Err((error, tries)) => {
                    let tries = if tries > 1 { format!(" ({tries} tries)") } else { String::new() };
                    reasons.push(format!("{name}: {error}{tries}"));
                    last = error;
                }
            }
        }
        if !reasons.is_empty() {
            last.message = reasons.join("; then ");
        }
        Err(ModelError { usage, cost_usd, ..last })
    }

    fn price(&self) -> Option<Price> {
        self.models.iter().filter_map(|(_, model)| model.price()).reduce(Price::dearest)
    }
}

/// Asks one model until it answers, or trying again is of no use; then how many tries it took.
async fn persist(
    name: &str,
    model: &SharedModel,
    request: &Request,
    clock: &dyn Clock,
    (usage, cost_usd): (&mut Usage, &mut f64),
) -> Result<Answer, (ModelError, u32)> {
    let mut waited = Duration::ZERO;
    let mut tries = 1;
    loop {
        let error = match model.call(request).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        *usage += error.usage;
        *cost_usd += error.cost_usd;
        let wait = wait_after(&error, tries, waited, clock.random());
        let Some(wait) = wait.filter(|_| error.is_passing() && tries < TRIES) else {
            tracing::warn!(model = name, tries, error = %error, "the model gave no answer");
            return Err((error, tries));
        };
        tracing::info!(model = name, tries, wait_ms = wait.as_millis(), error = %error, "asking the model again");
        tokio::time::sleep(wait).await;
        metrics::retry("model");
        waited += wait;
        tries += 1;
    }
}

/// How long to wait before the next try; nothing when that is longer than anybody should wait.
fn wait_after(error: &ModelError, tries: u32, waited: Duration, random: u128) -> Option<Duration> {
    // Between half of the step and all of it, so that many turns don't come back at the same moment.
    let share = 0.5 + (random % 1000) as f64 / 2000.0;
    let backoff = (BACKOFF * 2_u32.saturating_pow(tries - 1)).mul_f64(share);
    let (wait, patience) = match error.retry_after {
        Some(asked) => (asked.max(backoff), ASKED_PATIENCE),
        None => (backoff, PATIENCE),
    };
    (waited.checked_add(wait)? <= patience).then_some(wait)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_wait_breaks_its_bound(
            tries in 1_u32..TRIES, waited_ms in 0_u64..40_000, asked in prop::option::of(0_u64..u64::MAX), random: u128,
        ) {
            let mut error = ModelError::new(ModelErrorKind::RateLimit, "");
            error.retry_after = asked.map(Duration::from_millis);
            let waited = Duration::from_millis(waited_ms);
            let patience = if asked.is_some() { ASKED_PATIENCE } else { PATIENCE };
            if let Some(wait) = wait_after(&error, tries, waited, random) {
                prop_assert!(waited + wait <= patience);
                prop_assert!(wait >= error.retry_after.unwrap_or_default());
                prop_assert!(wait >= BACKOFF / 2);
            }
        }
    }
}
