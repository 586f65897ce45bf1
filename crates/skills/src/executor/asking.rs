//! Calls whose server wants to know more before it goes on: the person is asked, and the call waits for them.

use adjutant_store::questions::QuestionRow;
use adjutant_store::{StoreError, asked, executions};
use adjutant_turn::journal::{Question, Suspend, below_unshown, fail_point};
use adjutant_turn::wording::asked as words;
use adjutant_types::{Answer, QuestionKind, QuestionState};

use super::{ActiveCall, Approved};
use crate::call::CallEnd;
use crate::handlers::mcp::{Asked, Prompted};
use crate::{Handler, Result, Skill};

impl ActiveCall<'_> {
    /// The questions of the call's server; none if the call waits for something else.
    pub(super) async fn asked_by_server(
        &self,
        skill: &Skill,
        question: &QuestionRow,
    ) -> Result<Option<Asked>, StoreError> {
        let is_approval = matches!(question.kind, QuestionKind::Approval { .. });
        if is_approval || !matches!(skill.handler, Handler::Mcp(_)) {
            return Ok(None);
        }
        let stored = asked::of(&self.ctx.store, &self.row.id).await?;
        let broken =
            || StoreError::Corrupt(format!("what the server of {} asked can't be read", self.row.id));
        stored.map(|stored| serde_json::from_str(&stored).map_err(|_| broken())).transpose()
    }

    /// Asks the person what the server wants to know next, and leaves the call waiting.
    pub(super) async fn ask_for_server(&mut self, skill: &Skill, asked: &Asked) -> Result<CallEnd> {
        let ctx = self.ctx;
        let server = skill.handler.tool().map_or_else(|| skill.domain.clone(), |tool| tool.server.clone());
        let Some(Prompted { subject, words: quoted, buttons, how, misfit }) = asked.next() else {
            return Err(StoreError::Corrupt(format!("the server of {} asked nothing", self.row.id)).into());
        };
        let text = words::question(&server, skill.title(), &quoted, &how, misfit.as_deref());
        let subject = words::subject(&server, &subject);
        // Whatever the person says next is their answer, also in words that no button has.
        let kind = QuestionKind::Input { name: subject };
        let mut batch = ctx.batch();
        let json = serde_json::to_string(asked).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        asked::wait(&mut batch, &self.row.id, &json);
        executions::wait(&mut batch, self.call.agent);
        let _asking = ctx.control.asking.lock().await;
        let text = below_unshown(&ctx.store, &ctx.turn.id, &mut batch, text).await?;
        let question = Question { kind, execution: Some(&self.row.id), text, choices: |_| Vec::new() };
        ctx.ask_for_words(&mut batch, question, &buttons);
        ctx.store.write(batch).await?;
        fail_point("asked");
        ctx.wake_delivery();
        Ok(CallEnd::Suspended(Suspend::ForPerson))
    }

    /// Goes on with a call after a person's answer: with the next thing to ask, or with the server.
    pub(super) async fn resume_asked(
        &mut self,
        skill: &Skill,
        question: &QuestionRow,
        mut asked: Asked,
    ) -> Result<CallEnd> {
        let is_expired = question.state == QuestionState::Expired;
        asked.take(question.answer.as_ref().map(Answer::as_str).filter(|_| !is_expired));
        if asked.next().is_some() {
            return self.ask_for_server(skill, &asked).await;
        }
        if let Some(limit) = self.postpone_if_at_limit().await? {
            return Ok(CallEnd::Suspended(Suspend::AtLimit(limit)));
        }
        let approved = Approved::already_running(&asked);
        self.asked = Some(asked);
        self.run_unless_open(skill, &approved).await
    }
}
