//! Copies the store again and again, beside the turns: see [`crate::store::backups`].
//!
//! Properties: the next one is due by the newest file there is, so that a restart changes nothing; of several
//! processes on a store one makes it; one that fails is told, and tried again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::store::leases::Instance;
use crate::store::{Store, StoreError, backups};

/// It is looked this often at most, and this seldom at least.
const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_mins(1);
/// How long after a failure it is tried again.
const REST: Duration = Duration::from_mins(10);

/// How a lease names it.
const LEASE: &str = "backup";

/// Makes the copies.
pub struct Backups {
    /// Of what.
    pub store: Store,
    /// For whom the work is held.
    pub instance: Arc<Instance>,
    /// How long after one the next one is made.
    pub every: Duration,
    /// Where they lie.
    pub folder: PathBuf,
    /// How many are kept.
    pub keep: usize,
    /// Whether the last one failed, for those who look.
    pub failed: Arc<AtomicBool>,
}

impl Backups {
    /// Makes each when it is due, until it is stopped, which may be in the middle of one.
    pub async fn work(self, stop: CancellationToken) {
        let look = (self.every / 10).clamp(OFTEN, SELDOM);
        let mut wait = OFTEN;
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = look;
            match stop.run_until_cancelled(self.make_due()).await {
                Some(Err(error)) => {
                    tracing::error!(%error, "the backup failed; it is tried again in {} min", REST.as_secs() / 60);
                    self.failed.store(true, Ordering::Relaxed);
                    wait = REST;
                }
                Some(Ok(true)) => self.failed.store(false, Ordering::Relaxed),
                Some(Ok(false)) | None => {}
            }
        }
    }

    /// Whether one was due and is made.
    async fn make_due(&self) -> Result<bool, StoreError> {
        if !self.is_due()? {
            return Ok(false);
        }
        let Some(lease) = self.instance.acquire(&self.store, LEASE.to_owned()).await? else {
            return Ok(false);
        };
        // Another process may have made it just now.
        let made = match self.is_due() {
            Ok(true) => backups::make(&self.store, &self.folder, self.keep).await.map(Some),
            other => other.map(|_| None),
        };
        self.store.write(lease.release()).await?;
        let made = made?;
        if let Some(path) = &made {
            tracing::info!(path = %path.display(), "the store is copied");
        }
        Ok(made.is_some())
    }

    fn is_due(&self) -> Result<bool, StoreError> {
        let copies = backups::list(&self.folder).map_err(|error| StoreError::Backup {
            to: self.folder.display().to_string(),
            reason: error.to_string(),
        })?;
        let every = i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX);
        let now = self.store.now();
        // One of the future was made by a clock that was wrong.
        let newest = copies.iter().rev().map(|(time, _)| *time).find(|time| *time <= now);
        Ok(newest.is_none_or(|newest| newest.saturating_add(every) <= now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FixedClock;

    async fn backups(store: &Store, folder: &std::path::Path) -> Backups {
        Backups {
            store: store.clone(),
            instance: Arc::new(Instance::register(store).await.unwrap()),
            every: Duration::from_hours(24),
            folder: folder.to_owned(),
            keep: 2,
            failed: Arc::default(),
        }
    }

    #[tokio::test]
    async fn one_is_made_when_it_is_due_by_the_newest_file() {
        let home = tempfile::TempDir::new().unwrap();
        let clock = FixedClock::at("2026-01-01T00:00:00Z");
        let url = format!("sqlite://{}", home.path().join("adjutant.db").display());
        let store = Store::open(&url, clock.clone()).await.unwrap();
        let folder = home.path().join("copies");
        let (first, other) = (backups(&store, &folder).await, backups(&store, &folder).await);
        assert!(first.make_due().await.unwrap());
        assert!(!first.make_due().await.unwrap());
        // As after a restart, and as in another process.
        assert!(!other.make_due().await.unwrap());
        for day in 2..=4 {
            clock.advance(Duration::from_hours(24));
            let at_it = other.instance.acquire(&store, LEASE.to_owned()).await.unwrap().unwrap();
            assert!(!first.make_due().await.unwrap(), "another process is at it");
            store.write(at_it.release()).await.unwrap();
            assert!(first.make_due().await.unwrap(), "day {day}");
        }
        let names = || {
            backups::list(&folder).unwrap().into_iter().map(|(_, path)| path.file_name().unwrap().to_owned())
        };
        let kept = ["adjutant-20260103T000000Z.db", "adjutant-20260104T000000Z.db"];
        assert_eq!(names().collect::<Vec<_>>(), kept);
        // A clock that was wrong neither keeps the next from being made, nor takes it away.
        std::fs::write(folder.join("adjutant-20990101T000000Z.db"), "").unwrap();
        clock.advance(Duration::from_hours(24));
        assert!(first.make_due().await.unwrap());
        let kept = ["adjutant-20260105T000000Z.db", "adjutant-20990101T000000Z.db"];
        assert_eq!(names().collect::<Vec<_>>(), kept);
        assert!(!first.make_due().await.unwrap());
    }
}
