//! Conversations: turns from what was said to the answer, and the questions between.

pub mod access;
pub mod commands;
pub mod context;
pub mod history;
mod limits;
mod parking;
pub mod questions;
pub mod turn;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono_tz::Tz;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::{ConversationId, TurnId};
use crate::journal::{SharedSettings, TurnEvents};
use crate::orchestrator::Orchestrator;
use crate::store::control::{self, ControlSignal};
use crate::store::people::Person;
use crate::store::{Store, StoreError, leases::Instance};

/// Everything that turns need, in one process.
pub struct Conversations {
    /// The store.
    pub store: Store,
    /// This process.
    pub instance: Arc<Instance>,
    /// The planner of turns.
    pub orchestrator: Arc<Orchestrator>,
    /// The limits, the owners, and what else may change while it runs.
    pub settings: Arc<SharedSettings>,
    /// The zone of those who have none of their own.
    pub zone: Tz,
    /// Tells the rest of the process what turns do.
    pub events: TurnEvents,
    /// The turns at work here.
    pub running: Running,
}

/// The turns that this process has at work.
#[derive(Debug, Default)]
pub struct Running {
    turns: Mutex<HashMap<TurnId, Handle>>,
}

/// A hold on a running turn.
#[derive(Debug, Clone)]
pub struct Handle {
    /// Where it runs.
    pub conversation: ConversationId,
    /// Ends it.
    pub cancel: CancellationToken,
    /// Tells it that one of its questions was answered.
    pub answered: Arc<watch::Sender<()>>,
    /// Whether nothing new is to begin in it.
    pub paused: Arc<AtomicBool>,
    /// Ends when the turn has ended here, or fallen asleep.
    over: CancellationToken,
}

impl Handle {
    fn new(conversation: &ConversationId) -> Self {
        Self {
            conversation: conversation.to_owned(),
            cancel: CancellationToken::new(),
            answered: Arc::default(),
            paused: Arc::default(),
            over: CancellationToken::new(),
        }
    }

    /// Lets what runs finish, and nothing new begin.
    pub fn pause(&self) {
        // Whoever waits for something else looks up; once, although the word is there until the turn is at rest.
        if !self.paused.swap(true, Ordering::Relaxed) {
            self.answered.send_replace(());
        }
    }
}

impl Running {
    fn enter(&self, turn: &TurnId, conversation: &ConversationId) -> Handle {
        let handle = Handle::new(conversation);
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).insert(turn.to_owned(), handle.clone());
        handle
    }

    fn leave(&self, turn: &TurnId) {
        let left = self.turns.lock().unwrap_or_else(PoisonError::into_inner).remove(turn);
        left.inspect(|handle| handle.over.cancel());
    }

    /// A turn at work here.
    pub fn get(&self, turn: &TurnId) -> Option<Handle> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).get(turn).cloned()
    }

    /// The turns at work in a conversation.
    pub fn of(&self, conversation: &ConversationId) -> Vec<Handle> {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.values().filter(|handle| handle.conversation == *conversation).cloned().collect()
    }

    /// How many turns are at work.
    pub fn count(&self) -> usize {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Conversations {
    /// Takes a turn that panicked off the list of those at work.
    pub fn running_left(&self, turn: &TurnId) {
        self.running.leave(turn);
    }

    /// Passes on what other processes told the turns that run here.
    pub async fn receive_signals(&self) -> Result<(), StoreError> {
        if self.running.count() == 0 {
            return Ok(());
        }
        for (turn, signal) in control::signals(&self.store, &self.instance.id).await? {
            let Some(running) = self.running.get(&turn) else { continue };
            match signal {
                ControlSignal::Stop => running.cancel.cancel(),
                ControlSignal::Pause => running.pause(),
                ControlSignal::Answered => running.answered.send_replace(()),
            }
        }
        Ok(())
    }

    /// The zone a person lives in.
    pub fn zone_of(&self, person: &Person) -> Tz {
        person.timezone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(self.zone)
    }
}
