//! Sends an answer that the commit that ended its turn has claimed: one commit less before the person reads it.
//!
//! A crash between that commit and the sending leaves a row that is `sending`. So the next process looks for the answer on
//! the platform before it sends it, as it does for every claimed row; it finds nothing, and sends it. Where only the reply
//! to that commit is lost, this process does the same: a turn's end that fails wakes its delivery. Nothing that was sent is
//! ever taken for unsent.
//!
//! An answer is claimed early only if nothing stands between it and the platform: its chat is free, the adapter knows
//! the chat, the turn has shown no progress message that the answer would replace, and no earlier message waits there.
//! For the last one the store decides, in that commit.

use std::sync::Arc;

use adjutant_store::StoreError;
use adjutant_store::outbox::OutboxRow;
use adjutant_turn::journal::{ChatLock, ClaimedMessage};
use adjutant_types::ConversationId;
use futures::FutureExt;
use tracing::{Instrument, Span};

use super::form;
use super::outbox::{Deliverer, Step};
use crate::gateway::{Worker, turn_span};

impl Deliverer {
    /// Locks the chat of a new message that could be sent at once. It never waits, because a turn ends meanwhile.
    pub fn lock_chat(&self, conversation: &ConversationId, row: &OutboxRow) -> Option<ChatLock> {
        let port = self.ports.get(&row.channel)?;
        let outbound = row.outbound();
        let is_ours = self.filters.get(&row.channel).is_none_or(|filter| filter(&outbound));
        let is_ready =
            row.speech.is_none() && (row.file.is_some() || form::as_file(&**port, &outbound).is_none());
        if !is_ours || !is_ready || !self.cluster.sends(&row.channel) {
            return None;
        }
        let alone = self.gate.try_send(&outbound.address).now_or_never().flatten()?;
        if row.turn_id.as_ref().is_some_and(|turn| self.progress.has_message(turn)) {
            return None;
        }
        let checkpoint = match port.limits().edits {
            true if !self.is_seeded(conversation, row) => return None,
            // An adapter that has to ask its platform is not waited for.
            true => port.checkpoint(&outbound.address).now_or_never()?,
            false => None,
        };
        let in_flight = self.in_flight.begin(conversation);
        Some(ChatLock { instance: self.instance.clone(), checkpoint, in_flight, alone })
    }

    pub fn send_claimed(self: &Arc<Self>, message: ClaimedMessage) {
        let worker = Worker::Claimed(message.row.id.clone());
        self.workers.wake(worker.clone());
        let deliverer = self.clone();
        tokio::spawn(async move {
            let conversation = message.conversation.clone();
            if deliverer.send_at_once(message).await {
                let next = Worker::Conversation(conversation.clone());
                if deliverer.workers.hand_over(&worker, next) {
                    deliverer.work(&conversation).await;
                }
            } else {
                deliverer.workers.stop(&worker)
            }
        });
    }

    /// Returns whether the conversation's own delivery has to go on.
    async fn send_at_once(&self, ClaimedMessage { conversation, row, lock }: ClaimedMessage) -> bool {
        let ChatLock { in_flight, alone, .. } = lock;
        let span = row.turn_id.as_ref().map_or_else(Span::none, |turn| turn_span(turn, &conversation));
        if let Some(turn) = &row.turn_id {
            // It has no message that shows its progress, but may be about to show one.
            self.progress.end(turn).await;
        }
        let done = match self.ports.get(&row.channel) {
            Some(port) => self.send_part(&conversation, &row, port).instrument(span).await,
            None => Ok(Step::Nothing),
        };
        let is_waited_for = in_flight.end();
        drop(alone);
        match done {
            Ok(Step::Done) => is_waited_for,
            Ok(_) => true,
            Err(StoreError::Closed) => false,
            Err(error) => {
                tracing::error!(%error, %conversation, "delivery failed; retrying");
                true
            }
        }
    }
}
