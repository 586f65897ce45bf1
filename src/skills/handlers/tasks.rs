//! The person's to-do list.

use chrono::{NaiveTime, TimeZone};
use rrule::RRuleSet;
use serde_json::{Value, json};

use super::own_store::{Prepared, limit, short_id, tags, text};
use crate::clock::local_to_utc;
use crate::clock::when::When;
use crate::journal::Scope;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::tasks::{self, TaskRow};
use crate::store::{Batch, StoreError};

/// When one is reminded of what is due on a day.
const MORNING: NaiveTime = match NaiveTime::from_hms_opt(9, 0, 0) {
    Some(morning) => morning,
    None => NaiveTime::MIN,
};

fn params(message: impl Into<String>) -> SkillError {
    SkillError::new(ErrorKind::Params, message)
}

fn output(summary: String, data: Value) -> Output {
    Output { summary, data, untrusted: false }
}

fn item(task: &TaskRow) -> Value {
    json!({
        "id": task.id, "title": task.title, "due": task.due, "state": task.state,
        "priority": task.priority, "tags": task.tag_list(), "notes": task.notes, "recurrence": task.recurrence,
    })
}

fn due_of(task: &TaskRow, scope: &Scope) -> Option<When> {
    task.due.as_deref().and_then(|due| When::parse(due, scope.zone).ok())
}

/// The title with its due date, for people.
fn spoken(task: &TaskRow, scope: &Scope) -> String {
    let mut line = task.title.clone();
    if let Some(due) = due_of(task, scope) {
        let overdue = task.state == "open" && task.due_at.is_some_and(|at| at < scope.store.now());
        let word = if overdue { "overdue since" } else { "due" };
        line.push_str(&format!(" ({word} {})", due.spoken()));
    }
    if task.priority == "high" {
        line.push_str(" · high priority");
    }
    for tag in task.tag_list() {
        line.push_str(&format!(" #{tag}"));
    }
    line
}

/// Sets when a task is due, and when to remind of it: at its time, or in the morning of its day. Of what is past
/// nobody is reminded.
fn set_due(task: &mut TaskRow, due: When, scope: &Scope) {
    task.due = Some(due.iso());
    task.due_at = Some(due.deadline(scope.zone));
    let remind = match due {
        When::Day(day) => day.and_time(MORNING),
        When::Time(local) => local,
    };
    let remind_at = local_to_utc(remind, scope.zone).timestamp_millis();
    task.remind_at = Some(remind_at).filter(|at| *at > scope.store.now());
}

/// Sets what the arguments name.
fn apply(task: &mut TaskRow, arguments: &Value, scope: &Scope) -> Result<(), SkillError> {
    if let Some(title) = text(arguments, "title") {
        title.clone_into(&mut task.title);
    }
    if let Some(notes) = text(arguments, "notes") {
        notes.clone_into(&mut task.notes);
    }
    if let Some(due) = text(arguments, "due") {
        let due = When::parse(due, scope.zone).map_err(|message| params(format!("/due: {message}")))?;
        set_due(task, due, scope);
    }
    if let Some(tags) = tags(arguments) {
        task.tags = tags;
    }
    if let Some(priority) = text(arguments, "priority") {
        priority.clone_into(&mut task.priority);
    }
    if let Some(rule) = text(arguments, "recurrence") {
        task.recurrence = Some(rule.trim_start_matches("RRULE:").to_owned());
        if task.due.is_none() {
            let first = next_due(task, scope)?;
            if let Some(first) = first {
                set_due(task, first, scope);
            }
        }
        next_due(task, scope)?;
    }
    Ok(())
}

pub(super) async fn create(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let mut task = TaskRow {
        id: short_id(scope),
        person_id: scope.person.id.clone(),
        title: String::new(),
        notes: String::new(),
        due: None,
        due_at: None,
        remind_at: None,
        tags: "[]".into(),
        priority: "normal".into(),
        recurrence: None,
        state: "open".into(),
        created_at: scope.store.now(),
    };
    if let Err(error) = apply(&mut task, arguments, scope) {
        return Ok(Err(error));
    }
    if task.title.is_empty() {
        return Ok(Err(params("/title: say what is to be done")));
    }
    let mut batch = Batch::new();
    tasks::insert(&mut batch, &task);
    let mut summary = format!("Added “{}”", task.title);
    if let Some(due) = due_of(&task, scope) {
        summary.push_str(&format!(", due {}", due.spoken()));
    }
    if task.recurrence.is_some() {
        summary.push_str(", repeating");
    }
    Ok(Ok((batch, output(summary, item(&task)))))
}

pub(super) async fn search(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let state = text(arguments, "state").unwrap_or("open");
    let bound = |name: &str| match text(arguments, name) {
        Some(due) => When::parse(due, scope.zone)
            .map(|when| Some(when.deadline(scope.zone)))
            .map_err(|message| params(format!("/{name}: {message}"))),
        None => Ok(None),
    };
    let (before, after) = match (bound("due_before"), bound("due_after")) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
    };
    let stored = if state == "overdue" { "open" } else { state };
    let all = tasks::of_person(&scope.store, &scope.person.id, stored, 1000).await?;
    let query = text(arguments, "query").map(str::to_lowercase);
    let tag = text(arguments, "tag").map(str::to_lowercase);
    let now = scope.store.now();
    let found: Vec<TaskRow> = all
        .into_iter()
        .filter(|task| state != "overdue" || task.due_at.is_some_and(|at| at < now))
        .filter(|task| before.is_none_or(|before| task.due_at.is_some_and(|at| at <= before)))
        .filter(|task| after.is_none_or(|after| task.due_at.is_some_and(|at| at >= after)))
        .filter(|task| {
            tag.as_ref().is_none_or(|tag| task.tag_list().iter().any(|own| own.to_lowercase() == *tag))
        })
        .filter(|task| query.as_ref().is_none_or(|query| holds(task, query)))
        .collect();
    let total = found.len();
    let shown = usize::try_from(limit(arguments)).unwrap_or(20);
    let items: Vec<Value> = found.iter().take(shown).map(item).collect();
    let lines: Vec<String> =
        found.iter().take(shown).map(|task| format!("- {}", spoken(task, scope))).collect();
    let word = match state {
        "overdue" => "overdue ",
        "done" => "finished ",
        "open" => "open ",
        _ => "",
    };
    let summary = match total {
        0 => format!("No {word}tasks{}", query.map(|query| format!(" about “{query}”")).unwrap_or_default()),
        1 => format!("1 {word}task:\n{}", lines.join("\n")),
        _ if total > shown => format!("{total} {word}tasks, the first {shown}:\n{}", lines.join("\n")),
        _ => format!("{total} {word}tasks:\n{}", lines.join("\n")),
    };
    Ok(Ok((Batch::new(), output(summary, json!({"items": items, "count": total})))))
}

/// Whether all words of the query are in the task.
fn holds(task: &TaskRow, query: &str) -> bool {
    let text = format!("{} {} {}", task.title, task.notes, task.tags).to_lowercase();
    query.split_whitespace().all(|word| text.contains(word))
}

pub(super) async fn update(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let id = text(arguments, "id").unwrap_or_default();
    let Some(mut task) = tasks::by_id(&scope.store, &scope.person.id, id).await? else {
        return Ok(Err(no_task(id)));
    };
    if let Err(error) = apply(&mut task, arguments, scope) {
        return Ok(Err(error));
    }
    let mut batch = Batch::new();
    tasks::update(&mut batch, &task);
    let summary = format!("Changed: {}", spoken(&task, scope));
    Ok(Ok((batch, output(summary, item(&task)))))
}

fn no_task(id: &str) -> SkillError {
    SkillError::new(ErrorKind::NotFound, format!("there is no task {id}; tasks.search lists the ids"))
}

pub(super) async fn complete(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let task = match (text(arguments, "id"), text(arguments, "title")) {
        (Some(id), _) => match tasks::by_id(&scope.store, &scope.person.id, id).await? {
            Some(task) => task,
            None => return Ok(Err(no_task(id))),
        },
        (None, Some(title)) => match by_title(scope, title).await? {
            Ok(task) => task,
            Err(error) => return Ok(Err(error)),
        },
        (None, None) => return Ok(Err(params("give the task's id or its title"))),
    };
    if task.state == "done" {
        let summary = format!("“{}” was done already", task.title);
        return Ok(Ok((Batch::new(), output(summary, item(&task)))));
    }
    let mut batch = Batch::new();
    tasks::complete(&mut batch, &task.id, scope.store.now());
    let mut summary = format!("Done: “{}”", task.title);
    let next = match next_due(&task, scope) {
        Ok(next) => next,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(due) = next {
        let mut again = TaskRow { id: short_id(scope), created_at: scope.store.now(), ..task.clone() };
        set_due(&mut again, due, scope);
        tasks::insert(&mut batch, &again);
        summary.push_str(&format!("; the next one is due {}", due.spoken()));
    }
    let done = TaskRow { state: "done".into(), ..task };
    Ok(Ok((batch, output(summary, item(&done)))))
}

/// The one open task that a title means: the same title before one that merely holds the words.
async fn by_title(scope: &Scope, title: &str) -> Result<Result<TaskRow, SkillError>, StoreError> {
    let wanted = title.to_lowercase();
    let open = tasks::of_person(&scope.store, &scope.person.id, "open", 1000).await?;
    let exact: Vec<&TaskRow> = open.iter().filter(|task| task.title.to_lowercase() == wanted).collect();
    let loose: Vec<&TaskRow> = open.iter().filter(|task| holds(task, &wanted)).collect();
    let found = if exact.is_empty() { loose } else { exact };
    Ok(match found.as_slice() {
        [task] => Ok((*task).clone()),
        [] => Err(SkillError::new(ErrorKind::NotFound, format!("there is no open task about “{title}”"))),
        several => {
            let titles: Vec<String> =
                several.iter().take(5).map(|task| format!("“{}” ({})", task.title, task.id)).collect();
            Err(params(format!("several tasks match “{title}”: {}. Say which one", titles.join(", "))))
        }
    })
}

pub(super) async fn delete(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let id = text(arguments, "id").unwrap_or_default();
    let Some(task) = tasks::by_id(&scope.store, &scope.person.id, id).await? else {
        return Ok(Err(no_task(id)));
    };
    let mut batch = Batch::new();
    tasks::delete(&mut batch, &task.id);
    Ok(Ok((batch, output(format!("Deleted “{}”", task.title), item(&task)))))
}

pub(super) async fn preview(scope: &Scope, arguments: &Value) -> Result<Option<String>, StoreError> {
    let Some(id) = text(arguments, "id") else { return Ok(None) };
    let task = tasks::by_id(&scope.store, &scope.person.id, id).await?;
    Ok(task.map(|task| format!("the task: {}", spoken(&task, scope))))
}

/// When a recurring task is due after the present time and its own due date.
fn next_due(task: &TaskRow, scope: &Scope) -> Result<Option<When>, SkillError> {
    let Some(rule) = &task.recurrence else { return Ok(None) };
    let wrong = |reason: String| {
        params(format!("/recurrence: \"{rule}\" is no RRULE ({reason}); try FREQ=WEEKLY;BYDAY=MO"))
    };
    let now = crate::clock::utc(scope.store.now()).with_timezone(&scope.zone).naive_local();
    let due = due_of(task, scope);
    let start = due.map_or(now, When::local);
    // Worked out in local time, so that nine o'clock stays nine o'clock when the clocks change.
    let set: RRuleSet = format!("DTSTART:{}Z\nRRULE:{rule}", start.format("%Y%m%dT%H%M%S"))
        .parse()
        .map_err(|error: rrule::RRuleError| wrong(error.to_string()))?;
    let after = rrule::Tz::UTC.from_utc_datetime(&start.max(now));
    let next = set.after(after).all(2).dates.into_iter().find(|date| *date > after);
    Ok(next.map(|next| match due {
        Some(When::Time(_)) => When::Time(next.naive_utc()),
        _ => When::Day(next.naive_utc().date()),
    }))
}
