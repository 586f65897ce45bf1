//! What a person sees while a turn is at work, on platforms whose messages can be changed.
//!
//! Properties:
//!
//! - Typing from half a second on, and only while the turn is at work.
//! - From two seconds on one message with the agents, changed in its place, at most once a second and
//!   only when there is news.
//! - Its receipt is stored, so that the answer takes its place, or it goes, after a crash too. A message
//!   whose sending was cut off is not followed by another one.
//! - Nothing here delays an answer or fails a turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_chat::{ChatPort, Delivery, Progress};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::governor::Governor;
use crate::domain::TurnId;
use crate::metrics;
use crate::store::{Store, turns};
use crate::wording;

/// When typing begins.
const TYPING: Duration = Duration::from_millis(500);
/// How long platforms show that somebody types: five seconds (Telegram's and Discord's documentation).
const TYPING_AGAIN: Duration = Duration::from_secs(4);
/// When the message comes.
const MESSAGE: Duration = Duration::from_secs(2);
/// How often it changes.
const CHANGE: Duration = Duration::from_secs(1);
/// How often a turn is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The turns of this process that people watch.
pub struct ProgressDisplay {
    /// The store.
    pub store: Store,
    /// The connected channels by name.
    pub ports: Arc<HashMap<String, Arc<dyn ChatPort>>>,
    /// What else goes to the same places.
    pub governor: Governor,
    /// The turns at work.
    pub turns: Mutex<HashMap<TurnId, Watched>>,
}

/// A turn that somebody watches.
pub struct Watched {
    latest: watch::Sender<Progress>,
    work: JoinHandle<Option<String>>,
}

impl ProgressDisplay {
    /// Takes in how a turn stands.
    pub fn progress(self: &Arc<Self>, progress: Progress) {
        let Some(port) = self.ports.get(&progress.address.channel) else { return };
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = turns.get(progress.turn.as_str()).filter(|watched| !watched.work.is_finished())
        {
            watched.latest.send_replace(progress);
            return;
        }
        if progress.step.is_none() {
            return;
        }
        let turn = TurnId::from(progress.turn.as_str());
        let (latest, news) = watch::channel(progress);
        let work = tokio::spawn(Screen::new(self, port).follow(news).in_current_span());
        turns.insert(turn, Watched { latest, work });
    }

    /// Ends the progress of a turn that works no more. Returns the receipt of its message, if there is one
    /// that this process has shown.
    pub async fn end(&self, turn: &TurnId) -> Option<String> {
        let watched = self.turns.lock().unwrap_or_else(PoisonError::into_inner).remove(turn)?;
        // The last sender gone is the end of the news; what is just being sent is waited for.
        drop(watched.latest);
        watched.work.await.ok().flatten()
    }
}

/// The screen of one turn.
struct Screen {
    store: Store,
    port: Arc<dyn ChatPort>,
    governor: Governor,
    began: Instant,
    typed: Option<Instant>,
    changed: Option<Instant>,
    text: String,
    receipt: Option<String>,
    /// Set when it is not known what stands there.
    lost: bool,
}

impl Screen {
    fn new(progress: &ProgressDisplay, port: &Arc<dyn ChatPort>) -> Self {
        Self {
            store: progress.store.clone(),
            port: port.clone(),
            governor: progress.governor.clone(),
            began: Instant::now(),
            typed: None,
            changed: None,
            text: String::new(),
            receipt: None,
            lost: false,
        }
    }

    /// Follows a turn until it works no more; returns the receipt of its message.
    async fn follow(mut self, mut news: watch::Receiver<Progress>) -> Option<String> {
        loop {
            if let Ok(Err(_)) = tokio::time::timeout(LOOK, news.changed()).await {
                return self.receipt;
            }
            let progress = news.borrow_and_update().clone();
            if progress.step.is_none() {
                return self.receipt;
            }
            self.step(&progress).await;
        }
    }

    async fn step(&mut self, progress: &Progress) {
        let age = self.began.elapsed();
        let is_over = |since: Option<Instant>, pause| since.is_none_or(|since| since.elapsed() >= pause);
        if age >= TYPING && is_over(self.typed, TYPING_AGAIN) {
            let Some(_aside) = self.governor.aside(&progress.address).await else { return };
            self.port.typing(&progress.address).await;
            metrics::sign(&progress.turn, self.store.now()).await;
            self.typed = Some(Instant::now());
        }
        if age < MESSAGE || self.lost || !is_over(self.changed, CHANGE) {
            return;
        }
        let text = wording::working(progress);
        if text != self.text {
            let Some(_aside) = self.governor.aside(&progress.address).await else { return };
            self.show(progress, text).await;
            self.changed = Some(Instant::now());
        }
    }

    async fn show(&mut self, progress: &Progress, text: String) {
        if self.changed.is_none() {
            // After a crash a message of the same turn may stand there.
            match turns::progress_receipt(&self.store, &progress.turn.as_str().into()).await {
                Ok(shown) => self.receipt = shown,
                Err(error) => {
                    tracing::warn!(%error, "what was shown before could not be read");
                    return;
                }
            }
        }
        match self.port.show(&progress.address, self.receipt.as_deref(), &text).await {
            Delivery::Sent(receipt) => {
                metrics::sign(&progress.turn, self.store.now()).await;
                self.text = text;
                if self.receipt.as_ref() == Some(&receipt) {
                    return;
                }
                if let Err(error) =
                    turns::set_progress_receipt(&self.store, &progress.turn.as_str().into(), Some(&receipt))
                        .await
                {
                    tracing::warn!(%error, "a shown message could not be noted");
                }
                self.receipt = Some(receipt);
            }
            Delivery::Retry(pause) => {
                self.governor.hold(&progress.address, pause.unwrap_or(Duration::from_secs(5))).await;
            }
            Delivery::Refused(_) | Delivery::Gone(_) | Delivery::FileRefused(_) | Delivery::Unknown => {
                self.lost = true;
            }
        }
    }
}
