//! What a run of a workflow asks and says in its conversation.

/// A choice for a draft: run it.
pub const RUN: &str = "Run it";
/// Keep it for everybody.
pub const SAVE: &str = "Save it";
/// Both.
pub const RUN_AND_SAVE: &str = "Run and save it";
/// Neither.
pub const NEITHER: &str = "Neither";
/// After neither.
pub const THEN_NOT: &str = "Then not.";

/// The end of a question whose time was up.
pub const NOBODY_ANSWERED: &str = "nobody answered in time";
/// The same of a draft whose text was emptied meanwhile.
pub const DRAFT_GONE: &str = "the draft is not kept any more";
/// Why nothing can be saved.
pub const NO_FOLDER: &str = "there is no folder for workflows: see [skills] paths";

/// Asks for what a run can't do without; `fault` is why the last answer could not be taken.
pub fn input(workflow: &str, name: &str, description: &str, fault: Option<&str>) -> String {
    let what = match description.trim() {
        "" => format!("`{name}`"),
        described => format!("`{name}` ({described})"),
    };
    match fault {
        Some(fault) => format!("That can't be: {fault}. What is {what}?"),
        None => format!("To run {workflow} I need to know: what is {what}?"),
    }
}

/// Why a run ended that asked for something.
pub fn nobody_said(name: &str) -> String {
    format!("nobody said in time what '{name}' is")
}

/// After a draft was saved.
pub fn saved(path: &str, name: &str) -> String {
    format!("Saved as {path}; `/run {name}` runs it.")
}
