//! Who may speak. Nothing but an [`Admitted`] starts a turn, and only this room makes one.
//!
//! Default-deny: an owner, somebody whom the configuration allows, or somebody who was let in by a code. Nothing
//! of it is remembered here, so that what an administrator changes counts from the next message on.

use std::sync::Arc;

use crate::conversation::Admitted;
use crate::journal::SharedSettings;
use crate::store::access;
use crate::store::inbox::InboxRow;
use crate::store::{Store, StoreError};

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

    /// Lets a row in that waits for its turn: whether its writer may speak was decided when it was
    /// journalled, and rows that are held back don't wait.
    pub fn admit(&self, row: InboxRow) -> Admitted {
        Admitted::by_access(row)
    }
}
