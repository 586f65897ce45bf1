//! Logins at providers under way. Each is good once and for five minutes.
//!
//! Properties:
//!
//! - Each step happens once: of two that take it, the batch of one fails with [`Stale::LoginUsed`].
//! - A login that has ended holds no secret.

use adjutant_types::{AccountId, ConversationId, LoginId, LoginState, PersonId, ProviderKind};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

/// How long a login that has ended is known, so that whoever comes late learns why, in milliseconds.
const ENDED_MS: i64 = 60 * 60 * 1000;

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LoginRow {
    pub id: LoginId,
    /// Who asked for it, and where.
    pub person_id: PersonId,
    pub conversation_id: ConversationId,
    pub provider: ProviderKind,
    /// The account that needs a new login; none for a new account.
    pub account_id: Option<AccountId>,
    pub state: LoginState,
    /// Digests of what the link, the provider's answer and the browser carry.
    pub nonce: String,
    pub oauth_state: String,
    pub browser: Option<String>,
    /// The PKCE verifier, a device code, then the provider's code; sealed.
    pub sealed: String,
    pub redirect: String,
    pub expires_at: i64,
    /// When its state changed, or the provider was last asked about its device code.
    pub changed_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, person_id, conversation_id, provider, account_id, state, nonce, oauth_state, browser, sealed, \
             redirect, expires_at, changed_at FROM logins ",
            $rest
        )
    };
}

pub fn offer(batch: &mut Batch, row: &LoginRow) {
    batch.run(
        "INSERT INTO logins (id, person_id, conversation_id, provider, account_id, state, nonce, oauth_state, browser, \
         sealed, redirect, expires_at, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values! {
            &row.id, &row.person_id, &row.conversation_id, row.provider, row.account_id.as_ref(), row.state,
            &row.nonce, &row.oauth_state, row.browser.clone(), &row.sealed, &row.redirect, row.expires_at,
            row.changed_at
        },
    );
}

/// A browser, by its digest, opens the link first.
pub fn opened(batch: &mut Batch, id: &LoginId, browser: &str, now: i64) {
    let sql = "UPDATE logins SET state = 'opened', browser = $1, changed_at = $2 \
        WHERE id = $3 AND state = 'offered' AND expires_at > $2";
    batch.must(Stale::LoginUsed, sql, [browser.into(), now.into(), id.into()]);
}

/// The provider's code is there, and sealed.
pub fn arrived(batch: &mut Batch, id: &LoginId, sealed: &str, now: i64) {
    let sql = "UPDATE logins SET state = 'arrived', sealed = $1, changed_at = $2 \
        WHERE id = $3 AND state IN ('offered', 'opened') AND expires_at > $2";
    batch.must(Stale::LoginUsed, sql, [sealed.into(), now.into(), id.into()]);
}

/// Whoever claims a login exchanges its code, which came in time.
pub fn claim(batch: &mut Batch, id: &LoginId, now: i64) {
    let sql = "UPDATE logins SET state = 'exchanging', changed_at = $1 WHERE id = $2 AND state = 'arrived'";
    batch.must(Stale::LoginUsed, sql, [now.into(), id.into()]);
}

/// The provider has answered about a device's code: from now on its login doesn't expire.
pub fn answered(batch: &mut Batch, id: &LoginId, now: i64) {
    let sql = "UPDATE logins SET state = 'exchanging', changed_at = $1 WHERE id = $2 AND state = 'offered'";
    batch.must(Stale::LoginUsed, sql, [now.into(), id.into()]);
}

/// Whoever writes this asks a server next: about a device code, or whether it takes a password.
pub fn polled(batch: &mut Batch, row: &LoginRow, now: i64) {
    batch.must(
        Stale::LoginUsed,
        "UPDATE logins SET changed_at = $1 WHERE id = $2 AND state = $3 AND changed_at = $4 AND expires_at > $1",
        [now.into(), (&row.id).into(), row.state.into(), row.changed_at.into()],
    );
}

/// Ends a login that hasn't ended. One whose code is being exchanged doesn't expire.
pub fn end(batch: &mut Batch, id: &LoginId, state: LoginState, now: i64) {
    let sql = "UPDATE logins SET state = $1, sealed = '', changed_at = $2 \
        WHERE id = $3 AND state IN ('offered', 'opened', 'arrived', 'exchanging') \
        AND ($1 <> 'expired' OR (state <> 'exchanging' AND expires_at <= $2))";
    batch.must(Stale::LoginUsed, sql, [state.into(), now.into(), id.into()]);
}

pub async fn by_id(store: &Store, id: &LoginId) -> Result<Option<LoginRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

/// The login whose link has this digest.
pub async fn by_nonce(store: &Store, digest: &str) -> Result<Option<LoginRow>> {
    store.first(select!("WHERE nonce = $1"), &[digest.into()]).await
}

/// The login whose state at the provider has this digest.
pub async fn by_state(store: &Store, digest: &str) -> Result<Option<LoginRow>> {
    store.first(select!("WHERE oauth_state = $1"), &[digest.into()]).await
}

/// All that haven't ended, also those whose time is up, the oldest first.
pub async fn unfinished(store: &Store) -> Result<Vec<LoginRow>> {
    let sql =
        select!("WHERE state IN ('offered', 'opened', 'arrived', 'exchanging') ORDER BY expires_at, id");
    store.all(sql, &[]).await
}

/// A person's logins that somebody can still go on with, the newest first.
pub async fn open_of(store: &Store, person: &PersonId) -> Result<Vec<LoginRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND (state = 'arrived' OR (state IN ('offered', 'opened', 'exchanging') AND expires_at > $2)) \
         ORDER BY expires_at DESC, id"
    );
    store.all(sql, &[person.into(), store.now().into()]).await
}

/// Deletes what has ended long ago.
pub async fn prune(store: &Store) -> Result<()> {
    let batch = Batch::of("DELETE FROM logins WHERE expires_at <= $1", [(store.now() - ENDED_MS).into()]);
    store.write(batch).await.map(drop)
}
