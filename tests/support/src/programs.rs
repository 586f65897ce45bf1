//! How unit tests start programs.

use adjutant_sandbox::Launcher;

/// By way of the program that was built beside the tests.
pub fn launcher() -> Launcher {
    let tests = std::env::current_exe().unwrap();
    let ours = tests.ancestors().nth(2).unwrap().join("adjutant");
    assert!(ours.is_file(), "these tests need the program: cargo build -p adjutant");
    Launcher::new(ours, [])
}
