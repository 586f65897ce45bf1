//! Tells whether spoken words are a message, or the answer to an open question.
//!
//! Property: nothing that is spoken approves anything. A transcript may be wrong, and not only its owner speaks near a
//! phone.

use adjutant_store::people::Conversation;
use adjutant_store::{Result, inbox, questions};
use adjutant_types::{Answer, PersonId, QuestionId};

use super::Conversations;
use super::answers::{Typed, agrees, read};
use super::questions::AnswerMatch;

/// How long a "yes" confirms a doubtful transcript, in milliseconds.
const CONFIRMS_MS: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpokenAs {
    Message,
    Answer(QuestionId),
    /// A yes that has to be pressed or typed.
    NeedsHand,
}

impl Conversations {
    pub async fn spoken_as(
        &self,
        text: &str,
        reply_to: Option<&str>,
        conversation: &Conversation,
        person: &PersonId,
    ) -> Result<SpokenAs> {
        let question = match self.match_answer(reply_to, text, conversation, person).await? {
            None => return Ok(SpokenAs::Message),
            // Which one is meant is a question of its own, and its answer might approve.
            Some(AnswerMatch::Unclear) => return Ok(SpokenAs::NeedsHand),
            Some(AnswerMatch::Question(question)) => question,
        };
        let Some(row) = questions::by_id(&self.store, &question).await? else { return Ok(SpokenAs::Message) };
        let asked = questions::of_message(&self.store, &row.outbox_id).await?;
        let approves =
            |answers: &[(usize, Answer)]| answers.iter().any(|(_, answer)| *answer == Answer::Approve);
        Ok(match read(text, &row, &asked) {
            Some(Typed::Answers(answers)) if !approves(&answers) => SpokenAs::Answer(question),
            _ => SpokenAs::NeedsHand,
        })
    }

    /// The text that a person confirms with a bare "yes": of their last message here, if it was a doubtful voice note.
    pub async fn confirmed(
        &self,
        text: &str,
        conversation: &Conversation,
        person: &PersonId,
    ) -> Result<Option<String>> {
        if !agrees(text) {
            return Ok(None);
        }
        inbox::doubted(&self.store, &conversation.id, person, self.store.now() - CONFIRMS_MS).await
    }
}
