//! The receiver of one channel: passes what its adapter receives to intake, and tracks the channel's health.
//!
//! Properties:
//!
//! - One instance at a time receives a channel: the one with the lease. It also continues the work that dead instances
//!   left there, so that the adapter sends with what it learned by listening. The others stand by.
//! - If two receive for a moment, because one was wrongly considered dead, each message is still journalled once.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, Connection, ConnectionEvent, EventId, Inbound, IncomingReaction, IntakeError,
    IntakeOutcome, MessageEdit, WebhookRequest, WebhookResponse,
};
use adjutant_l10n as l10n;
use adjutant_store::leases::{self, Lease};
use adjutant_store::{Result, dead, inbox};
use adjutant_types::RoomAnswers;
use futures::FutureExt;
use parking_lot::Mutex;

use super::health::ChannelHealth;
use super::intake::{Arrival, Intake};
use crate::conversation::Conversations;
use crate::gateway::maintenance::Maintenance;

/// How often an instance checks whether it still holds a channel, or can take it over.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// After how many failures of our own code an arrival is set aside.
const TRIES: u32 = 3;
/// The pause after a panic of an adapter.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

pub struct ChannelReceiver {
    pub intake: Arc<Intake>,
    pub channel: String,
    pub connection: Arc<dyn Connection>,
    /// Continues what dead instances left, and knows the channels' health.
    pub maintenance: Arc<Maintenance>,
    /// How often our own code failed on each arrival that it hasn't taken.
    pub failures: Mutex<HashMap<String, u32>>,
}

impl ChannelReceiver {
    /// Receives while no other instance does, until the future is dropped. If a person has to fix something, only this
    /// channel stops.
    pub async fn listen(&self) {
        let why = loop {
            let lease = self.acquire_lease().await;
            self.maintenance.health.change(&self.channel, |health| {
                (health.is_receiver, health.is_standby) = (true, false);
            });
            self.maintenance.deliverer.forget_seeded();
            if let Err(error) = self.maintenance.wake_left_over().await {
                tracing::error!(channel = self.channel, %error, "couldn't continue what other instances left; retrying");
            }
            self.clear_left_progress();
            tokio::select! {
                ended = AssertUnwindSafe(self.connection.receive(self)).catch_unwind() => match ended {
                    Ok(why) => break why,
                    Err(_) => {
                        self.report(ConnectionEvent::Error("our code panicked; receiving again".to_owned()));
                        tokio::time::sleep(PANIC_PAUSE).await;
                    }
                },
                () = self.lost(&lease) => {
                    tracing::warn!(channel = self.channel, "another instance took over this channel");
                    self.maintenance.health.change(&self.channel, |health| *health = ChannelHealth::default());
                    self.maintenance.deliverer.progress.leave(&self.channel);
                }
            }
        };
        tracing::error!(channel = self.channel, why, "this channel stops; the others continue");
        self.maintenance.health.change(&self.channel, |health| {
            health.stopped = true;
            health.error = Some(why);
        });
    }

    /// In the background: what was left may be much, and nobody waits for it.
    fn clear_left_progress(&self) {
        let (deliverer, channel) = (self.maintenance.deliverer.clone(), self.channel.clone());
        tokio::spawn(async move {
            if let Err(error) = deliverer.clear_left_progress(&channel).await {
                tracing::warn!(channel, %error, "couldn't remove old progress messages");
            }
        });
    }

    /// Waits until this instance gets the channel's lease.
    async fn acquire_lease(&self) -> Lease {
        let conversations = &self.intake.conversations;
        let mut is_logged = false;
        loop {
            match conversations.instance.acquire(&conversations.store, leases::channel(&self.channel)).await {
                Ok(Some(lease)) => return lease,
                Ok(None) if is_logged => {}
                Ok(None) => {
                    tracing::info!(
                        channel = self.channel,
                        is_sharing = self.intake.lanes.cluster.is_on(),
                        "another instance receives this channel; standing by"
                    );
                    self.maintenance.health.change(&self.channel, |health| health.is_standby = true);
                    is_logged = true;
                }
                Err(error) => {
                    tracing::error!(channel = self.channel, %error, "couldn't take the channel's lease")
                }
            }
            let vacant = self.intake.lanes.cluster.vacant.notified();
            let _ = tokio::time::timeout(CHECK_INTERVAL, vacant).await;
        }
    }

    /// Waits until another instance holds the channel's lease.
    async fn lost(&self, lease: &Lease) {
        let store = &self.intake.conversations.store;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            match lease.is_held(store).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(channel = self.channel, %error, "couldn't check the channel's lease")
                }
            }
        }
    }

    /// Responds to a request from the platform to our HTTP endpoint.
    pub async fn webhook(&self, request: WebhookRequest) -> WebhookResponse {
        self.connection.webhook(self, request).await
    }

    /// Does `work` for an arrival. When our own code has failed on it for the third time, it is set aside with `instead` as
    /// the outcome, so that those behind it are taken.
    async fn attempt<T>(
        &self,
        event: &EventId,
        instead: T,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T, IntakeError> {
        let done = AssertUnwindSafe(work).catch_unwind().await;
        let done = done.map_err(|_| "it panicked".to_owned());
        let why = match done.and_then(|done| done.map_err(|error| error.to_string())) {
            Ok(done) => return Ok(done),
            Err(why) => why,
        };
        tracing::error!(
            channel = self.channel,
            event = event.0,
            why,
            "couldn't journal an arrival; it is tried again"
        );
        self.failed(event.clone()).await.map(|()| instead)
    }

    async fn journal_and_dispatch(&self, inbound: Inbound) -> Result<IntakeOutcome> {
        match self.intake.receive(inbound, self.connection.shows_notices()).await? {
            Arrival::New(journalled) => self.intake.dispatch(journalled),
            Arrival::Nothing => {}
            Arrival::NotTheirs => return Ok(IntakeOutcome::Notice(l10n::questions::not_yours())),
            Arrival::TooLate(notice) => return Ok(IntakeOutcome::Notice(notice)),
        }
        Ok(IntakeOutcome::Accepted)
    }
}

#[async_trait::async_trait]
impl ChannelIntake for ChannelReceiver {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        let event = inbound.event().clone();
        self.attempt(&event, IntakeOutcome::Accepted, self.journal_and_dispatch(inbound)).await
    }

    async fn edit(&self, edited: MessageEdit) -> Result<(), IntakeError> {
        self.attempt(&edited.event, (), self.intake.edit(&self.channel, &edited)).await
    }

    async fn reacted(&self, reaction: IncomingReaction) -> Result<(), IntakeError> {
        let event = reaction.event.clone();
        let work = async {
            let Some(press) = self.intake.press_of(reaction).await? else { return Ok(()) };
            self.journal_and_dispatch(Inbound::ButtonPress(press)).await.map(drop)
        };
        self.attempt(&event, (), work).await
    }

    async fn failed(&self, event: EventId) -> Result<(), IntakeError> {
        let Conversations { store, instance, .. } = &*self.intake.conversations;
        // When the store takes nothing, it isn't the arrival's fault.
        instance.touch(store).await.map_err(|_| IntakeError)?;
        let event = format!("{} {}", self.channel, event.0);
        let failures = {
            let mut failures = self.failures.lock();
            let count = failures.entry(event.clone()).or_default();
            *count += 1;
            *count
        };
        if failures < TRIES {
            return Err(IntakeError);
        }
        dead::add_arrival(store, &event).await.map_err(|_| IntakeError)?;
        tracing::error!(
            event,
            "our code failed on this {TRIES} times; it is set aside, and the next one is taken"
        );
        self.failures.lock().remove(&event);
        Ok(())
    }

    async fn moved(&self, from: &Address, to: &Address) -> Result<(), IntakeError> {
        let event = EventId(format!("moved:{}", to.place));
        self.attempt(&event, (), self.intake.conversations.move_room(from, to)).await
    }

    async fn wants_all(&self, address: &Address) -> bool {
        let rule = self.intake.conversations.room_rule(address).await;
        // Where the rule can't be read, taking the message fails as well, and it is tried again.
        rule.map_or(true, |rule| rule.answers == RoomAnswers::Always)
    }

    async fn places(&self) -> Vec<(Address, String)> {
        match inbox::last_events(&self.intake.conversations.store, &self.channel).await {
            Ok(chats) => {
                let to_address = |(place, event): (String, String)| {
                    let event = event.split_once(' ').map_or(event.clone(), |(_, event)| event.to_owned());
                    (Address { channel: self.channel.clone(), place }, event)
                };
                chats.into_iter().map(to_address).collect()
            }
            Err(error) => {
                tracing::error!(channel = self.channel, %error, "couldn't read the known places");
                Vec::new()
            }
        }
    }

    fn report(&self, event: ConnectionEvent) {
        self.maintenance.health.note(&self.channel, event);
    }
}
