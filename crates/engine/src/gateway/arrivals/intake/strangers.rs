//! Messages of people who may not talk to the assistant yet.

use adjutant_chat::IncomingMessage;
use adjutant_l10n as l10n;
use adjutant_store::access::{self, Pairing, new_code};
use adjutant_store::inbox::{self, NewRow};
use adjutant_store::{Batch, Result, outbox};
use adjutant_turn::journal::TurnEvent;
use adjutant_types::clock::utc;
use adjutant_types::{InboxKind, Taint};

use super::{Arrived, Attached, Intake, Journalled};
use crate::conversation::Conversations;

/// How many pairing codes may be open at once, over all channels.
const MAX_CODES: usize = 50;
/// How many messages of one stranger are stored.
const MAX_MESSAGES: i64 = 10;

impl Intake {
    /// Keeps a stranger's message and gives them a code for an owner to approve: one an hour, and a limited number in
    /// total, so that nobody can flood the assistant.
    pub(super) async fn stranger(
        &self,
        message: &IncomingMessage,
        text: &str,
        Attached { voice, files, mentions }: Attached,
    ) -> Result<Option<Journalled>> {
        let store = &self.conversations.store;
        let (channel, user) = (&message.address.channel, &message.sender.0);
        // Invitations don't count: they are an owner's.
        let mut codes = access::open_codes(store).await?;
        codes.retain(|code| code.user_id.is_some());
        let is_theirs =
            |code: &Pairing| code.channel.as_ref() == Some(channel) && code.user_id.as_ref() == Some(user);
        let has_code = codes.iter().any(is_theirs);
        if !has_code && codes.len() >= MAX_CODES {
            self.tell_of_flood().await?;
            return Ok(None);
        }
        let Arrived { event, conversation, person } = self
            .arrived(&message.address, &message.event, (&message.sender, &message.sender_name), true)
            .await?;
        if inbox::count_held_back(store, &person.id).await? >= MAX_MESSAGES {
            return Ok(None);
        }
        let Conversations { instance, .. } = &*self.conversations;
        let row = NewRow {
            event,
            conversation_id: &conversation.id,
            person_id: &person.id,
            kind: InboxKind::Message,
            text,
            taint: Taint::default(),
            question_id: None,
            instance: if voice.is_some() || !files.is_empty() { &instance.id } else { instance.owner() },
            voice,
            files,
            mentions,
            is_addressed: true,
        };
        let now = store.now();
        let mut batch = Batch::new();
        inbox::hold_back(&mut batch, &row, now);
        if !has_code {
            let pairing = Pairing {
                code: new_code(store.clock().random()),
                channel: Some(channel.clone()),
                user_id: Some(user.clone()),
                name: Some(message.sender_name.clone()),
                expires_at: now + access::CODE_MS,
            };
            access::add_code(&mut batch, &pairing, now);
            let text = l10n::commands::stranger(&pairing.code);
            let answers = vec![message.event.0.clone()];
            let reply = outbox::Message { text, answers, ..outbox::Message::default() };
            outbox::say(store, &mut batch, &conversation.id, instance.owner(), &reply);
        }
        // It may have been journalled before.
        if store.try_write(batch).await? {
            self.conversations.events.send(TurnEvent::MessageAdded(conversation.id));
        }
        Ok(None)
    }

    /// Tells the owners once a day that there are too many strangers to answer.
    async fn tell_of_flood(&self) -> Result<()> {
        let Conversations { store, instance, settings, events, .. } = &*self.conversations;
        let now = store.now();
        let mut batch = Batch::new();
        outbox::announce_once(&mut batch, &format!("pairing flood {}", utc(now).date_naive()), now);
        let owners = self.conversations.reachable_owners(&settings.current()).await?;
        let text = l10n::notices::pairing_flood(MAX_CODES);
        for (conversation, _) in &owners {
            let message = outbox::Message { text: text.clone(), ..outbox::Message::default() };
            outbox::say(store, &mut batch, conversation, instance.owner(), &message);
        }
        // They may have been told today.
        if store.try_write(batch).await? {
            tracing::warn!(owners = owners.len(), "too many strangers ask for access; new ones are ignored");
            owners
                .into_iter()
                .for_each(|(conversation, _)| events.send(TurnEvent::MessageAdded(conversation)));
        }
        Ok(())
    }
}
