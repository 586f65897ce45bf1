//! Decides who may talk to the assistant. No journalled message begins a turn without an [`Admitted`], which only this
//! module makes.
//!
//! Access is denied by default. Owners, people in the configuration, and people let in by a code have access. Nothing
//! is cached here, so changes apply from the next message on.

use std::ops::Deref;
use std::sync::Arc;

use adjutant_config::Settings;
use adjutant_config::reload::Reloadable;
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::{Result, Store, access};
use adjutant_types::{ConversationId, InstanceId};

/// A journalled row that isn't waiting for its sender's pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted(InboxRow);

impl Admitted {
    pub(super) fn into_row(self) -> InboxRow {
        self.0
    }
}

impl Deref for Admitted {
    type Target = InboxRow;

    fn deref(&self) -> &InboxRow {
        &self.0
    }
}

/// Decides who may talk to the assistant on the channels of this process.
#[derive(Debug)]
pub struct Access {
    /// The allowed people and the owners.
    pub settings: Arc<Reloadable<Settings>>,
}

impl Access {
    pub async fn may_speak(&self, store: &Store, channel: &str, user: &str) -> Result<bool> {
        let settings = self.settings.current();
        let by_file =
            settings.allow.get(channel).is_some_and(|ids| ids.iter().any(|id| id == "*" || id == user));
        let is_owner = || settings.owners.iter().any(|owner| owner.split_once(':') == Some((channel, user)));
        Ok(by_file || is_owner() || access::is_allowed(store, channel, user).await?)
    }

    /// The rows of a conversation that wait for a turn. Access was decided when they were journalled; messages of
    /// strangers aren't among them.
    pub async fn waiting(
        &self,
        store: &Store,
        conversation: &ConversationId,
        instance: &InstanceId,
    ) -> Result<Vec<Admitted>> {
        let rows = inbox::waiting(store, conversation, instance).await?;
        Ok(rows.into_iter().map(Admitted).collect())
    }
}
