//! Adjutant: platform → receive → intake → lanes → turn → orchestrator → agents → executor → outbox → deliver → platform.

pub mod agents;
pub mod clock;
pub mod journal;
pub mod model;
pub mod orchestrator;
pub mod skills;
pub mod store;
pub mod wording;
