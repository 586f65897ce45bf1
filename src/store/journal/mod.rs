//! The journal: turns, what was done in them, and what was asked of models.

pub mod asked;
pub mod beginnings;
pub mod calls;
pub mod changes;
pub mod executions;
pub mod openings;
pub mod runs;
pub mod timeline;
pub mod turns;
