//! Lanes: each conversation runs one turn at a time, in order of arrival. Lanes don't wait for one another.
//!
//! Properties:
//!
//! - A turn whose question was answered, or that a dead process left, goes before new messages.
//! - Consecutive messages of one person become one turn; the next person's messages become the next.
//! - After three failures in our own code a turn is given up. While it waits for a retry, the lane goes on.
//! - A person who writes too fast waits, and what they write in the meantime becomes one turn.
//! - A voice note holds its place until it is heard; see `gateway::voice`.
//! - If another process works on the conversation, the lane tries again later.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tracing::Instrument;

use super::pace::Pace;
use super::voice::Listening;
use super::{SharedWakers, Worker, turn_span};
use crate::conversation::Conversations;
use crate::conversation::access::{Access, Admitted};
use crate::conversation::commands;
use crate::conversation::turn::LeasedTurn;
use crate::domain::{ConversationId, InboxKind};
use crate::store::Stale;
use crate::store::inbox::InboxRow;
use crate::store::{StoreError, turns};

/// The pause before retrying, if another process works on the conversation or the store fails.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The longest wait for a retry that a lane sleeps through, in milliseconds; a failed turn waits a minute at most.
const LONGEST_SLEEP: u64 = 61_000;

/// The lanes of this process.
pub struct Lanes {
    /// The conversations whose turns run here.
    pub conversations: Arc<Conversations>,
    /// Decides who may talk to the assistant.
    pub access: Arc<Access>,
    /// The workers, one per lane.
    pub wakers: SharedWakers,
    /// How many turns people may start.
    pub pace: Pace,
    /// Listens to voice notes.
    pub listening: Listening,
    /// Set at shutdown: nothing new may start.
    pub draining: tokio_util::sync::CancellationToken,
}

impl Lanes {
    /// Starts a conversation's lane, or has it check for work again.
    pub fn wake(self: &Arc<Self>, conversation: &ConversationId) {
        if self.wakers.wake(Worker::Conversation(conversation.clone())) {
            self.start(conversation.clone());
        }
    }

    pub(super) fn start(self: &Arc<Self>, conversation: ConversationId) {
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
                Ok(false) if self.wakers.may_stop(&worker) => return,
                Ok(false) => {}
                Err(StoreError::Stale(_)) => tokio::time::sleep(RETRY_PAUSE).await,
                Err(StoreError::Closed) => {
                    self.wakers.stop(&worker);
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, %conversation, "a lane failed; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Does the next piece of work in a lane; false if there was none left.
    async fn step(self: &Arc<Self>, conversation: &ConversationId) -> Result<bool, StoreError> {
        let store = &self.conversations.store;
        let instance = &self.conversations.instance.id;
        let open = turns::next(store, conversation, instance).await?;
        let retry_at = open.as_ref().map(|turn| turn.retry_at).filter(|at| *at > store.now());
        if let (Some(turn), None) = (open, retry_at) {
            let span = turn_span(&turn.id, conversation);
            if let Some(leased) = self.conversations.resume(turn).instrument(span).await? {
                self.run(leased).await?;
            }
            return Ok(true);
        }
        let rows = self.access.waiting(store, conversation, instance).await?;
        // Left by a process that died before handling it, unless a worker is on it.
        let left =
            |row: &&Admitted| row.kind != InboxKind::Message && !self.wakers.is_running(&Worker::Row(row.id));
        if let Some(row) = rows.iter().find(left) {
            self.try_row(row).await?;
            if rows.iter().all(|row| row.kind != InboxKind::Message) {
                // It may have made a turn ready.
                return Ok(true);
            }
        }
        for row in rows.iter().filter(|row| row.voice.is_some()) {
            self.listen_soon((**row).clone());
        }
        // What was written after a voice note waits until that is heard.
        let messages = rows.into_iter().filter(|row| row.kind == InboxKind::Message);
        let ready: Vec<Admitted> = messages.take_while(|row| row.voice.is_none()).collect();
        let said = ready.len();
        let next = messages_for_one_turn(ready.into_iter());
        let last = next.len() == said && retry_at.is_none();
        let most = self.conversations.settings.now().limits.turns_per_minute;
        if let Some(first) = next.first()
            && let Err(at) = self.pace.begin(&first.person_id, store.now(), most).await
        {
            self.wake_at(retry_at.map_or(at, |retry_at| retry_at.min(at)), conversation);
            return Ok(false);
        }
        match self.conversations.begin(next).await? {
            Some(leased) => {
                let ended = self.run(leased).await?;
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

    /// Wakes the lane when a turn may be retried or started.
    fn wake_at(self: &Arc<Self>, retry_at: i64, conversation: &ConversationId) {
        let pause = u64::try_from(retry_at - self.conversations.store.now()).unwrap_or(0);
        // The maintenance finds turns that sleep longer; nobody waits for those.
        if pause > LONGEST_SLEEP {
            return;
        }
        // A worker of its own, so that the process doesn't count as idle before the retry.
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

    /// Runs a turn; false if it didn't end.
    async fn run(&self, leased: LeasedTurn) -> Result<bool, StoreError> {
        let span = turn_span(&leased.turn.id, &leased.turn.conversation_id);
        self.run_inside(leased).instrument(span).await
    }

    async fn run_inside(&self, leased: LeasedTurn) -> Result<bool, StoreError> {
        let turn = leased.turn.id.clone();
        let run = std::panic::AssertUnwindSafe(self.conversations.run(&leased)).catch_unwind();
        let Ok(outcome) = run.await else {
            tracing::error!("a turn panicked; retrying");
            self.conversations.remove_running(&turn);
            return self.conversations.failed(leased).await.map(|()| false);
        };
        match outcome {
            Err(StoreError::Stale(Stale::LeaseLost)) => {
                tracing::warn!("lease lost; another process continues the turn");
                Ok(false)
            }
            Ok(_) | Err(StoreError::Closed) => outcome,
            Err(error) => {
                tracing::error!(%error, "a turn failed; retrying");
                self.conversations.failed(leased).await.map(|()| false)
            }
        }
    }

    /// Handles a button press, a typed answer or a command without waiting for running turns.
    pub fn handle_soon(self: &Arc<Self>, row: InboxRow) {
        let lanes = self.clone();
        // A worker of its own, so that the process doesn't count as idle before it's done.
        let worker = Worker::Row(row.id);
        lanes.wakers.wake(worker.clone());
        tokio::spawn(async move {
            lanes.handle_row(&row).await;
            lanes.wakers.stop(&worker);
        });
    }

    /// Handles a row, with retries, and wakes the lane: a turn may be able to go on.
    async fn handle_row(self: &Arc<Self>, row: &InboxRow) {
        while let Err(error) = self.try_row(row).await {
            if matches!(error, StoreError::Closed) {
                return;
            }
            tracing::error!(%error, event = row.event, "an answer or command failed; retrying");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        self.wake(&row.conversation_id);
    }

    async fn try_row(&self, row: &InboxRow) -> Result<(), StoreError> {
        let done = match row.kind {
            InboxKind::Command => self.conversations.command(row).await,
            _ => self.conversations.settle(row).await,
        };
        match done {
            // The lane and the row's own worker may both handle it; the second one has nothing to do.
            Err(StoreError::Stale(_)) => Ok(()),
            done => done,
        }
    }
}

/// The first message and those of the same person right after it.
fn messages_for_one_turn(rows: impl Iterator<Item = Admitted>) -> Vec<Admitted> {
    let mut rows = rows.peekable();
    let Some(first) = rows.next() else { return Vec::new() };
    let person = first.person_id.clone();
    // A message that runs a workflow is a turn of its own.
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
