//! What models and people read about roles.

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
pub fn skill_refused(role: &str, skill: &str, most: AccessLevel, is_delegated: bool) -> String {
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

/// The answer to `/spawn`.
pub fn spawned(role: &str, short: &str) -> String {
    format!("The {role} is on it. I'll send you the result; `/stop {short}` ends it.")
}

/// To `/spawn` without a role or a task.
pub fn spawn_usage(roles: &str) -> String {
    format!(
        "Send `/spawn ROLE TASK`, for example `/spawn researcher what did Acme write us this year?`. Roles: {roles}"
    )
}

/// The result of an agent in the background, which may come long after it was asked for.
pub fn spawned_result(role: &str, task: &str, status: ExecutionStatus, text: &str) -> String {
    let ended = match status {
        ExecutionStatus::Completed => String::new(),
        ExecutionStatus::Partial => " (only a part)".to_owned(),
        other => format!(" ({other})"),
    };
    format!("**{role}**, “{}”{ended}:\n\n{text}", cut(task))
}

/// One line of `/status`.
pub fn in_background(text: &str, status: TurnStatus, short: &str) -> String {
    let waits = if status == TurnStatus::Waiting { ", waiting for you" } else { "" };
    let what = text.trim_start_matches("/spawn").trim();
    format!("- {}{waits} (`/stop {short}` ends it)", cut(what))
}

/// What works in the background, below the rest of `/status`.
pub fn background_list(lines: &[String]) -> String {
    format!("\n\nIn the background:\n{}", lines.join("\n"))
}

/// To `/stop ID`.
pub const NOTHING_OF_THAT_ID: &str = "No agent in the background has that id. `/status` lists them.";

/// To `/stop` while only agents in the background work.
pub const ONLY_IN_THE_BACKGROUND: &str =
    "Only agents in the background are at work. `/status` lists them, and `/stop ID` ends one.";

/// The beginning of a text, on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Why `/spawn` started nothing.
pub fn not_started(why: &str) -> String {
    format!("I can't start that: {why}")
}
