//! Speech: transcribes voice notes, and says answers aloud, by services that speak OpenAI's protocol.
//!
//! Promises: a sound is streamed from its file, never held in memory; a service that fails is tried again, and then the
//! next one; no key gets into an error.

mod attempt;
pub mod doubt;
pub mod service;
pub mod sound;
mod speak;
mod transcript;

use std::time::Duration;

pub use service::Service;
pub use sound::Sound;
pub use speak::{Speaker, aloud};
pub use transcript::Transcript;

use adjutant_types::clock::SharedClock;

use crate::resilience::Retries;
use crate::{ModelError, ModelErrorKind};

pub struct Voice {
    /// The services that transcribe, first choice first; empty if none is configured.
    pub transcribers: Vec<Service>,
    /// The longest note that is heard.
    pub max_length: Duration,
    /// The languages that people speak, as codes; empty for any.
    pub languages: Vec<String>,
    pub clock: SharedClock,
}

/// The result and the cost of a call of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken<T> {
    pub result: T,
    pub model: String,
    pub cost_usd: f64,
}

impl Voice {
    /// The most that listening to this much may cost, in US dollars.
    pub fn price_of(&self, seconds: f64) -> f64 {
        let dearest = self.transcribers.iter().map(|service| service.cost(seconds));
        dearest.fold(0.0, f64::max)
    }

    /// Transcribes a sound: each service is tried a few times, then the next.
    pub async fn transcribe(&self, sound: &Sound) -> Result<Spoken<Transcript>, ModelError> {
        let mut reasons = Vec::new();
        let mut last = ModelError::new(ModelErrorKind::Refused, "no service is configured");
        for service in &self.transcribers {
            // A service that hangs is tried a second time, but not a fourth.
            let patience = 2 * service.patience(sound.seconds);
            let outcome = tokio::time::timeout(patience, self.persist(service, sound)).await;
            let timeout = || ModelError::new(ModelErrorKind::Timeout, "it didn't answer in time");
            match outcome.unwrap_or_else(|_| Err(timeout())) {
                Ok(result) => {
                    let seconds = result.seconds.unwrap_or(sound.seconds as f64);
                    let cost_usd = service.cost(seconds);
                    return Ok(Spoken { result, model: service.name.clone(), cost_usd });
                }
                Err(error) => {
                    reasons.push(format!("{}: {error}", service.name));
                    last = error;
                }
            }
        }
        if !reasons.is_empty() {
            last.message = reasons.join("; then ");
        }
        Err(last)
    }

    async fn persist(&self, service: &Service, sound: &Sound) -> Result<Transcript, ModelError> {
        let mut retries = Retries::new(&service.name);
        loop {
            match service.transcribe(sound).await {
                Err(error) if retries.wait_after(&error, &*self.clock).await => {}
                done => return done,
            }
        }
    }
}
