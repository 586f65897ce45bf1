//! How far the kernel keeps the programs of skills and MCP servers apart.

use adjutant_chat::Finding;
use adjutant_config::{Config, McpLaunch};
use adjutant_sandbox::{Confinement, confinement};
use adjutant_skills::handlers;

use crate::service;

/// Says what the kernel lacks, and which programs have no network and see their own folders alone, because nobody has
/// permitted them more.
pub(super) fn programs(config: &Config) -> Vec<Finding> {
    let skill_set = service::load_skills(config).ok();
    let registry = skill_set.map(|skill_set| skill_set.skills.current());
    let skills = registry.iter().flat_map(|registry| handlers::confined(registry)).map(str::to_owned);
    let servers = config.mcp.iter().filter_map(|(name, server)| match &server.launch {
        McpLaunch::Command { permissions, .. } if permissions.is_nothing() => Some(format!("[mcp.{name}]")),
        _ => None,
    });
    let names: Vec<String> = skills.chain(servers).collect();
    let lacks = match confinement() {
        Confinement::Full => None,
        Confinement::Partial => {
            Some("the kernel's Landlock is old, so programs can do more than is documented")
        }
        Confinement::None => {
            Some("the kernel has no Landlock, so programs can read and change all that we can")
        }
    };
    let fix = "use Linux 6.12 or newer, with landlock in its `lsm=` list";
    let lacks = lacks.map(|reason| Finding::warning(reason, fix));
    let named = (!names.is_empty()).then(|| {
        let reason = "programs without extra permissions have no network and see only their own folders";
        Finding::ok(format!("{reason}: {}", names.join(", ")))
    });
    lacks.into_iter().chain(named).collect()
}
