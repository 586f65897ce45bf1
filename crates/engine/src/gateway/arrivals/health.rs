//! The channels' health: whether each receives, and if not, why.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_chat::ConnectionEvent;
use adjutant_types::metrics;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A channel without a sign of life for this long isn't receiving. Longer than the polls and heartbeats of all
/// platforms, which take up to 45 seconds.
const SILENCE: Duration = Duration::from_secs(100);
/// A channel that reported nothing for this long, not even an error, hangs.
const HUNG: Duration = Duration::from_mins(5);
/// The same after an error: it may be waiting because its platform asked it to.
const HUNG_AFTER_ERROR: Duration = Duration::from_hours(6);

#[derive(Debug)]
pub struct Health {
    channels: Mutex<BTreeMap<String, ChannelHealth>>,
    changed: Notify,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ChannelHealth {
    pub(super) is_receiver: bool,
    pub(super) is_standby: bool,
    pub(super) received_at: Option<Instant>,
    /// When it last reported anything, including a failed attempt.
    pub(super) reported_at: Option<Instant>,
    pub(super) error: Option<String>,
    /// It stopped, until a person fixes the cause.
    pub(super) stopped: bool,
    pub(super) ignored: u64,
}

impl Health {
    /// The initial health of these channels: no reports yet.
    pub fn of(channels: impl Iterator<Item = String>) -> Self {
        let channels: BTreeMap<_, _> = channels.map(|channel| (channel, ChannelHealth::default())).collect();
        channels.keys().for_each(|channel| metrics::channel(channel));
        Self { channels: Mutex::new(channels), changed: Notify::new() }
    }

    /// The channels that aren't receiving, with the reason.
    pub fn errors(&self) -> Vec<(String, String)> {
        let channels = self.channels.lock();
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
        let channels = self.channels.lock();
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
        let channels = self.channels.lock();
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
        let channels = self.channels.lock();
        channels.get(channel).is_none_or(|channel| channel.is_receiver)
    }

    pub fn all_stopped(&self) -> bool {
        let channels = self.channels.lock();
        !channels.is_empty() && channels.values().all(|channel| channel.stopped)
    }

    pub(super) fn change(&self, channel: &str, change: impl FnOnce(&mut ChannelHealth)) {
        let mut channels = self.channels.lock();
        let health = channels.entry(channel.to_owned()).or_default();
        change(health);
        health.reported_at = Some(Instant::now());
        self.changed.notify_waiters();
    }

    /// Waits until each channel that this instance receives has reported, and not all have stopped.
    pub async fn wait_until_up(&self) {
        self.wait_until(|| self.all_reported() && !self.all_stopped()).await;
    }

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

    pub(super) fn note(&self, channel: &str, event: ConnectionEvent) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_channel_hangs_but_one_with_an_error_may_wait_longer() {
        let health = Health::of(["main".to_owned()].into_iter());
        let word = || health.words()[0].1;
        let reported = |ago: Duration| {
            let Some(at) = Instant::now().checked_sub(ago) else { return };
            health.channels.lock().get_mut("main").unwrap().reported_at = Some(at);
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
