//! Delivery: each message of the outbox is sent once, at the pace that its platform allows.

mod claimed;
pub mod events;
mod form;
pub mod outbox;
pub mod progress;
mod refused;
mod seeds;
pub mod send_gate;
pub mod speech;
