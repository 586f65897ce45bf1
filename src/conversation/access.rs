//! Who may speak. Nothing but an [`Admitted`] starts a turn, and only this module makes one.
//!
//! Default-deny: an owner, somebody the configuration allows, or somebody who was let in by a code. Nothing of it is
//! remembered here, so what an administrator changes counts from the next message on.

use std::ops::Deref;
use std::sync::Arc;

use crate::domain::{ConversationId, InstanceId};
use crate::journal::SharedSettings;
use crate::store::inbox::{self, InboxRow};
use crate::store::{Store, StoreError, access};

/// Something that arrived, is journalled, and is not held back for pairing: the only key to a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted(InboxRow);

impl Admitted {
    /// The row.
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

/// Who may speak on the channels of this process.
#[derive(Debug)]
pub struct Access {
    /// Who the configuration lets in, and the owners.
    pub settings: Arc<SharedSettings>,
}

impl Access {
    /// Whether somebody may speak on a channel.
    pub async fn may_speak(&self, store: &Store, channel: &str, user: &str) -> Result<bool, StoreError> {
        let settings = self.settings.now();
        let by_file =
            settings.allow.get(channel).is_some_and(|ids| ids.iter().any(|id| id == "*" || id == user));
        let is_owner = || settings.owners.iter().any(|owner| owner.split_once(':') == Some((channel, user)));
        Ok(by_file || is_owner() || access::is_allowed(store, channel, user).await?)
    }

    /// What waits in a conversation for a turn. Whether its writer may speak was decided when it was journalled; what
    /// is held back until then is not among it.
    pub async fn waiting(
        &self,
        store: &Store,
        conversation: &ConversationId,
        instance: &InstanceId,
    ) -> Result<Vec<Admitted>, StoreError> {
        let rows = inbox::waiting(store, conversation, instance).await?;
        Ok(rows.into_iter().map(Admitted).collect())
    }
}
