//! What models read about roles, and people about their agents.

use adjutant_l10n as l10n;
use adjutant_types::text::one_line;
use adjutant_types::{AccessLevel, ExecutionStatus, TurnStatus};

/// What effects an agent may have.
pub fn effects(effects: AccessLevel) -> &'static str {
    match effects {
        AccessLevel::Read => "it only reads",
        AccessLevel::Own => "it changes only the assistant's own store",
        AccessLevel::Any => "any effect",
    }
}

/// Why an agent of a role can't have a skill; for the model that asked for it.
pub fn skill_refused(role: &str, skill: &str, max: AccessLevel, is_delegated: bool) -> String {
    let yours = if is_delegated { "or you don't have it yourself, " } else { "" };
    format!(
        "the role {role} can't have {skill}: its file doesn't allow it, {yours}or it does more than {role} may ({}). \
         Leave it out, or choose another role",
        effects(max)
    )
}

/// To an agent that wants to hand on what a person refused.
pub const PERSON_SAID_NO: &str =
    "the person said no to a part of this, so no other agent gets it. Say in your answer what was refused";

/// To an agent whose tree has as many agents as it may have.
pub fn tree_is_full(max: u32) -> String {
    format!("no more agents: {max} have worked on this, which is the limit. Answer with what you have")
}

/// To an agent whose work was rejected as often as it may be.
pub fn reviews_are_used_up(role: &str) -> String {
    format!(
        "the {role} has rejected this twice. Stop here, and say in your answer what it objects to, so that the person \
         can decide"
    )
}

/// What the progress display says of an agent: its role, and its skill calls.
pub fn progress(path: &[String], used: usize, max: u32) -> String {
    l10n::roles::progress(path.last().map(String::as_str).unwrap_or_default(), path.len(), used, max)
}

/// The result of an agent in the background, which may come long after it was asked for.
pub fn spawned_result(role: &str, task: &str, status: ExecutionStatus, text: &str) -> String {
    let task = one_line(task, 80);
    let head = match status {
        ExecutionStatus::Completed => l10n::roles::result(role, task),
        ExecutionStatus::Partial => l10n::roles::result_partly(role, task),
        other => l10n::roles::result_ended(role, task, other),
    };
    format!("{head}\n\n{text}")
}

/// One line of `/status`.
pub fn in_background(text: &str, status: TurnStatus, short: &str) -> String {
    let task = one_line(text.trim_start_matches("/spawn"), 80);
    let line = match status {
        TurnStatus::Waiting => l10n::roles::background_task_waiting(task, short),
        _ => l10n::roles::background_task(task, short),
    };
    format!("- {line}")
}

/// What works in the background, below the rest of `/status`.
pub fn background_list(lines: &[String]) -> String {
    format!("\n\n{}\n{}", l10n::roles::in_background(), lines.join("\n"))
}
