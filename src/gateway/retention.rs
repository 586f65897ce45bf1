//! Deletes old data beside the turns and returns its space to the disk: see [`crate::store::retention`] and
//! [`crate::store::space`].

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::store::leases::Instance;
use crate::store::retention::{self, Ages, Emptied};
use crate::store::{Store, StoreError, space};

/// The shortest and longest pause between two runs.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// The longest pause before the first run.
const FIRST_AFTER: Duration = Duration::from_mins(1);

/// The name of its lease: of several processes, one does the work.
const LEASE: &str = "retention";

/// Deletes old data.
pub struct Retention {
    /// The store.
    pub store: Store,
    /// The instance that takes the lease.
    pub instance: Arc<Instance>,
    /// How long each kind of data is kept.
    pub ages: Ages,
}

impl Retention {
    /// Runs regularly until it is stopped, possibly in the middle of a run.
    pub async fn work(self, stop: CancellationToken) {
        // What was forgotten goes, whatever else is kept.
        let shortest = self.ages.shortest().unwrap_or(Duration::MAX);
        let every = (shortest / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let mut wait = every.min(FIRST_AFTER);
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = every;
            if let Some(Err(error)) = stop.run_until_cancelled(self.pass()).await {
                tracing::error!(%error, "deleting old data failed; retrying");
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
            tracing::info!(texts, traces, memories, "old data deleted");
        }
        if pages > 0 {
            tracing::info!(pages, "space returned to the disk");
        }
        Ok(())
    }

    async fn empty(&self) -> Result<(Emptied, i64), StoreError> {
        let emptied = retention::pass(&self.store, &self.ages).await?;
        Ok((emptied, space::give_back(&self.store).await?))
    }
}
