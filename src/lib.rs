//! Adjutant: platform → receive → intake → lanes → turn → orchestrator → agents → executor → outbox → deliver → platform.

pub mod cli;
pub mod clock;
pub mod config;
pub mod logging;
pub mod model;
