//! The chat that an answer goes to, locked while its turn ends, so that the commit that ends it can claim the answer, too.

use std::collections::HashMap;
use std::sync::Arc;

use adjutant_store::outbox::OutboxRow;
use adjutant_types::{ConversationId, InstanceId};
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// Locks the chat of a new message. None if it can't be sent at once; then it is claimed later, on its own.
pub type LockChat = Arc<dyn Fn(&ConversationId, &OutboxRow) -> Option<ChatLock> + Send + Sync>;

/// A lock on a chat: nobody else sends there until this is dropped.
#[derive(Debug)]
pub struct ChatLock {
    pub instance: InstanceId,
    /// The adapter's checkpoint of the chat.
    pub checkpoint: Option<String>,
    /// Tells the conversation's delivery that a message is in flight. It ends before the lock is given back.
    pub in_flight: InFlightMessage,
    /// Keeps everything else that is sent to this chat waiting.
    pub alone: OwnedMutexGuard<()>,
}

/// A message that its turn's end has claimed. It is to be sent now.
#[derive(Debug)]
pub struct ClaimedMessage {
    pub conversation: ConversationId,
    pub row: OutboxRow,
    pub lock: ChatLock,
}

/// The conversations where a claimed message is in flight. Their other messages wait for it: to the store, it looks like
/// one whose sending was interrupted.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    /// Whether anybody waits for it.
    conversations: Arc<Mutex<HashMap<ConversationId, bool>>>,
}

impl InFlight {
    /// Adds a conversation. The lock on its chat keeps every other message of it from being in flight.
    pub fn begin(&self, conversation: &ConversationId) -> InFlightMessage {
        self.conversations.lock().insert(conversation.clone(), false);
        InFlightMessage { all: self.clone(), conversation: conversation.clone() }
    }

    /// Whether a message of this conversation is in flight; if so, the caller is told of its end by [`InFlightMessage::end`].
    pub fn register_waiter(&self, conversation: &ConversationId) -> bool {
        self.conversations.lock().get_mut(conversation).map(|waited_for| *waited_for = true).is_some()
    }
}

#[derive(Debug)]
pub struct InFlightMessage {
    all: InFlight,
    conversation: ConversationId,
}

impl InFlightMessage {
    /// Removes it, and returns whether anybody waits for that.
    pub fn end(self) -> bool {
        self.all.conversations.lock().remove(&self.conversation).unwrap_or_default()
    }
}

impl Drop for InFlightMessage {
    fn drop(&mut self) {
        self.all.conversations.lock().remove(&self.conversation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_message_is_told_of_its_end() {
        let (all, here, there) = (InFlight::default(), "here".into(), "there".into());
        let first = all.begin(&here);
        assert!(!all.register_waiter(&there));
        assert!(!first.end(), "nobody has asked");
        assert!(!all.register_waiter(&here), "it has ended");
        let second = all.begin(&here);
        assert!(all.register_waiter(&here));
        assert!(second.end());
        drop(all.begin(&here));
        assert!(!all.register_waiter(&here), "it was never sent");
    }
}
