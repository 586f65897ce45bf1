//! Who changed the configuration on the web page. What was written stands in the file alone.

use adjutant_types::PersonId;
use sqlx::FromRow;

use crate::{Batch, Result, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SettingsChange {
    pub person_id: PersonId,
    /// The dotted keys that were changed, as JSON.
    pub keys: String,
    /// Of the file after it.
    pub digest: String,
    pub changed_at: i64,
}

/// Notes that somebody changes these keys, and the digest of the file after that.
pub async fn note(store: &Store, person: &PersonId, keys: &str, digest: &str) -> Result<()> {
    let sql = "INSERT INTO settings_changes (person_id, keys, digest, changed_at) VALUES ($1, $2, $3, $4)";
    let batch = Batch::of(sql, [person.into(), keys.into(), digest.into(), store.now().into()]);
    store.write(batch).await.map(drop)
}

/// The newest changes, the latest first.
pub async fn latest(store: &Store, most: i64) -> Result<Vec<SettingsChange>> {
    let sql = "SELECT person_id, keys, digest, changed_at FROM settings_changes ORDER BY seq DESC LIMIT $1";
    store.all(sql, &[most.into()]).await
}
