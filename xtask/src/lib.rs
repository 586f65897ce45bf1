//! What `cargo run -p xtask -- shape` prints and `tests/rules` holds to a limit: the sources, read as text.

pub mod lines;
pub mod measures;
pub mod source;
