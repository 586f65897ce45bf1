//! A plan as a workflow.

use std::fmt::Write;

use adjutant_config::document::Problem;

use super::{Plan, REVIEWER};
use crate::trace::text::clean;
use crate::{Workflow, parse};

/// The workflow of a plan, as a run keeps it and as it is saved.
pub fn workflow(plan: &Plan, goal: &str) -> Result<Workflow, Vec<Problem>> {
    parse(&format!("{}.yaml", plan.name), &yaml(plan, goal))
}

/// The plan in the language of workflows.
pub(super) fn yaml(plan: &Plan, goal: &str) -> String {
    let mut text = format!(
        "workflow:\n  name: {}\n  description: {}\n  review: {REVIEWER}\n  agents:\n",
        plan.name,
        quoted(goal)
    );
    for step in &plan.steps {
        let _ = writeln!(text, "    {}:", word(&step.id));
        let _ = writeln!(text, "      name: {}\n      as_role: {}", quoted(&step.role), quoted(&step.role));
        let _ = writeln!(text, "      prompt: {}", quoted(&step.task));
        let _ = writeln!(text, "      success_criteria: {}", quoted(&step.success_criteria));
        let _ = writeln!(text, "      skills: {}", list(&step.skills));
    }
    text.push_str("  steps:\n");
    for step in &plan.steps {
        let (id, needs) = (word(&step.id), list(&step.depends_on));
        let _ = writeln!(text, "    - {{ id: {id}, agent: {id}, depends_on: {needs} }}");
    }
    text
}

/// An id, in quotes where YAML would read another thing.
fn word(text: &str) -> String {
    const OTHERS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    if OTHERS.iter().any(|other| text.eq_ignore_ascii_case(other)) { quoted(text) } else { text.to_owned() }
}

fn list(texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", all.join(", "))
}

/// A text in quotes, in which nothing is a template.
fn quoted(text: &str) -> String {
    let mut plain = clean(text);
    for mark in ["{{", "{%", "{#"] {
        while plain.contains(mark) {
            let (first, second) = mark.split_at(1);
            plain = plain.replace(mark, &format!("{first} {second}"));
        }
    }
    serde_json::Value::String(plain).to_string()
}
