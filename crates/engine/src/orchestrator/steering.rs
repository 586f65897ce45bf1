//! A message that the person sends while their turn runs: the turn takes it over before the model's next call.
//!
//! Properties:
//!
//! - One commit takes the message, adds its words to the turn's text and tells the model, so a crash leaves it in one
//!   turn, once.
//! - A turn takes only what its own person wrote here, in order, and only texts: commands, answers, runs of workflows,
//!   what they forward or send as files, and messages of others stay what they are.
//! - An answer that is being written is given up for it, a few times. If the turn has nothing to show yet, it begins anew
//!   with all that was said. What the person has read of the answer stays on the screen until another takes its place or
//!   goes on with it, and the model is told of it; only a crash forgets it.
//! - What ends in the background meanwhile is told with the next results.
//! - What would take effect meanwhile is held back until the model has read it; see `skills::executor`.

use adjutant_chat::LiveText;
use adjutant_models::Request;
use adjutant_skills::ErrorKind;
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::spending::Amount;
use adjutant_store::{Result, Stale, StoreError, calls, files, turns};
use adjutant_turn::journal::{Reservation, fail_point};
use adjutant_turn::wording;
use adjutant_types::{InboxKind, NOTHING_TO_TELL, PromptText, TurnStatus};

use super::Run;
use crate::conversation::command;
use crate::conversation::commands::short;

/// How much the model is told of an answer that was given up, in bytes: the end.
const MAX_UNFINISHED: usize = 8_000;

impl Run<'_> {
    /// Waits until the person writes something for which a model's call is given up.
    pub(super) async fn interruption(&self) {
        match self.ctx.control.steering.may_give_up() {
            true => self.ctx.control.steering.news().await,
            false => std::future::pending().await,
        }
    }

    /// Leaves a call whose answer would miss what the person has just written. It counts as it was estimated, because nobody
    /// tells what it used.
    pub(super) async fn give_up_call(
        &mut self,
        reservation: &Reservation,
        estimate: Amount,
        live: Option<&LiveText>,
    ) -> Result<()> {
        let above = self.told_beside();
        let shown = live.map(LiveText::text).unwrap_or_default();
        self.ctx.control.steering.gave_up(shown.strip_prefix(&above).unwrap_or_default().trim_start());
        let budget = &self.ctx.limits.budget;
        budget.uncount_orchestrator_call();
        budget.spend(estimate, false);
        let mut batch = self.ctx.batch();
        self.ctx.limits.ledger.settle(&mut batch, reservation, estimate);
        self.ctx.store.write(batch).await.map(|_| ())
    }

    /// Tells the model what the person still sees of an answer that was given up.
    pub(super) fn tell_unfinished(&self, request: &mut Request, answer: &str) {
        let Some(last) = request.messages.last_mut().filter(|_| !answer.is_empty()) else { return };
        let end = &answer[answer.ceil_char_boundary(answer.len().saturating_sub(MAX_UNFINISHED))..];
        let end = PromptText::by_origin(&self.ctx.turn.conversation.id, &self.taint(), end);
        last.text.push(wording::unfinished_answer(end));
    }

    /// Takes over what the person has written meanwhile. Returns whether the turn has to begin anew with it.
    pub(super) async fn listen(&mut self) -> Result<bool> {
        // What overtook an effect before a crash is still to be read.
        let is_left = !std::mem::replace(&mut self.has_listened, true) && self.was_overtaken();
        if self.direct.is_some() || !(self.ctx.control.steering.look() || is_left) {
            return Ok(false);
        }
        let is_blank = self.dialogue.recorded() == 0;
        // The model sees the first messages only once.
        if !is_blank && self.dialogue.rounds().is_empty() {
            return Ok(false);
        }
        let rows = self.arrived().await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let text = rows.iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join("\n");
        let mut answers = self.ctx.io.in_reply_to.lock().clone();
        answers.extend(rows.iter().filter_map(InboxRow::platform_id).map(str::to_owned));
        let mut batch = self.ctx.batch();
        rows.iter().for_each(|row| inbox::take_as_read(&mut batch, row, &self.ctx.turn.id));
        turns::extend(&mut batch, &self.ctx.turn.id, &text, &answers);
        let note = PromptText::own(wording::written_meanwhile(&text));
        let result = self.dialogue.with_words(&note).filter(|_| !is_blank);
        result.iter().for_each(|result| calls::extend_tool_result(&mut batch, result));
        match self.ctx.store.write(batch).await {
            // It was edited in this moment.
            Err(StoreError::Stale(Stale::MessageTaken)) => {
                self.has_listened = false;
                return Ok(false);
            }
            written => written?,
        };
        fail_point("steered");
        *self.ctx.io.in_reply_to.lock() = answers;
        result.into_iter().for_each(|result| self.dialogue.replace_result(result));
        self.ctx = self.ctx.extended_by(&text);
        Ok(is_blank)
    }

    /// Tells the model which work has ended of which its first messages say that it goes on in the background.
    pub(super) async fn tell_ended(&mut self) -> Result<()> {
        let mut first = self.dialogue.first_messages().iter().map(|message| message.text.as_str());
        let listed = first.rfind(|text| text.contains("In the background:\n")).map(str::to_owned);
        let Some(listed) = listed.filter(|_| !self.dialogue.rounds().is_empty()) else { return Ok(()) };
        for turn in turns::ended_beside(&self.ctx.store, &self.ctx.turn.id).await? {
            let id = short(&turn.id);
            let is_silent = turn.answer.is_none_or(|answer| answer == NOTHING_TO_TELL);
            let has_result = turn.status == TurnStatus::Completed && !is_silent;
            let told = if has_result { "; they have its result" } else { "" };
            let note = format!("Meanwhile [{id}] in the background has ended{told}.");
            let is_told = self.earlier_results().any(|result| result.contains(&note));
            if !is_told && listed.contains(&format!("[{id}]")) {
                self.dialogue.note(PromptText::system(note));
            }
        }
        Ok(())
    }

    /// Whether an effect waits for what the person wrote.
    fn was_overtaken(&self) -> bool {
        let reports = self.task_graph.agents.iter().filter_map(|agent| agent.report.as_ref());
        reports.flat_map(|report| &report.error).any(|error| error.kind == ErrorKind::Overtaken)
    }

    /// The messages that this turn may take over.
    async fn arrived(&self) -> Result<Vec<InboxRow>> {
        let (store, turn) = (&self.ctx.store, &self.ctx.turn);
        let rows = inbox::waiting(store, &turn.conversation.id, &self.ctx.io.lease.instance).await?;
        let mut taken = Vec::new();
        // Others, what runs in the background, and the rest of an answer have turns of their own, and hold up no correction.
        let is_theirs = |row: &InboxRow| {
            row.person_id == turn.person.id && !row.is_background() && !row.event.starts_with(inbox::REST)
        };
        for row in rows.into_iter().filter(|row| row.kind == InboxKind::Message && is_theirs(row)) {
            // The model sees files with the message that a turn begins with.
            if command::is_run(&row.text) || !row.is_steering() || files::came_with(store, &row).await? {
                break;
            }
            taken.push(row);
        }
        Ok(taken)
    }
}
