//! Backs up the store regularly, beside the turns: see [`adjutant_store::backups`].
//!
//! Properties:
//!
//! - The newest file decides when the next backup is due, so a restart changes nothing.
//! - Of several processes on one store, one makes the backup.
//! - A failed backup is reported and retried.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_store::leases::Instance;
use adjutant_store::{Result, Store, StoreError, backups};
use tokio_util::sync::CancellationToken;

/// The shortest and longest pause between two checks.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// How long to wait after a failure.
const RETRY_AFTER: Duration = Duration::from_mins(10);

const LEASE: &str = "backup";

pub struct Backups {
    pub store: Store,
    pub instance: Arc<Instance>,
    pub every: Duration,
    pub folder: PathBuf,
    pub keep: usize,
    /// Whether the last one failed; shown in the health report.
    pub failed: Arc<AtomicBool>,
}

impl Backups {
    /// Makes backups when they are due, until it is stopped, possibly in the middle of one.
    pub async fn work(self, stop: CancellationToken) {
        let interval = (self.every / 10).clamp(SHORTEST_PAUSE, MAX_PAUSE);
        let mut wait = SHORTEST_PAUSE;
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = interval;
            match stop.run_until_cancelled(self.make_due()).await {
                Some(Err(error)) => {
                    tracing::error!(%error, "the backup failed; it is tried again in {} min", RETRY_AFTER.as_secs() / 60);
                    self.failed.store(true, Ordering::Relaxed);
                    wait = RETRY_AFTER;
                }
                Some(Ok(true)) => self.failed.store(false, Ordering::Relaxed),
                Some(Ok(false)) | None => {}
            }
        }
    }

    /// Makes a backup if one is due. Returns whether it did.
    async fn make_due(&self) -> Result<bool> {
        if !self.is_due()? {
            return Ok(false);
        }
        let Some(lease) = self.instance.acquire(&self.store, LEASE.to_owned()).await? else {
            return Ok(false);
        };
        // Another process may have just made it.
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

    fn is_due(&self) -> Result<bool> {
        let copies = backups::list(&self.folder).map_err(|error| StoreError::Backup {
            to: self.folder.display().to_string(),
            reason: error.to_string(),
        })?;
        let every = i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX);
        let now = self.store.now();
        // A date in the future comes from a wrong clock.
        let newest = copies.iter().rev().map(|(time, _)| *time).find(|time| *time <= now);
        Ok(newest.is_none_or(|newest| newest.saturating_add(every) <= now))
    }
}

#[cfg(test)]
mod tests {
    use adjutant_types::clock::FixedClock;

    use super::*;

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
            let lease = other.instance.acquire(&store, LEASE.to_owned()).await.unwrap().unwrap();
            assert!(!first.make_due().await.unwrap(), "another process is making it");
            store.write(lease.release()).await.unwrap();
            assert!(first.make_due().await.unwrap(), "day {day}");
        }
        let names = || {
            backups::list(&folder).unwrap().into_iter().map(|(_, path)| path.file_name().unwrap().to_owned())
        };
        let remaining = ["adjutant-20260103T000000Z.db", "adjutant-20260104T000000Z.db"];
        assert_eq!(names().collect::<Vec<_>>(), remaining);
        // A file from a wrong clock neither prevents the next backup nor deletes it.
        std::fs::write(folder.join("adjutant-20990101T000000Z.db"), "").unwrap();
        clock.advance(Duration::from_hours(24));
        assert!(first.make_due().await.unwrap());
        let remaining = ["adjutant-20260105T000000Z.db", "adjutant-20990101T000000Z.db"];
        assert_eq!(names().collect::<Vec<_>>(), remaining);
        assert!(!first.make_due().await.unwrap());
    }
}
