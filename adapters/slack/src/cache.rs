//! What this process has seen of Slack: the newest time stamp, people's names, who sent what, and where commands are
//! answered.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use reqwest::Url;

use crate::place::Ts;

/// Names that are kept; with more people, all are asked for again.
const NAMES: usize = 10_000;

/// Messages whose senders are kept.
const SENDERS: usize = 1_000;

/// Commands that can be answered at the same time.
const COMMANDS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    newest: Mutex<Option<Ts>>,
    names: Mutex<HashMap<String, String>>,
    senders: Mutex<HashMap<String, String>>,
    commands: Mutex<HashMap<String, CommandAddress>>,
}

#[derive(Debug, Clone)]
pub(crate) struct CommandAddress {
    pub(crate) url: Url,
    pub(crate) until: Instant,
    pub(crate) words: String,
}

impl Cache {
    /// The newest known message anywhere. A message sent from now on is newer: Slack's time stamps share one clock.
    pub(crate) fn newest(&self) -> Option<Ts> {
        *self.newest.lock()
    }

    pub(crate) fn add_message(&self, ts: Ts) {
        let mut newest = self.newest.lock();
        *newest = (*newest).max(Some(ts));
    }

    pub(crate) fn name(&self, person: &str) -> Option<String> {
        self.names.lock().get(person).cloned()
    }

    pub(crate) fn add_name(&self, person: &str, name: &str) {
        insert(&self.names, NAMES, person, name.to_owned());
    }

    pub(crate) fn sender(&self, event: &str) -> Option<String> {
        self.senders.lock().get(event).cloned()
    }

    pub(crate) fn add_sender(&self, event: &str, sender: &str) {
        insert(&self.senders, SENDERS, event, sender.to_owned());
    }

    /// Where the command of this event is answered.
    pub(crate) fn command(&self, event: &str) -> Option<CommandAddress> {
        self.commands.lock().get(event).cloned()
    }

    pub(crate) fn add_command(&self, event: &str, command: CommandAddress) {
        insert(&self.commands, COMMANDS, event, command);
    }

    pub(crate) fn remove_command(&self, event: &str) {
        self.commands.lock().remove(event);
    }
}

/// Adds an entry; a full map begins anew.
pub(crate) fn insert<T>(map: &Mutex<HashMap<String, T>>, max: usize, key: &str, value: T) {
    let mut map = map.lock();
    if map.len() >= max && !map.contains_key(key) {
        map.clear();
    }
    map.insert(key.to_owned(), value);
}
