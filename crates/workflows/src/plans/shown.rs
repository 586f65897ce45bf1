//! A plan as a person reads it before saying yes.

use super::{Basis, Forecast, Plan, PlanStep};
use crate::Workflow;
use crate::trace::text::{count, cut, one_line};
use crate::view::draw;
use crate::view::report_text::escaped;

/// The longest text of a step, in characters.
const MAX_LENGTH: usize = 400;
/// How many uncertain things and questions are shown.
const MAX_LINES: usize = 10;

/// How a plan is written for a place.
pub(super) struct Style {
    pub(super) bold: fn(&str) -> String,
    quote: fn(&str) -> String,
    pub(super) draw: fn(&Workflow) -> String,
}

/// For a chat, as Markdown.
pub(super) const CHAT: Style =
    Style { bold: |text| format!("**{text}**"), quote: escaped, draw: draw::for_chat };

/// The plan, as Markdown for a chat.
pub fn for_chat(plan: &Plan, goal: &str, workflow: &Workflow, is_changed: bool) -> String {
    let title = if is_changed { "Changed plan" } else { "Plan" };
    text(title, plan, goal, workflow, &CHAT)
}

pub fn for_terminal(plan: &Plan, goal: &str, workflow: &Workflow) -> String {
    let style = Style {
        bold: ToOwned::to_owned,
        quote: ToOwned::to_owned,
        draw: |workflow| draw::draw(workflow, 100),
    };
    text("Plan", plan, goal, workflow, &style)
}

/// What it is for, its drawing, its steps, and what it may take.
fn text(title: &str, plan: &Plan, goal: &str, workflow: &Workflow, style: &Style) -> String {
    let head = (style.bold)(&format!("{title}: {}", style.line(goal)));
    let mut text = format!("{head}\n\n{}\n", (style.draw)(workflow).trim_end());
    for (number, step) in (1..).zip(&plan.steps) {
        text.push_str(&format!("\n{number}. {}", style.step(step)));
    }
    text.push_str(&style.notes(plan));
    text.push_str(&format!("\n\nIt takes {}", takes(&plan.forecast)));
    text
}

impl Style {
    /// A text of a plan, in one line.
    pub(super) fn line(&self, text: &str) -> String {
        (self.quote)(&cut(&one_line(text), MAX_LENGTH))
    }

    /// A step with what it does.
    pub(super) fn short(&self, step: &PlanStep) -> String {
        let id = (self.bold)(&self.line(&step.id));
        format!("{id} ({}): {}", self.line(&step.role), self.line(&step.task))
    }

    /// The same, and when it is done.
    pub(super) fn step(&self, step: &PlanStep) -> String {
        format!("{}\n   Done when: {}", self.short(step), self.line(&step.success_criteria))
    }

    /// What is uncertain, and what will be asked.
    pub(super) fn notes(&self, plan: &Plan) -> String {
        let mut text = String::new();
        for (title, lines) in [("Uncertain", &plan.uncertain), ("You'll be asked", &plan.will_ask)] {
            if !lines.is_empty() {
                let lines: Vec<String> =
                    lines.iter().take(MAX_LINES).map(|text| format!("- {}", self.line(text))).collect();
                text.push_str(&format!("\n\n{}\n{}", (self.bold)(title), lines.join("\n")));
            }
        }
        text
    }
}

/// What it takes, as the end of a sentence, and what that goes by.
pub fn takes(forecast: &Forecast) -> String {
    let range = |(least, most): (u64, u64)| match least == most {
        true => rounded(least),
        false => format!("{} to {}", rounded(least), rounded(most)),
    };
    let cost = match forecast.cost_usd {
        None => "unknown cost, because the model's price isn't known".to_owned(),
        Some((_, 0.0)) => "no cost".to_owned(),
        Some((least, most)) => format!("${least:.2} to ${most:.2}"),
    };
    format!(
        "{} agents, the reviewer at the end among them, {} model calls, {} skill calls, {} tokens, {cost}. {}",
        range(forecast.agents),
        range(forecast.model_calls),
        range(forecast.skill_calls),
        range(forecast.tokens),
        match forecast.basis {
            Basis::Limits =>
                "The upper ends are the limits of the roles, with each step done twice: too few of their agents have worked \
                 so far to go by.",
            Basis::Mixed =>
                "Roles whose agents have worked often count with what those usually took, the others with their limits.",
            Basis::Past => "That's what earlier agents of these roles usually took.",
        }
    )
}

/// An estimate, no more exact than it can be.
fn rounded(number: u64) -> String {
    match number {
        0..1_000 => count(number),
        1_000..100_000 => count(number / 100 * 100),
        100_000..1_000_000 => count(number / 1_000 * 1_000),
        _ => format!("{}.{} million", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}
