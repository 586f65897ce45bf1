//! Questions to a person: for a run's missing inputs, and in approval steps.

use std::collections::BTreeMap;

use adjutant_chat::{OutgoingFile, fenced};
use adjutant_l10n as l10n;
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Batch, Result};
use adjutant_turn::journal::{Question, Suspend, TurnContext, below_unshown, fail_point};
use adjutant_turn::wording;
use adjutant_types::{Answer, ExecutionStatus, QuestionKind, QuestionState};
use serde_json::{Map, Value};

use super::finish::close;
use super::state::{StepOutcome, StepResult};
use super::steps::{StepContext, fatal};
use super::{NotStarted, Run, StepError};
use crate::agents::{AgentTask, Unit};
use crate::definition::{ApprovalStep, Workflow};
use crate::language::inputs::{Inputs, fitting, resolve};

/// The questions that an execution asked, oldest first.
pub(super) async fn of_run(ctx: &TurnContext, row: &ExecutionRow) -> Result<Vec<QuestionRow>> {
    let mut asked = questions::of_turn(&ctx.store, &ctx.turn.id).await?;
    asked.retain(|question| question.execution_id.as_deref() == Some(&row.id));
    Ok(asked)
}

/// The choice that an execution asked for.
pub(super) async fn choice_of(ctx: &TurnContext, row: &ExecutionRow) -> Result<Option<QuestionRow>> {
    let mut asked = of_run(ctx, row).await?.into_iter();
    Ok(asked.find(|question| matches!(question.kind, QuestionKind::Choice { .. })))
}

/// The answer to a question, once none is waited for; none if nobody gave one.
pub(super) fn answer(question: &QuestionRow) -> Result<Option<&Answer>, Suspend> {
    match (question.state, &question.answer) {
        (QuestionState::Pending, _) => Err(Suspend::ForPerson),
        (QuestionState::Answered, answer) => Ok(answer.as_ref()),
        _ => Ok(None),
    }
}

pub(super) fn question(row: &ExecutionRow, kind: QuestionKind, text: String) -> Question<'_> {
    Question { kind, execution: Some(&row.id), text, choices: |_| Vec::new() }
}

/// Asks below what the model said before, in one commit with the batch, and waits. A file follows the question.
pub(super) async fn ask(
    ctx: &TurnContext,
    mut batch: Batch,
    question: Question<'_>,
    file: Option<OutgoingFile>,
) -> Result<Suspend> {
    let _asking = ctx.control.asking.lock().await;
    let text = below_unshown(&ctx.store, &ctx.turn.id, &mut batch, question.text).await?;
    question.execution.iter().for_each(|row| executions::wait(&mut batch, row));
    ctx.ask_with_file(&mut batch, Question { text, ..question }, file);
    ctx.store.write(batch).await?;
    fail_point("asked");
    ctx.wake_delivery();
    Ok(Suspend::ForPerson)
}

/// The inputs; asks for a missing one.
pub(super) async fn inputs(
    Unit { ctx, row, .. }: Unit<'_>,
    workflow: &Workflow,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, NotStarted> {
    let mut given: BTreeMap<String, Value> = given.clone().into_iter().collect();
    let mut unfit = None;
    for question in of_run(ctx, row).await? {
        let QuestionKind::Input { name } = &question.kind else { continue };
        let Some(input) = workflow.inputs.iter().find(|input| input.name == *name) else { continue };
        let answer = answer(&question)?.ok_or_else(|| l10n::runs::no_input(name))?;
        match fitting(input, &Value::from(answer.as_str())) {
            Ok(value) => drop(given.insert(name.clone(), value)),
            Err(error) => unfit = Some(error),
        }
    }
    let Inputs { values, missing } = resolve(workflow, &given).map_err(|problems| problems.join("; "))?;
    let Some(input) = missing.first() else { return Ok(values) };
    let text = wording::runs::input(&workflow.name, &input.name, &input.description, unfit.as_deref());
    let kind = QuestionKind::Input { name: input.name.clone() };
    let question = question(row, kind, l10n::questions::ask_for_text(text));
    Err(ask(ctx, ctx.batch(), question, None).await?.into())
}

/// Asks whether to run a workflow, with what it is given: the person may have meant another one, or none.
pub(super) async fn agreed(
    unit: Unit<'_>,
    workflow: &str,
    given: &Map<String, Value>,
) -> Result<(), NotStarted> {
    let Unit { ctx, row, .. } = unit;
    let options = vec![l10n::runs::run_it(), l10n::runs::leave_it()];
    let Some(asked) = choice_of(ctx, row).await? else {
        let (subject, mut text) = (l10n::runs::run_subject(workflow), l10n::runs::ask_to_run(workflow));
        if !given.is_empty() {
            // A yes covers what is shown, so nothing is cut.
            let given = serde_json::to_string_pretty(given).unwrap_or_default();
            text.push_str(&format!("\n\n{}", fenced(&given)));
        }
        let text = wording::choose(&text, &options);
        let kind = QuestionKind::Choice { subject, options, draft: None };
        return Err(ask(ctx, ctx.batch(), question(row, kind, text), None).await?.into());
    };
    if answer(&asked)?.ok_or_else(l10n::runs::nobody_answered)?.as_str() == options[0] {
        return Ok(());
    }
    Err(close(unit, Ok(l10n::runs::not_run())).await?.into())
}

impl Run<'_> {
    /// A step that asks a person; its output is the choice.
    pub(super) async fn approval(
        &self,
        within: &StepContext<'_>,
        approval: &ApprovalStep,
    ) -> Result<StepResult, StepError> {
        let key = &within.step.id;
        let Some(row) = self.state.row(key) else {
            let text = approval.text.render(&within.templates.values)?;
            return self.ask(key, text, &approval.choices).await;
        };
        if row.status == ExecutionStatus::Completed {
            return Ok(chosen(row.result.unwrap_or_default()));
        }
        if row.status.has_ended() {
            return Ok(fatal(l10n::runs::nobody_answered()));
        }
        let asked = of_run(self.ctx, &row).await?;
        let (status, answer) = match asked.last().map(answer).transpose()?.flatten() {
            Some(answer) => (ExecutionStatus::Completed, answer.as_str().to_owned()),
            None => (ExecutionStatus::Failed, l10n::runs::nobody_answered()),
        };
        let now = self.ctx.store.now();
        let closing = Closing { result: Some(answer.clone()), ..Closing::default() };
        self.ctx.write(|batch| executions::close(batch, &row.id, status, &closing, now)).await?;
        fail_point("piece-ended");
        self.state.put_row(key, row.closed(status, &closing, now));
        Ok(if status == ExecutionStatus::Completed { chosen(answer) } else { fatal(answer) })
    }

    async fn ask(&self, key: &str, text: String, choices: &[String]) -> Result<StepResult, StepError> {
        let task = AgentTask { mission: text.clone(), ..AgentTask::default() };
        let mut row = self.new_row(key, &task);
        row.status = ExecutionStatus::Waiting;
        row.started_at = Some(self.ctx.store.now());
        let mut batch = self.ctx.batch();
        executions::insert(&mut batch, &row, &self.ctx.turn.conversation.id);
        let asked = wording::choose(&text, choices);
        let kind = QuestionKind::Choice { subject: text, options: choices.to_vec(), draft: None };
        let suspend = ask(self.ctx, batch, question(&row, kind, asked), None).await?;
        self.state.put_row(key, row);
        Err(suspend.into())
    }
}

fn chosen(answer: String) -> StepResult {
    StepResult { attempts: 1, ..StepResult::new(StepOutcome::Completed, Value::from(answer)) }
}
