//! How often opening something that strangers sent was begun without an end.
//!
//! Properties:
//!
//! - An attempt is committed before it begins, so one that ends the process counts.
//! - After two such attempts, the thing isn't opened for a month, by any instance.
//! - An attempt that fails, or is cancelled while the process goes on, has ended.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;

use crate::{Batch, Result, Store, Value};

const MAX: i64 = 2;
const QUARANTINE: Duration = Duration::from_hours(30 * 24);

/// Does work that opens a thing, unless it was set aside: then `None`.
pub async fn counted<T>(store: &Store, what: &str, work: impl Future<Output = T>) -> Result<Option<T>> {
    let digest = Sha256::digest(what).iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut batch = Batch::new();
    let sql = "INSERT INTO attempts (what, number, at) VALUES ($1, 1, $2) \
        ON CONFLICT (what) DO UPDATE SET number = attempts.number + 1 RETURNING number";
    batch.returning(sql, [(&digest).into(), store.now().into()]);
    let begun = store.write(batch).await?;
    if begun.last().and_then(Value::as_int).is_some_and(|number| number > MAX) {
        return Ok(None);
    }
    let mut attempt = Attempt { store: store.clone(), what: Some(digest) };
    let done = work.await;
    attempt.end().await?;
    Ok(Some(done))
}

/// An attempt, which ends when it is dropped.
struct Attempt {
    store: Store,
    what: Option<String>,
}

impl Attempt {
    async fn end(&mut self) -> Result<()> {
        let Some(what) = self.what.take() else { return Ok(()) };
        ended(&self.store, &what).await
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let (Some(what), Ok(runtime)) = (self.what.take(), Handle::try_current()) {
            let store = self.store.clone();
            runtime.spawn(async move { ended(&store, &what).await });
        }
    }
}

async fn ended(store: &Store, what: &str) -> Result<()> {
    store.write(Batch::of("DELETE FROM attempts WHERE what = $1", [what.into()])).await.map(drop)
}

/// Forgets what was set aside a month ago.
pub(crate) async fn prune(store: &Store) -> Result<()> {
    let before = store.now() - i64::try_from(QUARANTINE.as_millis()).unwrap_or_default();
    if store.count("SELECT count(*) FROM attempts WHERE at < $1", &[before.into()]).await? > 0 {
        store.write(Batch::of("DELETE FROM attempts WHERE at < $1", [before.into()])).await?;
    }
    Ok(())
}
