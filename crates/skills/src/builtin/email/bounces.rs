//! Mails of ours that bounced: the person who sent one gets one notice, in the conversation they sent it from.
//!
//! Anybody can forge a bounce. We believe one only as far as it names a mail that we sent; its text is passed on as a
//! server's words, and reaches no model.

use adjutant_chat::sanitized;
use adjutant_mail::Bounce;
use adjutant_store::outbox::{self, Message};
use adjutant_store::{Batch, Store, StoreError, executions};
use adjutant_turn::wording;
use adjutant_types::clock::utc;
use adjutant_types::{ConversationId, InstanceId};
use chrono::TimeDelta;

use super::imap;
use super::sending::written_by;
use crate::builtin::Services;

/// Older bounces were announced before, or nobody waits for them.
const MAX_AGE: TimeDelta = TimeDelta::days(7);
/// The most bounces read at once.
const MAX: usize = 100;

impl Services {
    /// Looks for mails that bounced. Returns the conversations with something new to deliver.
    pub async fn report_bounces(
        &self,
        store: &Store,
        instance: &InstanceId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let Ok(imap) = imap(self) else { return Ok(Vec::new()) };
        let since = (utc(store.now()) - MAX_AGE).date_naive();
        let bounces = match imap.bounces(Some(since), 0, MAX).await {
            Ok(bounces) => bounces,
            Err(error) => {
                tracing::warn!(%error, "can't check for bounced mails; will try again");
                return Ok(Vec::new());
            }
        };
        let mut conversations = Vec::new();
        for bounce in bounces {
            conversations.extend(report(store, instance, &bounce).await?);
        }
        Ok(conversations)
    }
}

async fn report(
    store: &Store,
    instance: &InstanceId,
    bounce: &Bounce,
) -> Result<Option<ConversationId>, StoreError> {
    let Some(original) = &bounce.original else { return Ok(None) };
    let Some((conversation, parameters)) = executions::sent_by(store, &written_by(original)).await? else {
        return Ok(None);
    };
    let parameters: serde_json::Value = serde_json::from_str(&parameters).unwrap_or_default();
    let subject = parameters["subject"].as_str().or(parameters["title"].as_str());
    let line = |failed: &adjutant_mail::FailedRecipient| {
        format!(
            "{}: {} {}",
            sanitized(&failed.recipient),
            sanitized(&failed.status),
            sanitized(&failed.diagnostic)
        )
    };
    let lines: Vec<String> = bounce.failed.iter().map(line).collect();
    let message = Message { text: wording::bounced(subject, &lines), ..Message::default() };
    let mut batch = Batch::new();
    outbox::announce_once(&mut batch, &format!("bounce {original}"), store.now());
    outbox::say(store, &mut batch, &conversation, instance, &message);
    match store.write(batch).await {
        Ok(_) => Ok(Some(conversation)),
        // It was announced before.
        Err(StoreError::Stale(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
