//! Passkeys: what people sign in with on the web page instead of a link. Their secret halves are in people's devices.
//!
//! Properties:
//!
//! - An answer to a challenge counts once, on all instances together.
//! - A signature counter that doesn't grow lets nobody in, unless it has always been 0.

use adjutant_types::PersonId;
use sqlx::FromRow;

use crate::secrets::digest;
use crate::{Batch, Result, Stale, Store, web};

/// How long a challenge can be answered, in milliseconds.
pub const CHALLENGE_MS: i64 = 5 * 60 * 1000;
/// How many passkeys a person may have.
const MOST: i64 = 20;

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct PasskeyRow {
    /// The name that its device gave it, in base64.
    pub key: String,
    pub person_id: PersonId,
    /// Our id of the person when it was made, which its device shows when it signs.
    pub user_handle: String,
    /// In COSE, in base64.
    pub public_key: String,
    /// How often it has signed, as far as its device counts that.
    pub counter: i64,
    /// What the browser calls itself in which it was made.
    pub browser: String,
    pub created_at: i64,
    pub used_at: Option<i64>,
}

pub async fn find(store: &Store, key: &str) -> Result<Option<PasskeyRow>> {
    store.first("SELECT * FROM passkeys WHERE key = $1", &[key.into()]).await
}

/// Those of one person or of all, the oldest first.
pub async fn list(store: &Store, person: Option<&PersonId>) -> Result<Vec<PasskeyRow>> {
    let sql = "SELECT * FROM passkeys WHERE $1 = '' OR person_id = $1 ORDER BY created_at, key";
    store.all(sql, &[person.map_or("", |person| person.as_str()).into()]).await
}

/// Adds a passkey that answers this challenge. False if that was answered, the key is known, or there are too many.
pub async fn add(store: &Store, challenge: &str, row: &PasskeyRow) -> Result<bool> {
    let mut batch = Batch::new();
    answer(&mut batch, challenge, store.now());
    batch.must(
        Stale::CodeUsed,
        "INSERT INTO passkeys (key, person_id, user_handle, public_key, counter, browser, created_at) \
         SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM passkeys WHERE person_id = $2) < $8 \
         ON CONFLICT DO NOTHING",
        values! {
            &row.key, &row.person_id, &row.user_handle, &row.public_key, row.counter,
            web::shortened(&row.browser), row.created_at, MOST
        },
    );
    store.try_write(batch).await
}

/// Removes a passkey of this person. The sessions that it began end with it.
pub async fn remove(store: &Store, key: &str, person: &PersonId) -> Result<()> {
    let sql = "DELETE FROM passkeys WHERE key = $1 AND person_id = $2";
    store.write(Batch::of(sql, [key.into(), person.into()])).await.map(drop)
}

/// Begins a session with a passkey that answers this challenge, as long as it is there and belongs to the person. Returns
/// the session's secret.
pub async fn sign_in(
    store: &Store,
    challenge: &str,
    (key, person): (&str, &PersonId),
    counter: u32,
    browser: &str,
) -> Result<String> {
    let now = store.now();
    let mut batch = Batch::new();
    answer(&mut batch, challenge, now);
    batch.must(
        Stale::CodeUsed,
        "UPDATE passkeys SET used_at = $3 WHERE key = $1 AND person_id = $2",
        [key.into(), person.into(), now.into()],
    );
    batch.must(
        Stale::CounterWentBack,
        "UPDATE passkeys SET counter = $2 WHERE key = $1 AND (counter < $2 OR counter = 0 AND $2 = 0)",
        [key.into(), i64::from(counter).into()],
    );
    let secret = web::begin(store, &mut batch, person, browser, Some(key));
    store.write(batch).await?;
    Ok(secret)
}

/// A challenge is answered once. Whoever made it says how long it can be, and until then it is known here.
fn answer(batch: &mut Batch, challenge: &str, now: i64) {
    batch.run("DELETE FROM answered_challenges WHERE expires_at <= $1", [now.into()]);
    let sql = "INSERT INTO answered_challenges (digest, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    batch.must(Stale::CodeUsed, sql, [digest(challenge).into(), (now + CHALLENGE_MS).into()]);
}
