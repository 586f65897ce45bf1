//! A database that is migrated once: each test begins with a copy, because forty migrations are most of a short test.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, io, thread};

use tokio::runtime::Builder;

static DATABASE: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Puts a copy where no file is yet. The first time, `make` makes the database at that place and closes it.
pub fn copy_to<F: Future<Output = ()>>(place: &Path, make: impl FnOnce() -> F + Send) -> io::Result<()> {
    let mut database = DATABASE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(database) = &*database {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(place)?;
        return file.write_all(database);
    }
    // A thread of its own, because the caller may be inside of another runtime.
    let making = || -> io::Result<()> {
        Builder::new_current_thread().enable_all().build()?.block_on(make());
        Ok(())
    };
    thread::scope(|scope| scope.spawn(making).join())
        .map_err(|_| io::Error::other("the database could not be made"))??;
    *database = Some(fs::read(place)?);
    Ok(())
}
