//! Delivery: sends each message of the outbox to its chat, once.
//!
//! Properties:
//!
//! - The messages of one conversation are sent in the order they were written, one at a time. Only a file that wasn't
//!   taken at once is overtaken, by texts; files stay in order, so that one isn't taken for another.
//! - A row is claimed (`sending`) before it is sent. If a claimed row has no receipt, after a crash or an unclear
//!   response, the platform is asked for it before it is sent again.
//! - A long text is sent in parts, each with its own claim and receipt.
//! - A process that was suspended just before it sent something sends it when it wakes up, however late. Whichever of two
//!   such messages has its receipt stored second is deleted.
//! - A message that wasn't sent is retried with growing pauses. After a day, or if the chat is gone, the row is `dead`
//!   and the next one follows. What the platform refuses takes plainer forms: see `refused.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_chat::{Address, Backoff, ChatPort, Inbound, Outbound, Reconciliation, Retract};
use adjutant_store::leases::Heartbeat;
use adjutant_store::outbox::{self, OutboxRow};
use adjutant_store::{Result, Stale, Store, StoreError};
use adjutant_turn::journal::{InFlight, fail_point};
use adjutant_types::{ConversationId, InstanceId, MessageForm, OutboxId, OutboxState, metrics};
use tracing::{Instrument, Span};

use super::form;
use super::progress::{ProgressDisplay, STALE};
use super::send_gate::SendGate;
use super::speech::SpeechRenderer;
use crate::gateway::sharing::Cluster;
use crate::gateway::{SharedWorkerSet, Worker, turn_span};

/// When to give up on a row.
const GIVE_UP_MS: i64 = 24 * 3600 * 1000;
/// How long to wait for the workers before looking again for messages of earlier processes.
const LEFT_OVER_CHECK: Duration = Duration::from_millis(50);

/// How long what a dead instance was sending is left alone: it may only have lost the store, and be sending still.
const MAY_BE_IN_FLIGHT: Duration = Duration::from_secs(3);

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_mins(5));

/// Delivers for the channels of this process.
pub struct Deliverer {
    pub store: Store,
    pub instance: InstanceId,
    /// Whether other processes still consider this one alive.
    pub heartbeat: Heartbeat,
    /// Which channels this process sends to.
    pub cluster: Arc<Cluster>,
    pub ports: Arc<HashMap<String, Arc<dyn ChatPort>>>,
    pub gate: SendGate,
    /// The progress shown until the answer comes.
    pub progress: Arc<ProgressDisplay>,
    /// Restricts which rows of a channel this process delivers: `chat --once` prints only its own answer.
    pub filters: HashMap<String, DeliveryFilter>,
    /// Says answers to voice notes aloud, if that is set up.
    pub renderer: Option<SpeechRenderer>,
    pub workers: SharedWorkerSet,
    /// When what dead instances were sending was first seen: the row, its part and attempt.
    pub left: moka::future::Cache<(OutboxId, i64, i64), Instant>,
    /// The channels and conversations whose adapters were seeded.
    pub seeded: moka::future::Cache<String, ()>,
    /// Locked by each delivery until its receipt is stored.
    pub sending: tokio::sync::RwLock<()>,
    /// The conversations with an answer in flight that the end of its turn has claimed.
    pub in_flight: InFlight,
}

/// Selects the rows that a process delivers.
pub type DeliveryFilter = Box<dyn Fn(&Outbound) -> bool + Send + Sync>;

pub(in crate::gateway) enum Step {
    /// A row is done; there may be more.
    Done,
    /// The same row goes on: with its next part, or in another form.
    More,
    Nothing,
    /// The next row has to wait.
    Later(Duration),
}

impl Deliverer {
    pub fn wake(self: &Arc<Self>, conversation: &ConversationId) {
        if self.workers.wake(Worker::Conversation(conversation.clone())) {
            let deliverer = self.clone();
            let conversation = conversation.clone();
            tokio::spawn(async move { deliverer.work(&conversation).await });
        }
    }

    /// Whether what this channel shows is messages that can be edited.
    pub fn edits(&self, channel: &str) -> bool {
        self.ports.get(channel).is_some_and(|port| port.limits().edits)
    }

    /// Waits until the messages left by earlier processes are delivered.
    pub async fn wait_for_left_over(&self, channel: &str) -> Result<()> {
        let start = self.store.now();
        while outbox::count_undelivered(&self.store, channel, &self.instance, start).await? > 0 {
            if self.workers.are_idle() {
                tokio::time::sleep(LEFT_OVER_CHECK).await;
            } else {
                // A timeout, because a worker may sleep until a retry that nobody waits for here.
                let _ = tokio::time::timeout(LEFT_OVER_CHECK, self.workers.until_idle()).await;
            }
        }
        Ok(())
    }

    /// Waits, before a message is handled, until the receipts of all running deliveries are stored: a program can
    /// answer a question faster than that. Meant for terminals, where sending is quick.
    pub async fn receipts_stored(&self, inbound: &Inbound) {
        if matches!(inbound, Inbound::Message(_)) {
            drop(self.sending.write().await);
        }
    }

    pub(in crate::gateway) async fn work(self: &Arc<Self>, conversation: &ConversationId) {
        let worker = Worker::Conversation(conversation.clone());
        loop {
            match self.step(conversation).await {
                Ok(Step::Done | Step::More) => {}
                Ok(Step::Nothing) if self.workers.may_stop(&worker) => return,
                Ok(Step::Nothing) => {}
                Ok(Step::Later(pause)) => self.workers.sleep(&worker, pause).await,
                Err(StoreError::Closed) => {
                    self.workers.stop(&worker);
                    return;
                }
                Err(StoreError::Stale(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(error) => {
                    tracing::error!(%error, %conversation, "delivery failed; retrying");
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            }
        }
    }

    async fn step(&self, conversation: &ConversationId) -> Result<Step> {
        // What is in flight goes first. Asked again once the rows are read: one that was claimed in between looks there
        // as if its sending had been interrupted.
        if self.in_flight.register_waiter(conversation) {
            return Ok(Step::Nothing);
        }
        // One row more than needed tells whether another query is worthwhile.
        let limit = if self.filters.is_empty() { 2 } else { 1000 };
        let rows = outbox::open(&self.store, conversation, &self.instance, limit).await?;
        if self.in_flight.register_waiter(conversation) {
            return Ok(Step::Nothing);
        }
        // Files that aren't their turn are not among the rows.
        let last = rows.len() == 1 && !rows[0].only_file;
        let wanted =
            |row: &OutboxRow| self.filters.get(&row.channel).is_none_or(|filter| filter(&row.outbound()));
        let Some(row) = rows.into_iter().find(wanted) else { return Ok(Step::Nothing) };
        let is_ours = row.instance == self.instance;
        if !is_ours && !self.cluster.sends(&row.channel) {
            self.cluster.tell_receiver(&row.channel, conversation);
            return Ok(Step::Nothing);
        }
        let Some(port) = self.ports.get(&row.channel) else { return Ok(Step::Nothing) };
        let now = self.store.now();
        if row.next_at > now {
            let pause = u64::try_from(row.next_at - now).unwrap_or(0);
            return Ok(Step::Later(Duration::from_millis(pause)));
        }
        if self.cluster.is_on() && row.state == OutboxState::Unknown && !is_ours {
            // The instance taken for dead may have tried again: that is a new attempt, with a wait of its own.
            let sending = (row.id.clone(), row.part, row.attempts);
            let seen = self.left.get_with(sending, async { Instant::now() }).await;
            if let Some(rest) = MAY_BE_IN_FLIGHT.checked_sub(seen.elapsed()) {
                return Ok(Step::Later(rest));
            }
        }
        let span = row.turn_id.as_ref().map_or_else(Span::none, |turn| turn_span(turn, conversation));
        if now - row.created_at > GIVE_UP_MS {
            return self.too_late(conversation, &row, port).instrument(span).await;
        }
        match self.send(conversation, row, port).instrument(span).await? {
            Step::Done if last => Ok(Step::Nothing),
            step => Ok(step),
        }
    }

    /// Sends a row's next part, or learns that it was sent already.
    async fn send(
        &self,
        conversation: &ConversationId,
        mut row: OutboxRow,
        port: &Arc<dyn ChatPort>,
    ) -> Result<Step> {
        let address = row.address();
        let mut is_draft = false;
        if let Some(turn) = &row.turn_id
            && let Some(shown) = self.progress.end(turn).await
        {
            is_draft = shown.is_draft;
            row.progress_receipt = Some(shown.receipt);
        }
        // What is unclear was sent as it is; a row whose file was refused has an empty one.
        if row.state != OutboxState::Unknown
            && row.form == MessageForm::Rich
            && row.file.is_none()
            && let Some((text, file)) = form::as_file(&**port, &row.outbound())
        {
            outbox::become_file(&self.store, &row, &text, &file).await?;
            return Ok(Step::More);
        }
        if form::is_voice_part(&row, port) && row.speech.as_deref() == Some("") {
            self.speak(conversation, &row).await?;
            return Ok(Step::More);
        }
        let _alone = self.gate.answer(&address).await;
        if port.limits().edits {
            self.seed(port, conversation, &row).await?;
        }
        if row.state == OutboxState::Unknown {
            match port.reconcile(&form::outbound(&row, port)).await {
                Reconciliation::Sent(receipt) => return self.sent(&row, port, &receipt).await,
                Reconciliation::NotSent => {}
                Reconciliation::Unavailable => {
                    return self.reschedule(&row, OutboxState::Unknown, None, "couldn't look it up").await;
                }
            }
        } else {
            row.edit_of = row.progress_receipt.clone().filter(|_| self.may_replace(&row, is_draft));
        }
        // A new checkpoint per attempt: the search before it found nothing.
        if row.edit_of.is_none() && port.limits().edits {
            row.checkpoint = port.checkpoint(&address).await;
        }
        outbox::claim(&self.store, &row, &self.instance).await?;
        fail_point("outbox-claimed");
        self.send_part(conversation, &row, port).await
    }

    /// Sends the part of a row that is claimed.
    pub(super) async fn send_part(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
        port: &Arc<dyn ChatPort>,
    ) -> Result<Step> {
        if !self.heartbeat.is_fresh() {
            return Err(StoreError::Stale(Stale::LeaseLost));
        }
        let _sending = self.sending.read().await;
        let delivery = port.deliver(&form::outbound(row, port)).await;
        fail_point("outbox-sent");
        self.conclude(conversation, row, port, delivery).await
    }

    /// Whether an answer may replace the progress message, or the one in which it was written. Edits don't notify, so
    /// slow answers and questions may not.
    fn may_replace(&self, row: &OutboxRow, is_draft: bool) -> bool {
        let age = row.resumed_at.map_or(i64::MAX, |resumed_at| self.store.now() - resumed_at);
        let stale = i64::try_from(STALE.as_millis()).unwrap_or(i64::MAX);
        row.part == 0 && row.outbound().choices.is_empty() && (is_draft || age <= stale)
    }

    /// Stores a receipt and removes the progress message.
    pub(super) async fn sent(
        &self,
        row: &OutboxRow,
        port: &Arc<dyn ChatPort>,
        receipt: &str,
    ) -> Result<Step> {
        let outbound = form::outbound(row, port);
        let is_last = outbound.part + 1 >= port.parts(&outbound);
        let other = if is_last {
            outbox::sent(&self.store, row, receipt).await?
        } else {
            outbox::part_sent(&self.store, row, receipt, outbound.part + 1 >= form::texts(&outbound, port))
                .await?
        };
        fail_point("outbox-receipt");
        if other.is_some() {
            tracing::warn!(outbox = %row.id, channel = row.channel, "it was sent twice; the second one is deleted");
            port.retract(&outbound.address, receipt, Retract::Message).await;
            return Ok(Step::More);
        }
        metrics::delivery(&row.channel, "sent");
        if let Some(turn) = &row.turn_id {
            let now = self.store.now();
            if let Some(since) = row.answered_since.filter(|_| self.cluster.has_peers()) {
                metrics::turn_began_elsewhere(turn, since).await;
            }
            if is_last { metrics::answered(turn, now).await } else { metrics::sign(turn, now).await }
        }
        if let (Some(shown), Some(turn)) = (&row.progress_receipt, &row.turn_id) {
            // One that has become a part was cleared with that part's receipt.
            if row.edit_of.as_ref() != Some(shown) {
                port.retract(&outbound.address, shown, Retract::Message).await;
                outbox::set_progress_receipt(&self.store, turn, None).await?;
            }
        }
        // More follows unless this was the last part.
        Ok(if is_last { Step::Done } else { Step::More })
    }

    /// Removes the progress messages that an earlier process left beside their answers; best effort.
    pub async fn clear_left_progress(&self, channel: &str) -> Result<()> {
        let Some(port) = self.ports.get(channel).filter(|port| port.limits().edits) else { return Ok(()) };
        for left in outbox::left_progress(&self.store, channel).await? {
            let address = Address { channel: channel.to_owned(), place: left.place };
            let _alone = self.gate.answer(&address).await;
            port.retract(&address, &left.progress_receipt, Retract::Message).await;
            outbox::set_progress_receipt(&self.store, &left.turn_id, None).await?;
        }
        Ok(())
    }

    /// Removes the buttons of a closed question; best effort.
    pub fn remove_buttons(self: &Arc<Self>, outbox_id: &OutboxId) {
        let (deliverer, id) = (self.clone(), outbox_id.clone());
        tokio::spawn(async move {
            let Ok(Some((channel, place, receipt))) = outbox::place_of(&deliverer.store, &id).await else {
                return;
            };
            let Some(port) = deliverer.ports.get(&channel).filter(|port| port.limits().edits) else { return };
            let address = Address { channel, place };
            let _alone = deliverer.gate.answer(&address).await;
            port.retract(&address, &receipt, Retract::Buttons).await;
        });
    }

    /// Tries a row again, or looks it up, after the platform's pause, or one that grows with its attempts.
    pub(super) async fn reschedule(
        &self,
        row: &OutboxRow,
        state: OutboxState,
        after: Option<Duration>,
        error: &str,
    ) -> Result<Step> {
        if let Some(after) = after {
            self.gate.pause(&row.address(), after).await;
        }
        let pause = after.unwrap_or_else(|| {
            let failures = u32::try_from(row.attempts).unwrap_or(0).saturating_add(1);
            BACKOFF.after(failures, self.store.clock().random())
        });
        let next_at = self.store.now() + i64::try_from(pause.as_millis()).unwrap_or(0);
        outbox::reschedule(&self.store, row, state, next_at, error).await?;
        metrics::delivery(&row.channel, if state == OutboxState::Pending { "retry" } else { state.as_str() });
        Ok(Step::Later(pause))
    }
}
