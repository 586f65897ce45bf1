//! What the assistant can do: skills are data, read from TOML; this crate reads, checks, lists and calls them.

pub mod accounts;
pub mod arguments;
pub mod breaker;
pub mod builtin;
pub mod call;
mod check;
pub mod definition;
pub mod executor;
mod file_store;
mod files;
pub mod forms;
pub mod grant;
pub mod handlers;
pub mod instructions;
pub mod oauth;
mod registry;
pub mod risk;
pub mod sources;
pub mod template;

use std::time::Duration;

use adjutant_l10n as l10n;
use adjutant_store::StoreError;
use adjutant_turn::wording;
use adjutant_types::invisible_chars::has_hidden;
use adjutant_types::{ErrorText, FromConfig, ours, words};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use check::{is_word, parse};
pub use definition::{Domain, Handler, Risk, Skill, WORKFLOW, schema_misfit, schema_problem};
pub use executor::Approved;
pub use files::{Layer, check_files};
pub use grant::{Grant, Rights, RoleRights};
pub use registry::{Registry, Skills};

/// How to call a workflow, said where it was called as a skill.
pub fn by_itself(skill: &str) -> ErrorText {
    ours!(l10n::skills::is_workflow, FromConfig(skill))
}

words! {
    /// Why a skill call failed.
    ErrorKind {
        /// The service rejects our credential.
        Auth = "auth",
        Params = "params",
        /// The service was not reached, or it failed.
        Network = "network",
        /// The service asks us to wait.
        RateLimit = "rate_limit",
        /// The service or we don't allow it.
        Permission = "permission",
        /// What the call is about does not exist.
        NotFound = "not_found",
        /// The mail server refuses a recipient for good.
        Recipient = "recipient",
        /// No answer in time.
        Timeout = "timeout",
        /// The skill has failed too often recently.
        CircuitOpen = "circuit_open",
        /// A limit is used up.
        Budget = "budget",
        /// A person said no.
        Rejected = "rejected",
        /// There was no yes, and the model tells why: it expired, or the person wrote more than a no.
        Unapproved = "unapproved",
        /// The question was dropped. What the person wants now is told there.
        Withdrawn = "withdrawn",
        /// The person has written again, and that goes first.
        Overtaken = "overtaken",
        /// The model gave no usable answer.
        Model = "model",
        /// The skill itself failed.
        Tool = "tool",
    }
}

impl ErrorKind {
    /// Whether neither another attempt nor other arguments help.
    pub fn is_final(self) -> bool {
        self.is_no() || matches!(self, Self::Permission | Self::Recipient | Self::Overtaken | Self::Budget)
    }

    /// Whether a person was asked and there was no yes.
    pub fn is_no(self) -> bool {
        matches!(self, Self::Rejected | Self::Unapproved | Self::Withdrawn)
    }
}

/// A failed skill call. The message is for people and models and never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", message.whole())]
pub struct SkillError {
    /// The kind of failure; it decides what happens next.
    pub kind: ErrorKind,
    /// What happened and, where possible, how to fix it.
    pub message: ErrorText,
    /// How long the service asks us to wait.
    pub retry_after: Option<Duration>,
    /// The effect may have happened all the same: the request was written, then the answer was lost.
    pub unknown: bool,
}

impl SkillError {
    /// A failure whose effect has certainly not happened.
    pub fn new(kind: ErrorKind, message: impl Into<ErrorText>) -> Self {
        Self { kind, message: message.into(), retry_after: None, unknown: false }
    }

    /// The arguments are wrong.
    pub fn params(message: impl Into<ErrorText>) -> Self {
        Self::new(ErrorKind::Params, message)
    }

    /// An address is what it seems to be only if all of it is seen.
    ///
    /// # Errors
    /// If there is something in it that isn't.
    pub fn unless_seen(address: &str) -> Result<(), Self> {
        if has_hidden(address) { Err(Self::params(ours!(l10n::web::hidden_characters))) } else { Ok(()) }
    }

    /// What the call is about does not exist.
    pub fn not_found(message: impl Into<ErrorText>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The skill itself failed.
    pub fn tool(message: impl Into<ErrorText>) -> Self {
        Self::new(ErrorKind::Tool, message)
    }

    /// With each piece of its message rewritten, as when secrets are taken out.
    fn map(self, rewrite: impl Fn(&str) -> String) -> Self {
        Self { message: self.message.map(rewrite), ..self }
    }

    /// Nobody can know whether the effect happened.
    pub fn unknown_outcome() -> Self {
        Self { unknown: true, ..Self::tool(wording::UNKNOWN_OUTCOME) }
    }
}

/// Why a skill call ended early: an error of its own, or of the store.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Skill(SkillError),
    /// The store failed, or the turn belongs to somebody else by now.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<E: Into<SkillError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Skill(error.into())
    }
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// One line for people.
    pub summary: String,
    /// The result for what depends on it; null when the summary says it all.
    pub data: Value,
    /// The words are ours, or the person's own. Of all others a model sees only a marked block.
    #[serde(default)]
    pub ours: bool,
    /// How to take the effect back: the steps of `builtin::undo`; none if that is impossible.
    #[serde(default)]
    pub undo: Option<Value>,
}

impl Output {
    /// Text of somebody else.
    pub fn new(summary: impl Into<String>, data: Value) -> Self {
        Self { summary: summary.into(), data, ..Self::default() }
    }

    /// Our own words, and what our store keeps for the person; what is marked there is found by its id.
    pub fn ours(summary: impl Into<String>, data: Value) -> Self {
        Self { ours: true, ..Self::new(summary, data) }
    }

    /// The same unless some of it is from outside.
    fn outside_if(is_outside: bool, summary: impl Into<String>, data: Value) -> Self {
        Self { ours: !is_outside, ..Self::new(summary, data) }
    }

    /// The same, with what it takes to take it back.
    #[must_use]
    fn undone_by(self, steps: Option<Value>) -> Self {
        Self { undo: steps, ..self }
    }
}
