//! Sends one thing at a time to each chat, answers first, and nothing before the platform allows it.
//!
//! Platforms say when to wait, and that applies to everything sent to the same chat. Progress and typing indicators
//! give way: they are skipped rather than delayed, and never hold up an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_chat::Address;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// Coordinates what this process sends.
#[derive(Clone)]
pub struct SendGate {
    chats: moka::future::Cache<Address, Arc<Chat>>,
}

#[derive(Default)]
struct Chat {
    sending: Arc<tokio::sync::Mutex<()>>,
    not_before: Mutex<Option<Instant>>,
}

impl Default for SendGate {
    fn default() -> Self {
        // An idle chat needs no memory of the last message.
        let chats = moka::future::Cache::builder().max_capacity(10_000);
        Self { chats: chats.time_to_idle(Duration::from_mins(30)).build() }
    }
}

impl SendGate {
    /// Waits for what is being sent to the chat, but for no pause: an answer has its own time for another try.
    pub async fn answer(&self, address: &Address) -> OwnedMutexGuard<()> {
        self.chat(address).await.sending.clone().lock_owned().await
    }

    /// A permit for what gives way, progress or an answer that can be claimed later; none while something is being sent,
    /// or in a pause.
    pub async fn try_send(&self, address: &Address) -> Option<OwnedMutexGuard<()>> {
        let chat = self.chat(address).await;
        let not_before = *chat.not_before.lock();
        match not_before.is_some_and(|not_before| Instant::now() < not_before) {
            true => None,
            false => chat.sending.clone().try_lock_owned().ok(),
        }
    }

    /// Records that the platform accepts nothing more for this chat for a while.
    pub async fn pause(&self, address: &Address, pause: Duration) {
        let chat = self.chat(address).await;
        let until = Instant::now() + pause;
        let mut not_before = chat.not_before.lock();
        *not_before = (*not_before).max(Some(until));
    }

    async fn chat(&self, address: &Address) -> Arc<Chat> {
        self.chats.get_with_by_ref(address, async { Arc::default() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_wait_and_the_rest_gives_way() {
        let gate = SendGate::default();
        let [here, there] = ["here", "there"].map(|chat| Address { channel: "c".into(), place: chat.into() });
        let sending = gate.answer(&here).await;
        assert!(gate.try_send(&here).await.is_none(), "an answer is being sent");
        assert!(gate.try_send(&there).await.is_some(), "places don't wait for one another");
        drop(sending);
        let permit = gate.try_send(&here).await;
        assert!(permit.is_some());
        let answer = tokio::time::timeout(Duration::from_millis(20), gate.answer(&here)).await;
        assert!(answer.is_err(), "one sending at a time");
        drop(permit);
        gate.pause(&here, Duration::from_mins(1)).await;
        gate.pause(&here, Duration::ZERO).await;
        assert!(gate.try_send(&here).await.is_none(), "the longest wait counts");
        drop(gate.answer(&here).await);
    }
}
