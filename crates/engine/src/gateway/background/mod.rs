//! What runs beside the turns.

pub mod backups;
pub mod extraction;
mod logins;
pub mod maintenance;
pub mod retention;
pub mod scheduler;
pub mod vectors;
pub mod watcher;
