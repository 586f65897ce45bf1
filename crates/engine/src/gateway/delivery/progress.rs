//! Shows a person how their turn is doing, on platforms where a message can be edited.
//!
//! Properties:
//!
//! - After half a second a typing indicator appears, but only while the turn is running.
//! - After two seconds one message lists the agents. It is edited in place, at most once a second and only if
//!   something changed.
//! - The message's receipt is stored, so that the answer can replace or remove it even after a crash. If it's unclear
//!   whether the message was sent, no second one follows.
//! - Progress never delays an answer and never makes a turn fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_chat::{ChatPort, Delivery, Progress};
use adjutant_store::{Store, outbox};
use adjutant_turn::wording;
use adjutant_types::TurnId;
use adjutant_types::metrics;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::send_gate::SendGate;

/// When the typing indicator appears.
const TYPING: Duration = Duration::from_millis(500);
/// When to repeat the indicator: platforms show it for five seconds.
const TYPING_AGAIN: Duration = Duration::from_secs(4);
/// When the progress message appears.
const MESSAGE: Duration = Duration::from_secs(2);
/// How often the message may change.
const CHANGE: Duration = Duration::from_secs(1);
/// How often a turn's display is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The progress displays of this process's turns.
pub struct ProgressDisplay {
    pub store: Store,
    /// The connected channels by name.
    pub ports: Arc<HashMap<String, Arc<dyn ChatPort>>>,
    /// Coordinates everything that is sent to one chat.
    pub gate: SendGate,
    /// The running turns.
    pub turns: Mutex<HashMap<TurnId, Watched>>,
}

/// A turn whose progress is shown.
pub struct Watched {
    latest: watch::Sender<Progress>,
    /// Whether it has a message.
    has_message: Arc<AtomicBool>,
    work: JoinHandle<Option<String>>,
}

impl ProgressDisplay {
    /// Receives a turn's current progress.
    pub fn progress(self: &Arc<Self>, progress: Progress) {
        self.progress_since(progress, Duration::ZERO);
    }

    /// The same for a turn that has been running for a while when it is first reported.
    pub fn progress_since(self: &Arc<Self>, progress: Progress, age: Duration) {
        let Some(port) = self.ports.get(&progress.address.channel) else { return };
        let mut turns = self.turns.lock();
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
        let display = TurnDisplay::new(self, port, age);
        let has_message = display.has_message.clone();
        let work = tokio::spawn(display.run(news).in_current_span());
        turns.insert(turn, Watched { latest, has_message, work });
    }

    /// Ends the displays on a channel that another instance receives now. It goes on with their messages.
    pub fn leave(&self, channel: &str) {
        let mut turns = self.turns.lock();
        turns.retain(|_, watched| watched.latest.borrow().address.channel != channel);
    }

    /// Whether a turn has a progress message here. While its chat is locked, that doesn't change.
    pub fn has_message(&self, turn: &TurnId) -> bool {
        let turns = self.turns.lock();
        turns.get(turn).is_some_and(|watched| watched.has_message.load(Ordering::Acquire))
    }

    /// Ends the display of a turn that no longer runs. Returns the receipt of its message, if this process showed one.
    pub async fn end(&self, turn: &TurnId) -> Option<String> {
        let watched = self.turns.lock().remove(turn)?;
        // Dropping the last sender ends the task; a message being sent right now is waited for.
        drop(watched.latest);
        watched.work.await.ok().flatten()
    }
}

struct TurnDisplay {
    store: Store,
    port: Arc<dyn ChatPort>,
    gate: SendGate,
    began: Instant,
    typed: Option<Instant>,
    changed: Option<Instant>,
    text: String,
    receipt: Option<String>,
    /// Whether a message was sent, or may have been.
    has_message: Arc<AtomicBool>,
    /// The first event that the turn answers.
    event: Option<String>,
    /// Set when it is unclear what the platform shows.
    lost: bool,
}

impl TurnDisplay {
    fn new(progress: &ProgressDisplay, port: &Arc<dyn ChatPort>, age: Duration) -> Self {
        Self {
            store: progress.store.clone(),
            port: port.clone(),
            gate: progress.gate.clone(),
            began: Instant::now().checked_sub(age).unwrap_or_else(Instant::now),
            typed: None,
            changed: None,
            text: String::new(),
            receipt: None,
            has_message: Arc::default(),
            event: None,
            lost: false,
        }
    }

    /// Shows a turn's progress until it no longer runs. Returns the receipt of the message.
    async fn run(mut self, mut news: watch::Receiver<Progress>) -> Option<String> {
        loop {
            let is_over = tokio::select! {
                changed = news.changed() => changed.is_err(),
                () = tokio::time::sleep(CHECK_INTERVAL) => false,
            };
            if is_over {
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
            let Some(_permit) = self.gate.try_send(&progress.address).await else { return };
            self.port.typing(&progress.address).await;
            metrics::sign(&progress.turn.as_str().into(), self.store.now()).await;
            self.typed = Some(Instant::now());
        }
        if age < MESSAGE || self.lost || !is_over(self.changed, CHANGE) {
            return;
        }
        let text = wording::working(progress);
        if text != self.text {
            let Some(_permit) = self.gate.try_send(&progress.address).await else { return };
            self.show(progress, text).await;
            self.changed = Some(Instant::now());
        }
    }

    async fn show(&mut self, progress: &Progress, text: String) {
        if self.changed.is_none() {
            // After a crash, a message of the same turn may still be there.
            match outbox::progress_shown(&self.store, &progress.turn.as_str().into()).await {
                Ok(shown) => [self.receipt, self.event] = shown,
                Err(error) => {
                    tracing::warn!(%error, "couldn't read the receipt of an earlier progress message");
                    return;
                }
            }
        }
        self.has_message.store(true, Ordering::Release);
        let (event, receipt) = (self.event.as_deref(), self.receipt.as_deref());
        match self.port.show_progress(event, &progress.address, receipt, &text).await {
            Delivery::Sent(receipt) => {
                metrics::sign(&progress.turn.as_str().into(), self.store.now()).await;
                self.text = text;
                if self.receipt.as_ref() == Some(&receipt) {
                    return;
                }
                if let Err(error) =
                    outbox::set_progress_receipt(&self.store, &progress.turn.as_str().into(), Some(&receipt))
                        .await
                {
                    tracing::warn!(%error, "couldn't store the receipt of a progress message");
                }
                self.receipt = Some(receipt);
            }
            Delivery::Retry(pause) => {
                self.gate.pause(&progress.address, pause.unwrap_or(Duration::from_secs(5))).await;
            }
            Delivery::Refused(_) | Delivery::Gone(_) | Delivery::FileRefused(_) | Delivery::Unknown => {
                self.lost = true;
            }
        }
    }
}
