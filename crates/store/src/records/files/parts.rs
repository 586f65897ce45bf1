//! What files contain, for all machines that share a database: on a server, in parts, so that a file never is in memory
//! as a whole. An embedded database has one machine, whose folder of files is enough.
//!
//! Parts are written before the row of their file, in a transaction of their own on a connection for reading, so no other
//! write waits for them. Those whose file never got a row are removed later.

use adjutant_types::FileId;
use sqlx::{AnyConnection, Connection};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Batch, Result, Store};

/// How much is in memory at once, in bytes.
const PART: u64 = 256 * 1024;
/// How long a file's row may take to follow its parts, in milliseconds.
const ROW_FOLLOWS: i64 = 60 * 60 * 1000;
/// How many parts are removed in one commit.
const AT_ONCE: i64 = 16;

/// Keeps what a file contains, whole or not at all, in place of what was kept of it.
pub async fn put(store: &Store, id: &FileId, content: &mut (impl AsyncRead + Unpin)) -> Result<()> {
    const INSERT: &str = "INSERT INTO file_parts (file_id, number, content, created_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (file_id, number) DO UPDATE SET content = excluded.content, created_at = excluded.created_at";
    let put = async |connection: &mut AnyConnection| {
        let mut all = connection.begin().await?;
        sqlx::query("DELETE FROM file_parts WHERE file_id = $1").bind(id.as_str()).execute(&mut *all).await?;
        for number in 0_i64.. {
            let mut part = Vec::new();
            (&mut *content).take(PART).read_to_end(&mut part).await.map_err(sqlx::Error::Io)?;
            if part.is_empty() {
                break;
            }
            let insert = sqlx::query(INSERT).bind(id.as_str()).bind(number).bind(part).bind(store.now());
            insert.execute(&mut *all).await?;
        }
        Ok(all.commit().await?)
    };
    store.inner.reader.with(put).await
}

/// Writes what a file contains. Returns whether all of it is there.
pub async fn get(store: &Store, id: &FileId, to: &mut (impl AsyncWrite + Unpin)) -> Result<bool> {
    const PARTS: &str = "SELECT content FROM file_parts WHERE file_id = $1 AND number = $2";
    let bytes = store.count("SELECT bytes FROM attachments WHERE id = $1", &[id.into()]).await?;
    let mut written = 0;
    for number in 0_i64.. {
        let part: Option<(Vec<u8>,)> = store.first(PARTS, &[id.into(), number.into()]).await?;
        let Some((part,)) = part else { break };
        written += i64::try_from(part.len()).unwrap_or(i64::MAX);
        to.write_all(&part).await.map_err(sqlx::Error::Io)?;
    }
    to.flush().await.map_err(sqlx::Error::Io)?;
    Ok(written > 0 && written == bytes)
}

/// Removes parts of files that have no row, a few in each commit, except of those that have only just been written.
pub async fn prune(store: &Store) -> Result<usize> {
    const REMOVE: &str = "DELETE FROM file_parts WHERE (file_id, number) IN (SELECT p.file_id, p.number \
        FROM file_parts p WHERE p.created_at < $1 AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.id = p.file_id) \
        LIMIT $2 + 0) RETURNING number";
    let mut count = 0;
    while store.shares_files() {
        let mut batch = Batch::new();
        batch.returning(REMOVE, [(store.now() - ROW_FOLLOWS).into(), AT_ONCE.into()]);
        match store.write(batch).await?.len() {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}
