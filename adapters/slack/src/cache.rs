//! What this process has seen of Slack: the newest time stamp, people's names, and where commands are answered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Url;

use crate::place::Ts;

/// Names that are kept; with more people, all are asked for again.
const NAMES: usize = 10_000;

/// Commands that can be answered at the same time.
const RESPONSES: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    newest: Mutex<Option<Ts>>,
    names: Mutex<HashMap<String, String>>,
    response_urls: Mutex<HashMap<String, Url>>,
}

impl Cache {
    /// The newest known message anywhere. A message sent from now on is newer: Slack's time stamps share one clock.
    pub(crate) fn newest(&self) -> Option<Ts> {
        *lock(&self.newest)
    }

    /// A message exists.
    pub(crate) fn add_message(&self, ts: Ts) {
        let mut newest = lock(&self.newest);
        *newest = (*newest).max(Some(ts));
    }

    pub(crate) fn name(&self, person: &str) -> Option<String> {
        lock(&self.names).get(person).cloned()
    }

    pub(crate) fn add_name(&self, person: &str, name: &str) {
        let mut names = lock(&self.names);
        if names.len() >= NAMES {
            names.clear();
        }
        names.insert(person.to_owned(), name.to_owned());
    }

    /// Where the command of this event is answered.
    pub(crate) fn response_url(&self, event: &str) -> Option<Url> {
        lock(&self.response_urls).get(event).cloned()
    }

    pub(crate) fn add_response_url(&self, event: &str, url: Url) {
        let mut urls = lock(&self.response_urls);
        if urls.len() >= RESPONSES {
            urls.clear();
        }
        urls.insert(event.to_owned(), url);
    }

    pub(crate) fn remove_response_url(&self, event: &str) {
        lock(&self.response_urls).remove(event);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
