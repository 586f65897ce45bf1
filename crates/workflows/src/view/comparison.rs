//! A run beside what was expected of it: what became of each step, what it took, and where it differs from the plan.

use adjutant_l10n as l10n;

use super::report::{Report, Spent, StepReport, StepStatus};
use super::report_text::status_word;
use crate::plans::Change;
use crate::trace::text::{cost, count, cut, one_line};

/// Columns of a reason.
const MAX_LENGTH: usize = 300;

impl Report {
    /// A line for each step with what it took, or for those alone that didn't go as planned, and one for all; none for a
    /// run that nobody judged.
    pub(super) fn comparison(
        &self,
        bold: fn(&str) -> String,
        quote: fn(&str) -> String,
        has_usage: bool,
    ) -> Option<String> {
        let all = self.run.spent?;
        let told = |step: &StepReport| {
            let is_added = self.is_added(step);
            let is_as_planned = step.status == StepStatus::Completed
                && !(step.redone || is_added || step.attempts > 1)
                && step.review.as_ref().is_some_and(|review| review.fulfilled);
            if is_as_planned && !has_usage {
                return None;
            }
            let (id, result) = (one_line(&step.id), deed(step, is_added));
            let mut line = match step.agent.as_deref() {
                Some(agent) => l10n::runs::step_result_by(id, one_line(agent), result),
                None => l10n::runs::step_result(id, result),
            };
            if let Some(spent) = step.spent.filter(|spent| has_usage && spent.model_calls > 0) {
                line.push_str(&format!("; {}", took(&spent)));
            }
            Some(line)
        };
        let section = |title: String, lines: Vec<String>| {
            let lines: Vec<String> = lines.iter().map(|line| quote(&cut(line, MAX_LENGTH))).collect();
            (!lines.is_empty()).then(|| format!("{}\n- {}", bold(&title), lines.join("\n- ")))
        };
        let steps = section(l10n::runs::plan_and_result(), self.steps.iter().filter_map(told).collect());
        let changes = section(l10n::runs::changes(), self.run.changes.iter().map(changed).collect());
        let parts = [steps, changes, Some(self.took_in_all(&all))];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
    }

    /// The total usage, and the planned usage.
    fn took_in_all(&self, all: &Spent) -> String {
        let spent = took(all);
        let Some(forecast) = self.run.forecast else { return l10n::runs::took(spent) };
        let (min, max) = (count(forecast.model_calls.0), count(forecast.model_calls.1));
        match forecast.cost_usd {
            Some((min_cost, max_cost)) if max_cost > 0.0 => {
                let (min_cost, max_cost) = (format!("${min_cost:.2}"), format!("${max_cost:.2}"));
                l10n::runs::took_planned_cost(spent, min, max, min_cost, max_cost)
            }
            _ => l10n::runs::took_planned(spent, min, max),
        }
    }

    /// Whether a step came into the plan while it ran.
    fn is_added(&self, step: &StepReport) -> bool {
        self.run.changes.iter().any(|change| change.added.contains(&step.id))
    }
}

/// The failed steps, and their replacements.
fn changed(change: &Change) -> String {
    let failed = change.failed.iter();
    let mut parts: Vec<String> =
        failed.map(|failed| one_line(&l10n::runs::step_failed_because(&failed.id, &failed.reason))).collect();
    let listed = |ids: &[String]| (!ids.is_empty()).then(|| one_line(&ids.join(", ")));
    parts.extend(listed(&change.added).map(l10n::runs::instead));
    parts.extend(listed(&change.left_out).map(l10n::runs::left_out));
    parts.join("; ")
}

/// The outcome of a step, compared with the plan.
pub fn deed(step: &StepReport, is_added: bool) -> String {
    match step.status {
        StepStatus::Completed => {}
        StepStatus::Skipped => return l10n::runs::not_reached(),
        other => return status_word(other),
    }
    // What the review says: fulfilled, or what it objects to.
    let fulfilled = step.review.as_ref().map(|review| review.fulfilled.then_some(()).ok_or(&review.reason));
    match (step.redone, step.attempts, fulfilled) {
        (true, _, None) => l10n::runs::again_not_reviewed(),
        (true, _, Some(Ok(()))) => l10n::runs::again_as_planned(),
        (true, _, Some(Err(reason))) => l10n::runs::again_falls_short(one_line(reason)),
        (false, ..=1, None) => l10n::runs::done_not_reviewed(),
        (false, ..=1, Some(Ok(()))) if is_added => l10n::runs::as_changed_plan(),
        (false, ..=1, Some(Ok(()))) => l10n::runs::as_planned(),
        (false, ..=1, Some(Err(reason))) => l10n::runs::done_falls_short(one_line(reason)),
        (false, _, None) => l10n::runs::retried_not_reviewed(),
        (false, _, Some(Ok(()))) => l10n::runs::retried_as_planned(),
        (false, _, Some(Err(reason))) => l10n::runs::retried_falls_short(one_line(reason)),
    }
}

/// The usage, in words.
pub fn took(spent: &Spent) -> String {
    let tokens = u64::try_from(spent.tokens).unwrap_or(0);
    let mut parts = vec![l10n::runs::model_calls(spent.model_calls)];
    parts.extend((tokens > 0).then(|| l10n::runs::tokens(tokens, count(tokens))));
    parts.extend((spent.cost_usd > 0.0).then(|| cost(spent.cost_usd)));
    parts.join(", ")
}
