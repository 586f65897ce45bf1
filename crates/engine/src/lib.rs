//! From an arrival to its answer: intake, lanes, turns, the orchestrator or basic mode, delivery.

// A turn is a future of futures, from the intake down to a skill's request.
#![recursion_limit = "256"]

pub mod basic;
pub mod conversation;
pub mod gateway;
pub mod orchestrator;
pub mod watching;
