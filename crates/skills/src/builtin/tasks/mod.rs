//! The person's to-do list.

mod search;

use adjutant_l10n as l10n;
use adjutant_store::tasks::{self, TaskRow};
use adjutant_store::{Batch, Store, taints};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::clock::when::When;
use adjutant_types::clock::{local_to_utc, rule, utc};
use adjutant_types::{FromCall, FromStore, Own, Priority, TaskState, ours};
use async_trait::async_trait;
use chrono::{Datelike, NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::undo::{self, Step};
use super::{
    BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, has_all_words, is_named, joined,
    read_rule, short_id, under,
};
use crate::{Approved, Output, Result, Risk, SkillError};
use search::{Filter, all_meant, listed, of_kind, search};

domain! {
    "tasks", "../../../../../skills/tasks.toml", TaskSkill {
        Create = "tasks.create",
        Search = "tasks.search",
        Update = "tasks.update",
        Complete = "tasks.complete",
        Delete = "tasks.delete",
    }
}

/// The time of the reminder for a task that is due on a day.
const MORNING: NaiveTime = match NaiveTime::from_hms_opt(9, 0, 0) {
    Some(morning) => morning,
    None => NaiveTime::MIN,
};

#[async_trait]
impl BuiltinSkill for TaskSkill {
    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::OwnStore
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search => None,
            Self::Create => Some(ActionKind::TaskCreate),
            Self::Update | Self::Complete => Some(ActionKind::TaskChange),
            Self::Delete => Some(ActionKind::TaskDelete),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        let thing = |task: &TaskRow| {
            let (id, title) = (task.id.to_string(), task.title.clone());
            Target::Thing(Thing { noun: "task", id, title, is_shared: false })
        };
        Ok(match (self, call.text("id"), call.text("all")) {
            (Self::Delete, _, Some(kind)) => {
                of_kind(call, Filter::of(Some(kind))).await?.iter().map(thing).collect()
            }
            (Self::Update | Self::Delete, Some(_), None) => vec![thing(&by_id(call).await?)],
            _ => Vec::new(),
        })
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>> {
        let task = if call.text("id").is_some() { by_id(call).await.ok() } else { None };
        Ok(task.map(|task| spoken(&task, call)))
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let heading: fn(usize) -> String = match self {
            Self::Delete => l10n::tasks::delete_all,
            Self::Complete => l10n::tasks::complete_all,
            Self::Update => return changes(call).await,
            Self::Create | Self::Search => return Ok(Preview::default()),
        };
        let all = match call.text("all") {
            Some(kind) => of_kind(call, Filter::of(Some(kind))).await?,
            None => Vec::new(),
        };
        if all.is_empty() {
            return Ok(Preview::default());
        }
        let text = listed(&all, call, heading(all.len()));
        Ok(Preview { risk: Risk::High, text: Some(text), ..Preview::default() })
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::Create => create(call, writes),
            Self::Search => search(call).await,
            Self::Update => update(call, writes).await,
            Self::Complete => complete(call, writes).await,
            Self::Delete => delete(call, writes).await,
        }
    }
}

fn item(task: &TaskRow) -> Value {
    json!({
        "id": task.id, "title": task.title, "due": task.due, "state": task.state,
        "priority": task.priority, "tags": task.tag_list(), "notes": task.notes, "recurrence": task.recurrence,
    })
}

fn due_of(task: &TaskRow, zone: Tz) -> Option<When> {
    task.due.as_deref().and_then(|due| When::parse(due, zone).ok())
}

/// The title with its details, for people.
fn spoken(task: &TaskRow, call: &CallContext<'_>) -> String {
    format!("{}{}", task.title, details(task, call, false))
}

/// The same with the title in quotes, of one that may have been moved just now.
fn quoted(task: &TaskRow, call: &CallContext<'_>, is_moved: bool) -> String {
    format!("“{}”{}", task.title, details(task, call, is_moved))
}

/// The details behind a task's title: ` (due Fri 27 Nov 2026) #home`, or ` (done)`.
fn details(task: &TaskRow, call: &CallContext<'_>, is_moved: bool) -> String {
    let mut details = String::new();
    if task.state == TaskState::Done {
        details.push_str(&format!(" ({})", l10n::tasks::is_done()));
    } else if let Some(due) = due_of(task, call.zone()) {
        let repeats = repeats(task, call);
        let due = match task.due_at.is_some_and(|at| at < call.store().now()) {
            true => l10n::tasks::overdue(due.spoken(), repeats),
            false if is_moved => l10n::tasks::now_due(due.spoken(), repeats),
            false => l10n::tasks::due(due.spoken(), repeats),
        };
        details.push_str(&format!(" ({due})"));
    }
    if task.priority == Priority::High {
        details.push_str(&format!(" · {}", l10n::tasks::high_priority()));
    }
    details.extend(task.tag_list().into_iter().map(|tag| format!(" #{tag}")));
    details
}

/// How a task repeats, as it stands behind when it is due; empty if it doesn't.
fn repeats(task: &TaskRow, call: &CallContext<'_>) -> String {
    task.recurrence.as_ref().map(|rule| rule::repeating(rule, call.zone())).unwrap_or_default()
}

/// Sets when a task is due, and its reminder: at that time, or on the morning of that day. There are no reminders
/// for what is past.
pub fn set_due(task: &mut TaskRow, due: When, zone: Tz, now: i64) {
    task.due = Some(due.iso());
    task.due_at = Some(due.deadline(zone));
    let remind = match due {
        When::Day(day) => day.and_time(MORNING),
        When::Time(local) => local,
    };
    let remind_at = local_to_utc(remind, zone).timestamp_millis();
    task.remind_at = Some(remind_at).filter(|at| *at > now);
}

/// Sets the fields that the arguments name.
fn apply(task: &mut TaskRow, call: &CallContext<'_>) -> Result<(), SkillError> {
    for (name, field) in [("title", &mut task.title), ("notes", &mut task.notes)] {
        if let Some(text) = call.text(name) {
            text.clone_into(field);
        }
    }
    if let Some(priority) = call.text("priority") {
        task.priority =
            priority.parse().map_err(|error| SkillError::params(ours!("/priority: {}", FromCall(error))))?;
    }
    if let Some(due) = call.when("due")? {
        set_due(task, due, call.zone(), call.store().now());
    }
    if let Some(tags) = call.tags() {
        task.tags = tags;
    }
    match call.text("recurrence") {
        None => {}
        Some("none") => task.recurrence = None,
        Some(rule) => repeat(task, rule, call)?,
    }
    Ok(())
}

/// Sets how a task repeats. It is due on a day of its rule, unless the arguments say when.
fn repeat(task: &mut TaskRow, rule: &str, call: &CallContext<'_>) -> Result<(), SkillError> {
    let (rule, parsed) = read_rule(rule)?;
    task.recurrence = Some(rule);
    let now = call.now().with_timezone(&call.zone()).naive_local();
    let first = match due_of(task, call.zone()) {
        None => next_due(task, call.zone(), call.store().now())?,
        Some(due) if call.text("due").is_none() => {
            // An overdue task stays overdue if its rule fits.
            let is_its_day = parsed.first_named(due.local(), due.local()) == Some(due.local());
            let today = if matches!(due, When::Day(_)) { now.date().and_time(NaiveTime::MIN) } else { now };
            let first = parsed.first_named(due.local(), today).filter(|_| !is_its_day);
            first.map(|first| like(due, first))
        }
        Some(_) => None,
    };
    if let Some(first) = first {
        set_due(task, first, call.zone(), call.store().now());
    }
    let day = due_of(task, call.zone()).map(|due| due.local().day());
    task.recurrence = task.recurrence.take().map(|rule| rule::in_short_months(&rule, day.unwrap_or(1)));
    Ok(())
}

/// A time of a rule as a due date: a whole day if the former one is.
fn like(due: When, time: NaiveDateTime) -> When {
    match due {
        When::Time(_) => When::Time(time),
        When::Day(_) => When::Day(time.date()),
    }
}

async fn changes(call: &CallContext<'_>) -> Result<Preview> {
    let old = by_id(call).await?;
    let mut new = old.clone();
    apply(&mut new, call)?;
    let due = |task: &TaskRow| due_of(task, call.zone()).map(When::spoken).unwrap_or_default();
    let repeats = |task: &TaskRow| {
        let rule = task.recurrence.as_deref().unwrap_or_default();
        rule::in_words(rule, call.zone()).unwrap_or_else(|| rule.to_owned())
    };
    Ok(Preview::of_changes(
        l10n::tasks::change_task(&old.title),
        [
            (l10n::tasks::title_changes, old.title.clone(), new.title.clone()),
            (l10n::tasks::due_changes, due(&old), due(&new)),
            (l10n::tasks::recurrence_changes, repeats(&old), repeats(&new)),
            (l10n::tasks::notes_change, old.notes.clone(), new.notes.clone()),
            (l10n::tasks::tags_change, old.tag_list().join(", "), new.tag_list().join(", ")),
            (l10n::tasks::priority_changes, old.priority.to_string(), new.priority.to_string()),
        ],
    ))
}

fn create(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let person = call.ctx.turn.person.id.clone();
    let mut task = TaskRow::new(call.short_id(), person, String::new(), call.store().now());
    apply(&mut task, call)?;
    if task.title.is_empty() {
        return Err(SkillError::params(ours!(l10n::tasks::no_title)).into());
    }
    tasks::insert(writes, &task);
    let summary = match due_of(&task, call.zone()) {
        Some(due) => l10n::tasks::added_due(&task.title, due.spoken(), repeats(&task, call)),
        None => l10n::tasks::added(&task.title, repeats(&task, call)),
    };
    let made = [Step::Task { before: None, after: Some(task.clone()) }];
    Ok(Output::ours(summary, item(&task)).undone_by(undo::left(&made)))
}

/// Whether a task contains every word of the query.
fn mentions(task: &TaskRow, query: &str) -> bool {
    has_all_words(&format!("{} {} {}", task.title, task.notes, task.tags).to_lowercase(), query)
}

/// The task with the id in the arguments, or the one open task that these words name.
async fn by_id(call: &CallContext<'_>) -> Result<TaskRow> {
    let id = call.text("id").unwrap_or_default();
    if let Some(task) = tasks::by_id(call.store(), &call.ctx.turn.person.id, &id.into()).await? {
        return Ok(task);
    }
    let missing = || SkillError::not_found(ours!(l10n::tasks::not_found, FromCall(id)));
    Ok(called(call, id).await?.ok_or_else(missing)?)
}

/// The one open task that has this title or, if none has it, whose title has these words.
async fn called(call: &CallContext<'_>, title: &str) -> Result<Option<TaskRow>> {
    let person = &call.ctx.turn.person.id;
    let open = tasks::of_person(call.store(), person, Some(TaskState::Open), 1000).await?;
    let wanted = title.to_lowercase();
    let exact: Vec<&TaskRow> = open.iter().filter(|task| task.title.to_lowercase() == wanted).collect();
    let loose: Vec<&TaskRow> = open.iter().filter(|task| is_named(&task.title, &wanted)).collect();
    let found = if exact.is_empty() { loose } else { exact };
    match found.as_slice() {
        [] => Ok(None),
        [task] => Ok(Some((*task).clone())),
        several => {
            let name = |task: &&TaskRow| {
                ours!("“{}” ({})", FromStore("tasks", task.id.as_str(), task.title.as_str()), Own(&task.id))
            };
            let names = joined(several.iter().map(name));
            Err(SkillError::params(ours!(l10n::tasks::several_match, FromCall(title), names)).into())
        }
    }
}

async fn update(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let old = by_id(call).await?;
    let mut task = old.clone();
    apply(&mut task, call)?;
    tasks::update(writes, &task);
    let summary = l10n::tasks::changed(quoted(&task, call, task.due != old.due));
    let changed = [Step::Task { before: Some(old), after: Some(task.clone()) }];
    Ok(Output::ours(summary, item(&task)).undone_by(undo::left(&changed)))
}

async fn complete(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    if let Some(all) = all_meant(call).await? {
        let (mut lines, mut items, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for task in all {
            let next = finish(call.store(), call.zone(), &task, writes, &mut steps).await?;
            lines.push(match next {
                Some(due) => format!("- {}", l10n::tasks::completed_repeating(&task.title, due.spoken())),
                None => format!("- {}", task.title),
            });
            items.push(item(&TaskRow { state: TaskState::Done, ..task }));
        }
        let summary = under(l10n::tasks::completed_all(lines.len()), lines);
        let data = json!({"items": items, "count": items.len()});
        return Ok(Output::ours(summary, data).undone_by(undo::left(&steps)));
    }
    let task = match (call.text("id"), call.text("title")) {
        (Some(_), _) => by_id(call).await?,
        (None, Some(title)) => called(call, title)
            .await?
            .ok_or_else(|| SkillError::not_found(ours!(l10n::tasks::none_called, FromCall(title))))?,
        (None, None) => return Err(SkillError::params(ours!(l10n::tasks::which_task)).into()),
    };
    if task.state == TaskState::Done {
        return Ok(Output::ours(l10n::tasks::already_done(&task.title), item(&task)));
    }
    let mut steps = Vec::new();
    let summary = match finish(call.store(), call.zone(), &task, writes, &mut steps).await? {
        Some(due) => l10n::tasks::done_repeating(&task.title, due.spoken()),
        None => l10n::tasks::done(&task.title),
    };
    let done = TaskRow { state: TaskState::Done, ..task };
    Ok(Output::ours(summary, item(&done)).undone_by(undo::left(&steps)))
}

/// Completes a task, and adds how to take that back. Of one that recurs, it makes the next one, which is marked like it.
/// Returns when that is due.
pub async fn finish(
    store: &Store,
    zone: Tz,
    task: &TaskRow,
    writes: &mut Batch,
    steps: &mut Vec<Step>,
) -> Result<Option<When>> {
    let now = store.now();
    tasks::complete(writes, &task.id, now);
    let done = TaskRow { state: TaskState::Done, ..task.clone() };
    let done = Step::Task { before: Some(task.clone()), after: Some(done) };
    let Some(due) = next_due(task, zone, now)? else {
        steps.push(done);
        return Ok(None);
    };
    let mut again = TaskRow { id: short_id(store), created_at: now, ..task.clone() };
    set_due(&mut again, due, zone, now);
    tasks::insert(writes, &again);
    let taint = taints::of(store, "tasks", task.id.as_str()).await?;
    if !taint.is_clean() {
        taints::mark(writes, &task.person_id, "tasks", again.id.as_str(), &again.title, &taint);
    }
    steps.extend([Step::Task { before: None, after: Some(again) }, done]);
    Ok(Some(due))
}

async fn delete(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    if let Some(all) = all_meant(call).await? {
        all.iter().for_each(|task| tasks::delete(writes, &task.id));
        let items: Vec<Value> = all.iter().map(item).collect();
        let summary = listed(&all, call, l10n::tasks::deleted_all(all.len()));
        let deleted: Vec<Step> =
            all.into_iter().map(|task| Step::Task { before: Some(task), after: None }).collect();
        let data = json!({"items": items, "count": items.len()});
        return Ok(Output::ours(summary, data).undone_by(undo::left(&deleted)));
    }
    let task = by_id(call).await?;
    tasks::delete(writes, &task.id);
    let deleted = [Step::Task { before: Some(task.clone()), after: None }];
    let summary = l10n::tasks::deleted(quoted(&task, call, false));
    Ok(Output::ours(summary, item(&task)).undone_by(undo::left(&deleted)))
}

/// When a recurring task is due after now and after its own due date.
fn next_due(task: &TaskRow, zone: Tz, now: i64) -> Result<Option<When>, SkillError> {
    let Some(rule) = &task.recurrence else { return Ok(None) };
    let now = utc(now).with_timezone(&zone).naive_local();
    let due = due_of(task, zone).unwrap_or(When::Day(now.date()));
    let start = if task.due.is_some() { due.local() } else { now };
    // In local time, so that nine o'clock stays nine o'clock when the clocks change.
    let (_, parsed) = read_rule(rule)?;
    Ok(parsed.next_after(start, start.max(now)).map(|next| like(due, next)))
}
