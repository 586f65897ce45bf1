//! What the chat platforms share with the engine and with one another. No network, no database.

#![warn(missing_docs)]

mod address;
mod attachment;
pub mod backoff;
mod check;
mod commands;
mod form;
pub mod guard;
mod inbound;
mod limits;
mod live_text;
mod outbound;
mod port;
pub mod richtext;
mod rooms;
mod setup;
mod split;
pub mod suggest;
mod voice;
mod webhook;

pub use address::{Address, EventId, SenderId};
pub use attachment::{Attachment, RemoteFile};
pub use backoff::Backoff;
pub use check::{CheckStatus, Finding};
pub use commands::{COMMANDS, SlashCommand, is_command};
pub use form::{Form, TextPart};
pub use inbound::{ButtonPress, Inbound, IncomingMessage, IncomingReaction, Mention, MessageEdit, Received};
pub use limits::{LengthUnit, Limits};
pub use live_text::{CONTINUED, LiveText, continued, is_told, unchanged};
pub use outbound::{AgentProgress, Choice, Outbound, OutgoingFile, OutgoingPart, Progress};
pub use port::{
    AnswerDraft, ChannelIntake, ChatPort, Connection, ConnectionEvent, Delivery, IntakeError, IntakeOutcome,
    Reconciliation, Retract,
};
pub use richtext::{Block, Cell, Inline, RichText, count, fenced, inline_text, one_line, sanitized};
pub use rooms::{Profile, Room, RoomError, RoomMessage, Rooms};
pub use setup::{Credential, SetupGuide};
pub use split::split;
pub use voice::{DownloadError, FileDownload, OutgoingVoice, VoiceNote, is_audio};
pub use webhook::{WebhookRequest, WebhookResponse};
