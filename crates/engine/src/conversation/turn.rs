//! One turn: from a person's messages to one answer.
//!
//! Properties:
//!
//! - The commit that starts a turn fixes which messages belong to it.
//! - A turn's end, its answer in the outbox, and the release of its lane are one commit.
//! - A turn ends in exactly one answer, even if it fails. Each question in between is one more message. Three ends are
//!   silent: of a turn whose question the person withdrew, of one that has nothing to tell and that nobody waits for, and
//!   of a watch's turn in its quiet hours, whose answer is told after them.
//! - An answer isn't lost if the turn goes to sleep at the same moment: see `conversation::questions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_l10n as l10n;
use adjutant_skills::accounts::PersonAccounts;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::leases::{Lease, lane};
use adjutant_store::outbox::{self, OutboxRow};
use adjutant_store::room_rules::{self, RoomRule};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, Result, StoreError, inbox, questions, runs, schedules, spending, watches};
use adjutant_turn::journal::{
    AgentSlots, Budget, ChatLock, ClaimedMessage, Steering, TurnContext, TurnControl, TurnEvent, TurnFacts,
    TurnIo, TurnLimits, TurnTrust, fail_point,
};
use adjutant_turn::wording::{self, StatusSummary};
use adjutant_types::clock::utc;
use adjutant_types::clock::when::When;
use adjutant_types::text::one_line;
use adjutant_types::{
    AccountService, Answer, Ending, ExecutionId, ExecutionKind, ExecutionStatus, ItemNoun, NOTHING_TO_TELL,
    QuestionKind, QuestionState, TurnId, TurnStatus, WatchItem, metrics,
};
use chrono_tz::Tz;
use parking_lot::Mutex;
use tracing::Instrument;

use super::answers::agrees;
use super::recent_entities::emails_in_answer;
use super::{Conversations, Handle, context, lines, verdicts};
use crate::orchestrator::{Begun, Orchestrator, TurnEnd};
use crate::watching::{quiet_until, why};

/// After so many failures in our own code, a turn is given up.
const MAX_FAILURES: i64 = 3;
/// The answer of a turn whose question was withdrawn, as later turns read it.
const WITHDRAWN: &str = "(changed by the person)";

pub struct LeasedTurn {
    pub turn: TurnRow,
    pub lease: Lease,
    pub(super) root: ExecutionId,
    pub(super) rows: Vec<ExecutionRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    Ended,
    /// It goes on later, from its journal.
    Suspended,
}

impl LeasedTurn {
    fn begun(&self) -> Begun<'_> {
        Begun { root: &self.root, rows: &self.rows, is_new: self.is_new() }
    }

    pub(super) fn is_new(&self) -> bool {
        self.rows.len() == 1 && self.turn.resumed_at == self.turn.started_at
    }
}

impl Conversations {
    /// Continues a turn that was answered, failed before, or was left by a dead process. `None` if it doesn't run now:
    /// it failed for the third time, or waits for a retry.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if another process works on this conversation.
    pub async fn resume(&self, mut turn: TurnRow) -> Result<Option<LeasedTurn>> {
        let left_running = turn.status == TurnStatus::Running;
        // It made no progress, and no other turn was running: it probably crashed its process.
        if left_running
            && !turns::progressed_since(&self.store, &turn.id, turn.resumed_at).await?
            && !turns::others_running(&self.store, &turn).await?
        {
            turn.failures += 1;
        }
        let name = lane(&turn.conversation_id, turn.background);
        turn.instance.clone_from(&self.instance.id);
        let mut batch = Batch::new();
        self.instance.take(&name, &mut batch);
        turns::resume(&mut batch, &turn, self.store.now());
        // Calls that were running then are repeated, with new reservations.
        spending::release_turn(&mut batch, &turn.id);
        let returned = self.store.write(batch).await?;
        let lease = self.instance.taken(name, &returned);
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let root = rows.iter().find(|row| row.kind == ExecutionKind::Orchestrator);
        let missing = || StoreError::Corrupt(format!("turn {} has no orchestrator", turn.id));
        let root = root.map(|row| row.id.clone()).ok_or_else(missing)?;
        let leased = LeasedTurn { turn, lease, root, rows };
        if leased.turn.failures >= MAX_FAILURES || left_running && leased.turn.failures > 0 {
            self.retry_or_give_up(&leased).await?;
            return Ok(None);
        }
        fail_point("turn-resumed");
        Ok(Some(leased))
    }

    /// Puts a turn back that failed in our own code, or ends it after too many failures.
    async fn retry_or_give_up(&self, leased: &LeasedTurn) -> Result<()> {
        let failures = leased.turn.failures;
        if failures < MAX_FAILURES {
            metrics::retry("turn");
            let retry_at = self.store.now() + back_off(failures);
            return turns::put_back(&self.store, &leased.lease, &leased.turn, retry_at).await;
        }
        tracing::error!("a turn failed three times; giving up");
        // The handle isn't registered: the turn ends without running.
        let ctx = self.turn_context(leased, &Handle::new(&leased.turn)).await?;
        self.end(leased, &ctx, TurnStatus::Dead, l10n::turns::gave_up().into(), Batch::new()).await
    }

    /// Runs a turn until it ends or is suspended. After an error, the journal has its progress.
    pub async fn run(&self, leased: &mut LeasedTurn) -> Result<TurnOutcome> {
        let handle = self.running.add(&leased.turn);
        let done = loop {
            match self.run_once(leased, &handle).await {
                Ok(Some(outcome)) => break Ok(outcome),
                // The person has written more before the turn had anything to show for it.
                Ok(None) => match turns::by_id(&self.store, &leased.turn.id).await {
                    Ok(turn) => leased.turn = turn.unwrap_or_else(|| leased.turn.clone()),
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        self.running.remove(&leased.turn.id);
        done
    }

    /// None if it must begin anew, with more words of the person.
    async fn run_once(&self, leased: &LeasedTurn, handle: &Handle) -> Result<Option<TurnOutcome>> {
        let ctx = self.turn_context(leased, handle).await?;
        // The pause may come from a process that died, or from before the turn went on.
        if leased.turn.ending == Some(Ending::Pause) {
            handle.pause();
        }
        // Only a turn without a dialogue so far asks for its first messages, and learns this with them.
        let needs_compacting = AtomicBool::new(false);
        let (end, writes) = match leased.turn.ending {
            Some(Ending::Withdrawn) => {
                self.end_withdrawn(leased, &ctx).await?;
                return Ok(Some(TurnOutcome::Ended));
            }
            Some(Ending::Stop) => (TurnEnd::Cancelled(Orchestrator::summary(&leased.rows)), Batch::new()),
            Some(Ending::Summarise) => self.orchestrator.summarise(&ctx, leased.begun()).await?,
            _ => {
                let first_messages = async |accounts: PersonAccounts| {
                    let turn = &leased.turn;
                    let context = context::of_turn(&ctx, turn, &self.orchestrator, &accounts).await?;
                    needs_compacting.store(context.needs_compacting, Ordering::Relaxed);
                    Ok((context.messages, context.taint))
                };
                self.orchestrator.run(&ctx, leased.begun(), &leased.turn.text, first_messages).await?
            }
        };
        fail_point("turn-before-end");
        match end {
            TurnEnd::Answered(answer) => {
                self.end_answered(leased, &ctx, answer, writes).await?;
                if needs_compacting.into_inner() {
                    self.compact_later(&ctx);
                }
            }
            TurnEnd::Failed(mut answer) => {
                self.add_drafts(leased, &ctx, &mut answer).await?;
                self.end(leased, &ctx, TurnStatus::Failed, answer, writes).await?;
            }
            TurnEnd::Cancelled(summary) => {
                let text = self.cancelled(&leased.turn, &summary).await?;
                self.end(leased, &ctx, TurnStatus::Cancelled, text.into(), writes).await?;
            }
            TurnEnd::Later(until) => {
                turns::put_back(&self.store, &leased.lease, &leased.turn, until).await?;
                return Ok(Some(TurnOutcome::Suspended));
            }
            TurnEnd::Waiting(receipts) => {
                self.ask_and_sleep(leased, &ctx, &receipts).await?;
                return Ok(Some(TurnOutcome::Suspended));
            }
            TurnEnd::Parked(limit, summary) => {
                return self.park(leased, &ctx, limit, &summary).await.map(Some);
            }
            TurnEnd::Extended => return Ok(None),
        }
        Ok(Some(TurnOutcome::Ended))
    }

    /// Ends a turn with its answer and what the person must know besides. If that is nothing, one that a schedule of
    /// their own words began is silent, unless it is to tell something or they have answered it since, and so is one in
    /// which nobody spoke to us.
    async fn end_answered(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        mut answer: outbox::Message,
        mut writes: Batch,
    ) -> Result<()> {
        let status = TurnStatus::Completed;
        let mut parts = vec![answer.text];
        parts.extend(self.expired_approvals(leased, ctx).await?);
        parts.extend(self.notices(ctx).await?);
        parts.retain(|part| !part.is_empty());
        answer.text = parts.join("\n\n");
        if answer.text.is_empty() && answer.file.is_none() {
            let text = one_line(&leased.turn.text, 200);
            let is_own_run = ctx.turn.is_scheduled && leased.turn.text_taint.is_clean() && is_unanswered(ctx);
            if is_own_run && schedules::must_tell(&self.store, &leased.turn.id).await? {
                answer.text = wording::reminder(&text, None);
            } else if is_own_run || !self.is_addressed(ctx).await? {
                return self.end_silently(leased, ctx, status, NOTHING_TO_TELL, writes).await;
            } else {
                answer.text = l10n::schedules::nothing_to_tell(text);
            }
        }
        // A draft may name people whose emails the answer doesn't tell of.
        let told = answer.text.clone();
        let rows = self.add_drafts(leased, ctx, &mut answer).await?;
        let due = due_before(&leased.turn, ctx.turn.zone).filter(|_| is_unanswered(ctx));
        let watch = ctx.watch().and_then(|found| found.watch.as_ref()).filter(|_| is_unanswered(ctx));
        let (why, stop) = watch.map(|watch| why(watch, ctx.turn.zone)).unzip();
        for line in due.map(l10n::schedules::late).into_iter().chain(why) {
            answer.text = format!("{}\n\n{line}", answer.text).trim_start().to_owned();
        }
        if let Some(until) = watch.and_then(|watch| quiet_until(watch, self.store.now(), ctx.turn.zone)) {
            let (turn, now) = (&leased.turn, self.store.now());
            let receipt = WatchItem::new(ItemNoun::Receipt, &turn.id, ("", &answer.whole()), now);
            let here = (&turn.conversation_id, &turn.person_id);
            watches::brief(&mut writes, &self.store.new_id(), here, &receipt, (now, Some(until)));
            return self.end_silently(leased, ctx, status, NOTHING_TO_TELL, writes).await;
        }
        answer.choices.extend(stop);
        let services = &self.orchestrator.agents.executor.services;
        let shown = if ctx.is_typed() { emails_in_answer(&rows, &told) } else { Vec::new() };
        let accounts =
            if shown.is_empty() { PersonAccounts::default() } else { services.accounts.of(ctx).await? };
        self.end(leased, ctx, status, answer, writes).await?;
        if accounts.has(AccountService::Mail) {
            // The next message doesn't wait for the email server.
            let services = services.clone();
            tokio::spawn(async move { services.mark_read(&accounts, &shown).await }.in_current_span());
        }
        Ok(())
    }

    /// Whether anything in the turn is for us, including what came while it ran.
    async fn is_addressed(&self, ctx: &TurnContext) -> Result<bool> {
        Ok(ctx.turn.is_addressed || inbox::is_addressed(&self.store, &ctx.turn.id).await?)
    }

    /// Adds the drafts that a turn has made to its answer, and the buttons of all that it shows; returns its calls.
    async fn add_drafts(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        answer: &mut outbox::Message,
    ) -> Result<Vec<ExecutionRow>> {
        // A new turn that has called nothing has nothing to show.
        let rows = match leased.is_new() && !ctx.limits.budget.has_skill_calls() {
            true => Vec::new(),
            false => executions::of_turn(&self.store, &leased.turn.id).await?,
        };
        for draft in lines::shown_drafts(&rows) {
            answer.text = format!("{}\n\n{draft}", answer.text);
        }
        answer.choices = lines::choices_of(&rows);
        Ok(rows)
    }

    /// Ends a turn whose question the person withdrew. They hear only what it has done.
    async fn end_withdrawn(&self, leased: &LeasedTurn, ctx: &TurnContext) -> Result<()> {
        let status = TurnStatus::Cancelled;
        let receipts = self.orchestrator.receipts(ctx, leased.begun()).await?;
        if receipts.is_empty() {
            self.end_silently(leased, ctx, status, WITHDRAWN, Batch::new()).await?;
        } else {
            self.end(leased, ctx, status, receipts.join("\n").into(), Batch::new()).await?;
        }
        let mut asked = questions::of_turn(&self.store, &leased.turn.id).await?;
        asked.dedup_by(|next, question| next.outbox_id == question.outbox_id);
        for question in asked {
            self.events.send(TurnEvent::QuestionClosed(question.outbox_id));
        }
        Ok(())
    }

    async fn turn_context(&self, leased: &LeasedTurn, handle: &Handle) -> Result<TurnContext> {
        let settings = self.settings.current();
        let (here, person, spent) = self.participants(leased, &settings.limits).await?;
        let ledger = self.ledger(settings.clone(), &person.id, &leased.turn.id);
        let is_own = leased.turn.text_taint.is_clean();
        let mut own_text = is_own.then(|| leased.turn.text.clone());
        let is_yes = own_text.as_deref().is_some_and(|text| agrees(text) && !verdicts::is_praise(text));
        if let Some(text) = own_text.as_mut().filter(|_| !leased.is_new()) {
            for change in questions::plan_changes(&self.store, &leased.turn.id, &person.id).await? {
                text.push_str(&format!("\n{change}"));
            }
        }
        // A new turn has the name of its run in its own row.
        let may_be_by = |name: &str| !leased.is_new() || leased.turn.answers.contains(name);
        let may_be_scheduled = may_be_by("schedule:") || may_be_by("watch:");
        let is_scheduled = may_be_scheduled && inbox::is_scheduled(&self.store, &leased.turn.id).await?;
        let found = match may_be_by("watch:") || may_be_by("line:") {
            true => watches::of_turn(&self.store, &leased.turn.id).await?.map(Arc::new),
            false => None,
        };
        let room = match here.shared {
            true => room_rules::of(&self.store, &here.channel, &here.place).await?,
            false => RoomRule::default(),
        };
        let is_addressed = !here.shared || inbox::is_addressed(&self.store, &leased.turn.id).await?;
        Ok(TurnContext {
            store: self.store.clone(),
            turn: TurnFacts {
                id: leased.turn.id.clone(),
                conversation: Arc::new(here),
                zone: self.zone_of(&person),
                person: Arc::new(person),
                settings: settings.clone(),
                is_scheduled,
                found,
                is_addressed,
                is_yes,
                room: Arc::new(room),
            },
            limits: TurnLimits {
                budget: Arc::new(
                    Budget::new(settings.limits.clone(), &spent).paused_by(handle.paused.clone()),
                ),
                ledger: Arc::new(ledger),
                slots: AgentSlots::new(settings.limits.parallel_agents),
            },
            io: TurnIo {
                lease: leased.lease.clone(),
                events: self.events.clone(),
                in_reply_to: Arc::new(Mutex::new(leased.turn.answer_ids())),
                sub_progress: Arc::default(),
            },
            control: TurnControl {
                cancel: handle.cancel.clone(),
                answered: handle.answered.subscribe(),
                asked: Arc::default(),
                asking: Arc::default(),
                steering: match is_scheduled {
                    true => Steering::none(),
                    false => Steering::new(&handle.written, &handle.given_up),
                },
            },
            trust: TurnTrust::new(own_text.as_deref()),
        })
    }

    /// Ends a turn: answer, journal and lane in one commit.
    pub(super) async fn end(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        status: TurnStatus,
        answer: outbox::Message,
        last_writes: Batch,
    ) -> Result<()> {
        let mut batch = leased.lease.release();
        batch.append(last_writes);
        ctx.free_all(&mut batch);
        let is_answer = status == TurnStatus::Completed && self.speaks;
        let aloud = is_answer && inbox::is_spoken(&self.store, &leased.turn.id).await?;
        let answer = outbox::Message { file: answer.file, aloud, ..ctx.message(answer.text, answer.choices) };
        self.close_work(&mut batch, &leased.turn, status, &answer.whole());
        let row = outbox::row(&self.store, &ctx.turn.conversation, &leased.turn, &answer);
        let lock = (self.lock_chat)(&ctx.turn.conversation.id, &row);
        let written = self.write_answer(batch, ctx, (row, &answer), lock).await;
        // It may be committed all the same, and messages that had to wait for the lock hear of its end from nobody else.
        let claimed = written.inspect_err(|_| ctx.wake_delivery())?;
        fail_point("turn-ended");
        self.ended(&leased.turn.id, status);
        match claimed {
            Some(claimed) => {
                fail_point("outbox-claimed");
                self.events.send(TurnEvent::Claimed(Box::new(claimed)));
            }
            None => ctx.wake_delivery(),
        }
        Ok(())
    }

    /// Ends a turn without a word: journal and lane in one commit. Later turns read the note as its answer.
    async fn end_silently(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        status: TurnStatus,
        note: &str,
        last_writes: Batch,
    ) -> Result<()> {
        let mut batch = leased.lease.release();
        batch.append(last_writes);
        ctx.free_all(&mut batch);
        self.close_work(&mut batch, &leased.turn, status, note);
        self.store.write(batch).await?;
        fail_point("turn-ended");
        self.ended(&leased.turn.id, status);
        Ok(())
    }

    /// Writes a turn's end with its answer, which is claimed for sending if its chat is locked and nothing goes before it.
    async fn write_answer(
        &self,
        mut batch: Batch,
        ctx: &TurnContext,
        (row, message): (OutboxRow, &outbox::Message),
        lock: Option<ChatLock>,
    ) -> Result<Option<ClaimedMessage>> {
        let (conversation, owner) = (&ctx.turn.conversation.id, self.instance.owner());
        let Some(lock) = lock else {
            outbox::say(&self.store, &mut batch, conversation, owner, message);
            return self.store.write(batch).await.map(|_| None);
        };
        let (instance, checkpoint) = (lock.instance.clone(), lock.checkpoint.clone());
        let row = OutboxRow { instance, checkpoint, ..row };
        outbox::say_claimed(&mut batch, conversation, &row, owner);
        let is_claimed = outbox::is_claimed(&self.store.write(batch).await?);
        Ok(is_claimed.then(|| ClaimedMessage { conversation: conversation.clone(), row, lock }))
    }

    pub(super) fn ended(&self, turn: &TurnId, status: TurnStatus) {
        metrics::turn_ended(status.as_str());
        self.orchestrator.agents.executor.services.mcp.release(turn);
        self.events.send(TurnEvent::Ended(turn.clone()));
    }

    /// Adds a turn's end and its answer to the batch, and closes everything still open in it.
    pub(super) fn close(
        &self,
        batch: &mut Batch,
        turn: &TurnRow,
        status: TurnStatus,
        answer: &outbox::Message,
    ) {
        self.close_work(batch, turn, status, &answer.whole());
        outbox::say(&self.store, batch, &turn.conversation_id, self.instance.owner(), answer);
    }

    /// The same without the answer's message: `answer` is what later turns read.
    pub(super) fn close_work(&self, batch: &mut Batch, turn: &TurnRow, status: TurnStatus, answer: &str) {
        let now = self.store.now();
        let root = match status {
            TurnStatus::Completed => ExecutionStatus::Completed,
            TurnStatus::Cancelled => ExecutionStatus::Cancelled,
            _ => ExecutionStatus::Failed,
        };
        turns::end(batch, &turn.id, status, answer, now);
        executions::close_all(batch, &turn.id, root, now);
        runs::cancel_all(batch, &turn.id, now);
        questions::withdraw(batch, &turn.id, now);
    }

    /// A line for each call that nobody approved in time, because the model's answer may not mention it.
    async fn expired_approvals(&self, leased: &LeasedTurn, ctx: &TurnContext) -> Result<Vec<String>> {
        if leased.is_new() && !ctx.control.asked.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let asked = questions::of_turn(&self.store, &leased.turn.id).await?;
        let expired = asked.iter().filter(|question| {
            matches!(question.kind, QuestionKind::Approval { .. })
                && question.state == QuestionState::Expired
                && question.answer != Some(Answer::Approve)
        });
        Ok(expired.map(|question| wording::expired(&question.kind)).collect())
    }

    /// The answer of a turn that a person ended, or whose "continue?" nobody answered.
    async fn cancelled(&self, turn: &TurnRow, summary: &StatusSummary) -> Result<String> {
        let asked = questions::of_turn(&self.store, &turn.id).await?;
        let last = asked.into_iter().rfind(|question| question.asks_to_continue());
        Ok(match last.filter(|question| question.state == QuestionState::Expired) {
            Some(question) => wording::expired(&question.kind),
            None => wording::stopped(summary),
        })
    }

    /// Counts a failure in our own code, and puts the turn back or gives it up.
    pub async fn failed(&self, mut leased: LeasedTurn) -> Result<()> {
        leased.turn.failures += 1;
        self.retry_or_give_up(&leased).await
    }
}

/// Whether the next answer is for nothing that a person wrote or pressed.
fn is_unanswered(ctx: &TurnContext) -> bool {
    let is_ours = |id: &String| id.starts_with("schedule:") || id.starts_with("watch:");
    ctx.io.in_reply_to.lock().iter().all(is_ours)
}

/// When the run of a schedule was due that began a turn, if that was more than an hour before.
fn due_before(turn: &TurnRow, zone: Tz) -> Option<String> {
    let due = |id: &String| id.strip_prefix("schedule:")?.rsplit(':').next()?.parse::<i64>().ok();
    let due = turn.answer_ids().iter().find_map(due).filter(|due| turn.started_at - due > 3_600_000)?;
    Some(When::Time(utc(due).with_timezone(&zone).naive_local()).spoken())
}

/// How long a failed turn waits for its retry, in milliseconds.
pub fn back_off(failures: i64) -> i64 {
    match failures {
        1 => 1_000,
        2 => 10_000,
        _ => 60_000,
    }
}
