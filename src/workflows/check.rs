//! What is wrong between the parts of a workflow: names that lead nowhere, circles, ways that are never taken.

use std::collections::HashSet;

use super::definition::{Agent, OnFailure, Route, Step, Target, Work, Workflow};
use super::names::Names;
use super::order::{targets, waves};
use super::read::Read;
use super::table::Faults;
use super::template::{Values, Verdict};
use super::wait::Start;
use crate::config::{Approval, Policy};
use crate::graph::{Node, judge};
use crate::skills::risk::policy;
use crate::skills::{Registry, Skill, WORKFLOW};
use crate::suggest::did_you_mean;

/// What there is besides the workflow itself.
#[derive(Clone, Copy)]
pub struct World<'w> {
    /// The skills.
    pub skills: &'w Registry,
    /// What each risk needs; what is denied nobody may use.
    pub approval: &'w Approval,
    /// All workflows, as far as they could be read.
    pub workflows: &'w [&'w Workflow],
}

/// Checks a workflow that was read.
pub(super) fn check(read: &Read, world: &World<'_>, faults: &mut Faults<'_>) {
    let check = Check { read, workflow: &read.workflow, world };
    for agent in &read.workflow.agents {
        check.agent(agent, faults);
    }
    check.circles(faults);
    for step in &read.workflow.steps {
        let pointer = check.pointer(&step.id);
        check.step(step, &pointer, faults);
    }
    Names::new(read).check(faults);
}

struct Check<'c> {
    read: &'c Read,
    workflow: &'c Workflow,
    world: &'c World<'c>,
}

impl Check<'_> {
    fn pointer(&self, step: &str) -> String {
        self.read.pointer(step).to_owned()
    }

    fn agent(&self, agent: &Agent, faults: &mut Faults<'_>) {
        let pointer = format!("/workflow/agents/{}", agent.id);
        for skill in &agent.skills {
            let place = |faults: &mut Faults<'_>, message: String, is_warning| {
                for key in ["tools", "skills"] {
                    if faults.source.has(&format!("{pointer}/{key}"), skill) {
                        faults.at_piece(&format!("{pointer}/{key}"), skill, is_warning, message.clone());
                        return;
                    }
                }
            };
            match self.skill(skill) {
                Ok(_) => {}
                Err(message) if self.is_foreign(skill) => {
                    let message =
                        format!("{message}; it grants nothing. `adjutant skills list` shows those there are");
                    place(faults, message, true);
                }
                Err(message) => place(faults, message, false),
            }
        }
        if let OnFailure::Fallback(next) = &agent.retry.on_failure {
            self.fallback(&agent.id, next, &format!("{pointer}/retry/on_failure"), faults);
        }
        let is_used = |step: &Step| {
            step.work.agents().contains(&agent.id.as_str())
                || matches!(&step.work, Work::Skill(call) if call.retry.on_failure == OnFailure::Fallback(agent.id.clone()))
        };
        let is_fallback =
            |other: &Agent| matches!(&other.retry.on_failure, OnFailure::Fallback(id) if *id == agent.id);
        if !self.workflow.steps.iter().any(is_used) && !self.workflow.agents.iter().any(is_fallback) {
            faults.warning(&pointer, format!("no step uses the agent '{}'", agent.id));
        }
    }

    /// A skill that is there and may be used, or why not.
    fn skill(&self, name: &str) -> Result<&Skill, String> {
        let skill = self.world.skills.get(name);
        let is_workflow = name.split('.').next() == Some(WORKFLOW);
        if is_workflow || skill.is_some_and(|skill| skill.workflow().is_some()) {
            return Err(format!(
                "'{name}' is a workflow, which no agent calls; make it a step of `type: workflow`"
            ));
        }
        let Some(skill) = skill else {
            let near = self.world.skills.nearest(name).map(|near| format!("; did you mean '{near}'?"));
            return Err(format!("there is no skill '{name}'{}", near.unwrap_or_default()));
        };
        if policy(self.world.approval, name, skill.risk) == Policy::Deny {
            return Err(format!("the skill '{name}' may not be used: [approval] denies it"));
        }
        Ok(skill)
    }

    /// Whether a name is a tool of somebody else's, and no misspelt skill of ours.
    fn is_foreign(&self, name: &str) -> bool {
        let is_of_theirs = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("mcp__");
        is_of_theirs || (!name.contains('.') && self.world.skills.nearest(name).is_none())
    }

    fn known_agent(&self, id: &str, pointer: &str, faults: &mut Faults<'_>) {
        if self.workflow.agent(id).is_none() {
            let hint = did_you_mean(id, self.workflow.agents.iter().map(|agent| agent.id.as_str()));
            faults.error(pointer, format!("there is no agent '{id}'{hint}"));
        }
    }

    /// A fallback must be there, and must not lead back.
    fn fallback(&self, from: &str, to: &str, pointer: &str, faults: &mut Faults<'_>) {
        self.known_agent(to, pointer, faults);
        let mut path = vec![from.to_owned()];
        let mut here = to.to_owned();
        loop {
            if here == from {
                let message = format!("the fallback falls back on itself: {} → {from}", path.join(" → "));
                faults.error(pointer, format!("{message}; let the last one skip or abort"));
            }
            let next = self.workflow.agent(&here).map(|agent| &agent.retry.on_failure);
            let Some(OnFailure::Fallback(next)) = next else { return };
            if path.contains(&here) {
                return;
            }
            path.push(std::mem::replace(&mut here, next.clone()));
        }
    }

    fn circles(&self, faults: &mut Faults<'_>) {
        let steps = &self.workflow.steps;
        if waves(steps).iter().map(Vec::len).sum::<usize>() == steps.len() {
            return;
        }
        let known = |id: &&String| self.workflow.step(id).is_some();
        let nodes: Vec<_> = steps
            .iter()
            .map(|step| {
                let depends_on = step.depends_on.iter().filter(known).cloned().collect();
                Ok(Node { id: step.id.clone(), depends_on })
            })
            .collect();
        let mut told = HashSet::new();
        for (step, verdict) in steps.iter().zip(judge(&HashSet::new(), &nodes)) {
            // What hangs on a circle is mended with it.
            let Some(circle) = verdict.err().filter(|reason| reason.contains(" → ")) else { continue };
            if told.insert(circle.clone()) {
                let back = match step.chosen_by {
                    Some(_) => {
                        "; a choice can't lead back to a step before it: that is what `type: loop` is for"
                    }
                    None => "",
                };
                faults.error(&format!("{}/depends_on", self.pointer(&step.id)), format!("{circle}{back}"));
            }
        }
    }

    fn step(&self, step: &Step, pointer: &str, faults: &mut Faults<'_>) {
        for needed in &step.depends_on {
            if !self.read.knows(needed) {
                let hint = did_you_mean(needed, self.read.steps.iter().map(|(id, _)| id.as_str()));
                faults.error_in(
                    &format!("{pointer}/depends_on"),
                    needed,
                    format!("there is no step '{needed}'{hint}"),
                );
            }
        }
        if let Some(start) = step.wait_until.as_ref().filter(|template| template.names().is_empty())
            && let Err(why) = Start::parse(start.source())
        {
            faults.error(&format!("{pointer}/wait_until"), why);
        }
        match &step.work {
            Work::Agent(agent) => self.known_agent(agent, &format!("{pointer}/agent"), faults),
            Work::Skill(call) => {
                match self.skill(&call.skill) {
                    Err(message) => faults.error(&format!("{pointer}/skill"), message),
                    Ok(skill) => arguments(skill, &call.arguments, pointer, faults),
                }
                if let OnFailure::Fallback(agent) = &call.retry.on_failure {
                    self.known_agent(agent, &format!("{pointer}/retry/on_failure"), faults);
                }
            }
            Work::Parallel(parallel) => {
                for (place, member) in parallel.members.iter().enumerate() {
                    self.known_agent(&member.agent, &format!("{pointer}/parallel/{place}/agent"), faults);
                }
            }
            Work::Route(route) => self.route(step, route, pointer, faults),
            Work::Map(map) => {
                self.known_agent(&map.agent, &format!("{pointer}/map/agent"), faults);
                if let Some(reduce) = &map.reduce {
                    self.known_agent(reduce, &format!("{pointer}/map/reduce"), faults);
                }
            }
            Work::Loop(repeat) => {
                self.known_agent(&repeat.agent, &format!("{pointer}/loop/agent"), faults);
                self.known_agent(&repeat.validator, &format!("{pointer}/loop/validator"), faults);
            }
            Work::Workflow(sub) => self.sub(sub, pointer, faults),
            Work::Approval(_) => {}
        }
    }

    fn route(&self, step: &Step, route: &Route, pointer: &str, faults: &mut Faults<'_>) {
        let way = |place: usize| match (route.is_switch, place == route.cases.len()) {
            (true, false) => format!("{pointer}/switch/cases/{place}/then"),
            (true, true) => format!("{pointer}/switch/default"),
            (false, false) => format!("{pointer}/condition/true"),
            (false, true) => format!("{pointer}/condition/false"),
        };
        let ways = route.cases.iter().map(|case| case.then.as_ref()).chain([route.otherwise.as_ref()]);
        // Conditions without names say the same each time.
        let nothing = Values::new(&serde_json::json!({}));
        let mut always: Option<String> = None;
        let mut seen: Vec<&str> = Vec::new();
        for (place, target) in ways.enumerate() {
            let case = route.cases.get(place);
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
                faults.error(&way(place), format!("'{id}' is never reached: {why}"));
            }
            if let (Some(case), Some(Verdict::Yes)) = (case, is_fixed) {
                always.get_or_insert(case.when.plain());
            }
            seen.extend(case.map(|case| case.when.source()));
            if let Some(Target::Step(id)) = target {
                self.target(step, id, &way(place), faults);
            }
        }
    }

    fn target(&self, step: &Step, id: &str, pointer: &str, faults: &mut Faults<'_>) {
        if *id == step.id {
            faults.error(pointer, format!("the step '{id}' leads to itself; use `type: loop`"));
        } else if !self.read.knows(id) {
            let agents = self.workflow.agents.iter().map(|agent| agent.id.as_str());
            let hint = did_you_mean(id, self.read.steps.iter().map(|(id, _)| id.as_str()).chain(agents));
            faults.error(pointer, format!("there is no step and no agent '{id}'{hint}"));
        }
        let mut choosers =
            self.workflow.steps.iter().filter(|other| targets(other).any(|target| target == id));
        if let (Some(first), Some(second)) = (choosers.next(), choosers.next())
            && second.id == step.id
        {
            let message =
                format!("'{id}' is a way of '{}' already, and a step can be chosen by one alone", first.id);
            faults.error(pointer, message);
        }
    }

    fn sub(&self, sub: &super::definition::Sub, pointer: &str, faults: &mut Faults<'_>) {
        let known = |name: &str| self.world.workflows.iter().find(|other| other.name == name);
        let Some(other) = known(&sub.name) else {
            let names = self.world.workflows.iter().map(|other| other.name.as_str());
            let hint = did_you_mean(&sub.name, names);
            faults
                .error(&format!("{pointer}/workflow"), format!("there is no workflow '{}'{hint}", sub.name));
            return;
        };
        let mut below = vec![sub.name.as_str()];
        let mut at = 0;
        while let Some(name) = below.get(at) {
            let steps = known(name).into_iter().flat_map(|workflow| &workflow.steps);
            let subs = steps.filter_map(|step| match &step.work {
                Work::Workflow(sub) => Some(sub.name.as_str()),
                _ => None,
            });
            let new: Vec<&str> = subs.filter(|name| !below.contains(name)).collect();
            below.extend(new);
            at += 1;
        }
        if below.contains(&self.workflow.name.as_str()) {
            faults.error(
                &format!("{pointer}/workflow"),
                format!("'{}' would run itself, without end", sub.name),
            );
        }
        for name in sub.inputs.keys().filter(|name| !other.inputs.iter().any(|input| input.name == **name)) {
            let hint = did_you_mean(name, other.inputs.iter().map(|input| input.name.as_str()));
            let message = format!("the workflow '{}' has no input '{name}'{hint}", sub.name);
            faults.error(&format!("{pointer}/inputs/{name}"), message);
        }
        for input in other.inputs.iter().filter(|input| input.required && input.default.is_none()) {
            if !sub.inputs.contains_key(&input.name) {
                let message = format!("the workflow '{}' needs the input '{}'", sub.name, input.name);
                faults.error(&format!("{pointer}/inputs"), message);
            }
        }
    }
}

/// Checks the arguments of a skill as far as they are known before a run.
fn arguments(
    skill: &Skill,
    given: &serde_json::Map<String, serde_json::Value>,
    pointer: &str,
    faults: &mut Faults<'_>,
) {
    let pointer = format!("{pointer}/arguments");
    for argument in skill.arguments().iter().filter(|a| a.required && !given.contains_key(&a.name)) {
        faults.error(&pointer, format!("the skill '{}' needs the argument '{}'", skill.name, argument.name));
    }
    let is_open =
        |value: &serde_json::Value| value.to_string().contains("{{") || value.to_string().contains("{%");
    let fixed = given.iter().filter(|(_, value)| !is_open(value));
    let open = given.iter().filter(|(_, value)| is_open(value));
    // A template may become anything, so only the name of its argument is looked at.
    let names = open.map(|(name, _)| (name.clone(), serde_json::Value::Null));
    for (name, _) in names.filter(|(name, _)| !skill.arguments().iter().any(|known| known.name == *name)) {
        let hint = did_you_mean(&name, skill.arguments().iter().map(|known| known.name.as_str()));
        faults.error(&format!("{pointer}/{name}"), format!("there is no such argument{hint}"));
    }
    let fixed: serde_json::Map<_, _> = fixed.map(|(name, value)| (name.clone(), value.clone())).collect();
    if fixed.is_empty() {
        return;
    }
    let Err(said) = skill.validate(&serde_json::Value::Object(fixed)) else { return };
    for line in said.lines().filter(|line| !line.ends_with(": is missing")) {
        let (place, message) = line.split_once(": ").unwrap_or(("", line));
        faults.error(&format!("{pointer}{place}"), message);
    }
}
