//! Questions and their answers.
//!
//! Properties:
//!
//! - A question is answered once, by the person who was asked or by an owner.
//! - Every button press and every typed answer gets exactly one reply.
//! - An answer isn't lost if its turn goes to sleep at the same moment: both sides lock the turn's row before they
//!   read.
//!
//! If the turn was only waiting for this answer, its next message is the reply. Otherwise the answer is confirmed at
//! once, because the turn's next message replies to something else.

use std::time::Duration;

use adjutant_chat::IncomingMessage;

use super::Conversations;
use super::commands::is_command;
use crate::domain::{
    Answer, ConversationId, InboxKind, PersonId, QuestionId, QuestionKind, QuestionState, TurnId, TurnStatus,
};
use crate::journal::{TurnEvent, fail_point};
use crate::store::inbox::{self, InboxRow};
use crate::store::outbox::{self, Message};
use crate::store::people::Conversation;
use crate::store::questions::{self, QuestionRow};
use crate::store::turns::TurnRow;
use crate::store::{Batch, StoreError, control, people, turns};
use crate::wording;

/// How long an answer waits for a turn that may be going to sleep.
const SLEEP_PATIENCE: Duration = Duration::from_millis(500);
/// How often to check a turn that another process runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Reads a text as an answer to a question, if it is one.
fn typed(text: &str, kind: &QuestionKind) -> Option<Answer> {
    let text = text.trim();
    // A command is never an answer: `/stop` must end the turn that asks.
    if text.is_empty() || is_command(text) {
        return None;
    }
    let word = plain(text);
    match (kind, word.as_str()) {
        (QuestionKind::Input { .. }, _) => Some(Answer::Text(text.to_owned())),
        (QuestionKind::Choice { options, .. }, _) => {
            let by_word = options.iter().position(|option| plain(option) == word);
            let number = by_word.or_else(|| word.parse::<usize>().ok()?.checked_sub(1))?;
            options.get(number).cloned().map(Answer::Text)
        }
        (QuestionKind::Continue { .. }, "continue" | "yes" | "go on") => Some(Answer::Continue),
        (QuestionKind::Continue { .. }, "summarise" | "summarize") => Some(Answer::Summarise),
        (QuestionKind::Continue { .. }, "no" | "stop") => Some(Answer::Stop),
        (QuestionKind::Approval { .. }, "continue" | "yes" | "go on" | "approve") => Some(Answer::Approve),
        (QuestionKind::Approval { .. }, "no" | "stop" | "reject") => Some(Answer::Reject),
        _ => None,
    }
}

/// A text in the form used for comparison.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches(['.', '!']).to_lowercase()
}

/// A button's question, and which of its buttons it is.
pub fn button(button: &str) -> Option<(QuestionId, &str)> {
    let (question, which) = button.split_once(':')?;
    let is_known = matches!(which, "continue" | "summarise" | "stop" | "approve" | "reject");
    (is_known || which.parse::<usize>().is_ok()).then(|| (question.into(), which))
}

/// The answer that a button of a question stands for.
fn pressed(which: &str, kind: &QuestionKind) -> Option<Answer> {
    match kind {
        QuestionKind::Continue { .. } | QuestionKind::Approval { .. } => Answer::to(kind, which),
        QuestionKind::Choice { options, .. } => {
            options.get(which.parse::<usize>().ok()?).cloned().map(Answer::Text)
        }
        QuestionKind::Input { .. } => None,
    }
}

impl Conversations {
    /// The question that a message answers, by its text or as a reply; `None` for a new message.
    ///
    /// This runs for every message, because any text may be an answer. It's cheap: without an open question it's one
    /// lookup in an index of open questions, and for a reply one lookup of its receipt.
    pub async fn answered_by(
        &self,
        said: &IncomingMessage,
        text: &str,
        conversation: &Conversation,
        person: &PersonId,
    ) -> Result<Option<QuestionRow>, StoreError> {
        if let Some(receipt) = &said.reply_to {
            let question = questions::by_receipt(&self.store, &conversation.id, receipt).await?;
            return Ok(question.filter(|question| typed(text, &question.kind).is_some()));
        }
        let Some((question, asked_at)) = questions::newest_read(&self.store, &conversation.id).await? else {
            return Ok(None);
        };
        // An owner's text isn't another person's input, unless they reply to that question.
        let may_be_for_it =
            !matches!(question.kind, QuestionKind::Input { .. }) || question.person_id == *person;
        if typed(text, &question.kind).is_none()
            || !may_be_for_it
            || !self.may_answer_for(person, &question).await?
            || inbox::spoke_since(&self.store, &conversation.id, person, asked_at, &question.turn_id).await?
        {
            return Ok(None);
        }
        Ok(Some(question))
    }

    /// Whether an account may press a button. True if the question doesn't exist: the press is then told so.
    pub async fn may_press(&self, channel: &str, user: &str, pressed: &str) -> Result<bool, StoreError> {
        let question = match button(pressed) {
            Some((question, _)) => questions::by_id(&self.store, &question).await?,
            None => None,
        };
        let Some(question) = question else { return Ok(true) };
        let account = format!("{channel}:{user}");
        Ok(self.settings.now().owners.contains(&account)
            || match people::person_of(&self.store, channel, user).await? {
                Some(person) => self.may_answer_for(&person.id, &question).await?,
                None => false,
            })
    }

    async fn may_answer_for(&self, person: &PersonId, question: &QuestionRow) -> Result<bool, StoreError> {
        Ok((question.person_id == *person && !question.kind.needs_owner()) || self.is_owner(person).await?)
    }

    /// Whether one of a person's accounts is an owner's.
    pub(super) async fn is_owner(&self, person: &PersonId) -> Result<bool, StoreError> {
        people::is_owner(&self.store, person, &self.settings.now().owners).await
    }

    /// Handles a button press or a typed answer that intake journalled.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if it was done before.
    pub async fn settle(&self, row: &InboxRow) -> Result<(), StoreError> {
        let question = match &row.question_id {
            Some(id) => questions::by_id(&self.store, id).await?,
            None => None,
        };
        let question = question.filter(|question| question.conversation_id == row.conversation_id);
        let Some(question) = question else {
            return self.reply(row, None, wording::NO_SUCH_QUESTION.into(), Batch::new()).await;
        };
        let answer = match row.kind {
            InboxKind::Press => button(&row.text).and_then(|(_, which)| pressed(which, &question.kind)),
            InboxKind::Answer | InboxKind::Message | InboxKind::Command => typed(&row.text, &question.kind),
        };
        let Some(answer) = answer else {
            return self.reply(row, Some(&question), wording::NO_SUCH_QUESTION.into(), Batch::new()).await;
        };
        if question.state == QuestionState::Pending {
            self.wait_until_asleep(&question.turn_id).await?;
        }
        if !self.may_answer_for(&row.person_id, &question).await? {
            return self.reply(row, Some(&question), wording::NOT_YOURS.into(), Batch::new()).await;
        }
        let mut now = question;
        while now.state == QuestionState::Pending {
            match self.take_answer(row, &now, &answer).await {
                // Someone was faster, or the turn woke up or went to sleep at the same moment.
                Err(StoreError::Stale(_)) => {}
                done => return done,
            }
            if inbox::is_settled(&self.store, row.id).await? {
                return Ok(());
            }
            let Some(again) = questions::by_id(&self.store, &now.id).await? else { break };
            now = again;
        }
        let text = wording::settled(&now.kind, now.answer.as_ref(), now.state == QuestionState::Expired);
        self.reply(row, Some(&now), text, Batch::new()).await
    }

    /// Waits a moment for a running turn to go to sleep, and returns it. A turn that just asked is about to: a
    /// program's answer may be faster, and must still get the turn's next message as its reply.
    pub(super) async fn wait_until_asleep(&self, turn: &TurnId) -> Result<Option<TurnRow>, StoreError> {
        let deadline = tokio::time::Instant::now() + SLEEP_PATIENCE;
        loop {
            let now = turns::by_id(&self.store, turn).await?;
            let is_running = now.as_ref().is_some_and(|turn| turn.status == TurnStatus::Running);
            if !is_running || tokio::time::Instant::now() >= deadline {
                return Ok(now);
            }
            match self.running.get(turn) {
                Some(running) => {
                    let _ = tokio::time::timeout_at(deadline, running.ended.cancelled()).await;
                }
                // Another process runs it.
                None => tokio::time::sleep(CHECK_INTERVAL).await,
            }
        }
    }

    async fn take_answer(
        &self,
        row: &InboxRow,
        question: &QuestionRow,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        let now = self.store.now();
        let Some(turn) = turns::by_id(&self.store, &question.turn_id).await? else {
            return Err(StoreError::Corrupt(format!("question {} has no turn", question.id)));
        };
        let open = questions::of_turn(&self.store, &question.turn_id).await?;
        let others =
            open.iter().any(|other| other.id != question.id && other.state == QuestionState::Pending);
        let asleep = turn.status == TurnStatus::Waiting;
        let mut batch = Batch::new();
        turns::expect_status(&mut batch, &turn);
        questions::answer(&mut batch, &question.id, answer, &row.person_id, now);
        control::go_on(&mut batch, question, Some(answer), &self.instance.id, now);
        // An owner who was asked in another conversation doesn't see the turn's next message.
        let is_here = turn.conversation_id == question.conversation_id;
        if asleep && is_here && (!others || question.asks_to_continue()) {
            let mut answers = turn.answer_ids();
            answers.push(row.event_id().to_owned());
            turns::set_answers(&mut batch, &question.turn_id, &answers);
            inbox::settle(&mut batch, row.id, Some(&question.turn_id));
            self.store.write(batch).await?;
        } else {
            self.reply(row, Some(question), wording::noted(&question.kind, answer), batch).await?;
        }
        fail_point("question-answered");
        self.events.send(TurnEvent::QuestionSettled(question.outbox_id.clone()));
        if let Some(running) = self.running.get(&question.turn_id) {
            running.answered.send_replace(());
        }
        Ok(())
    }

    /// Settles a row and replies to it, in one commit with the rest of the batch.
    pub(super) async fn reply(
        &self,
        row: &InboxRow,
        question: Option<&QuestionRow>,
        text: String,
        mut batch: Batch,
    ) -> Result<(), StoreError> {
        let turn = question.map(|question| question.turn_id.clone());
        inbox::settle(&mut batch, row.id, turn.as_ref());
        let answers = vec![row.event_id().to_owned()];
        let message = Message { turn, answers, text, ..Message::default() };
        outbox::say(&self.store, &mut batch, &row.conversation_id, &self.instance.id, &message);
        self.store.write(batch).await?;
        self.events.send(TurnEvent::Said(row.conversation_id.clone()));
        Ok(())
    }

    /// Expires a channel's overdue questions. Returns the conversations that can go on.
    pub async fn expire_questions(&self, channel: &str) -> Result<Vec<ConversationId>, StoreError> {
        let mut woken = Vec::new();
        for question in questions::overdue(&self.store, channel).await? {
            let now = self.store.now();
            let answer = question.kind.answer_when_expired();
            let mut batch = Batch::new();
            questions::expire(&mut batch, &question.id, answer.as_ref(), now);
            control::go_on(&mut batch, &question, answer.as_ref(), &self.instance.id, now);
            match self.store.write(batch).await {
                Ok(_) => {
                    self.events.send(TurnEvent::QuestionSettled(question.outbox_id.clone()));
                    woken.push(question.conversation_id.clone());
                }
                Err(StoreError::Stale(_)) => continue,
                Err(error) => return Err(error),
            }
            if let Some(running) = self.running.get(&question.turn_id) {
                running.answered.send_replace(());
            }
        }
        Ok(woken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on() -> QuestionKind {
        QuestionKind::Continue { text: String::new(), needs_owner: false }
    }

    fn choice(options: &[&str]) -> QuestionKind {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        QuestionKind::Choice { subject: String::new(), options }
    }

    #[test]
    fn the_words_of_the_contract_are_answers_and_nothing_else() {
        let approval = QuestionKind::Approval { preview: String::new(), arguments: String::new() };
        let answers = |text| (typed(text, &go_on()), typed(text, &approval));
        for text in ["continue", "Yes", "go on.", "APPROVE!", "no", "Stop", "reject", "summarise"] {
            assert_ne!(answers(text), (None, None), "{text}");
        }
        for text in ["yes please", "no, the other one", "", "ok", "yes and no", "don't stop", "1"] {
            assert_eq!(answers(text), (None, None), "{text}");
        }
        assert_eq!(answers("yes!"), (Some(Answer::Continue), Some(Answer::Approve)));
        assert_eq!(answers("approve").0, None);
    }

    #[test]
    fn a_choice_is_typed_as_its_word_or_its_number() {
        let question = choice(&["Send it", "2", "Stop!", "/usr"]);
        let chosen = |text| typed(text, &question).map(|answer| answer.as_str().to_owned());
        assert_eq!(chosen(" send IT. ").as_deref(), Some("Send it"));
        assert_eq!(chosen("1").as_deref(), Some("Send it"));
        assert_eq!(chosen("2").as_deref(), Some("2"), "a word before a number");
        assert_eq!(chosen("stop").as_deref(), Some("Stop!"));
        assert_eq!(chosen("3.").as_deref(), Some("Stop!"));
        for text in ["0", "5", "-1", "99999999999999999999", "send", "yes", "", "/stop", "/usr"] {
            assert_eq!(chosen(text), None, "{text}");
        }
        assert_eq!(typed("1", &choice(&[])), None);
    }

    #[test]
    fn any_words_but_a_command_are_what_was_asked_for() {
        let question = QuestionKind::Input { name: "company".into() };
        for text in ["yes", "Acme GmbH\nand its sister", "/home/ada/leads.csv", "1."] {
            assert_eq!(typed(text, &question), Some(Answer::Text(text.into())));
        }
        for text in ["", "  ", "/stop", "/status now"] {
            assert_eq!(typed(text, &question), None, "{text}");
        }
    }

    #[test]
    fn a_button_stands_for_an_answer_of_its_own_question_only() {
        let colours = choice(&["red", "continue"]);
        assert_eq!(pressed("1", &colours), Some(Answer::Text("continue".into())));
        for which in ["2", "-1", "x", "continue", ""] {
            assert_eq!(pressed(which, &colours), None, "{which}");
        }
        assert_eq!(pressed("approve", &go_on()), None);
        assert_eq!(pressed("0", &QuestionKind::Input { name: "company".into() }), None);
        assert_eq!(button("p:0"), Some(("p".into(), "0")));
        for id in ["p", "p:", "p:dance", "p:-1"] {
            assert_eq!(button(id), None, "{id}");
        }
    }
}
