//! Reads configuration, skill and workflow files: TOML or YAML becomes one tree whose values know where they stand, and
//! typed getters collect every problem at once.
//!
//! It takes bounded time and memory, whatever a file contains.

mod problem;
mod table;
mod toml;
mod tree;
mod yaml;

pub use problem::{Position, Problem, Problems, Severity, in_order, lines};
pub use table::Table;
pub use tree::{Document, Entry, Node, Value};

/// Longer files are refused, in bytes.
pub const MAX_FILE: usize = 1 << 20;
