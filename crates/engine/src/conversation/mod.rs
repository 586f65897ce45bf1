//! Conversations: runs turns, from a person's message to its answer, and the questions in between.
//!
//! Promises: a turn ends in one answer, or silently where nobody waits for one; a question is answered once, and only
//! admitted people start turns.

pub mod access;
mod answers;
mod asking;
pub mod command;
mod commands;
pub mod context;
mod extraction;
pub mod history;
mod limits;
pub mod memory_commands;
mod ownership;
mod parking;
pub mod questions;
mod recent_entities;
pub mod rules;
mod start;
pub mod turn;
mod verdicts;
pub mod voice_answers;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_config::Settings;
use adjutant_config::reload::Reloadable;
use adjutant_store::control::{self, ControlSignal};
use adjutant_store::people::Person;
use adjutant_store::{Store, StoreError, leases::Instance};
use adjutant_turn::journal::{LockPlace, TurnEvents};
use adjutant_types::{ConversationId, TurnId};
use chrono_tz::Tz;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::orchestrator::Orchestrator;

/// Everything that turns need in one process.
pub struct Conversations {
    pub store: Store,
    /// This process.
    pub instance: Arc<Instance>,
    /// The planner of turns.
    pub orchestrator: Arc<Orchestrator>,
    /// The limits, the owners, and other settings that can change at run time.
    pub settings: Arc<Reloadable<Settings>>,
    /// The time zone of people who haven't set their own.
    pub zone: Tz,
    /// Whether answers to voice notes are also spoken.
    pub speaks: bool,
    /// Tells the rest of the process what turns do.
    pub events: TurnEvents,
    /// Locks the chat of an answer while its turn ends.
    pub lock_place: LockPlace,
    /// The turns running in this process.
    pub running: Running,
}

/// The turns running in this process.
#[derive(Debug, Default)]
pub struct Running {
    turns: Mutex<HashMap<TurnId, Handle>>,
}

/// Controls a running turn.
#[derive(Debug, Clone)]
pub struct Handle {
    /// The turn's conversation.
    pub conversation: ConversationId,
    /// Stops the turn.
    pub cancel: CancellationToken,
    /// Signals that one of its questions was answered.
    pub answered: Arc<watch::Sender<()>>,
    /// Whether it is paused: nothing new may begin.
    pub paused: Arc<AtomicBool>,
    /// Cancelled once the turn has ended here or gone to sleep.
    ended: CancellationToken,
}

impl Handle {
    fn new(conversation: &ConversationId) -> Self {
        Self {
            conversation: conversation.to_owned(),
            cancel: CancellationToken::new(),
            answered: Arc::default(),
            paused: Arc::default(),
            ended: CancellationToken::new(),
        }
    }

    /// Pauses the turn: what is running may finish, nothing new begins.
    pub fn pause(&self) {
        // Wakes those who wait for something else. Only once: the pause is signalled until the turn rests.
        if !self.paused.swap(true, Ordering::Relaxed) {
            self.answered.send_replace(());
        }
    }
}

impl Running {
    fn add(&self, turn: &TurnId, conversation: &ConversationId) -> Handle {
        let handle = Handle::new(conversation);
        self.turns.lock().insert(turn.to_owned(), handle.clone());
        handle
    }

    fn remove(&self, turn: &TurnId) {
        let removed = self.turns.lock().remove(turn);
        removed.inspect(|handle| handle.ended.cancel());
    }

    /// A turn running here.
    pub fn get(&self, turn: &TurnId) -> Option<Handle> {
        self.turns.lock().get(turn).cloned()
    }

    /// The running turns of a conversation.
    pub fn of(&self, conversation: &ConversationId) -> Vec<Handle> {
        let turns = self.turns.lock();
        turns.values().filter(|handle| handle.conversation == *conversation).cloned().collect()
    }

    /// The number of running turns.
    pub fn count(&self) -> usize {
        self.turns.lock().len()
    }
}

impl Conversations {
    /// Removes a turn that panicked from the running ones.
    pub fn remove_running(&self, turn: &TurnId) {
        self.running.remove(turn);
    }

    /// Passes signals from other processes on to the turns running here.
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

    /// A person's time zone.
    pub fn zone_of(&self, person: &Person) -> Tz {
        person.timezone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(self.zone)
    }
}
