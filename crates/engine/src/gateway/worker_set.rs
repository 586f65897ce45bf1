//! The set of running workers, one per job: starts, wakes and stops them without losing a wake-up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use adjutant_store::sharing::Lane;
use adjutant_types::{ConversationId, OutboxId, TurnId};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Worker {
    /// Runs a conversation's lane; in the deliverer's set, which is another one, delivers its messages.
    Conversation(ConversationId),
    /// Sends a message that its turn's end has claimed.
    Claimed(OutboxId),
    /// Runs turns of a conversation in the background, in this lane of it.
    Background(ConversationId, i64),
    /// Waits for the next attempt of a failed turn in this lane.
    Retry(Box<Worker>),
    /// Handles one row of the inbox: a button press, a typed answer or a command.
    Row(i64),
    /// Listens to the voice note of one row of the inbox.
    Voice(i64),
    /// Fetches the files of one row of the inbox.
    Files(i64),
}

impl Worker {
    pub(super) fn of(lane: &Lane) -> Self {
        match lane.background {
            0 => Self::Conversation(lane.conversation_id.clone()),
            number => Self::Background(lane.conversation_id.clone(), number),
        }
    }
}

/// Runs at most one worker per job, and only while there is something to do.
///
/// No wake-up is lost: a worker stops only if nobody woke it since it last checked for work.
#[derive(Debug, Default)]
pub struct WorkerSet {
    /// Whether each running worker was woken since it last checked for work.
    workers: Mutex<HashMap<Worker, bool>>,
    /// Locked while a background lane takes a message, so that no two take the same.
    pub(super) starting: tokio::sync::Mutex<()>,
    idle: Notify,
    woken: Notify,
}

impl WorkerSet {
    /// Whether the caller must start a worker; a running one checks for work again.
    pub(super) fn wake(&self, worker: Worker) -> bool {
        let is_new = wake(&mut self.workers.lock(), worker);
        self.woken.notify_waiters();
        is_new
    }

    /// Whether a worker that found nothing to do may stop.
    pub(super) fn may_stop(&self, worker: &Worker) -> bool {
        let mut workers = self.workers.lock();
        match workers.get_mut(worker) {
            Some(woken) if *woken => {
                *woken = false;
                return false;
            }
            _ => workers.remove(worker),
        };
        self.notify_if_idle(&workers);
        true
    }

    /// Waits this long, or until the running worker is woken.
    pub(super) async fn sleep(&self, worker: &Worker, pause: Duration) {
        let until = Instant::now() + pause;
        loop {
            let mut woken = pin!(self.woken.notified());
            woken.as_mut().enable();
            if self.workers.lock().get_mut(worker).is_some_and(std::mem::take) {
                return;
            }
            if timeout_at(until, woken).await.is_err() {
                return;
            }
        }
    }

    /// Stops a worker, even if it was woken in the meantime.
    pub(super) fn stop(&self, worker: &Worker) {
        let mut workers = self.workers.lock();
        workers.remove(worker);
        self.notify_if_idle(&workers);
    }

    pub(super) fn is_running(&self, worker: &Worker) -> bool {
        self.workers.lock().contains_key(worker)
    }

    /// Stops a worker and wakes another at once, so the set never looks idle. Returns whether to start the other.
    pub(super) fn hand_over(&self, from: &Worker, to: Worker) -> bool {
        let mut workers = self.workers.lock();
        workers.remove(from);
        self.woken.notify_waiters();
        wake(&mut workers, to)
    }

    fn notify_if_idle(&self, workers: &HashMap<Worker, bool>) {
        if workers.is_empty() {
            self.idle.notify_waiters();
        }
    }

    pub fn are_idle(&self) -> bool {
        self.workers.lock().is_empty()
    }

    /// Waits until no worker is running.
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

/// Adds the turn's id to all logs inside it. Its level is the highest one, so that no log filter drops it.
pub(super) fn turn_span(turn: &TurnId, conversation: &ConversationId) -> tracing::Span {
    tracing::error_span!("turn", id = %turn, %conversation)
}

pub type SharedWorkerSet = Arc<WorkerSet>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_just_before_a_worker_stops_is_kept() {
        let workers = WorkerSet::default();
        let a = || Worker::Conversation("a".into());
        assert!(workers.wake(a()));
        assert!(!workers.wake(a()), "one worker is enough");
        assert!(!workers.may_stop(&a()), "it was woken meanwhile and checks again");
        assert!(workers.may_stop(&a()));
        assert!(workers.are_idle());
        assert!(workers.wake(a()), "the next wake-up starts a new one");
    }

    #[tokio::test]
    async fn waiting_ends_when_the_last_worker_stops() {
        let workers = SharedWorkerSet::default();
        assert!(workers.wake(Worker::Row(1)) && workers.wake(Worker::Row(2)));
        let waiting = tokio::spawn({
            let workers = workers.clone();
            async move { workers.until_idle().await }
        });
        workers.stop(&Worker::Row(1));
        assert!(!workers.are_idle());
        tokio::task::yield_now().await;
        workers.stop(&Worker::Row(2));
        waiting.await.unwrap();
    }
}
