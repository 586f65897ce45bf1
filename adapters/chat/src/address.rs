//! Ids that a platform gives and the engine only compares.

use serde::{Deserialize, Serialize};

/// A place on a channel where people and the assistant talk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// The configured channel (`console`, `telegram`, a second account's name).
    pub channel: String,
    /// The platform's id of the place.
    pub place: String,
}

/// The platform's id of a message or a press: the key that journals it only once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventId(pub String);

impl EventId {
    /// What alone its sender sees, and sees the answers to: a slash command in Slack, which is no message.
    #[must_use]
    pub fn private(sender: &str, id: &str) -> Self {
        Self(format!("{PRIVATE}{sender}:{id}"))
    }

    /// Who alone sees the answers to an event with this id.
    #[must_use]
    pub fn private_to(id: &str) -> Option<&str> {
        id.strip_prefix(PRIVATE)?.split_once(':').map(|(sender, _)| sender)
    }
}

/// Ids of messages and presses don't begin so; those in journals do.
const PRIVATE: &str = "command:";

/// The platform's id of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SenderId(pub String);
