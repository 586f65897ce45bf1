//! Which lanes begin to work, or look again.

use std::sync::Arc;

use super::super::Worker;
use super::{Lane, Lanes};
use crate::conversation::commands;
use crate::domain::ConversationId;
use crate::store::control;
use crate::store::inbox::InboxRow;
use crate::store::leases::BACKGROUND_LANES;

impl Lanes {
    /// Starts the lane that a message belongs to, or has it check for work again.
    pub fn wake_for(self: &Arc<Self>, conversation: &ConversationId, message: &str) {
        if !self.has_room() {
            return;
        }
        if !commands::is_background(message) {
            self.wake_lane(Lane { conversation: conversation.clone(), background: 0 });
            return;
        }
        // One that isn't at work; if all are, whichever ends first looks for the message.
        let _ = (1..=BACKGROUND_LANES)
            .any(|background| self.wake_lane(Lane { conversation: conversation.clone(), background }));
    }

    /// Starts a conversation's lanes, or has them check for work again.
    pub fn wake(self: &Arc<Self>, conversation: &ConversationId) {
        self.wake_all(conversation, 0..=BACKGROUND_LANES);
    }

    /// Starts a conversation's own lane, and those beside it in which a turn may go on.
    pub(super) async fn wake_ready(self: &Arc<Self>, conversation: &ConversationId) {
        let ready = control::ready_lanes(&self.conversations.store, conversation).await;
        // Looking in vain only costs time.
        let ready = ready.unwrap_or_else(|_| (1..=BACKGROUND_LANES).collect());
        self.wake_all(conversation, std::iter::once(0).chain(ready));
    }

    fn wake_all(self: &Arc<Self>, conversation: &ConversationId, lanes: impl Iterator<Item = i64>) {
        for background in lanes {
            self.wake_lane(Lane { conversation: conversation.clone(), background });
        }
    }

    /// Whether a turn that could run elsewhere should start here.
    pub(super) fn has_room(&self) -> bool {
        self.sharing.has_room(self.conversations.running.count())
    }

    /// Returns whether the lane wasn't at work.
    pub(super) fn wake_lane(self: &Arc<Self>, lane: Lane) -> bool {
        let was_idle = self.wakers.wake(lane.worker());
        if was_idle {
            self.start(lane);
        }
        was_idle
    }

    /// Ends a worker that has made a message whole, and wakes the message's lane, or leaves it to other instances. In one
    /// step, so that the process doesn't count as idle in between.
    pub(in crate::gateway) fn hand_over(self: &Arc<Self>, worker: &Worker, row: &InboxRow) {
        let is_background = commands::is_background(&row.text);
        let lane = Lane { conversation: row.conversation_id.clone(), background: i64::from(is_background) };
        if self.wakers.hand_over(worker, lane.worker()) {
            match self.has_room() {
                true => self.start(lane),
                false => self.wakers.stop(&lane.worker()),
            }
        }
        if is_background {
            self.wake_for(&row.conversation_id, &row.text);
        }
    }
}
