//! Whether every name in a template exists, and has a value by the time it is used.

use std::collections::HashSet;

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::Problems;
use serde_json::{Map, Value};

use crate::language::dates::DATE_NAMES;
use crate::language::definition::{
    Agent, Format, InputMapping, InputType, OnFailure, Step, StepKind, Workflow,
};
use crate::language::order::ancestors;
use crate::language::reading::ReadWorkflow;
use crate::language::template::Template;

pub(crate) struct Names<'n> {
    read: &'n ReadWorkflow,
    workflow: &'n Workflow,
    before: Vec<Vec<bool>>,
}

/// Further names that a template may use.
#[derive(Clone, Copy)]
struct Extra {
    /// The step's own output so far: in loops.
    own: bool,
    /// `item` and `index`: in maps.
    item: bool,
}

const NOTHING: Extra = Extra { own: false, item: false };

impl<'n> Names<'n> {
    pub(crate) fn new(read: &'n ReadWorkflow) -> Self {
        Self { read, workflow: &read.workflow, before: ancestors(&read.workflow.steps) }
    }

    pub(crate) fn check(&self, problems: &mut Problems<'_>) {
        // A name in a prompt is reported once, however many steps use the prompt.
        let mut reported: HashSet<(&str, &str)> = HashSet::new();
        for (at, step) in self.workflow.steps.iter().enumerate() {
            let pointer = self.read.pointer(&step.id);
            self.step(at, step, pointer, problems);
            for (agent, item) in self.agents_of(step) {
                let extra = Extra { own: matches!(step.kind, StepKind::Loop(_)), item };
                let pointer = format!("/workflow/agents/{}/prompt", agent.id);
                for name in agent.prompt.names() {
                    if let Some(message) = self.error(name, at, extra)
                        && reported.insert((&agent.id, name))
                    {
                        problems.error_in(&pointer, name, message);
                    }
                }
            }
        }
    }

    /// The agents that may work for a step, their fallbacks too, and whether they see an item.
    fn agents_of(&self, step: &Step) -> Vec<(&'n Agent, bool)> {
        let first = match &step.kind {
            StepKind::Map(map) => {
                vec![(map.agent.as_str(), true), (map.reduce.as_deref().unwrap_or_default(), false)]
            }
            work => work.agents().into_iter().map(|agent| (agent, false)).collect(),
        };
        let mut found: Vec<(&Agent, bool)> = Vec::new();
        for (id, item) in first {
            let mut next = self.workflow.agent(id);
            while let Some(agent) = next.filter(|agent| !found.iter().any(|(other, _)| other.id == agent.id))
            {
                found.push((agent, item));
                next = match &agent.retry.on_failure {
                    OnFailure::Fallback(id) => self.workflow.agent(id),
                    _ => None,
                };
            }
        }
        found
    }

    fn step(&self, at: usize, step: &Step, pointer: &str, problems: &mut Problems<'_>) {
        let mut template = |template: &Template, extra: Extra, pointer: String| {
            self.names(template.names(), at, extra, &pointer, problems);
        };
        if let Some(InputMapping::Template(input)) = &step.input {
            template(input, NOTHING, format!("{pointer}/input"));
        }
        if let Some(wait) = &step.wait_until {
            template(wait, NOTHING, format!("{pointer}/wait_until"));
        }
        match &step.kind {
            StepKind::Parallel(parallel) => {
                for (index, member) in parallel.members.iter().enumerate() {
                    if let Some(InputMapping::Template(input)) = &member.input {
                        template(input, NOTHING, format!("{pointer}/parallel/{index}/input"));
                    }
                }
            }
            StepKind::Choice(choice) => {
                for (index, case) in choice.cases.iter().enumerate() {
                    let pointer = match choice.is_switch {
                        true => format!("{pointer}/switch/cases/{index}/when"),
                        false => format!("{pointer}/condition/eval"),
                    };
                    self.names(case.when.names(), at, NOTHING, &pointer, problems);
                }
            }
            StepKind::Map(map) => {
                template(&map.over, NOTHING, format!("{pointer}/map/over"));
                self.over(&map.over, &format!("{pointer}/map/over"), problems);
            }
            StepKind::Loop(step) => {
                if let Some(feedback) = &step.feedback {
                    template(
                        feedback,
                        Extra { own: true, item: false },
                        format!("{pointer}/loop/feedback_path"),
                    );
                }
            }
            StepKind::Approval(question) => {
                template(&question.text, NOTHING, format!("{pointer}/approval/text"))
            }
            StepKind::Skill(call) => {
                self.texts(&call.arguments, at, &format!("{pointer}/arguments"), problems)
            }
            StepKind::Workflow(sub) => self.texts(&sub.inputs, at, &format!("{pointer}/inputs"), problems),
            StepKind::Agent(_) => {}
        }
    }

    fn texts(&self, values: &Map<String, Value>, at: usize, pointer: &str, problems: &mut Problems<'_>) {
        for (key, value) in values {
            let mut open = vec![value];
            while let Some(value) = open.pop() {
                match value {
                    Value::String(text) => {
                        // One that isn't a template has been reported.
                        if let Ok(template) = Template::new(text) {
                            self.names(template.names(), at, NOTHING, &format!("{pointer}/{key}"), problems);
                        }
                    }
                    Value::Array(list) => open.extend(list),
                    Value::Object(table) => open.extend(table.values()),
                    _ => {}
                }
            }
        }
    }

    fn names(&self, names: &[String], at: usize, extra: Extra, pointer: &str, problems: &mut Problems<'_>) {
        for name in names {
            if let Some(message) = self.error(name, at, extra) {
                problems.error_in(pointer, name, message);
            }
        }
    }

    fn error(&self, name: &str, at: usize, extra: Extra) -> Option<String> {
        let parts: Vec<&str> = name.split('.').collect();
        match (parts[0], parts.get(1)) {
            ("inputs" | "steps", None) => None,
            ("inputs", Some(input)) => self.input(input, parts.get(2).copied()),
            ("steps", Some(step)) => self.output_of(step, &parts[2..], at, extra),
            ("item" | "index", _) if extra.item => None,
            (root, _) if DATE_NAMES.contains(&root) => None,
            (root, _) => self.stored(root, at, extra),
        }
    }

    fn input(&self, name: &str, field: Option<&str>) -> Option<String> {
        let Some(input) = self.workflow.inputs.iter().find(|input| input.name == name) else {
            let hint = did_you_mean(name, self.workflow.inputs.iter().map(|input| input.name.as_str()));
            return Some(format!("there is no input '{name}'{hint}"));
        };
        let field = field.filter(|_| input.kind != InputType::Json)?;
        Some(format!("the input '{name}' has no field '{field}': its type isn't json"))
    }

    fn output_of(&self, name: &str, rest: &[&str], at: usize, extra: Extra) -> Option<String> {
        let Some(index) = self.workflow.steps.iter().position(|step| step.id == name) else {
            // An unreadable one has its own problems.
            let hint = did_you_mean(name, self.workflow.steps.iter().map(|step| step.id.as_str()));
            return (!self.read.knows(name)).then(|| format!("there is no step '{name}'{hint}"));
        };
        if let Some(why) = self.too_early(index, at, extra) {
            return Some(why);
        }
        let step = &self.workflow.steps[index];
        match (rest.first(), rest.get(1), &step.kind) {
            (None | Some(&"output"), None, _) => None,
            (Some(&"output"), Some(field), work) => {
                let kind = match (step.output.format, work) {
                    (_, StepKind::Approval(_)) => "the chosen word",
                    (Some(Format::Text), _) => "text",
                    (Some(Format::Markdown), _) => "markdown",
                    _ => return None,
                };
                // In a loop this is the validator's output, not the step's.
                let is_loop = extra.own && index == at;
                (!is_loop).then(|| format!("the output of '{name}' is {kind}: it has no field '{field}'"))
            }
            (Some(&"outputs"), key, StepKind::Parallel(parallel)) => {
                let key =
                    key.filter(|key| !parallel.members.iter().any(|member| member.output_key == **key))?;
                let hint =
                    did_you_mean(key, parallel.members.iter().map(|member| member.output_key.as_str()));
                Some(format!("the parallel step '{name}' has no output_key '{key}'{hint}"))
            }
            (Some(other), ..) => Some(format!(
                "a step has no '{other}'; write steps.{name}.output (a parallel one has outputs, too)"
            )),
            (None, Some(_), _) => None,
        }
    }

    /// Why a step's output isn't available yet.
    fn too_early(&self, index: usize, at: usize, extra: Extra) -> Option<String> {
        let (wanted, here) = (&self.workflow.steps[index].id, &self.workflow.steps[at].id);
        if index == at {
            return (!extra.own).then(|| format!("the step '{here}' uses its own output"));
        }
        (!self.before[at][index]).then(|| {
            format!("'{wanted}' may not have ended when '{here}' starts; add '{wanted}' to the depends_on of '{here}'")
        })
    }

    fn stored(&self, root: &str, at: usize, extra: Extra) -> Option<String> {
        let stored = |step: &Step| step.output.store_as.as_deref() == Some(root);
        let mut indices =
            self.workflow.steps.iter().enumerate().filter(|(_, step)| stored(step)).map(|(at, _)| at);
        if let Some(first) = indices.clone().next() {
            return indices
                .all(|index| self.too_early(index, at, extra).is_some())
                .then(|| self.too_early(first, at, extra))?;
        }
        if self.workflow.inputs.iter().any(|input| input.name == root) {
            return Some(format!("there is no '{root}'; write inputs.{root}"));
        }
        if self.workflow.steps.iter().any(|step| step.id == root) {
            return Some(format!("there is no '{root}'; write steps.{root}.output"));
        }
        let aliases = self.workflow.steps.iter().filter_map(|step| step.output.store_as.as_deref());
        let hint = did_you_mean(root, aliases.chain(DATE_NAMES).chain(["inputs", "steps"]));
        let hint = if hint.is_empty() { "; write inputs.NAME or steps.ID.output".to_owned() } else { hint };
        Some(format!("there is no '{root}'{hint}"))
    }

    /// A map needs a list.
    fn over(&self, over: &Template, pointer: &str, problems: &mut Problems<'_>) {
        let [name] = over.names() else { return };
        let parts: Vec<&str> = name.split('.').collect();
        let message = match parts[..] {
            ["inputs", id] => {
                let input = self.workflow.inputs.iter().find(|input| input.name == id);
                input
                    .filter(|input| input.kind != InputType::Json)
                    .map(|_| format!("the input '{id}' isn't a list: its type isn't json"))
            }
            ["steps", id, "output"] => {
                let step = self.workflow.step(id);
                step.filter(|step| matches!(step.output.format, Some(Format::Text | Format::Markdown)))
                    .map(|_| format!("the output of '{id}' is a text, not a list; give it `format: json`"))
            }
            _ => None,
        };
        if let Some(message) = message {
            problems.error(pointer, message);
        }
    }
}
