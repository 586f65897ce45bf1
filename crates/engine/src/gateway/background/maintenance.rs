//! Recurring work beside the turns: frees what dead processes left, expires questions, runs what is scheduled, goes on
//! with logins, makes what was said ready for searches, and receives signals from other processes.

use std::sync::Arc;
use std::time::Duration;

use adjutant_memory::index;
use adjutant_store::{Result, access, queues, sharing, spending};
use adjutant_types::ConversationId;
use tokio_util::sync::CancellationToken;

use super::scheduler::Scheduler;
use crate::conversation::Conversations;
use crate::gateway::health::Health;
use crate::gateway::lanes::Lanes;
use crate::gateway::outbox::Deliverer;

const INTERVAL: Duration = Duration::from_secs(1);
/// How often running turns check for signals from other processes: often, because a person waits.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// How many texts are made ready for searches at once.
const AT_ONCE: usize = 64;

/// Maintains the channels of this process, or one chat of a channel.
pub struct Maintenance {
    /// The conversations whose questions expire.
    pub conversations: Arc<Conversations>,
    /// Woken when a turn can go on.
    pub lanes: Arc<Lanes>,
    /// Woken when there is something to deliver.
    pub deliverer: Arc<Deliverer>,
    /// The channels, each with its chat; `None` is the whole channel.
    pub channels: Vec<(String, Option<String>)>,
    /// Runs schedules and reminders, and tells what watches have found.
    pub scheduler: Scheduler,
    pub health: Arc<Health>,
}

impl Maintenance {
    /// Wakes the conversations that an earlier process left unfinished on our channels.
    pub async fn wake_left_over(&self) -> Result<()> {
        let (store, instance) = (&self.conversations.store, &self.conversations.instance.id);
        let has_peers = self.lanes.cluster.has_peers();
        if has_peers {
            self.wake(&queues::left_to_us(store, instance).await?);
        }
        for (channel, chat) in self.received_channels() {
            let left = match has_peers {
                // Any of them takes the lanes that wait.
                true => sharing::left_to_receiver(store, instance, channel).await?,
                false => queues::with_pending_work(store, instance, channel, chat.as_deref()).await?,
            };
            self.wake(&left);
        }
        Ok(())
    }

    fn received_channels(&self) -> impl Iterator<Item = &(String, Option<String>)> {
        self.channels.iter().filter(|(channel, _)| self.health.is_receiver(channel))
    }

    pub async fn run_once(&self) -> Result<()> {
        self.conversations.instance.heartbeat(&self.conversations.store).await?;
        self.do_chores().await
    }

    async fn do_chores(&self) -> Result<()> {
        for (channel, _) in self.received_channels() {
            self.wake(&self.conversations.expire_questions(channel).await?);
            self.wake(&self.conversations.ask_held(channel).await?);
        }
        for (channel, chat) in self.received_channels() {
            // Someone who asks a single question in the terminal wants to see nothing else.
            if !self.deliverer.filters.contains_key(channel) {
                self.wake(&self.scheduler.run_due(channel, chat.as_deref()).await?);
            }
        }
        self.wake(&self.conversations.tend_logins().await?);
        access::expire(&self.conversations.store).await?;
        spending::release_dead(&self.conversations.store).await?;
        index::catch_up(&self.conversations.store, self.conversations.zone, true, AT_ONCE).await?;
        // Needed whether they crashed or shut down properly, and regardless of who noticed.
        self.wake_left_over().await
    }

    /// Runs the maintenance every second until it is stopped.
    pub async fn work(self: Arc<Self>, stop: CancellationToken) {
        if let Err(error) = self.conversations.end_disconnections().await {
            tracing::error!(%error, "interrupted disconnections can't go on");
        }
        while stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
            // Where instances share turns, their hearts beat more often.
            let done =
                if self.lanes.cluster.is_on() { self.do_chores().await } else { self.run_once().await };
            if let Err(error) = done {
                tracing::error!(%error, "the maintenance failed; retrying");
            }
        }
    }

    /// Tells what watches find in this process as soon as they do, until it is stopped. What is missed here, or found
    /// elsewhere, the next maintenance tells.
    pub async fn tell_found(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(self.conversations.found.notified()).await.is_some() {
            for (channel, chat) in self.received_channels() {
                let (chat, mut woken) = (chat.as_deref().unwrap_or_default(), Vec::new());
                if let Err(error) = self.scheduler.tell_due(channel, chat, &mut woken).await {
                    tracing::error!(%error, "telling what was found failed; retrying");
                }
                self.wake(&woken);
            }
        }
    }

    /// Passes signals from other processes on to the turns running here, until it is stopped.
    pub async fn listen(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(SIGNAL_INTERVAL)).await.is_some() {
            if let Err(error) = self.conversations.receive_signals().await {
                tracing::error!(%error, "checking for signals from other processes failed; retrying");
            }
        }
    }

    fn wake(&self, conversations: &[ConversationId]) {
        for conversation in conversations {
            self.deliverer.wake(conversation);
            self.lanes.wake(conversation);
        }
    }
}
