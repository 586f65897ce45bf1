//! What people keep that was made from outside text: tasks, memories, schedules, contacts and events, by domain and id.

use std::collections::{HashMap, HashSet};

use crate::domain::{PersonId, Taint};
use crate::store::{Batch, Store, StoreError};

/// Marks something that a person keeps.
pub fn mark(batch: &mut Batch, person: &PersonId, domain: &str, key: &str, taint: &Taint) {
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (domain, id) DO UPDATE SET sources = excluded.sources",
        [person.into(), domain.into(), key.into(), taint.into()],
    );
}

/// Everything marked in a domain, by id.
pub async fn of_domain(store: &Store, domain: &str) -> Result<HashMap<String, Taint>, StoreError> {
    let rows: Vec<(String, Taint)> =
        store.all("SELECT id, sources FROM taints WHERE domain = $1", &[domain.into()]).await?;
    Ok(rows.into_iter().collect())
}

/// Everything marked, by domain and id.
pub async fn all(store: &Store) -> Result<HashSet<(String, String)>, StoreError> {
    let rows: Vec<(String, String)> = store.all("SELECT domain, id FROM taints", &[]).await?;
    Ok(rows.into_iter().collect())
}

/// The sources of one thing; clean if it isn't marked.
pub async fn of(store: &Store, domain: &str, key: &str) -> Result<Taint, StoreError> {
    let row: Option<(Taint,)> = store
        .first("SELECT sources FROM taints WHERE domain = $1 AND id = $2", &[domain.into(), key.into()])
        .await?;
    Ok(row.map(|(taint,)| taint).unwrap_or_default())
}
