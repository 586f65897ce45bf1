//! Mails of ours that bounced: the person who sent one gets one notice, in the conversation they sent it from.
//!
//! Anybody can forge a bounce. We believe one only as far as it names a mail that we sent; its text is passed on as a
//! server's words, and reaches no model.

use adjutant_chat::sanitized;
use adjutant_mail::Bounce;
use adjutant_store::outbox::{self, Message};
use adjutant_store::{Batch, Store, StoreError, connected, executions};
use adjutant_turn::wording;
use adjutant_types::clock::utc;
use adjutant_types::{AccountService, ConversationId, InstanceId};
use chrono::{NaiveDate, TimeDelta};
use futures::future::join_all;

use super::inbox_of;
use super::sending::written_by;
use crate::accounts::ConnectedAccount;
use crate::builtin::Services;
use crate::builtin::merged::AT_ONCE;

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
        let since = (utc(store.now()) - MAX_AGE).date_naive();
        let accounts = self.accounts.all_with(store, AccountService::Mail).await?;
        let mut conversations = Vec::new();
        for some in accounts.chunks(AT_ONCE) {
            let bounces = join_all(some.iter().map(|account| bounces_in(account, since))).await;
            for (account, bounces) in some.iter().zip(bounces) {
                for bounce in &bounces {
                    conversations.extend(report(store, instance, account, bounce).await?);
                }
            }
        }
        Ok(conversations)
    }
}

async fn bounces_in(account: &ConnectedAccount, since: NaiveDate) -> Vec<Bounce> {
    let Ok(imap) = inbox_of(account) else { return Vec::new() };
    imap.bounces(Some(since), 0, MAX).await.unwrap_or_else(|error| {
        tracing::warn!(%error, account = %account.id, "can't check for bounced mails; will try again");
        Vec::new()
    })
}

async fn report(
    store: &Store,
    instance: &InstanceId,
    account: &ConnectedAccount,
    bounce: &Bounce,
) -> Result<Option<ConversationId>, StoreError> {
    let Some(original) = &bounce.original else { return Ok(None) };
    let sent = executions::sent_by(store, &written_by(original)).await?;
    let Some((conversation, parameters, person)) = sent else { return Ok(None) };
    // What is in a person's own mailbox is told to nobody else.
    let owner = connected::by_id(store, &account.id).await?.and_then(|row| row.person_id);
    if owner.is_some_and(|owner| owner != person) {
        return Ok(None);
    }
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
    // It may have been announced before.
    Ok(store.try_write(batch).await?.then_some(conversation))
}
