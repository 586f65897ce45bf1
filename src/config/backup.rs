//! `[backup]`: copies of the store that `serve` makes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::read::{Section, count, span, text};

/// When and where the store is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// How long after a copy the next one is made.
    pub every: Duration,
    /// The folder of the copies.
    pub path: PathBuf,
    /// How many are kept.
    pub keep: u32,
}

impl Backup {
    pub(super) fn read(section: &mut Section<'_>, data_dir: &Path, is_server: bool) -> Option<Self> {
        let mut it = Self { every: Duration::from_hours(24), path: data_dir.join("backups"), keep: 7 };
        section.set("every", &mut it.every, span);
        section.set("path", &mut it.path, |value, reading| Ok(reading.folder().join(text(value, reading)?)));
        section.set("keep", &mut it.keep, count);
        if !section.is_present() {
            return None;
        }
        if is_server {
            section.fault(
                "every",
                "only an SQLite store is copied by `serve`; have PostgreSQL copied by pg_dump (or `adjutant db backup`, \
                 which runs it) from a timer of the machine, and leave [backup] out",
            );
        }
        Some(it)
    }
}
