//! A changed rest beside the plan that was agreed to.

use std::fmt::Write;

use adjutant_l10n as l10n;

use super::shown::{CHAT as STYLE, takes};
use super::{Change, FailedStep, Kept, Plan, PlanStep};
use crate::Workflow;

impl Change {
    /// The differences between these steps and the plan before.
    pub fn of(before: &Plan, steps: &[PlanStep], previous: &Kept, failed: Vec<FailedStep>) -> Self {
        let ids = |steps: Vec<&PlanStep>| steps.into_iter().map(|step| step.id.clone()).collect();
        let is_done = |step: &&PlanStep| previous.done.iter().any(|done| done.id == step.id);
        let is_same = |step: &&PlanStep| before.steps.iter().any(|other| other.does_the_same(step));
        let (as_planned, added): (Vec<&PlanStep>, Vec<&PlanStep>) =
            steps.iter().filter(|step| !is_done(step)).partition(is_same);
        let left_out = before.steps.iter().filter(|step| {
            !is_done(step)
                && failed.iter().all(|failed| failed.id != step.id)
                && as_planned.iter().all(|other| other.id != step.id)
        });
        let left_out = ids(left_out.collect());
        let (added, as_planned, planned) = (ids(added), ids(as_planned), before.forecast);
        Self { failed, left_out, added, as_planned, planned }
    }
}

impl PlanStep {
    /// Whether it is the same step, wherever it gets its input from.
    fn does_the_same(&self, other: &Self) -> bool {
        Self { depends_on: other.depends_on.clone(), ..self.clone() } == *other
    }
}

/// The changes to the running plan, as Markdown for a chat. `workflow` is that of the new plan.
pub fn difference(before: &Plan, after: &Plan, goal: &str, workflow: &Workflow) -> String {
    let Some(change) = after.changes.last() else { return String::new() };
    let title = STYLE.bold;
    let mut text = title(&l10n::plans::needs_change(STYLE.line(goal)));
    for failed in &change.failed {
        let (step, reason) = (title(&STYLE.line(&failed.id)), STYLE.line(&failed.reason));
        let _ = write!(text, "\n\n{}", l10n::plans::step_failed(step, reason));
    }
    let _ = write!(text, "\n\n{}", (STYLE.draw)(workflow).trim_end());
    let is_in = |ids: &[String], step: &PlanStep| ids.contains(&step.id);
    let mut section = |name: String, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(text, "\n\n{}\n{}", title(&name), lines.join("\n"));
        }
    };
    let dash = |line: String| format!("- {line}");
    let (before_all, all) = (before.steps.iter(), after.steps.iter());
    let done = all.clone().filter(|step| !is_in(&change.added, step) && !is_in(&change.as_planned, step));
    section(l10n::plans::done_and_stays(), done.map(|step| dash(STYLE.line(&step.id))).collect());
    let left_out = before_all.filter(|step| is_in(&change.left_out, step));
    section(l10n::plans::left_out(), left_out.map(|step| dash(STYLE.short(step))).collect());
    let new = (1..).zip(all.clone().filter(|step| is_in(&change.added, step)));
    section(
        l10n::plans::new(),
        new.map(|(number, step)| format!("{number}. {}", STYLE.step(step))).collect(),
    );
    let as_planned = all.filter(|step| is_in(&change.as_planned, step));
    let and_after = |step: &PlanStep| match before.steps.contains(step) || step.depends_on.is_empty() {
        true => dash(STYLE.short(step)),
        false => dash(l10n::plans::step_after(STYLE.short(step), STYLE.line(&step.depends_on.join(", ")))),
    };
    section(l10n::plans::as_planned(), as_planned.map(and_after).collect());
    text.push_str(&STYLE.notes(after));
    let _ = write!(text, "\n\n{}", l10n::plans::rest_takes(takes(&after.forecast)));
    text
}
