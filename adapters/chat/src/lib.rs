//! The words that every chat platform shares with the engine. No network, no clock, no database.

mod address;
mod inbound;
mod outbound;
mod port;

pub use address::{Address, EventId, SenderId};
pub use inbound::{Inbound, Pressed, Said};
pub use outbound::{AgentLine, Choice, Outbound, Progress};
pub use port::{ChatPort, Delivery, Found};
