//! What a turn has really done, in lines that no model writes.

use adjutant_l10n as l10n;
use adjutant_skills::{ErrorKind, Handler, call};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{StoreError, calls, outbox, rules};
use adjutant_turn::wording;
use adjutant_types::clock::day;
use adjutant_types::{Basis, ExecutionKind, ExecutionStatus};
use adjutant_workflows::command;

use super::direct::Direct;
use super::{COLLECT, Run};

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
        let lines = self.receipts(&answer).await?;
        // What the model said as its answer while agents were open, or beside results that are the answer, as far as no
        // question has shown it.
        let last = self.dialogue.unanswered().map(|round| round.n);
        let is_answer = |n: i64| {
            let rounds = self.dialogue.rounds().iter().filter(|round| round.n == n);
            last == Some(n)
                || rounds.flat_map(|round| &round.calls).any(|call| call.call_id.starts_with(COLLECT))
        };
        for (n, text) in calls::unshown(&self.ctx.store, &self.ctx.turn.id).await?.iter().rev() {
            if is_answer(*n) && !answer.text.contains(text.trim()) {
                answer.text = format!("{}\n\n{}", text.trim(), answer.text);
            }
        }
        answer.text = wording::receipts::under(&answer.text, &lines);
        Ok(answer)
    }

    /// The receipts of the turn's effects that an answer doesn't have already, in the order of the calls.
    pub(super) async fn receipts(&self, answer: &outbox::Message) -> Result<Vec<String>, StoreError> {
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let calls: Vec<&ExecutionRow> = rows.iter().filter(|row| row.kind == ExecutionKind::Skill).collect();
        // An answer may be the results of its last round.
        let is_result = self.dialogue.unanswered().is_some();
        let mut lines = Vec::new();
        for (at, row) in calls.iter().enumerate() {
            let skill = row.skill.as_deref().unwrap_or_default();
            let registered = self.registry.get(skill);
            let is_effect = registered.is_some_and(|skill| match &skill.handler {
                // What others wrote may have dropped the question.
                Handler::Builtin(name) if name == "assistant.withdraw" => {
                    row.status == ExecutionStatus::Completed && !row.taint.is_clean()
                }
                _ => skill.has_effect(),
            });
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
                    let rule = self.rule_of(row).await?;
                    let is_told = is_result
                        && error.is_none()
                        && rule.is_none()
                        && answer.text.contains(&report.summary);
                    let line = wording::receipts::line(&title, report.status, &text).filter(|_| !is_told);
                    lines.extend(line.map(|line| (row.path(&rows), line + &rule.unwrap_or_default())));
                }
            }
        }
        lines.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(lines.into_iter().map(|(_, line)| line).collect())
    }

    /// Names the person's rule that allowed a call.
    async fn rule_of(&self, row: &ExecutionRow) -> Result<Option<String>, StoreError> {
        let Some(Basis::Rule(rule)) = &row.basis else { return Ok(None) };
        let rule = rules::by_id(&self.ctx.store, rule).await?;
        Ok(rule.map(|rule| format!(" {}", l10n::rules::under_rule(day(rule.created_at, self.ctx.turn.zone)))))
    }
}
