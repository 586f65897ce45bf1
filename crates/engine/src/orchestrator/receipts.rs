//! What a turn has really done, in lines that no model writes.

use adjutant_l10n as l10n;
use adjutant_skills::{ErrorKind, call};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{StoreError, outbox, rules};
use adjutant_turn::wording;
use adjutant_types::clock::day;
use adjutant_types::{Basis, ExecutionKind, ExecutionStatus};
use adjutant_workflows::command;

use super::Run;
use super::direct::Direct;

impl Run<'_> {
    /// Adds the receipts of the turn's effects to a model's answer, or to the report of a run, which says what agents say.
    /// The answers of basic mode, and those to `/undo`, are made of the calls' results already.
    pub(super) async fn with_receipts(
        &self,
        mut answer: outbox::Message,
    ) -> Result<outbox::Message, StoreError> {
        let has_receipts = match &self.direct {
            Some(Direct::Command(text)) => !text.starts_with(command::UNDO),
            Some(Direct::Basic(_)) => false,
            None => !self.dialogue.rounds().is_empty(),
        };
        if !has_receipts || self.task_graph.agents.is_empty() {
            return Ok(answer);
        }
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let calls: Vec<&ExecutionRow> = rows.iter().filter(|row| row.kind == ExecutionKind::Skill).collect();
        let mut lines = Vec::new();
        for (at, row) in calls.iter().enumerate() {
            let skill = row.skill.as_deref().unwrap_or_default();
            let registered = self.registry.get(skill);
            let is_effect = registered.is_some_and(|skill| skill.has_effect());
            let title = registered.map(|skill| skill.title().to_owned()).unwrap_or_default();
            let is_made_good = row.status != ExecutionStatus::Completed
                && calls[at + 1..]
                    .iter()
                    .any(|later| later.skill == row.skill && later.status == ExecutionStatus::Completed);
            if is_effect && !is_made_good {
                let report = call::report(row);
                let error = report.error.as_ref();
                // A model corrects wrong arguments, and a person knows what they rejected.
                let is_expected =
                    error.is_some_and(|error| matches!(error.kind, ErrorKind::Params | ErrorKind::Rejected));
                if !is_expected {
                    // What a server says of its own doing is no receipt.
                    let done = match registered.is_some_and(|skill| skill.handler.tool().is_some()) {
                        true => format!("{skill}: {title}"),
                        false => report.summary.clone(),
                    };
                    let text = error.map_or(done, |error| error.for_person(report.status));
                    let line = wording::receipts::line(&title, report.status, &text);
                    let rule = self.rule_of(row).await?.unwrap_or_default();
                    lines.extend(line.map(|line| line + &rule));
                }
            }
        }
        // An answer that is the results of its last round has those already.
        if self.dialogue.unanswered().is_some() {
            lines.retain(|line| !answer.text.contains(line.trim_start_matches(['✓', ' '])));
        }
        answer.text = wording::receipts::under(&answer.text, &lines);
        Ok(answer)
    }

    /// Names the person's rule that allowed a call.
    async fn rule_of(&self, row: &ExecutionRow) -> Result<Option<String>, StoreError> {
        let Some(Basis::Rule(rule)) = &row.basis else { return Ok(None) };
        let rule = rules::by_id(&self.ctx.store, rule).await?;
        Ok(rule.map(|rule| format!(" {}", l10n::rules::under_rule(day(rule.created_at, self.ctx.turn.zone)))))
    }
}
