//! Lanes: one turn at a time in a conversation, in order of arrival; lanes don't wait for one another.
//!
//! Properties:
//!
//! - A turn that was answered, or left by a dead process, goes before new messages.
//! - Consecutive messages of one person are one turn; somebody else's is the next.
//! - A turn that our own code fails three times is set aside, and while it waits for its next try the
//!   lane goes on.
//! - A person who goes too fast waits, and what they write meanwhile is one turn.
//! - Another process that works on the conversation is waited for, by looking again.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tracing::Instrument;

use super::pace::Pace;
use super::{SharedWakers, Worker, turn_span};
use crate::conversation::Conversations;
use crate::conversation::access::{Access, Admitted};
use crate::conversation::commands;
use crate::conversation::turn::LeasedTurn;
use crate::domain::{ConversationId, InboxKind};
use crate::store::Stale;
use crate::store::inbox::InboxRow;
use crate::store::{StoreError, turns};

/// How long to leave a conversation that another process works on, or a store that fails.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A turn that failed is tried again after a minute at most, in milliseconds.
const LONGEST_NAP: u64 = 61_000;

/// The lanes of this process.
pub struct Lanes {
    /// What runs in them.
    pub conversations: Arc<Conversations>,
    /// Who may speak.
    pub access: Arc<Access>,
    /// Their workers.
    pub wakers: SharedWakers,
    /// How fast people may go.
    pub pace: Pace,
    /// Set when nothing new is to be started.
    pub draining: tokio_util::sync::CancellationToken,
}

impl Lanes {
    /// Sees to it that somebody looks after a conversation.
    pub fn wake(self: &Arc<Self>, conversation: &ConversationId) {
        if self.wakers.wake(Worker::Conversation(conversation.clone())) {
            self.start(conversation.clone());
        }
    }

    fn start(self: &Arc<Self>, conversation: ConversationId) {
        let lanes = self.clone();
        tokio::spawn(async move { lanes.work(&conversation).await });
    }

    async fn work(self: Arc<Self>, conversation: &ConversationId) {
        let worker = Worker::Conversation(conversation.clone());
        loop {
            let step = match self.draining.is_cancelled() {
                true => Ok(false),
                false => self.step(conversation).await,
            };
            match step {
                Ok(true) => {}
                Ok(false) if self.wakers.rest(&worker) => return,
                Ok(false) => {}
                Err(StoreError::Stale(_)) => tokio::time::sleep(LOOK_AGAIN).await,
                Err(StoreError::Closed) => {
                    self.wakers.stop(&worker);
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, %conversation, "a lane failed and tries again");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    /// Does the next thing in a lane; false when there was nothing more, when it looked.
    async fn step(self: &Arc<Self>, conversation: &ConversationId) -> Result<bool, StoreError> {
        let store = &self.conversations.store;
        let instance = &self.conversations.instance.id;
        let open = turns::next(store, conversation, instance).await?;
        let retry_at = open.as_ref().map(|turn| turn.retry_at).filter(|at| *at > store.now());
        if let (Some(turn), None) = (open, retry_at) {
            let span = turn_span(&turn.id, conversation);
            if let Some(held) = self.conversations.resume(turn).instrument(span).await? {
                self.run(held).await?;
            }
            return Ok(true);
        }
        let rows = self.access.waiting(store, conversation, instance).await?;
        // Left by a process that died between journalling and carrying out, unless somebody is at it.
        let left =
            |row: &&Admitted| row.kind != InboxKind::Message && !self.wakers.is_running(&Worker::Row(row.id));
        if let Some(row) = rows.iter().find(left) {
            self.carry_out_once(row).await?;
            if rows.iter().all(|row| row.kind != InboxKind::Message) {
                // What it set going is next.
                return Ok(true);
            }
        }
        let said = rows.iter().filter(|row| row.kind == InboxKind::Message).count();
        let next = together(rows.into_iter().filter(|row| row.kind == InboxKind::Message));
        let last = next.len() == said && retry_at.is_none();
        let most = self.conversations.settings.now().limits.turns_per_minute;
        if let Some(first) = next.first()
            && let Err(at) = self.pace.begin(&first.person_id, store.now(), most).await
        {
            self.wake_at(retry_at.map_or(at, |retry_at| retry_at.min(at)), conversation);
            return Ok(false);
        }
        match self.conversations.begin(next).await? {
            Some(held) => {
                let ended = self.run(held).await?;
                Ok(!(ended && last))
            }
            None => {
                if let Some(retry_at) = retry_at {
                    self.wake_at(retry_at, conversation);
                }
                Ok(false)
            }
        }
    }

    /// A turn that waits for its next try wakes its lane by itself.
    fn wake_at(self: &Arc<Self>, retry_at: i64, conversation: &ConversationId) {
        let pause = u64::try_from(retry_at - self.conversations.store.now()).unwrap_or(0);
        // What sleeps for longer the maintenance finds when its time has come, and nobody waits for it.
        if pause > LONGEST_NAP {
            return;
        }
        // A worker of its own, so that the house is not idle before the turn has had its next try.
        let worker = Worker::Retry(conversation.clone());
        if self.wakers.wake(worker.clone()) {
            let (lanes, conversation) = (self.clone(), conversation.clone());
            tokio::spawn(async move {
                let pause = tokio::time::sleep(Duration::from_millis(pause.max(10)));
                lanes.draining.run_until_cancelled(pause).await;
                if lanes.wakers.hand_over(&worker, Worker::Conversation(conversation.clone())) {
                    lanes.start(conversation);
                }
            });
        }
    }

    /// Runs a turn; false when it did not come to its end.
    async fn run(&self, held: LeasedTurn) -> Result<bool, StoreError> {
        let span = turn_span(&held.turn.id, &held.turn.conversation_id);
        self.run_inside(held).instrument(span).await
    }

    async fn run_inside(&self, held: LeasedTurn) -> Result<bool, StoreError> {
        let turn = held.turn.id.clone();
        let run = std::panic::AssertUnwindSafe(self.conversations.run(&held)).catch_unwind();
        let Ok(outcome) = run.await else {
            tracing::error!("a turn panicked and is tried again");
            self.conversations.running_left(&turn);
            return self.conversations.failed(held).await.map(|()| false);
        };
        match outcome {
            Err(StoreError::Stale(Stale::LeaseLost)) => {
                tracing::warn!("the lease is lost; the turn goes on elsewhere");
                Ok(false)
            }
            Ok(_) | Err(StoreError::Closed) => outcome,
            Err(error) => {
                tracing::error!(%error, "a turn failed and is tried again");
                self.conversations.failed(held).await.map(|()| false)
            }
        }
    }

    /// Carries out a press, a typed answer or a command beside whatever runs.
    pub fn carry_out_soon(self: &Arc<Self>, row: InboxRow) {
        let lanes = self.clone();
        // A worker of its own, so that the house is not idle before it is done.
        let worker = Worker::Row(row.id);
        lanes.wakers.wake(worker.clone());
        tokio::spawn(async move {
            lanes.carry_out(&row).await;
            lanes.wakers.stop(&worker);
        });
    }

    /// Carries out a row and wakes what it may have set going.
    async fn carry_out(self: &Arc<Self>, row: &InboxRow) {
        while let Err(error) = self.carry_out_once(row).await {
            if matches!(error, StoreError::Closed) {
                return;
            }
            tracing::error!(%error, event = row.event, "an answer or command failed and is tried again");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.wake(&row.conversation_id);
    }

    async fn carry_out_once(&self, row: &InboxRow) -> Result<(), StoreError> {
        let done = match row.kind {
            InboxKind::Command => self.conversations.command(row).await,
            _ => self.conversations.settle(row).await,
        };
        match done {
            // The lane and the row's own worker may both be at it: whoever is second has nothing to do.
            Err(StoreError::Stale(_)) => Ok(()),
            done => done,
        }
    }
}

/// The first row and those of the same person right behind it.
fn together(rows: impl Iterator<Item = Admitted>) -> Vec<Admitted> {
    let mut rows = rows.peekable();
    let Some(first) = rows.next() else { return Vec::new() };
    let person = first.person_id.clone();
    // A message that is a plan is a turn of its own.
    let is_plan = |row: &Admitted| commands::is_run(&row.text);
    if is_plan(&first) {
        return vec![first];
    }
    let mut taken = vec![first];
    while let Some(row) = rows.next_if(|row| row.person_id == person && !is_plan(row)) {
        taken.push(row);
    }
    taken
}
