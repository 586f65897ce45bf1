//! The journal: turns, what was done in them, and what was asked of models.

pub mod asked;
pub mod calls;
pub mod changes;
pub mod context;
pub mod executions;
pub mod first_messages;
pub mod runs;
pub mod timeline;
pub mod turns;
