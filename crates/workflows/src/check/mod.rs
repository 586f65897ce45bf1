//! Problems between the parts of a workflow: unknown names, cycles, branches that are never taken.

mod names;
mod roles;

use names::Names;
pub use roles::missing_roles;

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::{Problems, Severity};
use adjutant_config::{Approval, Policy};
use adjutant_skills::risk::policy;
use adjutant_skills::{Registry, Skill, WORKFLOW};
use serde_json::{Map, Value};

use super::language::definition::{Agent, Choice, OnFailure, Step, StepKind, SubWorkflow, Target, Workflow};
use super::language::order::{targets, waves};
use super::language::reading::ReadWorkflow;
use super::language::template::{Values, Verdict};
use super::language::wait::Start;
use crate::graph;

/// Everything that a workflow is checked against.
#[derive(Clone, Copy)]
pub struct CheckContext<'w> {
    pub skills: &'w Registry,
    /// The approval policy; denied skills can't be used.
    pub approval: &'w Approval,
    /// All workflows that could be read.
    pub workflows: &'w [Workflow],
}

pub(crate) fn check(read: &ReadWorkflow, context: &CheckContext<'_>, problems: &mut Problems<'_>) {
    let check = Check { read, workflow: &read.workflow, context };
    for agent in &read.workflow.agents {
        check.agent(agent, problems);
    }
    check.cycles(problems);
    for step in &read.workflow.steps {
        check.step(step, read.pointer(&step.id), problems);
    }
    Names::new(read).check(problems);
}

struct Check<'c> {
    read: &'c ReadWorkflow,
    workflow: &'c Workflow,
    context: &'c CheckContext<'c>,
}

impl Check<'_> {
    fn agent(&self, agent: &Agent, problems: &mut Problems<'_>) {
        let pointer = format!("/workflow/agents/{}", agent.id);
        for skill in &agent.skills {
            let Err(message) = self.skill(skill) else { continue };
            let (message, severity) = match self.is_foreign(skill) {
                true => (
                    format!("{message}; it grants nothing. `adjutant skills list` shows all skills"),
                    Severity::Warning,
                ),
                false => (message, Severity::Error),
            };
            let pointers = ["tools", "skills"].map(|key| format!("{pointer}/{key}"));
            let names_it = |pointer: &&String| match problems.document.find(pointer).1.json() {
                Value::Array(list) => list.iter().any(|held| held == skill),
                held => held == *skill,
            };
            if let Some(pointer) = pointers.iter().find(names_it) {
                problems.push_in(pointer, skill, severity, message);
            }
        }
        if let OnFailure::Fallback(next) = &agent.retry.on_failure {
            self.fallback(&agent.id, next, &format!("{pointer}/retry/on_failure"), problems);
        }
        let is_used = |step: &Step| {
            step.kind.agents().contains(&agent.id.as_str())
                || matches!(&step.kind, StepKind::Skill(call) if call.retry.on_failure == OnFailure::Fallback(agent.id.clone()))
        };
        let is_fallback =
            |other: &Agent| matches!(&other.retry.on_failure, OnFailure::Fallback(id) if *id == agent.id);
        if !self.workflow.steps.iter().any(is_used) && !self.workflow.agents.iter().any(is_fallback) {
            problems.warning(&pointer, format!("no step uses the agent '{}'", agent.id));
        }
    }

    /// An installed skill that may be used, or why it can't be.
    fn skill(&self, name: &str) -> Result<&Skill, String> {
        let skill = self.context.skills.get(name);
        let is_workflow = name.split('.').next() == Some(WORKFLOW);
        if is_workflow || skill.is_some_and(|skill| skill.workflow().is_some()) {
            return Err(format!(
                "'{name}' is a workflow, and agents can't call those; make it a step: \
                 `{{ id: ID, type: workflow, workflow: NAME }}`"
            ));
        }
        if self.context.skills.unavailable().iter().any(|skill| skill.name == name) {
            return Err(format!("the skill '{name}' isn't available here: no chat platform is configured"));
        }
        let Some(skill) = skill else {
            let near = self.context.skills.nearest(name).map(|near| format!("; did you mean '{near}'?"));
            return Err(format!("there is no skill '{name}'{}", near.unwrap_or_default()));
        };
        if policy(self.context.approval, name, skill.risk) == Policy::Deny {
            return Err(format!("the skill '{name}' can't be used: [approval] denies it"));
        }
        Ok(skill)
    }

    /// Whether a name is another product's tool rather than a misspelt skill.
    fn is_foreign(&self, name: &str) -> bool {
        let is_tool = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("mcp__");
        is_tool || (!name.contains('.') && self.context.skills.nearest(name).is_none())
    }

    fn check_agent(&self, agent: &str, pointer: &str, problems: &mut Problems<'_>) {
        if self.workflow.agent(agent).is_none() {
            let hint = did_you_mean(agent, self.workflow.agents.iter().map(|agent| agent.id.as_str()));
            problems.error(pointer, format!("there is no agent '{agent}'{hint}"));
        }
    }

    /// A fallback must exist and must not lead back.
    fn fallback(&self, from: &str, to: &str, pointer: &str, problems: &mut Problems<'_>) {
        self.check_agent(to, pointer, problems);
        let mut path = vec![from.to_owned()];
        let mut here = to.to_owned();
        loop {
            if here == from {
                let message = format!("the fallbacks are a cycle: {} → {from}", path.join(" → "));
                problems.error(pointer, format!("{message}; let the last one `skip` or `abort`"));
            }
            let next = self.workflow.agent(&here).map(|agent| &agent.retry.on_failure);
            let Some(OnFailure::Fallback(next)) = next else { return };
            if path.contains(&here) {
                return;
            }
            path.push(std::mem::replace(&mut here, next.clone()));
        }
    }

    fn cycles(&self, problems: &mut Problems<'_>) {
        let steps = &self.workflow.steps;
        if waves(steps).iter().map(Vec::len).sum::<usize>() == steps.len() {
            return;
        }
        let index_of = |id: &String| steps.iter().position(|step| step.id == *id);
        let mut needs: Vec<Vec<usize>> =
            steps.iter().map(|step| step.depends_on.iter().filter_map(index_of).collect()).collect();
        while let Some(cycle) = graph::cycle(&needs) {
            // Fixing the cycle fixes its dependents.
            cycle.iter().for_each(|index| needs[*index].clear());
            let Some(first) = cycle.iter().min().map(|index| &steps[*index]) else { continue };
            let ids: Vec<&str> = cycle.iter().map(|index| steps[*index].id.as_str()).collect();
            let path = graph::cycle_path(&ids);
            let hint = match first.chosen_by {
                Some(_) => "; a choice can't lead back to an earlier step, use `type: loop` for that",
                None => "",
            };
            let message = format!("depends_on is a cycle: {path}; remove one of these dependencies{hint}");
            problems.error(&format!("{}/depends_on", self.read.pointer(&first.id)), message);
        }
    }

    fn step(&self, step: &Step, pointer: &str, problems: &mut Problems<'_>) {
        for needed in &step.depends_on {
            if !self.read.knows(needed) {
                let hint = did_you_mean(needed, self.read.steps.iter().map(|(id, _)| id.as_str()));
                problems.error_in(
                    &format!("{pointer}/depends_on"),
                    needed,
                    format!("there is no step '{needed}'{hint}"),
                );
            }
        }
        if let Some(start) = step.wait_until.as_ref().filter(|template| template.names().is_empty())
            && let Err(why) = Start::parse(start.source())
        {
            problems.error(&format!("{pointer}/wait_until"), why);
        }
        match &step.kind {
            StepKind::Agent(agent) => self.check_agent(agent, &format!("{pointer}/agent"), problems),
            StepKind::Skill(call) => {
                match self.skill(&call.skill) {
                    Err(message) => problems.error(&format!("{pointer}/skill"), message),
                    Ok(skill) => arguments(skill, &call.arguments, pointer, problems),
                }
                if let OnFailure::Fallback(agent) = &call.retry.on_failure {
                    self.check_agent(agent, &format!("{pointer}/retry/on_failure"), problems);
                }
            }
            StepKind::Parallel(parallel) => {
                for (index, member) in parallel.members.iter().enumerate() {
                    self.check_agent(&member.agent, &format!("{pointer}/parallel/{index}/agent"), problems);
                }
            }
            StepKind::Choice(choice) => self.choice(step, choice, pointer, problems),
            StepKind::Map(map) => {
                self.check_agent(&map.agent, &format!("{pointer}/map/agent"), problems);
                if let Some(reduce) = &map.reduce {
                    self.check_agent(reduce, &format!("{pointer}/map/reduce"), problems);
                }
            }
            StepKind::Loop(step) => {
                self.check_agent(&step.agent, &format!("{pointer}/loop/agent"), problems);
                self.check_agent(&step.validator, &format!("{pointer}/loop/validator"), problems);
            }
            StepKind::Workflow(sub) => self.sub(sub, pointer, problems),
            StepKind::Approval(_) => {}
        }
    }

    fn choice(&self, step: &Step, choice: &Choice, pointer: &str, problems: &mut Problems<'_>) {
        let pointer_of = |index: usize| match (choice.is_switch, index == choice.cases.len()) {
            (true, false) => format!("{pointer}/switch/cases/{index}/then"),
            (true, true) => format!("{pointer}/switch/default"),
            (false, false) => format!("{pointer}/condition/true"),
            (false, true) => format!("{pointer}/condition/false"),
        };
        let branches = choice.cases.iter().map(|case| case.then.as_ref()).chain([choice.otherwise.as_ref()]);
        // A condition without names always has the same result.
        let nothing = Values::new(&serde_json::json!({}));
        let mut always: Option<String> = None;
        let mut seen: Vec<&str> = Vec::new();
        for (index, target) in branches.enumerate() {
            let case = choice.cases.get(index);
            let is_fixed =
                case.filter(|case| case.when.names().is_empty()).map(|case| case.when.judge(&nothing));
            let never = match (&always, &is_fixed, case) {
                (Some(condition), ..) => Some(format!("the condition `{condition}` always holds")),
                (None, Some(Verdict::No | Verdict::Ambiguous(_)), Some(case)) => {
                    Some(format!("the condition `{}` never holds", case.when.plain()))
                }
                (None, _, Some(case)) if seen.contains(&case.when.source()) => {
                    Some("an earlier case has the same condition".to_owned())
                }
                _ => None,
            };
            if let (Some(Target::Step(id) | Target::Agent(id)), Some(why)) = (target, never) {
                problems.error(&pointer_of(index), format!("'{id}' is never reached: {why}"));
            }
            if let (Some(case), Some(Verdict::Yes)) = (case, is_fixed) {
                always.get_or_insert(case.when.plain());
            }
            seen.extend(case.map(|case| case.when.source()));
            if let Some(Target::Step(id)) = target {
                self.target(step, id, &pointer_of(index), problems);
            }
        }
    }

    fn target(&self, step: &Step, name: &str, pointer: &str, problems: &mut Problems<'_>) {
        if *name == step.id {
            problems.error(pointer, format!("the step '{name}' leads to itself; use `type: loop`"));
        } else if !self.read.knows(name) {
            let agents = self.workflow.agents.iter().map(|agent| agent.id.as_str());
            let hint = did_you_mean(name, self.read.steps.iter().map(|(id, _)| id.as_str()).chain(agents));
            problems.error(pointer, format!("there is no step and no agent '{name}'{hint}"));
        }
        let mut choosers =
            self.workflow.steps.iter().filter(|other| targets(other).any(|target| target == name));
        if let (Some(first), Some(second)) = (choosers.next(), choosers.next())
            && second.id == step.id
        {
            let message = format!(
                "'{name}' is already a branch of '{}'; a step can be chosen by one step only",
                first.id
            );
            problems.error(pointer, message);
        }
    }

    fn sub(&self, sub: &SubWorkflow, pointer: &str, problems: &mut Problems<'_>) {
        let find_workflow = |name: &str| self.context.workflows.iter().find(|other| other.name == name);
        let Some(other) = find_workflow(&sub.name) else {
            let names = self.context.workflows.iter().map(|other| other.name.as_str());
            let hint = did_you_mean(&sub.name, names);
            problems
                .error(&format!("{pointer}/workflow"), format!("there is no workflow '{}'{hint}", sub.name));
            return;
        };
        let mut reached = vec![sub.name.as_str()];
        let mut at = 0;
        while let Some(name) = reached.get(at) {
            let steps = find_workflow(name).into_iter().flat_map(|workflow| &workflow.steps);
            let subs = steps.filter_map(|step| match &step.kind {
                StepKind::Workflow(sub) => Some(sub.name.as_str()),
                _ => None,
            });
            let new: Vec<&str> = subs.filter(|name| !reached.contains(name)).collect();
            reached.extend(new);
            at += 1;
        }
        if reached.contains(&self.workflow.name.as_str()) {
            problems
                .error(&format!("{pointer}/workflow"), format!("'{}' would run itself endlessly", sub.name));
        }
        for name in sub.inputs.keys().filter(|name| !other.inputs.iter().any(|input| input.name == **name)) {
            let hint = did_you_mean(name, other.inputs.iter().map(|input| input.name.as_str()));
            let message = format!("the workflow '{}' has no input '{name}'{hint}", sub.name);
            problems.error(&format!("{pointer}/inputs/{name}"), message);
        }
        for input in other.inputs.iter().filter(|input| input.required && input.default.is_none()) {
            if !sub.inputs.contains_key(&input.name) {
                let message = format!("the workflow '{}' needs the input '{}'", sub.name, input.name);
                problems.error(&format!("{pointer}/inputs"), message);
            }
        }
    }
}

/// Checks the arguments of a skill call as far as they are known before a run.
fn arguments(skill: &Skill, given: &Map<String, Value>, pointer: &str, problems: &mut Problems<'_>) {
    let pointer = format!("{pointer}/arguments");
    for argument in skill.arguments().iter().filter(|a| a.required && !given.contains_key(&a.name)) {
        problems
            .error(&pointer, format!("the skill '{}' needs the argument '{}'", skill.name, argument.name));
    }
    let is_open = |value: &Value| value.to_string().contains("{{") || value.to_string().contains("{%");
    // A template may become anything, so only the argument's name is checked.
    let (open, fixed): (Map<String, Value>, Map<String, Value>) =
        given.clone().into_iter().partition(|(_, value)| is_open(value));
    for name in open.keys().filter(|name| !skill.has_argument(name)) {
        let hint = did_you_mean(name, skill.arguments().iter().map(|argument| argument.name.as_str()));
        problems.error(&format!("{pointer}/{name}"), format!("the skill has no such argument{hint}"));
    }
    if fixed.is_empty() {
        return;
    }
    let Err(errors) = skill.validate(&Value::Object(fixed)) else { return };
    for line in errors.lines().filter(|line| !line.ends_with(": is missing")) {
        let (path, message) = line.split_once(": ").unwrap_or(("", line));
        problems.error(&format!("{pointer}{path}"), message);
    }
}
