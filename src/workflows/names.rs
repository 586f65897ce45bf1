//! Whether every name in a template leads somewhere by the time it is asked for.

use std::collections::HashSet;

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::{Map, Value};

use super::definition::{Agent, Feed, Format, Kind, OnFailure, Step, Work, Workflow};
use super::order::ancestors;
use super::read::Read;
use super::table::Faults;
use super::template::Template;
use crate::suggest::did_you_mean;

/// The names that every template may use: the person's local time as `2026-11-27T17:00`, and days as `2026-11-27`.
pub const ALWAYS: [&str; 5] = ["now", "today", "tomorrow", "week_ago", "next_week"];

/// The values of [`ALWAYS`] at a local time.
pub fn times(now: NaiveDateTime) -> Map<String, Value> {
    let day = |days: i64| (now + TimeDelta::days(days)).format("%Y-%m-%d").to_string();
    let values = [now.format("%Y-%m-%dT%H:%M").to_string(), day(0), day(1), day(-7), day(7)];
    ALWAYS.iter().map(|name| (*name).to_owned()).zip(values.map(Value::from)).collect()
}

pub(super) struct Names<'n> {
    read: &'n Read,
    workflow: &'n Workflow,
    before: Vec<Vec<bool>>,
}

/// What a template may ask for besides.
#[derive(Clone, Copy)]
struct Extra {
    /// The step's own output so far: in loops.
    own: bool,
    /// `item` and `index`: in maps.
    item: bool,
}

const NOTHING: Extra = Extra { own: false, item: false };

impl<'n> Names<'n> {
    pub(super) fn new(read: &'n Read) -> Self {
        Self { read, workflow: &read.workflow, before: ancestors(&read.workflow.steps) }
    }

    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        // A name in a prompt is told once, however many steps give the prompt to a model.
        let mut told: HashSet<(&str, &str)> = HashSet::new();
        for (at, step) in self.workflow.steps.iter().enumerate() {
            let pointer = self.read.pointer(&step.id);
            self.step(at, step, pointer, faults);
            for (agent, item) in self.agents_of(step) {
                let extra = Extra { own: matches!(step.work, Work::Loop(_)), item };
                let pointer = format!("/workflow/agents/{}/prompt", agent.id);
                for name in agent.prompt.names() {
                    if let Some(message) = self.fault(name, at, extra)
                        && told.insert((&agent.id, name))
                    {
                        faults.error_in(&pointer, name, message);
                    }
                }
            }
        }
    }

    /// The agents that may work for a step, their fallbacks too, and whether they see an item.
    fn agents_of(&self, step: &Step) -> Vec<(&'n Agent, bool)> {
        let first = match &step.work {
            Work::Map(map) => {
                vec![(map.agent.as_str(), true), (map.reduce.as_deref().unwrap_or_default(), false)]
            }
            work => work.agents().into_iter().map(|agent| (agent, false)).collect(),
        };
        let mut found: Vec<(&Agent, bool)> = Vec::new();
        for (id, item) in first {
            let mut next = self.workflow.agent(id);
            while let Some(agent) = next.filter(|agent| !found.iter().any(|(known, _)| known.id == agent.id))
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

    fn step(&self, at: usize, step: &Step, pointer: &str, faults: &mut Faults<'_>) {
        let mut template = |template: &Template, extra: Extra, pointer: String| {
            self.template(template, at, extra, &pointer, faults);
        };
        if let Some(Feed::Template(input)) = &step.input {
            template(input, NOTHING, format!("{pointer}/input"));
        }
        if let Some(wait) = &step.wait_until {
            template(wait, NOTHING, format!("{pointer}/wait_until"));
        }
        match &step.work {
            Work::Parallel(parallel) => {
                for (place, member) in parallel.members.iter().enumerate() {
                    if let Some(Feed::Template(input)) = &member.input {
                        template(input, NOTHING, format!("{pointer}/parallel/{place}/input"));
                    }
                }
            }
            Work::Route(route) => {
                for (place, case) in route.cases.iter().enumerate() {
                    let pointer = match route.is_switch {
                        true => format!("{pointer}/switch/cases/{place}/when"),
                        false => format!("{pointer}/condition/eval"),
                    };
                    self.names(case.when.names(), at, NOTHING, &pointer, faults);
                }
            }
            Work::Map(map) => {
                template(&map.over, NOTHING, format!("{pointer}/map/over"));
                self.over(&map.over, &format!("{pointer}/map/over"), faults);
            }
            Work::Loop(repeat) => {
                if let Some(feedback) = &repeat.feedback {
                    template(
                        feedback,
                        Extra { own: true, item: false },
                        format!("{pointer}/loop/feedback_path"),
                    );
                }
            }
            Work::Approval(question) => template(&question.text, NOTHING, format!("{pointer}/approval/text")),
            Work::Skill(call) => self.texts(&call.arguments, at, &format!("{pointer}/arguments"), faults),
            Work::Workflow(sub) => self.texts(&sub.inputs, at, &format!("{pointer}/inputs"), faults),
            Work::Agent(_) => {}
        }
    }

    fn texts(&self, values: &Map<String, Value>, at: usize, pointer: &str, faults: &mut Faults<'_>) {
        for (key, value) in values {
            let mut open = vec![value];
            while let Some(value) = open.pop() {
                match value {
                    Value::String(text) => {
                        // What is no template has its fault already.
                        if let Ok(template) = Template::new(text) {
                            self.template(&template, at, NOTHING, &format!("{pointer}/{key}"), faults);
                        }
                    }
                    Value::Array(list) => open.extend(list),
                    Value::Object(table) => open.extend(table.values()),
                    _ => {}
                }
            }
        }
    }

    fn template(&self, template: &Template, at: usize, extra: Extra, pointer: &str, faults: &mut Faults<'_>) {
        self.names(template.names(), at, extra, pointer, faults);
    }

    fn names(&self, names: &[String], at: usize, extra: Extra, pointer: &str, faults: &mut Faults<'_>) {
        for name in names {
            if let Some(message) = self.fault(name, at, extra) {
                faults.error_in(pointer, name, message);
            }
        }
    }

    fn fault(&self, name: &str, at: usize, extra: Extra) -> Option<String> {
        let parts: Vec<&str> = name.split('.').collect();
        match (parts[0], parts.get(1)) {
            ("inputs" | "steps", None) => None,
            ("inputs", Some(input)) => self.input(input, parts.get(2).copied()),
            ("steps", Some(step)) => self.output_of(step, &parts[2..], at, extra),
            ("item" | "index", _) if extra.item => None,
            (root, _) if ALWAYS.contains(&root) => None,
            (root, _) => self.stored(root, at, extra),
        }
    }

    fn input(&self, name: &str, field: Option<&str>) -> Option<String> {
        let Some(input) = self.workflow.inputs.iter().find(|input| input.name == name) else {
            let hint = did_you_mean(name, self.workflow.inputs.iter().map(|input| input.name.as_str()));
            return Some(format!("there is no input '{name}'{hint}"));
        };
        let field = field.filter(|_| input.kind != Kind::Json)?;
        Some(format!("the input '{name}' has no field '{field}': its type is not json"))
    }

    fn output_of(&self, id: &str, rest: &[&str], at: usize, extra: Extra) -> Option<String> {
        let Some(place) = self.workflow.steps.iter().position(|step| step.id == id) else {
            // An unreadable one has its own faults.
            let hint = did_you_mean(id, self.workflow.steps.iter().map(|step| step.id.as_str()));
            return (!self.read.knows(id)).then(|| format!("there is no step '{id}'{hint}"));
        };
        if let Some(why) = self.too_early(place, at, extra) {
            return Some(why);
        }
        let step = &self.workflow.steps[place];
        match (rest.first(), rest.get(1), &step.work) {
            (None | Some(&"output"), None, _) => None,
            (Some(&"output"), Some(field), work) => {
                let kind = match (step.output.format, work) {
                    (_, Work::Approval(_)) => "the chosen word",
                    (Some(Format::Text), _) => "text",
                    (Some(Format::Markdown), _) => "markdown",
                    _ => return None,
                };
                // In a loop the validator's output is meant, which is not the step's.
                let is_loop = extra.own && place == at;
                (!is_loop).then(|| format!("the output of '{id}' is {kind}: it has no field '{field}'"))
            }
            (Some(&"outputs"), key, Work::Parallel(parallel)) => {
                let key =
                    key.filter(|key| !parallel.members.iter().any(|member| member.output_key == **key))?;
                let hint =
                    did_you_mean(key, parallel.members.iter().map(|member| member.output_key.as_str()));
                Some(format!("the parallel step '{id}' has no output_key '{key}'{hint}"))
            }
            (Some(other), ..) => Some(format!(
                "a step has no '{other}'; write steps.{id}.output (a parallel one has outputs, too)"
            )),
            (None, Some(_), _) => None,
        }
    }

    /// Why a step's output is not there yet.
    fn too_early(&self, place: usize, at: usize, extra: Extra) -> Option<String> {
        let (wanted, here) = (&self.workflow.steps[place].id, &self.workflow.steps[at].id);
        if place == at {
            return (!extra.own).then(|| format!("the step '{here}' asks for its own output"));
        }
        (!self.before[at][place]).then(|| {
            format!("'{wanted}' may not have ended when '{here}' starts; add '{wanted}' to the depends_on of '{here}'")
        })
    }

    fn stored(&self, root: &str, at: usize, extra: Extra) -> Option<String> {
        let stored = |step: &Step| step.output.store_as.as_deref() == Some(root);
        let mut places =
            self.workflow.steps.iter().enumerate().filter(|(_, step)| stored(step)).map(|(at, _)| at);
        if let Some(first) = places.clone().next() {
            return places
                .all(|place| self.too_early(place, at, extra).is_some())
                .then(|| self.too_early(first, at, extra))?;
        }
        if self.workflow.inputs.iter().any(|input| input.name == root) {
            return Some(format!("there is no '{root}'; write inputs.{root}"));
        }
        if self.workflow.steps.iter().any(|step| step.id == root) {
            return Some(format!("there is no '{root}'; write steps.{root}.output"));
        }
        let known = self.workflow.steps.iter().filter_map(|step| step.output.store_as.as_deref());
        let hint = did_you_mean(root, known.chain(ALWAYS).chain(["inputs", "steps"]));
        let hint = if hint.is_empty() { "; write inputs.NAME or steps.ID.output".to_owned() } else { hint };
        Some(format!("there is no '{root}'{hint}"))
    }

    /// What a map goes over must be able to be a list.
    fn over(&self, over: &Template, pointer: &str, faults: &mut Faults<'_>) {
        let [name] = over.names() else { return };
        let parts: Vec<&str> = name.split('.').collect();
        let message = match parts[..] {
            ["inputs", id] => {
                let input = self.workflow.inputs.iter().find(|input| input.name == id);
                input
                    .filter(|input| input.kind != Kind::Json)
                    .map(|_| format!("the input '{id}' is no list: its type is not json"))
            }
            ["steps", id, "output"] => {
                let step = self.workflow.step(id);
                step.filter(|step| matches!(step.output.format, Some(Format::Text | Format::Markdown)))
                    .map(|_| format!("the output of '{id}' is a text, not a list; give it `format: json`"))
            }
            _ => None,
        };
        if let Some(message) = message {
            faults.error(pointer, message);
        }
    }
}
