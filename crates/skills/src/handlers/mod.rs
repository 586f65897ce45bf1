//! Handlers for the skills that others define: HTTP calls, commands and the tools of MCP servers.

mod address;
pub mod command;
mod content;
pub mod http;
pub mod mcp;
mod request;
mod response;
mod secret;
pub(crate) mod transfer;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use address::host;
pub use address::{HttpClient, is_public};
use futures::future::join_all;

use super::{Handler, Registry, Skill, SkillError};

/// Checks that each skill's program, secrets and host are there, without calling any. Returns what is missing, with the
/// skill's name. Skills on the same host need it once.
pub async fn check(registry: &Registry, client: &HttpClient) -> Vec<(String, SkillError)> {
    let mut missing = Vec::new();
    let mut hosts = BTreeMap::new();
    for skill in registry.domains().iter().flat_map(|domain| &domain.skills) {
        let checked = match &skill.handler {
            Handler::Builtin(_) | Handler::Mcp(_) | Handler::Instructions(_) | Handler::Workflow(_) => Ok(()),
            Handler::Command(handler) => handler.check_program(),
            Handler::Http(handler) => {
                hosts.entry(handler.origin()).or_insert((&skill.name, handler));
                handler.check_secrets()
            }
        };
        missing.extend(checked.err().map(|error| (skill.name.clone(), error)));
    }
    let reached = hosts.into_values().map(async |(name, handler)| {
        http::reach(handler, client).await.err().map(|error| (name.clone(), error))
    });
    missing.extend(join_all(reached).await.into_iter().flatten());
    missing
}

/// The skills whose programs are permitted nothing besides their own folders.
pub fn confined(registry: &Registry) -> Vec<&str> {
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let is_confined = |skill: &&Arc<Skill>| match &skill.handler {
        Handler::Command(handler) => handler.permissions().is_nothing(),
        _ => false,
    };
    skills.filter(is_confined).map(|skill| skill.name.as_str()).collect()
}

impl Skill {
    /// Whether it works with an owner's own keys, as MCP servers and logins do.
    pub fn is_owners(&self) -> bool {
        let has_keys = matches!(&self.handler, Handler::Instructions(call) if call.has_keys);
        has_keys || self.login().is_some() || self.handler.tool().is_some()
    }

    /// The login whose token it sends.
    pub fn login(&self) -> Option<&str> {
        if let Handler::Http(handler) = &self.handler { handler.login() } else { None }
    }
}
