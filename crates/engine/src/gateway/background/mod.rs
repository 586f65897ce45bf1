//! What runs beside the turns.

pub mod backups;
pub mod extraction;
pub mod maintenance;
pub mod retention;
pub mod scheduler;
pub mod vectors;
