//! What the engine says to a platform.

use serde::{Deserialize, Serialize};

use crate::Address;

/// A message of ours, kept in the outbox until its receipt is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// The outbox row: 22 characters of `[0-9A-Za-z]`, the same for every attempt.
    pub id: String,
    /// Where to.
    pub address: Address,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// The platform's names of the messages it answers.
    pub answers: Vec<String>,
    /// The text, markdown.
    pub text: String,
    /// Buttons; empty for a plain message.
    pub choices: Vec<Choice>,
    /// Which of its [`crate::ChatPort::parts`] is to be sent, from 0.
    #[serde(default)]
    pub part: usize,
    /// What [`crate::ChatPort::mark`] said before this part was sent last.
    #[serde(default)]
    pub mark: Option<String>,
    /// The receipt of a shown message that becomes part 0.
    #[serde(default)]
    pub stand_in: Option<String>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What comes back in [`crate::Pressed::button`]; at most 64 bytes.
    pub id: String,
    /// What the person reads.
    pub label: String,
}

/// How a running turn stands; shown while it lasts, never journalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where.
    pub address: Address,
    /// Which turn.
    pub turn: String,
    /// What the orchestrator itself is doing ("thinking"), or nothing once the turn has ended.
    pub step: Option<String>,
    /// The agents, in the order of their start.
    pub agents: Vec<AgentLine>,
}

/// One agent of a running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLine {
    /// Its name within the turn.
    pub agent_id: String,
    /// The contract's status word.
    pub status: String,
    /// Its mission, for people.
    pub mission: String,
    /// The skill it is calling or called last.
    pub skill: Option<String>,
    /// The agents it waits for.
    pub depends_on: Vec<String>,
    /// Milliseconds since its start; 0 before.
    pub elapsed_ms: u64,
}
