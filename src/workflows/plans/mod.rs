//! Plans: a planner turns a goal into steps, a person agrees, and then they run as a workflow that was in no file.
//!
//! - A planner's answer is text of a model: it is checked as a workflow of a file is, and its size is bounded.
//! - What a person is shown is what runs: the workflow is made of the stored plan and nothing else.

mod file;
mod reading;
mod shown;

use serde::{Deserialize, Serialize};

pub use file::workflow;
pub use reading::{PlanContext, read};
pub use shown::{for_chat, for_terminal};

/// More steps are refused: nobody reads them before saying yes.
pub const MAX_STEPS: usize = 20;
/// A longer goal is refused, in bytes.
pub const MAX_GOAL: usize = 4_000;
/// The role that makes plans.
pub const PLANNER: &str = "planner";
/// The role that judges what came of them.
pub const REVIEWER: &str = "reviewer";

/// A plan as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The name of its workflow.
    pub name: String,
    /// The steps, in the planner's order.
    pub steps: Vec<PlanStep>,
    /// What the planner isn't sure of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<String>,
    /// What the person will be asked while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub will_ask: Vec<String>,
    /// What it may take.
    #[serde(default)]
    pub forecast: Forecast,
}

/// A step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its id.
    pub id: String,
    /// What its agent does.
    pub task: String,
    /// Its agent's role.
    pub role: String,
    /// The skills that its agent gets.
    pub skills: Vec<String>,
    /// The steps whose results it needs.
    pub depends_on: Vec<String>,
    /// How its work will be judged.
    pub success_criteria: String,
}

/// What a run of the plan takes at least and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Agents.
    pub agents: (u64, u64),
    /// Model calls.
    pub model_calls: (u64, u64),
    /// Skill calls.
    pub skill_calls: (u64, u64),
    /// Tokens, of requests and answers.
    pub tokens: (u64, u64),
    /// US dollars; none where a price is unknown.
    pub cost_usd: Option<(f64, f64)>,
}

#[cfg(test)]
mod tests;
