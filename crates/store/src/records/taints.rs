//! Records made from outside text: tasks, memories, schedules, contacts and events, by domain and id.

use std::collections::HashMap;

use adjutant_types::{PersonId, Taint};
use sqlx::FromRow;

use crate::{Batch, Result, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct MarkedRow {
    /// Its number in its person's list, which stays the same while it is there.
    pub number: i64,
    /// What kind of thing it is.
    pub domain: String,
    pub id: String,
    /// What it is called; empty for those of an earlier version.
    pub title: String,
    /// Where its text came from.
    pub sources: Taint,
}

pub fn mark(batch: &mut Batch, person: &PersonId, domain: &str, key: &str, title: &str, taint: &Taint) {
    let sql = "INSERT INTO taints (person_id, domain, id, sources, title, number) VALUES ($1, $2, $3, $4, $5, \
        (SELECT coalesce(max(number), 0) + 1 FROM taints WHERE person_id = $1)) \
        ON CONFLICT (domain, id) DO UPDATE SET sources = excluded.sources, title = excluded.title";
    batch.run(sql, [person.into(), domain.into(), key.into(), taint.into(), title.into()]);
}

/// Everything marked of a person's, in the order of its numbers.
pub async fn list(store: &Store, person: &PersonId) -> Result<Vec<MarkedRow>> {
    const SQL: &str = "SELECT number, domain, id, title, sources FROM taints WHERE person_id = $1 ORDER BY number, domain, id";
    store.all(SQL, &[person.into()]).await
}

/// Takes a mark away: the person says that the thing is their own.
pub fn clear(batch: &mut Batch, person: &PersonId, row: &MarkedRow) {
    let sql = "DELETE FROM taints WHERE person_id = $1 AND domain = $2 AND id = $3";
    batch.run(sql, [person.into(), (&row.domain).into(), (&row.id).into()]);
}

/// Everything marked in a domain, by id.
pub async fn of_domain(store: &Store, domain: &str) -> Result<HashMap<String, Taint>> {
    let rows: Vec<(String, Taint)> =
        store.all("SELECT id, sources FROM taints WHERE domain = $1", &[domain.into()]).await?;
    Ok(rows.into_iter().collect())
}

/// The sources of one thing; clean if it isn't marked.
pub async fn of(store: &Store, domain: &str, key: &str) -> Result<Taint> {
    let sql = "SELECT sources FROM taints WHERE domain = $1 AND id = $2";
    Ok(store.value(sql, &[domain.into(), key.into()]).await?.unwrap_or_default())
}
