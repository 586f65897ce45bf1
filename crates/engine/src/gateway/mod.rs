//! Between the platforms and the conversations. A message takes this way: `receiver` (one per channel) → `intake`
//! (journals it) → `lanes` (one turn at a time) → the conversation → `outbox` (delivers the answer).
//!
//! Promises: each message is journalled once, each conversation runs one turn at a time, each answer is delivered once.

mod arrivals;
mod background;
mod delivery;
pub mod lanes;
pub mod sharing;
mod worker_set;

pub use arrivals::{download, files, health, intake, receiver, voice};
pub use background::{backups, extraction, maintenance, retention, scheduler, vectors, watcher};
pub use delivery::{events, outbox, progress, send_gate, speech};
pub use worker_set::{SharedWorkerSet, WorkerSet};
use worker_set::{Worker, turn_span};
