//! Folders that are watched: those of the configuration, for owners.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use adjutant_skills::accounts::is_at_home;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Result};
use adjutant_types::{ItemNoun, Mark};

use super::{At, Finding, Watcher, item};
use crate::watching::matching::{OwnAddresses, suits};

/// So long nothing may have been written to a file before it is news, in milliseconds: it may not be whole.
const REST_MS: i64 = 10_000;
/// How long reading a folder may take.
const LONGEST_READ: Duration = Duration::from_secs(20);
/// A folder with more files isn't read.
const MOST: usize = 10_000;

/// Of each file by its name: when it came or was changed last, and what changes with it, when it was written and its size.
type Files = BTreeMap<String, (i64, (i64, u64))>;

impl Watcher {
    pub(super) async fn look_at_folder(&self, at: At<'_>) -> Result<()> {
        let (store, now, path) = (self.store(), self.store().now(), &at.0.place);
        let settings = self.conversations.settings.current();
        let mut watches = Vec::new();
        for watch in watches::active_on(store, at.0).await? {
            if watch.config_name.is_some() || is_at_home(store, &settings.owners, &watch.person_id).await? {
                watches.push(watch);
            }
        }
        if watches.is_empty() || !settings.folders.contains(path) {
            return Ok(());
        }
        // A folder of another machine may hang.
        let read = tokio::time::timeout(LONGEST_READ, files_in(path)).await;
        let files = read.unwrap_or_else(|late| Err(late.into()));
        if watches.iter().any(|watch| watch.unread_since.is_some() != files.is_err()) {
            let batch = Batch::with(|batch| watches::set_unread(batch, at.0, files.is_err().then_some(now)));
            store.write(batch).await?;
        }
        let files = match files {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(folder = path, %error, "what is watched can't be read; retrying");
                return Ok(());
            }
        };
        let row = watches::source(store, at.0).await?;
        let before = if let Some(Mark::Files(before)) = &row.mark { before } else { &BTreeMap::new() };
        let (mut found, mut seen) = (Vec::new(), BTreeMap::new());
        for (name, (came, state)) in files {
            if before.get(&name) != Some(&state) {
                if (0..REST_MS).contains(&(now - came)) {
                    continue;
                }
                let is_wanted = |watch: &&WatchRow| {
                    came > watch.active_since.max(self.since)
                        && suits(&watch.condition, (&[], &name, ""), &OwnAddresses::default())
                };
                found.extend(watches.iter().filter(is_wanted).map(|watch| Finding {
                    watch,
                    key: format!("{name}|{}|{}", state.0, state.1),
                    thing: item(ItemNoun::Document, &name, ("", &name, ""), came),
                }));
            }
            seen.insert(name, state);
        }
        self.commit(at.1, &row, &Mark::Files(seen), &found).await
    }
}

/// The files in a folder. Those that are hidden, and what lies behind a link, aren't among them.
async fn files_in(path: &str) -> io::Result<Files> {
    let (mut files, mut entries) = (Files::new(), tokio::fs::read_dir(path).await?);
    while let Some(entry) = entries.next_entry().await? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let about = match entry.metadata().await {
            Ok(about) if about.is_file() && !name.starts_with('.') => about,
            // One that has just gone is none either.
            _ => continue,
        };
        if files.len() == MOST {
            return Err(io::Error::other("it has too many files"));
        }
        let ms = |seconds: i64, nanos: i64| seconds * 1_000 + nanos / 1_000_000;
        let written = ms(about.mtime(), about.mtime_nsec());
        files.insert(name, (ms(about.ctime(), about.ctime_nsec()), (written, about.len())));
    }
    Ok(files)
}
