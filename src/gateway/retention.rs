//! Empties beside the turns what was kept for long enough, and gives its space back: see
//! [`crate::store::retention`] and [`crate::store::space`].

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::store::leases::Instance;
use crate::store::retention::{self, Ages, Emptied};
use crate::store::{Store, StoreError, space};

/// It is looked this often at most, and this seldom at least.
const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_hours(1);
/// So long after the start it is looked first.
const FIRST: Duration = Duration::from_mins(1);

/// How a lease names it, so that of several processes one is at it.
const LEASE: &str = "retention";

/// Looks after what is old.
pub struct Retention {
    /// Where.
    pub store: Store,
    /// For whom the work is held.
    pub instance: Arc<Instance>,
    /// What is old.
    pub ages: Ages,
}

impl Retention {
    /// Looks again and again until it is stopped, which may be in the middle of it.
    pub async fn work(self, stop: CancellationToken) {
        let Some(shortest) = self.ages.shortest() else { return };
        let every = (shortest / 10).clamp(OFTEN, SELDOM);
        let mut wait = every.min(FIRST);
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = every;
            if let Some(Err(error)) = stop.run_until_cancelled(self.pass()).await {
                tracing::error!(%error, "emptying what is old failed; it is tried again");
            }
        }
    }

    async fn pass(&self) -> Result<(), StoreError> {
        let Some(lease) = self.instance.acquire(&self.store, LEASE.to_owned()).await? else { return Ok(()) };
        let done = self.empty().await;
        self.store.write(lease.release()).await?;
        let (emptied, pages) = done?;
        if !emptied.is_nothing() {
            let (texts, traces, memories) = (emptied.bodies, emptied.traces, emptied.memories);
            tracing::info!(texts, traces, memories, "what was kept for long enough is emptied");
        }
        if pages > 0 {
            tracing::info!(pages, "space is given back to the disk");
        }
        Ok(())
    }

    async fn empty(&self) -> Result<(Emptied, i64), StoreError> {
        let emptied = retention::pass(&self.store, &self.ages).await?;
        Ok((emptied, space::give_back(&self.store).await?))
    }
}
