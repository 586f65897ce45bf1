//! What leaves: each message of the outbox sent once, at the pace that its platform allows.

mod claimed;
pub mod events;
mod form;
pub mod governor;
pub mod outbox;
pub mod progress;
mod refused;
mod seeds;
pub mod speech;
