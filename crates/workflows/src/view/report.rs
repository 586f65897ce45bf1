//! The report of a run.

use adjutant_types::{RunStatus, words};
use serde::{Deserialize, Serialize};

use crate::plans::{Change, Forecast};

/// A run's report: `workflow show --json` is exactly this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub run: RunReport,
    /// Its steps, in the order of the file.
    pub steps: Vec<StepReport>,
}

words! {
    #[derive(Default)]
    StepStatus {
        /// It hasn't started.
        #[default]
        Pending = "pending",
        Running = "running",
        Waiting = "waiting",
        Completed = "completed",
        Failed = "failed",
        /// It wasn't chosen or reached.
        Skipped = "skipped",
        Cancelled = "cancelled",
    }
}

pub(crate) fn count(steps: &[StepReport], status: StepStatus) -> usize {
    steps.iter().filter(|step| step.status == status).count()
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub id: String,
    pub workflow: String,
    pub status: RunStatus,
    pub steps_total: usize,
    pub steps_completed: usize,
    pub steps_failed: usize,
    /// The steps that weren't chosen or reached.
    pub steps_skipped: usize,
    /// Agents started, repeats included.
    pub agents: usize,
    /// Repeated attempts.
    pub retries: usize,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    /// Its output: text, or JSON as text.
    pub output: String,
    pub warnings: Vec<String>,
    /// The forecast, if it was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The usage of its model calls, if it was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// The changes of its plan while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Of a workflow that was drafted for it: where it is saved, or how to keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// The usage of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub model_calls: i64,
    /// Tokens of requests and answers.
    pub tokens: i64,
    /// US dollars; 0 if no price is known.
    pub cost_usd: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReview {
    /// Whether its success criteria are fulfilled.
    pub fulfilled: bool,
    /// Why, or why not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    pub id: String,
    /// Its agents or its skill.
    pub agent: Option<String>,
    pub status: StepStatus,
    /// Attempts; the most of several parallel agents.
    pub attempts: u32,
    /// How long it took, or has taken so far.
    pub duration_ms: i64,
    pub output_bytes: usize,
    pub error: Option<String>,
    /// What its model calls took, those of agents below it among them, if the run was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<StepReview>,
    /// Whether it was done again after a review.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redone: bool,
}
