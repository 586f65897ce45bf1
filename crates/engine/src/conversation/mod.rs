//! Conversations: runs turns, from a person's message to its answer, and the questions in between.
//!
//! Promises: a turn ends in one answer, or silently where nobody waits for one; a question is answered once, and only
//! admitted people start turns.

pub mod access;
mod answers;
mod asking;
pub mod command;
pub mod commands;
pub mod connect;
pub mod context;
pub mod history;
mod limits;
pub mod lines;
pub mod memory_commands;
mod ownership;
mod parking;
pub mod questions;
mod recent_entities;
pub mod rooms;
pub mod rules;
mod start;
pub mod turn;
mod verdicts;
pub mod voice_answers;
pub mod watches;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use adjutant_config::Settings;
use adjutant_config::reload::Reloadable;
use adjutant_store::control::{self, ControlSignal};
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::people::Person;
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Result, Store, leases::Instance};
use adjutant_turn::journal::{GivenUp, LockChat, TurnEvents};
use adjutant_types::{ConversationId, PersonId, TurnId, TurnStatus};
use chrono_tz::Tz;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::orchestrator::Orchestrator;

/// Everything that turns need in one process.
pub struct Conversations {
    pub store: Store,
    pub instance: Arc<Instance>,
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
    pub lock_chat: LockChat,
    pub running: Running,
    /// The rules of rooms where something was written lately.
    pub room_rules: rooms::CachedRules,
    /// Notified when watches have found something in this process.
    pub found: Notify,
}

#[derive(Debug, Default)]
pub struct Running {
    turns: Mutex<HashMap<TurnId, Handle>>,
}

#[derive(Debug, Clone, Default)]
pub struct Handle {
    pub conversation: ConversationId,
    pub cancel: CancellationToken,
    /// Signals that one of its questions was answered.
    pub answered: Arc<watch::Sender<()>>,
    /// Whether it is paused: nothing new may begin.
    pub paused: Arc<AtomicBool>,
    /// Whose turn it is, if it takes over what they write while it runs.
    talks_with: Option<PersonId>,
    /// How many messages they have written.
    written: Arc<watch::Sender<usize>>,
    /// The newest row that is counted.
    newest: Arc<AtomicI64>,
    /// How often a model's call was given up for it.
    given_up: GivenUp,
    /// Cancelled once the turn has ended here or gone to sleep.
    ended: CancellationToken,
}

impl Handle {
    fn new(turn: &TurnRow) -> Self {
        let talks_with = turn.is_talk().then(|| turn.person_id.clone());
        Self { conversation: turn.conversation_id.clone(), talks_with, ..Self::default() }
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
    fn add(&self, turn: &TurnRow) -> Handle {
        let handle = Handle::new(turn);
        self.turns.lock().insert(turn.id.clone(), handle.clone());
        handle
    }

    pub fn remove(&self, turn: &TurnId) {
        let removed = self.turns.lock().remove(turn);
        removed.inspect(|handle| handle.ended.cancel());
    }

    pub fn get(&self, turn: &TurnId) -> Option<Handle> {
        self.turns.lock().get(turn).cloned()
    }

    pub fn of(&self, conversation: &ConversationId) -> Vec<Handle> {
        let turns = self.turns.lock();
        turns.values().filter(|handle| handle.conversation == *conversation).cloned().collect()
    }

    /// Tells the running turns of a conversation that their person has written this.
    pub fn steer(&self, row: &InboxRow) {
        for handle in self.of(&row.conversation_id) {
            let is_theirs = handle.talks_with.as_ref() == Some(&row.person_id);
            if is_theirs && handle.newest.fetch_max(row.id, Ordering::Relaxed) < row.id {
                handle.written.send_modify(|count| *count += 1);
            }
        }
    }

    pub fn count(&self) -> usize {
        self.turns.lock().len()
    }
}

impl Conversations {
    /// Whether this turn runs, here or in another instance, and takes over what its person writes.
    pub async fn is_talk(&self, turn: &TurnId) -> Result<bool> {
        let turn = turns::by_id(&self.store, turn).await?;
        Ok(turn.is_some_and(|turn| turn.status == TurnStatus::Running && turn.is_talk()))
    }

    /// Whether a turn of this person runs in a conversation, here or in another instance, and not in the background.
    pub async fn talks_with(&self, conversation: &ConversationId, person: &PersonId) -> Result<bool> {
        let open = turns::open_of(&self.store, conversation).await?;
        let is_talk = |turn: &TurnRow| {
            turn.status == TurnStatus::Running && turn.background == 0 && turn.person_id == *person
        };
        Ok(open.iter().any(is_talk))
    }

    /// Passes signals from other processes on to the turns running here, and what their people have written there.
    pub async fn receive_signals(&self) -> Result<()> {
        if self.running.count() == 0 {
            return Ok(());
        }
        if !self.instance.is_alone() {
            let rows = inbox::for_running(&self.store, &self.instance.id).await?;
            rows.iter().filter(|row| !command::is_run(&row.text)).for_each(|row| self.running.steer(row));
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

    pub fn zone_of(&self, person: &Person) -> Tz {
        person.timezone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(self.zone)
    }
}
