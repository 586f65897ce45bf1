//! What the tests and benches of several crates share. It uses no crate whose own tests use it, so that there is one kind
//! of each type.

pub mod chaos;
pub mod chromium;
pub mod client;
pub mod former;
pub mod gateway;
pub mod journal;
pub mod model;
pub mod platform;
pub mod process;
pub mod programs;
pub mod random;
pub mod remembered;
pub mod scripted;
pub mod share;
pub mod simulation;
pub mod soak;

use std::path::{Path, PathBuf};

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
