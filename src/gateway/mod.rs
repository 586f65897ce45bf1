//! Between the platforms and the conversations: what arrives is journalled once, each conversation has
//! one turn at a time, what is said is delivered once.

pub mod backups;
pub mod governor;
pub mod intake;
pub mod lanes;
pub mod maintenance;
pub mod outbox;
pub mod pace;
pub mod progress;
pub mod receiver;
pub mod retention;
pub mod scheduler;

use crate::domain::{ConversationId, TurnId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What a worker is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Worker {
    /// A conversation's lane, or the delivery of what is said there.
    Conversation(ConversationId),
    /// A turn of this conversation that waits for its next try.
    Retry(ConversationId),
    /// A press, a typed answer or a command: a row of the inbox.
    Row(i64),
}

/// Wakes one worker for each job, which runs only while it has something to do.
///
/// A wake-up that comes while the worker is about to stop is not lost: it stops only when nobody woke it since it last
/// looked.
#[derive(Debug, Default)]
pub struct Wakers {
    /// Whether a worker was woken since it last looked.
    workers: Mutex<HashMap<Worker, bool>>,
    idle: Notify,
}

impl Wakers {
    fn workers(&self) -> MutexGuard<'_, HashMap<Worker, bool>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a worker must be started; one that runs already is told to look again.
    fn wake(&self, worker: Worker) -> bool {
        wake(&mut self.workers(), worker)
    }

    /// Whether the worker, which found nothing to do, may stop.
    fn rest(&self, worker: &Worker) -> bool {
        let mut workers = self.workers();
        match workers.get_mut(worker) {
            Some(woken) if *woken => {
                *woken = false;
                return false;
            }
            _ => workers.remove(worker),
        };
        self.tell_if_idle(&workers);
        true
    }

    /// Stops a worker, whatever it was told meanwhile.
    fn stop(&self, worker: &Worker) {
        let mut workers = self.workers();
        workers.remove(worker);
        self.tell_if_idle(&workers);
    }

    /// Whether this worker runs.
    fn is_running(&self, worker: &Worker) -> bool {
        self.workers().contains_key(worker)
    }

    /// Stops one worker and wakes another, with no moment between in which neither runs. Whether that other must be
    /// started.
    fn hand_over(&self, from: &Worker, to: Worker) -> bool {
        let mut workers = self.workers();
        workers.remove(from);
        wake(&mut workers, to)
    }

    fn tell_if_idle(&self, workers: &HashMap<Worker, bool>) {
        if workers.is_empty() {
            self.idle.notify_waiters();
        }
    }

    /// Whether no worker runs.
    pub fn are_idle(&self) -> bool {
        self.workers().is_empty()
    }

    /// Waits until no worker runs.
    pub async fn until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.are_idle() {
                return;
            }
            idle.await;
        }
    }
}

fn wake(workers: &mut HashMap<Worker, bool>, worker: Worker) -> bool {
    match workers.entry(worker) {
        Entry::Occupied(mut woken) => {
            woken.insert(true);
            false
        }
        Entry::Vacant(free) => {
            free.insert(false);
            true
        }
    }
}

/// What is logged inside it carries the turn's id. It is of the highest level, so that it is there whatever the
/// filter lets through.
fn turn_span(turn: &TurnId, conversation: &ConversationId) -> tracing::Span {
    tracing::error_span!("turn", id = %turn, %conversation)
}

/// A shared set of wakers.
pub type SharedWakers = Arc<Wakers>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_just_before_a_worker_stops_is_kept() {
        let wakers = Wakers::default();
        let a = || Worker::Conversation("a".into());
        assert!(wakers.wake(a()));
        assert!(!wakers.wake(a()), "one worker is enough");
        assert!(!wakers.rest(&a()), "it was woken meanwhile and looks again");
        assert!(wakers.rest(&a()));
        assert!(wakers.are_idle());
        assert!(wakers.wake(a()), "the next wake-up starts a new one");
    }

    #[tokio::test]
    async fn whoever_waits_hears_when_the_last_worker_stops() {
        let wakers = SharedWakers::default();
        assert!(wakers.wake(Worker::Row(1)) && wakers.wake(Worker::Row(2)));
        let waiting = tokio::spawn({
            let wakers = wakers.clone();
            async move { wakers.until_idle().await }
        });
        wakers.stop(&Worker::Row(1));
        assert!(!wakers.are_idle());
        tokio::task::yield_now().await;
        wakers.stop(&Worker::Row(2));
        waiting.await.unwrap();
    }
}
