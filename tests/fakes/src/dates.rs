//! Dates of a test's own for real processes: Debian's libfaketime stands between them and the system's clock.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::postgres::NO_SKIP;

/// The environment in which a process begins at this moment (UTC, as `2026-03-14 10:00:00`) and its clock goes on from
/// there; timers run as ever. None where the library is missing; that is said plainly, past the capture of test output.
///
/// # Errors
/// When there is none and [`NO_SKIP`] forbids to go on without.
pub fn beginning(at: &str) -> Result<Option<[(&'static str, String); 3]>, String> {
    let Some(library) = library() else {
        let skipped = "the tests with dates of their own: needs the Debian package faketime";
        if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
            return Err(format!("{NO_SKIP} is set, but this machine can't run {skipped}"));
        }
        let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
        return Ok(None);
    };
    Ok(Some([
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME", format!("@{at}")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]))
}

/// Where the package puts it depends on the machine's architecture.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let of = |folder: std::fs::DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    folders.flatten().map(of).find(|file| file.exists())
}
