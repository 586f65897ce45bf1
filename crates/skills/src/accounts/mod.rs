//! The accounts of people at providers of mail, calendars and contacts: whose they are, how they are connected, and which
//! one a call uses.
//!
//! Property: no call touches an account that the person of its turn doesn't have, and none but shared ones in a room with
//! others.

mod choice;
mod clients;
mod discovery;
mod login;
mod password;
mod provider;
mod rows;
mod sealing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use adjutant_config::{ConnectConfig, People};
use adjutant_l10n as l10n;
use adjutant_store::connected::{self, AccountRow, is_label};
use adjutant_store::{Batch, Store, StoreError, people, secrets};
use adjutant_turn::journal::TurnContext;
use adjutant_types::{AccountId, AccountService, AccountState, PersonId, ProviderKind, ours};
use moka::future::Cache;

pub use choice::CallAccounts;
pub use clients::{AddressBooks, Calendars, Inbox, MailSource, PushSignal, Sender};
pub use discovery::{app_password_page, is_open_to_all};
pub use login::{
    Begun, Bringer, Due, Finished, LIFETIME_MS, LOOPBACK, LoginError, Logins, Offer, Opened, ProviderReply,
    back_at, carries_code,
};
pub use password::looks_like_password;
pub use provider::{AccountSettings, MailHost, provider_name, services_in_words};
pub(crate) use rows::clients;
pub use sealing::{SecretStore, SecretsError};

use crate::builtin::{CalendarAccount, ContactsAccount, Mailbox};
use crate::{ErrorKind, SkillError};

/// How long clients are kept that nobody uses.
const IDLE: Duration = Duration::from_mins(10);
/// How often it is looked whether there are accounts in the store, where people can't connect any.
const LOOK_MS: i64 = 60_000;
/// Accounts that weren't used for so long are left alone.
const LATELY_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// An account as a call uses it. Cheap to clone.
#[derive(Clone, Default)]
pub struct ConnectedAccount {
    /// Those of the configuration are `config:mail`, `config:calendar` and `config:contacts`.
    pub id: AccountId,
    /// What its people call it.
    pub label: String,
    pub provider: ProviderKind,
    pub address: String,
    /// Whether it may be used in rooms.
    pub is_shared: bool,
    pub is_mail_default: bool,
    pub is_events_default: bool,
    /// The calendars that count for free and busy; none: all.
    pub busy_calendars: Option<Vec<String>>,
    pub mail: Option<Arc<Mailbox>>,
    pub calendar: Option<Arc<CalendarAccount>>,
    pub contacts: Option<Arc<ContactsAccount>>,
    /// Whether its server has refused the login that its clients have.
    pub is_refused: Arc<AtomicBool>,
}

impl ConnectedAccount {
    /// One of the configuration, without its client.
    pub fn configured(service: AccountService, label: &str, address: &str) -> Self {
        Self {
            id: format!("config:{service}").into(),
            label: label.to_owned(),
            provider: ProviderKind::Password,
            address: address.to_owned(),
            is_shared: true,
            ..Self::default()
        }
    }

    /// Notes that its server has refused its login.
    pub(crate) fn refuse(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    pub fn is_configured(&self) -> bool {
        self.id.starts_with("config:")
    }

    /// By its label, its address or its provider.
    fn is_called(&self, name: &str) -> bool {
        [self.label.as_str(), self.address.as_str(), self.provider.as_str()]
            .iter()
            .any(|own| is_label(own, name))
    }

    pub fn has(&self, service: AccountService) -> bool {
        match service {
            AccountService::Mail => self.mail.is_some(),
            AccountService::Calendar => self.calendar.is_some(),
            AccountService::Contacts => self.contacts.is_some(),
        }
    }
}

/// The accounts that a turn's person can use where the turn takes place.
#[derive(Clone, Default)]
pub struct PersonAccounts {
    pub all: Vec<ConnectedAccount>,
    /// Those whose login has ended; they are in `all`, too.
    pub needs_login: Vec<AccountId>,
    /// Those that the person has only where nobody else reads.
    pub elsewhere: Vec<AccountRow>,
    /// What the person has, but not the agent's role.
    pub beyond_role: Vec<AccountService>,
    /// What others have by the configuration, but not this person.
    pub of_others: Vec<AccountService>,
    pub may_connect: bool,
}

impl PersonAccounts {
    pub fn with(&self, service: AccountService) -> impl Iterator<Item = &ConnectedAccount> {
        self.all.iter().filter(move |account| account.has(service))
    }

    pub fn has(&self, service: AccountService) -> bool {
        self.with(service).next().is_some()
    }

    /// Whether there are several of one service, so that a call may have to name one.
    pub fn has_several(&self) -> bool {
        AccountService::ALL.iter().any(|service| self.with(*service).nth(1).is_some())
    }

    /// Refuses what the person has no account for here, if our own store isn't to be used instead.
    pub fn check(&self, service: AccountService) -> Result<(), SkillError> {
        let why = if self.has(service) {
            return Ok(());
        } else if self.elsewhere.iter().any(|row| row.services.contains(&service)) {
            ours!(l10n::accounts::ask_in_private)
        } else if self.beyond_role.contains(&service) {
            ours!(l10n::accounts::beyond_role)
        } else if !self.of_others.contains(&service) {
            return Ok(());
        } else if self.may_connect {
            ours!(l10n::accounts::not_connected)
        } else {
            ours!(l10n::accounts::only_owners)
        };
        Err(SkillError::new(ErrorKind::Permission, why))
    }

    /// Leaves out the accounts that one of these lists of a role doesn't name.
    pub(crate) fn narrow(&mut self, lists: &[Vec<String>]) {
        let is_named =
            |account: &ConnectedAccount, names: &[String]| names.iter().any(|name| account.is_called(name));
        let is_kept = |account: &ConnectedAccount| lists.iter().all(|names| is_named(account, names));
        let (kept, beyond): (Vec<_>, Vec<_>) = std::mem::take(&mut self.all).into_iter().partition(is_kept);
        self.all = kept;
        let is_beyond = |service: &AccountService| beyond.iter().any(|account| account.has(*service));
        self.beyond_role = AccountService::ALL.iter().copied().filter(is_beyond).collect();
    }

    /// Whether skills that need this service are of no use to the person, now or after connecting an account.
    pub(crate) fn hides(&self, service: AccountService) -> bool {
        self.of_others.contains(&service) && !self.may_connect && self.check(service).is_err()
    }
}

/// The accounts of everybody: those of the configuration, and those in the store.
pub struct Accounts {
    /// Those of the configuration, and whose they are.
    configured: Vec<(ConnectedAccount, People)>,
    connect: Option<ConnectConfig>,
    secrets: Arc<SecretStore>,
    /// The clients of those in the store that are in use.
    in_use: Cache<AccountId, Arc<InUse>>,
    has_rows: AtomicBool,
    /// When it is looked again whether there are any in the store.
    next_look: AtomicI64,
}

struct InUse {
    row: AccountRow,
    version: i64,
    account: ConnectedAccount,
}

impl InUse {
    fn fits(&self, row: &AccountRow, version: i64) -> bool {
        let made = &self.row;
        self.version == version
            && made.provider == row.provider
            && made.state == row.state
            && made.address == row.address
            && made.services == row.services
            && made.settings == row.settings
    }

    /// The account with what its person may have changed since.
    fn with_choices(&self, row: &AccountRow) -> ConnectedAccount {
        ConnectedAccount {
            label: row.label.clone(),
            is_shared: row.person_id.is_none(),
            is_mail_default: row.is_mail_default,
            is_events_default: row.is_events_default,
            ..self.account.clone()
        }
    }
}

impl Default for Accounts {
    fn default() -> Self {
        Self::with(Vec::new(), None, Arc::default())
    }
}

impl Accounts {
    /// These of the configuration, and those in the store.
    pub fn with(
        configured: Vec<(ConnectedAccount, People)>,
        connect: Option<ConnectConfig>,
        secrets: Arc<SecretStore>,
    ) -> Self {
        let in_use = Cache::builder().time_to_idle(IDLE).build();
        let (has_rows, next_look) = (AtomicBool::new(false), AtomicI64::new(0));
        Self { configured, connect, secrets, in_use, has_rows, next_look }
    }

    /// The configuration's account of this service.
    pub fn configured(&self, service: AccountService) -> Option<&ConnectedAccount> {
        self.configured.iter().map(|(account, _)| account).find(|account| account.has(service))
    }

    /// What an owner has by the configuration.
    pub fn of_owners(&self) -> PersonAccounts {
        let all = self.configured.iter().map(|(account, _)| account.clone()).collect();
        PersonAccounts { all, ..PersonAccounts::default() }
    }

    /// Accounts in the store have come, gone or changed.
    pub fn changed(&self) {
        self.has_rows.store(true, Ordering::Relaxed);
        self.in_use.invalidate_all();
    }

    /// Ends the logins of those that take their password no more, which only their servers know. Their people are told of
    /// that in private, once.
    pub async fn end_refused(&self, store: &Store, accounts: &[ConnectedAccount]) -> Result<(), StoreError> {
        for account in accounts {
            let is_by_password = account.provider == ProviderKind::Password && !account.is_configured();
            if !is_by_password || !account.is_refused.swap(false, Ordering::Relaxed) {
                continue;
            }
            // Not if somebody has given another one since.
            let Some(used) = self.in_use.get(&account.id).await else { continue };
            if !Arc::ptr_eq(&used.account.is_refused, &account.is_refused) {
                continue;
            }
            let mut batch = Batch::new();
            secrets::expect_version(&mut batch, &secrets::name_of(&account.id), used.version);
            connected::set_state(&mut batch, &account.id, AccountState::NeedsLogin);
            store.try_write(batch).await?;
        }
        Ok(())
    }

    /// What the person of a turn has where it takes place.
    pub async fn of(&self, ctx: &TurnContext) -> Result<PersonAccounts, StoreError> {
        let mut person = self.configured_for(ctx).await?;
        if !self.may_have_rows(&ctx.store).await? {
            return Ok(person);
        }
        for row in connected::of_person(&ctx.store, &ctx.turn.person.id).await? {
            if ctx.turn.conversation.shared && row.person_id.is_some() {
                person.elsewhere.push(row);
                continue;
            }
            let Some(account) = self.account(&ctx.store, &row).await? else { continue };
            if row.state == AccountState::NeedsLogin {
                person.needs_login.push(row.id);
            }
            person.all.push(account);
        }
        Ok(person)
    }

    /// Everybody's accounts of this service that were used lately, for what happens without anybody's turn.
    pub async fn all_with(
        &self,
        store: &Store,
        service: AccountService,
    ) -> Result<Vec<ConnectedAccount>, StoreError> {
        let mut all: Vec<ConnectedAccount> = self.configured(service).cloned().into_iter().collect();
        if !self.may_have_rows(store).await? {
            return Ok(all);
        }
        let since = store.now() - LATELY_MS;
        for row in connected::all_with(store, service).await? {
            if row.used_at.is_some_and(|at| at >= since) {
                all.extend(self.account(store, &row).await?.filter(|account| account.has(service)));
            }
        }
        Ok(all)
    }

    /// An account that a person has, for what happens without anybody's turn; none if they don't have it.
    pub async fn for_watch(
        &self,
        store: &Store,
        owners: &[String],
        person: &PersonId,
        id: &AccountId,
    ) -> Result<Option<ConnectedAccount>, StoreError> {
        if let Some((account, people)) = self.configured.iter().find(|(account, _)| account.id == *id) {
            return Ok(admits_anyhow(store, owners, person, people).await?.then(|| account.clone()));
        }
        let rows = connected::of_person(store, person).await?;
        let Some(row) = rows.iter().find(|row| row.id == *id) else { return Ok(None) };
        self.account(store, row).await
    }

    /// The accounts of the configuration that a person has.
    pub async fn configured_of(
        &self,
        store: &Store,
        owners: &[String],
        person: &PersonId,
    ) -> Result<Vec<&ConnectedAccount>, StoreError> {
        let mut all = Vec::new();
        for (account, people) in &self.configured {
            if admits_anyhow(store, owners, person, people).await? {
                all.push(account);
            }
        }
        Ok(all)
    }

    async fn configured_for(&self, ctx: &TurnContext) -> Result<PersonAccounts, StoreError> {
        let mut person = PersonAccounts::default();
        let is_for_all = self.configured.iter().all(|(_, people)| *people == People::Everybody);
        let is_owner = !is_for_all && is_owner(ctx).await?;
        for (account, people) in &self.configured {
            if admits(&ctx.store, &ctx.turn.person.id, people, is_owner).await? {
                person.all.push(account.clone());
            } else {
                person.of_others.extend(AccountService::ALL.iter().filter(|service| account.has(**service)));
            }
        }
        if let Some(connect) = self.connect.as_ref().filter(|_| !person.of_others.is_empty()) {
            person.may_connect = admits(&ctx.store, &ctx.turn.person.id, &connect.people, is_owner).await?;
        }
        Ok(person)
    }

    /// Whether there may be accounts in the store. Where nobody can connect one, that is hardly ever asked.
    async fn may_have_rows(&self, store: &Store) -> Result<bool, StoreError> {
        if self.connect.is_some() || self.has_rows.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let now = store.now();
        if now < self.next_look.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let has_rows = connected::any(store).await?;
        self.has_rows.store(has_rows, Ordering::Relaxed);
        self.next_look.store(now + LOOK_MS, Ordering::Relaxed);
        Ok(has_rows)
    }

    /// The account of a row; none if it can't be used as the configuration is.
    async fn account(&self, store: &Store, row: &AccountRow) -> Result<Option<ConnectedAccount>, StoreError> {
        let version = password_version(store, row).await?;
        if let Some(found) = self.in_use.get(&row.id).await.filter(|found| found.fits(row, version)) {
            return Ok(Some(found.with_choices(row)));
        }
        let (credential, is_lasting) = self.credential(row).await;
        let mut account = match clients(row, credential, self.connect.as_ref()) {
            Ok(account) => account,
            Err(error) => {
                tracing::warn!(account = %row.id, %error, "an account can't be used");
                return Ok(None);
            }
        };
        if let (Some(id), Some(mail)) = (&row.person_id, account.mail.as_mut().and_then(Arc::get_mut)) {
            mail.from.name = Some(people::person_by_id(store, id).await?.name);
        }
        let made = Arc::new(InUse { row: row.clone(), version, account });
        let account = made.with_choices(row);
        if is_lasting {
            self.in_use.insert(row.id.clone(), made).await;
        }
        Ok(Some(account))
    }
}

/// Which password an account has now: another instance may have been given a new one. Tokens are read when they are needed.
async fn password_version(store: &Store, row: &AccountRow) -> Result<i64, StoreError> {
    if row.provider != ProviderKind::Password {
        return Ok(0);
    }
    Ok(secrets::get(store, &secrets::name_of(&row.id)).await?.map_or(0, |secret| secret.version))
}

/// Whether an owner speaks, or somebody who sits at the machine.
pub(crate) async fn is_owner(ctx: &TurnContext) -> Result<bool, StoreError> {
    Ok(ctx.turn.conversation.channel == "console" || ctx.is_owners().await?)
}

/// The same where there is no turn.
///
/// # Errors
/// The store's.
pub async fn is_at_home(store: &Store, owners: &[String], person: &PersonId) -> Result<bool, StoreError> {
    let at = people::accounts(store, person).await?;
    Ok(at.iter().any(|at| owners.contains(at) || at.starts_with("console:")))
}

/// Whether a person is among these, wherever they write.
async fn admits_anyhow(
    store: &Store,
    owners: &[String],
    person: &PersonId,
    people: &People,
) -> Result<bool, StoreError> {
    let is_owner = is_at_home(store, owners, person).await?;
    admits(store, person, people, is_owner).await
}

async fn admits(
    store: &Store,
    person: &PersonId,
    people: &People,
    is_owner: bool,
) -> Result<bool, StoreError> {
    Ok(match people {
        People::Everybody => true,
        People::Owners => is_owner,
        People::Listed(listed) => is_owner || people::is_owner(store, person, listed).await?,
    })
}

#[cfg(test)]
mod tests {
    use adjutant_config::SecretsConfig;
    use adjutant_test_support::journal::TestStore;

    use super::*;

    #[tokio::test]
    async fn a_password_that_another_instance_was_given_is_used_from_then_on() {
        let test = TestStore::open().await;
        let key = test.folder.path().join("secrets.key");
        let secrets = Arc::new(SecretStore::with(SecretsConfig::File(key)));
        secrets.attach(&test.store);
        let row = AccountRow {
            label: "team".into(),
            services: vec![AccountService::Calendar],
            settings: r#"{"caldav":"https://x.test/"}"#.into(),
            ..AccountRow::new("a1".into(), ProviderKind::Password, "team@x.test")
        };
        let name = secrets::name_of(&row.id);
        let accounts = Accounts::with(Vec::new(), None, Arc::clone(&secrets));
        let client = async || accounts.account(&test.store, &row).await.unwrap().unwrap().calendar.unwrap();
        secrets.put(&name, "first").await.unwrap();
        let first = client().await;
        assert!(Arc::ptr_eq(&first, &client().await), "it is made once");
        secrets.put(&name, "second").await.unwrap();
        let second = client().await;
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &client().await));
    }
}
