//! Tasks, rooms and webhooks that are watched.

use adjutant_chat::{IncomingMessage, WebhookRequest, WebhookResponse};
use adjutant_mail::Address;
use adjutant_store::secrets::digest;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Result, inbox, people, tasks};
use adjutant_types::{AccountId, ItemNoun, Mark, PersonId, TaskId, WatchId, WatchSource, WatchTrigger};

use super::{At, Finding, MINUTE_MS, Watcher, add, item};
use crate::conversation::Conversations;
use crate::watching::matching::{OwnAddresses, suits};

/// The headers in which services name a call, so that one that comes twice is known.
const NAMES: [&str; 3] = ["x-github-delivery", "webhook-id", "idempotency-key"];

impl Watcher {
    pub(super) async fn look_at_tasks(&self, at: At<'_>) -> Result<()> {
        let (store, now) = (self.store(), self.store().now());
        let watches = watches::active_on(store, at.0).await?;
        let row = watches::source(store, at.0).await?;
        let none = TaskId::default();
        let (read_to, last) = match &row.mark {
            Some(Mark::Due(read_to, last)) => (*read_to, last),
            _ => (watches.iter().map(|watch| watch.active_since).min().unwrap_or(now), &none),
        };
        // After a clock was set back, what is due from now on is looked at again; what was told is known.
        let since = now.min(read_to).max(self.since);
        let last = if since == read_to { last } else { &none };
        let person = PersonId::from(at.0.place.as_str());
        let due = tasks::due_between(store, &person, (since, last), now).await?;
        let (mut found, own) = (Vec::new(), OwnAddresses::default());
        for task in &due {
            let due_at = task.due_at.unwrap_or(now);
            // One that was late when it was made isn't news.
            let fitting = watches.iter().filter(|watch| {
                due_at > watch.active_since.max(task.created_at)
                    && suits(&watch.condition, (&[], &task.title, &task.notes), &own)
            });
            found.extend(fitting.map(|watch| Finding {
                watch,
                key: format!("{}|{due_at}", task.id),
                thing: item(ItemNoun::Task, &task.id, ("", &task.title, &task.notes), due_at),
            }));
        }
        let read = due.last().map_or((since, last), |task| (task.due_at.unwrap_or(since), &task.id));
        self.commit(at.1, &row, &Mark::Due(read.0, read.1.clone()), &found).await
    }

    /// Takes a call of a watch's webhook. Who doesn't know the secret doesn't learn whether there is such a watch.
    pub async fn webhook(&self, id: &WatchId, secret: &str, request: WebhookRequest) -> WebhookResponse {
        let (status, body) = self.take_call(id, secret, &request).await.unwrap_or_else(|error| {
            tracing::error!(watch = %id, %error, "a call of a webhook can't be stored");
            (503, "try again\n")
        });
        WebhookResponse { status, body: body.to_owned() }
    }

    async fn take_call(
        &self,
        id: &WatchId,
        secret: &str,
        request: &WebhookRequest,
    ) -> Result<(u16, &'static str)> {
        // Digests may be compared as they are: nobody can choose how theirs begins.
        let is_its = |watch: &WatchRow| watch.secret.as_ref() == Some(&digest(secret));
        let found = watches::by_id(self.store(), id).await?.filter(is_its);
        let Some(watch) = found else { return Ok((404, "")) };
        let (now, text) = (self.store().now(), String::from_utf8_lossy(&request.body));
        let named = request.headers.iter().find(|(name, _)| NAMES.contains(&name.as_str()));
        let key = digest(&match named {
            Some((name, value)) => format!("{name}: {value}"),
            None => format!("{} {text}", now / MINUTE_MS),
        });
        if suits(&watch.condition, (&[], "", &text), &OwnAddresses::default()) {
            let mut batch = Batch::new();
            let thing = item(ItemNoun::Call, &key, ("", &text, &text), now);
            add(self.store(), &mut batch, &[Finding { watch: &watch, key, thing }]).await?;
            self.store().write(batch).await?;
            self.conversations.found.notify_one();
        }
        Ok((202, ""))
    }
}

/// Stores what others write in a room where a watch's person has written, too.
pub(crate) async fn watch_room(conversations: &Conversations, message: &IncomingMessage) -> Result<()> {
    let (store, address) = (&conversations.store, &message.address);
    if message.direct {
        return Ok(());
    }
    let here = people::find_conversation(store, &address.channel, &address.place).await?;
    let Some(here) = here else { return Ok(()) };
    let place = here.id.to_string();
    let source = WatchSource { trigger: WatchTrigger::Room, account: AccountId::default(), place };
    let watches = watches::active_on(store, &source).await?;
    if watches.is_empty() {
        return Ok(());
    }
    let writer = people::person_of(store, &address.channel, &message.sender.0).await?;
    let from = [Address { name: Some(message.sender_name.clone()), address: message.sender.0.clone() }];
    let key = format!("{} {}", address.channel, message.event.0);
    let (name, text) = (&message.sender_name, &message.text);
    let thing = item(ItemNoun::Message, &key, (name, text, text), store.now());
    let mut found = Vec::new();
    for watch in &watches {
        let is_own = writer.as_ref().is_some_and(|writer| writer.id == watch.person_id);
        if !is_own
            && suits(&watch.condition, (&from, "", text), &OwnAddresses::default())
            && inbox::has_written(store, &here.id, &watch.person_id).await?
        {
            found.push(Finding { watch, key: key.clone(), thing: thing.clone() });
        }
    }
    if !found.is_empty() {
        let mut batch = Batch::new();
        add(store, &mut batch, &found).await?;
        store.write(batch).await?;
        conversations.found.notify_one();
    }
    Ok(())
}
