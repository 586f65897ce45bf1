//! Intake: journals everything that arrives, so that the platform can be told we have it.
//!
//! Properties:
//!
//! - Once [`Intake::receive`] or [`Intake::journal`] returns, the message can't get lost.
//! - The same message a second time changes nothing, even after a restart.
//! - Input for a running turn (a button press, a typed yes, a slash command) doesn't wait behind that turn.
//! - The kind of a message is decided before it is journalled and never changes: recovery follows the journal. A voice
//!   note's is decided in the commit that gives it its words.

mod strangers;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{
    Address, ButtonPress, EventId, Inbound, IncomingMessage, IncomingReaction, MessageEdit, SenderId,
};
use adjutant_l10n as l10n;
use adjutant_store::access::{self, code_in};
use adjutant_store::files::SentFile;
use adjutant_store::inbox::{self, InboxRow, NewRow, Typed, UnheardNote};
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::questions::QuestionRow;
use adjutant_store::{Batch, Result, outbox, turns};
use adjutant_turn::journal::TurnEvent;
use adjutant_turn::wording;
use adjutant_types::{ConversationId, InboxKind, QuestionId, QuestionKind, QuestionState, Taint};

use super::attached;
use crate::conversation::access::Access;
use crate::conversation::command::{Command, in_small_letters, is_background, is_command, stop_or_pause};
use crate::conversation::questions::AnswerMatch;
use crate::conversation::{Conversations, connect, lines, memory_commands, questions, rooms, rules, watches};
use crate::gateway::lanes::{Lanes, OnArrival};
use crate::gateway::watcher::watch_room;

/// The readers of buttons that stand for a command: each makes it from the button's id.
const BUTTONS: [fn(&str) -> Option<String>; 5] = [
    memory_commands::command_of,
    rules::command_of,
    rooms::command_of,
    watches::command_of,
    connect::command_of,
];

/// Journals what arrives and passes it on.
pub struct Intake {
    pub conversations: Arc<Conversations>,
    pub access: Arc<Access>,
    pub lanes: Arc<Lanes>,
    /// Recently seen conversations: what is read of them here never changes.
    pub cached: CachedConversations,
}

/// Conversations by channel, chat and sender, the last with whether the chat is direct: `7 true`.
pub type CachedConversations = moka::future::Cache<(String, String, String), Conversation>;

pub fn cached_conversations() -> CachedConversations {
    moka::future::Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5)).build()
}

/// A row that is journalled: acknowledge it, then pass it to [`Intake::dispatch`]. None if its turn runs already.
#[derive(Debug)]
#[must_use = "a row that isn't dispatched waits for the next start"]
pub struct Journalled(Option<Box<InboxRow>>);

#[derive(Debug)]
pub enum Arrival {
    New(Journalled),
    /// Nothing more to do: it is a duplicate, or is stored until its sender is let in.
    Nothing,
    /// A button press by someone who may not answer.
    NotTheirs,
    /// A press of a button whose question is closed: what to tell them.
    TooLate(String),
}

/// The conversation and the person of what arrived, and its name in the journal.
struct Arrived {
    /// The channel and the platform's id.
    event: String,
    conversation: Conversation,
    person: Person,
}

/// How a message or a press is journalled.
struct Decision {
    kind: InboxKind,
    /// The text, or the button's id.
    text: String,
    taint: Taint,
    question: Option<QuestionId>,
    is_addressed: bool,
}

#[derive(Default)]
struct Attached {
    voice: Option<UnheardNote>,
    files: Vec<SentFile>,
    mentions: String,
}

/// The input of [`decide`].
struct Facts {
    text: String,
    /// Who wrote it, if its sender only forwards it.
    forwarded_from: Option<String>,
    is_addressed: bool,
    is_spoken: bool,
    answers: Option<AnswerMatch>,
    claims_ownership: bool,
    /// The text of the doubtful voice note that this yes confirms.
    confirmed: Option<String>,
    /// The command that its words stand for.
    command: Option<String>,
}

fn decide(facts: Facts) -> Decision {
    let is_addressed = facts.is_addressed;
    let decision =
        |kind, text| Decision { kind, text, taint: Taint::default(), question: None, is_addressed };
    let text = facts.text;
    // What somebody else wrote is neither an answer nor a command.
    if let Some(writer) = facts.forwarded_from {
        let taint = Taint::by(&l10n::sources::forwarded_message(writer));
        return Decision { taint, ..decision(InboxKind::Message, text) };
    }
    match facts.answers {
        // The kind of a voice note is decided by its transcript. What people write to each other answers nothing.
        _ if facts.is_spoken || !is_addressed => decision(InboxKind::Message, text),
        Some(AnswerMatch::Question(question)) => {
            Decision { question: Some(question), ..decision(InboxKind::Answer, text) }
        }
        Some(AnswerMatch::Unclear) => decision(InboxKind::Command, text),
        None if is_command(&text) || facts.claims_ownership => decision(InboxKind::Command, text),
        None => match facts.command {
            Some(command) => decision(InboxKind::Command, command),
            None => decision(InboxKind::Message, facts.confirmed.unwrap_or(text)),
        },
    }
}

impl Intake {
    /// Journals what arrived, for a terminal; platforms, whose people may be told at once, use [`Self::receive`]. None if it
    /// was journalled before. After an error the platform must deliver it again.
    pub async fn journal(&self, inbound: Inbound) -> Result<Option<Journalled>> {
        match inbound {
            Inbound::Message(message) => self.journal_message(message).await,
            Inbound::ButtonPress(pressed) => {
                let (channel, user) = (&pressed.address.channel, &pressed.sender.0);
                match self.access.may_speak(&self.conversations.store, channel, user).await? {
                    true => self.journal_press(pressed).await,
                    false => Ok(None),
                }
            }
        }
    }

    async fn journal_message(&self, message: IncomingMessage) -> Result<Option<Journalled>> {
        // Who watches a room wants to know also what isn't for us.
        watch_room(&self.conversations, &message).await?;
        if !self.room_admits(&message).await? {
            return Ok(None);
        }
        let store = &self.conversations.store;
        let (channel, user) = (&message.address.channel, &message.sender.0);
        let voice = attached::voice_note(&message);
        let files = attached::files(&message, voice.as_ref());
        let mut attached = Attached { voice, files, mentions: inbox::mentions(&message.mentions) };
        let mut text = attached::text(&message, !attached.files.is_empty() && attached.voice.is_none());
        if !self.access.may_speak(store, channel, user).await? {
            // Others read along in a room, so no code is offered there.
            if !message.direct {
                return Ok(None);
            }
            if !self.brings_invitation(&message).await? {
                return self.stranger(&message, &text, attached).await;
            }
            // Its code stays out of the journal.
            "/start".clone_into(&mut text);
        }
        let arrived = self
            .arrived(
                &message.address,
                &message.event,
                (&message.sender, &message.sender_name),
                message.direct,
            )
            .await?;
        let is_own = message.forwarded_from.is_none();
        if let Some(instead) = self.instead_of(&text, &arrived.person.id, is_own).await? {
            instead.clone_into(&mut text);
        }
        let is_spoken = attached.voice.is_some();
        let decision = decide(self.facts(text, &message, &arrived, is_spoken).await?);
        if decision.kind != InboxKind::Message && !attached.files.is_empty() {
            attached.files.clear();
            let notice =
                outbox::Message { text: l10n::files::not_with_command(), ..outbox::Message::default() };
            self.say_once(&format!("files {}", arrived.event), &arrived.conversation.id, notice).await?;
        }
        self.commit(arrived, decision, attached).await
    }

    /// Whether the rule of its room lets a message in. `/room` always gets in, or nobody could change the rule.
    async fn room_admits(&self, message: &IncomingMessage) -> Result<bool> {
        if message.direct {
            return Ok(true);
        }
        let rule = self.conversations.room_rule(&message.address).await?;
        let may_be_command = message.is_addressed && message.forwarded_from.is_none();
        Ok(rule.admits(&message.sender.0, message.is_addressed)
            || (may_be_command && matches!(Command::read(&message.text), Command::Room(_))))
    }

    async fn facts(
        &self,
        text: String,
        message: &IncomingMessage,
        arrived: &Arrived,
        is_spoken: bool,
    ) -> Result<Facts> {
        let Self { conversations, .. } = self;
        let (here, person) = (&arrived.conversation, &arrived.person.id);
        let forwarded_from = message.forwarded_from.clone();
        let is_addressed = message.is_addressed;
        let is_own = forwarded_from.is_none() && !is_spoken && is_addressed;
        let answers = match is_own {
            true => conversations.match_answer(message.reply_to.as_deref(), &text, here, person).await?,
            false => None,
        };
        let is_new = is_own && answers.is_none() && !is_command(&text);
        let claims_ownership = is_new && conversations.claims_ownership(&text, person).await?;
        let confirmed = match is_new && !claims_ownership {
            true => conversations.confirmed(&text, here, person).await?,
            false => None,
        };
        let meanwhile = stop_or_pause(&text).filter(|_| is_new);
        let command = match meanwhile.is_some() && conversations.talks_with(&here.id, person).await? {
            true => meanwhile.map(str::to_owned),
            false => connect::wish(&text).filter(|_| is_new && conversations.has_logins()),
        };
        Ok(Facts {
            text,
            forwarded_from,
            is_addressed,
            is_spoken,
            answers,
            claims_ownership,
            confirmed,
            command,
        })
    }

    /// Says something once, whatever comes again.
    async fn say_once(
        &self,
        topic: &str,
        conversation: &ConversationId,
        message: outbox::Message,
    ) -> Result<()> {
        let store = &self.conversations.store;
        let mut batch = Batch::new();
        outbox::announce_once(&mut batch, topic, store.now());
        outbox::say(store, &mut batch, conversation, self.conversations.instance.owner(), &message);
        // The sender may have been notified before.
        if store.try_write(batch).await? {
            self.conversations.events.send(TurnEvent::MessageAdded(conversation.clone()));
        }
        Ok(())
    }

    async fn brings_invitation(&self, message: &IncomingMessage) -> Result<bool> {
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
    pub async fn receive(&self, inbound: Inbound, shows_notices: bool) -> Result<Arrival> {
        let journalled = match inbound {
            Inbound::Message(message) => self.journal_message(message).await?,
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
                self.journal_press(pressed).await?
            }
        };
        Ok(journalled.map_or(Arrival::Nothing, Arrival::New))
    }

    /// The press that a reaction stands for: where that is configured, 👍 is the yes to the only question of a message, of the
    /// person who was asked, and under its last part, which asks. 👎 or ❌ under any part of an answer is kept with its turn,
    /// until it is taken away or is 👍.
    pub async fn press_of(&self, reaction: IncomingReaction) -> Result<Option<ButtonPress>> {
        let IncomingReaction { event, address, sender, receipt, is_up, is_gone } = reaction;
        let (store, settings) = (&self.conversations.store, self.conversations.settings.current());
        let found = outbox::by_receipt(store, (&address.channel, &address.place), &receipt).await?;
        let person = people::person_of(store, &address.channel, &sender.0).await?;
        let (Some((message, turn, last)), Some(person)) = (found, person) else { return Ok(None) };
        match (&adjutant_store::questions::of_message(store, &message).await?[..], turn) {
            ([question], _) if is_up && receipt == last => {
                let is_approval = matches!(question.kind, QuestionKind::Approval { .. });
                let is_theirs = question.person_id == person.id && question.is_open();
                let here = people::conversation_by_id(store, &question.conversation_id).await?;
                let address = Address { place: here.place, ..address };
                let (direct, button) = (!here.shared, format!("{}:approve", question.id));
                let press = ButtonPress { event, address, sender, sender_name: person.name, direct, button };
                Ok(Some(press).filter(|_| settings.approval.reactions && is_approval && is_theirs))
            }
            ([], Some(turn)) => {
                turns::set_disliked(store, &turn, &person.id, !is_up && !is_gone).await.map(|()| None)
            }
            _ => Ok(None),
        }
    }

    /// The notice for a press on a closed question; none if this very press closed it and comes again, or if it is for
    /// all questions of a message and one is open.
    async fn too_late(&self, pressed: &ButtonPress) -> Result<Option<String>> {
        let store = &self.conversations.store;
        let Some((id, which)) = questions::button(&pressed.button) else { return Ok(None) };
        let Some(question) = adjutant_store::questions::by_id(store, &id).await? else { return Ok(None) };
        let meant = match questions::is_for_all(which) {
            true => adjutant_store::questions::of_message(store, &question.outbox_id).await?,
            false => vec![question.clone()],
        };
        if meant.iter().any(QuestionRow::is_open) {
            return Ok(None);
        }
        if inbox::is_journalled(store, &format!("{} {}", pressed.address.channel, pressed.event.0)).await? {
            return Ok(None);
        }
        let is_expired = question.state == QuestionState::Expired;
        Ok(Some(wording::already_closed(&question.kind, question.answer.as_ref(), is_expired)))
    }

    /// Replaces the text, not the files, of a message that no turn has taken. If one has, its writer is told so, once.
    pub async fn edit(&self, channel: &str, edited: &MessageEdit) -> Result<()> {
        let store = &self.conversations.store;
        let event = format!("{channel} {}", edited.event.0);
        let Some(typed) = inbox::typed(store, &event).await? else { return Ok(()) };
        let text = edited.text.trim();
        let lowered = in_small_letters(text);
        let text = if typed.taint.is_clean() { &lowered } else { text };
        if let Some(instead) = self.instead_of(text, &typed.person_id, typed.taint.is_clean()).await? {
            let name = format!(" typed:{event} {instead}");
            return self.add_by_edit(name, &typed, instead, InboxKind::Command).await;
        }
        let was_taken = typed.turn_id.is_some();
        if !was_taken && text == typed.text
            || inbox::edit(store, &event, text, &inbox::mentions(&edited.mentions)).await?
        {
            return Ok(());
        }
        // Nobody waits for an answer to what people write to each other.
        if !typed.is_addressed {
            return Ok(());
        }
        let now_says = l10n::notices::now_says(text);
        let edits = inbox::edits_of(store, &event).await?;
        let is_known = edits.last().map_or(text == typed.text, |last| *last == now_says);
        if is_known {
            return Ok(());
        }
        // What somebody else wrote, they can change.
        let turn = typed.turn_id.as_ref().filter(|_| typed.taint.is_clean());
        if let Some(turn) = turn
            && self.conversations.is_talk(turn).await?
        {
            let name = format!("{} {}", inbox::edit_key(&event), edits.len());
            return self.add_by_edit(name, &typed, &now_says, InboxKind::Message).await;
        }
        let answers = vec![edited.event.0.clone()];
        let message =
            outbox::Message { text: l10n::notices::edited(), answers, ..outbox::Message::default() };
        self.say_once(&format!("edited {event}"), &typed.conversation_id, message).await
    }

    /// Carries out what stands for a code or a password that a message was changed into, or passes the new text of one that
    /// is being worked on to its turn. The message stays what it was.
    async fn add_by_edit(&self, name: String, typed: &Typed, text: &str, kind: InboxKind) -> Result<()> {
        let here = (&typed.conversation_id, &typed.person_id);
        let Conversations { instance, .. } = &*self.conversations;
        let instance = if kind == InboxKind::Message { instance.owner() } else { &instance.id };
        let row = NewRow { kind, ..NewRow::ours(name, here, text, Taint::default(), instance) };
        if let Some(row) = self.conversations.journal(&row).await? {
            self.dispatch(Journalled(Some(Box::new(row))));
        }
        Ok(())
    }

    async fn journal_press(&self, pressed: ButtonPress) -> Result<Option<Journalled>> {
        let mut arrived = self
            .arrived(
                &pressed.address,
                &pressed.event,
                (&pressed.sender, &pressed.sender_name),
                pressed.direct,
            )
            .await?;
        let command = BUTTONS.iter().find_map(|command_of| command_of(&pressed.button));
        let (kind, text, question) = match (command, lines::message_of(&pressed.button)) {
            (Some(text), _) => (InboxKind::Command, text, None),
            (None, Some((name, text))) => {
                arrived.event = format!("{name}:{}", arrived.event);
                (InboxKind::Message, text, None)
            }
            (None, None) => {
                let question = questions::button(&pressed.button).map(|(question, _)| question);
                (InboxKind::Press, pressed.button, question)
            }
        };
        let decision = Decision { kind, text, taint: Taint::default(), question, is_addressed: true };
        self.commit(arrived, decision, Attached::default()).await
    }

    async fn arrived(
        &self,
        address: &Address,
        event: &EventId,
        (sender, name): (&SenderId, &str),
        direct: bool,
    ) -> Result<Arrived> {
        let (store, user) = (&self.conversations.store, &sender.0);
        let event = format!("{} {}", address.channel, event.0);
        // Never cached: the account may have been linked to another person since.
        let person = people::person(store, &address.channel, user, name).await?;
        let key = (address.channel.clone(), address.place.clone(), format!("{user} {direct}"));
        if let Some(conversation) = self.cached.get(&key).await {
            return Ok(Arrived { event, conversation, person });
        }
        let conversation =
            people::conversation(store, &address.channel, &address.place, &person.id, direct).await?;
        self.cached.insert(key, conversation.clone()).await;
        Ok(Arrived { event, conversation, person })
    }

    async fn commit(
        &self,
        Arrived { event, conversation, person }: Arrived,
        Decision { kind, text, taint, question, is_addressed }: Decision,
        Attached { voice, files, mentions }: Attached,
    ) -> Result<Option<Journalled>> {
        // What is heard, fetched, answered or carried out at once is ours; a message is its lane's.
        let Conversations { instance, .. } = &*self.conversations;
        let is_ours = kind != InboxKind::Message || voice.is_some() || !files.is_empty();
        let row = NewRow {
            event,
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind,
            text: &text,
            taint,
            question_id: question,
            instance: if is_ours { &instance.id } else { instance.owner() },
            voice,
            files,
            mentions,
            is_addressed,
        };
        if kind == InboxKind::Message && row.is_whole() && !is_background(&text) {
            let now = self.conversations.store.now();
            match self.lanes.begin_on_arrival(row.as_stored(0, now)).await? {
                OnArrival::Journalled => return Ok(Some(Journalled(None))),
                OnArrival::Duplicate => return Ok(None),
                OnArrival::NotJournalled => {}
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
