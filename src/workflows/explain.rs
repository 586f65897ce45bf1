//! A workflow in plain sentences.

use std::fmt::Write;
use std::time::Duration;

use super::definition::{
    Agent, Backoff, Feed, Input, Kind, OnFailure, Output, Retry, Step, Target, Wait, Work, Workflow,
};
use super::order::waves;
use super::sketch::named;
use crate::trace::text::{one_line, several};

/// Explains what a workflow needs, what each step does, and who its agents are.
pub fn explain(workflow: &Workflow) -> String {
    let mut out = one_line(&workflow.name);
    if !workflow.description.is_empty() {
        let _ = write!(out, ": {}", one_line(&workflow.description));
    }
    out.push('\n');
    if let Some(timeout) = workflow.timeout {
        let _ = writeln!(out, "A run takes at most {}.", spoken(timeout));
    }
    if !workflow.inputs.is_empty() {
        out.push_str("\nIt is given\n");
    }
    workflow.inputs.iter().for_each(|input| out.push_str(&given(input)));
    out.push_str("\nWhat happens\n");
    for (place, at) in waves(&workflow.steps).into_iter().flatten().enumerate() {
        let step = &workflow.steps[at];
        let _ = writeln!(out, "{:>3}. {}: {}", place + 1, step.id, sentence(workflow, step));
    }
    if !workflow.agents.is_empty() {
        out.push_str("\nThe agents\n");
    }
    workflow.agents.iter().for_each(|agent| out.push_str(&described(workflow, agent)));
    out
}

fn given(input: &Input) -> String {
    let kind = match input.kind {
        Kind::String => "a text",
        Kind::Number => "a number",
        Kind::Boolean => "true or false",
        Kind::Json => "JSON",
        Kind::FilePath => "a file",
    };
    let need = match (&input.default, input.required) {
        (Some(default), _) => format!("; {default} if it is not given"),
        (None, true) => String::new(),
        (None, false) => "; may be left out".to_owned(),
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

fn spoken(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        ms if ms.is_multiple_of(86_400_000) => several(ms / 86_400_000, "day"),
        ms if ms.is_multiple_of(3_600_000) => several(ms / 3_600_000, "hour"),
        ms if ms.is_multiple_of(60_000) => several(ms / 60_000, "minute"),
        ms if ms.is_multiple_of(1_000) => several(ms / 1_000, "second"),
        ms => several(ms, "millisecond"),
    }
}

fn sentence(workflow: &Workflow, step: &Step) -> String {
    let when = match (&step.chosen_by, &step.depends_on[..]) {
        (Some(chooser), _) => format!("If {chooser} leads here, "),
        (None, []) => "At once, ".to_owned(),
        (None, needed) => format!("After {}, ", listed(needed)),
    };
    let wait = step.wait_until.as_ref().map(|start| format!("but not before {}, ", one_line(start.source())));
    let mut text = format!("{when}{}{}.", wait.unwrap_or_default(), work(workflow, step));
    match &step.input {
        Some(Feed::AllBefore) => text.push_str(" It is given every output so far."),
        Some(Feed::Template(input)) => {
            let _ = write!(text, " It is given “{}”.", one_line(input.source()));
        }
        None => {}
    }
    if let Some(timeout) = step.timeout {
        let _ = write!(text, " It takes at most {}.", spoken(timeout));
    }
    if let Output { store_as: Some(name), .. } = &step.output {
        let _ = write!(text, " The output is called {name}.");
    }
    text
}

fn work(workflow: &Workflow, step: &Step) -> String {
    let name = |agent: &str| named(workflow, agent);
    match &step.work {
        Work::Agent(agent) => format!("{} works", name(agent)),
        Work::Skill(call) => {
            format!("the skill {} is called{}", one_line(&call.skill), failure(workflow, &call.retry))
        }
        Work::Parallel(parallel) => {
            let who: Vec<String> = parallel.members.iter().map(|member| name(&member.agent)).collect();
            let until = match parallel.wait {
                Wait::All => "until all are done".to_owned(),
                Wait::AtLeast(1) => "until the first is done; the others are stopped then".to_owned(),
                Wait::AtLeast(some) => format!("until {some} are done; the others are stopped then"),
            };
            format!("{} work side by side, {until}", listed(&who))
        }
        Work::Route(route) => {
            let target = |target: Option<&Target>| match target {
                Some(Target::Step(id)) => format!("it goes on with {id}"),
                Some(Target::Agent(agent)) => format!("{} works", name(agent)),
                None => "nothing is done".to_owned(),
            };
            let cases = route
                .cases
                .iter()
                .map(|case| format!("if {}, {}", one_line(&case.when.plain()), target(case.then.as_ref())));
            let all: Vec<String> =
                cases.chain([format!("otherwise {}", target(route.otherwise.as_ref()))]).collect();
            format!("a way is chosen: {}", all.join("; "))
        }
        Work::Map(map) => {
            let over = one_line(map.over.source());
            let reduce =
                map.reduce.as_ref().map(|agent| format!("; then {} gets all they gave", name(agent)));
            let reduce = reduce.unwrap_or_default();
            format!(
                "{} works on each item of {over}, at most {} at once{reduce}",
                name(&map.agent),
                map.max_concurrent
            )
        }
        Work::Loop(repeat) => format!(
            "{} works and {} judges, again and again with what was found, until it is content or {} rounds are over",
            name(&repeat.agent),
            name(&repeat.validator),
            repeat.max_iterations
        ),
        Work::Approval(question) => {
            let choices: Vec<String> = question.choices.iter().map(|choice| one_line(choice)).collect();
            format!(
                "a person is asked “{}” and answers {}",
                one_line(question.text.source()),
                choices.join(" or ")
            )
        }
        Work::Workflow(sub) => format!("the workflow {} is run", one_line(&sub.name)),
    }
}

fn failure(workflow: &Workflow, retry: &Retry) -> String {
    let again = match (retry.max_attempts, retry.backoff) {
        (1, _) => String::new(),
        (most, Backoff::None) => format!("; if that fails, at most {most} times"),
        (most, Backoff::Linear) => {
            format!("; if that fails, at most {most} times, waiting 5 seconds more each time")
        }
        (most, Backoff::Exponential) => {
            format!("; if that fails, at most {most} times, waiting twice as long each time")
        }
    };
    let after = match &retry.on_failure {
        OnFailure::Abort => String::new(),
        OnFailure::Skip => "; if it fails for good the run goes on without it".to_owned(),
        OnFailure::Fallback(agent) => format!("; if it fails for good {} tries", named(workflow, agent)),
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
        let _ = write!(out, "; its model is {}", one_line(model));
    }
    if let Some(timeout) = agent.timeout {
        let _ = write!(out, "; takes at most {}", spoken(timeout));
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
