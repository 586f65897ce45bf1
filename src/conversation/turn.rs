//! One turn: from what was said to its one answer.
//!
//! Properties:
//!
//! - Which messages a turn took is fixed in the commit that starts it.
//! - Its end, its answer in the outbox, and the lane's release are one commit.
//! - It ends in exactly one answer, failures too; a question in between is one answer more.
//! - Going to sleep and being answered at the same time: see `conversation::questions`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::access::Admitted;
use super::{Conversations, Handle, context};
use crate::domain::{
    Ending, ExecutionId, ExecutionKind, ExecutionStatus, QuestionKind, QuestionState, TurnId, TurnStatus,
};
use crate::journal::{Budget, Scope, TurnEvent, fail_point};
use crate::metrics;
use crate::orchestrator::{Orchestrator, TurnEnd};
use crate::store::executions::{self, ExecutionRow};
use crate::store::inbox::InboxRow;
use crate::store::leases::{Lease, lane};
use crate::store::turns::{self, TurnRow};
use crate::store::{Batch, StoreError, outbox, people, questions, runs, spending};
use crate::wording;

/// A turn that this process holds.
pub struct LeasedTurn {
    /// Its row.
    pub turn: TurnRow,
    /// The right to its lane.
    pub lease: Lease,
    /// The orchestrator's execution.
    pub(super) root: ExecutionId,
    /// Its executions so far.
    pub(super) rows: Vec<ExecutionRow>,
}

impl LeasedTurn {
    /// Whether nothing of it was undertaken before.
    pub(super) fn is_new(&self) -> bool {
        self.rows.len() == 1 && self.turn.resumed_at == self.turn.started_at
    }
}

impl Conversations {
    /// Starts a turn for messages of one person.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when another process works on this conversation.
    pub async fn begin(&self, admitted: Vec<Admitted>) -> Result<Option<LeasedTurn>, StoreError> {
        let rows: Vec<InboxRow> = admitted.into_iter().map(Admitted::into_row).collect();
        let Some(first) = rows.first() else { return Ok(None) };
        let now = self.store.now();
        let events: Vec<&str> = rows.iter().map(InboxRow::event_id).collect();
        let text: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let turn = TurnRow {
            seq: 0,
            id: self.store.new_id(),
            conversation_id: first.conversation_id.clone(),
            person_id: first.person_id.clone(),
            status: TurnStatus::Running,
            text: text.join("\n"),
            answer: None,
            answers: serde_json::to_string(&events).unwrap_or_default(),
            instance: self.instance.id.clone(),
            ending: None,
            budget_from: now,
            granted_at: 0,
            failures: 0,
            retry_at: 0,
            started_at: now,
            resumed_at: now,
            ended_at: None,
        };
        let root = root_row(&turn, self.store.new_id());
        let name = lane(&turn.conversation_id);
        let mut batch = Batch::new();
        self.instance.take(&name, &mut batch);
        turns::start(&mut batch, &turn, &rows);
        executions::insert(&mut batch, &root, &turn.conversation_id);
        let returned = self.store.write(batch).await?;
        fail_point("turn-started");
        metrics::turn_began(&turn.id, rows.first().map_or(now, |first| first.received_at)).await;
        let lease = self.instance.taken(name, &returned);
        Ok(Some(LeasedTurn { turn, lease, root: root.id.clone(), rows: vec![root] }))
    }

    /// Takes up a turn that was answered, failed before, or was left by a dead process. `None` when it
    /// ended by that: it failed for the third time.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when another process works on this conversation.
    pub async fn resume(&self, mut turn: TurnRow) -> Result<Option<LeasedTurn>, StoreError> {
        let left_running = turn.status == TurnStatus::Running;
        if left_running && self.was_its_own_fault(&turn).await? {
            turn.failures += 1;
        }
        let name = lane(&turn.conversation_id);
        turn.instance.clone_from(&self.instance.id);
        let mut batch = Batch::new();
        self.instance.take(&name, &mut batch);
        turns::resume(&mut batch, &turn, self.store.now());
        // Calls that were under way then are made again, with reservations of their own.
        spending::release_turn(&mut batch, &turn.id);
        let returned = self.store.write(batch).await?;
        let lease = self.instance.taken(name, &returned);
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let Some(root) =
            rows.iter().find(|row| row.kind == ExecutionKind::Orchestrator).map(|row| row.id.clone())
        else {
            return Err(StoreError::Corrupt(format!("turn {} has no orchestrator", turn.id)));
        };
        let held = LeasedTurn { turn, lease, root, rows };
        if held.turn.failures >= 3 {
            self.bury(&held).await?;
            return Ok(None);
        }
        if left_running && held.turn.failures > 0 {
            let retry_at = self.store.now() + back_off(held.turn.failures);
            metrics::retry("turn");
            turns::put_back(&self.store, &held.lease, &held.turn, retry_at).await?;
            return Ok(None);
        }
        fail_point("turn-resumed");
        Ok(Some(held))
    }

    /// A crash with nothing closed since the turn went on, and with no other turn that could be to blame.
    async fn was_its_own_fault(&self, turn: &TurnRow) -> Result<bool, StoreError> {
        Ok(!turns::progressed_since(&self.store, &turn.id, turn.resumed_at).await?
            && !turns::others_running(&self.store, turn).await?)
    }

    /// Sets a turn aside that our own code failed three times.
    async fn bury(&self, held: &LeasedTurn) -> Result<(), StoreError> {
        tracing::error!("a turn failed three times and is set aside");
        // A hold on nothing: it ends without running.
        let scope = self.scope(held, &Handle::new(&held.turn.conversation_id)).await?;
        self.end(
            held,
            &scope,
            TurnStatus::Dead,
            ExecutionStatus::Failed,
            wording::DEAD.to_owned().into(),
            Batch::new(),
        )
        .await
    }

    /// Runs a turn until it ends (true) or sleeps (false).
    ///
    /// # Errors
    /// When the store fails or the lease is lost; the journal then says how far it came.
    pub async fn run(&self, held: &LeasedTurn) -> Result<bool, StoreError> {
        let handle = self.running.enter(&held.turn.id, &held.turn.conversation_id);
        let done = self.run_as(held, &handle).await;
        self.running.leave(&held.turn.id);
        done
    }

    async fn run_as(&self, held: &LeasedTurn, handle: &Handle) -> Result<bool, StoreError> {
        let scope = self.scope(held, handle).await?;
        // It was paused before it came to rest, by a process that died or before it went on.
        if held.turn.ending == Some(Ending::Pause) {
            handle.pause();
        }
        let to_fold = AtomicBool::new(false);
        let (end, tail) = match held.turn.ending {
            Some(Ending::Stop) => (TurnEnd::Cancelled(Orchestrator::summary(&held.rows)), Batch::new()),
            Some(Ending::Summarise) => self.orchestrator.summarise(&scope, &held.root, &held.rows).await?,
            _ => {
                let opening = async || {
                    let opening = context::opening(&scope, &held.turn.text).await?;
                    to_fold.store(opening.to_fold, Ordering::Relaxed);
                    Ok(opening.messages)
                };
                self.orchestrator.run(&scope, &held.root, &held.rows, &held.turn.text, opening).await?
            }
        };
        fail_point("turn-before-end");
        match end {
            TurnEnd::Answered(mut last) => {
                let expired = self.expired_approvals(held, &scope).await?;
                for line in expired.into_iter().chain(self.notices(&scope).await?) {
                    last.text.push_str("\n\n");
                    last.text.push_str(&line);
                }
                self.end(held, &scope, TurnStatus::Completed, ExecutionStatus::Completed, last, tail).await?;
                if to_fold.into_inner() {
                    self.fold_later(&scope);
                }
            }
            TurnEnd::Failed(last) => {
                self.end(held, &scope, TurnStatus::Failed, ExecutionStatus::Failed, last, tail).await?
            }
            TurnEnd::Cancelled(summary) => {
                let expired = self.expired_line(&held.turn).await?;
                let text = expired.unwrap_or_else(|| wording::stopped(&summary));
                self.end(held, &scope, TurnStatus::Cancelled, ExecutionStatus::Cancelled, text.into(), tail)
                    .await?;
            }
            TurnEnd::Asleep(moment) => {
                turns::put_back(&self.store, &held.lease, &held.turn, moment).await?;
                return Ok(false);
            }
            TurnEnd::Waiting => return self.sleep(held, &scope, Batch::new()).await.map(|()| false),
            TurnEnd::Parked(limit, summary) => return self.park(held, &scope, limit, &summary).await,
        }
        Ok(true)
    }

    async fn scope(&self, held: &LeasedTurn, handle: &Handle) -> Result<Scope, StoreError> {
        let conversation = people::conversation_by_id(&self.store, &held.turn.conversation_id);
        let person = people::person_by_id(&self.store, &held.turn.person_id);
        let (conversation, person) = futures::try_join!(conversation, person)?;
        let settings = self.settings.now();
        let spent = self.spent(held, &settings.limits, &conversation).await?;
        let ledger = self.ledger(settings.clone(), &person.id, &held.turn.id);
        Ok(Scope {
            store: self.store.clone(),
            lease: held.lease.clone(),
            turn: held.turn.id.clone(),
            conversation: Arc::new(conversation),
            zone: self.zone_of(&person),
            person: Arc::new(person),
            budget: Arc::new(Budget::new(settings.limits.clone(), &spent).paused_by(handle.paused.clone())),
            ledger: Arc::new(ledger),
            settings,
            cancel: handle.cancel.clone(),
            answers: Arc::new(Mutex::new(held.turn.answer_ids())),
            answered: handle.answered.subscribe(),
            sub_progress: Arc::default(),
            asked: Arc::default(),
            events: self.events.clone(),
        })
    }

    /// Ends a turn: answer, journal and lane in one commit.
    pub(super) async fn end(
        &self,
        held: &LeasedTurn,
        scope: &Scope,
        status: TurnStatus,
        root: ExecutionStatus,
        last: outbox::Message,
        tail: Batch,
    ) -> Result<(), StoreError> {
        let mut batch = held.lease.release();
        batch.append(tail);
        scope.free_all(&mut batch);
        let last = outbox::Message { file: last.file, ..scope.message(last.text, Vec::new()) };
        self.close(&mut batch, &held.turn, status, root, &last);
        self.store.write(batch).await?;
        fail_point("turn-ended");
        self.ended(&held.turn.id, status);
        scope.said();
        Ok(())
    }

    /// Tells those who want to know that a turn has ended.
    pub(super) fn ended(&self, turn: &TurnId, status: TurnStatus) {
        metrics::turn_ended(status.as_str());
        self.events.send(TurnEvent::Ended(turn.clone()));
    }

    /// Adds the end of a turn, of all that is still open in it, and its last word.
    pub(super) fn close(
        &self,
        batch: &mut Batch,
        turn: &TurnRow,
        status: TurnStatus,
        root: ExecutionStatus,
        last: &outbox::Message,
    ) {
        let now = self.store.now();
        turns::end(batch, &turn.id, status, &last.whole(), now);
        executions::close_all(batch, &turn.id, root, now);
        runs::cancel_all(batch, &turn.id, now);
        questions::withdraw(batch, &turn.id, now);
        outbox::say(&self.store, batch, &turn.conversation_id, &self.instance.id, last);
    }

    /// A line for each call that nobody said yes to in time; the answer may not speak of it.
    async fn expired_approvals(&self, held: &LeasedTurn, scope: &Scope) -> Result<Vec<String>, StoreError> {
        if held.is_new() && !scope.asked.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let asked = questions::of_turn(&self.store, &held.turn.id).await?;
        let expired = asked.iter().filter(|question| {
            matches!(question.kind, QuestionKind::Approval { .. }) && question.state == QuestionState::Expired
        });
        Ok(expired.map(|question| wording::expired(&question.kind)).collect())
    }

    /// The line for a "continue?" that nobody answered.
    async fn expired_line(&self, turn: &TurnRow) -> Result<Option<String>, StoreError> {
        let asked = questions::of_turn(&self.store, &turn.id).await?;
        let last = asked.into_iter().rfind(|question| question.asks_to_continue());
        Ok(last
            .filter(|question| question.state == QuestionState::Expired)
            .map(|question| wording::expired(&question.kind)))
    }

    /// Puts a turn back that failed by our own fault, or sets it aside for good.
    pub async fn failed(&self, held: LeasedTurn) -> Result<(), StoreError> {
        let failures = held.turn.failures + 1;
        let held = LeasedTurn { turn: TurnRow { failures, ..held.turn }, ..held };
        if failures >= 3 {
            return self.bury(&held).await;
        }
        let retry_at = self.store.now() + back_off(failures);
        metrics::retry("turn");
        turns::put_back(&self.store, &held.lease, &held.turn, retry_at).await
    }
}

/// How long a turn that failed waits for its next try, in milliseconds.
pub fn back_off(failures: i64) -> i64 {
    match failures {
        1 => 1_000,
        2 => 10_000,
        _ => 60_000,
    }
}

fn root_row(turn: &TurnRow, id: ExecutionId) -> ExecutionRow {
    ExecutionRow {
        status: ExecutionStatus::Running,
        started_at: Some(turn.started_at),
        ..ExecutionRow::new(id, &turn.id, ExecutionKind::Orchestrator)
    }
}
