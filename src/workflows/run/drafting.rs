//! A run of what a person's words become: a workflow is drafted, shown, and run or saved after a yes.

use std::sync::Arc;

use super::asking::{ask, question, questions};
use super::piece::{name_of, new_row};
use super::{Runner, begin};
use crate::agents::{AgentEnd, AgentTask, Job, Report};
use crate::domain::{ExecutionStatus, QuestionKind, QuestionState};
use crate::journal::Scope;
use crate::skills::Registry;
use crate::store::StoreError;
use crate::store::executions::{self, Closing, ExecutionRow};
use crate::store::questions::QuestionRow;
use crate::wording::{
    self,
    runs::{NEITHER, RUN, RUN_AND_SAVE, SAVE},
};
use crate::workflows::definition::Workflow;
use crate::workflows::draft::{self, DraftError, MAX_TRIES};
use crate::workflows::{World, parse};

impl Runner {
    /// The workflow that words became, once its person wants it to run; else how that ends, or that they are asked.
    pub(super) async fn drafted(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        words: &str,
    ) -> Result<Result<Workflow, AgentEnd>, StoreError> {
        let asked = questions(scope, row).await?;
        if let Some(question) =
            asked.iter().find(|question| matches!(question.kind, QuestionKind::Choice { .. }))
        {
            return self.decided(scope, row, question).await;
        }
        let workflows = self.workflows.current();
        let known: Vec<&Workflow> = workflows.workflows.iter().collect();
        let world = World { skills: registry, approval: &scope.settings.approval, workflows: &known };
        let name = draft::name(words, &known);
        let workflow = match self.by_model(scope, registry, row, (words, &name), &world).await? {
            Ok(workflow) => workflow,
            Err(Ok(why)) => return self.refuse(scope, row, &why).await.map(Err),
            Err(Err(end)) => return Ok(Err(end)),
        };
        self.ask_whether(scope, row, &workflow).await.map(Err)
    }

    /// A draft by the agents' model. Or why there is none, or that it is waited for.
    async fn by_model(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        (words, name): (&str, &str),
        world: &World<'_>,
    ) -> Result<Result<Workflow, Result<String, AgentEnd>>, StoreError> {
        let mut messages = match draft::request(words, name, registry) {
            Ok(messages) => messages,
            Err(error) => return Ok(Err(Ok(error.to_string()))),
        };
        let mut faults = Vec::new();
        for attempt in 1..=MAX_TRIES {
            let mission: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
            let mission = mission.join("\n\n");
            let report = match self.think(scope, registry, row, &format!("draft#{attempt}"), mission).await? {
                Ok(report) => report,
                Err(end) => return Ok(Err(Err(end))),
            };
            if !report.status.ended_well() {
                return Ok(Err(Ok(report.line())));
            }
            match draft::read(&report.result, name, world) {
                Ok(workflow) => return Ok(Ok(workflow)),
                Err(found) => faults = found,
            }
            draft::retry(&mut messages, &report.result, &faults);
        }
        Ok(Err(Ok(DraftError::Invalid(faults).to_string())))
    }

    /// An agent below the run that only thinks; what it came to if it has ended before.
    async fn think(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        key: &str,
        mission: String,
    ) -> Result<Result<Report, AgentEnd>, StoreError> {
        let below = executions::of_agent(&scope.store, &row.id).await?;
        let task = AgentTask { agent_id: name_of(row, key), mission, ..AgentTask::default() };
        let known = begin::by_key(row, below).remove(key);
        let agent = match known {
            Some(known) if known.status.has_ended() => return Ok(Ok(Report::of(&known, &[]))),
            Some(known) => known,
            None => {
                if let Err(limit) = scope.budget.take_agent() {
                    return Ok(Err(AgentEnd::Held(limit)));
                }
                let mut new = new_row(scope, row, key, serde_json::to_string(&task).ok());
                let now = scope.store.now();
                let mut batch = scope.batch();
                executions::start(&mut batch, &row.id, now);
                executions::insert(&mut batch, &new, &scope.conversation.id);
                executions::start(&mut batch, &new.id, now);
                scope.store.write(batch).await?;
                new.started_at = Some(now);
                new
            }
        };
        match self.agents.run(scope, registry, &agent, Job { task, ..Job::default() }).await? {
            AgentEnd::Ended(report) => Ok(Ok(*report)),
            end => Ok(Err(end)),
        }
    }

    async fn ask_whether(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        workflow: &Workflow,
    ) -> Result<AgentEnd, StoreError> {
        // What is saved is there for everybody.
        let choices: &[&str] = match self.folder.is_some() && scope.is_owners().await? {
            true => &[RUN, SAVE, RUN_AND_SAVE, NEITHER],
            false => &[RUN, NEITHER],
        };
        let options: Vec<String> = choices.iter().map(|choice| (*choice).to_owned()).collect();
        let text = wording::choose(&draft::preview(workflow), &options);
        let question = question(row, QuestionKind::Choice { subject: workflow.text.clone(), options }, text);
        let mut batch = scope.batch();
        executions::wait(&mut batch, &row.id);
        ask(scope, batch, question).await?;
        Ok(AgentEnd::Waiting)
    }

    /// What its person said of a draft.
    async fn decided(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        question: &QuestionRow,
    ) -> Result<Result<Workflow, AgentEnd>, StoreError> {
        let QuestionKind::Choice { subject, .. } = &question.kind else { return Ok(Err(AgentEnd::Waiting)) };
        let answer = match (question.state, &question.answer) {
            (QuestionState::Pending, _) => return Ok(Err(AgentEnd::Waiting)),
            (_, Some(answer)) => answer.as_str(),
            _ => return self.refuse(scope, row, wording::runs::NOBODY_ANSWERED).await.map(Err),
        };
        let workflow = match parse("draft.yaml", subject) {
            Ok(workflow) => workflow,
            Err(_) => return self.refuse(scope, row, wording::runs::DRAFT_GONE).await.map(Err),
        };
        let mut told = wording::runs::THEN_NOT.to_owned();
        if [SAVE, RUN_AND_SAVE].contains(&answer) {
            told = match self.save(&workflow) {
                Ok(path) => wording::runs::saved(&path, &workflow.name),
                Err(why) => return self.refuse(scope, row, &why).await.map(Err),
            };
        }
        if [RUN, RUN_AND_SAVE].contains(&answer) {
            return Ok(Ok(workflow));
        }
        let closing = Closing { result: Some(told), ..Closing::default() };
        self.close(scope, row, ExecutionStatus::Completed, closing).await.map(Err)
    }

    fn save(&self, workflow: &Workflow) -> Result<String, String> {
        let folder = self.folder.as_deref().ok_or(wording::runs::NO_FOLDER)?;
        let path = folder.join(format!("{}.yaml", workflow.name));
        match draft::save(folder, &workflow.name, &workflow.text) {
            Ok(path) => Ok(path.display().to_string()),
            // Saved before a crash.
            Err(_) if std::fs::read_to_string(&path).is_ok_and(|text| text == workflow.text) => {
                Ok(path.display().to_string())
            }
            Err(error) => Err(format!("it can't be saved as {}: {error}", path.display())),
        }
    }
}
