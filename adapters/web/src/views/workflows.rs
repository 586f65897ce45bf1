//! Workflows and their runs, as plain data.

use super::{Badge, Moment, Plan, Turn};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowLine {
    pub name: String,
    pub about: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    pub key: String,
    pub workflow: String,
    /// Whose it is, if it isn't the viewer's.
    pub by: Option<String>,
    pub badge: Badge,
    /// When it began.
    pub at: Moment,
    /// How long it took, or has taken so far.
    pub lasted: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workflows {
    pub workflows: Vec<WorkflowLine>,
    pub runs: Vec<RunLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text, or JSON.
    Text,
    Number,
    YesNo,
    Line,
}

/// An input of a workflow, as a field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub about: String,
    pub kind: FieldKind,
    pub is_required: bool,
    /// What stands there at first.
    pub value: String,
}

/// A step's box in a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnStep {
    pub place: (usize, usize),
    pub size: (usize, usize),
    pub radius: usize,
    /// Its lines; the first one names it.
    pub texts: Vec<String>,
    /// The same where they aren't cut.
    pub whole: String,
    /// How it stands, and how long it took, in a run.
    pub state: Option<(Badge, String)>,
}

/// An arrow between two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnArrow {
    /// As in SVG.
    pub path: String,
    /// The condition, with its place.
    pub label: Option<(usize, usize, String)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    pub size: (usize, usize),
    /// How high a line of text is.
    pub line: usize,
    pub steps: Vec<DrawnStep>,
    pub arrows: Vec<DrawnArrow>,
}

/// A workflow, with the form that runs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowPage {
    pub name: String,
    pub about: String,
    pub explained: String,
    pub drawing: Drawing,
    pub fields: Vec<Field>,
}

/// What came of a request to run a workflow, or of a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planned {
    Plan(String),
    Problems(Vec<String>),
    Asked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStep {
    pub name: String,
    /// Its agents or its skill.
    pub by: String,
    pub badge: Badge,
    /// How often it was tried, how long it took, and why it failed.
    pub notes: Vec<String>,
}

/// A run, on its workflow's drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub key: String,
    pub workflow: String,
    /// Whether there still is a workflow of this name.
    pub is_known: bool,
    pub badge: Badge,
    /// When it began.
    pub at: Moment,
    pub inputs: Vec<(String, String)>,
    pub drawing: Drawing,
    pub steps: Vec<RunStep>,
    /// How long it took, how many agents it had.
    pub figures: Vec<String>,
    /// What somebody should know.
    pub warnings: Vec<String>,
    /// Markdown: what came out.
    pub output: String,
    /// From which steps it can be run again.
    pub again: Vec<String>,
    pub turn: Turn,
}

/// What a request to run a workflow, or for a plan, has led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    Waiting,
    /// A turn that has started no run or plan, because it is at work, asks for something or has failed.
    Turn(Box<Turn>),
    Run(Box<Run>),
    /// A plan, whether it runs or not.
    Plan(Box<Plan>),
}
