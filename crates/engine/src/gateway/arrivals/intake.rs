//! Intake: journals everything that arrives, so that the platform can be told we have it.
//!
//! Properties:
//!
//! - Once [`Intake::journal`] returns, the message can't get lost.
//! - The same message a second time changes nothing, even after a restart.
//! - Input for a running turn (a button press, a typed yes, a slash command) doesn't wait behind that turn.
//! - The kind of a message is decided before it is journalled and never changes: recovery follows the journal. A voice
//!   note's is decided in the commit that gives it its words.

mod strangers;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Address, ButtonPress, Inbound, IncomingMessage, MessageEdit};
use adjutant_store::access::{self, code_in};
use adjutant_store::files::SentFile;
use adjutant_store::inbox::{self, InboxRow, NewRow, UnheardNote};
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::{Batch, StoreError, outbox};
use adjutant_turn::journal::TurnEvent;
use adjutant_turn::wording;
use adjutant_types::{ConversationId, InboxKind, QuestionId, QuestionState, Taint};

use super::attached;
use crate::conversation::access::Access;
use crate::conversation::questions::AnswerMatch;
use crate::conversation::{Conversations, commands, memory_commands, questions, rules};
use crate::gateway::lanes::Lanes;

/// Journals what arrives and passes it on.
pub struct Intake {
    pub conversations: Arc<Conversations>,
    /// Decides who may talk to the assistant.
    pub access: Arc<Access>,
    /// Runs the turns for admitted messages.
    pub lanes: Arc<Lanes>,
    /// Recently seen conversations. Cached, because what is read from them never changes.
    pub known: KnownPlaces,
}

/// Conversations by channel, place and sender.
pub type KnownPlaces = moka::future::Cache<(String, String, String), Conversation>;

/// A cache for them.
pub fn known_places() -> KnownPlaces {
    moka::future::Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5)).build()
}

/// A row that is journalled: acknowledge it, then pass it to [`Intake::dispatch`]. None if its turn runs already.
#[derive(Debug)]
#[must_use = "a row that isn't dispatched waits for the next start"]
pub struct Journalled(Option<Box<InboxRow>>);

/// The result of receiving something.
#[derive(Debug)]
pub enum Arrival {
    New(Journalled),
    /// Nothing more to do: it was known already, or is kept until its sender is let in.
    Nothing,
    /// A button press by someone who may not answer.
    NotTheirs,
    /// A press of a button whose question is closed: what to tell them.
    TooLate(String),
}

impl Intake {
    /// Journals what arrived; `None` if it was journalled before. After an error the platform must deliver it again.
    pub async fn journal(&self, inbound: Inbound) -> Result<Option<Journalled>, StoreError> {
        match inbound {
            Inbound::Message(message) => self.message(message).await,
            Inbound::ButtonPress(pressed) => self.press(pressed).await,
        }
    }

    async fn message(&self, message: IncomingMessage) -> Result<Option<Journalled>, StoreError> {
        let store = &self.conversations.store;
        let (channel, user) = (&message.address.channel, &message.sender.0);
        let voice = attached::voice_note(&message);
        let files = attached::files(&message, voice.as_ref());
        let mut text = attached::text(&message, !files.is_empty() && voice.is_none());
        let mentions = inbox::mentions(&message.mentions);
        if !self.access.may_speak(store, channel, user).await? {
            // Others read along in a room, so no code is offered there.
            if !message.direct {
                return Ok(None);
            }
            if !self.brings_invitation(&message).await? {
                return self.stranger(&message, &text, voice, files).await;
            }
            "/start".clone_into(&mut text);
        }
        let (person, conversation) = self
            .person_and_conversation(&message.address, user, &message.sender_name, message.direct)
            .await?;
        let event = format!("{channel} {}", message.event.0);
        // What somebody else wrote is neither an answer nor a command.
        if let Some(writer) = &message.forwarded_from {
            let taint = Taint::by(&format!("a forwarded message from {writer}"));
            return self
                .insert(
                    event,
                    (&conversation, &person),
                    InboxKind::Message,
                    (&text, taint),
                    None,
                    (voice, files, mentions),
                )
                .await;
        }
        // What a voice note is turns out when it is heard.
        if voice.is_some() {
            let (kind, content) = (InboxKind::Message, (text.as_str(), Taint::default()));
            return self
                .insert(event, (&conversation, &person), kind, content, None, (voice, files, mentions))
                .await;
        }
        let (kind, question_id) = self.kind_of(&mut text, &message, (&conversation, &person)).await?;
        let mut attached = (None, files, mentions);
        if kind != InboxKind::Message && !attached.1.is_empty() {
            attached.1.clear();
            let notice =
                outbox::Message { text: wording::files::NOT_HERE.into(), ..outbox::Message::default() };
            self.say_once(&format!("files {event}"), &conversation.id, notice).await?;
        }
        let content = (text.as_str(), Taint::default());
        self.insert(event, (&conversation, &person), kind, content, question_id, attached).await
    }

    /// What a typed message is. Its text becomes a command where it means one.
    async fn kind_of(
        &self,
        text: &mut String,
        message: &IncomingMessage,
        (conversation, person): (&Conversation, &Person),
    ) -> Result<(InboxKind, Option<QuestionId>), StoreError> {
        let matched = self
            .conversations
            .match_answer(message.reply_to.as_deref(), text, conversation, &person.id)
            .await?;
        Ok(match matched {
            Some(AnswerMatch::Question(question)) => (InboxKind::Answer, Some(question)),
            Some(AnswerMatch::Unclear) => {
                *text = format!("/answer {text}");
                (InboxKind::Command, None)
            }
            None if commands::is_command(text) => (InboxKind::Command, None),
            None if self.conversations.claims_ownership(text, &person.id).await? => {
                "/mine it".clone_into(text);
                (InboxKind::Command, None)
            }
            None => {
                let confirmed = self.conversations.confirmed(text, conversation, &person.id).await?;
                if let Some(confirmed) = confirmed {
                    *text = confirmed;
                }
                (InboxKind::Message, None)
            }
        })
    }

    /// Says something once, whatever comes again.
    async fn say_once(
        &self,
        topic: &str,
        conversation: &ConversationId,
        message: outbox::Message,
    ) -> Result<(), StoreError> {
        let store = &self.conversations.store;
        let mut batch = Batch::new();
        outbox::announce_once(&mut batch, topic, store.now());
        outbox::say(store, &mut batch, conversation, self.conversations.instance.owner(), &message);
        match store.write(batch).await {
            Ok(_) => self.conversations.events.send(TurnEvent::MessageAdded(conversation.clone())),
            // They were told before.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn brings_invitation(&self, message: &IncomingMessage) -> Result<bool, StoreError> {
        let Some(code) = code_in(&message.text) else { return Ok(false) };
        let store = &self.conversations.store;
        access::accept_invitation(
            store,
            &code,
            &message.address.channel,
            &message.sender.0,
            &message.sender_name,
        )
        .await
    }

    /// Like [`Self::journal`], but drops button presses by people who weren't asked: a room full of curious people must
    /// not fill the journal. Where the platform tells one person alone, that is how they learn that they are too late.
    pub async fn receive(&self, inbound: Inbound, shows_notices: bool) -> Result<Arrival, StoreError> {
        let journalled = match inbound {
            Inbound::Message(message) => self.message(message).await?,
            Inbound::ButtonPress(pressed) => {
                let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
                if !self.access.may_speak(&self.conversations.store, channel, user).await?
                    || !self.conversations.may_press(channel, user, &pressed.button).await?
                {
                    return Ok(Arrival::NotTheirs);
                }
                if shows_notices && let Some(notice) = self.too_late(&pressed).await? {
                    return Ok(Arrival::TooLate(notice));
                }
                self.insert_press(pressed).await?
            }
        };
        Ok(journalled.map_or(Arrival::Nothing, Arrival::New))
    }

    /// What to tell somebody who presses a button of a closed question; nothing if this very press closed it and
    /// comes again.
    async fn too_late(&self, pressed: &ButtonPress) -> Result<Option<String>, StoreError> {
        let store = &self.conversations.store;
        let Some((id, _)) = questions::button(&pressed.button) else { return Ok(None) };
        let question = adjutant_store::questions::by_id(store, &id).await?;
        let Some(question) = question.filter(|one| one.state != QuestionState::Pending) else {
            return Ok(None);
        };
        if inbox::is_known(store, &format!("{} {}", pressed.address.channel, pressed.event.0)).await? {
            return Ok(None);
        }
        let is_expired = question.state == QuestionState::Expired;
        Ok(Some(wording::already_closed(&question.kind, question.answer.as_ref(), is_expired)))
    }

    /// Replaces the text of a message that no turn has taken yet; its attachments stay. If one has, its writer is told
    /// so, once.
    pub async fn edit(&self, channel: &str, edited: &MessageEdit) -> Result<(), StoreError> {
        let store = &self.conversations.store;
        let event = format!("{channel} {}", edited.event.0);
        let Some((conversation, before)) = inbox::text_of(store, &event).await? else { return Ok(()) };
        let text = edited.text.trim();
        if text == before || inbox::edit(store, &event, text, &inbox::mentions(&edited.mentions)).await? {
            return Ok(());
        }
        let answers = vec![edited.event.0.clone()];
        let message = outbox::Message { text: wording::EDITED.into(), answers, ..outbox::Message::default() };
        self.say_once(&format!("edited {event}"), &conversation, message).await
    }

    async fn press(&self, pressed: ButtonPress) -> Result<Option<Journalled>, StoreError> {
        let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
        if !self.access.may_speak(&self.conversations.store, channel, user).await? {
            return Ok(None);
        }
        self.insert_press(pressed).await
    }

    async fn insert_press(&self, pressed: ButtonPress) -> Result<Option<Journalled>, StoreError> {
        let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
        let (person, conversation) = self
            .person_and_conversation(&pressed.address, user, &pressed.sender_name, pressed.direct)
            .await?;
        let question_id = questions::button(&pressed.button).map(|(question, _)| question);
        let event = format!("{channel} {}", pressed.event.0);
        let command =
            memory_commands::command_of(&pressed.button).or_else(|| rules::command_of(&pressed.button));
        if let Some(command) = command {
            let content = (command.as_str(), Taint::default());
            return self
                .insert(
                    event,
                    (&conversation, &person),
                    InboxKind::Command,
                    content,
                    None,
                    Default::default(),
                )
                .await;
        }
        let button = (pressed.button.as_str(), Taint::default());
        self.insert(
            event,
            (&conversation, &person),
            InboxKind::Press,
            button,
            question_id,
            Default::default(),
        )
        .await
    }

    async fn person_and_conversation(
        &self,
        address: &Address,
        user: &str,
        name: &str,
        direct: bool,
    ) -> Result<(Person, Conversation), StoreError> {
        let store = &self.conversations.store;
        // Never cached: the account may have been linked to another person since.
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
        (conversation, person): (&Conversation, &Person),
        kind: InboxKind,
        (text, taint): (&str, Taint),
        question_id: Option<QuestionId>,
        (voice, files, mentions): (Option<UnheardNote>, Vec<SentFile>, String),
    ) -> Result<Option<Journalled>, StoreError> {
        // What is heard, fetched, answered or carried out at once is ours; a message is its lane's.
        let Conversations { instance, .. } = &*self.conversations;
        let is_ours = kind != InboxKind::Message || voice.is_some() || !files.is_empty();
        let row = NewRow {
            event,
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind,
            text,
            taint,
            question_id,
            instance: if is_ours { &instance.id } else { instance.owner() },
            voice,
            files,
            mentions,
        };
        if kind == InboxKind::Message && row.is_whole() && !commands::is_background(text) {
            let now = self.conversations.store.now();
            let begun = self.lanes.begin_on_arrival(row.as_stored(0, now)).await?;
            if let Some(is_new) = begun {
                return Ok(is_new.then_some(Journalled(None)));
            }
        }
        Ok(self.conversations.journal(&row).await?.map(|row| Journalled(Some(Box::new(row)))))
    }

    /// Gets a journalled row processed: a message waits in its lane, everything else is handled at once.
    pub fn dispatch(&self, Journalled(row): Journalled) {
        let Some(row) = row.map(|row| *row) else { return };
        if !row.is_whole() {
            self.lanes.complete_soon(row);
        } else if row.kind == InboxKind::Message {
            self.lanes.wake_for(&row);
        } else {
            self.lanes.handle_soon(row);
        }
    }
}
