//! Shows a person how their turn is doing, where a message can be edited, and everywhere the answer while it is written.
//!
//! Properties:
//!
//! - After half a second a typing indicator appears, and a reaction under the person's message, but only while the turn is
//!   running.
//! - After two seconds one message lists the agents. It is edited in place, at most once a second and only if
//!   something changed. In a room, the reaction stands for it as long as there are none.
//! - The answer appears with its first words and grows at the platform's pace. It is only what may be the answer, cleaned
//!   like the answer itself, and the final message takes its place.
//! - The message's receipt is stored, so that the answer can replace or remove it even after a crash. If it's unclear
//!   whether the message was sent, no second one follows.
//! - Progress never delays an answer and never makes a turn fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_chat::{Address, AnswerDraft, ChatPort, Delivery, LiveText, Progress, Retract};
use adjutant_store::{Store, outbox};
use adjutant_turn::wording::{self, receipts};
use adjutant_types::{TurnId, metrics};
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
/// How often what is shown, but is no message, is shown again: Telegram's vanishes after 30 seconds.
const RENEWAL: Duration = Duration::from_secs(20);
/// How often the message may change.
const CHANGE: Duration = Duration::from_secs(1);
/// An edit doesn't notify, so an answer doesn't take the place of a message that is older than this.
pub(super) const STALE: Duration = Duration::from_secs(10);
/// How often a turn's display is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The progress displays of this process's turns.
pub struct ProgressDisplay {
    pub store: Store,
    pub ports: Arc<HashMap<String, Arc<dyn ChatPort>>>,
    pub gate: SendGate,
    pub turns: Mutex<HashMap<TurnId, Watched>>,
}

/// A turn whose progress is shown.
pub struct Watched {
    latest: watch::Sender<Progress>,
    has_message: Arc<AtomicBool>,
    work: JoinHandle<Option<ShownMessage>>,
}

/// The message that shows a turn's progress, or its answer so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMessage {
    pub receipt: String,
    /// Whether the answer is being written there, so that the person was notified of it.
    pub is_draft: bool,
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
        if progress.step.is_none() || (progress.live.is_none() && !port.limits().edits) {
            return;
        }
        let turn = TurnId::from(progress.turn.as_str());
        let (latest, news) = watch::channel(progress);
        let display = TurnDisplay::new(self, port, age);
        let has_message = display.has_message.clone();
        let work = tokio::spawn(display.run(news).in_current_span());
        // Another instance may have sent an answer, so nobody ended its display here.
        turns.retain(|_, ended| !ended.work.is_finished() || ended.has_message.load(Ordering::Acquire));
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

    /// Ends the display of a turn that no longer runs. Returns its message, if this process showed one.
    pub async fn end(&self, turn: &TurnId) -> Option<ShownMessage> {
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
    /// When the message with this receipt was sent.
    sent: Option<Instant>,
    /// Whether the text is the answer so far.
    is_draft: bool,
    /// Whether a message was sent, or may have been.
    has_message: Arc<AtomicBool>,
    /// The first event that the turn answers.
    event: Option<String>,
    /// Whether others read there.
    is_room: bool,
    /// Whether what an earlier process showed is known.
    is_loaded: bool,
    /// Whether we have reacted to that event.
    has_reacted: bool,
    /// Whether that is seen in a room: no message has to say that we are at work.
    is_seen: bool,
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
            sent: None,
            is_draft: false,
            has_message: Arc::default(),
            event: None,
            is_room: false,
            is_loaded: false,
            has_reacted: false,
            is_seen: false,
            lost: false,
        }
    }

    /// Shows a turn's progress until it no longer runs. Returns the receipt of the message.
    async fn run(mut self, mut news: watch::Receiver<Progress>) -> Option<ShownMessage> {
        loop {
            let is_over = tokio::select! {
                changed = news.changed() => changed.is_err(),
                () = tokio::time::sleep(CHECK_INTERVAL) => false,
            };
            let progress = news.borrow_and_update().clone();
            if is_over || progress.step.is_none() {
                if self.has_reacted {
                    self.unreact(progress.address);
                }
                return self.receipt.map(|receipt| ShownMessage { receipt, is_draft: self.is_draft });
            }
            self.step(&progress, &news).await;
        }
    }

    async fn step(&mut self, progress: &Progress, news: &watch::Receiver<Progress>) {
        let age = self.began.elapsed();
        let is_over = |since: Option<Instant>, pause| since.is_none_or(|since| since.elapsed() >= pause);
        let text = progress.live.as_ref().map(LiveText::text).unwrap_or_default();
        let text = receipts::under(text.trim(), &[]);
        // What is no message would stay on the screen.
        if !text.is_empty() || (self.is_draft && self.receipt.is_none()) {
            let is_vanishing = self.receipt.is_none() && is_over(self.changed, RENEWAL);
            let is_new = text != self.text || (self.is_draft && is_vanishing);
            let pace = self.port.draft_pace(&progress.address);
            // The first words wait no longer after the list of agents than a change of that list.
            let pace = if self.is_draft { pace } else { pace.min(CHANGE) };
            if self.lost || !is_new || !is_over(self.changed, pace) {
                return;
            }
            let Some(_permit) = self.gate.try_send(&progress.address).await else { return };
            // The answer may have been sent while we waited.
            if !news.has_changed().unwrap_or(true) {
                self.show(progress, text, true).await;
                self.changed = Some(Instant::now());
            }
            return;
        }
        if !self.port.limits().edits {
            return;
        }
        if age >= TYPING && is_over(self.typed, TYPING_AGAIN) {
            let Some(_permit) = self.gate.try_send(&progress.address).await else { return };
            self.port.typing(&progress.address).await;
            metrics::sign(&progress.turn.as_str().into(), self.store.now()).await;
            if self.typed.replace(Instant::now()).is_none() && self.load(&progress.turn.as_str().into()).await
            {
                let event = self.event.as_deref().unwrap_or_default();
                self.is_seen = self.port.react(&progress.address, event, true).await && self.is_room;
                self.has_reacted = true;
            }
        }
        let has_nothing = self.is_seen && self.receipt.is_none() && progress.agents.is_empty();
        if age < MESSAGE || has_nothing || self.lost || !is_over(self.changed, CHANGE) {
            return;
        }
        let text = wording::working(progress);
        if text != self.text {
            let Some(_permit) = self.gate.try_send(&progress.address).await else { return };
            self.show(progress, text, false).await;
            self.changed = Some(Instant::now());
        }
    }

    /// Reads what an earlier process may have shown; false if the store fails, or if the turn has ended meanwhile: then its
    /// answer may be there.
    async fn load(&mut self, turn: &TurnId) -> bool {
        if !self.is_loaded {
            match outbox::progress_shown(&self.store, turn).await {
                Ok(Some(shown)) => {
                    let answers: Vec<String> = serde_json::from_str(&shown.answers).unwrap_or_default();
                    self.event = answers.into_iter().next();
                    (self.receipt, self.is_room) = (shown.progress_receipt, shown.shared);
                    self.is_loaded = true;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "couldn't read the receipt of an earlier progress message");
                }
            }
        }
        self.is_loaded
    }

    async fn set_receipt(&self, turn: &TurnId, receipt: Option<&str>) {
        if let Err(error) = outbox::set_progress_receipt(&self.store, turn, receipt).await {
            tracing::warn!(%error, "couldn't store the receipt of a progress message");
        }
    }

    /// Takes our reaction away, while the answer is sent.
    fn unreact(&self, address: Address) {
        let (port, event) = (self.port.clone(), self.event.clone().unwrap_or_default());
        tokio::spawn(async move { port.react(&address, &event, false).await });
    }

    async fn show(&mut self, progress: &Progress, text: String, is_draft: bool) {
        let turn = TurnId::from(progress.turn.as_str());
        if !self.load(&turn).await {
            return;
        }
        let is_stale = self.sent.is_some_and(|sent| sent.elapsed() > STALE);
        let begins_anew = is_stale || self.port.has_previews(&progress.address);
        if is_draft
            && !self.is_draft
            && begins_anew
            && let Some(receipt) = self.receipt.take()
        {
            self.port.retract(&progress.address, &receipt, Retract::Message).await;
            self.set_receipt(&turn, None).await;
        }
        self.has_message.store(true, Ordering::Release);
        let (event, receipt) = (self.event.as_deref(), self.receipt.as_deref());
        let shown = if is_draft {
            let (turn, address) = (progress.turn.as_str(), &progress.address);
            self.port.show_draft(&AnswerDraft { turn, event, address, receipt, text: &text }).await
        } else {
            match self.port.show_agents(event, receipt, progress).await {
                Some(shown) => shown,
                None => self.port.show_progress(event, &progress.address, receipt, &text).await,
            }
        };
        match shown {
            Delivery::Sent(receipt) => {
                metrics::sign(&turn, self.store.now()).await;
                self.is_draft = is_draft && !text.is_empty();
                self.text = text;
                if receipt.is_empty() {
                    self.has_message.store(self.receipt.is_some(), Ordering::Release);
                    return;
                }
                if self.receipt.as_ref() == Some(&receipt) {
                    return;
                }
                self.set_receipt(&turn, Some(&receipt)).await;
                self.sent = Some(Instant::now());
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
