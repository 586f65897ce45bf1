//! Deletes old data beside the turns and returns its space to the disk: see [`adjutant_store::retention`] and
//! [`adjutant_store::space`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_store::leases::Instance;
use adjutant_store::retention::{self, Ages, Emptied};
use adjutant_store::{Result, Store, files, space};
use tokio_util::sync::CancellationToken;

/// The shortest and longest pause between two runs.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_hours(1);
/// The longest pause before the first run.
const FIRST_AFTER: Duration = Duration::from_mins(1);

/// How long fetching a file may take at most, with all its repetitions.
const FETCHING: Duration = Duration::from_hours(1);

/// The name of its lease: of several processes, one does the work.
const LEASE: &str = "retention";

pub struct Retention {
    pub store: Store,
    pub instance: Arc<Instance>,
    pub ages: Ages,
    /// The folder of the files that people sent.
    pub folder: PathBuf,
}

impl Retention {
    /// Runs regularly until it is stopped, possibly in the middle of a run.
    pub async fn work(self, stop: CancellationToken) {
        // What was forgotten goes, whatever else is retained.
        let shortest = self.ages.shortest().unwrap_or(Duration::MAX);
        let every = (shortest / 10).clamp(SHORTEST_PAUSE, MAX_PAUSE);
        let mut wait = every.min(FIRST_AFTER);
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = every;
            if let Some(Err(error)) = stop.run_until_cancelled(self.pass()).await {
                tracing::error!(%error, "deleting old data failed; retrying");
            }
        }
    }

    async fn pass(&self) -> Result<()> {
        let Some(lease) = self.instance.acquire(&self.store, LEASE.to_owned()).await? else { return Ok(()) };
        let done = self.empty().await;
        self.store.write(lease.release()).await?;
        let (emptied, pages) = done?;
        if !emptied.is_nothing() {
            let Emptied { bodies: texts, traces, memories, files } = emptied;
            tracing::info!(texts, traces, memories, files, "old data deleted");
        }
        if pages > 0 {
            tracing::info!(pages, "space returned to the disk");
        }
        Ok(())
    }

    async fn empty(&self) -> Result<(Emptied, i64)> {
        let emptied = retention::pass(&self.store, &self.ages).await?;
        // One that is being fetched has no row yet.
        remove_unknown_files(&self.store, &self.folder, FETCHING).await?;
        Ok((emptied, space::give_back(&self.store).await?))
    }
}

/// Removes what lies in the folder of files for so long and has no row: that was deleted, or a process died over it.
pub async fn remove_unknown_files(store: &Store, folder: &Path, since: Duration) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let registered: BTreeSet<String> = files::ids(store, None).await?.into_iter().map(String::from).collect();
    for entry in entries.flatten() {
        let changed = entry.metadata().and_then(|found| found.modified()).ok();
        let is_old = changed.is_none_or(|at| at.elapsed().unwrap_or_default() >= since);
        let is_registered = entry.file_name().to_str().is_some_and(|name| registered.contains(name));
        if is_old
            && !is_registered
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::warn!(%error, path = %entry.path().display(), "an old file couldn't be removed");
        }
    }
    Ok(())
}
