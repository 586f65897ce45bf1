//! Runs schedules and sends reminders: a schedule adds a message to the inbox, a reminder adds one to the outbox.
//!
//! Properties:
//!
//! - A run is one row of the inbox, named after the schedule and its time, and committed together with the time of the
//!   next run. So there are never two, even after a crash or with several processes.
//! - A run is skipped while the previous one is still going.
//! - After a downtime, a missed run is caught up once or skipped, as `[schedules] catch_up` says.
//! - Three failed runs in a row stop a schedule, and its person is notified.
//! - Nothing runs for a person who may no longer talk to the assistant.
//! - A reminder is one row of the outbox, committed together with the mark on its task.

use std::sync::Arc;

use adjutant_l10n as l10n;
use adjutant_store::outbox::{self, Message};
use adjutant_store::schedules::{self, Reminder, ScheduleRow};
use adjutant_store::{Batch, Result, StoreError, inbox, people, taints};
use adjutant_turn::wording;
use adjutant_types::clock::recurring::CronRule;
use adjutant_types::clock::when::When;
use adjutant_types::text::one_line;
use adjutant_types::{ConversationId, PersonId, ScheduleState};

use crate::conversation::Conversations;
use crate::conversation::access::Access;

/// A run later than this counts as missed, in milliseconds.
const MISSED_AFTER: i64 = 5 * 60_000;
/// After this many failed runs in a row a schedule or a watch stops.
pub(crate) const MAX_FAILURES: i64 = 3;

/// The schedules, reminders and watches of the channels of this process; see also [`crate::watching`].
#[derive(Clone)]
pub struct Scheduler {
    pub conversations: Arc<Conversations>,
    pub access: Arc<Access>,
    pub catch_up: bool,
    /// Held while a model judges what watches have found.
    pub judging: Arc<tokio::sync::Mutex<()>>,
}

impl Scheduler {
    /// Does what is due on a channel, or in one chat of it. Returns the conversations that got something new.
    pub async fn run_due(&self, channel: &str, chat: Option<&str>) -> Result<Vec<ConversationId>> {
        let store = &self.conversations.store;
        let chat = chat.unwrap_or_default();
        let mut woken = Vec::new();
        for row in schedules::due(store, channel, chat, store.now()).await? {
            if self.step(&row, channel).await? {
                woken.push(row.conversation_id);
            }
        }
        for reminder in schedules::reminders(store, channel, chat, store.now()).await? {
            if self.remind(&reminder, channel).await? {
                woken.push(reminder.conversation_id);
            }
        }
        self.tell_due(channel, chat, &mut woken).await?;
        Ok(woken)
    }

    /// Updates a schedule and runs it if it's due. Returns whether something changed.
    async fn step(&self, row: &ScheduleRow, channel: &str) -> Result<bool> {
        let store = &self.conversations.store;
        let (now, instance) = (store.now(), self.conversations.instance.owner());
        let mut new = row.clone();
        let mut batch = Batch::new();
        if let Some(event) = &row.running
            && let Some(has_failed) = schedules::has_failed(store, event).await?
        {
            (new.running, new.failures) = (None, if has_failed { row.failures + 1 } else { 0 });
        }
        if new.failures >= MAX_FAILURES {
            new.state = ScheduleState::Stopped;
            let text = l10n::notices::schedule_stopped(one_line(&row.text, 200), &row.id);
            let message = Message { text, ..Message::default() };
            outbox::say(store, &mut batch, &row.conversation_id, instance, &message);
        } else if row.next_at <= now {
            self.run(row, &mut new, channel, &mut batch).await?;
        }
        if new == *row {
            return Ok(false);
        }
        schedules::change(&mut batch, row, &new);
        let is_new = new.running.is_some() || new.state != row.state;
        Ok(store.try_write(batch).await? && is_new)
    }

    /// Adds a due run, unless it is skipped, and sets the time of the next one.
    async fn run(
        &self,
        row: &ScheduleRow,
        new: &mut ScheduleRow,
        channel: &str,
        batch: &mut Batch,
    ) -> Result<()> {
        let now = self.conversations.store.now();
        let rule = row.zone.parse().ok().and_then(|zone| CronRule::parse(&row.rule, zone).ok());
        match rule.and_then(|rule| rule.after(now)) {
            Some(next_at) => new.next_at = next_at,
            None => new.state = ScheduleState::Stopped,
        }
        let is_missed = now - row.next_at > MISSED_AFTER && !self.catch_up;
        if new.running.is_some() || is_missed {
            tracing::info!(schedule = %row.id, is_missed, "a run was skipped");
            return Ok(());
        }
        if !self.may_speak(&row.person_id, channel).await? {
            tracing::warn!(schedule = %row.id, "the schedule stops: its person may no longer talk to me");
            new.state = ScheduleState::Stopped;
            return Ok(());
        }
        let event = format!(" schedule:{}:{}", row.id, row.next_at);
        let taint = taints::of(&self.conversations.store, "schedule", &row.id).await?;
        let (here, owner) = ((&row.conversation_id, &row.person_id), self.conversations.instance.owner());
        let arrived = inbox::NewRow::ours(event.clone(), here, &row.text, taint, owner);
        inbox::arrive(batch, &arrived, now);
        new.running = Some(event);
        Ok(())
    }

    pub(crate) async fn may_speak(&self, person: &PersonId, channel: &str) -> Result<bool> {
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

    /// Sends a reminder. Returns whether it was sent just now.
    async fn remind(&self, reminder: &Reminder, channel: &str) -> Result<bool> {
        let store = &self.conversations.store;
        let zone = reminder.timezone.as_ref().and_then(|zone| zone.parse().ok());
        let zone = zone.unwrap_or(self.conversations.zone);
        let due = reminder.due.as_deref().and_then(|due| When::parse(due, zone).ok());
        let text = wording::reminder(&reminder.title, due.map(When::spoken).as_deref());
        let mut batch = Batch::new();
        schedules::reminded(&mut batch, &reminder.id, reminder.remind_at);
        if self.may_speak(&reminder.person_id, channel).await? {
            let message = Message { text, ..Message::default() };
            let instance = self.conversations.instance.owner();
            outbox::say(store, &mut batch, &reminder.conversation_id, instance, &message);
        }
        store.try_write(batch).await
    }
}

/// That nothing is new where another process did it at the same moment.
pub(crate) fn unless_stale(is_new: Result<bool>) -> Result<bool> {
    match is_new {
        Err(StoreError::Stale(_)) => Ok(false),
        other => other,
    }
}
