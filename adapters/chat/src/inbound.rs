//! The closed list of what can arrive.

use crate::{Address, EventId, SenderId};

/// Something that arrived from a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    /// Somebody wrote something.
    Said(Said),
    /// Somebody pressed a button of ours.
    Pressed(Pressed),
}

/// A written message, slash commands included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The platform's name of the message.
    pub event: EventId,
    /// Where.
    pub address: Address,
    /// Who.
    pub sender: SenderId,
    /// How the platform calls the sender, for people to read.
    pub sender_name: String,
    /// Whether nobody else reads this place.
    pub direct: bool,
    /// The text as written.
    pub text: String,
    /// The receipt of our own message that this one replies to.
    pub reply_to: Option<String>,
    /// What hangs on it.
    pub attachments: Vec<Attachment>,
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What is in it, when it is a text and not too long.
    pub text: Option<String>,
}

/// A message that its writer changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The platform's name of the message.
    pub event: EventId,
    /// The new text.
    pub text: String,
}

/// A pressed button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pressed {
    /// The platform's name of the press.
    pub event: EventId,
    /// Where.
    pub address: Address,
    /// Who.
    pub sender: SenderId,
    /// How the platform calls the sender.
    pub sender_name: String,
    /// Whether nobody else reads this place.
    pub direct: bool,
    /// The [`crate::Choice::id`] of the button.
    pub button: String,
}
