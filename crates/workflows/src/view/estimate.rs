//! An estimate of a run, as ranges: model calls, skill calls, tokens, money. The minimum is a run where everything succeeds at
//! once, the maximum one where everything fails that can.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::EstimateContext;
use crate::language::definition::{Agent, Choice, OnFailure, Retry, Step, StepKind, Target, Workflow};
use crate::language::template::MAX_ITEMS;

/// A minimum and a maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Range(pub u64, pub u64);

impl Range {
    fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0), self.1.saturating_add(other.1))
    }

    fn times(self, min: u64, max: u64) -> Self {
        Self(self.0.saturating_mul(min), self.1.saturating_mul(max))
    }

    fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.max(other.1))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    pub agents: Range,
    pub model_calls: Range,
    pub skill_calls: Range,
    pub prompt_tokens: Range,
    pub completion_tokens: Range,
    /// Whether the price of some agent's model is unknown.
    pub is_unpriced: bool,
}

impl EstimateContext<'_> {
    /// The usage of earlier agents of a role, if enough of them have worked.
    fn past(&self, role: &str) -> Option<&Estimate> {
        self.history.and_then(|history| history.get(role))
    }
}

/// Tokens of a request in addition to the mission: the agent's own prompt, the tools.
const FRAME: u64 = 600;
/// Tokens of an answer, of a skill's result, of another step's output.
const ANSWER: Range = Range(100, 1_500);
const RESULT: Range = Range(50, 2_000);
/// The assumed number of items of a map whose list isn't known.
const ITEMS: (u64, u64) = (1, 20);

impl Estimate {
    /// Each range of both in one.
    fn joined(self, other: Self, join: impl Fn(Range, Range) -> Range) -> Self {
        Self {
            agents: join(self.agents, other.agents),
            model_calls: join(self.model_calls, other.model_calls),
            skill_calls: join(self.skill_calls, other.skill_calls),
            prompt_tokens: join(self.prompt_tokens, other.prompt_tokens),
            completion_tokens: join(self.completion_tokens, other.completion_tokens),
            is_unpriced: self.is_unpriced || other.is_unpriced,
        }
    }

    fn and(self, other: Self) -> Self {
        self.joined(other, Range::and)
    }

    fn or(self, other: Self) -> Self {
        self.joined(other, Range::or)
    }

    fn times(self, min: u64, max: u64) -> Self {
        self.joined(self, |range, _| range.times(min, max))
    }

    /// The cost in US dollars, if all prices are known.
    pub fn cost(&self, context: &EstimateContext<'_>) -> Option<(f64, f64)> {
        if context.is_free && !self.is_unpriced {
            return Some((0.0, 0.0));
        }
        let price = context.price.filter(|_| !self.is_unpriced)?;
        let cost = |prompt: u64, completion: u64| {
            (prompt as f64 * price.input + completion as f64 * price.output) / 1e6
        };
        let min = cost(self.prompt_tokens.0, self.completion_tokens.0);
        Some((min, cost(self.prompt_tokens.1, self.completion_tokens.1)))
    }
}

pub(crate) fn workflow(workflow: &Workflow, context: &EstimateContext<'_>) -> Estimate {
    at_depth(workflow, context, 0)
}

fn at_depth(workflow: &Workflow, context: &EstimateContext<'_>, depth: usize) -> Estimate {
    let mut all = Estimate::default();
    // At most one branch of a choice runs.
    let mut chosen: BTreeMap<&str, Estimate> = BTreeMap::new();
    for step in &workflow.steps {
        // The usage of earlier agents includes repeated work.
        let is_again = workflow.review.is_some() && !is_past(workflow, step, context);
        let estimate = self::step(workflow, step, context, depth).times(1, if is_again { 2 } else { 1 });
        match &step.chosen_by {
            None => all = all.and(estimate),
            Some(chooser) => {
                let way = chosen.entry(chooser).or_default();
                *way = way.or(estimate);
            }
        }
    }
    let all = chosen.into_values().fold(all, Estimate::and);
    match &workflow.review {
        Some(role) => all.and(review(workflow, role, context)),
        None => all,
    }
}

/// The agents that judge a run: one, and another one of what was done again.
fn review(workflow: &Workflow, role: &str, context: &EstimateContext<'_>) -> Estimate {
    let past = context.past(role);
    let role = context.roles.and_then(|roles| roles.get(role));
    let is_unpriced =
        role.is_some_and(|role| role.model.as_deref().is_some_and(|model| model != context.model));
    if let Some(past) = past {
        return Estimate { is_unpriced, ..*past }.times(1, 2);
    }
    let skills = role.and_then(|role| role.max_skill_calls).unwrap_or(context.limits.skill_calls_per_agent);
    let max_calls = role.and_then(|role| role.max_model_calls).map_or(u64::MAX, u64::from);
    let calls = Range(1, u64::from(skills).saturating_add(1).min(max_calls));
    let steps = u64::try_from(workflow.steps.len()).unwrap_or(u64::MAX);
    let mission = Range(FRAME, FRAME).and(RESULT.times(steps, steps));
    let estimate = Estimate {
        agents: Range(1, 1),
        model_calls: calls,
        skill_calls: Range(0, u64::from(skills)),
        prompt_tokens: mission.times(calls.0, calls.1),
        completion_tokens: ANSWER.times(calls.0, calls.1),
        is_unpriced,
    };
    estimate.times(1, 2)
}

fn step(workflow: &Workflow, step: &Step, context: &EstimateContext<'_>, depth: usize) -> Estimate {
    let agent = |name: &str| {
        workflow.agent(name).map(|agent| self::agent(workflow, agent, context)).unwrap_or_default()
    };
    match &step.kind {
        StepKind::Agent(id) => agent(id),
        StepKind::Skill(call) => {
            let attempts = u64::from(call.retry.max_attempts);
            let estimate = Estimate { skill_calls: Range(1, attempts), ..Estimate::default() };
            estimate.and(fallback(workflow, &call.retry, context))
        }
        StepKind::Parallel(parallel) => parallel
            .members
            .iter()
            .map(|member| agent(&member.agent))
            .fold(Estimate::default(), Estimate::and),
        StepKind::Choice(route) => ways(route, &agent),
        StepKind::Map(map) => {
            let items = context.values.and_then(|values| map.over.items(values).ok());
            let count = items.and_then(|items| u64::try_from(items.len().min(MAX_ITEMS)).ok());
            let (min, max) = count.map_or(ITEMS, |count| (count, count));
            agent(&map.agent).times(min, max).and(map.reduce.as_deref().map(agent).unwrap_or_default())
        }
        StepKind::Loop(repeat) => {
            agent(&repeat.agent).and(agent(&repeat.validator)).times(1, u64::from(repeat.max_iterations))
        }
        StepKind::Workflow(sub) if depth < 4 => {
            let other = context.context.workflows.iter().find(|other| other.name == sub.name);
            // Its lists are not known here.
            let context = EstimateContext { values: None, ..*context };
            other.map(|other| at_depth(other, &context, depth + 1)).unwrap_or_default()
        }
        StepKind::Workflow(_) | StepKind::Approval(_) => Estimate::default(),
    }
}

/// A choice takes what one of its ways takes; those that are steps are counted there.
fn ways(route: &Choice, agent: &dyn Fn(&str) -> Estimate) -> Estimate {
    let ways = route.cases.iter().map(|case| case.then.as_ref()).chain([route.otherwise.as_ref()]);
    let takes = ways.map(|way| match way {
        Some(Target::Agent(id)) => agent(id),
        Some(Target::Step(_)) | None => Estimate::default(),
    });
    takes.reduce(Estimate::or).unwrap_or_default()
}

fn fallback(workflow: &Workflow, retry: &Retry, context: &EstimateContext<'_>) -> Estimate {
    match &retry.on_failure {
        // Its own fallback is not tried: a failed fallback ends the run.
        OnFailure::Fallback(id) => {
            let other = workflow.agent(id).map(|other| attempts(other, context, 1)).unwrap_or_default();
            other.times(0, 1)
        }
        OnFailure::Abort | OnFailure::Skip => Estimate::default(),
    }
}

fn agent(workflow: &Workflow, agent: &Agent, context: &EstimateContext<'_>) -> Estimate {
    attempts(agent, context, agent.retry.max_attempts).and(fallback(workflow, &agent.retry, context))
}

/// Whether what agents took so far says what a step takes.
fn is_past(workflow: &Workflow, step: &Step, context: &EstimateContext<'_>) -> bool {
    let StepKind::Agent(id) = &step.kind else { return false };
    workflow.agent(id).and_then(|agent| context.past(agent.as_role.as_deref()?)).is_some()
}

fn attempts(agent: &Agent, context: &EstimateContext<'_>, max_attempts: u32) -> Estimate {
    let role = agent.as_role.as_deref().and_then(|name| context.roles?.get(name));
    let model = agent.model.as_deref().or(role.and_then(|role| role.model.as_deref()));
    let own = model.is_some_and(|model| model != context.model);
    if let Some(past) = agent.as_role.as_deref().and_then(|role| context.past(role)) {
        return Estimate { is_unpriced: own, ..*past };
    }
    let is_without = agent.skills.is_empty() && (role.is_none() || agent.names_skills);
    let max_skills =
        role.and_then(|role| role.max_skill_calls).unwrap_or(context.limits.skill_calls_per_agent);
    let skills = if is_without { 0 } else { u64::from(max_skills) };
    // Rules that no check was made of are judged by a model, all in one call.
    let judged = u64::from(agent.validation.rules.iter().any(|rule| rule.checks().is_empty()));
    let max_calls = role.and_then(|role| role.max_model_calls).map_or(u64::MAX, u64::from);
    let calls = Range(1 + judged, (1 + skills).min(max_calls) + judged);
    let mission = FRAME + u64::try_from(agent.prompt.source().len() / 4).unwrap_or(u64::MAX);
    let outputs = agent.prompt.names().iter().filter(|name| !name.starts_with("inputs.")).count();
    let outputs = RESULT.times(0, u64::try_from(outputs).unwrap_or(u64::MAX));
    // Each call carries what the skills brought before it.
    let brought = RESULT.times(0, skills * (skills + 1) / 2);
    let prompt = Range(mission, mission).and(outputs).times(calls.0, calls.1).and(brought);
    let estimate = Estimate {
        agents: Range(1, 1),
        model_calls: calls,
        skill_calls: Range(0, skills),
        prompt_tokens: prompt,
        completion_tokens: ANSWER.times(calls.0, calls.1),
        is_unpriced: own,
    };
    estimate.times(1, u64::from(max_attempts))
}
