//! The changes of the journal, in order: for pages that are open. Triggers write it, while anybody is signed in; what a
//! person changes on the page itself is added by hand.

use adjutant_types::{PersonId, TurnId};
use sqlx::FromRow;

use crate::{Batch, Result, Store};

const MAX_ROWS: i64 = 50_000;

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ChangeRow {
    /// Its position: first by transaction, which is 0 in the embedded store, then by number.
    pub tx: i64,
    pub seq: i64,
    /// Whose work it is; empty for nobody's.
    pub person_id: PersonId,
    pub turn_id: Option<TurnId>,
    /// `turn`, `execution`, `question`, `message`, `arrival` or, changed on the page, `thing`.
    pub kind: String,
    pub id: String,
    pub status: String,
}

/// Tells a person's pages that one of their things has changed.
pub fn of_thing(batch: &mut Batch, person: &PersonId, thing: &str) {
    let sql = "INSERT INTO changes (person_id, kind, id, status) VALUES ($1, 'thing', $2, '')";
    batch.run(sql, [person.into(), thing.into()]);
}

/// The position of the latest change.
pub async fn last(store: &Store) -> Result<(i64, i64)> {
    let last: Option<(i64, i64)> = store.first(store.backend().last_change_sql(), &[]).await?;
    Ok(last.unwrap_or_default())
}

/// The changes after a position, at most `limit`; none if some of them were deleted already.
pub async fn after(store: &Store, (tx, seq): (i64, i64), limit: i64) -> Result<Option<Vec<ChangeRow>>> {
    let rows = store.all(store.backend().changes_sql(), &[tx.into(), seq.into(), limit.into()]).await?;
    let find = "SELECT count(*) FROM changes WHERE tx = $1 AND seq = $2";
    let is_found = rows.is_empty() || store.count(find, &[tx.into(), seq.into()]).await? > 0;
    let is_whole = is_found || store.count("SELECT coalesce(min(seq), 1) FROM changes", &[]).await? == 1;
    Ok(is_whole.then_some(rows))
}

pub async fn prune(store: &Store) -> Result<()> {
    let count = store.count("SELECT coalesce(max(seq) - min(seq), 0) FROM changes", &[]).await?;
    if count <= MAX_ROWS {
        return Ok(());
    }
    let sql = "DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - $1";
    store.write(Batch::of(sql, [MAX_ROWS.into()])).await.map(drop)
}
