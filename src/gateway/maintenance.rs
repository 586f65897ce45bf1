//! The maintenance beside the turns: what dead processes left, what living ones tell, and questions whose time
//! is up.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::lanes::Lanes;
use super::outbox::Delivering;
use super::receiver::Health;
use super::scheduler::Scheduler;
use crate::conversation::Conversations;
use crate::domain::ConversationId;
use crate::store::{StoreError, access, queues, spending};

/// How often a process looks.
const TEND: Duration = Duration::from_secs(1);
/// How often, while turns run here, it looks whether another process told them something: a person waits.
const HEED: Duration = Duration::from_millis(100);

/// Looks after the channels of this process, or one place of one.
pub struct Maintenance {
    /// Whose questions.
    pub conversations: Arc<Conversations>,
    /// What is woken: turns,
    pub lanes: Arc<Lanes>,
    /// and delivery.
    pub delivering: Arc<Delivering>,
    /// The channels, each with its one place; none is all of the channel.
    pub channels: Vec<(String, Option<String>)>,
    /// What happens at its time.
    pub scheduler: Scheduler,
    /// Which of them are ours.
    pub health: Arc<Health>,
}

impl Maintenance {
    /// Wakes what an earlier process left on the channels that are ours now.
    pub async fn take_up(&self) -> Result<(), StoreError> {
        let (store, instance) = (&self.conversations.store, &self.conversations.instance.id);
        for (channel, place) in self.ours() {
            self.wake(&queues::with_pending_work(store, instance, channel, place.as_deref()).await?);
        }
        Ok(())
    }

    fn ours(&self) -> impl Iterator<Item = &(String, Option<String>)> {
        self.channels.iter().filter(|(channel, _)| self.health.is_held(channel))
    }

    /// Frees what dead processes held, and ends questions whose time is up.
    pub async fn tend(&self) -> Result<(), StoreError> {
        self.conversations.instance.tend(&self.conversations.store).await?;
        for (channel, _) in self.ours() {
            self.wake(&self.conversations.expire_questions(channel).await?);
        }
        for (channel, place) in self.ours() {
            // Who asks one thing in the terminal wants to hear nothing else.
            if !self.delivering.filters.contains_key(channel) {
                self.wake(&self.scheduler.tend(channel, place.as_deref()).await?);
            }
        }
        access::expire(&self.conversations.store).await?;
        spending::release_dead(&self.conversations.store).await?;
        // Whether we or others found them dead, or they left in an orderly way.
        self.take_up().await
    }

    /// Tends every second until it is stopped.
    pub async fn work(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(TEND)).await.is_some() {
            if let Err(error) = self.tend().await {
                tracing::error!(%error, "looking after the store failed; it is tried again");
            }
        }
    }

    /// Passes on what other processes tell the turns at work here, until it is stopped.
    pub async fn listen(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(HEED)).await.is_some() {
            if let Err(error) = self.conversations.receive_signals().await {
                tracing::error!(%error, "looking for word from other processes failed; it is tried again");
            }
        }
    }

    fn wake(&self, conversations: &[ConversationId]) {
        for conversation in conversations {
            self.delivering.wake(conversation);
            self.lanes.wake(conversation);
        }
    }
}
