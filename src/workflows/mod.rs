//! Workflows: pipelines of different agents, read from YAML or TOML, and all that can be known before they run.

pub mod catalogue;
mod check;
pub mod command;
mod condition;
mod definition;
pub mod draft;
mod draw;
mod estimate;
mod explain;
pub mod inputs;
mod keys;
mod marked;
mod mermaid;
mod names;
mod order;
pub mod plan;
mod read;
pub mod report;
mod report_text;
mod rule_check;
mod rules;
pub mod run;
mod sketch;
pub mod skill;
mod source;
mod standing;
mod steps;
mod svg;
mod table;
pub mod template;
pub mod wait;

pub use check::World;
pub use definition::{
    Agent, Backoff, Call, Case, Feed, Format, Input, Kind, Member, OnFailure, Output, Parallel, Question,
    Repeat, Retry, Route, Spread, Step, Sub, Target, Validation, Wait, Work, Workflow,
};
pub use draw::{draw, for_chat};
pub use estimate::{Estimate, Range};
pub use explain::explain;
pub use mermaid::mermaid;
pub use names::{ALWAYS, times};
pub use order::{ancestors, waves};
pub use read::{is_name, misfit};
pub use rule_check::Check;
pub use rules::Rule;
pub use source::{Fault, LONGEST_FILE, Place};
pub use standing::standing;
pub use svg::svg;

use source::Source;
use table::Faults;

/// Reads a workflow, as TOML when the file's name ends in `.toml`, else as YAML, and checks it against what there is.
/// None when there is nothing to go on with; with a fault that is no warning it must not run.
pub fn check(file: &str, text: &str, world: &World<'_>) -> (Option<Workflow>, Vec<Fault>) {
    let source = match Source::read(file, text) {
        Ok(source) => source,
        Err(faults) => return (None, faults),
    };
    let mut faults = Faults::new(&source);
    let read = read::workflow(&mut faults);
    if let Some(read) = &read {
        check::check(read, world, &mut faults);
    }
    let mut workflow = read.map(|read| read.workflow);
    if let Some(workflow) = &mut workflow {
        workflow.keep_skills(|skill| world.skills.get(skill).is_some());
    }
    (workflow, faults.into_sorted())
}

/// Reads a workflow without looking at anything outside its file: what a run that goes on does with its kept text.
///
/// # Errors
/// Every fault of its form, in the order of the file.
pub fn parse(file: &str, text: &str) -> Result<Workflow, Vec<Fault>> {
    let source = Source::read(file, text)?;
    let mut faults = Faults::new(&source);
    let read = read::workflow(&mut faults);
    let faults = faults.into_sorted();
    match read {
        Some(read) if !faults.iter().any(|fault| !fault.is_warning) => Ok(read.workflow),
        _ => Err(faults),
    }
}

#[cfg(test)]
mod tests;
