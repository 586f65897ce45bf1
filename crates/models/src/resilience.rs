//! A model that retries, and falls back to other models.

use std::time::Duration;

use adjutant_chat::Backoff;
use adjutant_types::clock::{Clock, SharedClock};
use adjutant_types::metrics;
use async_trait::async_trait;

use super::price::{Price, dearest};
use super::{Model, ModelError, ModelErrorKind, ModelResponse, Request, SharedModel, Usage};

const TRIES: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), PATIENCE);
/// The longest total wait for one model, if we choose.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest total wait for one model, if the provider asks for it.
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
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        let mut reasons = Vec::new();
        let mut last = ModelError::new(ModelErrorKind::Refused, "no model is configured");
        // Failed tries cost too.
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
        self.models.iter().filter_map(|(_, model)| model.price()).reduce(dearest)
    }

    fn takes_pictures(&self) -> bool {
        self.models.first().is_some_and(|(_, model)| model.takes_pictures())
    }
}

/// Asks one model until it answers or retrying is of no use. An error comes with the number of tries.
async fn persist(
    name: &str,
    model: &SharedModel,
    request: &Request,
    clock: &dyn Clock,
    (usage, cost_usd): (&mut Usage, &mut f64),
) -> Result<ModelResponse, (ModelError, u32)> {
    let mut retries = Retries::new(name);
    loop {
        let error = match model.call(request).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        *usage += error.usage;
        *cost_usd += error.cost_usd;
        if !retries.wait_after(&error, clock).await {
            return Err((error, retries.tries));
        }
    }
}

pub(crate) struct Retries<'a> {
    name: &'a str,
    /// How many there were, the present one included.
    pub(crate) tries: u32,
    waited: Duration,
}

impl<'a> Retries<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name, tries: 1, waited: Duration::ZERO }
    }

    /// Waits for the next try; false if retrying is of no use.
    pub(crate) async fn wait_after(&mut self, error: &ModelError, clock: &dyn Clock) -> bool {
        let (model, tries) = (self.name, self.tries);
        let wait = wait_after(error, tries, self.waited, clock.random());
        let Some(wait) = wait.filter(|_| error.is_transient() && tries < TRIES) else {
            tracing::warn!(model, tries, error = %error, "the model gave no answer");
            return false;
        };
        tracing::info!(model, tries, wait_ms = wait.as_millis(), error = %error, "asking the model again");
        tokio::time::sleep(wait).await;
        metrics::retry("model");
        self.waited += wait;
        self.tries += 1;
        true
    }
}

/// How long to wait before the next try; none if that is longer than anybody should wait.
fn wait_after(error: &ModelError, tries: u32, waited: Duration, random: u128) -> Option<Duration> {
    let backoff = BACKOFF.after(tries, random);
    let asked = error.retry_after.map(|asked| (asked.max(backoff), ASKED_PATIENCE));
    let (wait, patience) = asked.unwrap_or((backoff, PATIENCE));
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
                prop_assert!(wait >= BACKOFF.after(tries, 0));
            }
        }
    }
}
