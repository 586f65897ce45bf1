//! Who is signed in on the web page: codes that let one browser in, and sessions. Only digests of them are kept.

use adjutant_types::{Flag, PersonId};
use sqlx::FromRow;

use crate::people::{self, Person};
use crate::secrets::digest;
use crate::{Batch, Result, Stale, Store};

/// How long a code is valid, in milliseconds.
pub const CODE_MS: i64 = 5 * 60 * 1000;
pub const SESSION_MS: i64 = 30 * 24 * 3600 * 1000;
/// How exactly it is known when a session was last used, in milliseconds.
const SEEN_MS: i64 = 60 * 1000;
/// The longest name of a browser that is kept, in characters.
const BROWSER: usize = 120;

/// A session; its secret isn't kept.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SessionRow {
    /// Names the session; it lets nobody in.
    pub id: String,
    pub person_id: PersonId,
    pub browser: String,
    pub created_at: i64,
    /// When it was last used, to within a minute.
    pub seen_at: i64,
    /// Whether it began with a passkey, not with a link.
    #[sqlx(try_from = "Flag")]
    pub by_passkey: bool,
}

pub async fn offer(store: &Store, person: &PersonId) -> Result<String> {
    let (code, now): (String, i64) = (store.new_id(), store.now());
    let mut batch = Batch::new();
    batch.run("DELETE FROM web_codes WHERE expires_at <= $1", [now.into()]);
    let sql = "INSERT INTO web_codes (digest, person_id, expires_at) VALUES ($1, $2, $3)";
    batch.run(sql, [digest(&code).into(), person.into(), (now + CODE_MS).into()]);
    store.write(batch).await?;
    Ok(code)
}

pub async fn person_of_code(store: &Store, code: &str) -> Result<Option<PersonId>> {
    let sql = "SELECT person_id FROM web_codes WHERE digest = $1 AND expires_at > $2";
    store.value(sql, &[digest(code).into(), store.now().into()]).await
}

/// Begins a session for the person with this code, which then no longer works. Returns the session's secret.
pub async fn redeem(store: &Store, code: &str, browser: &str) -> Result<Option<String>> {
    let Some(person) = person_of_code(store, code).await? else { return Ok(None) };
    let mut batch = Batch::new();
    batch.must(Stale::CodeUsed, "DELETE FROM web_codes WHERE digest = $1", [digest(code).into()]);
    let secret = begin(store, &mut batch, &person, browser, None);
    // Somebody else may have been faster with the same link.
    Ok(store.try_write(batch).await?.then_some(secret))
}

/// Begins a session for a person, with a passkey or with a link. Returns its secret.
pub(crate) fn begin(
    store: &Store,
    batch: &mut Batch,
    person: &PersonId,
    browser: &str,
    passkey: Option<&str>,
) -> String {
    // Twice 80 random bits.
    let secret = format!("{}{}", store.new_id::<String>(), store.new_id::<String>());
    let now = store.now();
    batch.run("DELETE FROM web_sessions WHERE expires_at <= $1", [now.into()]);
    batch.run(
        "INSERT INTO web_sessions (id, digest, person_id, browser, created_at, seen_at, expires_at, by_passkey, \
         passkey) VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8)",
        values! {
            store.new_id::<String>(), digest(&secret), person, shortened(browser), now, now + SESSION_MS,
            passkey.is_some(), passkey
        },
    );
    secret
}

/// What is kept of what a browser calls itself.
pub(crate) fn shortened(browser: &str) -> String {
    browser.chars().filter(|c| !c.is_control()).take(BROWSER).collect()
}

/// The session with this secret, if it is still valid.
pub async fn session(store: &Store, secret: &str) -> Result<Option<SessionRow>> {
    let now = store.now();
    let sql = "SELECT id, person_id, browser, created_at, seen_at, by_passkey FROM web_sessions \
        WHERE digest = $1 AND expires_at > $2";
    let found: Option<SessionRow> = store.first(sql, &[digest(secret).into(), now.into()]).await?;
    if let Some(session) = found.as_ref().filter(|session| session.seen_at + SEEN_MS < now) {
        let sql = "UPDATE web_sessions SET seen_at = $1 WHERE id = $2";
        store.write(Batch::of(sql, [now.into(), (&session.id).into()])).await?;
    }
    Ok(found)
}

/// The valid sessions, of one person or of all, the newest first.
pub async fn sessions(store: &Store, person: Option<&PersonId>) -> Result<Vec<SessionRow>> {
    let sql = "SELECT id, person_id, browser, created_at, seen_at, by_passkey FROM web_sessions \
        WHERE expires_at > $1 AND ($2 = '' OR person_id = $2) ORDER BY created_at DESC, id";
    store.all(sql, &[store.now().into(), person.map_or("", |person| person.as_str()).into()]).await
}

/// Ends a session, of one person or of anybody. False when there is none.
pub async fn revoke(store: &Store, name: &str, person: Option<&PersonId>) -> Result<bool> {
    let sql = "DELETE FROM web_sessions WHERE id = $1 AND ($2 = '' OR person_id = $2)";
    let whose = [name.into(), person.map_or("", |person| person.as_str()).into()];
    store.try_write(Batch::requiring(Stale::CodeUsed, sql, whose)).await
}

/// Gives a person an account on the channel of the page, under our own id for them.
pub async fn ensure_account(store: &Store, channel: &str, person: &PersonId) -> Result<Person> {
    if people::person_of(store, channel, person).await?.is_none() {
        let sql =
            "INSERT INTO accounts (channel, user_id, person_id) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING";
        store.write(Batch::of(sql, [channel.into(), person.into()])).await?;
    }
    people::person_by_id(store, person).await
}
