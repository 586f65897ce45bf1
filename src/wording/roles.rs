//! What models and people read about roles.

use crate::domain::Effects;

/// What effects an agent may have.
pub fn effects(effects: Effects) -> &'static str {
    match effects {
        Effects::Read => "it only reads",
        Effects::Own => "it changes only the assistant's own store",
        Effects::Any => "any effect",
    }
}

/// Why an agent of a role can't have a skill; for the model that asked for it.
pub fn skill_refused(role: &str, skill: &str, most: Effects, is_delegated: bool) -> String {
    let yours = if is_delegated { "or you don't have it yourself, " } else { "" };
    format!(
        "the role {role} can't have {skill}: its file doesn't allow it, {yours}or it does more than {role} may ({}). \
         Leave it out, or choose another role",
        effects(most)
    )
}

/// To an agent that wants to hand on what a person refused.
pub const PERSON_SAID_NO: &str =
    "the person said no to a part of this, so no other agent gets it. Say in your answer what was refused";

/// To an agent whose tree has as many agents as it may have.
pub fn tree_is_full(most: u32) -> String {
    format!("no more agents: {most} have worked on this, which is the limit. Answer with what you have")
}

/// To an agent whose work was rejected as often as it may be.
pub fn reviews_are_used_up(role: &str) -> String {
    format!(
        "the {role} has rejected this twice. Stop here, and say in your answer what it objects to, so that the person \
         can decide"
    )
}

/// Why an agent's work is partial.
pub const MAY_NOT_DELEGATE: &str = "it reached the limit of agents for one task";

/// Why an agent's work is partial.
pub fn answers_are_used_up(most: i64) -> String {
    format!("it used up its {most} model calls")
}

/// What the progress display says of an agent: its role, and its skill calls.
pub fn progress(path: &[String], used: usize, most: u32) -> String {
    let role = path.last().map(String::as_str).unwrap_or_default();
    format!("{role} (level {}), {used} of {most} calls", path.len())
}
