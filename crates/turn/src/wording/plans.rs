//! What people and the planner read about plans.

use adjutant_chat::Choice;
use adjutant_types::{Answer, QuestionId};

use super::choices;

/// The button that asks what should change.
pub const CHANGE_BUTTON: &str = "change";
/// The button that drops the plan.
const CANCEL_BUTTON: &str = "reject";
/// The buttons of a plan.
const BUTTONS: [(&str, &str); 3] = [("approve", "Run"), (CHANGE_BUTTON, "Change"), (CANCEL_BUTTON, "Cancel")];

/// The buttons of a question about a plan.
pub fn plan_choices(question: &QuestionId) -> Vec<Choice> {
    choices(question, BUTTONS)
}

/// The id of the button that drops the plan.
pub fn cancel_button(question: &QuestionId) -> String {
    format!("{question}:{CANCEL_BUTTON}")
}

/// An answer as its button calls it.
pub(super) fn label(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approve => "Run",
        Answer::Reject => "Cancel",
        _ => "Change",
    }
}

/// Below a plan.
pub const ASK: &str = "Nothing runs before you choose. Answer “run”, “cancel”, or for example “change: without the invitation”.";

/// Below a changed rest.
pub const ASK_REST: &str = "Nothing more runs before you choose. Answer “run”, “cancel” to end the plan here, or for example “change: \
                            without the invitation”.";

/// In the report of a plan whose rest wasn't wanted.
pub const REST_CANCELLED: &str = "you declined the changed steps, so the plan ended here";

/// In the report of a plan about whose rest nobody decided.
pub const REST_EXPIRED: &str =
    "nobody answered in time whether the changed steps should run, so the plan ended here";

/// In the report of a plan that the planner gave up.
pub const NO_REST: &str = "the planner found no other way";

/// After Change.
pub const WHAT_TO_CHANGE: &str = "What should change?";

/// The name of the question that asks for it.
pub const CHANGE: &str = "what should change";

/// After Cancel.
pub const CANCELLED: &str = "OK, I've dropped the plan. Nothing was done.";

/// The end of a plan that nobody answered.
pub const NOBODY_ANSWERED: &str = "nobody answered the plan in time, so nothing was done";

/// The end of a plan whose text was deleted in the meantime.
pub const GONE: &str = "the plan is no longer stored";

/// Instead of a goal that was deleted in the meantime.
pub const EMPTIED: &str = "(deleted)";

/// To `/plan` without a goal.
pub const USAGE: &str = "Say what to plan, such as: /plan prepare the board meeting on Friday: find the figures, draft the invitation";

/// To `/plan` with a goal that is too long.
pub fn too_long(most: usize) -> String {
    format!("The goal is longer than {most} bytes. Describe it more briefly.")
}

/// Why there is no plan.
pub fn no_plan(errors: &[String]) -> String {
    format!(
        "I couldn't make a plan that works: {}. Try again with a smaller or clearer goal.",
        errors.join("; ")
    )
}

/// Why there is no plan: the planner itself failed.
pub fn planner_failed(why: &str) -> String {
    format!("I couldn't make a plan: {why}")
}

/// What the planner is asked for.
pub fn mission(goal: &str, roles: &str, skills: &str, most: usize) -> String {
    format!(
        "Make a plan for this goal:\n\n{goal}\n\nAnswer with one JSON object and nothing else:\n\
         {{\"summary\": \"one sentence\", \"data\": {{\"steps\": [{{\"id\": \"figures\", \"task\": \"...\", \"role\": \"...\", \
         \"skills\": [\"...\"], \"depends_on\": [], \"success_criteria\": \"...\"}}], \"uncertain\": [\"...\"], \
         \"will_ask\": [\"...\"]}}}}\n\
         At most {most} steps. An id has letters, digits and _. The agent of a step sees its task and the results of \
         the steps in depends_on, nothing else. Skills: only what the step calls, [] if it only thinks and writes. \
         will_ask: what the person will be asked while it runs.\n\
         Roles: {roles}\n\nAll skills:\n{skills}"
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

/// What the planner is told when a step has failed: what is done, what failed, and what was to come.
pub fn rest(done: &str, failed: &str, open: &str) -> String {
    let listed = |title: &str, steps: &str| match steps.is_empty() {
        true => String::new(),
        false => format!("\n{title}:{steps}"),
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

/// What an agent is told whose work is done again.
pub fn falls_short(reason: &str, result: &str) -> String {
    format!(
        "This was done before, and a review says that it falls short: {reason}\nThe result so far: {result}"
    )
}

/// What the review of a step objects to.
pub fn shortcoming(step: &str, reason: &str) -> String {
    format!("{step} falls short: {reason}")
}

/// The review in the progress display.
pub const REVIEWING: &str = "judges the result";

/// The planning of a changed rest in the progress display.
pub const PLANNING_REST: &str = "plans the rest anew";

/// Why there was no review.
pub const NO_VERDICT: &str = "the reviewer gave no verdict";

/// A warning in the report.
pub fn not_reviewed(why: &str) -> String {
    format!("the result was not reviewed: {why}")
}
