//! What a workflow is, once its file has been read: one set of types, whatever it was written in.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rules::Rule;
use super::template::{Condition, Template};

/// A pipeline of agents.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// Its name, by which people and skills call it.
    pub name: String,
    /// What it is for, in a line.
    pub description: String,
    /// Its author's version; ours takes no notice of it.
    pub version: Option<String>,
    /// How long a whole run may take; none: as long as the configuration allows a turn.
    pub timeout: Option<Duration>,
    /// How many agents and skills of a run may be at work at once; none: as configured.
    pub max_concurrent: Option<usize>,
    /// What a run must or may be given, in the order of the file.
    pub inputs: Vec<Input>,
    /// Its agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// Its steps, in the order of the file. What a step depends on may stand after it.
    pub steps: Vec<Step>,
    /// The file it was read from; its ending says whether `text` is TOML or YAML.
    pub file: String,
    /// The file's text, so that a run can keep what it began with.
    pub text: String,
}

/// What a run is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name: `{{inputs.NAME}}`.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Whether a run can't do without it. One with a default is never missing.
    pub required: bool,
    /// What it is when it is not given; null for an optional one without a default.
    pub default: Option<Value>,
    /// What it is, for the person who is asked for it.
    pub description: String,
}

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A text.
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// Any JSON.
    Json,
    /// The path of a file.
    FilePath,
}

/// A role that one or more steps give to a model.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The key in the file; steps name it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does, in a few words.
    pub role: String,
    /// Its mission.
    pub prompt: Template,
    /// The skills it is granted. Names that are no skills here are left out, with a warning by `check`.
    pub skills: Vec<String>,
    /// Another model than the configured one.
    pub model: Option<String>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// What happens when it fails.
    pub retry: Retry,
    /// What its output must be.
    pub validation: Validation,
}

/// What happens when something fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, the first one too; at least 1.
    pub max_attempts: u32,
    /// How long is waited between them.
    pub backoff: Backoff,
    /// What happens after the last.
    pub on_failure: OnFailure,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 1, backoff: Backoff::None, on_failure: OnFailure::Abort }
    }
}

/// How long is waited before another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backoff {
    /// Not at all.
    #[default]
    None,
    /// 5 s more each time.
    Linear,
    /// 2 s, 4 s, 8 s, and so on.
    Exponential,
}

/// What happens when the last attempt has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnFailure {
    /// The run ends as failed.
    Abort,
    /// The output is null and the run goes on.
    Skip,
    /// This agent tries the same once; if it fails as well the run ends.
    Fallback(String),
}

/// What an output must be.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// JSON Schema that it must fit.
    pub schema: Option<Value>,
    /// Rules in plain English.
    pub rules: Vec<Rule>,
}

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its name: `{{steps.ID.output}}`.
    pub id: String,
    /// What is done.
    pub work: Work,
    /// What it is given; none: the outputs of what it depends on.
    pub input: Option<Feed>,
    /// The steps that must have ended before it, each named once. Where the file says nothing: the step before; for a
    /// branch the step that chooses it; after the branches of a choice all of their ends.
    pub depends_on: Vec<String>,
    /// The conditional or switch that decides whether it runs. A step whose dependencies were all not chosen is
    /// not chosen either; one that was not chosen holds nobody up.
    pub chosen_by: Option<String>,
    /// It does not start before this: a time of day (the next), a moment, or a duration after what it depends on.
    pub wait_until: Option<Template>,
    /// How long it may take in all.
    pub timeout: Option<Duration>,
    /// What becomes of its output.
    pub output: Output,
}

/// What a step or an agent is given.
#[derive(Debug, Clone)]
pub enum Feed {
    /// `all prior context`: every output so far.
    AllBefore,
    /// A template.
    Template(Template),
}

/// What becomes of a step's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// One more name for it in templates: `{{NAME}}`.
    pub store_as: Option<String>,
    /// What it is; none: JSON when it can be read as that, else text.
    pub format: Option<Format>,
}

/// What an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON: an output that is not is a failure.
    Json,
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Work {
    /// An agent: `type: sequential` with `agent`.
    Agent(String),
    /// A skill call without a model: `skill` with `arguments`.
    Skill(Call),
    /// Agents side by side.
    Parallel(Parallel),
    /// One of several ways: `conditional` and `switch`.
    Route(Route),
    /// An agent for each item of a list, and one more for all that they gave.
    Map(Spread),
    /// An agent and one who judges it, until that one is content.
    Loop(Repeat),
    /// A question to a person; the output is the choice.
    Approval(Question),
    /// Another workflow; the output is its last step's.
    Workflow(Sub),
}

impl Work {
    /// The word for it in `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Agent(_) | Self::Skill(_) => "sequential",
            Self::Parallel(_) => "parallel",
            Self::Route(route) if route.is_switch => "switch",
            Self::Route(_) => "conditional",
            Self::Map(_) => "map",
            Self::Loop(_) => "loop",
            Self::Approval(_) => "approval",
            Self::Workflow(_) => "workflow",
        }
    }

    /// The agents it may start, as the file names them; those of a fallback are not among them.
    pub fn agents(&self) -> Vec<&str> {
        match self {
            Self::Agent(agent) => vec![agent],
            Self::Parallel(parallel) => parallel.members.iter().map(|member| member.agent.as_str()).collect(),
            Self::Route(route) => route
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

/// A skill call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The skill.
    pub skill: String,
    /// Its arguments: a text is a template, and a lone `{{...}}` keeps its type.
    pub arguments: Map<String, Value>,
    /// What happens when it fails. The executor's own repeats come first.
    pub retry: Retry,
}

/// Agents side by side.
#[derive(Debug, Clone)]
pub struct Parallel {
    /// At least one.
    pub members: Vec<Member>,
    /// For how many the step waits; the rest is cancelled then.
    pub wait: Wait,
    /// How many at once; none: all.
    pub max_concurrent: Option<usize>,
}

/// One of the agents side by side.
#[derive(Debug, Clone)]
pub struct Member {
    /// The agent.
    pub agent: String,
    /// What it is given; none: what the step is given.
    pub input: Option<Feed>,
    /// Where its output is: `{{steps.ID.outputs.KEY}}`.
    pub output_key: String,
}

/// For how many is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// All.
    All,
    /// So many; `any` is 1.
    AtLeast(usize),
}

/// One of several ways. The first case whose condition holds is taken.
#[derive(Debug, Clone)]
pub struct Route {
    /// Whether it was written as a switch.
    pub is_switch: bool,
    /// At least one; a conditional has exactly one.
    pub cases: Vec<Case>,
    /// Taken when none holds, or when one is ambiguous; none: the output is null.
    pub otherwise: Option<Target>,
}

impl Route {
    /// Where it may lead.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.cases.iter().filter_map(|case| case.then.as_ref()).chain(&self.otherwise)
    }
}

/// A case of a choice.
#[derive(Debug, Clone)]
pub struct Case {
    /// When it is taken.
    pub when: Condition,
    /// What happens then; none: nothing, and the output is null.
    pub then: Option<Target>,
}

/// Where a choice leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A step of its own, which depends on the choice.
    Step(String),
    /// An agent that runs inside the choosing step, with its input; the step's output is the agent's.
    Agent(String),
}

/// An agent for each item of a list.
#[derive(Debug, Clone)]
pub struct Spread {
    /// The list. Its agent sees `{{item}}` and `{{index}}`.
    pub over: Template,
    /// The agent of each item.
    pub agent: String,
    /// The agent that is given all outputs; none: the output is their list.
    pub reduce: Option<String>,
    /// How many at once.
    pub max_concurrent: usize,
}

/// An agent and one who judges it.
#[derive(Debug, Clone)]
pub struct Repeat {
    /// Who works.
    pub agent: String,
    /// Who judges: it is given the agent's output as its input, and is content when its own has `passed: true`.
    pub validator: String,
    /// After so many rounds the last output is taken, with a flag.
    pub max_iterations: u32,
    /// What goes back to the agent: here the step's own `output` is what the validator said. None: all of it.
    pub feedback: Option<Template>,
}

/// A question to a person.
#[derive(Debug, Clone)]
pub struct Question {
    /// What is asked.
    pub text: Template,
    /// What may be answered; at least two.
    pub choices: Vec<String>,
}

/// Another workflow as a step.
#[derive(Debug, Clone)]
pub struct Sub {
    /// Its name.
    pub name: String,
    /// Its inputs; a text is a template, and a lone `{{...}}` keeps its type.
    pub inputs: Map<String, Value>,
}

impl Workflow {
    /// The agent of this id.
    pub fn agent(&self, id: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    /// Leaves out of the agents' skills what is none here: a name from elsewhere grants nothing.
    pub(super) fn keep_skills(&mut self, is_there: impl Fn(&str) -> bool) {
        self.agents.iter_mut().for_each(|agent| agent.skills.retain(|skill| is_there(skill)));
    }

    /// The step of this id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }
}
