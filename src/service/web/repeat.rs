//! Saying the same once more. However often it is asked for, the message arrives once: its name in the inbox is made from the
//! turn that it repeats.

use adjutant_chat::{Address, ChannelIntake, EventId, SenderId};
use adjutant_store::inbox::{PAGE, is_begun_by};
use adjutant_store::turns::TurnRow;
use adjutant_store::{StoreError, people, timeline};
use adjutant_types::TurnId;
use adjutant_web::views::Viewer;
use adjutant_web::{Result, Unavailable};
use adjutant_workflows::command::UNDO;

use super::view::ViewerContext;
use super::{WebBackend, message};

/// The name of the message that repeats a turn.
fn event_of(turn: &TurnId) -> String {
    format!("again-{turn}")
}

impl ViewerContext<'_> {
    /// Whether the viewer can say once more what began a turn. What somebody else wrote would no longer be marked as theirs.
    pub(super) async fn can_repeat(&self, row: &TurnRow) -> Result<bool, StoreError> {
        // Undoing once more would undo something else.
        let is_undo = row.text.starts_with(UNDO);
        let is_own = row.person_id == self.viewer && row.text_taint.is_clean() && !row.text.trim().is_empty();
        if row.ended_at.is_none() || !is_own || is_undo || is_begun_by(self.store, &row.id, PAGE).await? {
            return Ok(false);
        }
        timeline::can_repeat(self.store, &row.conversation_id, &event_of(&row.id), self.page).await
    }
}

impl WebBackend {
    pub(super) async fn say_again(&self, viewer: &Viewer, turn: &TurnId) -> Result<bool> {
        let Some(row) = self.visible(viewer, turn).await? else { return Ok(false) };
        if !self.view(viewer).await?.can_repeat(&row).await? {
            return Ok(false);
        }
        let origin = self.origin(viewer, &row).await?;
        let message = message(EventId(event_of(turn)), row.text.clone(), Vec::new());
        match origin {
            Some((address, sender)) => {
                let receiver = self.receiver(&address.channel).ok_or(Unavailable)?;
                let inbound = message(address, sender, viewer.name.clone());
                receiver.accept(inbound).await.map_err(|_| Unavailable)?;
            }
            None => drop(self.take(viewer, message).await?),
        }
        Ok(true)
    }

    /// Where the turn's conversation is, if the viewer may speak there and it is served here: its history belongs to the
    /// request. Otherwise the page is good enough.
    async fn origin(&self, viewer: &Viewer, row: &TurnRow) -> Result<Option<(Address, SenderId)>> {
        let conversation = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let (channel, place) = (conversation.channel, conversation.place);
        if channel == self.channel || self.receiver(&channel).is_none() {
            return Ok(None);
        }
        for account in people::accounts(&self.store, &viewer.person.as_str().into()).await? {
            let Some(user) = account.strip_prefix(&format!("{channel}:")) else { continue };
            if self.access.may_speak(&self.store, &channel, user).await? {
                return Ok(Some((Address { channel, place }, SenderId(user.to_owned()))));
            }
        }
        Ok(None)
    }
}
