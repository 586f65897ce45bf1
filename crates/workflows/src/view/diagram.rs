//! The content of a drawing, for all formats.

use adjutant_l10n as l10n;

use crate::language::definition::{Choice, Member, Step, StepKind, Target, WaitFor, Workflow};
use crate::language::order::indices;
use crate::trace::text::one_line;

/// A step in a drawing.
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: Shape,
    /// The step's work, in a few words.
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

/// An edge from a step to another, by index.
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The condition, where there is one.
    pub(crate) label: Option<String>,
    /// Whether the choice leads there only if none of its conditions holds.
    pub(crate) is_otherwise: bool,
}

pub(crate) struct Diagram {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
}

impl Diagram {
    pub(crate) fn of(workflow: &Workflow) -> Self {
        let nodes = workflow.steps.iter().map(|step| node(workflow, step)).collect();
        let (indices, mut edges) = (indices(&workflow.steps), Vec::new());
        for (to, step) in workflow.steps.iter().enumerate() {
            for from in step.depends_on.iter().filter_map(|needed| indices.get(needed.as_str()).copied()) {
                let (label, is_otherwise) = label(&workflow.steps[from], &step.id).unzip();
                edges.push(Edge { from, to, label, is_otherwise: is_otherwise.unwrap_or_default() });
            }
        }
        Self { nodes, edges }
    }
}

/// The condition under which a choice leads to a step, and whether that is only where no other holds.
fn label(from: &Step, to: &str) -> Option<(String, bool)> {
    let StepKind::Choice(choice) = &from.kind else { return None };
    let is_it = |target: Option<&Target>| matches!(target, Some(Target::Step(id)) if id == to);
    let cases =
        choice.cases.iter().filter(|case| is_it(case.then.as_ref())).map(|case| one_line(&case.when.plain()));
    let conditions = cases.reduce(l10n::workflows::or_condition);
    match (conditions, is_it(choice.otherwise.as_ref())) {
        (Some(conditions), true) => {
            Some((l10n::workflows::or_condition(conditions, l10n::workflows::otherwise()), false))
        }
        (Some(conditions), false) => Some((conditions, false)),
        (None, true) => Some((l10n::workflows::otherwise(), true)),
        (None, false) => None,
    }
}

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
                WaitFor::All => l10n::workflows::all_in_parallel(count),
                WaitFor::AtLeast(1) => l10n::workflows::first_in_parallel(count),
                WaitFor::AtLeast(some) => l10n::workflows::some_in_parallel(some, count),
            };
            let line = |member: &Member| match name(&member.agent) {
                agent if member.output_key == member.agent => agent,
                agent => format!("{agent} → {}", one_line(&member.output_key)),
            };
            (Shape::Parallel, title, parallel.members.iter().map(line).collect())
        }
        StepKind::Choice(choice) => {
            (Shape::Choice, l10n::workflows::which_branch(), branches(workflow, choice))
        }
        StepKind::Map(map) => {
            let mut lines = vec![l10n::workflows::at_once(name(&map.agent), map.max_concurrent)];
            lines.extend(map.reduce.as_ref().map(|agent| l10n::workflows::then_with_all(name(agent))));
            (Shape::Map, l10n::workflows::for_each(one_line(map.over.source())), lines)
        }
        StepKind::Loop(step) => {
            let line = l10n::workflows::until_passed(name(&step.agent), name(&step.validator));
            (Shape::Loop, l10n::workflows::rounds(step.max_iterations), vec![line])
        }
        StepKind::Approval(question) => {
            let choices = question.choices.iter().map(|choice| format!("[{}]", one_line(choice)));
            (Shape::Approval, one_line(question.text.source()), vec![choices.collect::<Vec<_>>().join(" ")])
        }
        StepKind::Workflow(sub) => (Shape::Workflow, l10n::runs::workflow(one_line(&sub.name)), Vec::new()),
    };
    Node { id: step.id.clone(), kind, title, lines }
}

/// What a choice leads to.
pub(crate) fn target_name(workflow: &Workflow, target: Option<&Target>) -> String {
    match target {
        Some(Target::Step(id)) => id.clone(),
        Some(Target::Agent(agent)) => named(workflow, agent),
        None => l10n::workflows::nothing(),
    }
}

/// The branches of a choice, by line.
pub(crate) fn branches(workflow: &Workflow, choice: &Choice) -> Vec<String> {
    let target = |target: Option<&Target>| target_name(workflow, target);
    let cases = choice
        .cases
        .iter()
        .map(|case| l10n::workflows::branch_if_to(one_line(&case.when.plain()), target(case.then.as_ref())));
    let otherwise = l10n::workflows::branch_otherwise_to(target(choice.otherwise.as_ref()));
    cases.chain([otherwise]).collect()
}
