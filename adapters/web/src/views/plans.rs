//! Plans, as plain data.

use super::{Badge, Drawing, Moment, PageAction, Said, Turn};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    pub key: String,
    pub goal: String,
    /// Whose it is, if it isn't the viewer's.
    pub by: Option<String>,
    pub badge: Badge,
    pub at: Moment,
    /// What the viewer can do with it here.
    pub act: Option<PageAction>,
}

/// A step of a plan, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    pub name: String,
    pub role: String,
    pub task: String,
    /// How its work is judged.
    pub criteria: String,
    /// How it stands, once the plan runs.
    pub badge: Option<Badge>,
    /// How often it was tried, how long it took, what it cost, and why it failed.
    pub notes: Vec<String>,
    /// What the review says of it.
    pub verdict: Option<String>,
}

/// A plan, from its question to its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub key: String,
    /// What it is for, in its person's words.
    pub goal: String,
    /// From 1; each change makes another.
    pub version: i64,
    pub badge: Badge,
    pub at: Moment,
    /// What somebody should know first, such as that it was dropped.
    pub note: String,
    /// Its open questions; the plan itself is in the first one's text.
    pub questions: Vec<Said>,
    pub drawing: Drawing,
    pub steps: Vec<PlanStep>,
    /// What the planner isn't sure of.
    pub uncertain: Vec<String>,
    /// What the person will be asked while it runs.
    pub will_ask: Vec<String>,
    /// What it may take.
    pub forecast: String,
    /// What it took, or has taken so far, the planning included.
    pub spent: Vec<String>,
    /// What somebody should know of its run.
    pub warnings: Vec<String>,
    /// Markdown: what came out.
    pub output: String,
    pub turn: Turn,
}
