//! What this process has seen of Slack: the newest time stamp, and what people are called.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::place::Ts;

/// Names that are kept; with more people than these, all are asked for again.
const NAMES: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Known {
    newest: Mutex<Option<Ts>>,
    names: Mutex<HashMap<String, String>>,
}

impl Known {
    /// The newest message known to be anywhere. What is sent from now on is newer: all of Slack's time stamps
    /// are of one time.
    pub(crate) fn newest(&self) -> Option<Ts> {
        *lock(&self.newest)
    }

    /// A message is there.
    pub(crate) fn is_there(&self, ts: Ts) {
        let mut newest = lock(&self.newest);
        *newest = (*newest).max(Some(ts));
    }

    pub(crate) fn name(&self, person: &str) -> Option<String> {
        lock(&self.names).get(person).cloned()
    }

    pub(crate) fn is_called(&self, person: &str, name: &str) {
        let mut names = lock(&self.names);
        if names.len() >= NAMES {
            names.clear();
        }
        names.insert(person.to_owned(), name.to_owned());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
