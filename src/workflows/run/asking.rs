//! Asking a person: for what a run needs, and what its approval steps want to know.

use serde_json::Value;

use super::state::{Ended, StepEnd};
use super::steps::{Place, fatal};
use super::{Run, Runner, Stop};
use crate::agents::{AgentEnd, AgentTask};
use crate::journal::{Question, Scope, fail_point};
use crate::store::executions::{self, Closing, ExecutionRow, Status};
use crate::store::prompts::PromptRow;
use crate::store::{StoreError, people, prompts};
use crate::wording;
use crate::workflows::definition::{self, Input, Workflow};
use crate::workflows::inputs::fitting;

/// What a person said of a run's inputs.
pub(super) struct Said {
    pub(super) values: Vec<(String, Value)>,
    /// Why the last answer could not be taken.
    pub(super) fault: Option<String>,
}

/// The questions that an execution asked, oldest first.
pub(super) async fn questions(scope: &Scope, row: &ExecutionRow) -> Result<Vec<PromptRow>, StoreError> {
    let mut asked = prompts::of_turn(&scope.store, &scope.turn).await?;
    asked.retain(|prompt| prompt.execution_id.as_deref() == Some(&row.id));
    Ok(asked)
}

/// Whether it is an owner's turn.
pub(super) async fn is_owners(scope: &Scope) -> Result<bool, StoreError> {
    let accounts = people::accounts(&scope.store, &scope.person.id).await?;
    Ok(accounts.iter().any(|account| scope.settings.owners.contains(account)))
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
        for prompt in questions(scope, row).await?.into_iter().filter(|prompt| prompt.kind == "input") {
            let name = &prompt.preview;
            let Some(input) = workflow.inputs.iter().find(|input| input.name == *name) else { continue };
            match &prompt.answer {
                None if prompt.state == "pending" => return Ok(Err(AgentEnd::Waiting)),
                None => {
                    let why = format!("nobody said in time what '{name}' is");
                    return self.refuse(scope, row, &why).await.map(Err);
                }
                Some(answer) => match fitting(input, &Value::String(answer.clone())) {
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
        let what = match input.description.trim() {
            "" => format!("`{}`", input.name),
            described => format!("`{}` ({described})", input.name),
        };
        let text = match fault {
            Some(fault) => format!("That can't be: {fault}. What is {what}?"),
            None => format!("To run {workflow} I need to know: what is {what}?"),
        };
        let mut batch = scope.batch();
        executions::wait(&mut batch, &row.id);
        let question = Question {
            kind: "input",
            call: Some(row),
            preview: input.name.clone(),
            text: wording::ask_for(&text),
            options: &[],
            choices: |_| Vec::new(),
            needs_owner: false,
        };
        scope.ask(&mut batch, question);
        scope.store.write(batch).await?;
        fail_point("asked");
        scope.said();
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
        if row.status() == Status::Completed {
            let output = Value::from(row.result.unwrap_or_default());
            return Ok(StepEnd { attempts: 1, ..StepEnd::new(Ended::Completed, output) });
        }
        if row.status().has_ended() {
            return Ok(fatal("nobody answered in time"));
        }
        let asked = questions(self.scope, &row).await?;
        let (status, answer) = match asked.last() {
            Some(prompt) if prompt.state == "pending" => return Err(Stop::Waiting),
            Some(PromptRow { answer: Some(answer), state, .. }) if state == "answered" => {
                (Status::Completed, answer.clone())
            }
            _ => (Status::Failed, "nobody answered in time".to_owned()),
        };
        let now = self.scope.store.now();
        let mut batch = self.scope.batch();
        let closing = Closing { result: Some(answer.clone()), ..Closing::default() };
        executions::close(&mut batch, &row.id, status, &closing, now);
        self.scope.store.write(batch).await?;
        fail_point("piece-ended");
        let ended = ExecutionRow {
            status: status.as_str().into(),
            result: Some(answer.clone()),
            ended_at: Some(now),
            ..row
        };
        self.state.put_row(key, ended);
        Ok(match status {
            Status::Completed => {
                StepEnd { attempts: 1, ..StepEnd::new(Ended::Completed, Value::from(answer)) }
            }
            _ => fatal(answer),
        })
    }

    async fn ask(&self, key: &str, text: String, choices: &[String]) -> Result<StepEnd, Stop> {
        let task = AgentTask { mission: text.clone(), ..AgentTask::default() };
        let mut row = self.new_row(key, serde_json::to_string(&task).ok());
        row.status = Status::Waiting.as_str().into();
        row.started_at = Some(self.scope.store.now());
        let mut batch = self.scope.batch();
        executions::insert(&mut batch, &row, &self.scope.conversation.id);
        let question = Question {
            kind: "choose",
            call: Some(&row),
            text: wording::choose(&text, choices),
            preview: text,
            options: choices,
            choices: |_| Vec::new(),
            needs_owner: false,
        };
        self.scope.ask(&mut batch, question);
        self.scope.store.write(batch).await?;
        fail_point("asked");
        self.scope.said();
        self.state.put_row(key, row);
        Err(Stop::Waiting)
    }
}
