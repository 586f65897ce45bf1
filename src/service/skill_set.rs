//! The skills, workflows and roles of a configuration.

use std::path::PathBuf;
use std::sync::Arc;

use super::StartError;
use crate::config::{Config, ConfigError};
use crate::roles::Roles;
use crate::skills::{Layer, Skills, builtin};
use crate::workflows::catalogue::Workflows;
use crate::workflows::skill;

/// The skills and workflows in use, always of the same moment.
#[derive(Debug, Clone)]
pub struct SkillSet {
    /// The skills, including one for each workflow.
    pub skills: Arc<Skills>,
    /// The workflows; the skills keep them up to date.
    pub workflows: Arc<Workflows>,
    /// The roles.
    pub roles: Arc<Roles>,
}

/// Loads skills and workflows, and checks `[approval.skills]`. A workflow with errors is left out.
pub fn load_skills(config: &Config) -> Result<SkillSet, StartError> {
    let builtins = builtin::names(!config.channels.is_empty());
    let (layer, workflows) = workflow_layer(config);
    let skills =
        Skills::load_with(&config.skills.paths, &builtins, Some(layer)).map_err(StartError::Skills)?;
    check_skills(config, &skills)?;
    let skills = Arc::new(skills);
    let roles = Arc::new(Roles::load(role_places(config), skills.clone()));
    Ok(SkillSet { skills, workflows, roles })
}

/// Where roles are: the folder `roles` of each of `[skills] paths`, then `[roles] paths`.
pub(crate) fn role_places(config: &Config) -> Vec<PathBuf> {
    let in_skills = config.skills.paths.iter().map(|path| path.join("roles"));
    in_skills.chain(config.roles.iter().cloned()).collect()
}

/// The workflows of a configuration, and the layer that adds them to the skills.
pub(crate) fn workflow_layer(config: &Config) -> (Layer, Arc<Workflows>) {
    let workflows = Arc::new(Workflows::new(&config.skills.paths, &config.approval));
    let read = Arc::clone(&workflows);
    let layer = Layer::new(move |skills| skill::domain(&read.reload(skills)).into_iter().collect());
    (layer, workflows)
}

/// Checks `[approval.skills]` against these skills.
pub fn check_skills(config: &Config, skills: &Skills) -> Result<(), ConfigError> {
    let registry = skills.current();
    let names = registry.domains().iter().flat_map(|domain| &domain.skills).chain(registry.unavailable());
    let names: Vec<&str> = names.map(|skill| skill.name.as_str()).collect();
    config.check_skills(&names)
}
