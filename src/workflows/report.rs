//! What came of a run, or how it stands.

use serde::{Deserialize, Serialize};

/// A run's report: `workflow show --json` is exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The run as a whole.
    pub run: RunReport,
    /// Its steps, in the order of the file.
    pub steps: Vec<StepReport>,
}

/// How many of these steps stand like this.
pub(super) fn count(steps: &[StepReport], status: &str) -> usize {
    steps.iter().filter(|step| step.status == status).count()
}

/// A run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// Its id.
    pub id: String,
    /// The workflow.
    pub workflow: String,
    /// `running`, `waiting`, `complete`, `partial`, `failed` or `cancelled`.
    pub status: String,
    /// How many steps the workflow has.
    pub steps_total: usize,
    /// Those that gave what they were to give.
    pub steps_completed: usize,
    /// Those that did not.
    pub steps_failed: usize,
    /// Those that were not chosen, or were not come to.
    pub steps_skipped: usize,
    /// Agents that were started, the same one again too.
    pub agents: usize,
    /// Attempts after a first one.
    pub retries: usize,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    /// What it gave: text, or JSON as text.
    pub output: String,
    /// What is worth knowing.
    pub warnings: Vec<String>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// Its id.
    pub id: String,
    /// Its agent or agents, or its skill; none where neither works.
    pub agent: Option<String>,
    /// `pending`, `running`, `waiting`, `completed`, `failed`, `skipped` or `cancelled`.
    pub status: String,
    /// How often it was tried: of several agents side by side the most.
    pub attempts: u32,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    /// How long its output is.
    pub output_bytes: usize,
    /// Why it failed.
    pub error: Option<String>,
}
