//! The dry run: what a run would do with these inputs, as far as it can be known. Nothing runs.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::check::World;
use super::definition::{Call, Feed, Step, Work, Workflow};
use super::estimate::{self, Estimate, Range};
use super::inputs::Inputs;
use super::order::waves;
use super::sketch::{Sketch, ways};
use super::template::{Template, Values};
use crate::config::{Limits, Policy, Price};
use crate::skills::risk::policy;
use crate::trace::text::{clean, cost, count, one_line};

/// What a plan is made with.
#[derive(Clone, Copy)]
pub struct Setting<'s> {
    /// The skills, their approval, and the other workflows.
    pub world: World<'s>,
    /// The limits.
    pub limits: &'s Limits,
    /// The agents' model, as it is configured.
    pub model: &'s str,
    /// What it costs.
    pub price: Option<Price>,
    /// Whether it is the built-in one, which costs nothing.
    pub is_free: bool,
    /// What templates are filled with as far as it is known; filled in by the plan itself.
    pub values: Option<&'s Values>,
}

/// A step as it would run.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Its id.
    pub id: String,
    /// The `type` of the file.
    pub kind: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// What it waits for.
    pub after: Vec<String>,
    /// The choice that decides whether it runs.
    pub chosen_by: Option<String>,
    /// Each text that is given to somebody, filled in as far as it can be: what for, and the text.
    pub texts: Vec<(String, String)>,
    /// The skills that it may call, with their risk and what that needs.
    pub skills: Vec<(String, &'static str, Policy)>,
    /// The ways of a choice.
    pub ways: Vec<String>,
}

/// What a run would do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The workflow.
    pub workflow: String,
    /// What it is given.
    pub inputs: Map<String, Value>,
    /// What it would ask for before it starts.
    pub missing: Vec<String>,
    /// The steps; those of one list may run side by side.
    pub waves: Vec<Vec<Planned>>,
    /// What a person would be asked while it runs, a sentence each.
    pub prompts: Vec<String>,
    /// What it may take.
    pub estimate: Estimate,
    /// The same in US dollars; none where a price is not known.
    pub cost_usd: Option<(f64, f64)>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// Plans a run. `now` are the values of [`super::ALWAYS`].
pub fn plan(
    workflow: &Workflow,
    inputs: &Inputs<'_>,
    now: &Map<String, Value>,
    setting: &Setting<'_>,
) -> Plan {
    let mut known = now.clone();
    known.insert("inputs".to_owned(), Value::Object(inputs.values.clone()));
    let values = Values::new(&Value::Object(known));
    let setting = Setting { values: Some(&values), ..*setting };
    let titles = Sketch::of(workflow).nodes.into_iter().map(|node| node.title).collect();
    let planner = Planner { workflow, setting: &setting, values: &values, titles };
    let estimate = estimate::workflow(workflow, &setting);
    let step = |at: &usize| planner.step(*at);
    Plan {
        workflow: workflow.name.clone(),
        inputs: inputs.values.clone(),
        missing: inputs.missing.iter().map(|input| input.name.clone()).collect(),
        waves: waves(&workflow.steps).iter().map(|wave| wave.iter().map(step).collect()).collect(),
        prompts: workflow.steps.iter().flat_map(|step| planner.prompts(step)).collect(),
        cost_usd: estimate.cost(&setting),
        estimate,
        notes: planner.notes(&estimate),
    }
}

struct Planner<'p> {
    workflow: &'p Workflow,
    setting: &'p Setting<'p>,
    values: &'p Values,
    titles: Vec<String>,
}

impl Planner<'_> {
    fn step(&self, at: usize) -> Planned {
        let step = &self.workflow.steps[at];
        let ways = match &step.work {
            Work::Route(route) => ways(self.workflow, route),
            _ => Vec::new(),
        };
        Planned {
            id: step.id.clone(),
            kind: step.work.kind(),
            title: self.titles[at].clone(),
            after: step.depends_on.clone(),
            chosen_by: step.chosen_by.clone(),
            texts: self.texts(step),
            skills: self.skills(step),
            ways,
        }
    }

    fn fill(&self, template: &Template) -> String {
        template.partly(self.values)
    }

    fn texts(&self, step: &Step) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        let mut add = |what: String, text: String| texts.push((what, text));
        let feed = |feed: &Feed| match feed {
            Feed::AllBefore => "every output so far".to_owned(),
            Feed::Template(template) => self.fill(template),
        };
        for agent in step.work.agents() {
            if let Some(agent) = self.workflow.agent(agent) {
                add(format!("{} is told", agent.name), self.fill(&agent.prompt));
            }
        }
        if let Some(input) = &step.input {
            add("input".to_owned(), feed(input));
        }
        match &step.work {
            Work::Parallel(parallel) => {
                for member in &parallel.members {
                    if let Some(input) = &member.input {
                        add(format!("input of {}", member.output_key), feed(input));
                    }
                }
            }
            Work::Skill(Call { arguments: given, .. }) => add("arguments".to_owned(), self.filled(given)),
            Work::Workflow(sub) => add("inputs".to_owned(), self.filled(&sub.inputs)),
            Work::Map(map) => add("for each of".to_owned(), self.fill(&map.over)),
            Work::Approval(question) => add("question".to_owned(), self.fill(&question.text)),
            Work::Agent(_) | Work::Route(_) | Work::Loop(_) => {}
        }
        texts
    }

    /// A table of templates as JSON, each filled as far as it can be.
    fn filled(&self, table: &Map<String, Value>) -> String {
        fn fill(value: &Value, values: &Values) -> Value {
            match value {
                Value::String(text) => match Template::new(text) {
                    Ok(template) => {
                        template.value(values).unwrap_or_else(|_| Value::from(template.partly(values)))
                    }
                    Err(_) => value.clone(),
                },
                Value::Array(list) => list.iter().map(|value| fill(value, values)).collect(),
                Value::Object(table) => table
                    .iter()
                    .map(|(key, value)| (key.clone(), fill(value, values)))
                    .collect::<Map<_, _>>()
                    .into(),
                other => other.clone(),
            }
        }
        fill(&Value::Object(table.clone()), self.values).to_string()
    }

    fn skills(&self, step: &Step) -> Vec<(String, &'static str, Policy)> {
        let of_agents = step.work.agents().into_iter().filter_map(|id| self.workflow.agent(id));
        let mut names: Vec<&str> =
            of_agents.flat_map(|agent| agent.skills.iter().map(String::as_str)).collect();
        if let Work::Skill(call) = &step.work {
            names.push(&call.skill);
        }
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        let known = names.into_iter().filter_map(|name| self.setting.world.skills.get(name));
        known
            .map(|skill| {
                (
                    skill.name.clone(),
                    skill.risk.as_str(),
                    policy(self.setting.world.approval, &skill.name, skill.risk),
                )
            })
            .collect()
    }

    fn prompts(&self, step: &Step) -> Vec<String> {
        if let Work::Approval(question) = &step.work {
            let text = one_line(&self.fill(&question.text));
            return vec![format!("{}: “{text}” [{}]", step.id, question.choices.join("] ["))];
        }
        let asks = self.skills(step).into_iter().filter(|(_, _, policy)| *policy == Policy::Ask);
        let is_sure = matches!(step.work, Work::Skill(_));
        asks.map(|(name, risk, _)| {
            let call = if is_sure { "the call of" } else { "each call of" };
            format!("{}: {call} {name} ({risk} risk) must be approved", step.id)
        })
        .collect()
    }

    fn notes(&self, estimate: &Estimate) -> Vec<String> {
        let mut notes = Vec::new();
        let limits = self.setting.limits;
        let mut stops = |most: u64, limit: u32, what: &str| {
            if most > u64::from(limit) {
                notes.push(format!(
                    "it may stop and ask whether to go on: {what} may be {most}, and the limit is {limit}"
                ));
            }
        };
        stops(estimate.agents.1, limits.agents_per_turn, "agents");
        stops(estimate.skill_calls.1, limits.skill_calls_per_turn, "skill calls");
        let known = self.values;
        for step in &self.workflow.steps {
            if let Work::Map(map) = &step.work
                && map.over.items(known).is_err()
            {
                notes.push(format!(
                    "how many items '{}' goes over is not known; 1 to 20 are counted",
                    step.id
                ));
            }
        }
        notes
    }
}

impl Plan {
    /// The plan for a person.
    pub fn text(&self) -> String {
        let mut out = format!("Dry run of {}: nothing is run.\n", self.workflow);
        if !self.inputs.is_empty() || !self.missing.is_empty() {
            out.push_str("\nInputs\n");
        }
        for (name, value) in &self.inputs {
            let _ = writeln!(out, "  {name}: {}", one_line(&plain(value)));
        }
        for name in &self.missing {
            let _ = writeln!(out, "  {name}: would be asked for");
        }
        for (place, wave) in self.waves.iter().enumerate() {
            let chooser = wave[0].chosen_by.as_ref();
            let side = match (wave.len(), chooser) {
                (1, _) => String::new(),
                (count, Some(_)) if wave.iter().all(|step| step.chosen_by.as_ref() == chooser) => {
                    format!(" (one of {count})")
                }
                (count, _) => format!(" ({count} side by side)"),
            };
            let _ = writeln!(out, "\n{}.{side}", place + 1);
            wave.iter().for_each(|step| step.write(&mut out));
        }
        section(&mut out, "A person would be asked", &self.prompts);
        let _ = write!(out, "\nEstimate\n{}", self.estimated());
        section(&mut out, "Worth knowing", &self.notes);
        out
    }

    fn estimated(&self) -> String {
        let estimate = &self.estimate;
        let range = |Range(least, most): Range| {
            if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) }
        };
        let Range(least, most) = estimate.prompt_tokens;
        let tokens = Range(least + estimate.completion_tokens.0, most + estimate.completion_tokens.1);
        let money = match self.cost_usd {
            None => "not known: the model has no price in [model]".to_owned(),
            Some((_, 0.0)) => "nothing: the model is the built-in one".to_owned(),
            Some((least, most)) => format!("{} to {}", cost(least), cost(most)),
        };
        format!(
            "  agents       {}\n  model calls  {}\n  skill calls  {}\n  tokens       {}\n  cost         {money}\n",
            range(estimate.agents),
            range(estimate.model_calls),
            range(estimate.skill_calls),
            range(tokens),
        )
    }

    /// The plan for a program.
    pub fn json(&self) -> Value {
        let step = |step: &Planned| {
            let skill = |(name, risk, policy): &(String, &str, Policy)| json!({"name": name, "risk": risk, "needs": word(*policy)});
            json!({
                "id": step.id, "type": step.kind, "title": step.title, "depends_on": step.after,
                "chosen_by": step.chosen_by,
                "texts": step.texts.iter().map(|(what, text)| json!({"what": what, "text": text})).collect::<Vec<_>>(),
                "skills": step.skills.iter().map(skill).collect::<Vec<_>>(), "ways": step.ways,
            })
        };
        let estimate = &self.estimate;
        json!({"plan": {
            "workflow": self.workflow,
            "inputs": self.inputs,
            "missing": self.missing,
            "order": self.waves.iter().map(|wave| wave.iter().map(|step| &step.id).collect::<Vec<_>>()).collect::<Vec<_>>(),
            "prompts": self.prompts,
            "estimate": {
                "agents": estimate.agents,
                "model_calls": estimate.model_calls,
                "skill_calls": estimate.skill_calls,
                "tokens": {"prompt": estimate.prompt_tokens, "completion": estimate.completion_tokens},
                "cost_usd": self.cost_usd,
            },
            "notes": self.notes,
        }, "steps": self.waves.iter().flatten().map(step).collect::<Vec<_>>()})
    }
}

fn word(policy: Policy) -> &'static str {
    match policy {
        Policy::Auto => "auto",
        Policy::Ask => "ask",
        Policy::Deny => "deny",
    }
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "\n{title}");
    }
    for line in lines {
        let _ = writeln!(out, "  - {}", one_line(line));
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not given".to_owned(),
        other => other.to_string(),
    }
}

impl Planned {
    fn write(&self, out: &mut String) {
        let after = match (&self.chosen_by, &self.after[..]) {
            (Some(chooser), _) => format!(", if {chooser} leads here"),
            (None, []) => String::new(),
            (None, after) => format!(", after {}", after.join(", ")),
        };
        let _ = writeln!(out, "  {} ({}): {}{after}", self.id, self.kind, self.title);
        for way in &self.ways {
            let _ = writeln!(out, "      {way}");
        }
        for (name, risk, policy) in &self.skills {
            let needs = match policy {
                Policy::Auto => "",
                Policy::Ask => ", asks first",
                Policy::Deny => ", denied",
            };
            let _ = writeln!(out, "      skill {name}: {risk} risk{needs}");
        }
        for (what, text) in &self.texts {
            let text = clean(text);
            let lines: Vec<&str> = text.trim().lines().collect();
            match lines[..] {
                [one] => {
                    let _ = writeln!(out, "      {}: {one}", one_line(what));
                }
                _ => {
                    let _ = writeln!(out, "      {}:", one_line(what));
                    for line in lines {
                        let _ = writeln!(out, "        {}", line.trim_end());
                    }
                }
            }
        }
    }
}
