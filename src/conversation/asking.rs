//! Asks what a turn's calls wait for: all of them in one message, once nothing else is left to do.

use super::Conversations;
use super::turn::LeasedTurn;
use crate::domain::{QuestionId, Taint};
use crate::journal::Scope;
use crate::store::questions::{self, QuestionRow};
use crate::store::{Batch, StoreError, executions};
use crate::wording;

impl Conversations {
    /// Asks for the turn's new approvals and puts it to sleep, in one commit.
    pub(super) async fn ask_and_sleep(&self, leased: &LeasedTurn, scope: &Scope) -> Result<(), StoreError> {
        let mut asking = Batch::new();
        self.ask_approvals(leased, scope, &mut asking).await?;
        self.sleep(leased, scope, asking).await
    }

    /// Adds the message with the turn's new approvals to the batch in which it goes to sleep. After a crash before that
    /// commit the questions are still new, so they are asked again, and only once.
    pub(super) async fn ask_approvals(
        &self,
        leased: &LeasedTurn,
        scope: &Scope,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let asked = questions::of_turn(&self.store, &leased.turn.id).await?;
        let new: Vec<&QuestionRow> =
            asked.iter().filter(|question| question.is_open() && question.outbox_id.is_empty()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let rows = executions::of_turn(&self.store, &leased.turn.id).await?;
        let calls = rows
            .iter()
            .filter(|row| new.iter().any(|question| question.execution_id.as_ref() == Some(&row.id)));
        let taint: Taint = calls.map(|call| &call.taint).collect();
        let bodies: Vec<&str> = new.iter().map(|question| question.body.as_str()).collect();
        let ids: Vec<QuestionId> = new.iter().map(|question| question.id.clone()).collect();
        let text = wording::questions::approval(scope.own_text.as_deref(), &taint, &bodies);
        let message = scope.say(batch, text, wording::questions::approve_choices(&ids));
        questions::asked(batch, &leased.turn.id, &message);
        Ok(())
    }
}
