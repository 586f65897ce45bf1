//! The types of a workflow, whatever language its file is written in.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rules::Rule;
use super::template::{Condition, Template};

/// A pipeline of agents.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub name: String,
    pub description: String,
    /// The author's version, for information only.
    pub version: Option<String>,
    /// The time limit of a run; by default that of a turn.
    pub timeout: Option<Duration>,
    /// The maximum of agents and skills at once; by default as configured.
    pub max_concurrent: Option<usize>,
    pub inputs: Vec<Input>,
    pub agents: Vec<Agent>,
    /// Its steps, in the order of the file, which may differ from the order in which they run.
    pub steps: Vec<Step>,
    /// The role whose agent judges the steps with success criteria after the last one.
    pub review: Option<String>,
    /// The file it was read from; its extension says whether `text` is TOML or YAML.
    pub file: String,
    /// The file's text, which a run keeps.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name: `{{inputs.NAME}}`.
    pub name: String,
    pub kind: InputType,
    /// Whether a run needs it. One with a default is never missing.
    pub required: bool,
    /// Its default; an optional input without one is null.
    pub default: Option<Value>,
    /// Its description, for the person who is asked for it.
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    String,
    Number,
    Boolean,
    Json,
    FilePath,
}

/// An agent that steps can run.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its key in the file, which steps use.
    pub id: String,
    pub name: String,
    /// The agent's work, in a few words.
    pub role: String,
    pub prompt: Template,
    /// The skills it is granted. `check` removes unknown names with a warning.
    pub skills: Vec<String>,
    /// The role of a file that it has: what it is told first, its limits, and what it may do at most.
    pub as_role: Option<String>,
    /// Whether the file names its skills; otherwise one with a role gets all that the role has.
    pub names_skills: bool,
    /// How its work will be judged.
    pub success_criteria: Option<String>,
    pub model: Option<String>,
    pub timeout: Option<Duration>,
    pub retry: Retry,
    pub validation: Validation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, including the first; at least 1.
    pub max_attempts: u32,
    pub backoff: Backoff,
    pub on_failure: OnFailure,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 1, backoff: Backoff::None, on_failure: OnFailure::Abort }
    }
}

/// The delay before another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backoff {
    #[default]
    None,
    /// 5 s longer each time.
    Linear,
    /// 2 s, 4 s, 8 s, and so on.
    Exponential,
}

/// The handling of the last failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnFailure {
    /// The run ends as failed.
    Abort,
    /// The output is null and the run goes on.
    Skip,
    /// This agent tries once; if it fails too, the run ends.
    Fallback(String),
}

#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// JSON Schema that it must fit.
    pub schema: Option<Value>,
    /// Rules in plain English.
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
pub struct Step {
    /// Its name: `{{steps.ID.output}}`.
    pub id: String,
    pub kind: StepKind,
    /// Its input; by default the outputs of its dependencies.
    pub input: Option<InputMapping>,
    /// The steps that must end before it. By default the step before; for a branch, the step that chooses it; after a choice, the
    /// ends of all its branches.
    pub depends_on: Vec<String>,
    /// The conditional or switch that decides whether it runs. A step is skipped, too, when all its dependencies were skipped.
    pub chosen_by: Option<String>,
    /// The earliest start: the next time of day, a date and time, or a duration after its dependencies.
    pub wait_until: Option<Template>,
    pub timeout: Option<Duration>,
    pub output: Output,
}

/// The input of a step or an agent.
#[derive(Debug, Clone)]
pub enum InputMapping {
    /// `all prior context`: every output so far.
    AllPrior,
    Template(Template),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Another name for it in templates: `{{NAME}}`.
    pub store_as: Option<String>,
    /// Its format; by default JSON if it can be parsed, else text.
    pub format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; anything else is a failure.
    Json,
    Text,
    Markdown,
}

#[derive(Debug, Clone)]
pub enum StepKind {
    /// An agent: `type: sequential` with `agent`.
    Agent(String),
    /// A skill call without a model: `skill` with `arguments`.
    Skill(SkillCall),
    /// Several agents in parallel.
    Parallel(Parallel),
    /// `conditional` and `switch`.
    Choice(Choice),
    /// An agent for each item of a list, and one more for all outputs.
    Map(MapStep),
    /// An agent and a validator, until the validator passes the output.
    Loop(LoopStep),
    /// A question to a person; the output is the choice.
    Approval(ApprovalStep),
    /// Another workflow; the output is its last step's.
    Workflow(SubWorkflow),
}

impl StepKind {
    /// Its `type` in the file.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Agent(_) | Self::Skill(_) => "sequential",
            Self::Parallel(_) => "parallel",
            Self::Choice(route) if route.is_switch => "switch",
            Self::Choice(_) => "conditional",
            Self::Map(_) => "map",
            Self::Loop(_) => "loop",
            Self::Approval(_) => "approval",
            Self::Workflow(_) => "workflow",
        }
    }

    /// The ids of its agents, fallbacks aside.
    pub fn agents(&self) -> Vec<&str> {
        match self {
            Self::Agent(agent) => vec![agent],
            Self::Parallel(parallel) => parallel.members.iter().map(|member| member.agent.as_str()).collect(),
            Self::Choice(route) => route
                .targets()
                .filter_map(|target| match target {
                    Target::Agent(agent) => Some(agent.as_str()),
                    Target::Step(_) => None,
                })
                .collect(),
            Self::Map(map) => std::iter::once(map.agent.as_str()).chain(map.reduce.as_deref()).collect(),
            Self::Loop(repeat) => vec![&repeat.agent, &repeat.validator],
            Self::Skill(_) | Self::Approval(_) | Self::Workflow(_) => Vec::new(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct SkillCall {
    pub skill: String,
    /// Its arguments. Texts are templates; a lone `{{...}}` keeps its type.
    pub arguments: Map<String, Value>,
    /// What happens when it fails, after the executor's own retries.
    pub retry: Retry,
}

#[derive(Debug, Clone)]
pub struct Parallel {
    pub members: Vec<Member>,
    /// The number of members that the step waits for; the others are then cancelled.
    pub wait: WaitFor,
    /// The maximum of members at once; by default all.
    pub max_concurrent: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Member {
    pub agent: String,
    /// Its input; by default the step's.
    pub input: Option<InputMapping>,
    /// The name of its output: `{{steps.ID.outputs.KEY}}`.
    pub output_key: String,
}

/// The number of members that a parallel step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    All,
    /// At least this many; `any` is 1.
    AtLeast(usize),
}

/// A choice between branches. The first case whose condition is true is taken.
#[derive(Debug, Clone)]
pub struct Choice {
    pub is_switch: bool,
    /// At least one; a conditional has exactly one.
    pub cases: Vec<Case>,
    /// The default; without one the output is null.
    pub otherwise: Option<Target>,
}

impl Choice {
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.cases.iter().filter_map(|case| case.then.as_ref()).chain(&self.otherwise)
    }
}

#[derive(Debug, Clone)]
pub struct Case {
    pub when: Condition,
    /// The target; without a target the output is null.
    pub then: Option<Target>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Another step, which depends on the choice.
    Step(String),
    /// An agent inside this step, with the step's input and output.
    Agent(String),
}

#[derive(Debug, Clone)]
pub struct MapStep {
    /// The list. The agent sees `{{item}}` and `{{index}}`.
    pub over: Template,
    pub agent: String,
    /// The agent that gets all outputs; without one the output is their list.
    pub reduce: Option<String>,
    pub max_concurrent: usize,
}

#[derive(Debug, Clone)]
pub struct LoopStep {
    pub agent: String,
    /// The validator gets the agent's output, and passes it with `passed: true`.
    pub validator: String,
    /// After this many rounds the last output is used, with a warning.
    pub max_iterations: u32,
    /// The feedback for the agent, in which the step's own `output` is the validator's. By default all of that.
    pub feedback: Option<Template>,
}

#[derive(Debug, Clone)]
pub struct ApprovalStep {
    pub text: Template,
    /// The possible answers; at least two.
    pub choices: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct SubWorkflow {
    pub name: String,
    /// Its inputs. Texts are templates; a lone `{{...}}` keeps its type.
    pub inputs: Map<String, Value>,
}

impl Workflow {
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == name)
    }

    /// Removes unknown skills from the agents, since they grant nothing.
    pub(crate) fn keep_skills(&mut self, is_there: impl Fn(&str) -> bool) {
        self.agents.iter_mut().for_each(|agent| agent.skills.retain(|skill| is_there(skill)));
    }

    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == name)
    }

    /// Whether it fails for certain without a language model: an agent that surely works has none of its own, and its failure
    /// ends the run.
    pub fn needs_model(&self) -> bool {
        let needs = |id: &&str| {
            let agent = self.agent(id).filter(|agent| agent.model.is_none() && agent.as_role.is_none());
            agent.is_some_and(|agent| agent.retry.on_failure == OnFailure::Abort)
        };
        let is_free = |id: &String| self.step(id).is_some_and(|step| step.chosen_by.is_none());
        let is_sure = |step: &&Step| {
            step.chosen_by.is_none()
                && (step.depends_on.is_empty() || step.depends_on.iter().any(is_free))
                && matches!(step.kind, StepKind::Agent(_) | StepKind::Loop(_))
        };
        self.steps.iter().filter(is_sure).any(|step| step.kind.agents().iter().any(&needs))
    }
}
