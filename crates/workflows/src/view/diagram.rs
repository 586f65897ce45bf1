//! The content of a drawing, for all formats.

use crate::language::definition::{Choice, Step, StepKind, Target, WaitFor, Workflow};
use crate::language::order::places;
use crate::trace::text::{one_line, several};

/// A step in a drawing.
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: Shape,
    /// What it does, in a few words.
    pub(crate) title: String,
    /// Its content, by line.
    pub(crate) lines: Vec<String>,
}

impl Node {
    /// Its content in drawings with edges, which show the branches of a choice themselves.
    pub(crate) fn lines_without_branches(&self) -> &[String] {
        if self.kind == Shape::Choice { &[] } else { &self.lines }
    }
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Agent,
    Skill,
    Parallel,
    Choice,
    Map,
    Loop,
    Approval,
    Workflow,
}

impl Shape {
    /// Its mark in a text.
    pub(crate) fn mark(self) -> char {
        match self {
            Self::Agent => '●',
            Self::Skill => '■',
            Self::Parallel => '◎',
            Self::Choice => '◆',
            Self::Map => '≡',
            Self::Loop => '↻',
            Self::Approval => '?',
            Self::Workflow => '▣',
        }
    }
}

/// Which step leads to which, by place.
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The condition, where there is one.
    pub(crate) label: Option<String>,
}

/// A workflow's graph.
pub(crate) struct Diagram {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
}

impl Diagram {
    pub(crate) fn of(workflow: &Workflow) -> Self {
        let nodes = workflow.steps.iter().map(|step| node(workflow, step)).collect();
        let (places, mut edges) = (places(&workflow.steps), Vec::new());
        for (to, step) in workflow.steps.iter().enumerate() {
            for from in step.depends_on.iter().filter_map(|needed| places.get(needed.as_str()).copied()) {
                edges.push(Edge { from, to, label: label(&workflow.steps[from], &step.id) });
            }
        }
        Self { nodes, edges }
    }
}

/// The condition under which a choice leads to a step.
fn label(from: &Step, to: &str) -> Option<String> {
    let StepKind::Choice(choice) = &from.kind else { return None };
    let is_it = |target: Option<&Target>| matches!(target, Some(Target::Step(id)) if id == to);
    let cases =
        choice.cases.iter().filter(|case| is_it(case.then.as_ref())).map(|case| one_line(&case.when.plain()));
    let otherwise = is_it(choice.otherwise.as_ref()).then(|| "otherwise".to_owned());
    let labels: Vec<String> = cases.chain(otherwise).collect();
    (!labels.is_empty()).then(|| labels.join(", or "))
}

/// An agent's name for people.
pub(crate) fn named(workflow: &Workflow, agent: &str) -> String {
    one_line(workflow.agent(agent).map_or(agent, |agent| &agent.name))
}

fn node(workflow: &Workflow, step: &Step) -> Node {
    let name = |agent: &str| named(workflow, agent);
    let (kind, title, lines) = match &step.kind {
        StepKind::Agent(agent) => (Shape::Agent, name(agent), Vec::new()),
        StepKind::Skill(call) => (Shape::Skill, one_line(&call.skill), Vec::new()),
        StepKind::Parallel(parallel) => {
            let count = parallel.members.len();
            let title = match parallel.wait {
                WaitFor::All => format!("all of {count} in parallel"),
                WaitFor::AtLeast(1) => format!("the first of {count} in parallel"),
                WaitFor::AtLeast(some) => format!("the first {some} of {count} in parallel"),
            };
            let line = |member: &crate::language::definition::Member| {
                let agent = name(&member.agent);
                if member.output_key == member.agent {
                    agent
                } else {
                    format!("{agent} → {}", one_line(&member.output_key))
                }
            };
            (Shape::Parallel, title, parallel.members.iter().map(line).collect())
        }
        StepKind::Choice(choice) => (Shape::Choice, "which branch?".to_owned(), branches(workflow, choice)),
        StepKind::Map(map) => {
            let mut lines = vec![format!("{}, at most {} at once", name(&map.agent), map.max_concurrent)];
            lines.extend(map.reduce.as_ref().map(|agent| format!("then {} with all outputs", name(agent))));
            (Shape::Map, format!("for each of {}", one_line(map.over.source())), lines)
        }
        StepKind::Loop(step) => {
            let line = format!("{} → {}, and back until it passes", name(&step.agent), name(&step.validator));
            (Shape::Loop, format!("at most {}", several(step.max_iterations, "round")), vec![line])
        }
        StepKind::Approval(question) => {
            let choices = question.choices.iter().map(|choice| format!("[{}]", one_line(choice)));
            (Shape::Approval, one_line(question.text.source()), vec![choices.collect::<Vec<_>>().join(" ")])
        }
        StepKind::Workflow(sub) => {
            (Shape::Workflow, format!("the workflow {}", one_line(&sub.name)), Vec::new())
        }
    };
    Node { id: step.id.clone(), kind, title, lines }
}

/// The branches of a choice, by line.
pub(crate) fn branches(workflow: &Workflow, choice: &Choice) -> Vec<String> {
    let target = |target: Option<&Target>| match target {
        Some(Target::Step(id)) => id.clone(),
        Some(Target::Agent(agent)) => named(workflow, agent),
        None => "nothing".to_owned(),
    };
    let cases = choice
        .cases
        .iter()
        .map(|case| format!("if {} → {}", one_line(&case.when.plain()), target(case.then.as_ref())));
    cases.chain([format!("otherwise → {}", target(choice.otherwise.as_ref()))]).collect()
}
