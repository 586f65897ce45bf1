//! Adjutant: platform → receive → intake → lanes → turn → orchestrator → agents → executor → outbox → deliver → platform.

pub mod cli;
pub mod clock;
pub mod model;
pub mod skills;
