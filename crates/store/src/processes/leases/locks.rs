//! The locks that tell whether an instance lives: files beside an embedded database, advisory locks on a server.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use adjutant_types::InstanceId;
use sha2::{Digest, Sha256};
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions};

use crate::{Result, Store};

/// The folder for the instances' locks, beside the database.
pub(super) fn locks_of(file: &std::path::Path) -> PathBuf {
    let mut folder = file.as_os_str().to_owned();
    folder.push(".instances");
    PathBuf::from(folder)
}

/// Whether no process has an instance's lock.
pub(super) fn is_free(folder: &std::path::Path, id: &InstanceId) -> bool {
    match File::open(folder.join(id.as_str())) {
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

pub(super) fn lock_file(folder: &std::path::Path, id: &InstanceId) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let file = File::create(folder.join(id.as_str()))?;
    // Root's lock must be visible to the user of the service, who owns the folder.
    if let Ok(folder) = folder.metadata() {
        let _ = std::os::unix::fs::fchown(&file, Some(folder.uid()), Some(folder.gid()));
    }
    file.try_lock()?;
    Ok(file)
}

/// A session that keeps an instance's lock until it ends.
pub(super) async fn lock_session(options: &AnyConnectOptions, id: &InstanceId) -> Result<AnyConnection> {
    let mut connection = options.connect().await?;
    sqlx::query("SELECT 1::bigint FROM pg_advisory_lock($1)").bind(key(id)).execute(&mut connection).await?;
    Ok(connection)
}

/// The number of an instance's advisory lock.
pub(super) fn key(id: &InstanceId) -> i64 {
    let digest = Sha256::digest(id.as_bytes());
    digest.iter().take(8).fold(0, |key, byte| (key << 8) | i64::from(*byte))
}

/// The numbers of all advisory locks that are held on a server, and its time in milliseconds.
pub(super) async fn held_locks(store: &Store) -> Result<(HashSet<i64>, i64)> {
    // A row without a lock brings the time where there is none.
    let sql = "SELECT (classid::bigint << 32) | objid::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
        FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        UNION ALL SELECT 0, (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows: Vec<(i64, i64)> = store.all(sql, &[]).await?;
    let now = rows.last().map_or(0, |(_, now)| *now);
    Ok((rows.into_iter().map(|(lock, _)| lock).collect(), now))
}
