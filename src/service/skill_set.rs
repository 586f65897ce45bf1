//! What is in use: skills of files and built-in ones, the accepted tools of MCP servers, accepted instructions,
//! workflows, and roles.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::document::{Problem, Severity};
use adjutant_config::{BUILTIN, Config, ConfigError};
use adjutant_skills::builtin::Services;
use adjutant_skills::handlers::mcp::McpServers;
use adjutant_skills::instructions::{self, Instructions};
use adjutant_skills::{Layer, Registry, Skills, WORKFLOW, builtin};
use adjutant_store::{Result, Store};
use adjutant_workflows::catalogue::Workflows;
use adjutant_workflows::roles::{RoleSet, Roles};
use adjutant_workflows::skill;
use tokio_util::sync::CancellationToken;

use super::StartError;

/// How often we look whether an owner has approved tools of MCP servers.
const TOOLS: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct SkillSet {
    /// The skills, including one for each workflow.
    pub skills: Arc<Skills>,
    /// The workflows; the skills keep them up to date.
    pub workflows: Arc<Workflows>,
    pub roles: Arc<Roles>,
    /// The MCP servers, whose accepted tools are skills too.
    pub mcp: Arc<McpServers>,
    pub instructions: Arc<Instructions>,
}

impl SkillSet {
    /// These services, with what is in use here.
    pub(super) fn services(&self, services: Services) -> Services {
        Services { mcp: self.mcp.clone(), instructions: self.instructions.clone(), ..services }
    }

    /// Reads which tools of MCP servers, and which instructions, an owner has accepted; they become skills.
    pub async fn load_tools(&self, store: &Store) -> Result<()> {
        let (tools, instructions) = (self.mcp.load(store).await?, self.instructions.load(store).await?);
        if tools || instructions {
            self.skills.reload_and_log();
            // A role may have these skills, and the first message may come at once.
            self.roles.poll();
        }
        Ok(())
    }
}

/// Loads skills and workflows, and checks `[approval.skills]`. A workflow with errors is left out.
pub fn load_skills(config: &Config) -> Result<SkillSet, StartError> {
    let builtins = builtin::names_for(config);
    let mcp = Arc::new(McpServers::new(config));
    let instructions = Arc::new(Instructions::new(config));
    let (layer, workflows) = skill_layer(config, &mcp, &instructions);
    let skills =
        Skills::load_with(&config.skill_paths(), &builtins, Some(layer)).map_err(StartError::Skills)?;
    check_skills(config, &skills)?;
    let skills = Arc::new(skills);
    let roles = Arc::new(Roles::load(role_paths(config), config.role_denials.clone(), skills.clone()));
    Ok(SkillSet { skills, workflows, roles, mcp, instructions })
}

/// Whether all role files can be used. A start leaves those with errors out; a check names them.
pub(super) fn check_roles(config: &Config, skills: &Registry) -> Result<(), StartError> {
    let mut problems = load_roles(config, skills).problems;
    problems.retain(|problem| !problem.is_warning());
    if problems.is_empty() { Ok(()) } else { Err(StartError::Skills(problems)) }
}

/// A warning for each role that names a model in basic mode. Which models a provider has,
/// only the provider knows.
pub(crate) fn missing_models(config: &Config, roles: &RoleSet) -> Vec<Problem> {
    let chain = config.model.agent.as_ref().unwrap_or(&config.model.main);
    if chain.first.provider != BUILTIN {
        return Vec::new();
    }
    let warning = |(name, file): (&String, &String)| Problem {
        severity: Severity::Warning,
        ..Problem::of_file(file, format!("there is no model '{name}': in basic mode, sub-agents have none"))
    };
    let named = roles.roles.iter().filter_map(|role| Some((role.model.as_ref()?, &role.file)));
    named.map(warning).collect()
}

/// The roles of a configuration, without the store.
pub(crate) fn load_roles(config: &Config, skills: &Registry) -> RoleSet {
    let mut denials = config.role_denials.clone();
    denials.values_mut().for_each(|patterns| patterns.retain(|name| !is_tool(config, name)));
    RoleSet::load(&role_paths(config), skills).without(&denials, skills)
}

/// The paths of roles: the folder `roles` of each of `[skills] paths`, then `[roles] paths`.
pub(crate) fn role_paths(config: &Config) -> Vec<PathBuf> {
    let in_skills = config.skill_paths().into_iter().map(|path| path.join("roles"));
    in_skills.chain(config.roles.iter().cloned()).collect()
}

/// The workflows of a configuration, and the layer that adds them, the tools of MCP servers and instructions to the
/// skills.
pub(crate) fn skill_layer(
    config: &Config,
    mcp: &Arc<McpServers>,
    instructions: &Arc<Instructions>,
) -> (Layer, Arc<Workflows>) {
    let workflows = Arc::new(Workflows::new(&config.skill_paths(), &config.approval));
    let (read, mcp, instructions) = (Arc::clone(&workflows), Arc::clone(mcp), Arc::clone(instructions));
    let layer = Layer::new(move |skills| {
        let mut dynamic = mcp.domains();
        dynamic.extend(instructions.domain());
        // A file of this name wins; `check_skills` has reported it.
        dynamic.retain(|domain| skills.domain(&domain.name).is_none());
        let all = Registry::new(skills.domains().iter().chain(&dynamic).cloned().collect());
        dynamic.extend(skill::domain(&read.reload(&all)));
        dynamic
    });
    (layer, workflows)
}

/// Whether a skill is of an MCP server: which tools it has is known only later.
fn is_tool(config: &Config, skill: &str) -> bool {
    skill.split('.').next().is_some_and(|server| config.mcp.contains_key(server))
}

/// Checks `[approval.skills]` and the names under `[mcp]` against these skills.
pub fn check_skills(config: &Config, skills: &Skills) -> Result<(), ConfigError> {
    let registry = skills.current();
    let is_ours = |name: &str| registry.domain(name).is_some_and(|domain| !domain.is_folded());
    let taken = |name: &&String| name.as_str() == "watch" || is_ours(name);
    if let Some(name) = config
        .mcp
        .keys()
        .find(|name| taken(name) || [WORKFLOW, instructions::DOMAIN].contains(&name.as_str()))
    {
        let message = format!("there are skills called {name}.* already; give the server another name");
        return Err(ConfigError::one(Some(&format!("mcp.{name}")), message));
    }
    let names = registry.domains().iter().flat_map(|domain| &domain.skills).chain(registry.unavailable());
    let mut names: Vec<&str> = names.map(|skill| skill.name.as_str()).collect();
    names.extend(config.approval.skills.keys().map(String::as_str).filter(|name| is_tool(config, name)));
    config.check_skills(&names)
}

/// Picks up what an owner approves of the tools of MCP servers while we run.
pub(super) async fn watch_tools(skill_set: SkillSet, store: Store, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(TOOLS);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = skill_set.load_tools(&store).await {
            tracing::warn!(%error, "can't read which tools are approved; will try again");
        }
    }
}
