//! A run beside what was expected of it: what became of each step, what it took, and where it differs from the plan.

use super::report::{Report, Spent, StepReport, StepStatus};
use crate::plans::Change;
use crate::trace::text::{cost, count, cut, one_line, several};

/// Columns of a reason.
const MAX_LENGTH: usize = 300;

/// The titles of the two parts.
pub(super) const RESULT: &str = "Plan and result";
const CHANGED: &str = "Changed while it ran, with your yes";

impl Report {
    /// A line for each step and one for all; none for a run that nobody judged.
    pub(super) fn comparison(&self, title: &str, quote: fn(&str) -> String) -> Option<String> {
        let all = self.run.spent?;
        let mut text = title.to_owned();
        for step in &self.steps {
            let agent =
                step.agent.as_deref().map(|agent| format!(" ({})", one_line(agent))).unwrap_or_default();
            let mut line = format!("{}{agent}: {}", one_line(&step.id), deed(step, self.is_added(step)));
            if let Some(spent) = step.spent.filter(|spent| spent.model_calls > 0) {
                line.push_str(&format!("; {}", took(&spent)));
            }
            text.push_str(&format!("\n- {}", quote(&cut(&line, MAX_LENGTH))));
        }
        let changes: Vec<String> =
            self.run.changes.iter().map(|it| quote(&cut(&changed(it), MAX_LENGTH))).collect();
        if !changes.is_empty() {
            text.push_str(&format!("\n\n{}\n- {}", title.replace(RESULT, CHANGED), changes.join("\n- ")));
        }
        text.push_str(&format!("\n\nIt took {} in all", took(&all)));
        if let Some(forecast) = self.run.forecast {
            let (least, most) = forecast.model_calls;
            text.push_str(&format!("; planned were {} to {} model calls", count(least), count(most)));
            if let Some((least, most)) = forecast.cost_usd.filter(|(_, most)| *most > 0.0) {
                text.push_str(&format!(" and ${least:.2} to ${most:.2}"));
            }
        }
        text.push('.');
        Some(text)
    }

    /// Whether a step came into the plan while it ran.
    fn is_added(&self, step: &StepReport) -> bool {
        self.run.changes.iter().any(|change| change.added.contains(&step.id))
    }
}

/// What failed, and what came instead.
fn changed(change: &Change) -> String {
    let failed = change.failed.iter();
    let failed: Vec<String> =
        failed.map(|failed| one_line(&format!("{} failed: {}", failed.id, failed.reason))).collect();
    let listed = |title: &str, ids: &[String]| match ids.is_empty() {
        true => String::new(),
        false => format!("; {title}: {}", one_line(&ids.join(", "))),
    };
    let (added, left_out) = (listed("instead", &change.added), listed("left out", &change.left_out));
    format!("{}{added}{left_out}", failed.join("; "))
}

/// What became of a step, compared with the plan.
pub fn deed(step: &StepReport, is_added: bool) -> String {
    match step.status {
        StepStatus::Completed => {}
        StepStatus::Skipped => return "not reached".to_owned(),
        StepStatus::Pending => return "to do".to_owned(),
        other => return other.to_string(),
    }
    let how = match (step.redone, step.attempts) {
        (true, _) => "done again after the review",
        (false, ..=1) => "done",
        (false, _) => "done after more than one try",
    };
    match &step.review {
        None => format!("{how}, not reviewed"),
        Some(review) if review.fulfilled && how == "done" && is_added => {
            "done as the changed plan says".to_owned()
        }
        Some(review) if review.fulfilled && how == "done" => "done as planned".to_owned(),
        Some(review) if review.fulfilled => format!("{how}, now as planned"),
        Some(review) => format!("{how}, but it falls short: {}", one_line(&review.reason)),
    }
}

/// What it took, in words.
pub fn took(spent: &Spent) -> String {
    let mut text = several(spent.model_calls, "model call");
    if spent.tokens > 0 {
        text.push_str(&format!(", {} tokens", count(u64::try_from(spent.tokens).unwrap_or(0))));
    }
    if spent.cost_usd > 0.0 {
        text.push_str(&format!(", {}", cost(spent.cost_usd)));
    }
    text
}
