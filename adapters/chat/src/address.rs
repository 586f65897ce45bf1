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
    /// An event that only its sender sees, such as a slash command in Slack. Its answers must be private, too.
    #[must_use]
    pub fn private(sender: &str, id: &str) -> Self {
        Self(format!("{PRIVATE}{sender}:{id}"))
    }

    /// The one person who may see the answers to an event with this id; none if all may.
    #[must_use]
    pub fn private_to(id: &str) -> Option<&str> {
        id.strip_prefix(PRIVATE)?.split_once(':').map(|(sender, _)| sender)
    }
}

/// No platform's id begins like this. The journal has such ids, so it must stay the same.
const PRIVATE: &str = "command:";

/// The platform's id of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SenderId(pub String);
