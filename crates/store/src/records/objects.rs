//! Calendar objects and contacts in the store itself, as the same texts that servers keep.

use adjutant_types::PersonId;
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ObjectRow {
    /// Its UID.
    pub id: String,
    /// iCalendar or vCard text.
    pub text: String,
    /// Increases with each change.
    pub version: i64,
}

/// When an event takes place, in milliseconds; contacts have neither time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeSpan {
    /// When it first starts.
    pub starts_at: Option<i64>,
    /// When its last occurrence ends; none when it repeats for ever.
    pub over_at: Option<i64>,
}

/// A person's objects of a kind (`event`, `contact`) that may take place between two times; contacts always match.
pub async fn between(
    store: &Store,
    person: &PersonId,
    kind: &str,
    from: i64,
    to: i64,
) -> Result<Vec<ObjectRow>> {
    let sql = "SELECT id, text, version FROM objects WHERE person_id = $1 AND kind = $2 \
        AND (starts_at IS NULL OR starts_at < $4) AND (over_at IS NULL OR over_at > $3) ORDER BY id";
    store.all(sql, &[person.into(), kind.into(), from.into(), to.into()]).await
}

pub async fn by_id(store: &Store, person: &PersonId, kind: &str, uid: &str) -> Result<Option<ObjectRow>> {
    let sql = "SELECT id, text, version FROM objects WHERE person_id = $1 AND kind = $2 AND id = $3";
    store.first(sql, &[person.into(), kind.into(), uid.into()]).await
}

pub fn insert(batch: &mut Batch, person: &PersonId, kind: &str, (id, text): (&str, &str), span: TimeSpan) {
    batch.run(
        "INSERT INTO objects (person_id, kind, id, text, starts_at, over_at) VALUES ($1, $2, $3, $4, $5, $6)",
        [person.into(), kind.into(), id.into(), text.into(), span.starts_at.into(), span.over_at.into()],
    );
}

/// Replaces an object's text, unless the object has changed.
pub fn update(
    batch: &mut Batch,
    person: &PersonId,
    kind: &str,
    (old, text): (&ObjectRow, &str),
    span: TimeSpan,
) {
    batch.must(
        Stale::ObjectChanged,
        "UPDATE objects SET text = $1, starts_at = $2, over_at = $3, version = version + 1 \
         WHERE person_id = $4 AND kind = $5 AND id = $6 AND version = $7",
        values! { text, span.starts_at, span.over_at, person, kind, &old.id, old.version },
    );
}

/// Deletes an object, unless it has changed.
pub fn delete(batch: &mut Batch, person: &PersonId, kind: &str, old: &ObjectRow) {
    let sql = "DELETE FROM objects WHERE person_id = $1 AND kind = $2 AND id = $3 AND version = $4";
    batch.must(Stale::ObjectChanged, sql, [person.into(), kind.into(), (&old.id).into(), old.version.into()]);
}
