//! Intake: what arrives is journalled, then acknowledged.
//!
//! Properties: when [`Intake::journal`] returns, the message is not lost; the same message again, even
//! after a restart, changes nothing; what is for a running turn (a press, a typed yes, a slash command)
//! does not wait behind it.
//!
//! What kind a message is, is decided before it is journalled and stays so: recovery carries out what
//! the journal says.

use std::sync::Arc;

use adjutant_chat::{Address, ButtonPress, Inbound, IncomingMessage, MessageEdit};

use super::lanes::Lanes;
use crate::conversation::access::Access;
use crate::conversation::{Conversations, commands, questions};
use crate::domain::{InboxKind, QuestionId};
use crate::journal::TurnEvent;
use crate::store::access::{self, Pairing, code_in, new_code};
use crate::store::inbox::{self, InboxRow, NewRow};
use crate::store::people::{self, Conversation, Person};
use crate::store::{Batch, StoreError, outbox};
use crate::wording;

/// The receiver for everything that arrives.
pub struct Intake {
    /// The conversations.
    pub conversations: Arc<Conversations>,
    /// Who may speak.
    pub access: Arc<Access>,
    /// Where admitted messages go.
    pub lanes: Arc<Lanes>,
    /// Places seen of late, by who spoke there; they change only in ways that are asked for again.
    pub known: KnownPlaces,
}

/// Conversations by channel, place, and who spoke there.
pub type KnownPlaces = moka::future::Cache<(String, String, String), Conversation>;

/// Codes that strangers may hold at once, over all channels.
const MOST_CODES: usize = 50;
/// Messages that are kept of one stranger.
const MOST_HELD: i64 = 10;

/// A journalled row that nobody has taken up yet: acknowledge it, then [`Intake::hand_on`].
#[derive(Debug)]
#[must_use = "what is not handed on waits for the next start"]
pub struct Journalled(InboxRow);

/// What becomes of something that arrived.
#[derive(Debug)]
pub enum Arrival {
    /// It is journalled.
    New(Journalled),
    /// There is nothing more to do: it is known already, or kept until its writer is let in.
    Nothing,
    /// A press by somebody who may not answer.
    NotTheirs,
}

impl Intake {
    /// Journals something that arrived; `None` when it had been journalled before.
    ///
    /// # Errors
    /// When the store fails: then the platform must not be told that we have it.
    pub async fn journal(&self, inbound: Inbound) -> Result<Option<Journalled>, StoreError> {
        match inbound {
            Inbound::Message(said) => self.said(said).await,
            Inbound::ButtonPress(pressed) => self.pressed(pressed).await,
        }
    }

    async fn said(&self, said: IncomingMessage) -> Result<Option<Journalled>, StoreError> {
        let store = &self.conversations.store;
        let (channel, user) = (&said.address.channel, &said.sender.0);
        let mut text = with_attachments(&said);
        if !self.access.may_speak(store, channel, user).await? {
            // In a room nobody is asked for a code: others read there.
            if !said.direct {
                return Ok(None);
            }
            if !self.brings_invitation(&said).await? {
                return self.stranger(&said, &text).await;
            }
            "/start".clone_into(&mut text);
        }
        let (person, conversation) =
            self.who_and_where(&said.address, user, &said.sender_name, said.direct).await?;
        let answered = self.conversations.answered_by(&said, &text, &conversation, &person.id).await?;
        let (kind, question_id) = match answered {
            Some(question) => (InboxKind::Answer, Some(question.id)),
            None if commands::is_command(&text) => (InboxKind::Command, None),
            None => (InboxKind::Message, None),
        };
        let event = format!("{channel} {}", said.event.0);
        self.insert(event, &conversation, &person, kind, &text, question_id).await
    }

    async fn brings_invitation(&self, said: &IncomingMessage) -> Result<bool, StoreError> {
        let Some(code) = code_in(&said.text) else { return Ok(false) };
        let store = &self.conversations.store;
        access::accept_invitation(store, &code, &said.address.channel, &said.sender.0, &said.sender_name)
            .await
    }

    /// Keeps what a stranger wrote, and gives them a code for an owner to approve: one in an hour, and only so
    /// many over all, so that nobody can flood the house.
    async fn stranger(&self, said: &IncomingMessage, text: &str) -> Result<Option<Journalled>, StoreError> {
        let store = &self.conversations.store;
        let (channel, user) = (&said.address.channel, &said.sender.0);
        let codes = access::open_codes(store).await?;
        let is_theirs =
            |code: &Pairing| code.channel.as_ref() == Some(channel) && code.user_id.as_ref() == Some(user);
        let has_code = codes.iter().any(is_theirs);
        if !has_code && codes.len() >= MOST_CODES {
            return Ok(None);
        }
        let (person, conversation) = self.who_and_where(&said.address, user, &said.sender_name, true).await?;
        if inbox::held(store, &person.id).await? >= MOST_HELD {
            return Ok(None);
        }
        let instance = &self.conversations.instance.id;
        let row = NewRow {
            event: format!("{channel} {}", said.event.0),
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind: InboxKind::Message,
            text,
            question_id: None,
            instance,
        };
        let now = store.now();
        let mut batch = Batch::new();
        inbox::hold(&mut batch, &row, now);
        if !has_code {
            let pairing = Pairing {
                code: new_code(store.clock().random()),
                channel: Some(channel.clone()),
                user_id: Some(user.clone()),
                name: Some(said.sender_name.clone()),
                expires_at: now + access::CODE_MS,
            };
            access::add_code(&mut batch, &pairing, now);
            let text = wording::stranger(&pairing.code);
            let answers = vec![said.event.0.clone()];
            let message = outbox::Message { text, answers, ..outbox::Message::default() };
            outbox::say(store, &mut batch, &conversation.id, instance, &message);
        }
        match store.write(batch).await {
            Ok(_) => self.conversations.events.send(TurnEvent::Said(conversation.id)),
            // It was journalled before.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// As [`Self::journal`], for a place where anybody sees the buttons: a press by a stranger, or by somebody else than
    /// the person who was asked, is not kept, so that a room full of curious people can't fill the journal.
    ///
    /// # Errors
    /// When the store fails: then the platform must not be told that we have it.
    pub async fn receive(&self, inbound: Inbound) -> Result<Arrival, StoreError> {
        let journalled = match inbound {
            Inbound::Message(message) => self.said(message).await?,
            Inbound::ButtonPress(pressed) => {
                let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
                if !self.access.may_speak(&self.conversations.store, channel, user).await?
                    || !self.conversations.may_press(channel, user, &pressed.button).await?
                {
                    return Ok(Arrival::NotTheirs);
                }
                self.insert_press(pressed).await?
            }
        };
        Ok(journalled.map_or(Arrival::Nothing, Arrival::New))
    }

    /// Puts a new text in place of a message's that no turn has taken; what hung on it stays.
    ///
    /// # Errors
    /// When the store fails: then the platform must not be told that we have it.
    pub async fn edit(&self, channel: &str, edited: &MessageEdit) -> Result<(), StoreError> {
        let store = &self.conversations.store;
        let event = format!("{channel} {}", edited.event.0);
        let Some(before) = inbox::waiting_text(store, &event).await? else { return Ok(()) };
        let text = format!("{}{}", edited.text, attached(&before));
        inbox::edit(store, &event, text.trim()).await.map(drop)
    }

    async fn pressed(&self, pressed: ButtonPress) -> Result<Option<Journalled>, StoreError> {
        let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
        if !self.access.may_speak(&self.conversations.store, channel, user).await? {
            return Ok(None);
        }
        self.insert_press(pressed).await
    }

    async fn insert_press(&self, pressed: ButtonPress) -> Result<Option<Journalled>, StoreError> {
        let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
        let (person, conversation) =
            self.who_and_where(&pressed.address, user, &pressed.sender_name, pressed.direct).await?;
        let question_id = questions::button(&pressed.button).map(|(question, _)| question);
        let event = format!("{channel} {}", pressed.event.0);
        self.insert(event, &conversation, &person, InboxKind::Press, &pressed.button, question_id).await
    }

    async fn who_and_where(
        &self,
        address: &Address,
        user: &str,
        name: &str,
        direct: bool,
    ) -> Result<(Person, Conversation), StoreError> {
        let store = &self.conversations.store;
        // Never from memory: an account may have been joined to another person's.
        let person = people::person(store, &address.channel, user, name).await?;
        let key = (address.channel.clone(), address.place.clone(), format!("{user} {direct}"));
        if let Some(conversation) = self.known.get(&key).await {
            return Ok((person, conversation));
        }
        let conversation =
            people::conversation(store, &address.channel, &address.place, &person.id, direct).await?;
        self.known.insert(key, conversation.clone()).await;
        Ok((person, conversation))
    }

    async fn insert(
        &self,
        event: String,
        conversation: &Conversation,
        person: &Person,
        kind: InboxKind,
        text: &str,
        question_id: Option<QuestionId>,
    ) -> Result<Option<Journalled>, StoreError> {
        let row = NewRow {
            event,
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind,
            text,
            question_id,
            instance: &self.conversations.instance.id,
        };
        let Some(row) = inbox::insert(&self.conversations.store, &row).await? else {
            return Ok(None);
        };
        crate::journal::fail_point("journalled");
        Ok(Some(Journalled(row)))
    }

    /// Sees to it that a journalled row is answered: a message waits in its lane, everything else is
    /// carried out beside it.
    pub fn hand_on(&self, Journalled(row): Journalled) {
        if row.kind == InboxKind::Message {
            self.lanes.wake(&row.conversation_id);
        } else {
            self.lanes.carry_out_soon(row);
        }
    }
}

/// What was said, with what hangs on it: texts in full, other files by name.
fn with_attachments(said: &IncomingMessage) -> String {
    let mut text = said.text.clone();
    for file in &said.attachments {
        let name = file.name.replace(['\n', '\r'], " ");
        match &file.text {
            Some(content) => text.push_str(&format!("{ATTACHED}{name}]\n{content}")),
            None => text.push_str(&format!("{ATTACHED}{name}, which I can't read]")),
        }
    }
    text.trim().to_owned()
}

/// With this begins what hangs on a message.
const ATTACHED: &str = "\n\n[file ";

/// What hangs on a message, as it was journalled.
fn attached(text: &str) -> String {
    match text.find(ATTACHED) {
        Some(begins) => text[begins..].to_owned(),
        // Files without a word.
        None if text.starts_with(ATTACHED.trim_start()) => format!("\n\n{text}"),
        None => String::new(),
    }
}
