//! The receiver of one channel: what its adapter hands over goes to intake, and how its receiving goes is noted.
//!
//! Properties:
//!
//! - A channel is received by one instance at a time, whoever holds its lease; the same one takes up what dead
//!   instances left there, so that what an adapter knows of a place by listening is known where it sends. The others
//!   stand by.
//! - Two that receive for a moment, because one was held to be dead, journal the same messages once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_chat::{
    Address, Connection, ConnectionEvent, Inbound, IntakeError, IntakeOutcome, MessageEdit, WebhookRequest,
    WebhookResponse,
};
use tokio::sync::Notify;

use super::intake::{Arrival, Intake};
use super::maintenance::Maintenance;
use crate::metrics;
use crate::store::leases::{self, Lease};
use crate::store::{StoreError, inbox};
use crate::wording;

/// A channel that gave no sign of life for so long is not receiving. Longer than any platform's own
/// interval: Telegram's polls last half a minute, Discord's heartbeats three quarters of one.
const SILENCE: Duration = Duration::from_secs(100);
/// A channel that told nothing at all for so long, neither life nor trouble, hangs.
const HUNG: Duration = Duration::from_mins(5);
/// The same after it has told of trouble: it may be waiting for as long as its platform wants it to.
const HUNG_IN_TROUBLE: Duration = Duration::from_hours(6);
/// How often an instance looks whether a channel is still, or may become, its own.
const LOOK: Duration = Duration::from_millis(500);

/// How the channels' receiving goes.
#[derive(Debug)]
pub struct Health {
    channels: Mutex<BTreeMap<String, ChannelHealth>>,
    changed: Notify,
}

#[derive(Debug, Clone, Default)]
struct ChannelHealth {
    /// Whether this instance is the one that receives it.
    held: bool,
    received_at: Option<Instant>,
    /// When it last told anything, a failed try too.
    told_at: Option<Instant>,
    trouble: Option<String>,
    /// It is over, until a person mends it.
    stopped: bool,
    ignored: u64,
}

impl Health {
    /// The health of these channels, of which nothing is known yet.
    pub fn of(channels: impl Iterator<Item = String>) -> Self {
        let channels: BTreeMap<_, _> = channels.map(|channel| (channel, ChannelHealth::default())).collect();
        channels.keys().for_each(|channel| metrics::channel(channel));
        Self { channels: Mutex::new(channels), changed: Notify::new() }
    }

    /// Why which channels are not receiving; empty when all are.
    pub fn troubles(&self) -> Vec<(String, String)> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = |(name, channel): (&String, &ChannelHealth)| {
            let why = match (&channel.trouble, channel.received_at) {
                (Some(trouble), _) => trouble.clone(),
                _ if !channel.held => return None,
                (None, None) => "it is not connected yet".to_owned(),
                (None, Some(at)) if at.elapsed() > SILENCE => {
                    format!("no sign of life for {} s", at.elapsed().as_secs())
                }
                (None, Some(_)) => return None,
            };
            Some((name.clone(), why))
        };
        channels.iter().filter_map(trouble).collect()
    }

    /// How each channel does, in a word.
    pub fn words(&self) -> Vec<(String, &'static str)> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let word = |channel: &ChannelHealth| match channel {
            ChannelHealth { stopped: true, .. } => "stopped",
            ChannelHealth { held: false, .. } => "standing by",
            ChannelHealth { trouble: Some(_), .. } => "reconnecting",
            ChannelHealth { received_at: None, .. } => "connecting",
            ChannelHealth { received_at: Some(at), .. } if at.elapsed() > SILENCE => "silent",
            ChannelHealth { .. } => "ok",
        };
        channels.iter().map(|(name, channel)| (name.clone(), word(channel))).collect()
    }

    /// Which channels' receiving hangs: for long it told neither life nor trouble.
    pub fn hung(&self) -> Vec<String> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_hung = |channel: &ChannelHealth| {
            let limit = if channel.trouble.is_some() { HUNG_IN_TROUBLE } else { HUNG };
            channel.held && !channel.stopped && channel.told_at.is_some_and(|at| at.elapsed() > limit)
        };
        let hung = channels.iter().filter(|(_, channel)| is_hung(channel));
        hung.map(|(name, _)| format!("receiving from {name} hangs")).collect()
    }

    /// Whether each channel that is ours has told how it does.
    pub fn all_told(&self) -> bool {
        !self.words().iter().any(|(_, word)| matches!(*word, "connecting" | "standing by"))
    }

    /// Whether a channel is this instance's to look after; one that nobody connects to is.
    pub fn is_held(&self, channel: &str) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(channel).is_none_or(|channel| channel.held)
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
        health.told_at = Some(Instant::now());
        self.changed.notify_waiters();
    }

    /// Waits until each channel that is ours has told how it does, and not all have stopped.
    pub async fn wait_until_up(&self) {
        self.wait_until(|| self.all_told() && !self.all_stopped()).await;
    }

    /// Waits until every channel has stopped for good.
    pub async fn wait_until_all_stopped(&self) {
        self.wait_until(|| self.all_stopped()).await;
    }

    async fn wait_until(&self, is_so: impl Fn() -> bool) {
        loop {
            // Listens before it looks, so that no notification is missed.
            let changed = self.changed.notified();
            if is_so() {
                return;
            }
            changed.await;
        }
    }

    fn note(&self, channel: &str, event: ConnectionEvent) {
        self.change(channel, |health| match event {
            ConnectionEvent::Alive => {
                let was_in_trouble = health.trouble.take().is_some();
                if was_in_trouble {
                    metrics::reconnected(channel);
                }
                if was_in_trouble || health.received_at.is_none() {
                    tracing::info!(channel, "receiving");
                }
                health.received_at = Some(Instant::now());
            }
            ConnectionEvent::Error(why) => {
                metrics::receive_failed(channel);
                if health.trouble.as_ref() != Some(&why) {
                    tracing::warn!(channel, why, "not receiving; it is tried again");
                }
                health.trouble = Some(why);
            }
            ConnectionEvent::Ignored => {
                metrics::ignored(channel);
                health.ignored += 1;
                tracing::debug!(
                    channel,
                    ignored = health.ignored,
                    "something that is not understood or not for us"
                );
            }
        });
    }
}

/// The receiving side of one channel.
pub struct ChannelReceiver {
    /// Where everything goes.
    pub intake: Arc<Intake>,
    /// The channel.
    pub channel: String,
    /// What is listened to.
    pub connection: Arc<dyn Connection>,
    /// Who takes up what dead instances left, and knows how the channels do.
    pub maintenance: Arc<Maintenance>,
}

impl ChannelReceiver {
    /// Receives whenever no other instance does, until the future is dropped, or a person has to mend
    /// something: then only this channel stops.
    pub async fn listen(&self) {
        let why = loop {
            let lease = self.hold().await;
            self.maintenance.health.change(&self.channel, |health| health.held = true);
            self.maintenance.delivering.forget_places();
            if let Err(error) = self.maintenance.take_up().await {
                tracing::error!(channel = self.channel, %error, "what was left could not be taken up; it is tried again");
            }
            tokio::select! {
                why = self.connection.receive(self) => break why,
                () = self.lost(&lease) => {}
            }
            tracing::warn!(channel = self.channel, "another instance receives this channel by now");
            self.maintenance.health.change(&self.channel, |health| *health = ChannelHealth::default());
        };
        tracing::error!(channel = self.channel, why, "this channel stops; the others go on");
        self.maintenance.health.change(&self.channel, |health| {
            health.stopped = true;
            health.trouble = Some(why);
        });
    }

    /// Waits until the channel is this instance's.
    async fn hold(&self) -> Lease {
        let conversations = &self.intake.conversations;
        let mut told = false;
        loop {
            match conversations.instance.acquire(&conversations.store, leases::channel(&self.channel)).await {
                Ok(Some(lease)) => return lease,
                Ok(None) if told => {}
                Ok(None) => {
                    tracing::info!(
                        channel = self.channel,
                        "another instance receives this channel; standing by"
                    );
                    told = true;
                }
                Err(error) => {
                    tracing::error!(channel = self.channel, %error, "the channel could not be taken")
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the channel is another instance's.
    async fn lost(&self, lease: &Lease) {
        let store = &self.intake.conversations.store;
        loop {
            tokio::time::sleep(LOOK).await;
            match lease.is_held(store).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(channel = self.channel, %error, "the lease could not be looked at")
                }
            }
        }
    }

    /// Answers what the platform sent to our HTTP endpoint.
    pub async fn webhook(&self, request: WebhookRequest) -> WebhookResponse {
        self.connection.webhook(self, request).await
    }

    async fn try_take(&self, inbound: Inbound) -> Result<IntakeOutcome, StoreError> {
        match self.intake.receive(inbound).await? {
            Arrival::New(journalled) => self.intake.hand_on(journalled),
            Arrival::Nothing => {}
            Arrival::NotTheirs => return Ok(IntakeOutcome::Notice(wording::NOT_YOURS.to_owned())),
        }
        Ok(IntakeOutcome::Accepted)
    }
}

#[async_trait::async_trait]
impl adjutant_chat::ChannelIntake for ChannelReceiver {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        self.try_take(inbound).await.map_err(|error| {
            tracing::error!(channel = self.channel, %error, "a message could not be journalled; it comes again");
            IntakeError
        })
    }

    async fn edit(&self, edited: MessageEdit) -> Result<(), IntakeError> {
        match self.intake.edit(&self.channel, &edited).await {
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(channel = self.channel, %error, "an edited message could not be journalled");
                Err(IntakeError)
            }
        }
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
                tracing::error!(channel = self.channel, %error, "the known places could not be read");
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
    fn a_channel_that_tells_nothing_hangs_and_one_in_trouble_may_wait() {
        let health = Health::of(["main".to_owned()].into_iter());
        let word = || health.words()[0].1;
        let told = |ago: Duration| {
            let Some(at) = Instant::now().checked_sub(ago) else { return };
            health.channels.lock().unwrap().get_mut("main").unwrap().told_at = Some(at);
        };
        told(HUNG_IN_TROUBLE * 2);
        assert_eq!((word(), health.all_told(), health.hung().len()), ("standing by", false, 0));
        health.change("main", |channel| channel.held = true);
        assert_eq!((word(), health.all_told(), health.hung().len()), ("connecting", false, 0));
        health.note("main", ConnectionEvent::Alive);
        assert_eq!((word(), health.all_told(), health.hung().len()), ("ok", true, 0));
        told(HUNG * 2);
        assert_eq!(health.hung(), ["receiving from main hangs"]);
        health.note("main", ConnectionEvent::Error("flood".to_owned()));
        told(HUNG * 2);
        assert_eq!((word(), health.all_told(), health.hung().len()), ("reconnecting", true, 0));
        told(HUNG_IN_TROUBLE * 2);
        assert_eq!(health.hung().len(), 1);
        health.change("main", |channel| channel.stopped = true);
        told(HUNG_IN_TROUBLE * 2);
        assert_eq!((word(), health.hung().len()), ("stopped", 0));
    }
}
