//! The account of a call: whose it is, which one its row names, and what becomes of the call when the login has ended.

use adjutant_l10n as l10n;
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Batch, Stale, StoreError, asked, executions, outbox};
use adjutant_turn::journal::{Question, Suspend, below_unshown, fail_point};
use adjutant_types::{
    AccountId, AccountService, AccountState, ExecutionStatus, FromConfig, ProviderKind, QuestionId,
    QuestionKind, ours,
};
use serde::{Deserialize, Serialize};

use super::{ActiveCall, Approved, implementation};
use crate::accounts::{CallAccounts, ConnectedAccount};
use crate::builtin::Resource;
use crate::call::CallEnd;
use crate::{ErrorKind, Failure, Handler, Result, Skill, SkillError};

/// A wait for a new login, as the journal stores it with the call.
#[derive(Debug, Serialize, Deserialize)]
struct LoginWait {
    login: AccountId,
    /// The question of another call in this turn, which waits for the same; none: it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<QuestionId>,
}

impl ActiveCall<'_> {
    /// Loads the accounts of the turn's person, if the call may need them.
    pub(super) async fn load_accounts(&mut self) -> Result<(), StoreError> {
        let builtin = self.registry.get(self.call.skill).and_then(|skill| implementation(skill));
        if builtin.is_some_and(|builtin| builtin.uses_accounts()) {
            let mut person = self.executor.services.accounts.of(self.ctx).await?;
            person.narrow(&self.call.grant.accounts);
            self.accounts = match self.is_journalled {
                true => CallAccounts::journalled(person, self.row.account.clone()),
                false => CallAccounts::new(person),
            };
        }
        Ok(())
    }

    /// Whether the row names an account that the person has no more.
    pub(super) fn has_lost_account(&self) -> bool {
        !self.row.account.is_empty() && self.accounts.named().is_none()
    }

    pub(super) async fn check_access(&self, skill: &Skill) -> Result<()> {
        let services = &self.executor.services;
        if skill.is_owners() {
            services.check_owner(self.ctx).await?;
        }
        let Some(builtin) = implementation(skill) else { return Ok(()) };
        match (builtin.needs().service(), builtin.needs()) {
            (Some(service), _) => Ok(self.accounts.all().check(service)?),
            (None, Resource::Notes) => services.check_notes(self.ctx).await,
            // A chat platform itself says who may read what.
            (None, _) => Ok(()),
        }
    }

    /// Chooses the account that the row is going to name, so that the call stays with it whatever its person connects or
    /// disconnects meanwhile.
    pub(super) async fn choose_account(&mut self, skill: &Skill) -> Result<()> {
        let Some(builtin) = implementation(skill).filter(|builtin| builtin.uses_accounts()) else {
            return Ok(());
        };
        if self.is_journalled {
            self.accounts = CallAccounts::new(self.accounts.all().clone());
        }
        let context = self.context(self.effect(skill), false);
        let choose = async {
            let account = builtin.account(&context).await?;
            // An event in our own store still invites by mail.
            let invites = builtin.needs() == Resource::Calendar && builtin.action().is_some();
            Ok::<_, Failure>(match account {
                None if invites => {
                    let mail = context.account_for(AccountService::Mail).ok().flatten();
                    mail.map(|account| account.id.clone())
                }
                account => account,
            })
        };
        let chosen = self.in_time(skill, choose).await?;
        let Some(account) = chosen else { return Ok(()) };
        self.row.account = account.clone();
        self.accounts.choose(account);
        if self.is_journalled {
            let mut batch = self.ctx.batch();
            executions::set_account(&mut batch, &self.row.id, &self.row.account);
            self.ctx.store.write(batch).await?;
        }
        Ok(())
    }

    /// Notes in the commit that ends the call which accounts of people it has used.
    pub(super) fn note_use(&self, batch: &mut Batch) {
        for account in self.used_accounts().iter().filter(|account| !account.is_configured()) {
            connected::used(batch, &account.id, &self.ctx.turn.id, self.ctx.store.now());
        }
    }

    /// The account that the call changes something with, or those that it reads from.
    fn used_accounts(&self) -> Vec<&ConnectedAccount> {
        if let Some(account) = self.accounts.named() {
            return vec![account];
        }
        let skill = self.registry.get(self.call.skill);
        let service = skill.and_then(|skill| implementation(skill)?.needs().service());
        let Some((skill, service)) = skill.zip(service) else { return Vec::new() };
        self.context(self.effect(skill), false).accounts_of(service).unwrap_or_default()
    }

    /// Lets a call wait for a new login, if it failed because the old one has ended and its person can be asked. It waits
    /// once. The question is the news that the login has ended, and is the same for all calls of the turn.
    pub(super) async fn wait_for_login(&mut self, error: &SkillError) -> Result<Option<CallEnd>, StoreError> {
        let (ctx, turn) = (self.ctx, &self.ctx.turn);
        // Nobody waits for the answer of a schedule, and in a workflow its own rules say what becomes of a failure.
        let is_asked = !turn.conversation.shared && !turn.is_scheduled && ctx.trust.workflow.is_empty();
        if error.kind != ErrorKind::Auth || error.unknown || !is_asked || self.has_waited {
            return Ok(None);
        }
        let Some(account) = self.ended_login().await? else { return Ok(None) };
        let topic = connected::end_topic(&ctx.store, &account.id).await?;
        let _asking = ctx.control.asking.lock().await;
        let mut open = questions::waiting_for_login(&ctx.store, &account.id).await?;
        open.retain(|question| question.turn_id == turn.id);
        let question = open.pop().map(|question| question.id);
        let wait = LoginWait { login: account.id.clone(), question };
        let json = serde_json::to_string(&wait).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let mut batch = ctx.batch();
        outbox::announce(&mut batch, &topic, ctx.store.now());
        if account.state == AccountState::Ready {
            connected::set_state(&mut batch, &account.id, AccountState::NeedsLogin);
        }
        if !self.is_journalled {
            self.row.status = ExecutionStatus::Waiting;
            self.row.basis = None;
            executions::insert(&mut batch, &self.row, &turn.conversation.id);
        }
        asked::wait(&mut batch, &self.row.id, &json);
        executions::wait(&mut batch, self.call.agent);
        match &wait.question {
            Some(question) => questions::expect_open(&mut batch, question),
            None => {
                let text = l10n::accounts::log_in_again(&account.label);
                let text = below_unshown(&ctx.store, &turn.id, &mut batch, text).await?;
                let subject = l10n::accounts::log_in_subject(&account.label);
                let options = vec![l10n::connect::done(), l10n::connect::skip()];
                let kind = QuestionKind::Choice { subject, options, draft: None };
                let execution = Some(&self.row.id);
                ctx.ask(&mut batch, Question { kind, execution, text, choices: |_| Vec::new() });
            }
        }
        match self.take_hold(batch).await {
            Ok(()) => {}
            // The account, the question, or what the call stands for, has just changed.
            Err(
                Failure::Skill(_)
                | Failure::Store(StoreError::Stale(Stale::AccountGone | Stale::QuestionClosed)),
            ) => return Ok(None),
            Err(Failure::Store(error)) => return Err(error),
        }
        fail_point("asked");
        ctx.wake_delivery();
        Ok(Some(CallEnd::Suspended(Suspend::ForPerson)))
    }

    /// Notes that a server refuses the login of the only account that a failed call used, of which nobody was asked.
    pub(super) fn note_refusal(&self, error: &SkillError) {
        if let (ErrorKind::Auth, [account], false) =
            (error.kind, self.used_accounts().as_slice(), self.has_waited)
        {
            account.refuse();
        }
    }

    /// The person's own account whose login has ended: the one that the call changes something with, or the first that it
    /// reads from, whose error is the call's.
    async fn ended_login(&self) -> Result<Option<AccountRow>, StoreError> {
        let used = self.used_accounts();
        let first = used.first().filter(|account| !account.is_configured());
        let Some(account) = first else { return Ok(None) };
        let row = connected::by_id(&self.ctx.store, &account.id).await?;
        let row = row.filter(|row| row.person_id.as_ref() == Some(&self.ctx.turn.person.id));
        Ok(row.filter(|row| match row.state {
            AccountState::NeedsLogin => true,
            // Of a password nobody but its server says that it is good no more, and of several it isn't known which server did.
            AccountState::Ready => row.provider == ProviderKind::Password && used.len() == 1,
            AccountState::Disconnecting => false,
        }))
    }

    async fn login_wait(&self) -> Result<Option<LoginWait>, StoreError> {
        let stored = asked::of(&self.ctx.store, &self.row.id).await?;
        Ok(stored.and_then(|stored| serde_json::from_str(&stored).ok()))
    }

    /// The question that the call waits for: its own newest, or that of another call about a new login. A question of its own
    /// that comes after that one is asked before its work begins, so there is no basis yet.
    pub(super) async fn awaited_question(&self) -> Result<Option<QuestionRow>, StoreError> {
        let store = &self.ctx.store;
        let own = questions::of_execution(store, &self.ctx.turn.id, &self.row.id).await?;
        let Some(shared) = self.login_wait().await?.and_then(|wait| wait.question) else { return Ok(own) };
        let shared = questions::by_id(store, &shared).await?;
        let seq = |question: &Option<QuestionRow>| question.as_ref().map(|question| question.seq);
        Ok(if self.row.basis.is_some() || seq(&shared) > seq(&own) { shared } else { own })
    }

    /// The account that a call waits for; none if it waits for something else.
    pub(super) async fn awaited_login(
        &self,
        skill: &Skill,
        question: &QuestionRow,
    ) -> Result<Option<AccountId>, StoreError> {
        let is_login = matches!(question.kind, QuestionKind::Choice { .. });
        if !is_login || !matches!(skill.handler, Handler::Builtin(_)) {
            return Ok(None);
        }
        Ok(self.login_wait().await?.map(|wait| wait.login))
    }

    /// Goes on with a call after its person has logged in again, or doesn't want to.
    pub(super) async fn resume_logged_in(&mut self, skill: &Skill, account: &AccountId) -> Result<CallEnd> {
        self.has_waited = true;
        let row = connected::by_id(&self.ctx.store, account).await?;
        let Some(row) = row.filter(|row| row.state != AccountState::Disconnecting) else {
            return Err(SkillError::not_found(ours!(l10n::accounts::disconnected)).into());
        };
        if row.state == AccountState::NeedsLogin {
            let label = FromConfig(&row.label);
            return Err(SkillError::new(ErrorKind::Auth, ours!(l10n::accounts::login_ended, label)).into());
        }
        if let Some(limit) = self.postpone_if_at_limit().await? {
            return Ok(CallEnd::Suspended(Suspend::AtLimit(limit)));
        }
        // It may have failed while it looked for one.
        if self.row.account.is_empty() {
            self.choose_account(skill).await?;
        }
        match Approved::begun_before_login(&self.row) {
            Some(approved) => self.run_unless_open(skill, &approved).await,
            None => self.decide(skill).await,
        }
    }
}
