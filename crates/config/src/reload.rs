//! Values read from files and replaced while we run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_secs(1);

/// A value that many read, as it is now, and one replaces.
#[derive(Debug, Default)]
pub struct Reloadable<T>(RwLock<Arc<T>>);

impl<T> Reloadable<T> {
    pub fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    pub fn current(&self) -> Arc<T> {
        Arc::clone(&self.0.read())
    }

    pub fn replace(&self, value: T) {
        *self.0.write() = Arc::new(value);
    }
}

/// The sizes and times of some files: what is the same needn't be read again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl FromIterator<PathBuf> for Fingerprint {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(files: I) -> Self {
        let look = |file: PathBuf| {
            let data = std::fs::metadata(&file).ok();
            let time = data.as_ref().and_then(|data| data.modified().ok());
            (file, (time, data.map_or(0, |data| data.len())))
        };
        Self(files.into_iter().map(look).collect())
    }
}

/// Polls once a second, until the stop.
pub async fn watch(poll: impl Fn(), stop: CancellationToken) {
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        poll();
    }
}
