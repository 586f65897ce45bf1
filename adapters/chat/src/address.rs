//! Ids that a platform gives and the engine only compares.

use serde::{Deserialize, Serialize};

/// A place on a channel where people and the assistant talk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// The configured channel (`console`, `telegram`, a second account's name).
    pub channel: String,
    /// The platform's id of the place.
    pub place: String,
}

/// The platform's id of a message or a press: the key that journals it only once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventId(pub String);

/// The platform's id of a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SenderId(pub String);
