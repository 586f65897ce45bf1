//! Mails of ours that came back: whoever had them sent is told, where they asked for it, once.
//!
//! Anybody can write a notification. One is believed as far as it names a letter that we sent; what it says is told as
//! the words of a server, and goes to no model.

use adjutant_chat::sanitized;
use adjutant_mail::Bounce;
use chrono::TimeDelta;

use super::Office;
use super::sending::written_by;
use crate::clock::utc;
use crate::domain::{ConversationId, InstanceId};
use crate::store::outbox::{self, Message};
use crate::store::{Batch, Store, StoreError, executions};
use crate::wording;

/// Notifications that are older were told, or nobody waits for them.
const AGE: TimeDelta = TimeDelta::days(7);
/// So many are looked at.
const MOST: usize = 100;

impl Office {
    /// Looks for mails that came back. Returns the conversations in which there is something to be said now.
    ///
    /// # Errors
    /// When the store fails. A mailbox that can't be asked now is asked the next time.
    pub async fn tell_bounces(
        &self,
        store: &Store,
        instance: &InstanceId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let Ok(imap) = self.imap() else { return Ok(Vec::new()) };
        let since = (utc(store.now()) - AGE).date_naive();
        let bounces = match imap.bounces(Some(since), 0, MOST).await {
            Ok(bounces) => bounces,
            Err(fault) => {
                tracing::warn!(%fault, "it could not be looked whether mails came back");
                return Ok(Vec::new());
            }
        };
        let mut conversations = Vec::new();
        for bounce in bounces {
            conversations.extend(tell(store, instance, &bounce).await?);
        }
        Ok(conversations)
    }
}

async fn tell(
    store: &Store,
    instance: &InstanceId,
    bounce: &Bounce,
) -> Result<Option<ConversationId>, StoreError> {
    let Some(original) = &bounce.original else { return Ok(None) };
    let Some((conversation, parameters)) = executions::sent_by(store, &written_by(original)).await? else {
        return Ok(None);
    };
    let parameters: serde_json::Value = serde_json::from_str(&parameters).unwrap_or_default();
    let subject = parameters["subject"].as_str().or(parameters["title"].as_str()).unwrap_or("your reply");
    let line = |one: &adjutant_mail::Failed| {
        format!("{}: {} {}", sanitized(&one.recipient), sanitized(&one.status), sanitized(&one.diagnostic))
    };
    let lines: Vec<String> = bounce.failed.iter().map(line).collect();
    let message = Message { text: wording::came_back(subject, &lines), ..Message::default() };
    let mut batch = Batch::new();
    outbox::told_once(&mut batch, &format!("bounce {original}"), store.now());
    outbox::say(store, &mut batch, &conversation, instance, &message);
    match store.write(batch).await {
        Ok(_) => Ok(Some(conversation)),
        // Somebody has told it.
        Err(StoreError::Stale(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
