//! Plans: a planner turns a goal into steps, a person agrees, and then they run as a workflow that was in no file.
//!
//! - A planner's answer is text of a model: it is checked as a workflow of a file is, and its size is bounded.
//! - What a person is shown is what runs: the workflow is made of the stored plan and nothing else.
//! - After a failed step the planner may plan the rest anew. What is done stays as it is, and the person is asked again.

mod difference;
mod file;
mod reading;
mod shown;

use serde::{Deserialize, Serialize};

pub use difference::difference;
pub use file::workflow;
pub use reading::{Kept, PlanContext, read};
pub use shown::{for_chat, for_terminal, takes};

/// More steps are refused: nobody reads them before saying yes.
pub const MAX_STEPS: usize = 20;
/// How often the rest of a plan may change while it runs.
pub const MAX_CHANGES: usize = 2;
/// A longer goal is refused, in bytes.
pub const MAX_GOAL: usize = 4_000;
/// The role that makes plans.
pub const PLANNER: &str = "planner";
/// The role that judges what came of them.
pub const REVIEWER: &str = "reviewer";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    /// The steps, in the planner's order.
    pub steps: Vec<PlanStep>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<String>,
    /// Questions for the person while the plan runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub will_ask: Vec<String>,
    /// The forecast of the whole plan, or of the rest that changed last.
    #[serde(default)]
    pub forecast: Forecast,
    /// The changes during the run, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A rest that came instead of another one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub failed: Vec<FailedStep>,
    /// The steps that had not begun and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The steps that are still to be done as they were planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub as_planned: Vec<String>,
    /// The forecast of the plan before it.
    pub planned: Forecast,
}

impl Change {
    /// The steps of the plan before it that didn't come to their end.
    pub fn before(&self) -> impl Iterator<Item = &String> {
        self.failed.iter().map(|failed| &failed.id).chain(&self.left_out)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    pub id: String,
    pub reason: String,
}

impl Plan {
    /// The forecast that the person first agreed to.
    pub fn first_forecast(&self) -> Forecast {
        self.changes.first().map_or(self.forecast, |change| change.planned)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    pub id: String,
    /// The work of its agent.
    pub task: String,
    pub role: String,
    pub skills: Vec<String>,
    /// The steps whose results it needs.
    pub depends_on: Vec<String>,
    pub success_criteria: String,
}

/// What a run of the plan takes: as a rule, and rarely more than that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub model_calls: (u64, u64),
    /// US dollars; none where a price is unknown.
    pub cost_usd: Option<(f64, f64)>,
    #[serde(default)]
    pub basis: Basis,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A typical agent; in plans of former versions the limits of the roles, hence the name.
    #[default]
    Limits,
    /// The usage of earlier agents of some roles, and a typical agent for the others.
    Mixed,
    /// The usage of earlier agents of the roles.
    Past,
}

#[cfg(test)]
mod tests;
