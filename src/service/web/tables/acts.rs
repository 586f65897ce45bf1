//! What can be done with the rows of tables, by the functions that the skills use. The person's other pages hear of it.

use adjutant_engine::conversation::watches::source_of;
use adjutant_memory::{Forgetting, Meant, has_secret};
use adjutant_skills::Failure;
use adjutant_skills::builtin::schedules::switch;
use adjutant_skills::builtin::short_id;
use adjutant_skills::builtin::tasks::{finish, set_due};
use adjutant_skills::builtin::watches::{change, new_row};
use adjutant_store::tasks::TaskRow;
use adjutant_store::{
    Batch, Store, StoreError, access, changes, dead, memories, people, rules, runs, schedules, tasks, watches,
};
use adjutant_types::clock::when::When;
use adjutant_types::invisible_chars::line;
use adjutant_types::watches::MAX_WATCHES;
use adjutant_types::{Bounds, PersonId, ScheduleState, TaskState, WatchState, WatchTrigger};
use adjutant_web::views::{PageAction, Viewer};
use chrono_tz::Tz;

use super::WebBackend;

/// The longest title of a task, the longest memory, and the longest name that a watch is for, in characters.
const TITLE: usize = 200;
const MEMORY: usize = 4_000;
const FROM: usize = 50;

impl WebBackend {
    /// False if the row is gone, isn't the viewer's, or a text is no good.
    pub(in crate::service::web) async fn do_act(
        &self,
        viewer: &Viewer,
        (act, key): (PageAction, &str),
        texts: &[&str],
    ) -> Result<bool, StoreError> {
        use PageAction as Act;
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let mut batch = Batch::new();
        let is_done = match act {
            Act::AddTask => add_task(store, person.clone(), key, &mut batch),
            Act::EditTask | Act::CompleteTask | Act::ReopenTask | Act::DeleteTask => {
                self.change_task(&person, (act, key), texts, &mut batch).await?
            }
            Act::PauseSchedule | Act::ResumeSchedule | Act::DeleteSchedule => {
                self.change_schedule(&person, (act, key), &mut batch).await?
            }
            Act::EditMemory | Act::DeleteMemory => {
                self.change_memory(&person, (act, key), texts, &mut batch).await?
            }
            Act::PauseWatch | Act::ResumeWatch | Act::StopWatch => {
                self.change_watch(&person, (act, key), &mut batch).await?
            }
            Act::WatchMail => self.add_watch(&person, key, &mut batch).await?,
            Act::DeletePlan => {
                let own = self.own_plan(viewer, key).await?;
                own.map(|(row, _)| runs::delete_plan(&mut batch, &row.id)).is_some()
            }
            Act::EndRule => {
                rules::end(&mut batch, &person, &key.into(), store.now());
                true
            }
            Act::CancelPlan => false,
            Act::Retry | Act::Approve | Act::EditRoom if !viewer.is_owner => false,
            Act::Retry => return dead::retry(store, &key.into()).await,
            Act::Approve => return Ok(access::approve(store, key).await?.is_some()),
            Act::EditRoom => return self.conversations.set_room_rule(&key.into(), texts).await,
        };
        if !is_done {
            return Ok(false);
        }
        changes::of_thing(&mut batch, &person, act.name());
        store.try_write(batch).await
    }

    async fn change_task(
        &self,
        person: &PersonId,
        (act, key): (PageAction, &str),
        texts: &[&str],
        batch: &mut Batch,
    ) -> Result<bool, StoreError> {
        let store = &self.store;
        let Some(task) = tasks::by_id(store, person, &key.into()).await? else { return Ok(false) };
        let zone = self.conversations.zone_of(&people::person_by_id(store, person).await?);
        Ok(match act {
            PageAction::EditTask => {
                let task = edited(task, texts, zone, store.now());
                task.map(|task| tasks::update(batch, &task)).is_some()
            }
            PageAction::CompleteTask => match finish(store, zone, &task, batch).await {
                Ok(_) => true,
                Err(Failure::Skill(_)) => false,
                Err(Failure::Store(error)) => return Err(error),
            },
            PageAction::ReopenTask if task.state == TaskState::Done => {
                tasks::delete(batch, &task.id);
                tasks::insert(batch, &TaskRow { state: TaskState::Open, ..task });
                true
            }
            PageAction::DeleteTask => {
                tasks::delete(batch, &task.id);
                true
            }
            _ => false,
        })
    }

    async fn change_schedule(
        &self,
        person: &PersonId,
        (act, key): (PageAction, &str),
        batch: &mut Batch,
    ) -> Result<bool, StoreError> {
        let own = schedules::of_person(&self.store, person).await?;
        let Some(row) = own.iter().find(|row| row.id.as_str() == key) else { return Ok(false) };
        let state = match act {
            PageAction::PauseSchedule => ScheduleState::Paused,
            PageAction::ResumeSchedule => ScheduleState::Active,
            _ => {
                schedules::delete(batch, &row.id);
                return Ok(true);
            }
        };
        Ok(switch(row, state, self.store.now(), batch).is_some())
    }

    async fn change_memory(
        &self,
        person: &PersonId,
        (act, key): (PageAction, &str),
        texts: &[&str],
        batch: &mut Batch,
    ) -> Result<bool, StoreError> {
        let store = &self.store;
        let Some(memory) = memories::by_id(store, person, &key.into()).await? else { return Ok(false) };
        if act == PageAction::EditMemory {
            let text = texts.first().map(|text| text.trim().replace("\r\n", "\n")).unwrap_or_default();
            let is_good = !text.is_empty() && text.chars().count() <= MEMORY && !has_secret(&text);
            if is_good {
                memories::rewrite(batch, person, &memory.id, &text);
            }
            return Ok(is_good);
        }
        let zone = self.conversations.zone_of(&people::person_by_id(store, person).await?);
        let asked = Forgetting { person, here: None, zone };
        adjutant_memory::forget(store, asked, &[Meant::all(memory)], None, batch).await?;
        Ok(true)
    }

    async fn change_watch(
        &self,
        person: &PersonId,
        (act, key): (PageAction, &str),
        batch: &mut Batch,
    ) -> Result<bool, StoreError> {
        let watch = watches::by_id(&self.store, &key.into()).await?;
        let Some(watch) = watch.filter(|watch| watch.person_id == *person) else { return Ok(false) };
        let state = match act {
            PageAction::PauseWatch => Some(WatchState::Paused),
            PageAction::ResumeWatch => Some(WatchState::Active),
            _ => None,
        };
        change(batch, &watch, state, self.store.now());
        Ok(true)
    }

    /// Adds a watch that tells of email. The form's own button is the yes.
    async fn add_watch(&self, person: &PersonId, from: &str, batch: &mut Batch) -> Result<bool, StoreError> {
        let (store, from) = (&self.store, line(from, FROM));
        let source = source_of(store, self.live.initial(), WatchTrigger::Mail, person).await?;
        let here = people::last_direct_conversation(store, person).await?;
        let is_full = watches::of_person(store, person).await?.len() >= MAX_WATCHES;
        let (Some(source), Some(here), false) = (source, here, is_full) else { return Ok(false) };
        let mut row = new_row(store, (&here, person), source);
        match from.as_str() {
            "" => row.bounds.every_s = Bounds::MIN_EVERY_S_OF_ALL,
            _ => row.condition.from.push(from),
        }
        watches::insert(batch, &row);
        Ok(true)
    }
}

fn add_task(store: &Store, person: PersonId, title: &str, batch: &mut Batch) -> bool {
    let title = line(title, TITLE);
    let is_good = !title.is_empty();
    if is_good {
        tasks::insert(batch, &TaskRow::new(short_id(store), person, title, store.now()));
    }
    is_good
}

/// A task with another title, and due at another time; none if one of them is no good.
fn edited(mut task: TaskRow, texts: &[&str], zone: Tz, now: i64) -> Option<TaskRow> {
    let [title, due] = texts else { return None };
    task.title = line(title, TITLE);
    match due.trim() {
        "" => (task.due, task.due_at, task.remind_at) = (None, None, None),
        due if task.due.as_deref() == Some(due) => {}
        due => set_due(&mut task, When::parse(due, zone).ok()?, zone, now),
    }
    (!task.title.is_empty()).then_some(task)
}
