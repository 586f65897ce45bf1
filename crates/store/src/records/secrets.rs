//! Sealed tokens and passwords, by name. What is sealed can't be opened here.
//!
//! Property: of two that replace the same version of a secret, one does, so that no newer token is lost to an older one.

use adjutant_types::{AccountId, InstanceId};
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SecretRow {
    pub sealed: String,
    /// It grows with each change.
    pub version: i64,
    /// Until when an instance renews it; 0: nobody does.
    pub locked_until: i64,
}

/// What is kept of a secret that somebody has to bring again.
pub fn digest(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn name_of(account: &AccountId) -> String {
    format!("account/{account}")
}

pub async fn get(store: &Store, name: &str) -> Result<Option<SecretRow>> {
    store.first("SELECT sealed, version, locked_until FROM secrets WHERE name = $1", &[name.into()]).await
}

/// How many are sealed.
pub async fn count(store: &Store) -> Result<i64> {
    store.count("SELECT count(*) FROM secrets WHERE name NOT LIKE 'key/%'", &[]).await
}

/// Locks a secret that still has this version, so that nobody else renews it before this time. False if somebody does, or has.
pub async fn lock(store: &Store, name: &str, version: i64, by: &InstanceId, until: i64) -> Result<bool> {
    store.try_write(Batch::requiring(
        Stale::SecretChanged,
        "UPDATE secrets SET locked_until = $1, locked_by = $2 WHERE name = $3 AND version = $4 AND locked_until <= $5",
        [until.into(), by.into(), name.into(), version.into(), store.now().into()],
    )).await
}

/// Gives back a lock of ours without a new secret.
pub fn unlock(batch: &mut Batch, name: &str, by: &InstanceId) {
    let sql = "UPDATE secrets SET locked_until = 0, locked_by = '' WHERE name = $1 AND locked_by = $2";
    batch.run(sql, [name.into(), by.into()]);
}

/// Requires that a secret still has the version with which it was read.
pub fn expect_version(batch: &mut Batch, name: &str, version: i64) {
    let sql = "UPDATE secrets SET version = version WHERE name = $1 AND version = $2";
    batch.must(Stale::SecretChanged, sql, [name.into(), version.into()]);
}

/// Replaces this version of a secret, and frees its lock.
pub fn replace(batch: &mut Batch, name: &str, sealed: &str, version: i64) {
    let sql = "UPDATE secrets SET sealed = $1, version = version + 1, locked_until = 0, locked_by = '' \
        WHERE name = $2 AND version = $3";
    batch.must(Stale::SecretChanged, sql, [sealed.into(), name.into(), version.into()]);
}

/// Seals a version of a secret anew: it stays the same inside, so a lock stays, too.
pub fn reseal(batch: &mut Batch, name: &str, sealed: &str, version: i64) {
    let sql = "UPDATE secrets SET sealed = $1 WHERE name = $2 AND version = $3";
    batch.must(Stale::SecretChanged, sql, [sealed.into(), name.into(), version.into()]);
}

/// Adds a secret, in place of any version of one with this name.
pub fn put(batch: &mut Batch, name: &str, sealed: &str) {
    let sql = "INSERT INTO secrets (name, sealed, version) VALUES ($1, $2, 1) ON CONFLICT (name) DO UPDATE SET \
        sealed = excluded.sealed, version = secrets.version + 1, locked_until = 0, locked_by = ''";
    batch.run(sql, [name.into(), sealed.into()]);
}

/// Adds a secret. The batch fails if there is one with this name.
pub fn add(batch: &mut Batch, name: &str, sealed: &str) {
    let sql = "INSERT INTO secrets (name, sealed, version) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING";
    batch.must(Stale::SecretChanged, sql, [name.into(), sealed.into()]);
}

pub fn delete(batch: &mut Batch, name: &str) {
    batch.run("DELETE FROM secrets WHERE name = $1", [name.into()]);
}

/// The names of all that are sealed with another key than the one of this id. Rows `key/…` are about keys, and not sealed.
pub async fn names_not_sealed_with(store: &Store, key: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM secrets WHERE sealed NOT LIKE $1 AND name NOT LIKE 'key/%' ORDER BY name";
    store.column(sql, &[format!("1.{key}.%").into()]).await
}
