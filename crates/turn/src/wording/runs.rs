//! What a workflow run asks, and why it doesn't begin.

use adjutant_l10n as l10n;

/// To a model that wants to run a workflow which the person didn't ask for, after it has read text from outside.
pub const NOT_ASKED_FOR: &str = "the person didn't ask for this workflow, and text from outside was read before. They can start it with /run";

/// Asks for an input that a run needs; `error` says why the last answer was no good.
pub fn input(workflow: &str, name: &str, description: &str, error: Option<&str>) -> String {
    match (error, description.trim()) {
        (None, "") => l10n::runs::input(workflow, name),
        (None, described) => l10n::runs::input_described(workflow, name, described),
        (Some(error), "") => l10n::runs::input_again(error, name),
        (Some(error), described) => l10n::runs::input_again_described(error, name, described),
    }
}

/// Why a run didn't begin, from what its call was answered: `{"error": "arguments of workflow.NAME: /INPUT: WHY"}`.
pub fn refused(answer: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(answer).ok();
    let error = json.as_ref().and_then(|json| json["error"].as_str()).unwrap_or(answer);
    let Some((workflow, problems)) =
        error.strip_prefix("arguments of workflow.").and_then(|rest| rest.split_once(": "))
    else {
        return l10n::runs::refused(error);
    };
    let problems: Vec<String> = problems
        .lines()
        .map(|line| line.trim_start_matches('/').replace("no such argument", "no such input"))
        .collect();
    l10n::runs::refused_inputs(workflow, problems.join("; "))
}
