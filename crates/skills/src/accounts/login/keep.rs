//! The end of a login: what it grants becomes an account, in one commit; and the end of an account.

use adjutant_chat::Choice;
use adjutant_config::Secret;
use adjutant_l10n::connect;
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::logins::{self, LoginRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::{Batch, Stale, Store, StoreError, control, questions, secrets};
use adjutant_turn::journal::fail_point;
use adjutant_types::{AccountId, AccountService, AccountState, Answer, LoginState, PersonId, ProviderKind};

use super::{Finished, LoginError, Logins};
use crate::accounts::provider::{self, AccountSettings, granted, provider_name, refused, services_in_words};
use crate::oauth::{Reply, Tokens};
use crate::{Failure, Result, SkillError};

/// How often a commit is tried again whose questions were answered at the same moment.
const TRIES: u32 = 5;

pub(in crate::accounts) struct Granted {
    pub(in crate::accounts) address: String,
    pub(in crate::accounts) services: Vec<AccountService>,
    /// The servers of an account by password.
    pub(in crate::accounts) settings: AccountSettings,
    /// The tokens or the password.
    pub(in crate::accounts) secret: Secret,
}

impl Logins {
    /// Connects the account that a provider's reply grants, or tells the person why not.
    pub(super) async fn settle(
        &self,
        login: &LoginRow,
        reply: Result<Reply, SkillError>,
    ) -> Result<Finished, LoginError> {
        fail_point("login-exchanged");
        let found = match reply {
            Ok(reply) => self.grant(login, reply).await,
            Err(error) => Err(error),
        };
        let kept = match found {
            Ok(found) => self.keep(login, &found).await,
            Err(error) => Err(error.into()),
        };
        if let Err(LoginError::Failed(Failure::Skill(error))) = &kept {
            self.refuse(login, connect::failed(error)).await?;
        }
        kept
    }

    async fn grant(&self, login: &LoginRow, reply: Reply) -> Result<Granted, SkillError> {
        let (kind, name) = (login.provider, provider_name(login.provider));
        let services = granted(kind, reply.scope.as_deref());
        if services.is_empty() {
            return Err(refused(connect::nothing_allowed()));
        }
        let Some(connect) = &self.connect else { return Err(refused(connect::not_set_up())) };
        let address = provider::address(connect, kind, &self.http, &reply).await?;
        let now = self.secrets.store()?.now();
        let tokens = Tokens::of(reply, now).ok_or_else(|| refused(connect::no_token(name)))?;
        let (settings, secret) = (AccountSettings::default(), Secret::new(tokens.to_json()));
        Ok(Granted { address, services, settings, secret })
    }

    /// Ends a login with its account: the secret, the row, what the person is told and the answers to what waited for it are
    /// one commit.
    pub(in crate::accounts) async fn keep(
        &self,
        login: &LoginRow,
        granted: &Granted,
    ) -> Result<Finished, LoginError> {
        let store = self.store()?;
        for _ in 0..TRIES {
            match self.try_to_keep(store, login, granted).await {
                Err(LoginError::Failed(Failure::Store(StoreError::Stale(_)))) => {}
                done => return done,
            }
        }
        Err(LoginError::Gone)
    }

    async fn try_to_keep(
        &self,
        store: &Store,
        login: &LoginRow,
        granted: &Granted,
    ) -> Result<Finished, LoginError> {
        let mut own = connected::of_person(store, &login.person_id).await?;
        own.retain(|row| row.person_id.as_ref() == Some(&login.person_id));
        let named = match &login.account_id {
            Some(id) => connected::by_id(store, id).await?,
            None => None,
        };
        let known = known(login, granted, named.as_ref(), &own)?;
        let (now, mut batch) = (store.now(), Batch::new());
        logins::end(&mut batch, &login.id, LoginState::Done, now);
        let (id, mut text) = match known {
            Some(row) => {
                connected::set_state(&mut batch, &row.id, AccountState::Ready);
                connected::set_services(&mut batch, &row.id, &granted.services);
                if login.provider == ProviderKind::Password {
                    let busy_calendars = AccountSettings::read(&row.settings).busy_calendars;
                    let settings = AccountSettings { busy_calendars, ..granted.settings.clone() };
                    connected::set_settings(&mut batch, &row.id, &settings.to_json());
                }
                let services = services_in_words(&granted.services);
                (row.id.clone(), connect::reconnected(&row.address, services))
            }
            None => {
                let row = new_row(login, granted, &own, store);
                connected::insert(&mut batch, &row);
                let services = services_in_words(&granted.services);
                (row.id, connect::connected(&row.address, services, row.label))
            }
        };
        let missing: Vec<AccountService> =
            AccountService::ALL.iter().copied().filter(|one| !granted.services.contains(one)).collect();
        if !missing.is_empty() {
            let missing = services_in_words(&missing);
            let about = match login.provider {
                ProviderKind::Password => connect::unavailable(missing),
                _ => connect::missing(missing),
            };
            text = format!("{text} {about}");
        }
        let name = secrets::name_of(&id);
        secrets::put(&mut batch, &name, &self.secrets.seal(&name, granted.secret.expose()).await?);
        answer_waiting(store, &mut batch, &id, &login.person_id, connect::done()).await?;
        let message = Message {
            text: text.clone(),
            choices: vec![Choice { id: format!("account:{id}"), label: connect::disconnect() }],
            ..Message::default()
        };
        outbox::say(store, &mut batch, &login.conversation_id, &outbox::anybody(), &message);
        store.write(batch).await?;
        Ok(Finished { conversation: login.conversation_id.clone(), account: id, text })
    }

    /// Ends an account: its login at the provider, where that is possible, then its secret and itself. False if it is gone.
    pub async fn disconnect(&self, account: &AccountId) -> Result<bool> {
        let store = self.secrets.store()?;
        let Some(row) = connected::by_id(store, account).await? else { return Ok(false) };
        if row.state != AccountState::Disconnecting {
            let mut batch = Batch::new();
            connected::set_state(&mut batch, account, AccountState::Disconnecting);
            // Somebody else may have begun.
            store.try_write(batch).await?;
        }
        self.revoke(&row).await;
        loop {
            let mut batch = Batch::new();
            let by = row.person_id.clone().unwrap_or_default();
            answer_waiting(store, &mut batch, account, &by, connect::skip()).await?;
            connected::delete(&mut batch, account);
            match store.write(batch).await {
                Ok(_) => return Ok(true),
                Err(StoreError::Stale(Stale::AccountGone)) => return Ok(false),
                // Somebody answered at the same moment.
                Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends the login at the provider. What can't be opened any more is erased all the same.
    async fn revoke(&self, row: &AccountRow) {
        let Some(connect) = &self.connect else { return };
        let Ok(Some((secret, _))) = self.secrets.read(&secrets::name_of(&row.id)).await else { return };
        if let Ok(tokens) = serde_json::from_str::<Tokens>(secret.expose()) {
            let token = tokens.refresh_token.as_ref().unwrap_or(&tokens.access_token);
            provider::revoke(connect, row.provider, &self.http, token).await;
        }
    }
}

/// The account that a login is for: the one that it names, or the person's own with the same address.
fn known<'a>(
    login: &LoginRow,
    granted: &Granted,
    named: Option<&'a AccountRow>,
    own: &'a [AccountRow],
) -> Result<Option<&'a AccountRow>, SkillError> {
    let is_same = |row: &&AccountRow| {
        row.address.eq_ignore_ascii_case(&granted.address) && row.provider == login.provider
    };
    let is_theirs = |row: &&AccountRow| row.person_id.as_ref().is_none_or(|id| *id == login.person_id);
    match named.filter(|row| row.state != AccountState::Disconnecting).filter(is_theirs) {
        Some(row) if !is_same(&row) => Err(refused(connect::other_account(&granted.address, &row.address))),
        Some(row) => Ok(Some(row)),
        None => Ok(own.iter().find(is_same)),
    }
}

/// The row of a new account. The first one for something is the default for it.
fn new_row(login: &LoginRow, granted: &Granted, own: &[AccountRow], store: &Store) -> AccountRow {
    let taken: Vec<String> = own.iter().map(|row| row.label.clone()).collect();
    let domain = granted.address.rsplit('@').next().unwrap_or_default();
    let wanted = match login.provider {
        ProviderKind::Password => domain.split('.').next().unwrap_or_default(),
        kind => kind.as_str(),
    };
    let is_first = |service: AccountService| {
        granted.services.contains(&service) && own.iter().all(|row| !row.services.contains(&service))
    };
    AccountRow {
        person_id: Some(login.person_id.clone()),
        label: connected::free_label(wanted, &taken),
        services: granted.services.clone(),
        settings: granted.settings.to_json(),
        is_mail_default: is_first(AccountService::Mail),
        is_events_default: is_first(AccountService::Calendar),
        created_at: store.now(),
        ..AccountRow::new(store.new_id(), login.provider, &granted.address)
    }
}

/// Answers what waits for a login of this account.
async fn answer_waiting(
    store: &Store,
    batch: &mut Batch,
    account: &AccountId,
    by: &PersonId,
    answer: String,
) -> Result<(), StoreError> {
    let (answer, now) = (Answer::Text(answer), store.now());
    for question in questions::waiting_for_login(store, account).await? {
        questions::answer(batch, &question.id, &answer, by, now);
        control::go_on(batch, &question, Some(&answer), &outbox::anybody(), now);
    }
    Ok(())
}
