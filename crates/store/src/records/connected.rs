//! The accounts of people at providers of mail, calendars and contacts.
//!
//! Property: nobody sees the account of another person, and an account of several people never becomes everybody's by
//! losing them: see [`super::known::erase`].

use std::iter::once;

use adjutant_types::{AccountId, AccountService, AccountState, Flag, PersonId, ProviderKind, TurnId};
use serde_json::json;
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use crate::{Batch, Result, Stale, Store, secrets, watches};

/// How exactly it is known when an account was last used, in milliseconds.
const USED_MS: i64 = 60 * 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountRow {
    pub id: AccountId,
    /// None: it belongs to the people in `account_people`, or to everybody if there is nobody.
    pub person_id: Option<PersonId>,
    pub label: String,
    pub provider: ProviderKind,
    pub address: String,
    pub services: Vec<AccountService>,
    /// JSON: servers and choices, without secrets.
    pub settings: String,
    pub state: AccountState,
    pub is_mail_default: bool,
    pub is_events_default: bool,
    pub created_at: i64,
    /// When it was last used, and by which turn.
    pub used_at: Option<i64>,
    pub used_by: Option<TurnId>,
}

impl AccountRow {
    /// One that is ready and has everything, without people or a label yet.
    pub fn new(id: AccountId, provider: ProviderKind, address: &str) -> Self {
        let (address, services) = (address.to_owned(), AccountService::ALL.to_vec());
        Self { id, provider, address, services, settings: "{}".to_owned(), ..Self::default() }
    }
}

impl<'r> FromRow<'r, AnyRow> for AccountRow {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let services: String = row.try_get("services")?;
        Ok(Self {
            id: row.try_get("id")?,
            person_id: row.try_get("person_id")?,
            label: row.try_get("label")?,
            provider: row.try_get("provider")?,
            address: row.try_get("address")?,
            services: serde_json::from_str(&services).map_err(|error| sqlx::Error::Decode(error.into()))?,
            settings: row.try_get("settings")?,
            state: row.try_get("state")?,
            is_mail_default: row.try_get::<Flag, _>("is_mail_default")?.into(),
            is_events_default: row.try_get::<Flag, _>("is_events_default")?.into(),
            created_at: row.try_get("created_at")?,
            used_at: row.try_get("used_at")?,
            used_by: row.try_get("used_by")?,
        })
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, person_id, label, provider, address, services, settings, state, is_mail_default, is_events_default, \
             created_at, used_at, used_by FROM connected_accounts ",
            $rest
        )
    };
}

/// The accounts that a person has, the oldest first: their own, those of a group with them, and everybody's. One that is
/// being disconnected isn't among them.
pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<AccountRow>> {
    let sql = select!(
        "WHERE state <> 'disconnecting' AND (person_id = $1 OR (person_id IS NULL \
         AND (EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id AND p.person_id = $1) \
         OR NOT EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id)))) \
         ORDER BY created_at, id"
    );
    store.all(sql, &[person.into()]).await
}

/// An account, also one that is being disconnected.
pub async fn by_id(store: &Store, id: &AccountId) -> Result<Option<AccountRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

/// The accounts of everyone, by person and label.
pub async fn all(store: &Store) -> Result<Vec<AccountRow>> {
    store.all(select!("ORDER BY coalesce(person_id, ''), label, id"), &[]).await
}

/// The accounts of everyone that can be used for this now, the oldest first.
pub async fn all_with(store: &Store, service: AccountService) -> Result<Vec<AccountRow>> {
    let sql = select!("WHERE state = 'ready' AND services LIKE $1 ORDER BY created_at, id");
    store.all(sql, &[format!("%\"{service}\"%").into()]).await
}

/// The accounts of everyone in this state, the oldest first.
pub async fn in_state(store: &Store, state: AccountState) -> Result<Vec<AccountRow>> {
    store.all(select!("WHERE state = $1 ORDER BY created_at, id"), &[state.into()]).await
}

/// The accounts that need a new login of which nobody has been told yet: see [`end_topic`].
pub async fn with_unannounced_end(store: &Store) -> Result<Vec<AccountRow>> {
    let sql = select!(
        "WHERE state = 'needs_login' AND NOT EXISTS (SELECT 1 FROM announcements a \
         WHERE a.topic = 'login ' || connected_accounts.id || ' ' || \
         coalesce((SELECT s.version FROM secrets s WHERE s.name = 'account/' || connected_accounts.id), 0)) \
         ORDER BY created_at, id"
    );
    store.all(sql, &[]).await
}

/// The topic of the news that an account's login has ended. A new login has a new secret, whose end is news again.
pub async fn end_topic(store: &Store, id: &AccountId) -> Result<String> {
    let secret = secrets::get(store, &secrets::name_of(id)).await?;
    Ok(format!("login {id} {}", secret.map_or(0, |secret| secret.version)))
}

/// The accounts that nobody has without this person.
pub async fn of_nobody_else(store: &Store, person: &PersonId) -> Result<Vec<AccountRow>> {
    let sql = select!(
        "WHERE person_id = $1 OR (person_id IS NULL \
         AND EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id AND p.person_id = $1) \
         AND NOT EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id AND p.person_id <> $1)) \
         ORDER BY created_at, id"
    );
    store.all(sql, &[person.into()]).await
}

pub async fn any(store: &Store) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM (SELECT 1 FROM connected_accounts LIMIT 1) found", &[]).await? > 0)
}

/// Whether a person means this label: nobody minds its case.
pub fn is_label(label: &str, name: &str) -> bool {
    label.to_lowercase() == name.to_lowercase()
}

/// Whether another account of an account's person is called so.
pub fn is_label_taken(all: &[AccountRow], account: &AccountRow, label: &str) -> bool {
    let mut others = all.iter().filter(|one| one.person_id == account.person_id && one.id != account.id);
    others.any(|other| is_label(&other.label, label))
}

/// This label, or with a number if it is taken.
pub fn free_label(wanted: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number: u32| format!("{wanted} {number}"));
    let is_free = |label: &String| !taken.iter().any(|one| is_label(one, label));
    once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Adds an account. Its secret belongs in the same batch. The batch fails if the person has another one with its label.
pub fn insert(batch: &mut Batch, row: &AccountRow) {
    batch.must(
        Stale::LabelTaken,
        "INSERT INTO connected_accounts (id, person_id, label, provider, address, services, settings, state, \
         is_mail_default, is_events_default, created_at, used_at, used_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING",
        values! {
            &row.id, row.person_id.as_ref(), &row.label, row.provider, &row.address,
            json!(row.services).to_string(), &row.settings, row.state, row.is_mail_default,
            row.is_events_default, row.created_at, row.used_at, row.used_by.as_ref()
        },
    );
}

/// Shares an account with exactly these people, or with everybody if there is nobody. It is nobody's default any more.
pub fn share(batch: &mut Batch, id: &AccountId, people: &[PersonId]) {
    let sql = "UPDATE connected_accounts SET person_id = NULL, is_mail_default = 0, is_events_default = 0 \
        WHERE id = $1 AND state <> 'disconnecting'";
    batch.must(Stale::AccountGone, sql, [id.into()]);
    batch.run("DELETE FROM account_people WHERE account_id = $1", [id.into()]);
    people.iter().for_each(|person| add_person(batch, id, person));
}

/// Gives one of several people an account that belongs to no single one: whoever is first makes it the account of a group.
pub fn add_person(batch: &mut Batch, id: &AccountId, person: &PersonId) {
    let sql = "INSERT INTO account_people (account_id, person_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    batch.run(sql, [id.into(), person.into()]);
}

/// The batch fails if the account is gone, or another one of its person has this label.
pub fn rename(batch: &mut Batch, id: &AccountId, label: &str) {
    batch.must(
        Stale::AccountGone,
        "UPDATE connected_accounts SET label = label WHERE id = $1 AND state <> 'disconnecting'",
        [id.into()],
    );
    batch.must(
        Stale::LabelTaken,
        "UPDATE connected_accounts SET label = $1 WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM connected_accounts o \
         WHERE o.person_id = connected_accounts.person_id AND o.label = $1 AND o.id <> $2)",
        [label.into(), id.into()],
    );
}

/// Makes a person's own account the default, where they name none. Contacts have no such account.
pub fn set_default(batch: &mut Batch, row: &AccountRow, service: AccountService) {
    let sql = match service {
        AccountService::Mail => {
            "UPDATE connected_accounts SET is_mail_default = CASE WHEN id = $1 THEN 1 ELSE 0 END WHERE person_id = \
             (SELECT o.person_id FROM connected_accounts o WHERE o.id = $1 AND o.state <> 'disconnecting')"
        }
        AccountService::Calendar => {
            "UPDATE connected_accounts SET is_events_default = CASE WHEN id = $1 THEN 1 ELSE 0 END WHERE person_id = \
             (SELECT o.person_id FROM connected_accounts o WHERE o.id = $1 AND o.state <> 'disconnecting')"
        }
        AccountService::Contacts => return,
    };
    batch.must(Stale::AccountGone, sql, [(&row.id).into()]);
}

/// What its login grants from now on.
pub fn set_services(batch: &mut Batch, id: &AccountId, services: &[AccountService]) {
    let sql = "UPDATE connected_accounts SET services = $1 WHERE id = $2 AND state <> 'disconnecting'";
    batch.must(Stale::AccountGone, sql, [json!(services).to_string().into(), id.into()]);
}

pub fn set_settings(batch: &mut Batch, id: &AccountId, settings: &str) {
    let sql = "UPDATE connected_accounts SET settings = $1 WHERE id = $2 AND state <> 'disconnecting'";
    batch.must(Stale::AccountGone, sql, [settings.into(), id.into()]);
}

/// The batch fails if the account is gone or being disconnected, which nothing ends but [`delete`]. From then on another
/// account may have its label.
pub fn set_state(batch: &mut Batch, id: &AccountId, state: AccountState) {
    let sql = "UPDATE connected_accounts SET state = $1, label = CASE WHEN $1 = 'disconnecting' THEN id ELSE label END \
        WHERE id = $2 AND state <> 'disconnecting'";
    batch.must(Stale::AccountGone, sql, [state.into(), id.into()]);
}

/// The batch fails if the account doesn't need a new login any more.
pub fn expect_ended(batch: &mut Batch, id: &AccountId) {
    let sql = "UPDATE connected_accounts SET state = state WHERE id = $1 AND state = 'needs_login'";
    batch.must(Stale::AccountGone, sql, [id.into()]);
}

/// Records that a turn used an account; at most once a minute.
pub fn used(batch: &mut Batch, id: &AccountId, turn: &TurnId, now: i64) {
    let sql = "UPDATE connected_accounts SET used_at = $1, used_by = $2 WHERE id = $3 AND (used_at IS NULL OR used_at <= $4)";
    batch.run(sql, [now.into(), turn.into(), id.into(), (now - USED_MS).into()]);
}

/// Deletes an account with its secret, the logins under way for it, and what watches have found in it.
pub fn delete(batch: &mut Batch, id: &AccountId) {
    watches::forget_account(batch, id);
    secrets::delete(batch, &secrets::name_of(id));
    batch.run("DELETE FROM logins WHERE account_id = $1", [id.into()]);
    batch.run("DELETE FROM account_people WHERE account_id = $1", [id.into()]);
    batch.must(Stale::AccountGone, "DELETE FROM connected_accounts WHERE id = $1", [id.into()]);
}

/// The accounts of a joining person become those of whom they join, whose labels and defaults stay. Logins under way end.
pub(super) async fn join(
    store: &Store,
    batch: &mut Batch,
    person: &PersonId,
    joining: &PersonId,
) -> Result<()> {
    const LABELS: &str =
        "SELECT id, label FROM connected_accounts WHERE person_id = $1 ORDER BY created_at, id";
    let own: Vec<(AccountId, String)> = store.all(LABELS, &[person.into()]).await?;
    let theirs: Vec<(AccountId, String)> = store.all(LABELS, &[joining.into()]).await?;
    let mut taken: Vec<String> = own.iter().chain(&theirs).map(|(_, label)| label.clone()).collect();
    for (id, label) in &theirs {
        if own.iter().any(|(_, other)| is_label(other, label)) {
            let free = free_label(label, &taken);
            batch.run("UPDATE connected_accounts SET label = $1 WHERE id = $2", [(&free).into(), id.into()]);
            taken.push(free);
        }
    }
    for sql in [
        "UPDATE connected_accounts SET is_mail_default = 0 WHERE person_id = $2 AND EXISTS \
         (SELECT 1 FROM connected_accounts o WHERE o.person_id = $1 AND o.is_mail_default = 1)",
        "UPDATE connected_accounts SET is_events_default = 0 WHERE person_id = $2 AND EXISTS \
         (SELECT 1 FROM connected_accounts o WHERE o.person_id = $1 AND o.is_events_default = 1)",
        "UPDATE connected_accounts SET person_id = $1 WHERE person_id = $2",
        "INSERT INTO account_people (account_id, person_id) SELECT account_id, $1 FROM account_people \
         WHERE person_id = $2 ON CONFLICT DO NOTHING",
    ] {
        batch.run(sql, [person.into(), joining.into()]);
    }
    for sql in ["DELETE FROM account_people WHERE person_id = $1", "DELETE FROM logins WHERE person_id = $1"]
    {
        batch.run(sql, [joining.into()]);
    }
    Ok(())
}

/// Deletes a person's accounts, secrets and logins under way. The account of a group goes with the last person in it.
pub(super) fn erase(batch: &mut Batch, person: &PersonId) {
    for sql in [
        "DELETE FROM logins WHERE person_id = $1 \
         OR account_id IN (SELECT id FROM connected_accounts WHERE person_id = $1)",
        // Its label may be one of the person's.
        "UPDATE connected_accounts SET person_id = $1, label = id WHERE person_id IS NULL \
         AND EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id AND p.person_id = $1) \
         AND NOT EXISTS (SELECT 1 FROM account_people p WHERE p.account_id = connected_accounts.id AND p.person_id <> $1)",
        "DELETE FROM secrets WHERE name IN (SELECT 'account/' || id FROM connected_accounts WHERE person_id = $1)",
        "DELETE FROM account_people WHERE person_id = $1 \
         OR account_id IN (SELECT id FROM connected_accounts WHERE person_id = $1)",
        "DELETE FROM connected_accounts WHERE person_id = $1",
    ] {
        batch.run(sql, [person.into()]);
    }
}
