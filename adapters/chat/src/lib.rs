//! The types that every chat platform shares with the engine. No network, no clock, no database.

mod address;
pub mod backoff;
mod check;
mod inbound;
mod limits;
mod outbound;
mod port;
mod richtext;
mod rooms;
mod setup;
mod split;
mod webhook;

pub use address::{Address, EventId, SenderId};
pub use backoff::Backoff;
pub use check::{CheckStatus, Finding};
pub use inbound::{Attachment, ButtonPress, Inbound, IncomingMessage, MessageEdit};
pub use limits::{LengthUnit, Limits, Markup};
pub use outbound::{AgentProgress, Choice, Outbound, OutgoingFile, Progress};
pub use port::{
    ChannelIntake, ChatPort, Connection, ConnectionEvent, Delivery, IntakeError, IntakeOutcome,
    Reconciliation, Retract,
};
pub use richtext::{
    Block, Cell, Inline, RichText, aligned_table, inline_text, one_line, sanitized, table_as_list,
};
pub use rooms::{Profile, Room, RoomError, RoomMessage, Rooms};
pub use setup::{Credential, SetupGuide};
pub use split::split;
pub use webhook::{WebhookRequest, WebhookResponse};
