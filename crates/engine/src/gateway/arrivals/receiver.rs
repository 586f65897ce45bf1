//! The receiver of one channel: passes what its adapter receives to intake, and tracks the channel's health.
//!
//! Properties:
//!
//! - One instance at a time receives a channel: the one with the lease. It also continues the work that dead instances
//!   left there, so that the adapter sends with what it learned by listening. The others stand by.
//! - If two receive for a moment, because one was wrongly considered dead, each message is still journalled once.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_chat::{
    Address, ChannelIntake, Connection, ConnectionEvent, EventId, Inbound, IntakeError, IntakeOutcome,
    MessageEdit, WebhookRequest, WebhookResponse,
};
use adjutant_store::leases::{self, Lease};
use adjutant_store::{StoreError, dead, inbox};
use adjutant_turn::wording;
use adjutant_types::metrics;
use futures::FutureExt;
use tokio::sync::Notify;

use super::intake::{Arrival, Intake};
use crate::conversation::Conversations;
use crate::gateway::maintenance::Maintenance;

/// A channel without a sign of life for this long isn't receiving. Longer than the polls and heartbeats of all
/// platforms, which take up to 45 seconds.
const SILENCE: Duration = Duration::from_secs(100);
/// A channel that reported nothing for this long, not even an error, hangs.
const HUNG: Duration = Duration::from_mins(5);
/// The same after an error: it may be waiting because its platform asked it to.
const HUNG_AFTER_ERROR: Duration = Duration::from_hours(6);
/// How often an instance checks whether it still holds a channel, or can take it over.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How often our own code may fail on an arrival.
const TRIES: u32 = 3;
/// The pause after a panic of an adapter.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// The health of the channels.
#[derive(Debug)]
pub struct Health {
    channels: Mutex<BTreeMap<String, ChannelHealth>>,
    changed: Notify,
}

#[derive(Debug, Clone, Default)]
struct ChannelHealth {
    /// Whether this instance receives it.
    is_receiver: bool,
    /// Whether another instance receives it.
    is_standby: bool,
    received_at: Option<Instant>,
    /// When it last reported anything, including a failed attempt.
    reported_at: Option<Instant>,
    error: Option<String>,
    /// It stopped, until a person fixes the cause.
    stopped: bool,
    ignored: u64,
}

impl Health {
    /// The initial health of these channels: nothing is known yet.
    pub fn of(channels: impl Iterator<Item = String>) -> Self {
        let channels: BTreeMap<_, _> = channels.map(|channel| (channel, ChannelHealth::default())).collect();
        channels.keys().for_each(|channel| metrics::channel(channel));
        Self { channels: Mutex::new(channels), changed: Notify::new() }
    }

    /// The channels that aren't receiving, with the reason.
    pub fn errors(&self) -> Vec<(String, String)> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |(name, channel): (&String, &ChannelHealth)| {
            let why = match (&channel.error, channel.received_at) {
                (Some(error), _) => error.clone(),
                _ if channel.is_standby => return None,
                (None, None) => "it isn't connected yet".to_owned(),
                (None, Some(at)) if at.elapsed() > SILENCE => {
                    format!("no sign of life for {} s", at.elapsed().as_secs())
                }
                (None, Some(_)) => return None,
            };
            Some((name.clone(), why))
        };
        channels.iter().filter_map(error).collect()
    }

    /// The status of each channel, as one word.
    pub fn words(&self) -> Vec<(String, &'static str)> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let word = |channel: &ChannelHealth| match channel {
            ChannelHealth { stopped: true, .. } => "stopped",
            ChannelHealth { is_standby: true, .. } => "standing by",
            ChannelHealth { error: Some(_), .. } => "reconnecting",
            ChannelHealth { received_at: None, .. } => "connecting",
            ChannelHealth { received_at: Some(at), .. } if at.elapsed() > SILENCE => "silent",
            ChannelHealth { .. } => "ok",
        };
        channels.iter().map(|(name, channel)| (name.clone(), word(channel))).collect()
    }

    /// The channels that hang: they reported nothing for too long, not even an error.
    pub fn hung(&self) -> Vec<String> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_hung = |channel: &ChannelHealth| {
            let limit = if channel.error.is_some() { HUNG_AFTER_ERROR } else { HUNG };
            channel.is_receiver
                && !channel.stopped
                && channel.reported_at.is_some_and(|at| at.elapsed() > limit)
        };
        let hung = channels.iter().filter(|(_, channel)| is_hung(channel));
        hung.map(|(name, _)| format!("receiving from {name} hangs")).collect()
    }

    /// Whether each channel that this instance receives has reported.
    pub fn all_reported(&self) -> bool {
        !self.words().iter().any(|(_, word)| matches!(*word, "connecting" | "standing by"))
    }

    /// Whether this instance is responsible for a channel; for one without a connection it always is.
    pub fn is_receiver(&self, channel: &str) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(channel).is_none_or(|channel| channel.is_receiver)
    }

    /// Whether every channel has stopped for good.
    pub fn all_stopped(&self) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        !channels.is_empty() && channels.values().all(|channel| channel.stopped)
    }

    fn change(&self, channel: &str, change: impl FnOnce(&mut ChannelHealth)) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let health = channels.entry(channel.to_owned()).or_default();
        change(health);
        health.reported_at = Some(Instant::now());
        self.changed.notify_waiters();
    }

    /// Waits until each channel that this instance receives has reported, and not all have stopped.
    pub async fn wait_until_up(&self) {
        self.wait_until(|| self.all_reported() && !self.all_stopped()).await;
    }

    /// Waits until every channel has stopped for good.
    pub async fn wait_until_all_stopped(&self) {
        self.wait_until(|| self.all_stopped()).await;
    }

    async fn wait_until(&self, condition: impl Fn() -> bool) {
        loop {
            // Subscribes before the check, so that no change is missed.
            let changed = self.changed.notified();
            if condition() {
                return;
            }
            changed.await;
        }
    }

    fn note(&self, channel: &str, event: ConnectionEvent) {
        self.change(channel, |health| match event {
            ConnectionEvent::Alive => {
                let had_error = health.error.take().is_some();
                if had_error {
                    metrics::reconnected(channel);
                }
                if had_error || health.received_at.is_none() {
                    tracing::info!(channel, "receiving");
                }
                health.received_at = Some(Instant::now());
            }
            ConnectionEvent::Error(why) => {
                metrics::receive_failed(channel);
                if health.error.as_ref() != Some(&why) {
                    tracing::warn!(channel, why, "not receiving; retrying");
                }
                health.error = Some(why);
            }
            ConnectionEvent::Ignored => {
                metrics::ignored(channel);
                health.ignored += 1;
                tracing::debug!(
                    channel,
                    ignored = health.ignored,
                    "ignored an event that isn't understood or isn't for us"
                );
            }
        });
    }
}

/// The receiving side of one channel.
pub struct ChannelReceiver {
    /// Journals what arrives.
    pub intake: Arc<Intake>,
    pub channel: String,
    /// The connection to the platform.
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
            self.maintenance.deliverer.forget_places();
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

    /// Does this with an arrival. When our own code fails on it again and again, it is set aside, so that those behind it
    /// are taken.
    async fn attempt<T>(
        &self,
        event: &EventId,
        instead: T,
        work: impl Future<Output = Result<T, StoreError>>,
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

    async fn try_take(&self, inbound: Inbound) -> Result<IntakeOutcome, StoreError> {
        match self.intake.receive(inbound, self.connection.shows_notices()).await? {
            Arrival::New(journalled) => self.intake.dispatch(journalled),
            Arrival::Nothing => {}
            Arrival::NotTheirs => return Ok(IntakeOutcome::Notice(wording::NOT_YOURS.to_owned())),
            Arrival::TooLate(notice) => return Ok(IntakeOutcome::Notice(notice)),
        }
        Ok(IntakeOutcome::Accepted)
    }
}

#[async_trait::async_trait]
impl ChannelIntake for ChannelReceiver {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        let event = inbound.event().clone();
        self.attempt(&event, IntakeOutcome::Accepted, self.try_take(inbound)).await
    }

    async fn edit(&self, edited: MessageEdit) -> Result<(), IntakeError> {
        self.attempt(&edited.event, (), self.intake.edit(&self.channel, &edited)).await
    }

    async fn failed(&self, event: EventId) -> Result<(), IntakeError> {
        let Conversations { store, instance, .. } = &*self.intake.conversations;
        // When the store takes nothing, it isn't the arrival's fault.
        instance.touch(store).await.map_err(|_| IntakeError)?;
        let event = format!("{} {}", self.channel, event.0);
        let failures = {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&event);
        Ok(())
    }

    async fn places(&self) -> Vec<(Address, String)> {
        match inbox::last_events(&self.intake.conversations.store, &self.channel).await {
            Ok(places) => {
                let known = |(place, event): (String, String)| {
                    let event = event.split_once(' ').map_or(event.clone(), |(_, event)| event.to_owned());
                    (Address { channel: self.channel.clone(), place }, event)
                };
                places.into_iter().map(known).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_channel_hangs_but_one_with_an_error_may_wait_longer() {
        let health = Health::of(["main".to_owned()].into_iter());
        let word = || health.words()[0].1;
        let reported = |ago: Duration| {
            let Some(at) = Instant::now().checked_sub(ago) else { return };
            health.channels.lock().unwrap().get_mut("main").unwrap().reported_at = Some(at);
        };
        reported(HUNG_AFTER_ERROR * 2);
        assert_eq!((word(), health.all_reported(), health.hung().len()), ("connecting", false, 0));
        assert_eq!(health.errors(), [("main".to_owned(), "it isn't connected yet".to_owned())]);
        health.change("main", |channel| channel.is_standby = true);
        assert_eq!((word(), health.errors().len()), ("standing by", 0), "another instance receives it");
        health.change("main", |channel| (channel.is_receiver, channel.is_standby) = (true, false));
        assert_eq!(health.errors().len(), 1);
        assert_eq!((word(), health.all_reported(), health.hung().len()), ("connecting", false, 0));
        health.note("main", ConnectionEvent::Alive);
        assert_eq!((word(), health.all_reported(), health.hung().len()), ("ok", true, 0));
        reported(HUNG * 2);
        assert_eq!(health.hung(), ["receiving from main hangs"]);
        health.note("main", ConnectionEvent::Error("flood".to_owned()));
        reported(HUNG * 2);
        assert_eq!((word(), health.all_reported(), health.hung().len()), ("reconnecting", true, 0));
        reported(HUNG_AFTER_ERROR * 2);
        assert_eq!(health.hung().len(), 1);
        health.change("main", |channel| channel.stopped = true);
        reported(HUNG_AFTER_ERROR * 2);
        assert_eq!((word(), health.hung().len()), ("stopped", 0));
    }
}
