//! Texts by others that an owner has accepted: the tools of MCP servers, `SKILL.md` folders.

use adjutant_types::PinKind;

use crate::{Batch, Result, Store};

/// Something as it was when an owner accepted it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PinRow {
    /// The MCP server, or the skill.
    pub owner: String,
    /// The server's own name of the tool; empty for a skill.
    pub item: String,
    pub digest: String,
    pub definition: String,
    pub approved_at: i64,
}

/// Keeps what was accepted, in place of what was accepted before.
pub fn put(batch: &mut Batch, kind: PinKind, pin: &PinRow) {
    let sql = "INSERT INTO pins (kind, owner, item, digest, definition, approved_at) VALUES ($1, $2, $3, $4, $5, $6) \
        ON CONFLICT (kind, owner, item) DO UPDATE SET digest = excluded.digest, definition = excluded.definition, \
        approved_at = excluded.approved_at";
    batch.run(sql, values! { kind, &pin.owner, &pin.item, &pin.digest, &pin.definition, pin.approved_at });
}

/// Takes an acceptance back.
pub fn remove(batch: &mut Batch, kind: PinKind, owner: &str, item: &str) {
    let sql = "DELETE FROM pins WHERE kind = $1 AND owner = $2 AND item = $3";
    batch.run(sql, [kind.into(), owner.into(), item.into()]);
}

/// Everything accepted of a kind, sorted.
pub async fn of_kind(store: &Store, kind: PinKind) -> Result<Vec<PinRow>> {
    let sql =
        "SELECT owner, item, digest, definition, approved_at FROM pins WHERE kind = $1 ORDER BY owner, item";
    store.all(sql, &[kind.into()]).await
}

/// The owner, item and digest of everything accepted of a kind: enough to see that something has changed.
pub async fn digests(store: &Store, kind: PinKind) -> Result<Vec<(String, String, String)>> {
    let sql = "SELECT owner, item, digest FROM pins WHERE kind = $1 ORDER BY owner, item";
    store.all(sql, &[kind.into()]).await
}
