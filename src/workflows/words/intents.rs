//! What the built-in planner understands: the intents of the skills.

use crate::model::builtin::{IntentSource, Intents, Lookup};
use crate::skills::Registry;

/// The intents of all skills.
pub fn intents(registry: &Registry) -> Intents {
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let sources = skills.flat_map(|skill| {
        skill.intents.iter().map(|intent| IntentSource {
            skill: skill.name.clone(),
            pattern: intent.pattern.clone(),
            arguments: intent.arguments.clone(),
            lookup: intent
                .lookup
                .as_ref()
                .map(|lookup| Lookup { skill: lookup.skill.clone(), arguments: lookup.arguments.clone() }),
            example: intent.example.clone(),
        })
    });
    Intents::new(sources.collect()).unwrap_or_else(|error| {
        tracing::error!(%error, "the built-in planner can't use the skills' patterns");
        Intents::default()
    })
}
