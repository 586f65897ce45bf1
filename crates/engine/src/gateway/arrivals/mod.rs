//! Arrivals: received from a channel, journalled once, made whole with its files and voice notes.

mod attached;
mod connecting;
pub mod download;
pub mod files;
pub mod health;
pub mod intake;
pub mod receiver;
pub mod voice;
