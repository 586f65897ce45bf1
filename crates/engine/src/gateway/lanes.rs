//! Lanes: each conversation runs one turn at a time, in order of arrival. Lanes don't wait for one another.
//!
//! Properties:
//!
//! - A turn whose question was answered, or that a dead process left, goes before new messages.
//! - Consecutive messages of one person become one turn; the next person's messages become the next. What a watch or a
//!   button under its telling brings is a turn of its own.
//! - After three failures in our own code a turn is given up. While it waits for a retry, the lane goes on.
//! - A person who writes too fast waits, and what they write in the meantime becomes one turn.
//! - A voice note holds its place until it is transcribed, and a message with files until they are fetched; see
//!   `gateway::voice` and `gateway::files`.
//! - What a person started with `/spawn`, or a watch, runs in one of three background lanes: its turns don't wait for the
//!   conversation's, nor the conversation for them. A turn stays in its lane until it ends.
//! - If another process works on the conversation, the lane tries again later; where instances share the turns, the
//!   one that looks first: see `gateway::sharing`.

pub mod pace;
mod waking;

use std::sync::Arc;
use std::time::Duration;

use adjutant_store::inbox::{InboxRow, WATCH};
use adjutant_store::sharing::{self, Lane};
use adjutant_store::{Result, Stale, StoreError, turns};
use adjutant_types::{InboxKind, PersonId};
use futures::FutureExt;
use tracing::Instrument;

use super::files::FileFetcher;
use super::sharing::Cluster;
use super::voice::Transcriber;
use super::{SharedWorkerSet, Worker, turn_span};
use crate::conversation::access::{Access, Admitted};
use crate::conversation::turn::{LeasedTurn, TurnOutcome};
use crate::conversation::{Conversations, command};
use crate::orchestrator::BasicMode;
use pace::{Pace, WINDOW_MS};

/// The pause before retrying, if another process works on the conversation or the store fails.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The longest wait for a retry that a lane sleeps through, in milliseconds; a failed turn waits a minute at most.
const MAX_SLEEP: u64 = 61_000;

pub struct Lanes {
    pub conversations: Arc<Conversations>,
    pub access: Arc<Access>,
    pub workers: SharedWorkerSet,
    /// How many turns people may start.
    pub pace: Pace,
    pub transcriber: Transcriber,
    pub fetcher: FileFetcher,
    /// The instances that run turns with this one.
    pub cluster: Arc<Cluster>,
    /// Set at shutdown: nothing new may start.
    pub draining: tokio_util::sync::CancellationToken,
}

/// Whether a lane should look for work again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Look,
    Rest,
}

/// The outcome of [`Lanes::begin_on_arrival`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnArrival {
    /// It is journalled, and its lane has seen to it.
    Journalled,
    /// It was journalled before.
    Duplicate,
    /// Nothing is written, so the caller journals it: its lane is at work, or no turn may begin here now.
    NotJournalled,
}

impl Lanes {
    fn start(self: &Arc<Self>, lane: Lane) {
        let lanes = self.clone();
        tokio::spawn(async move { lanes.work(&lane, None).await });
    }

    /// Journals a message and starts its turn in one commit, if its lane has nothing else to do; else it waits there.
    pub(super) async fn begin_on_arrival(self: &Arc<Self>, row: InboxRow) -> Result<OnArrival> {
        let lane = Lane { conversation_id: row.conversation_id.clone(), background: 0 };
        if self.draining.is_cancelled()
            || !self.may_work(row.channel(), &lane)
            || !self.workers.wake(Worker::of(&lane))
        {
            return Ok(OnArrival::NotJournalled);
        }
        let lanes = self.clone();
        // A task of its own: whoever waits here may be dropped, but not a turn whose start is being written.
        let begun = tokio::spawn(async move {
            let (arrival, leased) = match lanes.try_begin(&row).await {
                Ok(Some(leased)) => (Ok(OnArrival::Journalled), Some(leased)),
                Ok(None) | Err(StoreError::Stale(Stale::LaneBusy | Stale::LeaseTaken)) => {
                    let Conversations { instance, .. } = &*lanes.conversations;
                    let journalled = lanes.conversations.journal(&row.as_new(instance.owner())).await;
                    (journalled.map(|row| row.map_or(OnArrival::Duplicate, |_| OnArrival::Journalled)), None)
                }
                Err(StoreError::Stale(Stale::MessageExists)) => (Ok(OnArrival::Duplicate), None),
                Err(error) => (Err(error), None),
            };
            // Also without a turn: somebody may have woken the lane meanwhile.
            tokio::spawn(async move { lanes.work(&lane, leased).await });
            arrival
        });
        begun.await.unwrap_or(Err(StoreError::Closed))
    }

    async fn try_begin(&self, row: &InboxRow) -> Result<Option<LeasedTurn>> {
        if self.count_start(&row.person_id, row.received_at).await?.is_some() {
            return Ok(None);
        }
        let begun = self.conversations.journal_and_begin(row).await;
        if begun.is_err() {
            self.pace.uncount(&row.person_id).await;
        }
        begun.map(Some)
    }

    /// Counts a turn that begins, or returns when it may: also turns that began in other instances count.
    async fn count_start(&self, person: &PersonId, now: i64) -> Result<Option<i64>> {
        let max = self.conversations.settings.current().limits.turns_per_minute;
        if let Err(at) = self.pace.begin(person, now, max).await {
            return Ok(Some(at));
        }
        if max == 0 || !self.cluster.has_peers() {
            return Ok(None);
        }
        // What a clock of another machine puts into the future doesn't count.
        let (max, period) = (i64::try_from(max).unwrap_or(i64::MAX), (now - WINDOW_MS, now + 1_000));
        let begun = sharing::begun_by(&self.conversations.store, person, period, max).await?;
        let is_full = i64::try_from(begun.len()).is_ok_and(|begun| begun >= max);
        let oldest = begun.last().filter(|_| is_full).map(|oldest| oldest + WINDOW_MS);
        if oldest.is_some() {
            self.pace.uncount(person).await;
        }
        Ok(oldest)
    }

    /// Works until there is nothing left to do, first on a turn that has begun.
    async fn work(self: Arc<Self>, lane: &Lane, mut begun: Option<LeasedTurn>) {
        let (worker, conversation) = (Worker::of(lane), &lane.conversation_id);
        loop {
            let step = match begun.take() {
                // Nothing was waiting when it began.
                Some(leased) => self.run_on(leased, lane).await,
                None if self.draining.is_cancelled() => Ok(Next::Rest),
                None => self.step(lane).await,
            };
            match step {
                Ok(Next::Rest) if self.workers.may_stop(&worker) => return,
                Ok(Next::Look | Next::Rest) => {}
                // Whoever looks first takes what waits here once the lane is free.
                Err(StoreError::Stale(Stale::LeaseTaken | Stale::LaneBusy)) if self.cluster.has_peers() => {
                    if self.workers.may_stop(&worker) {
                        return;
                    }
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(StoreError::Stale(_)) => tokio::time::sleep(RETRY_PAUSE).await,
                Err(StoreError::Closed) => {
                    self.workers.stop(&worker);
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, %conversation, "a lane failed; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Goes on with the next turn of a lane, or begins one.
    async fn step(self: &Arc<Self>, lane: &Lane) -> Result<Next> {
        let Lane { conversation_id: conversation, background: number } = lane;
        let Conversations { store, instance, .. } = &*self.conversations;
        let open = turns::next(store, conversation, &instance.id, *number).await?;
        let retry_at = open.as_ref().map(|turn| turn.retry_at).filter(|at| *at > store.now());
        let (Some(turn), None) = (open, retry_at) else { return self.begin_next(lane, retry_at).await };
        let span = turn_span(&turn.id, conversation);
        if let Some(leased) = self.conversations.resume(turn).instrument(span).await? {
            self.run(leased).await?;
        }
        Ok(Next::Look)
    }

    /// Begins a turn for the next messages of a lane, and runs it. `retry_at` is when a failed turn of the lane may go on.
    async fn begin_next(self: &Arc<Self>, lane: &Lane, retry_at: Option<i64>) -> Result<Next> {
        let Lane { conversation_id: conversation, background: number } = lane;
        let is_background = *number != 0;
        let (store, instance) = (&self.conversations.store, &self.conversations.instance.id);
        // No two background lanes may take the same message.
        let starting = if is_background { Some(self.workers.starting.lock().await) } else { None };
        let rows = self.access.waiting(store, conversation, instance).await?;
        // Left by a process that died before handling it, unless a worker is on it.
        let left = |row: &&Admitted| {
            row.kind != InboxKind::Message && !self.workers.is_running(&Worker::Row(row.id))
        };
        if let Some(row) = rows.iter().find(left).filter(|_| !is_background) {
            self.try_row(row).await?;
            if rows.iter().all(|row| row.kind != InboxKind::Message) {
                // It may have made a turn ready.
                return Ok(Next::Look);
            }
        }
        let is_of_lane =
            |row: &Admitted| row.kind == InboxKind::Message && row.is_background() == is_background;
        let messages: Vec<Admitted> = rows.into_iter().filter(is_of_lane).collect();
        for row in messages.iter().filter(|row| !row.is_whole() && self.cluster.sends(row.channel())) {
            self.complete_soon((**row).clone());
        }
        // What was written after a voice note or a file waits for it.
        let ready: Vec<Admitted> = messages.into_iter().take_while(|row| row.is_whole()).collect();
        let count = ready.len();
        let next = messages_for_one_turn(ready.into_iter(), self.conversations.orchestrator.basic);
        let last = next.len() == count && retry_at.is_none();
        // What a person writes doesn't wait because of their watches, which have a pace of their own.
        let counted = next.first().filter(|first| !first.event.starts_with(WATCH));
        let counted = counted.map(|first| first.person_id.clone());
        if let Some(person) = &counted
            && let Some(at) = self.count_start(person, store.now()).await?
        {
            self.wake_at(retry_at.map_or(at, |retry_at| retry_at.min(at)), lane);
            return Ok(Next::Rest);
        }
        let begun = self.conversations.begin(next, *number).await;
        drop(starting);
        // Each try counts, and while another process has the lane there are ten a second.
        if let (Err(_), Some(person)) = (&begun, &counted) {
            self.pace.uncount(person).await;
        }
        match begun? {
            Some(leased) => {
                let next = self.run_on(leased, lane).await?;
                Ok(if last { next } else { Next::Look })
            }
            None => {
                if let Some(retry_at) = retry_at {
                    self.wake_at(retry_at, lane);
                }
                Ok(Next::Rest)
            }
        }
    }

    /// Listens to a message's voice note, or fetches its files, beside whatever runs. Its lane goes on after that.
    pub(super) fn complete_soon(self: &Arc<Self>, row: InboxRow) {
        let worker = if row.voice.is_some() { Worker::Voice(row.id) } else { Worker::Files(row.id) };
        // At shutdown, the next process does that.
        if self.draining.is_cancelled() || !self.workers.wake(worker.clone()) {
            return;
        }
        let lanes = self.clone();
        tokio::spawn(async move {
            if row.voice.is_none() {
                lanes.fetch(&row).await;
            } else if let Some(answer) = lanes.listen_to(&row).await {
                lanes.handle_soon(answer);
            }
            lanes.hand_over(&worker, &row);
        });
    }

    /// Wakes the lane when a turn may be retried or started.
    fn wake_at(self: &Arc<Self>, retry_at: i64, lane: &Lane) {
        let pause = u64::try_from(retry_at - self.conversations.store.now()).unwrap_or(0);
        // The maintenance finds turns that sleep longer; nobody waits for those.
        if pause > MAX_SLEEP {
            return;
        }
        // A worker of its own, so that the process doesn't count as idle before the retry.
        let worker = Worker::Retry(Box::new(Worker::of(lane)));
        if self.workers.wake(worker.clone()) {
            let (lanes, lane) = (self.clone(), lane.clone());
            tokio::spawn(async move {
                let pause = tokio::time::sleep(Duration::from_millis(pause.max(10)));
                lanes.draining.run_until_cancelled(pause).await;
                if lanes.workers.hand_over(&worker, Worker::of(&lane)) {
                    lanes.start(lane);
                }
            });
        }
    }

    /// Runs a turn. What has arrived here meanwhile has woken the lane.
    async fn run_on(&self, leased: LeasedTurn, lane: &Lane) -> Result<Next> {
        if self.run(leased).await? == TurnOutcome::Suspended {
            return Ok(Next::Look);
        }
        let has_message = match self.cluster.has_peers() && !self.cluster.receives_all() {
            true => sharing::has_message(&self.conversations.store, &lane.conversation_id).await?,
            false => false,
        };
        Ok(if has_message { Next::Look } else { Next::Rest })
    }

    async fn run(&self, leased: LeasedTurn) -> Result<TurnOutcome> {
        let span = turn_span(&leased.turn.id, &leased.turn.conversation_id);
        self.run_or_put_back(leased).instrument(span).await
    }

    async fn run_or_put_back(&self, mut leased: LeasedTurn) -> Result<TurnOutcome> {
        let turn = leased.turn.id.clone();
        let run = std::panic::AssertUnwindSafe(Box::pin(self.conversations.run(&mut leased))).catch_unwind();
        let Ok(outcome) = run.await else {
            tracing::error!("a turn panicked; retrying");
            self.conversations.running.remove(&turn);
            self.conversations.failed(leased).await?;
            return Ok(TurnOutcome::Suspended);
        };
        match outcome {
            Err(StoreError::Stale(Stale::LeaseLost)) => {
                tracing::warn!("lease lost; another process continues the turn");
                Ok(TurnOutcome::Suspended)
            }
            Ok(_) | Err(StoreError::Closed) => outcome,
            Err(error) => {
                tracing::error!(%error, "a turn failed; retrying");
                self.conversations.failed(leased).await?;
                Ok(TurnOutcome::Suspended)
            }
        }
    }

    /// Handles a button press, a typed answer or a command without waiting for running turns.
    pub fn handle_soon(self: &Arc<Self>, row: InboxRow) {
        let lanes = self.clone();
        // A worker of its own, so that the process doesn't count as idle before it's done.
        let worker = Worker::Row(row.id);
        lanes.workers.wake(worker.clone());
        tokio::spawn(async move {
            lanes.handle_row(&row).await;
            lanes.workers.stop(&worker);
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
        self.wake_ready(row.channel(), &row.conversation_id).await;
    }

    async fn try_row(&self, row: &InboxRow) -> Result<()> {
        let done = match row.kind {
            InboxKind::Command => self.conversations.command(row).await,
            _ => self.conversations.take_answer(row).await,
        };
        match done {
            // The lane and the row's own worker may both handle it; the second one has nothing to do.
            Err(StoreError::Stale(_)) => Ok(()),
            done => done,
        }
    }
}

/// The first message and those of the same person right after it. Basic mode reads each by itself: joined, the second could
/// be taken for more of the first one's text.
fn messages_for_one_turn(rows: impl Iterator<Item = Admitted>, basic: BasicMode) -> Vec<Admitted> {
    let mut rows = rows.peekable();
    let Some(first) = rows.next() else { return Vec::new() };
    let person = first.person_id.clone();
    // A message that runs a workflow is a turn of its own, and so is one about a thing from outside.
    let is_alone = |row: &Admitted| row.is_alone() || command::is_run(&row.text);
    if is_alone(&first) || basic == BasicMode::Always {
        return vec![first];
    }
    let mut taken = vec![first];
    while let Some(row) = rows.next_if(|row| row.person_id == person && !is_alone(row)) {
        taken.push(row);
    }
    taken
}
