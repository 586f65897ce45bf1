//! How much a run may take, as ranges: model calls, skill calls, tokens, money. Nothing of it is exact, for what models
//! write is not known before; the least is when all goes well at once, the most when everything goes wrong that may.

use std::collections::BTreeMap;

use serde::Serialize;

use super::definition::{Agent, OnFailure, Retry, Route, Step, Target, Work, Workflow};
use super::plan::Setting;
use super::template::MOST_ITEMS;

/// From the least to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Range(pub u64, pub u64);

impl Range {
    fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0), self.1.saturating_add(other.1))
    }

    fn times(self, least: u64, most: u64) -> Self {
        Self(self.0.saturating_mul(least), self.1.saturating_mul(most))
    }

    fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.max(other.1))
    }
}

/// What a run may take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Agents that are started.
    pub agents: Range,
    /// Calls of models.
    pub model_calls: Range,
    /// Calls of skills.
    pub skill_calls: Range,
    /// Tokens of the models' requests.
    pub prompt_tokens: Range,
    /// Tokens of their answers.
    pub completion_tokens: Range,
    /// Whether some agent's model has no known price.
    pub is_unpriced: bool,
}

/// Tokens of a request besides the mission: the agent's own prompt, the tools.
const FRAME: u64 = 600;
/// Tokens of an answer, of a skill's result, of another step's output.
const ANSWER: Range = Range(100, 1_500);
const RESULT: Range = Range(50, 2_000);
/// How many items a map is thought to go over when its list is not known.
const ITEMS: (u64, u64) = (1, 20);

impl Estimate {
    fn and(self, other: Self) -> Self {
        Self {
            agents: self.agents.and(other.agents),
            model_calls: self.model_calls.and(other.model_calls),
            skill_calls: self.skill_calls.and(other.skill_calls),
            prompt_tokens: self.prompt_tokens.and(other.prompt_tokens),
            completion_tokens: self.completion_tokens.and(other.completion_tokens),
            is_unpriced: self.is_unpriced || other.is_unpriced,
        }
    }

    fn times(self, least: u64, most: u64) -> Self {
        Self {
            agents: self.agents.times(least, most),
            model_calls: self.model_calls.times(least, most),
            skill_calls: self.skill_calls.times(least, most),
            prompt_tokens: self.prompt_tokens.times(least, most),
            completion_tokens: self.completion_tokens.times(least, most),
            is_unpriced: self.is_unpriced,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            agents: self.agents.or(other.agents),
            model_calls: self.model_calls.or(other.model_calls),
            skill_calls: self.skill_calls.or(other.skill_calls),
            prompt_tokens: self.prompt_tokens.or(other.prompt_tokens),
            completion_tokens: self.completion_tokens.or(other.completion_tokens),
            is_unpriced: self.is_unpriced || other.is_unpriced,
        }
    }

    /// The money in US dollars, from the least to the most; none where a price is not known.
    pub fn cost(&self, setting: &Setting<'_>) -> Option<(f64, f64)> {
        if setting.is_free && !self.is_unpriced {
            return Some((0.0, 0.0));
        }
        let price = setting.price.filter(|_| !self.is_unpriced)?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let cost = |prompt: u64, completion: u64| {
            (prompt as f64 * price.input + completion as f64 * price.output) / 1e6
        };
        let least = cost(self.prompt_tokens.0, self.completion_tokens.0);
        Some((least, cost(self.prompt_tokens.1, self.completion_tokens.1)))
    }
}

/// What a whole workflow may take.
pub(super) fn workflow(workflow: &Workflow, setting: &Setting<'_>) -> Estimate {
    below(workflow, setting, 0)
}

fn below(workflow: &Workflow, setting: &Setting<'_>, depth: usize) -> Estimate {
    let mut all = Estimate::default();
    // Of the ways of a choice one is taken, or none.
    let mut chosen: BTreeMap<&str, Estimate> = BTreeMap::new();
    for step in &workflow.steps {
        let one = self::step(workflow, step, setting, depth);
        match &step.chosen_by {
            None => all = all.and(one),
            Some(chooser) => {
                let way = chosen.entry(chooser).or_default();
                *way = way.or(one);
            }
        }
    }
    chosen.into_values().fold(all, Estimate::and)
}

fn step(workflow: &Workflow, step: &Step, setting: &Setting<'_>, depth: usize) -> Estimate {
    let agent =
        |id: &str| workflow.agent(id).map(|agent| self::agent(workflow, agent, setting)).unwrap_or_default();
    match &step.work {
        Work::Agent(id) => agent(id),
        Work::Skill(call) => {
            let attempts = u64::from(call.retry.max_attempts);
            let one = Estimate { skill_calls: Range(1, attempts), ..Estimate::default() };
            one.and(fallback(workflow, &call.retry, setting))
        }
        Work::Parallel(parallel) => parallel
            .members
            .iter()
            .map(|member| agent(&member.agent))
            .fold(Estimate::default(), Estimate::and),
        Work::Route(route) => ways(route, &agent),
        Work::Map(map) => {
            let known =
                setting.values.and_then(|values| map.over.items(values).ok()).map(|items| items.len());
            let known =
                known.and_then(|count| u64::try_from(count.min(MOST_ITEMS)).ok()).map(|count| (count, count));
            let (least, most) = known.unwrap_or(ITEMS);
            agent(&map.agent).times(least, most).and(map.reduce.as_deref().map(agent).unwrap_or_default())
        }
        Work::Loop(repeat) => {
            agent(&repeat.agent).and(agent(&repeat.validator)).times(1, u64::from(repeat.max_iterations))
        }
        Work::Workflow(sub) if depth < 4 => {
            let other = setting.world.workflows.iter().find(|other| other.name == sub.name);
            // Its lists are not known here.
            let setting = Setting { values: None, ..*setting };
            other.map(|other| below(other, &setting, depth + 1)).unwrap_or_default()
        }
        Work::Workflow(_) | Work::Approval(_) => Estimate::default(),
    }
}

/// A choice takes what one of its ways takes; those that are steps are counted there.
fn ways(route: &Route, agent: &dyn Fn(&str) -> Estimate) -> Estimate {
    let ways = route.cases.iter().map(|case| case.then.as_ref()).chain([route.otherwise.as_ref()]);
    let takes = ways.map(|way| match way {
        Some(Target::Agent(id)) => agent(id),
        Some(Target::Step(_)) | None => Estimate::default(),
    });
    takes.reduce(Estimate::or).unwrap_or_default()
}

fn fallback(workflow: &Workflow, retry: &Retry, setting: &Setting<'_>) -> Estimate {
    match &retry.on_failure {
        // Its own fallback is not tried: a failed fallback ends the run.
        OnFailure::Fallback(id) => {
            let other = workflow.agent(id).map(|other| attempts(other, setting, 1)).unwrap_or_default();
            other.times(0, 1)
        }
        OnFailure::Abort | OnFailure::Skip => Estimate::default(),
    }
}

fn agent(workflow: &Workflow, agent: &Agent, setting: &Setting<'_>) -> Estimate {
    attempts(agent, setting, agent.retry.max_attempts).and(fallback(workflow, &agent.retry, setting))
}

fn attempts(agent: &Agent, setting: &Setting<'_>, most: u32) -> Estimate {
    let skills = if agent.skills.is_empty() { 0 } else { u64::from(setting.limits.skill_calls_per_agent) };
    // Rules that no check was made of are judged by a model, all in one call.
    let judged = u64::from(agent.validation.rules.iter().any(|rule| rule.checks().is_empty()));
    let calls = Range(1 + judged, 1 + skills + judged);
    let mission = FRAME + u64::try_from(agent.prompt.source().len() / 4).unwrap_or(u64::MAX);
    let outputs = agent.prompt.names().iter().filter(|name| !name.starts_with("inputs.")).count();
    let outputs = RESULT.times(0, u64::try_from(outputs).unwrap_or(u64::MAX));
    // Each call carries what the skills brought before it.
    let brought = RESULT.times(0, skills * (skills + 1) / 2);
    let prompt = Range(mission, mission).and(outputs).times(calls.0, calls.1).and(brought);
    let own = agent.model.as_deref().is_some_and(|model| model != setting.model);
    let one = Estimate {
        agents: Range(1, 1),
        model_calls: calls,
        skill_calls: Range(0, skills),
        prompt_tokens: prompt,
        completion_tokens: ANSWER.times(calls.0, calls.1),
        is_unpriced: own,
    };
    one.times(1, u64::from(most))
}
