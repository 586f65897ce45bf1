//! Asks what a turn's calls wait for: all of them in one message, once nothing else is left to do.

use adjutant_chat::Choice;
use adjutant_skills::builtin;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, Result, inbox};
use adjutant_turn::journal::{TurnContext, below_unshown, show_unshown};
use adjutant_turn::trust::{Action, Reach};
use adjutant_turn::wording;
use adjutant_types::{ConversationId, OutboxId, QuestionKind, TurnStatus, clock};

use super::Conversations;
use super::turn::LeasedTurn;

impl Conversations {
    /// Asks for the turn's new approvals, below the receipts of what it has done, and puts it to sleep, in one commit.
    pub(super) async fn ask_and_sleep(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        receipts: &[String],
    ) -> Result<()> {
        let mut asking = Batch::new();
        let asks = self.ask_approvals(leased, ctx, receipts, &mut asking).await?;
        // A message that the turn has taken over is answered now, not when its question is.
        let is_waited_for = !ctx.io.in_reply_to.lock().is_empty();
        if !asks
            && is_waited_for
            && !self.is_unattended(&leased.turn).await?
            && let Some(text) = show_unshown(&self.store, &leased.turn.id, &mut asking).await?
        {
            ctx.say(&mut asking, text, Vec::new());
        }
        self.sleep(leased, ctx, asking).await
    }

    /// Adds the message with the turn's new approvals to the batch in which it goes to sleep. After a crash before that
    /// commit the questions are still new, so they are asked again, and only once. What nobody waits for is held back in
    /// quiet hours. Returns whether something is asked now.
    pub(super) async fn ask_approvals(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        receipts: &[String],
        batch: &mut Batch,
    ) -> Result<bool> {
        let turn = &leased.turn;
        let now = clock::utc(self.store.now()).with_timezone(&ctx.turn.zone).naive_local();
        let quiet_until = ctx.turn.settings.approval.quiet_hours.and_then(|hours| hours.end(now));
        if let Some(until) =
            quiet_until.map(|until| clock::local_to_utc(until, ctx.turn.zone).timestamp_millis())
            && self.is_unattended(turn).await?
        {
            questions::hold(batch, &turn.id, until);
            return Ok(false);
        }
        self.ask_new(turn, receipts, batch, |batch, text, choices| ctx.say(batch, text, choices)).await
    }

    async fn is_unattended(&self, turn: &TurnRow) -> Result<bool> {
        Ok(turn.background != 0 || inbox::is_scheduled(&self.store, &turn.id).await?)
    }

    /// Asks what was held back, now that the quiet hours are over. Returns the conversations with something to deliver.
    pub async fn ask_held(&self, channel: &str) -> Result<Vec<ConversationId>> {
        let mut woken = Vec::new();
        for id in questions::held(&self.store, channel).await? {
            let Some(turn) = turns::by_id(&self.store, &id).await? else { continue };
            if turn.status != TurnStatus::Waiting {
                continue;
            }
            let mut batch = Batch::new();
            turns::expect_status(&mut batch, &turn);
            self.ask_new(&turn, &[], &mut batch, |batch, text, choices| {
                turns::set_answers(batch, &turn.id, &[]);
                let message = Message { choices, ..turn.reply(text) };
                outbox::say(&self.store, batch, &turn.conversation_id, self.instance.owner(), &message)
            })
            .await?;
            if self.store.try_write(batch).await? {
                woken.push(turn.conversation_id);
            }
        }
        Ok(woken)
    }

    /// Adds one message with all of the turn's new approvals; false if there are none.
    async fn ask_new(
        &self,
        turn: &TurnRow,
        receipts: &[String],
        batch: &mut Batch,
        say: impl FnOnce(&mut Batch, String, Vec<Choice>) -> OutboxId,
    ) -> Result<bool> {
        let asked = questions::of_turn(&self.store, &turn.id).await?;
        let mut new: Vec<&QuestionRow> =
            asked.iter().filter(|question| question.is_open() && question.outbox_id.is_empty()).collect();
        if new.is_empty() {
            return Ok(false);
        }
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let call =
            |question: &QuestionRow| rows.iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
        new.sort_by_cached_key(|question| call(question).map(|row| row.path(&rows)));
        let is_delicate =
            new.iter().filter_map(|question| call(question)).any(|row| !row.taint.is_clean() || leaves(row));
        let bodies: Vec<&str> = new.iter().map(|question| question.body.as_str()).collect();
        // Of several messages in one turn the newest is quoted.
        let own_text = inbox::last_of_several(&self.store, &turn.id).await?.unwrap_or(turn.text.clone());
        let own_text = Some(own_text.as_str()).filter(|_| turn.text_taint.is_clean());
        // Silence says yes only to one thing, and only of somebody who is there.
        let delay = match new[..] {
            [question] if question.delay().is_some() && !self.is_unattended(turn).await? => question.delay(),
            _ => None,
        };
        if delay.is_none() && new.iter().any(|question| question.delay().is_some()) {
            questions::drop_delay(batch, &turn.id);
        }
        let mut text = wording::questions::approval(own_text, &bodies, delay);
        if let [QuestionRow { kind: QuestionKind::Approval { rule: Some(rule), .. }, .. }] = new[..] {
            let days = self.settings.current().approval.rule_days;
            text.push_str(&format!("\n{}", wording::rules::on_offer(rule, days)));
        }
        let receipts = wording::receipts::above_question(receipts);
        if !receipts.is_empty() {
            turns::set_shown(batch, &turn.id, -1, &receipts);
        }
        text = below_unshown(&self.store, &turn.id, batch, text).await?;
        if !receipts.is_empty() {
            text = format!("{receipts}\n\n{text}");
        }
        let message =
            say(batch, text, wording::questions::approve_choices(&new, is_delicate, delay.is_some()));
        for (position, question) in (1..).zip(&new) {
            questions::asked(batch, &question.id, &message, position, self.store.now());
        }
        Ok(true)
    }
}

/// Whether a call may tell others something: only what we know to stay here doesn't.
fn leaves(row: &ExecutionRow) -> bool {
    let kind = row.skill.as_deref().and_then(builtin::find).and_then(|skill| skill.action());
    let reach = |kind| Action { kind, targets: Vec::new() }.reach();
    kind.is_none_or(|kind| matches!(reach(kind), Reach::Leaves | Reach::Reads))
}
