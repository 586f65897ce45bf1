//! Running a draft: a workflow is drafted from words, shown, and run or saved once its person agrees.

use adjutant_l10n as l10n;
use adjutant_store::Result;
use adjutant_store::executions;
use adjutant_store::questions::QuestionRow;
use adjutant_turn::journal::{Suspend, TurnContext};
use adjutant_turn::wording;
use adjutant_types::QuestionKind;
use futures::FutureExt;

use super::finish::close;
use super::questions::{answer, ask, choice_of, question};
use super::unit::{name_of, new_row};
use super::{NotStarted, Runner, start};
use crate::agents::{AgentEnd, AgentTask, Job, Report, Unit};
use crate::draft::{self, DraftError, MAX_TRIES};
use crate::{CheckContext, Workflow, parse};

impl Runner {
    /// The workflow drafted from words, once its person wants it to run.
    pub(super) async fn drafted(&self, unit: Unit<'_>, words: &str) -> Result<Workflow, NotStarted> {
        if let Some(question) = choice_of(unit.ctx, unit.row).await? {
            return self.decided(unit, &question, words).await;
        }
        let workflow = self.by_model(unit, words).await?;
        Err(self.ask_whether(unit, &workflow, words).await?.into())
    }

    /// A draft by the agents' model.
    async fn by_model(&self, unit: Unit<'_>, words: &str) -> Result<Workflow, NotStarted> {
        let Unit { ctx, registry, .. } = unit;
        let catalogue = self.workflows.current();
        let (approval, workflows) = (&ctx.turn.settings.approval, &catalogue.workflows);
        let context = CheckContext { skills: registry, approval, workflows };
        let name = draft::name(words, workflows);
        let mut messages = draft::request(words, &name, registry).map_err(|error| error.to_string())?;
        let mut errors = Vec::new();
        for attempt in 1..=MAX_TRIES {
            let mission: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
            let key = format!("draft#{attempt}");
            let task = AgentTask { mission: mission.join("\n\n"), ..AgentTask::default() };
            let report = self.think(unit, &key, task).await?;
            if !report.status.ended_well() {
                return Err(report.line().into());
            }
            match draft::read(&report.result, &name, &context) {
                Ok(workflow) => return Ok(workflow),
                Err(found) => errors = found,
            }
            draft::retry(&mut messages, &report.result, &errors);
        }
        Err(DraftError::Invalid(errors).to_string().into())
    }

    /// An agent of the run before its first step; its report, from the journal if it has ended before.
    pub(super) async fn think(
        &self,
        unit: Unit<'_>,
        key: &str,
        task: AgentTask,
    ) -> Result<Report, NotStarted> {
        let Unit { ctx, registry, row } = unit;
        let children = executions::of_agent(&ctx.store, &row.id).await?;
        let task = AgentTask { agent_id: name_of(row, key), ..task };
        let taint = std::iter::once(&row.taint).chain(children.iter().map(|child| &child.taint)).collect();
        let existing = start::by_key(row, children).remove(key);
        let agent = match existing {
            Some(existing) if existing.status.has_ended() => return Ok(Report::of(&existing, &[])),
            Some(existing) => existing,
            None => {
                ctx.limits.budget.take_agent().map_err(Suspend::AtLimit)?;
                let mut new = new_row(ctx, row, key, &task);
                new.taint = taint;
                let now = ctx.store.now();
                let mut batch = ctx.batch();
                executions::start(&mut batch, &row.id, now);
                executions::insert(&mut batch, &new, &ctx.turn.conversation.id);
                executions::start(&mut batch, &new.id, now);
                ctx.store.write(batch).await?;
                new.started_at = Some(now);
                new
            }
        };
        match self.agents.run(ctx, registry, &agent, Job { task, ..Job::default() }).boxed().await? {
            AgentEnd::Done(report) => Ok(*report),
            AgentEnd::Suspended(suspend) => Err(suspend.into()),
        }
    }

    async fn ask_whether(&self, unit: Unit<'_>, workflow: &Workflow, words: &str) -> Result<Suspend> {
        use l10n::runs;
        let Unit { ctx, row, .. } = unit;
        // Everybody can use a saved workflow, and its words count as the owner's: so only owners save, and only what nobody
        // else has dictated.
        let can_save = self.folder.is_some() && row.taint.is_clean() && ctx.is_owners().await?;
        let (mut sentences, file) = draft::preview(workflow);
        let is_repeated = recurs(ctx, words);
        let options = match (is_repeated, can_save) {
            (false, true) => vec![runs::run_it(), runs::save_it(), runs::run_and_save_it(), runs::discard()],
            // What is to happen again must be there again.
            (true, true) => vec![runs::run_and_save_it(), runs::save_it(), runs::discard()],
            (_, false) => vec![runs::run_it(), runs::discard()],
        };
        if is_repeated {
            let how = if can_save { runs::not_scheduled(&workflow.name) } else { runs::not_repeated() };
            sentences = format!("{sentences}\n\n{how}");
        }
        let text = wording::choose(&sentences, &options);
        let (subject, draft) = (runs::draft_subject(&workflow.name), Some(workflow.text.clone()));
        let question = question(row, QuestionKind::Choice { subject, options, draft }, text);
        ask(ctx, ctx.batch(), question, Some(file)).await
    }

    /// Acts on the answer about a draft.
    async fn decided(
        &self,
        unit: Unit<'_>,
        question: &QuestionRow,
        words: &str,
    ) -> Result<Workflow, NotStarted> {
        let QuestionKind::Choice { subject, options, draft } = &question.kind else {
            return Err(Suspend::ForPerson.into());
        };
        let answer = answer(question)?.ok_or_else(l10n::runs::draft_expired)?.as_str();
        // An earlier version kept it as the subject.
        let text = draft.as_deref().unwrap_or(subject);
        let workflow = parse("draft.yaml", text).map_err(|_| l10n::runs::draft_gone())?;
        let (runs, saves) = decision(options, answer);
        let mut message = l10n::runs::discarded();
        if saves {
            message = l10n::runs::saved(self.save(&workflow)?, &workflow.name);
            if recurs(unit.ctx, words) {
                message = format!("{message}\n\n{}", l10n::runs::not_scheduled(&workflow.name));
            }
        }
        if runs {
            return Ok(workflow);
        }
        Err(close(unit, Ok(message)).await?.into())
    }

    fn save(&self, workflow: &Workflow) -> Result<String, String> {
        let folder = self.folder.as_deref().ok_or_else(l10n::runs::no_folder)?;
        let path = folder.join(format!("{}.yaml", workflow.name));
        match draft::save(folder, &workflow.name, &workflow.text) {
            Ok(path) => Ok(path.display().to_string()),
            // It was saved before a crash.
            Err(_) if std::fs::read_to_string(&path).is_ok_and(|text| text == workflow.text) => {
                Ok(path.display().to_string())
            }
            Err(error) => Err(l10n::runs::cannot_save(path.display(), error)),
        }
    }
}

/// Whether a draft runs, and whether it is saved. The options are those of `ask_whether`, in the language of that time.
pub(super) fn decision(options: &[String], answer: &str) -> (bool, bool) {
    let chosen = options.iter().position(|option| option == answer);
    match options.len() {
        4 => (matches!(chosen, Some(0 | 2)), matches!(chosen, Some(1 | 2))),
        3 => (chosen == Some(0), matches!(chosen, Some(0 | 1))),
        _ => (chosen == Some(0), false),
    }
}

/// Whether it is to happen again and again, by the words of the draft or of the person's message.
fn recurs(ctx: &TurnContext, words: &str) -> bool {
    draft::recurs(words) || ctx.trust.own_text.as_deref().is_some_and(draft::recurs)
}
