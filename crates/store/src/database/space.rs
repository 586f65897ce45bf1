//! Returns the space of deleted rows to the disk.
//!
//! A server does that by itself. The embedded file keeps a tenth of its pages free for new rows and returns the rest,
//! a few pages per commit, so that no turn waits. A file created by an old version can only reuse its free pages until
//! it is rewritten: see [`Store::scrub`].

use std::time::Duration;

use crate::{Batch, Result, Store};

/// Fewer free pages than this, a megabyte, aren't worth the work.
const FEW: i64 = 256;
/// The pause between two commits, for other writers.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    pub all: i64,
    pub free: i64,
    /// Whether free pages can be returned while the file is in use.
    pub gives_back: bool,
}

impl Pages {
    pub fn spare(&self) -> i64 {
        (self.free - (self.all / 10).max(FEW)).max(0)
    }
}

/// The pages of the embedded file; none for a server.
pub async fn pages(store: &Store) -> Result<Option<Pages>> {
    let Some(sql) = store.backend().pages_sql() else { return Ok(None) };
    let row: Option<(i64, i64, i64)> = store.first(sql, &[]).await?;
    Ok(row.map(|(all, free, gives_back)| Pages { all, free, gives_back: gives_back > 0 }))
}

/// Returns spare pages to the disk and counts them. Its future may be dropped at any time.
pub async fn give_back(store: &Store) -> Result<i64> {
    let (step, to_disk) = store.backend().give_back_sql();
    let mut returned = 0;
    while let Some(pages) = pages(store).await?
        && pages.gives_back
        && pages.spare() > 0
    {
        store.write(Batch::of(step, [])).await?;
        let after = self::pages(store).await?.map_or(0, |pages| pages.all);
        if after >= pages.all {
            break;
        }
        returned += pages.all - after;
        tokio::time::sleep(PAUSE).await;
    }
    if returned > 0 {
        store.run(to_disk).await?;
    }
    Ok(returned)
}
