//! The person's to-do list.

use adjutant_types::{PersonId, Priority, TaskId, TaskState};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct TaskRow {
    /// Six characters, for people to type.
    pub id: TaskId,
    pub person_id: PersonId,
    pub title: String,
    /// More details.
    pub notes: String,
    /// The due date as the person wrote it: a local date, or date and time.
    pub due: Option<String>,
    /// The moment after which it is overdue.
    pub due_at: Option<i64>,
    /// When to remind the person, in milliseconds; none once they were reminded.
    pub remind_at: Option<i64>,
    /// JSON: a list of words.
    pub tags: String,
    pub priority: Priority,
    /// RRULE of a recurring task.
    pub recurrence: Option<String>,
    pub state: TaskState,
    pub created_at: i64,
}

impl TaskRow {
    /// An open task, about which nothing else is known yet.
    pub fn new(id: TaskId, person_id: PersonId, title: String, created_at: i64) -> Self {
        Self { id, person_id, title, tags: "[]".to_owned(), created_at, ..Self::default() }
    }

    pub fn tag_list(&self) -> Vec<String> {
        serde_json::from_str(&self.tags).unwrap_or_default()
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, person_id, title, notes, due, due_at, remind_at, tags, priority, recurrence, state, created_at \
             FROM tasks ",
            $rest
        )
    };
}

pub fn insert(batch: &mut Batch, task: &TaskRow) {
    batch.run(
        "INSERT INTO tasks (id, person_id, title, notes, due, due_at, tags, priority, recurrence, state, created_at, \
         remind_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        values! {
            &task.id, &task.person_id, &task.title, &task.notes, task.due.clone(), task.due_at, &task.tags,
            task.priority, task.recurrence.clone(), task.state, task.created_at, task.remind_at
        },
    );
}

pub fn update(batch: &mut Batch, task: &TaskRow) {
    batch.must(
        Stale::TaskGone,
        "UPDATE tasks SET title = $1, notes = $2, due = $3, due_at = $4, tags = $5, priority = $6, recurrence = $7, \
         remind_at = $8 WHERE id = $9 AND person_id = $10",
        values! {
            &task.title, &task.notes, task.due.clone(), task.due_at, &task.tags, task.priority,
            task.recurrence.clone(), task.remind_at, &task.id, &task.person_id
        },
    );
}

pub fn complete(batch: &mut Batch, id: &TaskId, now: i64) {
    let sql = "UPDATE tasks SET state = 'done', completed_at = $1 WHERE id = $2 AND state = 'open'";
    batch.must(Stale::TaskNotOpen, sql, [now.into(), id.into()]);
}

pub fn delete(batch: &mut Batch, id: &TaskId) {
    batch.must(Stale::TaskGone, "DELETE FROM tasks WHERE id = $1", [id.into()]);
}

pub async fn by_id(store: &Store, person: &PersonId, id: &TaskId) -> Result<Option<TaskRow>> {
    store.first(select!("WHERE person_id = $1 AND id = $2"), &[person.into(), id.into()]).await
}

/// A person's open tasks that became due up to a time: the first 200 behind the task that was read last.
pub async fn due_between(
    store: &Store,
    person: &PersonId,
    (after, last): (i64, &TaskId),
    until: i64,
) -> Result<Vec<TaskRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND state = 'open' AND (due_at, id) > ($2, $3) AND due_at <= $4 \
         ORDER BY due_at, id LIMIT 200"
    );
    store.all(sql, &[person.into(), after.into(), last.into(), until.into()]).await
}

/// What a person has done since a time, the last first.
pub async fn done_since(store: &Store, person: &PersonId, since: i64) -> Result<Vec<TaskRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND state = 'done' AND completed_at >= $2 ORDER BY completed_at DESC, seq DESC LIMIT 20"
    );
    store.all(sql, &[person.into(), since.into()]).await
}

/// A person's tasks in this state, or all of them, the most urgent first.
pub async fn of_person(
    store: &Store,
    person: &PersonId,
    state: Option<TaskState>,
    limit: i64,
) -> Result<Vec<TaskRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND ($2 = 'all' OR state = $2) \
         ORDER BY state DESC, coalesce(due_at, 9223372036854775807), seq LIMIT $3 + 0"
    );
    store.all(sql, &[person.into(), state.map_or("all", TaskState::as_str).into(), limit.into()]).await
}
