//! What came of the scenarios, for people and for programs.

use std::fmt::Write as _;

use adjutant_workflows::trace::{cost, count, duration, one_line};
use serde::Serialize;

use super::super::usage::table;

#[derive(Default, Serialize)]
pub(super) struct Outcome {
    pub(super) group: String,
    pub(super) name: String,
    /// What was expected and didn't come.
    pub(super) missing: Vec<String>,
    /// What was done or asked, and wasn't expected.
    pub(super) unexpected: Vec<String>,
    pub(super) forbidden: Vec<String>,
    pub(super) answers: Vec<String>,
    pub(super) questions: u32,
    pub(super) calls: i64,
    pub(super) tokens_in: i64,
    pub(super) tokens_out: i64,
    pub(super) cost_usd: f64,
    pub(super) unpriced_calls: i64,
    pub(super) latencies_ms: Vec<i64>,
}

impl Outcome {
    fn has_passed(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.forbidden.is_empty()
    }

    pub(super) fn mark(&self) -> &'static str {
        match (self.has_passed(), self.forbidden.is_empty()) {
            (true, _) => "✓",
            (_, true) => "✗",
            _ => "‼",
        }
    }
}

/// All scenarios with one model.
#[derive(Serialize)]
pub(super) struct ModelRun {
    pub(super) model: String,
    pub(super) scenarios: Vec<Outcome>,
}

impl ModelRun {
    fn sum(&self, of: fn(&Outcome) -> i64) -> String {
        count(u64::try_from(self.scenarios.iter().map(of).sum::<i64>()).unwrap_or(0))
    }

    /// How many of the scenarios passed of a group passed, or of all.
    fn passed(&self, group: &str) -> String {
        let (mut passed, mut all) = (0, 0);
        for outcome in self.scenarios.iter().filter(|outcome| group.is_empty() || outcome.group == group) {
            passed += usize::from(outcome.has_passed());
            all += 1;
        }
        format!("{passed}/{all}")
    }

    fn cost(&self) -> String {
        let usd = cost(self.scenarios.iter().map(|outcome| outcome.cost_usd).sum());
        let is_known = self.scenarios.iter().all(|outcome| outcome.unpriced_calls == 0);
        if is_known { usd } else { format!("{usd} + unknown") }
    }

    /// The time within which so many of a hundred answers came.
    fn latency(&self, percent: usize) -> String {
        let mut all: Vec<i64> = self.scenarios.iter().flat_map(|one| &one.latencies_ms).copied().collect();
        all.sort_unstable();
        let at = (all.len() * percent).div_ceil(100).saturating_sub(1);
        duration(all.get(at).copied().unwrap_or(0))
    }

    fn failures(&self, text: &mut String) {
        for outcome in self.scenarios.iter().filter(|outcome| !outcome.has_passed()) {
            let title = format!("{}: {}: {}", self.model, outcome.group, outcome.name);
            let _ = writeln!(text, "\n{} {}", outcome.mark(), one_line(&title));
            for (what, lines) in [
                ("forbidden", &outcome.forbidden),
                ("missing", &outcome.missing),
                ("unexpected", &outcome.unexpected),
                ("answer", &outcome.answers),
            ] {
                for line in lines {
                    let _ = writeln!(text, "  {what}: {}", one_line(line));
                }
            }
        }
    }
}

/// A column for each model, and what went wrong below.
pub(super) fn text(runs: &[ModelRun]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for outcome in runs.iter().flat_map(|run| &run.scenarios) {
        if !groups.contains(&outcome.group.as_str()) {
            groups.push(&outcome.group);
        }
    }
    let row = |name: &str, cell: &dyn Fn(&ModelRun) -> String| -> Vec<String> {
        [name.to_owned()].into_iter().chain(runs.iter().map(cell)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        groups.iter().map(|group| row(group, &|run| run.passed(group))).collect();
    rows.extend([
        row("all", &|run| run.passed("")),
        row("forbidden", &|run| run.sum(|one| i64::try_from(one.forbidden.len()).unwrap_or(0))),
        row("questions", &|run| run.sum(|one| one.questions.into())),
        row("model calls", &|run| run.sum(|one| one.calls)),
        row("tokens in", &|run| run.sum(|one| one.tokens_in)),
        row("tokens out", &|run| run.sum(|one| one.tokens_out)),
        row("cost", &ModelRun::cost),
        row("latency, p50", &|run| run.latency(50)),
        row("latency, p95", &|run| run.latency(95)),
    ]);
    let head: Vec<&str> = [""].into_iter().chain(runs.iter().map(|run| run.model.as_str())).collect();
    let mut text = table(&head, &rows, 0);
    runs.iter().for_each(|run| run.failures(&mut text));
    text
}
