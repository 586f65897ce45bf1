//! The dry run: what a run would do with these inputs, as far as can be known.

use std::collections::HashSet;
use std::fmt::Write;

use adjutant_config::{Limits, Policy, Price};
use adjutant_l10n as l10n;
use adjutant_skills::risk::policy;
use serde_json::{Map, Value, json};

use super::diagram::{Diagram, branches};
use super::estimate::{self, Estimate, Range};
use super::history::History;
use crate::check::CheckContext;
use crate::language::definition::{InputMapping, SkillCall, Step, StepKind, Workflow};
use crate::language::inputs::Inputs;
use crate::language::order::waves;
use crate::language::template::{Template, Values, map_templates};
use crate::roles::RoleSet;
use crate::trace::text::{clean, cost, count, one_line};

#[derive(Clone, Copy)]
pub struct EstimateContext<'s> {
    /// The skills, their approval, and the other workflows.
    pub context: CheckContext<'s>,
    pub limits: &'s Limits,
    /// The roles that agents may have.
    pub roles: Option<&'s RoleSet>,
    /// The agents' model, as it is configured.
    pub model: &'s str,
    pub price: Option<Price>,
    /// Whether there is none, in basic mode.
    pub is_free: bool,
    /// The usage of earlier agents of these roles; a missing role is judged by its limits.
    pub history: Option<&'s History>,
    /// The known values of templates; set by the plan itself.
    pub values: Option<&'s Values>,
}

/// A step as it would run.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    pub id: String,
    /// The `type` of the file.
    pub kind: &'static str,
    /// The step's work, in a few words.
    pub title: String,
    /// Its dependencies.
    pub after: Vec<String>,
    /// The choice that decides whether it runs.
    pub chosen_by: Option<String>,
    /// Its texts with their purpose, filled in as far as possible.
    pub texts: Vec<(String, String)>,
    /// The skills it may call, with their risk and policy.
    pub skills: Vec<(String, &'static str, Policy)>,
    /// The branches of a choice.
    pub ways: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub workflow: String,
    pub inputs: Map<String, Value>,
    /// The inputs it would ask for.
    pub missing: Vec<String>,
    /// The steps; those of one list can run in parallel.
    pub waves: Vec<Vec<PlannedStep>>,
    /// The questions to a person while it runs.
    pub prompts: Vec<String>,
    pub estimate: Estimate,
    /// The cost in US dollars, if all prices are known.
    pub cost_usd: Option<(f64, f64)>,
    pub notes: Vec<String>,
}

/// Plans a run. `now` are the values of [`DATE_NAMES`](crate::DATE_NAMES).
pub fn plan(
    workflow: &Workflow,
    inputs: &Inputs<'_>,
    now: &Map<String, Value>,
    context: &EstimateContext<'_>,
) -> Plan {
    let mut given = now.clone();
    given.insert("inputs".to_owned(), Value::Object(inputs.values.clone()));
    let values = Values::new(&Value::Object(given));
    let context = EstimateContext { values: Some(&values), ..*context };
    let titles = Diagram::of(workflow).nodes.into_iter().map(|node| node.title).collect();
    let planner = Planner { workflow, context: &context, values: &values, titles };
    let estimate = estimate::workflow(workflow, &context);
    let step = |at: &usize| planner.step(*at);
    Plan {
        workflow: workflow.name.clone(),
        inputs: inputs.values.clone(),
        missing: inputs.missing.iter().map(|input| input.name.clone()).collect(),
        waves: waves(&workflow.steps).iter().map(|wave| wave.iter().map(step).collect()).collect(),
        prompts: workflow.steps.iter().flat_map(|step| planner.prompts(step)).collect(),
        cost_usd: estimate.cost(&context),
        estimate,
        notes: planner.notes(&estimate),
    }
}

struct Planner<'p> {
    workflow: &'p Workflow,
    context: &'p EstimateContext<'p>,
    values: &'p Values,
    titles: Vec<String>,
}

impl Planner<'_> {
    fn step(&self, at: usize) -> PlannedStep {
        let step = &self.workflow.steps[at];
        let ways = match &step.kind {
            StepKind::Choice(choice) => branches(self.workflow, choice),
            _ => Vec::new(),
        };
        PlannedStep {
            id: step.id.clone(),
            kind: step.kind.type_name(),
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
        let feed = |feed: &InputMapping| match feed {
            InputMapping::AllPrior => l10n::workflows::every_output(),
            InputMapping::Template(template) => self.fill(template),
        };
        for agent in step.kind.agents() {
            if let Some(agent) = self.workflow.agent(agent) {
                add(l10n::workflows::prompt_of(&agent.name), self.fill(&agent.prompt));
            }
        }
        if let Some(input) = &step.input {
            add(l10n::workflows::step_input(), feed(input));
        }
        match &step.kind {
            StepKind::Parallel(parallel) => {
                for member in &parallel.members {
                    if let Some(input) = &member.input {
                        add(l10n::workflows::input_of(&member.output_key), feed(input));
                    }
                }
            }
            StepKind::Skill(SkillCall { arguments: given, .. }) => {
                add(l10n::workflows::arguments(), self.filled(given))
            }
            StepKind::Workflow(sub) => add(l10n::workflows::step_inputs(), self.filled(&sub.inputs)),
            StepKind::Map(map) => add(l10n::workflows::items(), self.fill(&map.over)),
            StepKind::Approval(question) => add(l10n::workflows::question(), self.fill(&question.text)),
            StepKind::Agent(_) | StepKind::Choice(_) | StepKind::Loop(_) => {}
        }
        texts
    }

    /// A table of templates as JSON, each filled in as far as possible.
    fn filled(&self, table: &Map<String, Value>) -> String {
        let fill = |template: &Template| {
            Ok(template.value(self.values).unwrap_or_else(|_| template.partly(self.values).into()))
        };
        map_templates(table, &fill).map_or_else(|_| String::new(), |filled| Value::Object(filled).to_string())
    }

    fn skills(&self, step: &Step) -> Vec<(String, &'static str, Policy)> {
        let of_agents = step.kind.agents().into_iter().filter_map(|id| self.workflow.agent(id));
        let mut names: Vec<&String> = of_agents.flat_map(|agent| &agent.skills).collect();
        if let StepKind::Skill(call) = &step.kind {
            names.push(&call.skill);
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        let CheckContext { skills, approval, .. } = self.context.context;
        let found = names.into_iter().filter_map(|name| skills.get(name));
        let needs = |name: &str, risk| policy(approval, name, risk);
        found.map(|skill| (skill.name.clone(), skill.risk.as_str(), needs(&skill.name, skill.risk))).collect()
    }

    fn prompts(&self, step: &Step) -> Vec<String> {
        if let StepKind::Approval(question) = &step.kind {
            let text = one_line(&self.fill(&question.text));
            return vec![format!("{}: “{text}” [{}]", step.id, question.choices.join("] ["))];
        }
        let asks = self.skills(step).into_iter().filter(|(_, _, policy)| *policy == Policy::Ask);
        let is_sure = matches!(step.kind, StepKind::Skill(_));
        asks.map(|(name, risk, _)| match is_sure {
            true => l10n::workflows::call_needs_approval(&step.id, name, risk),
            false => l10n::workflows::each_call_needs_approval(&step.id, name, risk),
        })
        .collect()
    }

    fn notes(&self, estimate: &Estimate) -> Vec<String> {
        let mut notes = Vec::new();
        let limits = self.context.limits;
        let (agents, limit) = (estimate.agents.1, limits.agents_per_turn);
        let is_over = agents > u64::from(limit);
        notes.extend(is_over.then(|| l10n::workflows::may_pause_for_agents(agents, limit)));
        let (calls, limit) = (estimate.skill_calls.1, limits.skill_calls_per_turn);
        let is_over = calls > u64::from(limit);
        notes.extend(is_over.then(|| l10n::workflows::may_pause_for_skill_calls(calls, limit)));
        let values = self.values;
        for step in &self.workflow.steps {
            if let StepKind::Map(map) = &step.kind
                && map.over.items(values).is_err()
            {
                notes.push(l10n::workflows::unknown_items(&step.id));
            }
        }
        notes
    }
}

impl Plan {
    pub fn text(&self) -> String {
        let mut out = l10n::workflows::dry_run(&self.workflow);
        out.push('\n');
        if !self.inputs.is_empty() || !self.missing.is_empty() {
            let _ = writeln!(out, "\n{}", l10n::workflows::inputs());
        }
        for (name, value) in &self.inputs {
            let _ = writeln!(out, "  {name}: {}", one_line(&plain(value)));
        }
        for name in &self.missing {
            let _ = writeln!(out, "  {name}: {}", l10n::workflows::would_ask());
        }
        for (index, wave) in self.waves.iter().enumerate() {
            let chooser = wave[0].chosen_by.as_ref();
            let side = match (wave.len(), chooser) {
                (1, _) => String::new(),
                (count, Some(_)) if wave.iter().all(|step| step.chosen_by.as_ref() == chooser) => {
                    format!(" {}", l10n::workflows::one_of(count))
                }
                (count, _) => format!(" {}", l10n::workflows::in_parallel(count)),
            };
            let _ = writeln!(out, "\n{}.{side}", index + 1);
            wave.iter().for_each(|step| step.write(&mut out));
        }
        section(&mut out, &l10n::workflows::questions(), &self.prompts);
        let _ = write!(out, "\n{}\n{}", l10n::workflows::estimate(), self.estimated());
        section(&mut out, &l10n::workflows::notes(), &self.notes);
        out
    }

    fn estimated(&self) -> String {
        let estimate = &self.estimate;
        let range = |Range(min, max): Range| {
            if min == max { count(min) } else { l10n::workflows::from_to(count(min), count(max)) }
        };
        let Range(min, max) = estimate.prompt_tokens;
        let tokens = Range(min + estimate.completion_tokens.0, max + estimate.completion_tokens.1);
        let money = match self.cost_usd {
            None => l10n::workflows::unknown_cost(),
            Some((_, 0.0)) => l10n::workflows::no_model(),
            Some((min, max)) => l10n::workflows::from_to(cost(min), cost(max)),
        };
        let rows = [
            (l10n::workflows::estimated_agents(), range(estimate.agents)),
            (l10n::workflows::model_calls(), range(estimate.model_calls)),
            (l10n::workflows::skill_calls(), range(estimate.skill_calls)),
            (l10n::workflows::tokens(), range(tokens)),
            (l10n::workflows::cost(), money),
        ];
        let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        rows.iter().map(|(name, value)| format!("  {name:widest$}  {value}\n")).collect()
    }

    pub fn json(&self) -> Value {
        let step = |step: &PlannedStep| {
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
        Value::Null => l10n::workflows::not_given(),
        other => other.to_string(),
    }
}

impl PlannedStep {
    fn write(&self, out: &mut String) {
        let Self { id, kind, title, .. } = self;
        let line = match (&self.chosen_by, &self.after[..]) {
            (Some(chooser), _) => l10n::workflows::step_if_chosen(id, kind, title, chooser),
            (None, []) => l10n::workflows::step(id, kind, title),
            (None, after) => l10n::workflows::step_after(id, kind, title, after.join(", ")),
        };
        let _ = writeln!(out, "  {line}");
        out.extend(self.ways.iter().map(|way| format!("      {way}\n")));
        for (name, risk, policy) in &self.skills {
            let line = match policy {
                Policy::Auto => l10n::workflows::skill(name, risk),
                Policy::Ask => l10n::workflows::skill_asks(name, risk),
                Policy::Deny => l10n::workflows::skill_denied(name, risk),
            };
            let _ = writeln!(out, "      {line}");
        }
        for (what, text) in &self.texts {
            let text = clean(text);
            let lines: Vec<&str> = text.trim().lines().collect();
            match lines[..] {
                [line] => {
                    let _ = writeln!(out, "      {}: {line}", one_line(what));
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
