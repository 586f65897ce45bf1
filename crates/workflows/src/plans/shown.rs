//! A plan as a person reads it before saying yes.

use adjutant_l10n as l10n;

use super::{Basis, Forecast, Plan, PlanStep};
use crate::Workflow;
use crate::trace::text::{count, cut, one_line};
use crate::view::draw;
use crate::view::report_text::escaped;

/// The longest text of a step, in characters.
const MAX_LENGTH: usize = 400;
/// The number of uncertainties and questions shown.
const MAX_LINES: usize = 10;

/// The style in which a plan is written for a chat or a terminal.
pub(super) struct Style {
    pub(super) bold: fn(&str) -> String,
    quote: fn(&str) -> String,
    pub(super) draw: fn(&Workflow) -> String,
}

/// For a chat, as Markdown.
pub(super) const CHAT: Style =
    Style { bold: |text| format!("**{text}**"), quote: escaped, draw: draw::for_chat };

pub fn for_chat(plan: &Plan, goal: &str, workflow: &Workflow, is_changed: bool) -> String {
    let goal = CHAT.line(goal);
    let title = if is_changed { l10n::plans::changed_title(goal) } else { l10n::plans::title(goal) };
    text(&title, plan, workflow, &CHAT)
}

pub fn for_terminal(plan: &Plan, goal: &str, workflow: &Workflow) -> String {
    let style = Style {
        bold: ToOwned::to_owned,
        quote: ToOwned::to_owned,
        draw: |workflow| draw::draw(workflow, 100),
    };
    text(&l10n::plans::title(style.line(goal)), plan, workflow, &style)
}

/// What it is for, its drawing, its steps, and what it may take.
fn text(title: &str, plan: &Plan, workflow: &Workflow, style: &Style) -> String {
    let mut text = format!("{}\n\n{}\n", (style.bold)(title), (style.draw)(workflow).trim_end());
    text.extend((1..).zip(&plan.steps).map(|(number, step)| format!("\n{number}. {}", style.step(step))));
    text.push_str(&style.notes(plan));
    text.push_str(&format!("\n\n{}", l10n::plans::takes(takes(&plan.forecast))));
    text
}

impl Style {
    pub(super) fn line(&self, text: &str) -> String {
        (self.quote)(&cut(&one_line(text), MAX_LENGTH))
    }

    pub(super) fn short(&self, step: &PlanStep) -> String {
        let id = (self.bold)(&self.line(&step.id));
        format!("{id} ({}): {}", self.line(&step.role), self.line(&step.task))
    }

    /// The same, and when it is done.
    pub(super) fn step(&self, step: &PlanStep) -> String {
        format!("{}\n   {}", self.short(step), l10n::plans::done_when(self.line(&step.success_criteria)))
    }

    /// The uncertainties and the coming questions.
    pub(super) fn notes(&self, plan: &Plan) -> String {
        let mut text = String::new();
        let parts = [(l10n::plans::uncertain(), &plan.uncertain), (l10n::plans::will_ask(), &plan.will_ask)];
        for (title, lines) in parts {
            if !lines.is_empty() {
                let lines: Vec<String> =
                    lines.iter().take(MAX_LINES).map(|text| format!("- {}", self.line(text))).collect();
                text.push_str(&format!("\n\n{}\n{}", (self.bold)(&title), lines.join("\n")));
            }
        }
        text
    }
}

/// What it takes, as the end of a sentence, and a sentence that says what that goes by.
pub fn takes(forecast: &Forecast) -> String {
    let (usual, most) = (count(forecast.model_calls.0), count(forecast.model_calls.1));
    let estimate = match forecast.cost_usd {
        None => l10n::plans::estimate_unpriced(usual, most),
        Some((_, 0.0)) => l10n::plans::estimate_free(usual, most),
        Some((cost, most_cost)) => {
            l10n::plans::estimate(usual, format!("${cost:.2}"), most, format!("${most_cost:.2}"))
        }
    };
    let basis = match forecast.basis {
        Basis::Limits => l10n::plans::by_limits(),
        Basis::Mixed => l10n::plans::by_some_agents(),
        Basis::Past => l10n::plans::by_agents(),
    };
    format!("{estimate}\n{basis}")
}
