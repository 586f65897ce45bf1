//! One sending at a time in a place, answers first, and none before the platform allows it.
//!
//! There is no pacing ahead: platforms say when to wait, and what they say holds for all that goes to that
//! place. Progress and typing give way: they never wait, and never use what an answer needs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_chat::Address;
use tokio::sync::OwnedMutexGuard;

/// Everything that goes out to the places of this process.
#[derive(Clone)]
pub struct Governor {
    places: moka::future::Cache<Address, Arc<Place>>,
}

#[derive(Default)]
struct Place {
    sending: Arc<tokio::sync::Mutex<()>>,
    not_before: Mutex<Option<Instant>>,
}

impl Default for Governor {
    fn default() -> Self {
        // A place at rest needs no memory of its last sending.
        let places = moka::future::Cache::builder().max_capacity(10_000);
        Self { places: places.time_to_idle(Duration::from_mins(30)).build() }
    }
}

impl Governor {
    /// Waits for one's turn to send an answer.
    pub async fn answer(&self, address: &Address) -> OwnedMutexGuard<()> {
        self.place(address).await.sending.clone().lock_owned().await
    }

    /// The right to send something that nobody waits for; none when it would be in the way.
    pub async fn aside(&self, address: &Address) -> Option<OwnedMutexGuard<()>> {
        let place = self.place(address).await;
        let not_before = *place.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        match not_before.is_some_and(|not_before| Instant::now() < not_before) {
            true => None,
            false => place.sending.clone().try_lock_owned().ok(),
        }
    }

    /// Notes that the platform wants nothing more there for this long.
    pub async fn hold(&self, address: &Address, pause: Duration) {
        let place = self.place(address).await;
        let until = Instant::now() + pause;
        let mut not_before = place.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        *not_before = (*not_before).max(Some(until));
    }

    async fn place(&self, address: &Address) -> Arc<Place> {
        self.places.get_with_by_ref(address, async { Arc::default() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_wait_and_the_rest_gives_way() {
        let governor = Governor::default();
        let [here, there] =
            ["here", "there"].map(|place| Address { channel: "c".into(), place: place.into() });
        let sending = governor.answer(&here).await;
        assert!(governor.aside(&here).await.is_none(), "an answer is being sent");
        assert!(governor.aside(&there).await.is_some(), "places don't wait for one another");
        drop(sending);
        let aside = governor.aside(&here).await;
        assert!(aside.is_some());
        let answer = tokio::time::timeout(Duration::from_millis(20), governor.answer(&here)).await;
        assert!(answer.is_err(), "one sending at a time");
        drop(aside);
        governor.hold(&here, Duration::from_mins(1)).await;
        governor.hold(&here, Duration::ZERO).await;
        assert!(governor.aside(&here).await.is_none(), "the longest wait counts");
        drop(governor.answer(&here).await);
    }
}
