//! What the assistant can do: skills are data, read from TOML; this room reads, checks, lists and calls them.

pub mod breaker;
pub mod call;
mod check;
pub mod definition;
pub mod executor;
mod files;
pub mod handlers;
mod intents;
pub mod office;
mod registry;
pub mod risk;
mod source;
pub mod template;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use check::is_word;
pub use check::parse;
pub use definition::{Domain, Handler, Intent, Lookup, Risk, Skill, WORKFLOW};
pub(crate) use definition::{schema_fault, schema_misfit};
pub use files::Layer;
pub(crate) use files::check_files;
pub use registry::{Registry, Skills};
pub use source::Fault;

/// How a workflow is called, for whoever called it otherwise.
pub(crate) fn by_itself(skill: &str) -> String {
    format!("{skill} is a workflow: dispatch {skill} by itself, with arguments")
}

/// Why a skill call failed, in the words of the outside contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The service does not accept our credential.
    Auth,
    /// The arguments are wrong.
    Params,
    /// The service was not reached, or it failed.
    Network,
    /// The service asks us to wait.
    RateLimit,
    /// It is not allowed, by the service or by us.
    Permission,
    /// What the call is about does not exist.
    NotFound,
    /// No answer in time.
    Timeout,
    /// The skill failed too often of late and rests.
    CircuitOpen,
    /// A limit is used up.
    Budget,
    /// A person said no.
    Rejected,
    /// The model gave no usable answer.
    Model,
    /// The skill itself failed.
    Tool,
}

impl ErrorKind {
    /// The contract's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Params => "params",
            Self::Network => "network",
            Self::RateLimit => "rate_limit",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::CircuitOpen => "circuit_open",
            Self::Budget => "budget",
            Self::Rejected => "rejected",
            Self::Model => "model",
            Self::Tool => "tool",
        }
    }
}

/// A failed skill call. The message is for people and models and never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SkillError {
    /// What kind of failure; it decides what happens next.
    pub kind: ErrorKind,
    /// What happened and, where there is one, the mend.
    pub message: String,
    /// How long the service asks us to wait.
    pub retry_after: Option<Duration>,
    /// The effect may have happened all the same: the request was written, then the answer was lost.
    pub unknown: bool,
}

impl SkillError {
    /// A failure whose effect has certainly not happened.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, unknown: false }
    }
}

/// What a skill call hands back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// One line for people.
    pub summary: String,
    /// The result for what depends on it; null when the summary says it all.
    pub data: Value,
    /// The text comes from outside the house: a model sees it only in a marked block.
    pub untrusted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contracts_words_are_the_same_in_json_and_in_text() {
        use ErrorKind::*;
        for kind in [
            Auth,
            Params,
            Network,
            RateLimit,
            Permission,
            NotFound,
            Timeout,
            CircuitOpen,
            Budget,
            Rejected,
            Model,
            Tool,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), Value::from(kind.as_str()));
        }
    }
}
