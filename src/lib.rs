//! Adjutant: platform → receive → intake → lanes → turn → orchestrator → agents → executor → outbox → deliver → platform.

pub mod cli;
pub mod heap;
pub mod http;
pub mod lifecycle;
pub mod logging;
pub mod service;
