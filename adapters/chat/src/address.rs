//! Names that a platform gives and the engine only compares.

use serde::{Deserialize, Serialize};

/// A place on a channel where people and the assistant talk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// The configured channel (`console`, `telegram`, a second account's name).
    pub channel: String,
    /// The platform's own name of the place.
    pub place: String,
}

/// What the platform calls a message or a press: the key under which it is journalled once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventId(pub String);

/// What the platform calls a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SenderId(pub String);
