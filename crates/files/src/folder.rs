//! The folder of the files, each under its id.
//!
//! Properties:
//!
//! - Where several machines share a database, what a file contains is kept there, too: it's put there when the file is
//!   fetched, and a machine that lacks it copies it into its own folder when it needs it.
//! - A file in the folder is whole: it's written under another name first.
//! - No file is in memory as a whole on its way.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use adjutant_store::files::parts;
use adjutant_store::{Store, StoreError};
use adjutant_types::FileId;
use tokio::fs::File;
use tokio::sync::Semaphore;

/// Files that are put into the database, or taken from it, at the same time.
const AT_ONCE: usize = 2;
/// How often a file is put into the database before that is given up, and the pause between.
const TRIES: u32 = 3;
const RETRY_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    slots: Semaphore,
    /// The number of the next copy, so that two copies of one file don't meet.
    next: AtomicU64,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It is neither in the folder nor in the database.
    #[error("it isn't there anymore")]
    Gone,
    /// The folder can't be written.
    #[error("the folder of files can't be written: {0}")]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Default for Folder {
    fn default() -> Self {
        Self::new(PathBuf::new())
    }
}

impl Folder {
    /// The folder at this path; it need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path, slots: Semaphore::new(AT_ONCE), next: AtomicU64::new(0) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file is, if it's here.
    pub fn place(&self, id: &FileId) -> PathBuf {
        self.path.join(id.as_str())
    }

    /// Puts a file of the folder where other machines find it. Without other machines there is nothing to do.
    pub async fn share(&self, store: &Store, id: &FileId) -> Result<(), FolderError> {
        if !store.shares_files() {
            return Ok(());
        }
        let _slot = self.slots.acquire().await.map_err(|_| StoreError::Closed)?;
        for tried in 1.. {
            let mut content = File::open(self.place(id)).await?;
            match parts::put(store, id, &mut content).await {
                Err(error) if tried < TRIES => {
                    tracing::warn!(%error, file = %id, "a file can't be put into the database; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                done => return Ok(done?),
            }
        }
        Ok(())
    }

    /// Where a file is, after it was copied here if it's only in the database.
    pub async fn find(&self, store: &Store, id: &FileId) -> Result<PathBuf, FolderError> {
        let path = self.place(id);
        if tokio::fs::try_exists(&path).await? {
            return Ok(path);
        }
        if !store.shares_files() {
            return Err(FolderError::Gone);
        }
        let _slot = self.slots.acquire().await.map_err(|_| StoreError::Closed)?;
        tokio::fs::create_dir_all(&self.path).await?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let part = self.path.join(format!("{id}.{}-{number}.part", std::process::id()));
        let copied = async {
            match parts::get(store, id, &mut File::create(&part).await?).await? {
                true => Ok(tokio::fs::rename(&part, &path).await?),
                false => Err(FolderError::Gone),
            }
        };
        let copied = copied.await;
        if copied.is_err() {
            // A remaining part is removed with unknown files.
            let _ = tokio::fs::remove_file(&part).await;
        }
        copied.map(|()| path)
    }
}
