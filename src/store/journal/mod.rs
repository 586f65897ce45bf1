//! The journal: what arrived, what was done about it, and what is sent.

pub mod asked;
pub mod beginnings;
pub mod calls;
pub mod changes;
mod claims;
pub mod control;
pub mod dead;
pub mod executions;
pub mod inbox;
pub mod instances;
pub mod leases;
pub mod openings;
pub mod outbox;
pub mod questions;
pub mod queues;
pub mod rate_limits;
pub mod runs;
pub mod sharing;
pub mod spending;
pub mod timeline;
pub mod turns;
pub mod usage;
