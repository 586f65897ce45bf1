//! Acts on what running turns tell: wakes delivery, shows progress, passes ended turns on to the trace export.

use std::sync::Arc;

use adjutant_chat::Progress;
use adjutant_turn::journal::{TurnEvent, TurnEventQueue};
use adjutant_types::{TurnId, metrics};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::outbox::Deliverer;

/// How many turns may end before the export starts: those that were taken over from an earlier process.
const EARLY: usize = 100;

/// The turns that have ended, for the trace export. The first ones are stored until it starts.
#[derive(Debug, Default)]
pub struct EndedTurns(Mutex<Sink>);

#[derive(Debug, Default)]
struct Sink {
    early: Vec<TurnId>,
    queue: Option<mpsc::Sender<TurnId>>,
    is_full: bool,
}

impl EndedTurns {
    /// Sends the turns that have ended, and those to come, to this bounded queue.
    pub fn export_to(&self, queue: mpsc::Sender<TurnId>) {
        let mut sink = self.0.lock();
        let early = std::mem::take(&mut sink.early);
        sink.queue = Some(queue);
        early.into_iter().for_each(|turn| sink.add(turn));
    }

    fn add(&self, turn: TurnId) {
        self.0.lock().add(turn);
    }
}

impl Sink {
    /// Adds a turn; nothing waits for a full queue.
    fn add(&mut self, turn: TurnId) {
        let Some(queue) = &self.queue else {
            if self.early.len() < EARLY {
                self.early.push(turn);
            }
            return;
        };
        let is_full = queue.try_send(turn).is_err();
        if is_full {
            metrics::traces("dropped", 1);
        }
        if is_full && !self.is_full {
            tracing::warn!("the queue of traces is full; more traces are dropped");
        }
        self.is_full = is_full;
    }
}

/// Handles the events of turns. Progress for our own displays goes through a queue of its own: it stays in order, and
/// nothing waits for a slow display.
pub async fn dispatch(
    events: TurnEventQueue,
    deliverer: Arc<Deliverer>,
    displays: mpsc::Sender<Progress>,
    ended: Arc<EndedTurns>,
) {
    let handler = |event| match event {
        TurnEvent::MessageAdded(conversation) => deliverer.wake(&conversation),
        TurnEvent::Claimed(message) => deliverer.send_claimed(*message),
        TurnEvent::QuestionClosed(message) => deliverer.remove_buttons(&message),
        TurnEvent::Ended(turn) => ended.add(turn),
        TurnEvent::Progress(progress) => {
            let channel = &progress.address.channel;
            match deliverer.edits(channel) {
                true if !deliverer.cluster.sends(channel) => deliverer.cluster.note(progress),
                true => deliverer.progress.progress(progress),
                false => {
                    if deliverer.cluster.is_on() {
                        deliverer.cluster.note(progress.clone());
                    }
                    deliverer.progress.progress(progress.clone());
                    // A slow display misses a step; the next one shows everything.
                    drop(displays.try_send(progress));
                }
            }
        }
    };
    events.handle(handler).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_beyond_the_queue_are_dropped_and_counted() {
        let ended = EndedTurns::default();
        ended.add("a".into());
        let (sender, mut queue) = mpsc::channel(2);
        ended.export_to(sender);
        for turn in ["b", "c", "d"] {
            ended.add(turn.into());
        }
        assert_eq!(queue.try_recv().as_deref(), Ok("a"), "it ended before the export began");
        ended.add("e".into());
        assert_eq!((queue.try_recv().as_deref(), queue.try_recv().as_deref()), (Ok("b"), Ok("e")));
        drop(queue);
        ended.add("f".into());
        let text = metrics::text();
        assert!(text.contains("adjutant_traces_total{result=\"dropped\"} 3\n"), "{text}");
    }
}
