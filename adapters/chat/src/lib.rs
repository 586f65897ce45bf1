//! The words that every chat platform shares with the engine. No network, no clock, no database.

mod address;
pub mod backoff;
mod check;
mod hook;
mod inbound;
mod outbound;
mod richtext;
mod setup;

mod limits;
mod port;
mod rooms;
mod split;

pub mod conformance;

pub use address::{Address, EventId, SenderId};
pub use backoff::Backoff;
pub use check::{Finding, Verdict};
pub use hook::{HookAnswer, HookRequest};
pub use inbound::{Attachment, Edited, Inbound, Pressed, Said};
pub use limits::{Limits, Markup, Unit};
pub use outbound::{AgentLine, Choice, OutFile, Outbound, Progress};
pub use port::{
    ChannelIntake, ChatPort, Condition, Connection, Delivery, Found, NotJournalled, Retract, Taken,
};
pub use richtext::{Block, Cell, Inline, RichText, aligned, harmless, inline_text, one_line, row_by_row};
pub use rooms::{Profile, Room, RoomLine, Rooms, Unread};
pub use setup::{Question, Setup};
pub use split::split;
