//! Receipts: what a turn has really done, in lines that no model writes.

use std::sync::atomic::Ordering;

use adjutant_chat::is_told;
use adjutant_l10n as l10n;
use adjutant_skills::{ErrorKind, Handler, builtin, call};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{Result, outbox, rules, turns};
use adjutant_turn::journal::dialogue::Round;
use adjutant_turn::journal::{unshown, without_token};
use adjutant_turn::wording;
use adjutant_types::clock::day;
use adjutant_types::{Basis, ExecutionKind, ExecutionStatus};
use adjutant_workflows::command;

use super::direct::Direct;
use super::{COLLECT, Run, TurnEnd};

impl Run<'_> {
    /// Whether a model's answer has receipts, or the report of a run, which says what agents say. The answers of basic
    /// mode, those to `/undo`, and those to a draft's button are made of the calls' results already.
    fn has_receipts(&self) -> bool {
        let is_others = match &self.direct {
            Some(Direct::Command(text)) => !text.starts_with(command::UNDO),
            Some(Direct::Basic(_) | Direct::Draft(_)) => false,
            None => !self.dialogue.rounds().is_empty(),
        };
        is_others && !self.task_graph.agents.is_empty()
    }

    /// The end of a turn that waits for a person, with what they read above the question.
    pub(super) async fn waiting(&self) -> Result<TurnEnd> {
        Ok(TurnEnd::Waiting(match self.has_receipts() {
            true => self.receipts(&outbox::Message::default()).await?,
            false => Vec::new(),
        }))
    }

    /// Adds the receipts of the turn's effects to an answer.
    pub(super) async fn with_receipts(&self, mut answer: outbox::Message) -> Result<outbox::Message> {
        if !self.has_receipts() {
            // A model that did nothing may still say so in a line like ours.
            if self.direct.is_none() {
                answer.text = wording::receipts::under(&answer.text, &[]);
            }
            return Ok(answer);
        }
        let lines = self.receipts(&answer).await?;
        if self.dialogue.unanswered().is_some() {
            let shown = self.shown().await?;
            let results = shown.lines().filter_map(|line| line.strip_prefix("✓ "));
            answer.text = wording::receipts::unshown(answer.text.lines(), results).join("\n");
        }
        let text = self.below_texts_beside(answer.text).await?;
        answer.text = wording::receipts::under(&text, &lines);
        let mut skills = self.task_graph.agents.iter().filter_map(|agent| agent.task.skills.first());
        let open = match skills.any(|skill| skill.starts_with("assistant.")) {
            true => builtin::still_open(&self.ctx, &self.registry).await?,
            false => Vec::new(),
        };
        if !open.is_empty() {
            answer.text = format!("{}\n\n{}", answer.text, wording::questions::left_open(&open))
                .trim_start()
                .to_owned();
        }
        Ok(answer)
    }

    /// An answer below what the model said as its answer while agents were open, and the texts beside calls that are told,
    /// as far as no question has shown them. Where there is nothing to tell, the latter aren't told either.
    async fn below_texts_beside(&self, mut answer: String) -> Result<String> {
        let is_silent = answer.is_empty() && self.dialogue.unanswered().is_none();
        let is_beside = |round: &&Round| {
            let is_answer = round.calls.iter().any(|call| call.call_id.starts_with(COLLECT));
            (is_answer || (!is_silent && self.tells(round))) && !round.text.trim().is_empty()
        };
        let beside: Vec<i64> = self.dialogue.rounds().iter().filter(is_beside).map(|round| round.n).collect();
        if beside.is_empty() {
            return Ok(answer);
        }
        for (n, text) in unshown(&self.ctx.store, &self.ctx.turn.id).await?.iter().rev() {
            let text = wording::receipts::untold(text, &answer);
            if beside.contains(n) && !text.is_empty() {
                answer = format!("{text}\n\n{answer}").trim_end().to_owned();
            }
        }
        Ok(answer)
    }

    /// Whether a text beside calls is told with the answer. A line only says what is being done, unless no model writes below
    /// it: then it may be what answers a part of the message.
    fn tells(&self, Round { text, calls, .. }: &Round) -> bool {
        !calls.is_empty() && (is_told(text) || self.dialogue.unanswered().is_some())
    }

    /// The texts beside calls, shown above the answer while that is written.
    pub(super) fn told_beside(&self) -> String {
        let rounds = self.dialogue.rounds().iter();
        let told = rounds.filter(|round| self.is_new && self.tells(round));
        told.map(|round| without_token(&round.text).trim().to_owned()).collect::<Vec<_>>().join("\n\n")
    }

    /// The texts that the person has read above the turn's questions.
    async fn shown(&self) -> Result<String> {
        if self.is_new && !self.ctx.control.asked.load(Ordering::Relaxed) {
            return Ok(String::new());
        }
        let turn = turns::by_id(&self.ctx.store, &self.ctx.turn.id).await?;
        Ok(turn.and_then(|turn| turn.answer).unwrap_or_default())
    }

    /// The receipts of the turn's effects, in the order of the calls, without those that the person has read or will.
    pub(super) async fn receipts(&self, answer: &outbox::Message) -> Result<Vec<String>> {
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let calls: Vec<&ExecutionRow> = rows.iter().filter(|row| row.kind == ExecutionKind::Skill).collect();
        // An answer may be the results of its last round. One with titles of others leaves them to the receipts.
        let is_result = self.dialogue.unanswered().is_some() && !self.answers_with_titles();
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
            let is_made_good = row.status != ExecutionStatus::Completed
                && calls[at + 1..]
                    .iter()
                    .any(|later| later.skill == row.skill && later.status == ExecutionStatus::Completed);
            if !is_effect || is_made_good {
                continue;
            }
            let report = call::report(row);
            let error = report.error.as_ref();
            // A model corrects wrong arguments, and a person knows what they rejected.
            let is_expected = error
                .map(|error| error.kind)
                .is_some_and(|kind| kind.is_no() || matches!(kind, ErrorKind::Params | ErrorKind::Overtaken));
            if is_expected {
                continue;
            }
            let title = registered.map(|skill| skill.title().to_owned()).unwrap_or_default();
            // What a server says of its own doing is no receipt.
            let done = match registered.is_some_and(|skill| skill.handler.tool().is_some()) {
                true => format!("{skill}: {title}"),
                false => report.summary.clone(),
            };
            let text = error.map_or(done, |error| error.for_person(report.status));
            let overlaps = registered.and_then(|skill| builtin::still_there(skill, &report.data, &rows));
            let text = overlaps.iter().fold(text, |text, overlaps| text + "\n" + overlaps);
            let rule = self.rule_of(row).await?;
            let is_told = is_result
                && [error.is_some(), rule.is_some(), overlaps.is_some()] == [false; 3]
                && answer.text.contains(&report.summary);
            let line = wording::receipts::line(&title, report.status, &text).filter(|_| !is_told);
            lines.extend(line.map(|line| (row.path(&rows), line + &rule.unwrap_or_default())));
        }
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        lines.sort_by(|(one, _), (other, _)| one.cmp(other));
        let shown = self.shown().await?;
        let new = wording::receipts::unshown(lines.iter().map(|(_, line)| line.as_str()), shown.lines());
        Ok(new.into_iter().map(str::to_owned).collect())
    }

    /// Names the person's rule that allowed a call.
    async fn rule_of(&self, row: &ExecutionRow) -> Result<Option<String>> {
        let Some(Basis::Rule(rule)) = &row.basis else { return Ok(None) };
        let rule = rules::by_id(&self.ctx.store, rule).await?;
        Ok(rule.map(|rule| format!(" {}", l10n::rules::under_rule(day(rule.created_at, self.ctx.turn.zone)))))
    }
}
