//! The database itself: connections, grouped writes, and its maintenance.

pub(in crate::store) mod backend;
pub mod backups;
pub(in crate::store) mod batch;
pub mod check;
mod columns;
pub(in crate::store) mod connections;
pub mod retention;
pub mod space;
pub(in crate::store) mod stale;
mod transaction;
pub(in crate::store) mod writer;
