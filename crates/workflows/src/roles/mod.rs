//! Roles: what kinds of agents there are, as files.
//!
//! A role says what an agent of it is told, what it may do at most, and to whom it may hand work on. Its patterns of
//! skills are resolved when it is read: one that matches nothing is an error, never "all".

mod catalogue;
mod reading;
mod resolving;

use std::fmt::Write;
use std::time::Duration;

pub use catalogue::{BUILT_IN, RoleSet, Roles, read_file};

use adjutant_chat::suggest::nearest;
use adjutant_l10n as l10n;
use adjutant_skills::RoleRights;
use adjutant_types::ContextMode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub description: String,
    pub prompt: String,
    /// The name of a model of its own.
    pub model: Option<String>,
    /// The maximum rights of its agents.
    pub rights: RoleRights,
    pub max_model_calls: Option<u32>,
    pub max_skill_calls: Option<u32>,
    pub max_duration: Option<Duration>,
    /// The part of the conversation that its agents see.
    pub context: ContextMode,
    /// The size limit of that part, in tokens.
    pub context_limit: u32,
    /// The roles that its agents may hand work to.
    pub delegates_to: Vec<String>,
    pub file: String,
}

impl RoleSet {
    pub fn get(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The role whose name is nearest to this one, if one is near.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.roles.iter().map(|role| role.name.as_str()))
    }

    /// Why there is no role of this name.
    pub fn missing(&self, name: &str) -> String {
        let names: Vec<&str> = self.roles.iter().map(|role| role.name.as_str()).collect();
        let all = names.join(", ");
        match self.nearest(name) {
            Some(near) => l10n::roles::no_role_but(name, near, all),
            None => l10n::roles::no_role(name, all),
        }
    }

    /// A line for each role, for the model that chooses.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for role in &self.roles {
            let _ = write!(text, "{}{}: {}", if text.is_empty() { "" } else { "; " }, role.name, short(role));
        }
        text
    }
}

/// The longest description in a request, in bytes.
const SHOWN: usize = 160;

fn short(role: &Role) -> &str {
    let text = role.description.trim_end_matches('.');
    &text[..text.floor_char_boundary(SHOWN)]
}
