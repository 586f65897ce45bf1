//! What can be done with the rows of tables, by the functions that the skills use. The person's other pages hear of it.

use adjutant_engine::conversation::watches::source_of;
use adjutant_l10n as l10n;
use adjutant_memory::{Forgetting, Meant, has_secret};
use adjutant_skills::Failure;
use adjutant_skills::builtin::schedules::switch;
use adjutant_skills::builtin::short_id;
use adjutant_skills::builtin::tasks::{finish, set_due};
use adjutant_skills::builtin::undo::{Step, left};
use adjutant_skills::builtin::watches::{MINUTES, change, described, new_row, stopped};
use adjutant_store::executions::Closing;
use adjutant_store::memories::MemoryRow;
use adjutant_store::tasks::TaskRow;
use adjutant_store::{
    Batch, Result, Store, access, changes, dead, memories, people, rules, runs, schedules, taints, tasks,
    watches,
};
use adjutant_types::clock::when::When;
use adjutant_types::invisible_chars::line;
use adjutant_types::text::one_line;
use adjutant_types::watches::MAX_WATCHES;
use adjutant_types::{PersonId, ScheduleState, TaskState, TurnId, WatchAction, WatchState, WatchTrigger};
use adjutant_web::views::{PageAction, Viewer};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::WebBackend;

/// The longest title of a task, memory, text that a watch is for, and words of what it does, in characters.
const TITLE: usize = 200;
const MEMORY: usize = 4_000;
const FROM: usize = 50;
const WORDS: usize = 1_000;
/// How much a receipt says of a text, in characters.
const SHOWN: usize = 200;

/// What an act was to history: the skill that does the same, the receipt, and how to undo it; none: nothing is kept.
pub(super) type Done = (&'static str, String, Option<Value>);

/// One that leaves nothing, and says so before.
const DONE: Done = ("", String::new(), None);

/// An act, its row, and the texts of its fields.
type Ask<'a> = (PageAction, &'a str, &'a [&'a str]);
/// None if the row is gone, isn't the person's, or a text is no good.
type Acted = Result<Option<Done>>;

impl WebBackend {
    pub(in crate::service::web) async fn do_act(
        &self,
        viewer: &Viewer,
        (act, key): (PageAction, &str),
        texts: &[&str],
    ) -> Result<bool> {
        use PageAction as Act;
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let (mut batch, asked) = (Batch::new(), (act, key, texts));
        let done = match act {
            Act::AddTask => add_task(store, person.clone(), key, &mut batch),
            Act::EditTask | Act::CompleteTask | Act::ReopenTask | Act::DeleteTask => {
                self.change_task(&person, asked, &mut batch).await?
            }
            Act::PauseSchedule | Act::ResumeSchedule | Act::DeleteSchedule => {
                self.change_schedule(&person, asked, &mut batch).await?
            }
            Act::EditMemory | Act::DeleteMemory => self.change_memory(&person, asked, &mut batch).await?,
            Act::PauseWatch | Act::ResumeWatch | Act::StopWatch => {
                self.change_watch(&person, asked, &mut batch).await?
            }
            Act::WatchMail | Act::WatchMeetings => self.add_watch(&person, asked, &mut batch).await?,
            Act::DeletePlan => {
                let own = self.own_plan(viewer, key).await?;
                own.map(|(row, _)| runs::delete_plan(&mut batch, &row.id)).map(|()| DONE)
            }
            Act::EndRule => {
                rules::end(&mut batch, &person, &key.into(), store.now());
                Some(DONE)
            }
            Act::CancelPlan => None,
            Act::Retry | Act::Approve | Act::EditRoom if !viewer.is_owner => None,
            Act::Retry => return dead::retry(store, &key.into()).await,
            Act::Approve => return Ok(access::approve(store, key).await?.is_some()),
            Act::EditRoom => return self.conversations.set_room_rule(&key.into(), texts).await,
        };
        let Some(done) = done else { return Ok(false) };
        let turn = self.leave(&person, (act.label(), key), done, &mut batch).await?;
        // Its receipt says what is forgotten.
        if let Some(turn) = turn.filter(|_| act == Act::DeleteMemory) {
            memories::forget_own_turn(&mut batch, &turn, store.now());
        }
        changes::of_thing(&mut batch, &person, act.name());
        store.try_write(batch).await
    }

    /// Adds what somebody did, by its button's label, as a turn where they last talked to the assistant, if they did.
    pub(super) async fn leave(
        &self,
        person: &PersonId,
        (act, key): (String, &str),
        (skill, receipt, undo): Done,
        batch: &mut Batch,
    ) -> Result<Option<TurnId>> {
        let here = people::last_direct_conversation(&self.store, person).await?;
        let (Some(undo), Some(here)) = (undo, here) else { return Ok(None) };
        let domain = skill.split('.').next().unwrap_or_default();
        // What was made from text from outside repeats that text.
        let taint = taints::of(&self.store, domain, key).await?;
        let closing = Closing {
            // Forgetting a memory later finds this turn by its id.
            data: (domain == "memory").then(|| json!({"id": key, "text": receipt}).to_string()),
            result: Some(receipt),
            undo: Some(undo.to_string()),
            untrusted: !taint.is_clean(),
            taint,
            ..Closing::default()
        };
        let text = l10n::page_tables::on_the_page(act);
        Ok(Some(self.conversations.add_act(batch, (&here, person), &text, (skill, &closing))))
    }

    async fn change_task(&self, person: &PersonId, (act, key, texts): Ask<'_>, batch: &mut Batch) -> Acted {
        let store = &self.store;
        let Some(task) = tasks::by_id(store, person, &key.into()).await? else { return Ok(None) };
        let zone = self.conversations.zone_of(&people::person_by_id(store, person).await?);
        let (title, mut steps) = (task.title.clone(), Vec::new());
        let step = |before, after| Step::Task { before: Some(before), after };
        let (skill, receipt) = match act {
            PageAction::EditTask => {
                let Some(new) = edited(task.clone(), texts, zone, store.now()) else { return Ok(None) };
                tasks::update(batch, &new);
                let receipt = l10n::tasks::changed(quoted(&new.title));
                steps.push(step(task, Some(new)));
                ("tasks.update", receipt)
            }
            PageAction::CompleteTask => match finish(store, zone, &task, batch, &mut steps).await {
                Ok(None) => ("tasks.complete", l10n::tasks::done(title)),
                Ok(Some(next)) => ("tasks.complete", l10n::tasks::done_repeating(title, next.spoken())),
                Err(Failure::Skill(_)) => return Ok(None),
                Err(Failure::Store(error)) => return Err(error),
            },
            PageAction::ReopenTask if task.state == TaskState::Done => {
                let open = TaskRow { state: TaskState::Open, ..task.clone() };
                tasks::delete(batch, &task.id);
                tasks::insert(batch, &open);
                steps.push(step(task, Some(open)));
                ("tasks.update", l10n::undo::task_is_open(title))
            }
            PageAction::DeleteTask => {
                tasks::delete(batch, &task.id);
                steps.push(step(task, None));
                ("tasks.delete", l10n::tasks::deleted(quoted(&title)))
            }
            _ => return Ok(None),
        };
        Ok(Some((skill, receipt, left(&steps))))
    }

    async fn change_schedule(&self, person: &PersonId, (act, key, _): Ask<'_>, batch: &mut Batch) -> Acted {
        let own = schedules::of_person(&self.store, person).await?;
        let Some(row) = own.into_iter().find(|row| row.id.as_str() == key) else { return Ok(None) };
        let title = one_line(&row.text, SHOWN);
        let (state, receipt) = match act {
            PageAction::PauseSchedule => (Some(ScheduleState::Paused), l10n::schedules::paused(title)),
            PageAction::ResumeSchedule => (Some(ScheduleState::Active), l10n::undo::schedule_runs(title)),
            _ => (None, l10n::schedules::deleted(title)),
        };
        let skill = if state.is_some() { "schedule.pause" } else { "schedule.delete" };
        let after = match state.map(|state| switch(&row, state, self.store.now(), batch)) {
            Some(None) => return Ok(None),
            after => after.flatten(),
        };
        if after.is_none() {
            schedules::delete(batch, &row.id);
        }
        Ok(Some((skill, receipt, left(&[Step::Schedule { before: Some(row), after }]))))
    }

    async fn change_memory(&self, person: &PersonId, (act, key, texts): Ask<'_>, batch: &mut Batch) -> Acted {
        let store = &self.store;
        let Some(memory) = memories::by_id(store, person, &key.into()).await? else { return Ok(None) };
        if act == PageAction::EditMemory {
            let text = texts.first().map(|text| text.trim().replace("\r\n", "\n")).unwrap_or_default();
            if text.is_empty() || text.chars().count() > MEMORY || has_secret(&text) {
                return Ok(None);
            }
            memories::rewrite(batch, person, &memory.id, &text);
            let receipt = l10n::memory::remembered(one_line(&text, SHOWN));
            let after = Some(MemoryRow { text, ..memory.clone() });
            let step = Step::Memory { before: Some(memory), after, place: None };
            return Ok(Some(("memory.save", receipt, left(&[step]))));
        }
        let zone = self.conversations.zone_of(&people::person_by_id(store, person).await?);
        let asked = Forgetting { person, here: None, zone };
        let place = memories::place_of(store, &memory.id).await?;
        let meant = Meant::all(memory);
        adjutant_memory::forget(store, asked, std::slice::from_ref(&meant), None, batch).await?;
        let receipt = l10n::memory::forgotten(one_line(&meant.text(), SHOWN));
        Ok(Some(("memory.forget", receipt, left(&[Step::forgotten(&meant, place)]))))
    }

    async fn change_watch(&self, person: &PersonId, (act, key, _): Ask<'_>, batch: &mut Batch) -> Acted {
        let watch = watches::by_id(&self.store, &key.into()).await?;
        let Some(watch) = watch.filter(|watch| watch.person_id == *person) else { return Ok(None) };
        let state = match act {
            PageAction::PauseWatch => Some(WatchState::Paused),
            PageAction::ResumeWatch => Some(WatchState::Active),
            _ => None,
        };
        let receipt = change(batch, &watch, state, self.store.now());
        Ok(Some(("watch.delete", receipt, stopped(&watch).filter(|_| state.is_none()))))
    }

    /// Adds a watch on email, or on events before they begin. The form's own button is the yes; nobody reads wishes in its
    /// words, so what it does asks.
    async fn add_watch(&self, person: &PersonId, (act, from, texts): Ask<'_>, batch: &mut Batch) -> Acted {
        let store = &self.store;
        let [about, then, day] = [0_usize, 1, 2].map(|at| texts.get(at).map_or("", |text| text.trim()));
        let trigger = match act {
            PageAction::WatchMeetings => WatchTrigger::EventBegins,
            _ => WatchTrigger::Mail,
        };
        let source = source_of(store, self.live.initial(), trigger, person).await?;
        let here = people::last_direct_conversation(store, person).await?;
        let is_full = watches::of_person(store, person).await?.len() >= MAX_WATCHES;
        let zone = self.conversations.zone_of(&people::person_by_id(store, person).await?);
        let until = When::parse(day, zone).ok().map(|when| when.deadline(zone));
        let is_bad = !day.is_empty() && until.is_none_or(|until| until <= store.now());
        let (Some(source), Some(here), false) = (source, here, is_full || is_bad) else { return Ok(None) };
        let mut row = new_row(store, (&here, person), source);
        let typed = |text| Some(line(text, FROM)).filter(|text| !text.is_empty());
        row.condition.from.extend(typed(from));
        row.condition.subject.extend(typed(about));
        row.condition.minutes = MINUTES;
        (row.words, row.bounds.until) = (line(then, WORDS), until);
        row.action = if row.words.is_empty() { WatchAction::Tell } else { WatchAction::Ask };
        // Nobody means every email by an empty form.
        if row.condition.is_everything() && trigger == WatchTrigger::Mail {
            return Ok(None);
        }
        watches::insert(batch, &row);
        let receipt = l10n::watches::started(described(&row));
        Ok(Some(("watch.create", receipt, left(&[Step::Started(Box::new(row))]))))
    }
}

fn add_task(store: &Store, person: PersonId, title: &str, batch: &mut Batch) -> Option<Done> {
    let task = TaskRow::new(short_id(store), person, line(title, TITLE), store.now());
    if task.title.is_empty() {
        return None;
    }
    tasks::insert(batch, &task);
    let receipt = l10n::tasks::added(&task.title, "");
    Some(("tasks.create", receipt, left(&[Step::Task { before: None, after: Some(task) }])))
}

fn quoted(title: &str) -> String {
    format!("“{title}”")
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
