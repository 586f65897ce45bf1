//! How many processes died while they opened something that strangers sent.
//!
//! Properties:
//!
//! - An attempt is committed before it begins, so one that ends the process counts, once for all its readers.
//! - After two processes, the thing isn't opened for a month, by any instance.
//! - An attempt that fails, or is cancelled while the process goes on, has ended. Those of instances that live don't count.

use std::time::Duration;

use adjutant_types::InstanceId;
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;

use crate::{Batch, Result, Store, leases};

const MAX: i64 = 2;
const QUARANTINE: Duration = Duration::from_hours(30 * 24);

/// Does work that opens a thing, unless it was set aside: then `None`.
pub async fn counted<T>(
    store: &Store,
    instance: &InstanceId,
    what: &str,
    work: impl Future<Output = T>,
) -> Result<Option<T>> {
    let digest = Sha256::digest(what).iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    // A row for each instance, with the number of its readers.
    let what = format!("{digest} {instance}");
    if deaths(store, &digest, &what).await? >= MAX {
        return Ok(None);
    }
    let sql = "INSERT INTO attempts (what, number, at) VALUES ($1, 1, $2) \
        ON CONFLICT (what) DO UPDATE SET number = attempts.number + 1";
    store.write(Batch::of(sql, [(&what).into(), store.now().into()])).await?;
    let mut attempt = Attempt { store: store.clone(), what: Some(what) };
    let done = work.await;
    attempt.end().await?;
    Ok(Some(done))
}

/// How many processes died of it. Earlier versions have one row for all, with their number.
async fn deaths(store: &Store, digest: &str, own: &str) -> Result<i64> {
    let sql = "SELECT what, number FROM attempts WHERE what LIKE $1 AND what <> $2";
    let others: Vec<(String, i64)> = store.all(sql, &[format!("{digest}%").into(), own.into()]).await?;
    if others.is_empty() {
        return Ok(0);
    }
    let living = leases::living(store).await?;
    let deaths = others.iter().map(|(what, number)| match what.split_once(' ') {
        Some((_, instance)) => i64::from(living.iter().all(|(id, ..)| id.as_str() != instance)),
        None => *number,
    });
    Ok(deaths.sum())
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
    let mut batch = Batch::of("UPDATE attempts SET number = number - 1 WHERE what = $1", [what.into()]);
    batch.run("DELETE FROM attempts WHERE what = $1 AND number < 1", [what.into()]);
    store.write(batch).await.map(drop)
}

/// Ends the attempts of an instance that leaves: it hasn't died of them.
pub(crate) fn end_all(batch: &mut Batch, instance: &InstanceId) {
    batch.run("DELETE FROM attempts WHERE what LIKE $1", [format!("% {instance}").into()]);
}

/// Forgets what was set aside a month ago.
pub(crate) async fn prune(store: &Store) -> Result<()> {
    let before = store.now() - i64::try_from(QUARANTINE.as_millis()).unwrap_or_default();
    if store.count("SELECT count(*) FROM attempts WHERE at < $1", &[before.into()]).await? > 0 {
        store.write(Batch::of("DELETE FROM attempts WHERE at < $1", [before.into()])).await?;
    }
    Ok(())
}
