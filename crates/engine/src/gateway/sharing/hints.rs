//! What instances tell one another at once: which lane waits for whom, and which answer waits for the receiver.
//!
//! A hint is never waited for and may get lost. The looks of `gateway::sharing` find what it was about, and the lease of
//! a lane decides who works there, whoever was notified. An instance sends its hints together, and not more often than
//! [`PAUSE`], outside of all transactions: the server takes a lock for each notification that is the whole cluster's.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use adjutant_store::sharing::Lane;
use adjutant_types::{ConversationId, InstanceId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// The pause after hints were sent.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// How many hints a message holds: the server takes less than 8,000 bytes. What is more waits for the next one.
const MAX: usize = 50;
/// How many may wait. What is more is found by a look.
const MAX_WAITING: usize = 1_000;

/// What one instance tells another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HintMessage {
    pub(super) from: InstanceId,
    /// Lanes that wait, each with its channel.
    pub(super) lanes: Vec<(String, Lane)>,
    /// Conversations with something to send.
    pub(super) answers: Vec<ConversationId>,
}

#[derive(Debug, Default)]
pub(super) struct Hints {
    waiting: Mutex<HashMap<InstanceId, Waiting>>,
    changed: Notify,
}

/// The pending hints of one instance.
#[derive(Debug, Default)]
struct Waiting {
    lanes: Vec<(String, Lane)>,
    answers: Vec<ConversationId>,
}

impl Hints {
    pub(super) fn lane(&self, to: InstanceId, channel: &str, lane: Lane) {
        let mut waiting = self.waiting.lock();
        let lanes = &mut waiting.entry(to).or_default().lanes;
        if lanes.len() < MAX_WAITING {
            lanes.push((channel.to_owned(), lane));
        }
        self.changed.notify_one();
    }

    /// Tells the receiver of a conversation's channel that something is to be sent there.
    pub(super) fn answer(&self, to: InstanceId, conversation: ConversationId) {
        let mut waiting = self.waiting.lock();
        let answers = &mut waiting.entry(to).or_default().answers;
        if answers.len() < MAX_WAITING {
            answers.push(conversation);
        }
        self.changed.notify_one();
    }

    /// Waits until there is something to tell; returns it as text, for each instance.
    pub(super) async fn next(&self, from: &InstanceId) -> Vec<(InstanceId, String)> {
        loop {
            let messages = self.take(from);
            if !messages.is_empty() {
                return messages;
            }
            self.changed.notified().await;
        }
    }

    fn take(&self, from: &InstanceId) -> Vec<(InstanceId, String)> {
        let mut waiting = self.waiting.lock();
        let mut messages = Vec::with_capacity(waiting.len());
        waiting.retain(|to, Waiting { lanes, answers }| {
            let rest = lanes.split_off(lanes.len().min(MAX));
            let left = answers.split_off(answers.len().min(MAX - lanes.len()));
            let (lanes, answers) = (mem::replace(lanes, rest), mem::replace(answers, left));
            if !lanes.is_empty() || !answers.is_empty() {
                let text = serde_json::to_string(&HintMessage { from: from.clone(), lanes, answers });
                messages.extend(text.ok().map(|text| (to.clone(), text)));
                return true;
            }
            false
        });
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(at: usize) -> Lane {
        let conversation_id = format!("019abcde-0000-7000-8000-0000{at:08}");
        Lane { conversation_id: conversation_id.as_str().into(), background: 0 }
    }

    #[tokio::test]
    async fn hints_go_together_and_each_message_is_one_that_the_server_takes() {
        let hints = Hints::default();
        for at in 0..70 {
            hints.lane("a".into(), "telegram", lane(at));
        }
        hints.answer("b".into(), "c".into());
        let mut messages = hints.next(&"me".into()).await;
        messages.sort();
        assert_eq!(messages.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(messages[0].1.len() < 8_000, "{}", messages[0].1.len());
        let first: HintMessage = serde_json::from_str(&messages[0].1).unwrap();
        assert_eq!((first.from, first.lanes.len()), ("me".into(), MAX));
        let [(_, rest)] = <[_; 1]>::try_from(hints.next(&"me".into()).await).unwrap();
        let rest: HintMessage = serde_json::from_str(&rest).unwrap();
        assert_eq!(rest.lanes.first(), Some(&("telegram".to_owned(), lane(MAX))));
        assert_eq!(rest.lanes.len(), 20);
    }

    #[tokio::test]
    async fn where_nobody_listens_they_take_no_room() {
        let hints = Hints::default();
        for at in 0..2 * MAX_WAITING {
            hints.lane("a".into(), "telegram", lane(at));
        }
        let mut count = 0;
        while let [(_, text)] = hints.take(&"me".into()).as_slice() {
            count += serde_json::from_str::<HintMessage>(text).unwrap().lanes.len();
        }
        assert_eq!(count, MAX_WAITING);
        assert!(hints.waiting.lock().is_empty());
    }
}
