//! Adjutant: platform → receive → intake → lanes → turn → orchestrator → agents → executor → outbox → deliver → platform.

pub mod agents;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conversation;
pub mod document;
pub mod domain;
pub mod gateway;
pub mod graph;
pub mod heap;
pub mod http;
pub mod journal;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod model;
pub mod orchestrator;
pub mod roles;
pub mod service;
pub mod skills;
pub mod store;
mod suggest;
mod template;
pub mod trace;
pub mod trust;
pub mod wording;
pub mod workflows;
