//! What arrived, what is sent, and what people are asked.

mod claims;
pub mod dead;
mod forms;
pub mod inbox;
pub mod outbox;
pub mod questions;
pub mod queues;
