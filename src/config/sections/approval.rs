//! `[approval]`: whether a skill runs, asks first or is refused, by its risk or its name.

use std::collections::BTreeMap;

use crate::config::error::suggestion;
use crate::config::read::{Reading, Section};
use crate::document::Node;

/// What happens when a skill is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It runs.
    Auto,
    /// The person is asked first.
    Ask,
    /// It is refused.
    Deny,
}

/// The policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// For skills of low risk.
    pub low: Policy,
    /// For skills of medium risk.
    pub medium: Policy,
    /// For skills of high risk.
    pub high: Policy,
    /// For single skills by name, whatever their risk.
    pub skills: BTreeMap<String, Policy>,
}

impl Default for Approval {
    fn default() -> Self {
        Self { low: Policy::Auto, medium: Policy::Auto, high: Policy::Ask, skills: BTreeMap::new() }
    }
}

impl Approval {
    pub(in crate::config) fn read(section: &mut Section<'_>) -> Self {
        let mut it = Self::default();
        section.set("low", &mut it.low, policy);
        section.set("medium", &mut it.medium, policy);
        section.set("high", &mut it.high, policy);
        it.skills = section.entries("skills", policy);
        it
    }
}

fn policy(value: &Node, _: &Reading<'_>) -> Result<Policy, String> {
    match value.as_str() {
        Some("auto") => Ok(Policy::Auto),
        Some("ask") => Ok(Policy::Ask),
        Some("deny") => Ok(Policy::Deny),
        Some(other) => {
            Err(format!("unknown word {other:?}; {}", suggestion(other, &["auto", "ask", "deny"])))
        }
        None => Err(format!("must be \"auto\", \"ask\" or \"deny\", not {}", value.kind())),
    }
}
