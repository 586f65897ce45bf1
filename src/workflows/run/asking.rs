//! Asking a person: for what a run needs, and what its approval steps want to know.

use serde_json::Value;

use super::state::{Ended, StepEnd};
use super::steps::{Place, fatal};
use super::{Run, Runner, Stop};
use crate::agents::{AgentEnd, AgentTask};
use crate::domain::{ExecutionStatus, QuestionKind, QuestionState};
use crate::journal::{Question, Scope, fail_point};
use crate::store::executions::{self, Closing, ExecutionRow};
use crate::store::questions::QuestionRow;
use crate::store::{Batch, StoreError, questions};
use crate::wording::{self, runs::NOBODY_ANSWERED};
use crate::workflows::definition::{self, Input, Workflow};
use crate::workflows::inputs::fitting;

/// What a person said of a run's inputs.
pub(super) struct Said {
    pub(super) values: Vec<(String, Value)>,
    /// Why the last answer could not be taken.
    pub(super) fault: Option<String>,
}

/// The questions that an execution asked, oldest first.
pub(super) async fn questions(scope: &Scope, row: &ExecutionRow) -> Result<Vec<QuestionRow>, StoreError> {
    let mut asked = questions::of_turn(&scope.store, &scope.turn).await?;
    asked.retain(|question| question.execution_id.as_deref() == Some(&row.id));
    Ok(asked)
}

/// A question of a run.
pub(super) fn question(row: &ExecutionRow, kind: QuestionKind, text: String) -> Question<'_> {
    Question { kind, execution: Some(&row.id), text, choices: |_| Vec::new() }
}

/// Asks, in one commit with what the batch has of it already.
pub(super) async fn ask(scope: &Scope, mut batch: Batch, question: Question<'_>) -> Result<(), StoreError> {
    scope.ask(&mut batch, question);
    scope.store.write(batch).await?;
    fail_point("asked");
    scope.said();
    Ok(())
}

impl Runner {
    /// What a person has said of the inputs so far; or that one is waited for, or that nobody answered in time.
    pub(super) async fn said(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        workflow: &Workflow,
    ) -> Result<Result<Said, AgentEnd>, StoreError> {
        let mut said = Said { values: Vec::new(), fault: None };
        for question in questions(scope, row).await? {
            let QuestionKind::Input { name } = &question.kind else { continue };
            let Some(input) = workflow.inputs.iter().find(|input| input.name == *name) else { continue };
            match &question.answer {
                None if question.state == QuestionState::Pending => return Ok(Err(AgentEnd::Waiting)),
                None => {
                    return self.refuse(scope, row, &wording::runs::nobody_said(name)).await.map(Err);
                }
                Some(answer) => match fitting(input, &Value::from(answer.as_str())) {
                    Ok(value) => said.values.push((name.clone(), value)),
                    Err(why) => said.fault = Some(why),
                },
            }
        }
        Ok(Ok(said))
    }

    pub(super) async fn ask_for(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        workflow: &str,
        input: &Input,
        fault: Option<String>,
    ) -> Result<AgentEnd, StoreError> {
        let text = wording::runs::input(workflow, &input.name, &input.description, fault.as_deref());
        let kind = QuestionKind::Input { name: input.name.clone() };
        let question = question(row, kind, wording::ask_for(&text));
        let mut batch = scope.batch();
        executions::wait(&mut batch, &row.id);
        ask(scope, batch, question).await?;
        Ok(AgentEnd::Waiting)
    }
}

impl Run<'_> {
    /// A step that asks a person; its output is what was chosen.
    pub(super) async fn approval(
        &self,
        place: &Place<'_>,
        question: &definition::Question,
    ) -> Result<StepEnd, Stop> {
        let key = &place.step.id;
        let Some(row) = self.state.row(key) else {
            return match question.text.render(&place.view.values) {
                Ok(text) => self.ask(key, text, &question.choices).await,
                Err(error) => Ok(fatal(error.to_string())),
            };
        };
        if row.status == ExecutionStatus::Completed {
            let output = Value::from(row.result.unwrap_or_default());
            return Ok(StepEnd { attempts: 1, ..StepEnd::new(Ended::Completed, output) });
        }
        if row.status.has_ended() {
            return Ok(fatal(NOBODY_ANSWERED));
        }
        let asked = questions(self.scope, &row).await?;
        let (status, answer) = match asked.last() {
            Some(question) if question.state == QuestionState::Pending => return Err(Stop::Waiting),
            Some(QuestionRow { answer: Some(answer), state: QuestionState::Answered, .. }) => {
                (ExecutionStatus::Completed, answer.as_str().to_owned())
            }
            _ => (ExecutionStatus::Failed, NOBODY_ANSWERED.to_owned()),
        };
        let now = self.scope.store.now();
        let mut batch = self.scope.batch();
        let closing = Closing { result: Some(answer.clone()), ..Closing::default() };
        executions::close(&mut batch, &row.id, status, &closing, now);
        self.scope.store.write(batch).await?;
        fail_point("piece-ended");
        self.state.put_row(key, row.closed(status, &closing, now));
        Ok(match status {
            ExecutionStatus::Completed => {
                StepEnd { attempts: 1, ..StepEnd::new(Ended::Completed, Value::from(answer)) }
            }
            _ => fatal(answer),
        })
    }

    async fn ask(&self, key: &str, text: String, choices: &[String]) -> Result<StepEnd, Stop> {
        let task = AgentTask { mission: text.clone(), ..AgentTask::default() };
        let mut row = self.new_row(key, serde_json::to_string(&task).ok());
        row.status = ExecutionStatus::Waiting;
        row.started_at = Some(self.scope.store.now());
        let mut batch = self.scope.batch();
        executions::insert(&mut batch, &row, &self.scope.conversation.id);
        let asked = wording::choose(&text, choices);
        let question =
            question(&row, QuestionKind::Choice { subject: text, options: choices.to_vec() }, asked);
        ask(self.scope, batch, question).await?;
        self.state.put_row(key, row);
        Err(Stop::Waiting)
    }
}
