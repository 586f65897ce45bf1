//! Between the platforms and the conversations: what arrives is journalled once, each conversation has
//! one turn at a time, what is said is delivered once.

pub mod access;
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

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Wakes one worker a conversation, and runs it only while it has something to do.
///
/// A wake that comes while the worker is about to go home is not lost: the worker leaves only when
/// nobody woke it since it last looked.
#[derive(Debug, Default)]
pub struct Wakers {
    /// Whether a worker was woken since it last looked.
    workers: Mutex<HashMap<String, bool>>,
}

impl Wakers {
    /// Whether a worker must be started; if one is at work it is told to look again.
    fn wake(&self, conversation: &str) -> bool {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        match workers.get_mut(conversation) {
            Some(woken) => {
                *woken = true;
                false
            }
            None => {
                workers.insert(conversation.to_owned(), false);
                true
            }
        }
    }

    /// Whether the worker, who found nothing to do, may go home.
    fn rest(&self, conversation: &str) -> bool {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.get(conversation) == Some(&true) {
            workers.insert(conversation.to_owned(), false);
            return false;
        }
        workers.remove(conversation);
        true
    }

    /// Whether this worker is at work.
    fn is_at_work(&self, worker: &str) -> bool {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).contains_key(worker)
    }

    /// One worker goes home as another is woken, with no moment between at which nobody is at work.
    /// Whether that other must be started.
    fn hand_over(&self, from: &str, to: &str) -> bool {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.remove(from);
        match workers.get_mut(to) {
            Some(woken) => {
                *woken = true;
                false
            }
            None => workers.insert(to.to_owned(), false).is_none(),
        }
    }

    /// Whether no worker is at work.
    pub fn are_idle(&self) -> bool {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// What is logged inside it carries the turn's id. It is of the highest level, so that it is there whatever the
/// filter lets through.
fn turn_span(turn: &str, conversation: &str) -> tracing::Span {
    tracing::error_span!("turn", id = turn, conversation)
}

/// A shared set of wakers.
pub type SharedWakers = Arc<Wakers>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_between_the_last_look_and_going_home_is_kept() {
        let wakers = Wakers::default();
        assert!(wakers.wake("a"));
        assert!(!wakers.wake("a"), "one worker is enough");
        assert!(!wakers.rest("a"), "it was woken meanwhile and looks again");
        assert!(wakers.rest("a"));
        assert!(wakers.are_idle());
        assert!(wakers.wake("a"), "the next wake starts a new one");
    }
}
