//! A planner's answer as a plan, or what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_turn::journal::Limits;
use adjutant_types::AccessLevel;
use serde_json::Value;

use super::{MAX_STEPS, Plan, PlanStep, REVIEWER, file};
use crate::agents::{AgentTask, Assignment, StructuredOutput, texts};
use crate::roles::RoleSet;
use crate::trace::text::one_line;
use crate::{CheckContext, is_name};

/// A longer answer is refused, in bytes.
const MAX_ANSWER: usize = 60_000;
/// A longer text of a step is refused, in bytes.
const MAX_TEXT: usize = 4_000;
/// More errors at once don't help.
const MAX_ERRORS: usize = 10;

/// The steps of a plan that a plan for its rest keeps.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    pub done: Vec<PlanStep>,
    /// The ids of all steps that have begun. No new step can have one of them.
    pub begun: BTreeSet<String>,
}

/// Everything that a plan is checked against.
pub struct PlanContext<'a> {
    /// The skills and the workflows.
    pub check: CheckContext<'a>,
    pub roles: &'a RoleSet,
    /// The skills that the person may use in this chat.
    pub offered: &'a BTreeMap<String, AccessLevel>,
    pub limits: &'a Limits,
    /// The part of the previous plan that stays; none for a whole plan.
    pub previous: Option<&'a Kept>,
}

/// The plan in a planner's answer, or its errors as sentences for the planner. A plan for a rest begins with the steps
/// that are done; it has no others if the planner wants nothing more done.
pub fn read(
    text: &str,
    output: Option<&StructuredOutput>,
    (name, goal): (&str, &str),
    context: &PlanContext<'_>,
) -> Result<Plan, Vec<String>> {
    let error_list = |error: &str| vec![error.to_owned()];
    let given = output.map(|output| output.data.clone()).filter(has_steps).or_else(|| in_text(text));
    let Some(given) = given else {
        return Err(error_list("the planner's answer holds no plan: it must be a JSON object with `steps`"));
    };
    let steps = given["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    match steps.len() {
        0 if context.previous.is_some() => {}
        0 => return Err(error_list("`steps` is empty: a plan has at least one step")),
        1..=MAX_STEPS => {}
        many => {
            let error = format!(
                "it has {many} steps, and at most {MAX_STEPS} are possible; a step is one result, not one action"
            );
            return Err(vec![error]);
        }
    }
    if given.to_string().len() > MAX_ANSWER {
        return Err(error_list("the plan is too long: say it more briefly"));
    }
    let mut errors = Vec::new();
    let steps: Vec<PlanStep> = (1..)
        .zip(steps)
        .filter_map(|(number, step)| self::step(number, step, context, &mut errors))
        .collect();
    let steps = match context.previous {
        Some(previous) => behind(previous, steps),
        None => steps,
    };
    for (at, step) in steps.iter().enumerate() {
        if steps[..at].iter().any(|other| other.id == step.id) {
            errors.push(format!("there are two steps called '{}'", step.id));
        }
    }
    errors.extend(context.roles.get(REVIEWER).is_none().then(|| context.roles.missing(REVIEWER)));
    let plan = Plan {
        name: name.to_owned(),
        steps,
        uncertain: texts(&given["uncertain"]),
        will_ask: texts(&given["will_ask"]),
        ..Plan::default()
    };
    if errors.is_empty() && !plan.steps.is_empty() {
        let yaml = file::yaml(&plan, goal);
        let (_, problems) = crate::check(&format!("{name}.yaml"), &yaml, &context.check);
        errors.extend(problems.iter().map(|problem| one_line(&problem.message)));
    }
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// The steps behind those that are done. A planner may repeat these, and may give a step that failed its id again.
fn behind(previous: &Kept, mut steps: Vec<PlanStep>) -> Vec<PlanStep> {
    steps.retain(|step| previous.done.iter().all(|done| done.id != step.id));
    let mut taken: BTreeSet<String> = previous.begun.iter().cloned().collect();
    taken.extend(steps.iter().map(|step| step.id.clone()));
    for at in 0..steps.len() {
        let old = steps[at].id.clone();
        if !previous.begun.contains(&old) {
            continue;
        }
        let new = (2..).map(|n| format!("{old}_{n}")).find(|id| !taken.contains(id)).unwrap_or_default();
        taken.insert(new.clone());
        steps[at].id.clone_from(&new);
        let needs = steps.iter_mut().flat_map(|step| &mut step.depends_on);
        needs.filter(|need| **need == old).for_each(|need| need.clone_from(&new));
    }
    previous.done.iter().cloned().chain(steps).collect()
}

fn has_steps(value: &Value) -> bool {
    value.get("steps").is_some()
}

/// The object with `steps` in a text that may say something around it.
fn in_text(text: &str) -> Option<Value> {
    let begins = text.find('{')?;
    let value: Value = serde_json::Deserializer::from_str(&text[begins..]).into_iter().next()?.ok()?;
    [&value["data"], &value].into_iter().find(|value| has_steps(value)).cloned()
}

fn step(
    number: usize,
    step: &Value,
    context: &PlanContext<'_>,
    errors: &mut Vec<String>,
) -> Option<PlanStep> {
    let id = id(&step["id"]);
    if !is_name(&id) {
        errors
            .push(format!("step {number} has no usable `id`: letters, digits and _, starting with a letter"));
        return None;
    }
    let before = errors.len();
    let mut text = |key: &str| {
        let text = texts(&step[key]).join("; ");
        match text.len() {
            0 => errors.push(format!("step '{id}' has no `{key}`")),
            1..=MAX_TEXT => {}
            _ => errors.push(format!("step '{id}': `{key}` is longer than {MAX_TEXT} bytes")),
        }
        text
    };
    let (task, role, success_criteria) = (text("task"), text("role"), text("success_criteria"));
    let mut skills = texts(&step["skills"]);
    skills.sort();
    skills.dedup();
    let needs = step["depends_on"].as_array().map(Vec::as_slice).unwrap_or_default();
    let depends_on = needs.iter().map(self::id).collect();
    let found = PlanStep { id, task, role, skills, depends_on, success_criteria };
    if errors.len() == before
        && let Err(error) = assigned(&found, context)
    {
        errors.push(format!("step '{}': {error}", found.id));
    }
    Some(found)
}

/// Whether its role may have its skills. The check of workflows names those that don't exist.
fn assigned(step: &PlanStep, context: &PlanContext<'_>) -> Result<(), String> {
    let role = context.roles.get(&step.role).ok_or_else(|| context.roles.missing(&step.role))?;
    if step
        .skills
        .iter()
        .any(|name| context.check.skills.get(name).is_none_or(|skill| skill.workflow().is_some()))
    {
        return Ok(());
    }
    let asked = Some(step.skills.clone());
    let (offered, limits) = (context.offered, context.limits);
    let assignment = Assignment { role, asked, parent: None, success_criteria: None, offered, limits };
    assignment.apply(AgentTask::default()).map(drop)
}

/// A step's id. Models like hyphens, which templates can't have, and numbers.
fn id(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.trim().replace(['-', ' '], "_"),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    if text.starts_with(|letter: char| letter.is_ascii_digit()) { format!("step_{text}") } else { text }
}
