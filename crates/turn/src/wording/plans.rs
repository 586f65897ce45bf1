//! The buttons of plans, and what the planner reads.

use adjutant_chat::Choice;
use adjutant_l10n as l10n;
use adjutant_types::{Answer, QuestionId};

use super::choices;

/// The button that asks what should change.
pub const CHANGE_BUTTON: &str = "change";
/// The button that drops the plan.
const CANCEL_BUTTON: &str = "reject";

/// The buttons of a question about a plan.
pub fn plan_choices(question: &QuestionId) -> Vec<Choice> {
    let run = ("approve", l10n::plans::run());
    choices(question, [run, (CHANGE_BUTTON, l10n::plans::change()), (CANCEL_BUTTON, l10n::plans::cancel())])
}

/// The id of the button that drops the plan.
pub fn cancel_button(question: &QuestionId) -> String {
    format!("{question}:{CANCEL_BUTTON}")
}

/// An answer as its button calls it.
pub(super) fn label(answer: &Answer) -> String {
    match answer {
        Answer::Approve => l10n::plans::run(),
        Answer::Reject => l10n::plans::cancel(),
        _ => l10n::plans::change(),
    }
}

/// What the planner is asked for.
pub fn mission(goal: &str, roles: &str, skills: &str, max_steps: usize) -> String {
    format!(
        "Make a plan for this goal:\n\n{goal}\n\nAnswer with one JSON object and nothing else:\n\
         {{\"summary\": \"one sentence\", \"data\": {{\"steps\": [{{\"id\": \"figures\", \"task\": \"...\", \"role\": \"...\", \
         \"skills\": [\"...\"], \"depends_on\": [], \"success_criteria\": \"...\"}}], \"uncertain\": [\"...\"], \
         \"will_ask\": [\"...\"]}}}}\n\
         At most {max_steps} steps. An id has letters, digits and _. The agent of a step sees its task and the results of \
         the steps in depends_on, nothing else. Skills: only what the step calls, [] if it only thinks and writes. \
         will_ask: what the person will be asked while it runs.\n\
         Roles: {roles}\n\nSkills beside yours:\n{skills}"
    )
}

/// What the planner is asked for when its answer can't be used.
pub fn correct(errors: &[String], answer: &str) -> String {
    format!(
        "Your last answer can't be used:\n- {}\nAnswer with the whole corrected plan, as one JSON object.\nYour last \
         answer:\n{answer}",
        errors.join("\n- ")
    )
}

/// What the planner is asked for when the person wants another plan.
pub fn change(plan: &str, wish: &str) -> String {
    format!(
        "There is a plan already. The person wants it changed: {wish}\nChange what they want, keep the rest as it is, and \
         answer with the whole changed plan, as one JSON object.\nThe plan so far:\n{plan}"
    )
}

/// The prompt for the planner when a step has failed: what is done, what failed, and what was to come.
pub fn rest(done: &str, failed: &str, open: &str) -> String {
    let listed = |title: &str, steps: &str| {
        if steps.is_empty() { String::new() } else { format!("\n{title}:{steps}") }
    };
    format!(
        "This plan is under way already, and it can't go on as it was, because a step failed. Plan only what is still to be \
         done, so that the goal is reached another way, or as far as it can be. What is done stays: don't repeat it; name \
         it in depends_on where its result is needed. A step that stays as it was keeps its id and its words; one that \
         depended on a failed step needs another depends_on. The person will see the difference and decide. If nothing \
         sensible is left to do, answer with \"steps\": [].{}{}{}",
        listed("Done", done),
        listed("Failed", failed),
        listed("Not begun", open),
    )
}

/// What the reviewer of a run is asked for.
pub fn review(goal: &str) -> String {
    format!(
        "Judge what came of a plan, step by step, by each step's success criteria. Results are what agents say they \
         did: check what can be checked.\nThe goal: {goal}\nAnswer with one JSON object and nothing else:\n\
         {{\"summary\": \"one to three sentences\", \"data\": {{\"verdict\": \"accept\" or \"reject\", \"steps\": \
         [{{\"id\": \"...\", \"fulfilled\": true or false, \"reason\": \"what is wrong and what would fix it\"}}]}}}}"
    )
}

/// The prompt for an agent whose work is done again.
pub fn falls_short(reason: &str, result: &str) -> String {
    format!(
        "This was done before, and a review says that it falls short: {reason}\nThe result so far: {result}"
    )
}
