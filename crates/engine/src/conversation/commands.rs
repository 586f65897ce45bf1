//! Slash commands: answered at once, without waiting for running turns.

use adjutant_chat::COMMANDS;
use adjutant_chat::suggest::nearest;
use adjutant_store::inbox::InboxRow;
use adjutant_store::outbox::Message;
use adjutant_store::turns::TurnRow;
use adjutant_store::{Batch, StoreError, access, control, executions, links, people, questions, turns, web};
use adjutant_turn::wording;
use adjutant_types::{ExecutionStatus, TurnId, TurnStatus};
use adjutant_workflows::trace;

use super::answers::typed;
use super::verdicts;
use super::{Conversations, Handle};
use crate::orchestrator::Orchestrator;

pub use adjutant_workflows::command::{is_background, is_run};

/// Whether a text is a slash command. With a second slash it's a file path.
pub fn is_command(text: &str) -> bool {
    // Running a workflow takes time, so it's a turn.
    if is_run(text) {
        return false;
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    text.strip_prefix('/').is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && word.matches('/').count() == 1
}

/// A turn's id as people type it: its last six characters.
pub(super) fn short(turn: &TurnId) -> &str {
    &turn[turn.len().saturating_sub(6)..]
}

impl Conversations {
    /// Runs a slash command that intake journalled.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if it was done before.
    pub async fn command(&self, row: &InboxRow) -> Result<(), StoreError> {
        let word = row.text.split_whitespace().next().unwrap_or_default();
        // In group chats, platforms add our name: /stop@adjutant_bot.
        // Phones begin a line with a capital.
        let word = word.split('@').next().unwrap_or_default().to_ascii_lowercase();
        let mut batch = Batch::new();
        let text = match &*word {
            "/help" | "/start" => wording::HELP.to_owned(),
            "/new" => {
                people::clear_history(&mut batch, &row.conversation_id);
                wording::FRESH_START.to_owned()
            }
            "/stop" => self.stop(row).await?,
            "/pause" => self.pause(row).await?,
            "/answer" => return self.answer(row).await,
            "/memories" | "/memory" => return self.show_memories(row).await,
            "/rules" => return self.rules(row).await,
            "/forget" => return self.forget_memory(row).await,
            "/status" => self.status(row).await?,
            "/trace" => self.trace(row).await?,
            "/pair" => self.pair(row).await?,
            "/link" => self.link(row).await?,
            "/web" => self.web(row).await?,
            "/mine" => self.mine(row, &mut batch).await?,
            other => wording::unknown_command(other, nearest(other, COMMANDS.into_iter().chain(["/start"]))),
        };
        self.reply(row, None, text, batch).await
    }

    /// Stops the person's running turns here and ends the waiting ones. An owner stops what runs for others, too, but
    /// nobody ends other people's questions.
    async fn stop(&self, row: &InboxRow) -> Result<String, StoreError> {
        let is_owner = self.is_owner(&row.person_id).await?;
        let open = turns::open_of(&self.store, &row.conversation_id).await?;
        let (background, talk): (Vec<_>, Vec<_>) = open.into_iter().partition(|turn| turn.background != 0);
        let in_background = background.len();
        let named = row.text.split_whitespace().nth(1);
        let is_named = |turn: &TurnRow| named.is_some_and(|id| short(&turn.id).eq_ignore_ascii_case(id));
        let ended: Vec<TurnRow> = background.into_iter().filter(is_named).collect();
        if named.is_some() && ended.is_empty() && talk.is_empty() {
            return Ok(wording::roles::NOTHING_OF_THAT_ID.to_owned());
        }
        let open = if ended.is_empty() { talk } else { ended };
        let (theirs, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|turn| {
            turn.person_id == row.person_id || (is_owner && turn.status == TurnStatus::Running)
        });
        let running: Vec<Handle> = theirs.iter().filter_map(|turn| self.running.get(&turn.id)).collect();
        running.iter().for_each(|handle| handle.cancel.cancel());
        let (mut stopping, mut ended) = (running.len(), 0);
        for turn in theirs {
            // One that runs elsewhere hears of it at once, also while it goes to sleep.
            let is_elsewhere = turn.status == TurnStatus::Running && self.running.get(&turn.id).is_none();
            if is_elsewhere && control::request_stop(&self.store, &turn.id).await? {
                stopping += 1;
                continue;
            }
            // A turn that was just going to sleep may have missed the signal.
            let Some(mut turn) = self.wait_until_asleep(&turn.id).await? else { continue };
            if turn.status == TurnStatus::Running {
                if self.running.get(&turn.id).is_some() {
                    continue;
                }
                if control::request_stop(&self.store, &turn.id).await? {
                    stopping += 1;
                    continue;
                }
                // It ended or went to sleep just now.
                let Some(now) = turns::by_id(&self.store, &turn.id).await? else { continue };
                turn = now;
            }
            if turn.ended_at.is_none() && turn.person_id == row.person_id {
                match self.end_waiting(&turn).await? {
                    true => ended += 1,
                    // It began to run just now.
                    false => stopping += usize::from(control::request_stop(&self.store, &turn.id).await?),
                }
            }
        }
        let text = match (stopping, ended) {
            (0, 0) if !others.is_empty() => wording::NOTHING_OF_YOURS,
            (0, 0) if in_background > 0 => wording::roles::ONLY_IN_THE_BACKGROUND,
            (0, 0) => wording::NOTHING_TO_STOP,
            // The waiting turns said so themselves.
            (0, _) => wording::NOTHING_ELSE_TO_STOP,
            _ => wording::STOPPING,
        };
        Ok(text.to_owned())
    }

    /// Pauses the conversation's running turns.
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

    /// Ends a turn that isn't running, with its one answer.
    async fn end_waiting(&self, turn: &TurnRow) -> Result<bool, StoreError> {
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let text = wording::stopped(&Orchestrator::summary(&rows));
        let mut batch = Batch::new();
        // Not under the lane's lease: another turn of this conversation may be running under it.
        turns::must_rest(&mut batch, &turn.id);
        let last =
            Message { turn: Some(turn.id.clone()), answers: turn.answer_ids(), text, ..Message::default() };
        self.close(&mut batch, turn, TurnStatus::Cancelled, ExecutionStatus::Cancelled, &last);
        match self.store.write(batch).await {
            Ok(_) => {
                self.ended(&turn.id, TurnStatus::Cancelled);
                Ok(true)
            }
            Err(StoreError::Stale(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Lets in the stranger whose code an owner sends.
    async fn pair(&self, row: &InboxRow) -> Result<String, StoreError> {
        if !self.is_owner(&row.person_id).await? {
            return Ok(wording::NOT_AN_OWNER.to_owned());
        }
        let code = row.text.split_whitespace().nth(1).unwrap_or_default().to_ascii_uppercase();
        let paired = access::approve(&self.store, &code).await?;
        Ok(wording::paired(paired.as_ref().and_then(|paired| paired.name.as_deref())))
    }

    /// Makes a code for linking another account, or links this account with the one that made the code.
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

    /// Makes a link that signs this person in on the web page.
    async fn web(&self, row: &InboxRow) -> Result<String, StoreError> {
        let Some(page) = self.settings.now().page.clone() else { return Ok(wording::NO_PAGE.to_owned()) };
        if people::conversation_by_id(&self.store, &row.conversation_id).await?.shared != 0 {
            return Ok(wording::PAGE_IN_PRIVATE.to_owned());
        }
        Ok(wording::page_link(&page, &web::offer(&self.store, &row.person_id).await?))
    }

    async fn status(&self, row: &InboxRow) -> Result<String, StoreError> {
        let open = turns::open_of(&self.store, &row.conversation_id).await?;
        let background = open.iter().filter(|turn| turn.background != 0);
        let background: Vec<String> = background
            .map(|turn| wording::roles::in_background(&turn.text, turn.status, short(&turn.id)))
            .collect();
        let waiting = open.iter().filter(|turn| turn.status == TurnStatus::Waiting).count();
        let (questions, _) = questions::open_and_read(&self.store, &row.conversation_id).await?;
        let mut text = wording::status(open.len() - waiting, waiting, &questions);
        if !background.is_empty() {
            text.push_str(&wording::roles::background_list(&background));
        }
        Ok(text)
    }

    /// `/answer 34 yes`: answers the open question of this number.
    async fn answer(&self, row: &InboxRow) -> Result<(), StoreError> {
        let (open, _) = questions::open_and_read(&self.store, &row.conversation_id).await?;
        let given =
            row.text.split_once(char::is_whitespace).map(|(_, given)| given.trim()).unwrap_or_default();
        if verdicts::rejects_all(given) {
            return self.reject_all(row).await;
        }
        let (number, answer) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
        let named = number.parse::<i64>().ok();
        let fitting: Vec<_> = open.iter().filter(|question| Some(question.number()) == named).collect();
        let [question] = fitting.as_slice() else {
            let text = wording::questions::no_such_number(number, &open);
            return self.reply(row, None, text, Batch::new()).await;
        };
        match typed(answer, &question.kind) {
            Some(answer) => self.answer_questions(row, question, vec![((*question).clone(), answer)]).await,
            None => self.reply(row, None, wording::questions::how_to_answer(question), Batch::new()).await,
        }
    }

    async fn trace(&self, row: &InboxRow) -> Result<String, StoreError> {
        let Some(turn) = turns::last_of(&self.store, &row.conversation_id).await? else {
            return Ok(wording::NOTHING_TO_TRACE.to_owned());
        };
        let trace = trace::load(&self.store, &turn, false).await?;
        Ok(trace::for_chat(&trace))
    }
}
