//! Slash commands: answered at once, beside whatever runs.

use super::Conversations;
use crate::domain::{ExecutionStatus, QuestionState, TurnStatus};
use crate::orchestrator::Orchestrator;
use crate::store::inbox::InboxRow;
use crate::store::leases::lane;
use crate::store::outbox::Message;
use crate::store::{Batch, StoreError, access, control, executions, links, people, questions, turns};
use crate::trace;
use crate::wording;
pub use crate::workflows::command::is_run;

/// Whether a text is a slash command. One with a further slash is the path of a file.
pub fn is_command(text: &str) -> bool {
    // What a plan wants done takes its time: it is a turn.
    if is_run(text) {
        return false;
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    text.strip_prefix('/').is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && word.matches('/').count() == 1
}

impl Conversations {
    /// Carries out a slash command that intake journalled.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when it was carried out before, or when the store fails.
    pub async fn command(&self, row: &InboxRow) -> Result<(), StoreError> {
        let word = row.text.split_whitespace().next().unwrap_or_default();
        // In rooms platforms add our name: /stop@adjutant_bot.
        let word = word.split('@').next().unwrap_or_default();
        let mut batch = Batch::new();
        let text = match word {
            "/help" | "/start" => wording::HELP.to_owned(),
            "/new" => {
                people::clear_history(&mut batch, &row.conversation_id);
                wording::FRESH_START.to_owned()
            }
            "/stop" => self.stop(row).await?,
            "/pause" => self.pause(row).await?,
            "/status" => self.status(row).await?,
            "/trace" => self.trace(row).await?,
            "/pair" => self.pair(row).await?,
            "/link" => self.link(row).await?,
            other => wording::unknown_command(other),
        };
        self.reply(row, None, text, batch).await
    }

    /// Stops what runs here, and ends what waits.
    async fn stop(&self, row: &InboxRow) -> Result<String, StoreError> {
        let running = self.running.of(&row.conversation_id);
        for handle in &running {
            handle.cancel.cancel();
        }
        let (mut stopping, mut ended) = (running.len(), 0);
        for turn in turns::open_of(&self.store, &row.conversation_id).await? {
            // One that was just about to wait for a person may have missed the stop.
            let Some(mut turn) = self.let_go_to_sleep(&turn.id).await? else { continue };
            if turn.status == TurnStatus::Running {
                if self.running.get(&turn.id).is_some() {
                    continue;
                }
                if control::request_stop(&self.store, &turn.id).await? {
                    stopping += 1;
                    continue;
                }
                // It ended or fell asleep in this moment.
                let Some(now) = turns::by_id(&self.store, &turn.id).await? else { continue };
                turn = now;
            }
            if turn.ended_at.is_none() {
                ended += usize::from(self.end_waiting(&turn).await?);
            }
        }
        let text = match (stopping, ended) {
            (0, 0) => wording::NOTHING_TO_STOP,
            // The turns that waited have said so themselves.
            (0, _) => wording::NOTHING_ELSE_TO_STOP,
            _ => wording::STOPPING,
        };
        Ok(text.to_owned())
    }

    /// Lets what runs here come to rest.
    async fn pause(&self, row: &InboxRow) -> Result<String, StoreError> {
        let mut is_any = false;
        for turn in turns::open_of(&self.store, &row.conversation_id).await? {
            if !control::pause(&self.store, &turn.id).await? {
                continue;
            }
            is_any = true;
            if let Some(running) = self.running.get(&turn.id) {
                running.pause();
            }
        }
        Ok(if is_any { wording::PAUSING } else { wording::NOTHING_TO_STOP }.to_owned())
    }

    /// Ends a turn that nobody runs; its one word is said here.
    async fn end_waiting(&self, turn: &turns::TurnRow) -> Result<bool, StoreError> {
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let text = wording::stopped(&Orchestrator::summary(&rows));
        let mut batch = Batch::new();
        // Whoever runs it now has the lane; then the stop is theirs.
        self.instance.take(&lane(&turn.conversation_id), &mut batch);
        let last =
            Message { turn: Some(turn.id.clone()), answers: turn.answer_ids(), text, ..Message::default() };
        self.close(&mut batch, turn, TurnStatus::Cancelled, ExecutionStatus::Cancelled, &last);
        self.instance.give_back(&lane(&turn.conversation_id), &mut batch);
        match self.store.write(batch).await {
            Ok(_) => {
                self.ended(&turn.id, TurnStatus::Cancelled);
                Ok(true)
            }
            Err(StoreError::Stale(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Lets the stranger in whose code an owner names.
    async fn pair(&self, row: &InboxRow) -> Result<String, StoreError> {
        if !self.is_owner(&row.person_id).await? {
            return Ok(wording::NOT_AN_OWNER.to_owned());
        }
        let code = row.text.split_whitespace().nth(1).unwrap_or_default().to_ascii_uppercase();
        let paired = access::approve(&self.store, &code).await?;
        Ok(wording::paired(paired.as_ref().and_then(|paired| paired.name.as_deref())))
    }

    /// Makes a code for the person's other account, or joins this account to the one whose code it is.
    async fn link(&self, row: &InboxRow) -> Result<String, StoreError> {
        if people::conversation_by_id(&self.store, &row.conversation_id).await?.shared != 0 {
            return Ok(wording::LINK_IN_PRIVATE.to_owned());
        }
        if let Some(code) = access::code_in(&row.text) {
            let joined = links::join(&self.store, &code, &row.person_id).await?;
            return Ok(if joined { wording::LINKED } else { wording::NO_SUCH_LINK }.to_owned());
        }
        let code = access::new_code(self.store.clock().random());
        links::offer(&self.store, &code, &row.person_id).await?;
        Ok(wording::link(&code))
    }

    async fn status(&self, row: &InboxRow) -> Result<String, StoreError> {
        let open = turns::open_of(&self.store, &row.conversation_id).await?;
        let waiting = open.iter().filter(|turn| turn.status == TurnStatus::Waiting).count();
        let mut questions = 0;
        for turn in &open {
            let asked = questions::of_turn(&self.store, &turn.id).await?;
            questions += asked.iter().filter(|question| question.state == QuestionState::Pending).count();
        }
        Ok(wording::status(open.len() - waiting, waiting, questions))
    }

    async fn trace(&self, row: &InboxRow) -> Result<String, StoreError> {
        let Some(turn) = turns::last_of(&self.store, &row.conversation_id).await? else {
            return Ok(wording::NOTHING_TO_TRACE.to_owned());
        };
        let trace = trace::load(&self.store, &turn, false).await?;
        Ok(trace::for_chat(&trace))
    }
}
