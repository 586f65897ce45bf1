//! The result of checking an account, for the person who can fix it.

use serde::Serialize;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// All is well.
    Ok,
    /// It works, but somebody should have a look.
    Warning,
    /// It doesn't work.
    #[serde(rename = "fault")]
    Error,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How the check ended.
    #[serde(rename = "verdict")]
    pub status: CheckStatus,
    /// What was found; never a secret.
    pub reason: String,
    /// What a person should do; empty when there is nothing to do.
    #[serde(rename = "mend")]
    pub fix: String,
}

impl Finding {
    /// All is well.
    pub fn ok(reason: impl Into<String>) -> Self {
        Self { status: CheckStatus::Ok, reason: reason.into(), fix: String::new() }
    }

    /// It works, but somebody should have a look.
    pub fn warning(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: CheckStatus::Warning, reason: reason.into(), fix: fix.into() }
    }

    /// It doesn't work.
    pub fn error(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: CheckStatus::Error, reason: reason.into(), fix: fix.into() }
    }
}
