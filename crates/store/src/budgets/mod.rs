//! What model calls use, cost and may use.

pub mod rate_limits;
pub mod spending;
pub mod usage;
