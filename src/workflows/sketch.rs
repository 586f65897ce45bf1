//! What a drawing shows, whatever it is drawn with.

use super::definition::{Route, Step, Target, Wait, Work, Workflow};
use super::order::places;
use crate::trace::text::{one_line, several};

/// A step in a drawing.
pub(super) struct Node {
    pub(super) id: String,
    pub(super) kind: Shape,
    /// What it is, in a few words.
    pub(super) title: String,
    /// What is inside it, a line each.
    pub(super) lines: Vec<String>,
}

impl Node {
    /// What is inside it where the edges are drawn: these are the ways of a choice.
    pub(super) fn beside_edges(&self) -> &[String] {
        if self.kind == Shape::Choice { &[] } else { &self.lines }
    }
}

/// What kind of thing a step is, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Agent,
    Skill,
    Fan,
    Choice,
    Map,
    Loop,
    Question,
    Workflow,
}

impl Shape {
    /// Its mark in a text.
    pub(super) fn mark(self) -> char {
        match self {
            Self::Agent => '●',
            Self::Skill => '■',
            Self::Fan => '◎',
            Self::Choice => '◆',
            Self::Map => '≡',
            Self::Loop => '↻',
            Self::Question => '?',
            Self::Workflow => '▣',
        }
    }
}

/// Which step leads to which, by place.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The condition, where there is one.
    pub(super) label: Option<String>,
}

/// A workflow's graph.
pub(super) struct Sketch {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

impl Sketch {
    pub(super) fn of(workflow: &Workflow) -> Self {
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
    let Work::Route(route) = &from.work else { return None };
    let is_it = |target: Option<&Target>| matches!(target, Some(Target::Step(id)) if id == to);
    let cases =
        route.cases.iter().filter(|case| is_it(case.then.as_ref())).map(|case| one_line(&case.when.plain()));
    let otherwise = is_it(route.otherwise.as_ref()).then(|| "otherwise".to_owned());
    let labels: Vec<String> = cases.chain(otherwise).collect();
    (!labels.is_empty()).then(|| labels.join(", or "))
}

/// An agent's name for people.
pub(super) fn named(workflow: &Workflow, agent: &str) -> String {
    one_line(workflow.agent(agent).map_or(agent, |agent| &agent.name))
}

fn node(workflow: &Workflow, step: &Step) -> Node {
    let name = |agent: &str| named(workflow, agent);
    let (kind, title, lines) = match &step.work {
        Work::Agent(agent) => (Shape::Agent, name(agent), Vec::new()),
        Work::Skill(call) => (Shape::Skill, one_line(&call.skill), Vec::new()),
        Work::Parallel(parallel) => {
            let count = parallel.members.len();
            let title = match parallel.wait {
                Wait::All => format!("all of {count} side by side"),
                Wait::AtLeast(1) => format!("the first of {count} side by side"),
                Wait::AtLeast(some) => format!("the first {some} of {count} side by side"),
            };
            let line = |member: &super::definition::Member| {
                let agent = name(&member.agent);
                if member.output_key == member.agent {
                    agent
                } else {
                    format!("{agent} → {}", one_line(&member.output_key))
                }
            };
            (Shape::Fan, title, parallel.members.iter().map(line).collect())
        }
        Work::Route(route) => (Shape::Choice, "which way?".to_owned(), ways(workflow, route)),
        Work::Map(map) => {
            let mut lines = vec![format!("{}, at most {} at once", name(&map.agent), map.max_concurrent)];
            lines.extend(map.reduce.as_ref().map(|agent| format!("then {} with all of it", name(agent))));
            (Shape::Map, format!("for each of {}", one_line(map.over.source())), lines)
        }
        Work::Loop(repeat) => {
            let line =
                format!("{} → {}, and back until it is good", name(&repeat.agent), name(&repeat.validator));
            (Shape::Loop, format!("at most {}", several(repeat.max_iterations, "round")), vec![line])
        }
        Work::Approval(question) => {
            let choices = question.choices.iter().map(|choice| format!("[{}]", one_line(choice)));
            (Shape::Question, one_line(question.text.source()), vec![choices.collect::<Vec<_>>().join(" ")])
        }
        Work::Workflow(sub) => (Shape::Workflow, format!("the workflow {}", one_line(&sub.name)), Vec::new()),
    };
    Node { id: step.id.clone(), kind, title, lines }
}

/// Where a choice leads, a line each.
pub(super) fn ways(workflow: &Workflow, route: &Route) -> Vec<String> {
    let target = |target: Option<&Target>| match target {
        Some(Target::Step(id)) => id.clone(),
        Some(Target::Agent(agent)) => named(workflow, agent),
        None => "nothing".to_owned(),
    };
    let cases = route
        .cases
        .iter()
        .map(|case| format!("if {} → {}", one_line(&case.when.plain()), target(case.then.as_ref())));
    cases.chain([format!("otherwise → {}", target(route.otherwise.as_ref()))]).collect()
}
