//! Copies of the store in a folder, named by their time. Only the newest are kept.
//!
//! Properties: a copy gets its name only when it is whole, durable and readable by its owner alone; files with other
//! names are never touched.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use adjutant_types::clock;
use chrono::NaiveDateTime;

use crate::{Result, Store, StoreError};

/// The name of a copy: `adjutant-20260101T090000Z.db`, in UTC.
const NAME: &str = "adjutant-%Y%m%dT%H%M%SZ.db";
/// The suffix of a copy that is being made.
const PART: &str = ".part";

/// The copies in a folder, oldest first: when each was made, in milliseconds, and its file.
pub fn list(folder: &Path) -> io::Result<Vec<(i64, PathBuf)>> {
    named(folder, time_of)
}

/// Makes a copy, removes the oldest beyond `limit`, and returns the copy's file. Don't run two at once in a folder.
pub async fn make(store: &Store, folder: &Path, limit: usize) -> Result<PathBuf> {
    let failed =
        |error: io::Error| StoreError::Backup { to: folder.display().to_string(), reason: error.to_string() };
    let of_part = |name: &str| time_of(name.strip_suffix(PART)?);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    // Left by a process that died while making a copy.
    for (_, path) in named(folder, of_part).map_err(failed)? {
        fs::remove_file(path).map_err(failed)?;
    }
    let name = clock::utc(store.now()).format(NAME).to_string();
    let (part, path) = (folder.join(format!("{name}{PART}")), folder.join(name));
    store.backup(&part).await?;
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits for the disk alone, and a copy that is whole is worth it"
    )]
    let finished = tokio::task::spawn_blocking({
        let (folder, path) = (folder.to_owned(), path.clone());
        move || finish(&folder, &part, &path, limit)
    });
    finished.await.map_err(io::Error::other).and_then(|finished| finished).map_err(failed)?;
    Ok(path)
}

fn finish(folder: &Path, part: &Path, path: &Path, limit: usize) -> io::Result<()> {
    fs::File::open(part)?.sync_all()?;
    fs::rename(part, path)?;
    fs::File::open(folder)?.sync_all()?;
    // The new copy stays, even if a wrong clock gave others a later time.
    let mut previous = list(folder)?;
    previous.retain(|(_, other)| other != path);
    for (_, old) in &previous[..(previous.len() + 1).saturating_sub(limit.max(1))] {
        fs::remove_file(old)?;
    }
    Ok(())
}

/// The files of a folder whose names contain a time, oldest first.
fn named(folder: &Path, time_of: impl Fn(&str) -> Option<i64>) -> io::Result<Vec<(i64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let time = entry.file_name().to_str().and_then(&time_of);
        if let Some(time) = time
            && entry.file_type()?.is_file()
        {
            found.push((time, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

fn time_of(name: &str) -> Option<i64> {
    let time = NaiveDateTime::parse_from_str(name, NAME).ok()?.and_utc();
    // Only names that we would write ourselves.
    (time.format(NAME).to_string() == name).then(|| time.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_mean_a_time() {
        assert_eq!(time_of("adjutant-20260101T090000Z.db"), Some(1_767_258_000_000));
        for name in [
            "adjutant.db",
            "adjutant-20260101T090000Z.db.part",
            "adjutant-20260101T090000Z.db.gz",
            "adjutant-2026-1-1T090000Z.db",
            "adjutant-20261301T090000Z.db",
            "copy-adjutant-20260101T090000Z.db",
            "adjutant- 20260101T090000Z.db",
            "adjutant-+20260101T090000Z.db",
        ] {
            assert_eq!(time_of(name), None, "{name}");
        }
    }
}
