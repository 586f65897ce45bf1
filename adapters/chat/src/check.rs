//! What a look at an account found, for whoever has to mend it.

use serde::Serialize;

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but somebody should look.
    Warning,
    /// It does not work.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it stands.
    pub verdict: Verdict,
    /// What was found; never a secret.
    pub reason: String,
    /// What a person should do; empty when there is nothing to do.
    pub mend: String,
}

impl Finding {
    /// All is well.
    pub fn ok(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ok, reason: reason.into(), mend: String::new() }
    }

    /// It works, but.
    pub fn warning(reason: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, reason: reason.into(), mend: mend.into() }
    }

    /// It does not work.
    pub fn fault(reason: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fault, reason: reason.into(), mend: mend.into() }
    }
}
