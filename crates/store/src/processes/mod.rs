//! The processes on a store: which of them holds what, and what they tell one another.

pub mod control;
pub mod instances;
pub mod leases;
pub mod sharing;
