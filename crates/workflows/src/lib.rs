//! Roles and their agents, the workflows and plans that are made of them, and the trace of what they did. A workflow is read
//! from YAML or TOML and checked completely before it runs.

pub mod agents;
pub mod catalogue;
mod check;
pub mod command;
pub mod draft;
pub mod graph;
pub mod language;
pub mod plans;
pub mod roles;
pub mod run;
pub mod skill;
pub mod trace;
pub mod view;

pub use check::{CheckContext, missing_roles};
pub use language::dates::{DATE_NAMES, date_values};
pub use language::definition::{self, Workflow};
pub use language::order::{ancestors, waves};
pub use language::reading::is_name;
pub use language::rules::Rule;
pub use view::draw::{draw, for_chat};
pub use view::explain::explain;
pub use view::mermaid::mermaid;
pub use view::status::status;

use adjutant_config::document::{Problem, Problems};

use language::reading::{self, document};

/// Reads a workflow (TOML when the file's name ends in `.toml`, else YAML) and checks it against what is installed. No
/// workflow when its form can't be read; with a problem that isn't a warning it must not run.
pub fn check(file: &str, text: &str, context: &CheckContext<'_>) -> (Option<Workflow>, Vec<Problem>) {
    let document = match document(file, text) {
        Ok(document) => document,
        Err(problems) => return (None, problems),
    };
    let mut problems = Problems::new(&document);
    let read = reading::workflow(&mut problems);
    if let Some(read) = &read {
        check::check(read, context, &mut problems);
    }
    let mut workflow = read.map(|read| read.workflow);
    if let Some(workflow) = &mut workflow {
        workflow.keep_skills(|skill| context.skills.get(skill).is_some());
    }
    (workflow, at_most(problems))
}

/// Reads a workflow without checking names outside its file: for the text that a run keeps.
pub fn parse(file: &str, text: &str) -> Result<Workflow, Vec<Problem>> {
    let document = document(file, text)?;
    let mut problems = Problems::new(&document);
    let read = reading::workflow(&mut problems);
    let problems = at_most(problems);
    match read {
        Some(read) if problems.iter().all(Problem::is_warning) => Ok(read.workflow),
        _ => Err(problems),
    }
}

/// The problems in the order of the file. More than a hundred at once don't help.
fn at_most(problems: Problems<'_>) -> Vec<Problem> {
    let mut problems = problems.into_sorted();
    problems.truncate(100);
    problems
}

#[cfg(test)]
mod tests;
