//! `[backup]`: the backups that `serve` makes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::read::{Section, count, path, span};

/// When and where the store is backed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The time between two backups.
    pub every: Duration,
    pub path: PathBuf,
    pub keep: u32,
}

impl Backup {
    pub(crate) fn read(section: &mut Section<'_>, data_dir: &Path, is_server: bool) -> Option<Self> {
        let mut backup = Self { every: Duration::from_hours(24), path: data_dir.join("backups"), keep: 7 };
        section.set("every", &mut backup.every, span);
        section.set("path", &mut backup.path, path);
        section.set("keep", &mut backup.keep, count);
        if !section.is_present() {
            return None;
        }
        if is_server {
            section.problem(
                "every",
                "`serve` backs up SQLite stores only; remove [backup], and run `adjutant db backup` (it calls pg_dump) \
                 from a timer",
            );
        }
        Some(backup)
    }
}
