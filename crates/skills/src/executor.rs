//! The one path of every skill call.
//!
//! granted, valid (`granted`) → budget, breaker (`begin`) → preview, risk (`decide`) → row `running` (`run`), or `waiting`
//! for a person (`ask`) → closed (`close`). Properties:
//!
//! - A skill on our own store does its effect and closes the row in one commit, so a crash leaves both or neither,
//!   and the call is simply made again.
//! - Any other call's row is `running` before its work starts. Found like that after a crash, the call is made again
//!   if its effect allows, else its outcome is unknown, and nobody repeats it.
//! - An approval is bound to the row and its exact arguments; it is looked up, never carried in memory.
//! - A call stays with the account that its row names.
//! - A refused call has its row too.

mod accounts;
mod approval;
mod approval_policy;
mod as_new;
mod asking;
mod links;
mod permissions;
mod provenance;
mod replacing;
mod wishes;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

pub use approval::Approved;
use approval_policy::Judgement;
pub use permissions::{offered, reach};
pub use wishes::is_offer;
pub(crate) use wishes::{mail_id, of_words};

use adjutant_l10n as l10n;
use adjutant_models::SharedModel;
use adjutant_sandbox::Launcher;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{Batch, Stale, StoreError, rules};
use adjutant_turn::journal::{Suspend, TurnContext, fail_point};
use adjutant_turn::trust::Target;
use adjutant_turn::wording;
use adjutant_types::{Allowance, Basis, ExecutionStatus, FromConfig, Own, metrics, ours};

use super::accounts::CallAccounts;
use super::breaker::Breakers;
use super::builtin::{self, BuiltinSkill, CallContext, Idempotency, Preview, Services};
use super::call::{Call, CallEnd, CallReport, Outcome, new_row, report};
use super::handlers::mcp::{Asked, WorkResult};
use super::{ErrorKind, Failure, Handler, Registry, Result, Skill, SkillError};

/// How often a call on our own store is worked out anew when somebody else changes the same thing.
const CONFLICTS: u32 = 3;

/// The error of an effect that a message of the person overtook.
pub const WROTE_AGAIN: &str = "not done, because the person has just written again; unless that changes it, it is to be dispatched once more";

pub struct Executor {
    /// The folder for the commands' working directories.
    pub work_dir: PathBuf,
    pub launcher: Launcher,
    pub services: Arc<Services>,
    pub breakers: Breakers,
    /// Reads what a person asked for; none where every model is basic mode.
    pub intent: Option<SharedModel>,
}

impl Executor {
    /// Makes one skill call, or goes on with one that is in the journal (`existing`). If the store fails or the lease
    /// is lost, the call is as the journal says.
    pub async fn call(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
        existing: Option<ExecutionRow>,
    ) -> Result<CallEnd, StoreError> {
        if let Some(row) = existing.as_ref().filter(|row| row.status.has_ended()) {
            return Ok(CallEnd::Done(Box::new(report(row))));
        }
        match replacing::stands_for_another(registry, call) {
            true => self.replace(ctx, registry, call, existing).await,
            false => self.make(ctx, registry, call, existing).await,
        }
    }

    /// Asks a person about a call whose turn hasn't come yet, if it needs that. Everything else waits until then.
    pub async fn ask_ahead(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
    ) -> Result<(), StoreError> {
        let mut active = ActiveCall { is_ahead: true, ..ActiveCall::new(self, ctx, registry, call, None) };
        match active.make().await {
            Ok(_) | Err(Failure::Skill(_)) => Ok(()),
            Err(Failure::Store(error)) => Err(error),
        }
    }

    pub async fn refuse(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
        error: SkillError,
    ) -> Result<CallEnd, StoreError> {
        let active = ActiveCall::new(self, ctx, registry, call, None);
        active.close(error.into(), Batch::new()).await
    }

    async fn make(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
        existing: Option<ExecutionRow>,
    ) -> Result<CallEnd, StoreError> {
        let mut active = ActiveCall::new(self, ctx, registry, call, existing);
        let end = match active.make().await {
            Ok(end) => end,
            Err(Failure::Skill(error)) => match active.wait_for_login(&error).await? {
                Some(end) => end,
                None => {
                    active.note_refusal(&error);
                    active.close(error.into(), Batch::new()).await?
                }
            },
            Err(Failure::Store(error)) => return Err(error),
        };
        self.services.accounts.end_refused(&ctx.store, &active.accounts.all().all).await?;
        Ok(end)
    }
}

struct ActiveCall<'a> {
    executor: &'a Executor,
    ctx: &'a TurnContext,
    registry: &'a Registry,
    call: &'a Call<'a>,
    row: ExecutionRow,
    is_journalled: bool,
    /// Whether a call before it isn't done yet: then a person may be asked, and nothing else happens.
    is_ahead: bool,
    targets: OnceCell<Vec<Target>>,
    /// The narrowest rule that allows the call in advance, loaded on first use.
    allowance: OnceCell<Option<Allowance>>,
    /// Whether the call writes a draft of its turn anew, loaded on first use.
    redoes: OnceCell<bool>,
    /// The questions of the call's server, with a person's answers.
    asked: Option<Asked>,
    accounts: CallAccounts,
    /// Whether the call has waited for a new login.
    has_waited: bool,
    /// Whether a basis is in the journal, so that a rule was spent with it.
    has_spent: bool,
}

impl<'a> ActiveCall<'a> {
    /// A call with its row, if it has one in the journal.
    fn new(
        executor: &'a Executor,
        ctx: &'a TurnContext,
        registry: &'a Registry,
        call: &'a Call<'a>,
        existing: Option<ExecutionRow>,
    ) -> Self {
        let is_journalled = existing.is_some();
        let row = existing.unwrap_or_else(|| new_row(ctx, call));
        Self {
            executor,
            ctx,
            registry,
            call,
            is_journalled,
            has_spent: row.basis.is_some(),
            row,
            is_ahead: false,
            targets: OnceCell::new(),
            allowance: OnceCell::new(),
            redoes: OnceCell::new(),
            asked: None,
            accounts: CallAccounts::default(),
            has_waited: false,
        }
    }

    async fn make(&mut self) -> Result<CallEnd> {
        self.load_accounts().await?;
        let skill = self.granted()?;
        if !self.is_journalled {
            return self.begin(&skill).await;
        }
        if self.has_lost_account() {
            return Err(match self.row.status {
                ExecutionStatus::Running => SkillError::unknown_outcome().into(),
                _ => SkillError::not_found(ours!(l10n::accounts::disconnected)).into(),
            });
        }
        // A row is journalled when its work begins or when a person is asked. One that is pending was approved, and
        // then had to wait for a limit.
        if matches!(self.row.status, ExecutionStatus::Waiting | ExecutionStatus::Pending) {
            return self.resume_answered(&skill).await;
        }
        match Approved::before_a_crash(&self.row) {
            Some(approved) if self.effect(&skill) != Idempotency::Once => self.run(&skill, &approved).await,
            _ => Err(SkillError::unknown_outcome().into()),
        }
    }

    async fn begin(&mut self, skill: &Skill) -> Result<CallEnd> {
        self.check_news(skill)?;
        if !self.is_ahead
            && let Err(limit) = self.ctx.limits.budget.take_skill_call()
        {
            return Ok(CallEnd::Suspended(Suspend::AtLimit(limit)));
        }
        let breaker = self.executor.breakers.peek(&skill.name, self.ctx.store.now());
        breaker.map_err(|wait| circuit_open(&skill.name, wait))?;
        self.decide(skill).await
    }

    /// Runs a call, or asks about it, or refuses it.
    async fn decide(&mut self, skill: &Skill) -> Result<CallEnd> {
        self.check_access(skill).await?;
        if !self.is_journalled {
            self.choose_account(skill).await?;
        }
        let preview = self.preview(skill).await?;
        let judgement = self.judge(skill, &preview).await?;
        let is_asked = matches!(judgement, Judgement::Ask(_));
        if self.is_ahead && (!is_asked || self.ctx.limits.budget.take_skill_call().is_err()) {
            return Ok(CallEnd::Suspended(Suspend::ForPerson));
        }
        // A server's preview, or what reads the person's wishes, may have taken its time.
        if let Err(overtaken) = self.check_news(skill) {
            if let Judgement::Run(basis) = &judgement {
                self.give_back(basis);
            }
            return Err(overtaken.into());
        }
        match judgement {
            Judgement::Run(basis) => {
                self.row.basis = Some(basis);
                match self.run_unless_open(skill, &Approved::by_policy()).await {
                    // The rule ended in this moment, before anything was done.
                    Err(Failure::Store(StoreError::Stale(Stale::RuleEnded))) => {
                        self.row.basis = None;
                        self.ask(skill, preview, None).await
                    }
                    end => end,
                }
            }
            Judgement::Ask(reason) => self.ask(skill, preview, reason).await,
            Judgement::Deny => {
                let message = ours!(l10n::skills::denied, FromConfig(&skill.name));
                Err(SkillError::new(ErrorKind::Permission, message).into())
            }
        }
    }

    /// Holds an effect back if the person has written something that goes before it. What stays in our own store can be
    /// undone.
    fn check_news(&self, skill: &Skill) -> Result<(), SkillError> {
        let is_overtaken = self.ctx.control.steering.has_news()
            && skill.has_effect()
            && self.effect(skill) != Idempotency::OwnStore;
        if is_overtaken { Err(SkillError::new(ErrorKind::Overtaken, WROTE_AGAIN)) } else { Ok(()) }
    }

    fn effect(&self, skill: &Skill) -> Idempotency {
        match implementation(skill) {
            Some(builtin) => builtin.effect(self.accounts.all()),
            None if skill.repeatable => Idempotency::Repeatable,
            None => Idempotency::Once,
        }
    }

    fn context(&self, effect: Idempotency, is_retry: bool) -> CallContext<'_> {
        CallContext {
            ctx: self.ctx,
            services: &self.executor.services,
            accounts: &self.accounts,
            registry: self.registry,
            intent: self.executor.intent.as_ref(),
            execution: &self.row.id,
            agent: self.call.agent,
            effect,
            is_retry,
            arguments: self.call.arguments,
            taint: &self.call.taint,
        }
    }

    fn timeout(&self, skill: &Skill) -> Duration {
        skill.timeout.unwrap_or(self.ctx.limits.budget.limits.skill_timeout)
    }

    /// The effect that a call would have, where that is more than its arguments say.
    async fn preview(&self, skill: &Skill) -> Result<Preview> {
        let Some(builtin) = implementation(skill) else { return Ok(Preview::default()) };
        let context = self.context(self.effect(skill), false);
        self.in_time(skill, builtin.preview(&context)).await
    }

    /// Does something that a call needs before its work begins, within the call's time.
    async fn in_time<T>(&self, skill: &Skill, work: impl Future<Output = Result<T>>) -> Result<T> {
        let timeout = self.timeout(skill);
        let done = tokio::time::timeout(timeout, work).await;
        let done = done.unwrap_or_else(|_| Err(timed_out(&skill.name, timeout).into()));
        done.map_err(|failure| match failure {
            // Nothing was done yet.
            Failure::Skill(error) => SkillError { unknown: false, ..error }.into(),
            failure => failure,
        })
    }

    async fn run_unless_open(&mut self, skill: &Skill, approved: &Approved) -> Result<CallEnd> {
        let breaker = self.executor.breakers.check(&skill.name, self.ctx.store.now());
        breaker.map_err(|wait| circuit_open(&skill.name, wait))?;
        self.run(skill, approved).await
    }

    async fn run(&mut self, skill: &Skill, approved: &Approved) -> Result<CallEnd> {
        let (ctx, breakers) = (self.ctx, &self.executor.breakers);
        self.row.started_at.get_or_insert_with(|| ctx.store.now());
        let effect = self.effect(skill);
        if effect == Idempotency::OwnStore
            && let Some(builtin) = implementation(skill)
        {
            return self.run_on_own_store(skill, builtin, approved).await;
        }
        let is_retry = self.row.status == ExecutionStatus::Running;
        self.journal_start().await?;
        fail_point("skill-running");
        if !ctx.io.lease.heartbeat.is_fresh() {
            // Another process may take this turn at any moment, and would find the call running.
            return Err(StoreError::Stale(Stale::LeaseLost).into());
        }
        let done = self.work(skill, self.context(effect, is_retry), approved).await;
        fail_point("skill-worked");
        // A stop by a person, or what they write, says nothing about the service.
        let is_overtaken = matches!(&done, Err(error) if error.kind == ErrorKind::Overtaken);
        if !is_overtaken && !ctx.control.cancel.is_cancelled() {
            breakers.record(&skill.name, done.as_ref().err().map(|error| error.kind), ctx.store.now());
        }
        let (mut output, mut writes) = match done? {
            (WorkResult::Done(output), writes) => (output, writes),
            (WorkResult::Asks(asked), _) => return self.ask_for_server(skill, &asked).await,
        };
        self.row.taint = self.read_sources(skill, &mut output).await?;
        self.mark_stored(skill, &output, &mut writes).await?;
        Ok(self.close(Outcome::Completed(output), writes).await?)
    }

    async fn journal_start(&mut self) -> Result<()> {
        let (ctx, now) = (self.ctx, self.ctx.store.now());
        let mut batch = ctx.batch();
        self.spend_rule(&mut batch);
        if self.is_journalled {
            executions::start(&mut batch, &self.row.id, now);
            self.record_basis(&mut batch);
        } else {
            self.row.status = ExecutionStatus::Running;
            executions::insert(&mut batch, &self.row, &ctx.turn.conversation.id);
        }
        if self.is_journalled || self.call.direct {
            executions::start(&mut batch, self.call.agent, now);
        }
        self.take_hold(batch).await?;
        self.is_journalled = true;
        Ok(())
    }

    /// A row that waited for a yes was journalled before anything allowed it.
    fn record_basis(&self, batch: &mut Batch) {
        if let Some(basis) = &self.row.basis {
            executions::set_basis(batch, &self.row.id, basis);
        }
    }

    /// Counts the call under the rule that allows it, in the commit that begins it; not once more when it goes on.
    fn spend_rule(&self, batch: &mut Batch) {
        if let (Some(Basis::Rule(rule)), false) = (&self.row.basis, self.has_spent) {
            rules::spend(batch, rule, self.ctx.store.now());
        }
    }

    /// The effect and the end of the row in one commit. When somebody else changed what the effect is based on, it is worked out again.
    async fn run_on_own_store(
        &mut self,
        skill: &Skill,
        builtin: &dyn BuiltinSkill,
        approved: &Approved,
    ) -> Result<CallEnd> {
        for _ in 0..CONFLICTS {
            let mut writes = Batch::new();
            self.spend_rule(&mut writes);
            let mut output =
                builtin.run(&self.context(Idempotency::OwnStore, false), approved, &mut writes).await?;
            self.row.taint = self.read_sources(skill, &mut output).await?;
            self.mark_stored(skill, &output, &mut writes).await?;
            self.withdraw_replaced(&mut writes).await?;
            match self.close(Outcome::Completed(output), writes).await {
                Err(StoreError::Stale(why)) if why.is_content() => {}
                end => return Ok(end?),
            }
        }
        Err(SkillError::tool(ours!(l10n::skills::conflict)).into())
    }

    /// Writes how a call ended, its effect on our own store, and the end of a direct agent, in one commit.
    async fn close(&self, mut outcome: Outcome, writes: Batch) -> Result<CallEnd, StoreError> {
        let Self { ctx, call, row, .. } = self;
        let now = ctx.store.now();
        let taint = self.error_taint(&mut outcome).await?;
        let is_ours = matches!(&outcome, Outcome::Completed(output) if output.ours);
        // A list of tasks holds none of the words that found it.
        let is_list = call.skill == "tasks.search"
            && matches!(&outcome, Outcome::Completed(output) if output.data["items"].get(0).is_some());
        let is_own = is_ours && (is_list || self.says_own().await?);
        let (status, mut closing) = outcome.closing(call.skill);
        closing.started_at = row.started_at;
        closing.taint = taint;
        let ended = row.closed(status, &closing, now);
        let mut batch = ctx.batch();
        batch.append(writes);
        if self.is_journalled {
            executions::close(&mut batch, &row.id, status, &closing, now);
            self.record_basis(&mut batch);
        } else {
            executions::insert(&mut batch, &ended, &ctx.turn.conversation.id);
            if let Some(undo) = &closing.undo {
                executions::set_undo(&mut batch, &row.id, undo);
            }
        }
        if call.direct {
            executions::close(&mut batch, call.agent, status, &closing, now);
        }
        if status == ExecutionStatus::Completed {
            self.note_use(&mut batch);
        }
        fail_point("skill-before-close");
        ctx.store.write(batch).await?;
        if let (ExecutionStatus::Failed, Some(basis)) = (status, &row.basis) {
            self.give_back(basis);
        }
        fail_point("skill-closed");
        // A model may make up any name; those that are granted exist.
        let is_granted = call.grant.skills.iter().any(|granted| granted == call.skill);
        metrics::skill_call_ended(if is_granted { call.skill } else { "unknown" }, status.as_str());
        Ok(CallEnd::Done(Box::new(CallReport { is_own, ..report(&ended) })))
    }
}

/// The code of a built-in skill.
fn implementation(skill: &Skill) -> Option<&'static dyn BuiltinSkill> {
    match &skill.handler {
        Handler::Builtin(name) => builtin::find(name),
        _ => None,
    }
}

fn timed_out(skill: &str, timeout: Duration) -> SkillError {
    let message = ours!(l10n::skills::late, FromConfig(skill), Own(wording::duration(timeout)));
    SkillError::new(ErrorKind::Timeout, message)
}

fn circuit_open(skill: &str, wait_ms: i64) -> SkillError {
    let seconds = wait_ms.unsigned_abs().div_ceil(1000);
    let message = ours!(l10n::skills::paused, FromConfig(skill), seconds);
    SkillError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..SkillError::new(ErrorKind::CircuitOpen, message)
    }
}
