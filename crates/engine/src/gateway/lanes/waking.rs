//! Which lanes begin to work, or look again: after a message (`wake_for`), after an answer or a command (`wake_ready`), once
//! a message is whole (`hand_over`), and what maintenance (`wake`) or `gateway::sharing` (`wake_lane`) has found.

use std::sync::Arc;

use adjutant_store::control;
use adjutant_store::inbox::InboxRow;
use adjutant_store::leases::BACKGROUND_LANES;
use adjutant_store::sharing::Lane;
use adjutant_types::ConversationId;

use super::super::Worker;
use super::Lanes;
use crate::conversation::command;

impl Lanes {
    /// Starts the lane that a message belongs to, or has it check for work again; or tells the instance that should.
    pub fn wake_for(self: &Arc<Self>, row: &InboxRow) {
        let is_background = row.is_background();
        let lane = |background| Lane { conversation_id: row.conversation_id.clone(), background };
        if !self.may_work(row.channel(), &lane(i64::from(is_background))) {
            return self.cluster.leave(row.channel(), lane(i64::from(is_background)));
        }
        if !is_background {
            if !self.wake_lane(lane(0)) && row.is_steering() && !command::is_run(&row.text) {
                self.conversations.running.steer(row);
            }
            return;
        }
        // One that isn't at work; if all are, whichever ends first looks for the message.
        let _ = (1..=BACKGROUND_LANES).any(|number| self.wake_lane(lane(number)));
    }

    /// Starts a conversation's lanes, or has them check for work again.
    pub fn wake(self: &Arc<Self>, conversation: &ConversationId) {
        self.wake_all(conversation, 0..=BACKGROUND_LANES);
    }

    /// Starts a conversation's own lane, and its background lanes in which a turn may go on; or tells the instance that should.
    pub(super) async fn wake_ready(self: &Arc<Self>, channel: &str, conversation: &ConversationId) {
        let ready = control::ready_lanes(&self.conversations.store, conversation).await;
        // Looking in vain only costs time.
        let ready = ready.unwrap_or_else(|_| (1..=BACKGROUND_LANES).collect());
        let lanes = std::iter::once(0).chain(ready);
        if self.has_room(channel) {
            return self.wake_all(conversation, lanes);
        }
        for background in lanes {
            self.cluster.leave(channel, Lane { conversation_id: conversation.clone(), background });
        }
    }

    fn wake_all(self: &Arc<Self>, conversation: &ConversationId, lanes: impl Iterator<Item = i64>) {
        for background in lanes {
            self.wake_lane(Lane { conversation_id: conversation.clone(), background });
        }
    }

    /// Whether a turn that could run elsewhere should start here.
    fn has_room(&self, channel: &str) -> bool {
        self.cluster.has_room(channel, self.conversations.running.count())
    }

    /// Whether a lane should work here: one that is at work goes on.
    pub(super) fn may_work(&self, channel: &str, lane: &Lane) -> bool {
        self.workers.is_running(&Worker::of(lane)) || self.has_room(channel)
    }

    /// Starts a lane, or has it check for work again. Returns whether it wasn't at work.
    pub(in crate::gateway) fn wake_lane(self: &Arc<Self>, lane: Lane) -> bool {
        let was_idle = self.workers.wake(Worker::of(&lane));
        if was_idle {
            self.start(lane);
        }
        was_idle
    }

    /// Ends a worker that has made a message whole, and wakes the message's lane, or leaves it to other instances. In one
    /// step, so that the process doesn't count as idle in between.
    pub(super) fn hand_over(self: &Arc<Self>, worker: &Worker, row: &InboxRow) {
        let is_background = row.is_background();
        let background = i64::from(is_background);
        let lane = Lane { conversation_id: row.conversation_id.clone(), background };
        if self.workers.hand_over(worker, Worker::of(&lane)) {
            if self.has_room(row.channel()) {
                self.start(lane)
            } else {
                self.workers.stop(&Worker::of(&lane));
                self.cluster.leave(row.channel(), lane);
            }
        }
        if is_background {
            self.wake_for(row);
        }
    }
}
