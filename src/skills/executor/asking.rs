//! Asking a person before a call: what it would do, the question, and what their answer is good for.

use std::sync::Arc;

use super::{Executor, silent};
use crate::domain::{ExecutionId, ExecutionStatus, QuestionState};
use crate::journal::{Question, Scope, fail_point};
use crate::skills::call::{Call, CallEnd};
use crate::skills::handlers::own_store;
use crate::skills::office::{Look, Office, Trouble, Work};
use crate::skills::{ErrorKind, Handler, Skill, SkillError, risk};
use crate::store::executions::{self, ExecutionRow};
use crate::store::questions::{self, QuestionRow};
use crate::store::{Batch, StoreError};
use crate::wording;

impl Executor {
    /// Works out what a call would do, where that is more than its arguments say.
    pub(super) async fn look(
        &self,
        scope: &Scope,
        skill: &Skill,
        call: &Call<'_>,
        id: &ExecutionId,
    ) -> Result<Result<Look, SkillError>, StoreError> {
        let Handler::Builtin(name) = &skill.handler else { return Ok(Ok(Look::HARMLESS)) };
        if !Office::has(name) {
            return Ok(Ok(Look::HARMLESS));
        }
        let work = Work { scope, id, again: false, arguments: call.arguments };
        let timeout = skill.timeout.unwrap_or(scope.budget.limits.skill_timeout);
        match tokio::time::timeout(timeout, self.office.look(&work, name)).await {
            Ok(Ok(look)) => Ok(Ok(look)),
            Ok(Err(Trouble::Skill(error))) => Ok(Err(SkillError { unknown: false, ..error })),
            Ok(Err(Trouble::Store(error))) => Err(error),
            Err(_) => Ok(Err(SkillError::new(ErrorKind::Timeout, silent(&skill.name, timeout)))),
        }
    }

    pub(super) async fn go_on_answered(
        &self,
        scope: &Scope,
        skill: &Arc<Skill>,
        call: &Call<'_>,
        row: ExecutionRow,
    ) -> Result<CallEnd, StoreError> {
        let Some(question) = questions::of_execution(&scope.store, &scope.turn, &row.id).await? else {
            return Err(StoreError::Corrupt(format!("execution {} waits, but nobody was asked", row.id)));
        };
        let arguments = call.arguments.to_string();
        let bound =
            [row.parameters.as_ref(), Some(&arguments)].iter().all(|it| *it == Some(&question.fingerprint));
        match question.answer.as_deref() {
            _ if question.state == QuestionState::Pending => Ok(CallEnd::Waiting),
            Some("approve") if bound => self.released(scope, skill, call, row, &question).await,
            _ => {
                let reason = if question.state == QuestionState::Expired {
                    "nobody said yes in time"
                } else {
                    "the person said no"
                };
                let error = SkillError::new(ErrorKind::Rejected, reason);
                self.close(scope, call, &row, Err(error), Batch::new(), true).await
            }
        }
    }

    /// Makes a call that somebody said yes to, if budget, breaker and world are still as they must be.
    async fn released(
        &self,
        scope: &Scope,
        skill: &Arc<Skill>,
        call: &Call<'_>,
        row: ExecutionRow,
        question: &QuestionRow,
    ) -> Result<CallEnd, StoreError> {
        if let Err(limit) = scope.take_released_call(row.started_at.unwrap_or_default()).await? {
            // It waits for the turn to go on, and not for a person to say yes once more.
            let mut batch = scope.batch();
            executions::hold(&mut batch, &row.id);
            scope.store.write(batch).await?;
            return Ok(CallEnd::Held(limit));
        }
        match self.look(scope, skill, call, &row.id).await? {
            Ok(look) if look.preview.as_ref().is_none_or(|now| *now == question.preview) => {
                self.run_checked(scope, skill, call, row, true).await
            }
            Ok(_) => {
                let reason = "what it would do has changed since the person was asked; ask again";
                let error = SkillError::new(ErrorKind::Rejected, reason);
                self.close(scope, call, &row, Err(error), Batch::new(), true).await
            }
            Err(error) => self.close(scope, call, &row, Err(error), Batch::new(), true).await,
        }
    }

    pub(super) async fn ask(
        &self,
        scope: &Scope,
        skill: &Skill,
        mut row: ExecutionRow,
        call: &Call<'_>,
        look: Look,
    ) -> Result<CallEnd, StoreError> {
        let preview = match look.preview {
            Some(preview) => preview,
            None => match own_store::preview(scope, &skill.handler, call.arguments).await? {
                Some(more) => format!("{}\n- {more}", risk::preview(skill, call.arguments)),
                None => risk::preview(skill, call.arguments),
            },
        };
        let mut batch = scope.batch();
        row.status = ExecutionStatus::Waiting;
        row.started_at = Some(scope.store.now());
        executions::insert(&mut batch, &row, &scope.conversation.id);
        executions::wait(&mut batch, call.agent);
        let text = wording::approval(&preview);
        let choices = wording::approve_choices;
        let call = Some(&row);
        let question =
            Question { kind: "approve", call, preview, text, choices, options: &[], needs_owner: false };
        scope.ask(&mut batch, question);
        scope.store.write(batch).await?;
        fail_point("asked");
        scope.said();
        Ok(CallEnd::Waiting)
    }
}
