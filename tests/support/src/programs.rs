//! The program that was built beside the tests.

use std::path::PathBuf;

use adjutant_sandbox::Launcher;

/// Its path. Cargo builds it for the suites and benches of its own package; unit tests of a crate need it built before.
pub fn adjutant() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let ours = tests.ancestors().nth(2).unwrap().join("adjutant");
    assert!(ours.is_file(), "these tests need the program: cargo build -p adjutant");
    ours
}

/// How unit tests start programs: by way of ours.
pub fn launcher() -> Launcher {
    Launcher::new(adjutant(), [])
}
