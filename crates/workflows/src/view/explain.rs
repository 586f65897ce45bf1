//! A workflow in plain sentences.

use std::fmt::Write;

use adjutant_turn::wording::duration;

use super::diagram::named;
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
        let _ = writeln!(out, "A run takes at most {}.", duration(timeout));
    }
    if !workflow.inputs.is_empty() {
        out.push_str("\nInputs\n");
    }
    workflow.inputs.iter().for_each(|input| out.push_str(&given(input)));
    out.push_str("\nSteps\n");
    for (place, at) in waves(&workflow.steps).into_iter().flatten().enumerate() {
        let step = &workflow.steps[at];
        let _ = writeln!(out, "{:>3}. {}: {}", place + 1, step.id, sentence(workflow, step));
    }
    if !workflow.agents.is_empty() {
        out.push_str("\nAgents\n");
    }
    workflow.agents.iter().for_each(|agent| out.push_str(&described(workflow, agent)));
    out
}

fn given(input: &Input) -> String {
    let kind = match input.kind {
        InputType::String => "a text",
        InputType::Number => "a number",
        InputType::Boolean => "true or false",
        InputType::Json => "JSON",
        InputType::FilePath => "a file",
    };
    let need = match (&input.default, input.required) {
        (Some(default), _) => format!("; default: {default}"),
        (None, true) => String::new(),
        (None, false) => "; optional".to_owned(),
    };
    let about = if input.description.is_empty() {
        String::new()
    } else {
        format!(": {}", one_line(&input.description))
    };
    format!("  - {}, {kind}{need}{about}\n", input.name)
}

/// Names joined as people do.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn sentence(workflow: &Workflow, step: &Step) -> String {
    let when = match (&step.chosen_by, &step.depends_on[..]) {
        (Some(chooser), _) => format!("If {chooser} leads here, "),
        (None, []) => "At the start, ".to_owned(),
        (None, needed) => format!("After {}, ", listed(needed)),
    };
    let wait = step.wait_until.as_ref().map(|start| format!("but not before {}, ", one_line(start.source())));
    let mut text = format!("{when}{}{}.", wait.unwrap_or_default(), work(workflow, step));
    match &step.input {
        Some(InputMapping::AllPrior) => text.push_str(" It gets every output so far."),
        Some(InputMapping::Template(input)) => {
            let _ = write!(text, " It gets “{}”.", one_line(input.source()));
        }
        None => {}
    }
    if let Some(timeout) = step.timeout {
        let _ = write!(text, " It takes at most {}.", duration(timeout));
    }
    if let Output { store_as: Some(name), .. } = &step.output {
        let _ = write!(text, " Its output is stored as {name}.");
    }
    text
}

fn work(workflow: &Workflow, step: &Step) -> String {
    let name = |agent: &str| named(workflow, agent);
    match &step.kind {
        StepKind::Agent(agent) => format!("{} runs", name(agent)),
        StepKind::Skill(call) => {
            format!("the skill {} is called{}", one_line(&call.skill), failure(workflow, &call.retry))
        }
        StepKind::Parallel(parallel) => {
            let who: Vec<String> = parallel.members.iter().map(|member| name(&member.agent)).collect();
            let until = match parallel.wait {
                WaitFor::All => "until all are done".to_owned(),
                WaitFor::AtLeast(1) => "until the first is done; the others are then stopped".to_owned(),
                WaitFor::AtLeast(some) => format!("until {some} are done; the others are then stopped"),
            };
            format!("{} run in parallel {until}", listed(&who))
        }
        StepKind::Choice(choice) => {
            let target = |target: Option<&Target>| match target {
                Some(Target::Step(id)) => id.clone(),
                Some(Target::Agent(agent)) => name(agent),
                None => "nothing".to_owned(),
            };
            let cases = choice
                .cases
                .iter()
                .map(|case| format!("if {}, {}", one_line(&case.when.plain()), target(case.then.as_ref())));
            let all: Vec<String> =
                cases.chain([format!("otherwise {}", target(choice.otherwise.as_ref()))]).collect();
            format!("a branch is chosen: {}", all.join("; "))
        }
        StepKind::Map(map) => {
            let over = one_line(map.over.source());
            let reduce = map.reduce.as_ref().map(|agent| format!("; then {} gets all outputs", name(agent)));
            let reduce = reduce.unwrap_or_default();
            format!(
                "{} runs for each item of {over}, at most {} at once{reduce}",
                name(&map.agent),
                map.max_concurrent
            )
        }
        StepKind::Loop(step) => format!(
            "{} works and {} reviews, with feedback for the next round, until the review passes or after {} rounds",
            name(&step.agent),
            name(&step.validator),
            step.max_iterations
        ),
        StepKind::Approval(question) => {
            let choices: Vec<String> = question.choices.iter().map(|choice| one_line(choice)).collect();
            format!(
                "a person is asked “{}” and answers {}",
                one_line(question.text.source()),
                choices.join(" or ")
            )
        }
        StepKind::Workflow(sub) => format!("the workflow {} runs", one_line(&sub.name)),
    }
}

fn failure(workflow: &Workflow, retry: &Retry) -> String {
    let again = match (retry.max_attempts, retry.backoff) {
        (1, _) => String::new(),
        (most, Backoff::None) => format!("; up to {most} attempts"),
        (most, Backoff::Linear) => {
            format!("; up to {most} attempts, waiting 5 seconds longer each time")
        }
        (most, Backoff::Exponential) => {
            format!("; up to {most} attempts, waiting twice as long each time")
        }
    };
    let after = match &retry.on_failure {
        OnFailure::Abort => String::new(),
        OnFailure::Skip => "; if it still fails, the run goes on without it".to_owned(),
        OnFailure::Fallback(agent) => format!("; if it still fails, {} takes over", named(workflow, agent)),
    };
    format!("{again}{after}")
}

fn described(workflow: &Workflow, agent: &Agent) -> String {
    let mut out = format!("  - {}", one_line(&agent.name));
    if agent.name != agent.id {
        let _ = write!(out, " ({})", agent.id);
    }
    if !agent.role.is_empty() {
        let _ = write!(out, ": {}", one_line(&agent.role));
    }
    let skills: Vec<String> = agent.skills.iter().map(|skill| one_line(skill)).collect();
    match &skills[..] {
        [] => out.push_str(". Uses no skills"),
        skills => {
            let _ = write!(out, ". May use {}", listed(skills));
        }
    }
    if let Some(model) = &agent.model {
        let _ = write!(out, "; uses the model {}", one_line(model));
    }
    if let Some(timeout) = agent.timeout {
        let _ = write!(out, "; takes at most {}", duration(timeout));
    }
    let _ = writeln!(out, "{}.", failure(workflow, &agent.retry));
    if agent.validation.schema.is_some() {
        out.push_str("      checked: its output fits a JSON Schema\n");
    }
    for rule in &agent.validation.rules {
        let _ = writeln!(out, "      checked: “{}” ({})", one_line(&rule.text), one_line(&rule.understood()));
    }
    out
}
