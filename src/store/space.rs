//! The space of what was emptied or deleted goes back to the disk.
//!
//! A server does that by itself. The embedded file keeps a free tenth for what comes next; what is beyond it is given
//! back a few pages in a commit, so that no turn waits for it. A file that was made before it could give anything back
//! uses its free pages again, and learns it when it is written anew: see [`Store::scrub`].

use std::time::Duration;

use super::{Batch, Store, StoreError};

/// Less than so many free pages are not worth the work: a megabyte.
const FEW: i64 = 256;
/// How long others have the store between two commits.
const REST: Duration = Duration::from_millis(10);

/// The pages of the embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// All.
    pub all: i64,
    /// Those that hold nothing.
    pub free: i64,
    /// Whether free ones can be given back while the file is in use.
    pub gives_back: bool,
}

impl Pages {
    /// How many are free beyond what is worth keeping.
    pub fn spare(&self) -> i64 {
        (self.free - (self.all / 10).max(FEW)).max(0)
    }
}

/// The pages of the embedded file; none of a server.
pub async fn pages(store: &Store) -> Result<Option<Pages>, StoreError> {
    let Some(sql) = store.backend().pages_sql() else { return Ok(None) };
    let row: Option<(i64, i64, i64)> = store.first(sql, &[]).await?;
    Ok(row.map(|(all, free, gives_back)| Pages { all, free, gives_back: gives_back > 0 }))
}

/// Gives back what is spare. It may be dropped at any moment. Returns how many pages went.
///
/// # Errors
/// When the store fails; what was given back until then stays so.
pub async fn give_back(store: &Store) -> Result<i64, StoreError> {
    let (step, to_disk) = store.backend().give_back_sql();
    let mut given = 0;
    while let Some(pages) = pages(store).await?
        && pages.gives_back
        && pages.spare() > 0
    {
        let mut batch = Batch::new();
        batch.run(step, []);
        store.write(batch).await?;
        let after = self::pages(store).await?.map_or(0, |pages| pages.all);
        if after >= pages.all {
            break;
        }
        given += pages.all - after;
        tokio::time::sleep(REST).await;
    }
    if given > 0 {
        store.run(to_disk).await?;
    }
    Ok(given)
}
