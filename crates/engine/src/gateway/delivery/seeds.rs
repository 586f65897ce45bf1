//! Tells adapters about the chats that they send to.

use std::sync::Arc;

use adjutant_chat::ChatPort;
use adjutant_store::outbox::{self, OutboxRow};
use adjutant_store::{Result, leases};
use adjutant_types::ConversationId;

use super::outbox::Deliverer;

impl Deliverer {
    /// Tells the adapter which messages it can't have seen itself: once per channel and once per chat. After that it
    /// knows more than the journal.
    pub(in crate::gateway) async fn seed(
        &self,
        port: &Arc<dyn ChatPort>,
        conversation: &ConversationId,
        row: &OutboxRow,
    ) -> Result<()> {
        let mut names: Vec<String> = row.progress_receipt.iter().cloned().collect();
        let mut keys = Vec::new();
        let channel = leases::channel(&row.channel);
        if !self.seeded.contains_key(&channel) {
            names.extend(outbox::recent_ids(&self.store, &row.channel).await?);
            keys.push(channel);
        }
        if !self.seeded.contains_key(conversation.as_str()) {
            names.extend(outbox::last_receipt(&self.store, conversation).await?);
            keys.push(conversation.to_string());
        }
        if !names.is_empty() {
            port.seed(&row.address(), &names).await;
        }
        // Only after seeding, so that others don't skip it too early.
        for key in keys {
            self.seeded.insert(key, ()).await;
        }
        Ok(())
    }

    /// Forgets which adapters were seeded; call it when another instance may have sent messages in the meantime.
    pub fn forget_seeded(&self) {
        self.seeded.invalidate_all();
    }

    /// Whether the adapter knows the messages that it can't have seen itself.
    pub(in crate::gateway) fn is_seeded(&self, conversation: &ConversationId, row: &OutboxRow) -> bool {
        self.seeded.contains_key(&leases::channel(&row.channel))
            && self.seeded.contains_key(conversation.as_str())
    }
}
