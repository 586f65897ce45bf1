//! The database itself: connections, grouped writes, and its maintenance.

pub(crate) mod backend;
pub mod backups;
pub(crate) mod batch;
pub mod check;
mod columns;
pub(crate) mod connections;
pub mod retention;
pub mod space;
pub(crate) mod stale;
mod transaction;
pub(crate) mod writer;
