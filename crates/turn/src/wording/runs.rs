//! What a workflow run asks and says in its conversation.

/// A choice for a draft: run it.
pub const RUN: &str = "Run it";
/// Keep it for everybody.
pub const SAVE: &str = "Save it";
/// Both.
pub const RUN_AND_SAVE: &str = "Run and save it";
pub const NEITHER: &str = "Neither";
/// Answer to neither.
pub const THEN_NOT: &str = "OK, I'll leave it.";

/// To a model that wants to run a workflow which the person didn't ask for, after it has read text from outside.
pub const NOT_ASKED_FOR: &str = "the person didn't ask for this workflow, and text from outside was read before. They can start it with /run";
/// The end of a question that expired.
pub const NOBODY_ANSWERED: &str = "nobody answered in time";
/// The end of a draft whose text was deleted in the meantime.
pub const DRAFT_GONE: &str = "the draft is no longer stored";
/// Why nothing can be saved.
pub const NO_FOLDER: &str = "there's no folder for workflows; set `[skills] paths`";

/// Asks for an input that a run needs; `error` says why the last answer was no good.
pub fn input(workflow: &str, name: &str, description: &str, error: Option<&str>) -> String {
    let what = match description.trim() {
        "" => format!("`{name}`"),
        described => format!("`{name}` ({described})"),
    };
    match error {
        Some(error) => format!("That doesn't work: {error}. What is {what}?"),
        None => format!("Before I run {workflow}: what is {what}?"),
    }
}

/// Why a run didn't begin, from what its call was answered: `{"error": "arguments of workflow.NAME: /INPUT: WHY"}`.
pub fn refused(answer: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(answer).ok();
    let error = json.as_ref().and_then(|json| json["error"].as_str()).unwrap_or(answer);
    let Some((workflow, problems)) =
        error.strip_prefix("arguments of workflow.").and_then(|rest| rest.split_once(": "))
    else {
        return format!("I can't run that: {error}.");
    };
    let problems: Vec<String> = problems
        .lines()
        .map(|line| line.trim_start_matches('/').replace("no such argument", "no such input"))
        .collect();
    format!(
        "I can't run {workflow} like that: {}. `/run` lists the workflows with their inputs.",
        problems.join("; ")
    )
}

/// Why a run ended that asked for an input.
pub fn nobody_said(name: &str) -> String {
    format!("nobody gave a value for '{name}' in time")
}

/// After a draft was saved.
pub fn saved(path: &str, name: &str) -> String {
    format!("Saved as {path}. Run it with `/run {name}`.")
}
