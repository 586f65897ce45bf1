//! What this terminal has shown, so that nothing is shown twice.
//!
//! A terminal can't be asked what it showed. So right after the text is written, the outbox row's id is
//! appended to a file in the data directory: two system calls side by side, and only a process that is
//! killed between the two makes the next one show that text again. It is a plain append without fsync,
//! because it has to outlive the process and not the machine: when the machine dies, so does the screen.
//!
//! Several processes may append at once: each record is one write in append mode. When the file has
//! grown it is renamed to be the older half and a new one begins. A record written just then by a process
//! that still holds the renamed file lies in the older half, where it is looked for too. Only the renaming
//! is done under a lock, or two processes at once would throw away the half that was just begun.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A half of this size holds some 20,000 records.
const HALF: u64 = 512 * 1024;

/// The file of what was shown.
#[derive(Debug)]
pub(crate) struct Receipts {
    newer: PathBuf,
    older: PathBuf,
    lock: PathBuf,
    half: u64,
}

impl Receipts {
    /// The receipts in this directory, which is made when it is missing.
    pub(crate) fn open(data_dir: &Path) -> io::Result<Self> {
        Self::with_half(data_dir, HALF)
    }

    fn with_half(data_dir: &Path, half: u64) -> io::Result<Self> {
        std::fs::create_dir_all(data_dir)?;
        let file = |name: &str| data_dir.join(name);
        Ok(Self {
            newer: file("console-receipts"),
            older: file("console-receipts.old"),
            lock: file("console-receipts.lock"),
            half,
        })
    }

    pub(crate) fn add(&self, id: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.newer)?;
        // A newline on both sides: a record torn by a full disk does not spoil the next.
        file.write_all(format!("\n{id}\n").as_bytes())?;
        if file.metadata()?.len() > self.half {
            // The record is written; a file that grows a little longer harms nobody.
            let _ = self.turn_over();
        }
        Ok(())
    }

    fn turn_over(&self) -> io::Result<()> {
        let lock = File::create(&self.lock)?;
        match lock.try_lock() {
            Ok(()) => {}
            // Somebody else is at it.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if std::fs::metadata(&self.newer)?.len() > self.half {
            std::fs::rename(&self.newer, &self.older)?;
        }
        Ok(())
    }

    pub(crate) fn has(&self, id: &str) -> io::Result<bool> {
        // The newer first: one that turns into the older in between is then found there.
        Ok(contains(&self.newer, id)? || contains(&self.older, id)?)
    }
}

fn contains(path: &Path, id: &str) -> io::Result<bool> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes.split(|byte| *byte == b'\n').any(|line| line == id.as_bytes())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_is_found_by_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let receipts = Receipts::open(&dir.path().join("new")).unwrap();
        assert!(!receipts.has("a").unwrap());
        receipts.add("a").unwrap();
        receipts.add("bc").unwrap();
        let next = Receipts::open(&dir.path().join("new")).unwrap();
        assert!(next.has("a").unwrap() && next.has("bc").unwrap());
        assert!(!next.has("b").unwrap());
    }

    #[test]
    fn a_torn_record_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("console-receipts"), "\nfirst\n\nsec").unwrap();
        let receipts = Receipts::open(dir.path()).unwrap();
        receipts.add("third").unwrap();
        assert!(receipts.has("first").unwrap() && receipts.has("third").unwrap());
    }

    #[test]
    fn the_file_stays_small_and_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let receipts = Receipts::with_half(dir.path(), 100).unwrap();
        for number in 0..500 {
            receipts.add(&format!("row{number:03}")).unwrap();
            assert!(receipts.has(&format!("row{number:03}")).unwrap());
            let before = receipts.has(&format!("row{:03}", number - number.min(10))).unwrap();
            assert!(before, "a record younger than a half was dropped");
        }
        assert!(!receipts.has("row000").unwrap());
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        assert!(size(&receipts.newer) + size(&receipts.older) < 250);
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let receipts = Receipts::with_half(dir.path(), 4_000).unwrap();
                scope.spawn(move || {
                    for number in 0..100 {
                        receipts.add(&format!("w{writer}n{number}")).unwrap();
                        assert!(receipts.has(&format!("w{writer}n{number}")).unwrap());
                    }
                });
            }
        });
    }
}
