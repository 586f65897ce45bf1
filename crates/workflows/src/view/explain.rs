//! A workflow in plain sentences.

use std::fmt::Write;

use adjutant_l10n as l10n;
use adjutant_turn::wording::duration;

use super::diagram::{named, target_name};
use crate::language::definition::{
    Agent, Backoff, Input, InputMapping, InputType, OnFailure, Output, Retry, Step, StepKind, Target,
    WaitFor, Workflow,
};
use crate::language::order::waves;
use crate::trace::text::one_line;

/// Explains what a workflow needs, what each step does, and who its agents are.
pub fn explain(workflow: &Workflow) -> String {
    let mut out = one_line(&workflow.name);
    if !workflow.description.is_empty() {
        let _ = write!(out, ": {}", one_line(&workflow.description));
    }
    out.push('\n');
    if let Some(timeout) = workflow.timeout {
        let _ = writeln!(out, "{}", l10n::workflows::run_at_most(duration(timeout)));
    }
    if !workflow.inputs.is_empty() {
        let _ = writeln!(out, "\n{}", l10n::workflows::inputs());
    }
    workflow.inputs.iter().for_each(|input| out.push_str(&given(input)));
    let _ = writeln!(out, "\n{}", l10n::workflows::steps());
    for (index, at) in waves(&workflow.steps).into_iter().flatten().enumerate() {
        let step = &workflow.steps[at];
        let _ = writeln!(out, "{:>3}. {}: {}", index + 1, step.id, sentence(workflow, step));
    }
    if !workflow.agents.is_empty() {
        let _ = writeln!(out, "\n{}", l10n::workflows::agents());
    }
    workflow.agents.iter().for_each(|agent| out.push_str(&described(workflow, agent)));
    out
}

fn given(input: &Input) -> String {
    let kind = match input.kind {
        InputType::String => l10n::workflows::kind_text(),
        InputType::Number => l10n::workflows::kind_number(),
        InputType::Boolean => l10n::workflows::kind_boolean(),
        InputType::Json => l10n::workflows::kind_json(),
        InputType::FilePath => l10n::workflows::kind_file(),
    };
    let line = match (&input.default, input.required) {
        (Some(default), _) => l10n::workflows::input_default(&input.name, kind, default),
        (None, true) => l10n::workflows::input(&input.name, kind),
        (None, false) => l10n::workflows::input_optional(&input.name, kind),
    };
    let about = if input.description.is_empty() {
        String::new()
    } else {
        format!(": {}", one_line(&input.description))
    };
    format!("  - {line}{about}\n")
}

/// Names joined as people do.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first @ .., last] => l10n::workflows::and(first.join(", "), last),
    }
}

fn sentence(workflow: &Workflow, step: &Step) -> String {
    let mut sentences = vec![first_sentence(workflow, step)];
    sentences.extend(step.input.as_ref().map(|input| match input {
        InputMapping::AllPrior => l10n::workflows::gets_all(),
        InputMapping::Template(input) => l10n::workflows::gets(one_line(input.source())),
    }));
    sentences.extend(step.timeout.map(|timeout| l10n::workflows::step_at_most(duration(timeout))));
    if let Output { store_as: Some(name), .. } = &step.output {
        sentences.push(l10n::workflows::stored_as(name));
    }
    sentences.join(" ")
}

/// When a step starts, and what it does.
fn first_sentence(workflow: &Workflow, step: &Step) -> String {
    let work = work(workflow, step);
    let not_before = step.wait_until.as_ref().map(|start| one_line(start.source()));
    match (&step.chosen_by, &step.depends_on[..], not_before) {
        (Some(chooser), _, None) => l10n::workflows::if_chosen(chooser, work),
        (Some(chooser), _, Some(time)) => l10n::workflows::if_chosen_not_before(chooser, time, work),
        (None, [], None) => l10n::workflows::at_start(work),
        (None, [], Some(time)) => l10n::workflows::at_start_not_before(time, work),
        (None, needed, None) => l10n::workflows::after(listed(needed), work),
        (None, needed, Some(time)) => l10n::workflows::after_not_before(listed(needed), time, work),
    }
}

fn work(workflow: &Workflow, step: &Step) -> String {
    let name = |agent: &str| named(workflow, agent);
    match &step.kind {
        StepKind::Agent(agent) => l10n::workflows::agent_runs(name(agent)),
        StepKind::Skill(call) => {
            let mut clauses = vec![l10n::workflows::skill_called(one_line(&call.skill))];
            clauses.extend(failure(workflow, &call.retry));
            clauses.join("; ")
        }
        StepKind::Parallel(parallel) => {
            let who: Vec<String> = parallel.members.iter().map(|member| name(&member.agent)).collect();
            match parallel.wait {
                WaitFor::All => l10n::workflows::parallel_all(listed(&who)),
                WaitFor::AtLeast(1) => l10n::workflows::parallel_first(listed(&who)),
                WaitFor::AtLeast(some) => l10n::workflows::parallel_some(listed(&who), some),
            }
        }
        StepKind::Choice(choice) => {
            let target = |target: Option<&Target>| target_name(workflow, target);
            let cases = choice.cases.iter().map(|case| {
                l10n::workflows::branch_if(one_line(&case.when.plain()), target(case.then.as_ref()))
            });
            let otherwise = l10n::workflows::branch_otherwise(target(choice.otherwise.as_ref()));
            let all: Vec<String> = cases.chain([otherwise]).collect();
            l10n::workflows::branch_chosen(all.join("; "))
        }
        StepKind::Map(map) => {
            let (agent, items) = (name(&map.agent), one_line(map.over.source()));
            match &map.reduce {
                None => l10n::workflows::for_each_item(agent, items, map.max_concurrent),
                Some(reducer) => {
                    l10n::workflows::for_each_item_then(agent, items, map.max_concurrent, name(reducer))
                }
            }
        }
        StepKind::Loop(step) => {
            l10n::workflows::in_rounds(step.max_iterations, name(&step.agent), name(&step.validator))
        }
        StepKind::Approval(question) => {
            let choices = question.choices.iter().map(|choice| one_line(choice));
            let choices = choices.reduce(l10n::workflows::or);
            l10n::workflows::asked(one_line(question.text.source()), choices.unwrap_or_default())
        }
        StepKind::Workflow(sub) => l10n::workflows::workflow_runs(one_line(&sub.name)),
    }
}

/// The handling of a failure, as clauses.
fn failure(workflow: &Workflow, retry: &Retry) -> Vec<String> {
    let again = match (retry.max_attempts, retry.backoff) {
        (1, _) => None,
        (max, Backoff::None) => Some(l10n::workflows::attempts(max)),
        (max, Backoff::Linear) => Some(l10n::workflows::attempts_longer(max)),
        (max, Backoff::Exponential) => Some(l10n::workflows::attempts_twice_as_long(max)),
    };
    let after = match &retry.on_failure {
        OnFailure::Abort => None,
        OnFailure::Skip => Some(l10n::workflows::goes_on()),
        OnFailure::Fallback(agent) => Some(l10n::workflows::falls_back(named(workflow, agent))),
    };
    again.into_iter().chain(after).collect()
}

fn described(workflow: &Workflow, agent: &Agent) -> String {
    let mut out = format!("  - {}", one_line(&agent.name));
    if !agent.name.eq_ignore_ascii_case(&agent.id) {
        let _ = write!(out, " ({})", agent.id);
    }
    if !agent.role.is_empty() {
        let _ = write!(out, ": {}", one_line(&agent.role));
    }
    let skills: Vec<String> = agent.skills.iter().map(|skill| one_line(skill)).collect();
    let mut clauses = vec![match &skills[..] {
        [] => l10n::workflows::uses_no_skills(),
        skills => l10n::workflows::may_use(listed(skills)),
    }];
    clauses.extend(agent.model.as_ref().map(|model| l10n::workflows::uses_model(one_line(model))));
    clauses.extend(agent.timeout.map(|timeout| l10n::workflows::agent_at_most(duration(timeout))));
    clauses.extend(failure(workflow, &agent.retry));
    let _ = writeln!(out, ". {}.", clauses.join("; "));
    if agent.validation.schema.is_some() {
        let _ = writeln!(out, "      {}", l10n::workflows::checked_schema());
    }
    for rule in &agent.validation.rules {
        let checked = l10n::workflows::checked_rule(one_line(&rule.text), one_line(&rule.understood()));
        let _ = writeln!(out, "      {checked}");
    }
    out
}
