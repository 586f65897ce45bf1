//! One change, as it was before and after, and how to put it back.

use adjutant_l10n as l10n;
use adjutant_memory::{Meant, now_of};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::schedules::{self, ScheduleRow};
use adjutant_store::tasks::{self, TaskRow};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, StoreError, origins, people};
use adjutant_types::text::one_line;
use adjutant_types::{AccountId, ConversationId, ScheduleState, TaskState, WatchState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::builtin::watches::described;
use crate::builtin::{CallContext, calendar, contacts, email, notes};
use crate::{Approved, Result};

/// A change that a call made. Where there was nothing before, it was made; where there is nothing after, deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Task {
        before: Option<TaskRow>,
        after: Option<TaskRow>,
    },
    Memory {
        before: Option<MemoryRow>,
        after: Option<MemoryRow>,
        /// Where it was saved, if it was deleted elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<ConversationId>,
    },
    Schedule {
        before: Option<ScheduleRow>,
        after: Option<ScheduleRow>,
    },
    Started(Box<WatchRow>),
    /// A watch was stopped.
    Stopped(Box<WatchRow>),
    /// iCalendar texts.
    Event {
        uid: String,
        before: Option<String>,
        after: Option<String>,
        /// The account that it is in; empty: our own store, or that of the configuration.
        #[serde(default)]
        account: AccountId,
        /// The addresses of the guests whom our emails told of it; former versions didn't keep them.
        #[serde(default)]
        told: Option<Vec<String>>,
    },
    /// vCard texts.
    Contact {
        uid: String,
        before: Option<String>,
        after: Option<String>,
        #[serde(default)]
        account: AccountId,
    },
    /// A note's text before, and the version that was made.
    Note {
        path: String,
        before: Option<String>,
        after: String,
    },
    /// A mail was moved between folders.
    Moved {
        message_id: String,
        from: String,
        to: String,
        #[serde(default)]
        account: AccountId,
    },
    /// A mail was marked; `back` marks it as it was.
    Marked {
        message_id: String,
        back: String,
        #[serde(default)]
        account: AccountId,
    },
    /// The person's time zone was set; none before: the configured one.
    Timezone {
        before: Option<String>,
        after: String,
    },
}

/// The steps that a call leaves in its row, so that it can be undone.
pub fn left(steps: &[Step]) -> Option<Value> {
    serde_json::to_value(steps).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::builtin) enum Outcome {
    Done,
    /// Somebody changed it since.
    Changed,
    /// Other people have got it.
    Sent,
    Impossible,
}

impl Outcome {
    /// Of two steps of one call.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

/// Telling the guests of events what is undone.
pub(in crate::builtin) struct Telling<'a> {
    pub(in crate::builtin) approved: &'a Approved,
    /// The number of the first email of the step.
    pub(in crate::builtin) number: usize,
    /// A line about each.
    pub(in crate::builtin) notes: Vec<String>,
}

impl Step {
    /// All of a memory was forgotten, or a part of its past.
    pub fn forgotten(meant: &Meant, place: Option<ConversationId>) -> Self {
        Self::Memory { before: Some(meant.memory.clone()), after: meant.rest(), place }
    }

    /// Takes in a later change of the same thing, if that began where this one ended: both are then put back as one.
    pub(super) fn take_in(&mut self, later: &Self) -> bool {
        fn joined<T: Clone>(mine: (&Option<T>, &mut Option<T>), later: &Option<T>, is_next: bool) -> bool {
            // A thing that was made and deleted again can't be put back.
            let is_joined = is_next && (mine.0.is_some() || later.is_some());
            if is_joined {
                mine.1.clone_from(later);
            }
            is_joined
        }
        let is_joined = match (&mut *self, later) {
            (Self::Task { before, after }, Self::Task { before: next, after: last }) => {
                let is_next = after.is_some()
                    && after.as_ref().map(without_reminder) == next.as_ref().map(without_reminder);
                joined((before, after), last, is_next)
            }
            (Self::Schedule { before, after }, Self::Schedule { before: next, after: last }) => {
                let is_next = after.is_some() && after == next;
                joined((before, after), last, is_next)
            }
            (
                Self::Event { uid, before, after, account, .. },
                Self::Event { uid: same, before: next, after: last, account: there, .. },
            )
            | (
                Self::Contact { uid, before, after, account },
                Self::Contact { uid: same, before: next, after: last, account: there },
            ) => {
                let is_next = uid == same && account == there && after.is_some() && after == next;
                joined((before, after), last, is_next)
            }
            _ => false,
        };
        if let (true, Self::Event { told, .. }, Self::Event { told: more, .. }) = (is_joined, self, later) {
            *told = told.take().zip(more.clone()).map(|(told, more)| [told, more].concat());
        }
        is_joined
    }

    /// The call's effect, where its result is a promise rather than a receipt.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            // A memory of which only a part was forgotten keeps its id.
            Self::Memory { before, after: Some(new), .. }
                if before.as_ref().is_none_or(|before| before.id != new.id) =>
            {
                Some(l10n::undo::remembering(one_line(now_of(&new.text), 200)))
            }
            Self::Schedule { before: None, after: Some(new) } => {
                Some(l10n::undo::schedule(one_line(&new.text, 200)))
            }
            Self::Timezone { after, .. } => Some(l10n::undo::clock(after)),
            _ => None,
        }
    }

    /// How things are when this is put back, where that says more than what was done.
    pub(super) fn undone(&self) -> Option<String> {
        match self {
            Self::Task { before: Some(task), after: None } => Some(l10n::undo::task_is_back(&task.title)),
            Self::Task { before: Some(task), after: Some(now) }
                if (task.state, now.state) == (TaskState::Open, TaskState::Done) =>
            {
                Some(l10n::undo::task_is_open(&task.title))
            }
            Self::Schedule { before: Some(row), after: Some(now) } if row.state != now.state => {
                let text = one_line(&row.text, 200);
                Some(match row.state {
                    ScheduleState::Active => l10n::undo::schedule_runs(text),
                    ScheduleState::Paused | ScheduleState::Stopped => l10n::undo::schedule_is_paused(text),
                })
            }
            Self::Schedule { before: Some(row), after: Some(_) } => {
                Some(l10n::undo::changed_back(crate::builtin::schedules::described(row)))
            }
            Self::Started(row) => Some(l10n::watches::deleted(described(row))),
            Self::Stopped(row) => Some(l10n::watches::resumed(described(row))),
            // Of one of which only a part was forgotten, the rest keeps its id.
            Self::Memory { before: Some(memory), after, .. }
                if after.as_ref().is_none_or(|rest| rest.id == memory.id) =>
            {
                Some(l10n::undo::remembered_again(one_line(&memory.text, 200)))
            }
            _ => None,
        }
    }

    /// Puts it back, if it is as the call left it.
    pub(super) async fn take_back(
        &self,
        call: &CallContext<'_>,
        telling: &mut Telling<'_>,
        writes: &mut Batch,
    ) -> Result<Outcome> {
        match self {
            Self::Task { before, after } => Ok(task(call, before.as_ref(), after.as_ref(), writes).await?),
            Self::Memory { before, after, place } => {
                Ok(memory(call, [before.as_ref(), after.as_ref()], place.as_ref(), writes).await?)
            }
            Self::Schedule { before, after } => {
                Ok(schedule(call, before.as_ref(), after.as_ref(), writes).await?)
            }
            Self::Started(row) => match watches::by_id(call.store(), &row.id).await? {
                Some(now) => {
                    watches::delete(writes, &now.id);
                    Ok(Outcome::Done)
                }
                None => Ok(Outcome::Changed),
            },
            Self::Stopped(row) => Ok(stopped(call, row, writes).await?),
            Self::Event { uid, before, after, account, told } => {
                let versions = (before.as_deref(), after.as_deref());
                calendar::put_back(call, (account, uid), versions, told.as_deref(), telling, writes).await
            }
            Self::Contact { uid, before, after, account } => {
                contacts::put_back(call, account, uid, (before.as_deref(), after.as_deref()), writes).await
            }
            Self::Note { path, before, after } => notes::put_back(call, path, before.as_deref(), after).await,
            Self::Moved { message_id, from, to, account } => {
                email::move_back(call, account, message_id, from, to).await
            }
            Self::Marked { message_id, back, account } => {
                email::mark_back(call, account, message_id, back).await
            }
            Self::Timezone { before, after } => Ok(timezone(call, before.as_deref(), after, writes).await?),
        }
    }
}

/// The task without its reminder: a reminder that went out is no change.
fn without_reminder(task: &TaskRow) -> TaskRow {
    TaskRow { remind_at: None, ..task.clone() }
}

async fn task(
    call: &CallContext<'_>,
    before: Option<&TaskRow>,
    after: Option<&TaskRow>,
    writes: &mut Batch,
) -> Result<Outcome, StoreError> {
    let Some(task) = before.or(after) else { return Ok(Outcome::Impossible) };
    let now = tasks::by_id(call.store(), &call.ctx.turn.person.id, &task.id).await?;
    if now.as_ref().map(without_reminder) != after.map(without_reminder) {
        return Ok(Outcome::Changed);
    }
    if now.is_some() {
        tasks::delete(writes, &task.id);
    }
    if let Some(before) = before {
        tasks::insert(writes, before);
    }
    Ok(Outcome::Done)
}

async fn memory(
    call: &CallContext<'_>,
    [before, after]: [Option<&MemoryRow>; 2],
    place: Option<&ConversationId>,
    writes: &mut Batch,
) -> Result<Outcome, StoreError> {
    let Some(row) = after.or(before) else { return Ok(Outcome::Impossible) };
    let person = &call.ctx.turn.person.id;
    let now = memories::by_id(call.store(), person, &row.id).await?;
    if now.as_ref() != after {
        return Ok(Outcome::Changed);
    }
    match (before, &now) {
        (Some(before), Some(now)) if before.id == now.id => {
            memories::rewrite(writes, person, &before.id, &before.text);
            return Ok(Outcome::Done);
        }
        (before, Some(now)) => {
            if let Some(before) = before {
                origins::pass_on(writes, (&now.id, now_of(&now.text)), &before.id);
            }
            memories::delete(writes, person, &now.id);
        }
        (_, None) => {}
    }
    if let Some(before) = before {
        memories::insert(writes, person, place.unwrap_or(&call.ctx.turn.conversation.id), before);
    }
    Ok(Outcome::Done)
}

async fn schedule(
    call: &CallContext<'_>,
    before: Option<&ScheduleRow>,
    after: Option<&ScheduleRow>,
    writes: &mut Batch,
) -> Result<Outcome, StoreError> {
    let Some(schedule) = before.or(after) else { return Ok(Outcome::Impossible) };
    let all = schedules::of_person(call.store(), &call.ctx.turn.person.id).await?;
    let now = all.iter().find(|row| row.id == schedule.id);
    // A run in the meantime is no change.
    let content = |row: &ScheduleRow| (row.text.clone(), row.rule.clone(), row.zone.clone(), row.state);
    if now.map(content) != after.map(content) {
        return Ok(Outcome::Changed);
    }
    if let (Some(now), Some(before)) = (now, before) {
        // It has kept its next time, and a run that waits, unless that comes at another time now.
        crate::builtin::schedules::change_to(now, before, call.store().now(), writes);
        return Ok(Outcome::Done);
    }
    if now.is_some() {
        schedules::delete(writes, &schedule.id);
    }
    if let Some(before) = before {
        schedules::insert(writes, &ScheduleRow { running: None, ..before.clone() });
    }
    Ok(Outcome::Done)
}

/// What came in the meantime isn't caught up.
async fn stopped(call: &CallContext<'_>, row: &WatchRow, writes: &mut Batch) -> Result<Outcome, StoreError> {
    let again = WatchRow { running: None, active_since: call.store().now(), next_at: 0, ..row.clone() };
    match watches::by_id(call.store(), &row.id).await? {
        None => watches::insert(writes, &again),
        // One of the configuration is only paused.
        Some(now) if now.state == WatchState::Paused => watches::change(writes, &now, &again),
        Some(_) => return Ok(Outcome::Changed),
    }
    Ok(Outcome::Done)
}

async fn timezone(
    call: &CallContext<'_>,
    before: Option<&str>,
    after: &str,
    writes: &mut Batch,
) -> Result<Outcome, StoreError> {
    let person = people::person_by_id(call.store(), &call.ctx.turn.person.id).await?;
    if person.timezone.as_deref() != Some(after) {
        return Ok(Outcome::Changed);
    }
    people::set_timezone(writes, &person.id, before);
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(account: &str, before: Option<&str>, after: &str) -> Step {
        let (before, after) = (before.map(str::to_owned), Some(after.to_owned()));
        Step::Event {
            uid: "u".into(),
            before,
            after,
            account: account.into(),
            told: Some(vec![account.to_owned()]),
        }
    }

    #[test]
    fn an_event_of_another_account_is_another_event() {
        let mut made = event("work", None, "1");
        assert!(!made.take_in(&event("private", Some("1"), "2")));
        assert!(made.take_in(&event("work", Some("1"), "2")));
        let Step::Event { told, .. } = made else { panic!() };
        assert_eq!(told.unwrap(), ["work", "work"], "who was told of either");
    }

    #[test]
    fn steps_of_before_people_had_accounts_name_none() {
        let former = r#"{"event":{"uid":"u","before":null,"after":"1"}}"#;
        let Ok(Step::Event { account, told, .. }) = serde_json::from_str(former) else { panic!() };
        assert_eq!((account, told), (AccountId::default(), None));
    }
}
