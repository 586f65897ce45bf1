//! What happens at its time: schedules bring a message, and reminders are told.
//!
//! Properties:
//!
//! - A run is one row of the inbox, whose name is made from the schedule and its time, in one commit with the time of
//!   the next: never two, whatever dies, and however many look at once.
//! - A run that comes while the last one is still at work is left out.
//! - After a downtime a missed run is made up for once, or left out, as `[schedules] catch_up` says.
//! - Three failed runs in a row stop a schedule, and its person is told.
//! - For a person who may not speak any more nothing runs.
//! - A reminder is one row of the outbox, in one commit with the mark on its task.

use std::sync::Arc;

use crate::clock::recurring::Rule;
use crate::clock::when::When;
use crate::conversation::Conversations;
use crate::gateway::access::Access;
use crate::store::outbox::{self, Message};
use crate::store::people::Conversation;
use crate::store::schedules::{self, Reminder, ScheduleRow};
use crate::store::{Batch, StoreError, inbox, people};
use crate::wording;

/// A run that is later than this was missed.
const MISSED: i64 = 5 * 60_000;
/// So many failed runs in a row are enough.
const ENOUGH: i64 = 3;

/// The schedules and reminders of the channels of this process.
pub struct Timetable {
    /// Whose.
    pub conversations: Arc<Conversations>,
    /// Who may speak.
    pub access: Arc<Access>,
    /// Whether a missed run is made up for.
    pub catch_up: bool,
}

impl Timetable {
    /// Does what is due on a channel, or in one place of it. Returns the conversations in which something came of it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tend(&self, channel: &str, place: Option<&str>) -> Result<Vec<String>, StoreError> {
        let store = &self.conversations.store;
        let mut woken = Vec::new();
        for row in schedules::due(store, channel, place.unwrap_or_default(), store.now()).await? {
            let conversation = people::conversation_by_id(store, &row.conversation_id).await?;
            if self.step(&row, &conversation).await? {
                woken.push(row.conversation_id);
            }
        }
        for reminder in schedules::reminders(store, store.now()).await? {
            woken.extend(self.remind(&reminder, channel, place).await?);
        }
        Ok(woken)
    }

    /// Brings a schedule to where it should be. Whether something came of it.
    async fn step(&self, row: &ScheduleRow, conversation: &Conversation) -> Result<bool, StoreError> {
        let store = &self.conversations.store;
        let (now, instance) = (store.now(), &self.conversations.instance.id);
        let mut new = row.clone();
        let mut batch = Batch::new();
        if let Some(event) = &row.running {
            match schedules::status_of(store, event).await?.as_deref() {
                None | Some("queued" | "running") => {}
                Some("failed" | "dead") => (new.running, new.failures) = (None, row.failures + 1),
                Some(_) => (new.running, new.failures) = (None, 0),
            }
        }
        if new.failures >= ENOUGH {
            "stopped".clone_into(&mut new.state);
            let text = wording::schedule_stopped(&row.text, &row.id);
            let message = Message { text, ..Message::default() };
            outbox::say(store, &mut batch, &row.conversation_id, instance, &message);
        } else if row.next_at <= now {
            self.run(row, &mut new, conversation, &mut batch).await?;
        }
        if new == *row {
            return Ok(false);
        }
        schedules::change(&mut batch, row, &new);
        match store.write(batch).await {
            Ok(_) => Ok(new.running.is_some() || new.state != row.state),
            // Somebody else has looked at the same moment.
            Err(StoreError::Stale(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds a run that is due, unless it is to be left out, and when the next one is.
    async fn run(
        &self,
        row: &ScheduleRow,
        new: &mut ScheduleRow,
        conversation: &Conversation,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let now = self.conversations.store.now();
        let rule = row.zone.parse().ok().and_then(|zone| Rule::parse(&row.rule, zone).ok());
        match rule.and_then(|rule| rule.after(now)) {
            Some(next_at) => new.next_at = next_at,
            None => "stopped".clone_into(&mut new.state),
        }
        let is_missed = now - row.next_at > MISSED && !self.catch_up;
        if new.running.is_some() || is_missed {
            tracing::info!(schedule = row.id, is_missed, "a run is left out");
            return Ok(());
        }
        if !self.may_speak(&row.person_id, &conversation.channel).await? {
            tracing::warn!(schedule = row.id, "its person may not speak any more, so it stops");
            "stopped".clone_into(&mut new.state);
            return Ok(());
        }
        // No channel has an empty name, so that no message of a platform is called so.
        let event = format!(" schedule:{}:{}", row.id, row.next_at);
        let arrived = inbox::NewRow {
            event: event.clone(),
            conversation_id: &row.conversation_id,
            person_id: &row.person_id,
            kind: "said",
            text: &row.text,
            prompt_id: None,
            instance: &self.conversations.instance.id,
        };
        inbox::arrive(batch, &arrived, now);
        new.running = Some(event);
        Ok(())
    }

    async fn may_speak(&self, person: &str, channel: &str) -> Result<bool, StoreError> {
        let store = &self.conversations.store;
        for account in people::accounts(store, person).await? {
            if let Some((at, user)) = account.split_once(':')
                && at == channel
                && self.access.may_speak(store, at, user).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reminds where the person wrote last, if that is here.
    async fn remind(
        &self,
        (task, title, due, remind_at, person): &Reminder,
        channel: &str,
        place: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        let store = &self.conversations.store;
        let Some((conversation, at, place_there)) = schedules::last_place(store, person).await? else {
            return Ok(None);
        };
        if at != channel || place.is_some_and(|place| place != place_there) {
            return Ok(None);
        }
        let zone = people::person_by_id(store, person).await?.timezone.and_then(|zone| zone.parse().ok());
        let due =
            due.as_deref().and_then(|due| When::parse(due, zone.unwrap_or(self.conversations.zone)).ok());
        let text = wording::reminder(title, due.map(When::spoken).as_deref());
        let mut batch = Batch::new();
        schedules::reminded(&mut batch, task, *remind_at);
        if self.may_speak(person, channel).await? {
            let message = Message { text, ..Message::default() };
            outbox::say(store, &mut batch, &conversation, &self.conversations.instance.id, &message);
        }
        match store.write(batch).await {
            Ok(_) => Ok(Some(conversation)),
            Err(StoreError::Stale(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
