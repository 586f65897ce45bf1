//! What running turns tell the rest of the process: events on a channel, handled in order by one task.
//!
//! A turn never waits for whoever listens. What is sent and not yet handled counts as work that is under way.

use adjutant_chat::Progress;
use adjutant_types::{ConversationId, OutboxId, TurnId};
use tokio::sync::{mpsc, watch};
use tracing::Span;

use super::ClaimedMessage;

#[derive(Debug)]
pub enum TurnEvent {
    MessageAdded(ConversationId),
    /// It added a message, which this process has claimed.
    Claimed(Box<ClaimedMessage>),
    Progress(Progress),
    /// The question in this message was answered, or has expired.
    QuestionClosed(OutboxId),
    Ended(TurnId),
}

/// The sending side.
#[derive(Debug, Clone)]
pub struct TurnEvents {
    sender: mpsc::UnboundedSender<(TurnEvent, Span)>,
    /// How many events are not handled yet.
    open: watch::Sender<usize>,
}

/// The receiving side.
#[derive(Debug)]
pub struct TurnEventQueue {
    receiver: mpsc::UnboundedReceiver<(TurnEvent, Span)>,
    open: watch::Sender<usize>,
}

impl TurnEvents {
    pub fn channel() -> (Self, TurnEventQueue) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (open, _) = watch::channel(0);
        (Self { sender, open: open.clone() }, TurnEventQueue { receiver, open })
    }

    /// Sends an event. Nobody hears it once the service has stopped.
    pub fn send(&self, event: TurnEvent) {
        self.open.send_modify(|open| *open += 1);
        if self.sender.send((event, Span::current())).is_err() {
            self.open.send_modify(|open| *open -= 1);
        }
    }

    pub fn are_handled(&self) -> bool {
        *self.open.borrow() == 0
    }

    /// Waits until every event has been handled.
    pub async fn until_handled(&self) {
        // It fails only when there is no sender left, and this is one.
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }
}

impl TurnEventQueue {
    /// Hands the events over one by one, each in the tracing span in which it was sent, for as long as any can come.
    pub async fn handle(mut self, mut handler: impl FnMut(TurnEvent)) {
        while let Some((event, span)) = self.receiver.recv().await {
            span.in_scope(|| handler(event));
            self.open.send_modify(|open| *open -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_handled_in_order_and_counted_until_then() {
        let (events, queue) = TurnEvents::channel();
        for id in ["a", "b"] {
            events.send(TurnEvent::Ended(id.into()));
        }
        assert!(!events.are_handled());
        let (sender, mut handled) = mpsc::unbounded_channel();
        let work = tokio::spawn(queue.handle(move |event| {
            if let TurnEvent::Ended(id) = event {
                sender.send(id).unwrap();
            }
        }));
        events.until_handled().await;
        assert_eq!((handled.recv().await.unwrap(), handled.recv().await.unwrap()), ("a".into(), "b".into()));
        work.abort();
        assert!(work.await.is_err());
        events.send(TurnEvent::Ended("c".into()));
        assert!(events.are_handled(), "nobody is left to handle it");
    }
}
