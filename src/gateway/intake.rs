//! Intake: what arrives is journalled, then acknowledged.
//!
//! Properties: when [`Intake::journal`] returns, the message is not lost; the same message again, even
//! after a restart, changes nothing; what is for a running turn (a press, a typed yes, a slash command)
//! does not wait behind it.
//!
//! What kind a message is, is decided before it is journalled and stays so: recovery carries out what
//! the journal says.

use std::sync::Arc;

use adjutant_chat::{Address, Inbound, Pressed, Said};

use super::lanes::Lanes;
use crate::conversation::{Conversations, commands, prompts};
use crate::store::inbox::{self, InboxRow, NewRow};
use crate::store::people::{self, Conversation, Person};
use crate::store::{Store, StoreError};

/// The door for everything that arrives.
pub struct Intake {
    /// The conversations.
    pub conversations: Arc<Conversations>,
    /// Where admitted messages go.
    pub lanes: Arc<Lanes>,
    /// People and places seen of late; both change only in ways that are asked for again.
    pub known: moka::future::Cache<(String, String, String), (Person, Conversation)>,
}

/// A journalled row that nobody has taken up yet: acknowledge it, then [`Intake::hand_on`].
#[derive(Debug)]
#[must_use = "what is not handed on waits for the next start"]
pub struct Journalled(InboxRow);

impl Intake {
    /// Journals something that arrived; `None` when it had been journalled before.
    ///
    /// # Errors
    /// When the store fails: then the platform must not be told that we have it.
    pub async fn journal(&self, inbound: Inbound) -> Result<Option<Journalled>, StoreError> {
        match inbound {
            Inbound::Said(said) => self.said(said).await,
            Inbound::Pressed(pressed) => self.pressed(pressed).await,
        }
    }

    async fn said(&self, said: Said) -> Result<Option<Journalled>, StoreError> {
        let (person, conversation) =
            self.who_and_where(&said.address, &said.sender.0, &said.sender_name, said.direct).await?;
        let answered = self.conversations.answered_by(&said, &conversation, &person.id).await?;
        let (kind, prompt_id) = match answered {
            Some((prompt, _)) => ("answer", Some(prompt.id)),
            None if commands::is_command(&said.text) => ("command", None),
            None => ("said", None),
        };
        let event = format!("{} {}", said.address.channel, said.event.0);
        self.insert(event, &conversation, &person, kind, &said.text, prompt_id).await
    }

    async fn pressed(&self, pressed: Pressed) -> Result<Option<Journalled>, StoreError> {
        let (person, conversation) = self
            .who_and_where(&pressed.address, &pressed.sender.0, &pressed.sender_name, pressed.direct)
            .await?;
        let prompt_id = prompts::button(&pressed.button).map(|(prompt, _)| prompt.to_owned());
        let event = format!("{} {}", pressed.address.channel, pressed.event.0);
        self.insert(event, &conversation, &person, "press", &pressed.button, prompt_id).await
    }

    async fn who_and_where(
        &self,
        address: &Address,
        user: &str,
        name: &str,
        direct: bool,
    ) -> Result<(Person, Conversation), StoreError> {
        let key = (address.channel.clone(), address.place.clone(), format!("{user} {direct}"));
        if let Some(known) = self.known.get(&key).await {
            return Ok(known);
        }
        let store = &self.conversations.store;
        let person = people::person(store, &address.channel, user, name).await?;
        let conversation =
            people::conversation(store, &address.channel, &address.place, &person.id, direct).await?;
        self.known.insert(key, (person.clone(), conversation.clone())).await;
        Ok((person, conversation))
    }

    async fn insert(
        &self,
        event: String,
        conversation: &Conversation,
        person: &Person,
        kind: &'static str,
        text: &str,
        prompt_id: Option<String>,
    ) -> Result<Option<Journalled>, StoreError> {
        let row = NewRow {
            event,
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind,
            text,
            prompt_id,
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
        if row.kind == "said" {
            self.lanes.wake(&row.conversation_id);
        } else {
            self.lanes.carry_out_soon(row);
        }
    }
}

/// The conversations of a channel in which processes that are gone left something: messages, turns, or
/// things to say. It looks at what is open only, so that it may be asked every second.
///
/// # Errors
/// When the store fails.
pub async fn left_over(store: &Store, channel: &str, place: Option<&str>) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String,)> = store
        .all(
            "SELECT c.id FROM conversations c WHERE c.channel = $1 AND ($2 = '' OR c.place = $2) AND c.id IN (\
             SELECT conversation_id FROM inbox WHERE state = 'new' \
             AND instance NOT IN (SELECT id FROM instances) UNION \
             SELECT conversation_id FROM turns WHERE ended_at IS NULL AND status <> 'waiting' \
             AND instance NOT IN (SELECT id FROM instances) UNION \
             SELECT conversation_id FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
             AND instance NOT IN (SELECT id FROM instances))",
            &[channel.into(), place.unwrap_or_default().into()],
        )
        .await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}
