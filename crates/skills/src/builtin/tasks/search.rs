//! Finding tasks, and all of a kind.

use adjutant_store::tasks::{self, TaskRow};
use adjutant_types::clock::span::Span;
use adjutant_types::clock::when::When;
use adjutant_types::{FromCall, TaskState, ours};
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use serde_json::{Value, json};

use super::{due_of, item, like, mentions, moment, spoken};
use crate::builtin::{CallContext, listing, read_rule};
use crate::{Failure, Output, SkillError};

/// Which tasks a search is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    All,
    Overdue,
    In(TaskState),
}

impl Filter {
    /// The filter of the argument `state`: the open tasks without one, all for `all`.
    pub(super) fn of(state: Option<&str>) -> Self {
        match state {
            None => Self::In(TaskState::Open),
            Some("overdue") => Self::Overdue,
            Some(state) => state.parse().map_or(Self::All, Self::In),
        }
    }

    pub(super) fn stored(self) -> Option<TaskState> {
        match self {
            Self::All => None,
            Self::Overdue => Some(TaskState::Open),
            Self::In(state) => Some(state),
        }
    }
}

/// From `due_after` on and before `due_before`; none if neither is given.
fn due_span(call: &CallContext<'_>) -> Result<Option<Span>, SkillError> {
    let (after, before) = (moment(call, "due_after")?, moment(call, "due_before")?);
    let span = Span {
        from: after.map_or(NaiveDateTime::MIN, When::local),
        to: before.map_or(NaiveDateTime::MAX, When::local),
    };
    Ok((after.is_some() || before.is_some()).then_some(span))
}

/// The next time after its own that a repeating task is due, if that is in this span.
fn again_in(task: &TaskRow, span: Span, call: &CallContext<'_>) -> Option<When> {
    let due = due_of(task, call).filter(|_| task.state == TaskState::Open)?;
    let (_, rule) = read_rule(task.recurrence.as_deref()?).ok()?;
    let from = match due {
        When::Time(_) => span.from,
        // It's due all day, also in its afternoon.
        When::Day(_) => span.from.date().and_time(NaiveTime::MIN),
    };
    let before = from.checked_sub_signed(TimeDelta::seconds(1)).unwrap_or(from);
    let next = rule.next_after(due.local(), due.local().max(before))?;
    Some(like(due, next)).filter(|next| span.meets(*next))
}

/// A task as it is shown among those that are due in this span: with that due date. None if it's not among them.
fn shown_in(task: &TaskRow, span: Span, call: &CallContext<'_>) -> Option<String> {
    if due_of(task, call).is_some_and(|due| span.meets(due)) {
        return Some(spoken(task, call));
    }
    let due = again_in(task, span, call)?;
    Some(spoken(&TaskRow { due: Some(due.iso()), due_at: None, ..task.clone() }, call))
}

pub(super) async fn search(call: &CallContext<'_>) -> Result<Output, Failure> {
    let filter = Filter::of(call.text("state"));
    let span = due_span(call)?;
    let all = of_kind(call, filter).await?;
    let (query, tag) = (call.lowercase("query"), call.lowercase("tag"));
    let is_wanted = |task: &TaskRow| {
        (tag.is_empty() || task.tag_list().iter().any(|own| own.to_lowercase() == tag))
            && mentions(task, &query)
    };
    let line =
        |task: &TaskRow| span.map_or_else(|| Some(spoken(task, call)), |span| shown_in(task, span, call));
    let wanted = all.iter().filter(|task| is_wanted(task));
    let found: Vec<(&TaskRow, String)> = wanted.filter_map(|task| Some((task, line(task)?))).collect();
    let shown = found.iter().take(call.limit());
    let items: Vec<Value> = shown.clone().map(|(task, _)| item(task)).collect();
    let lines: Vec<String> = shown.map(|(_, line)| format!("- {line}")).collect();
    let word = match filter {
        Filter::Overdue => "overdue ",
        Filter::In(TaskState::Done) => "finished ",
        Filter::In(TaskState::Open) => "open ",
        Filter::All => "",
    };
    let about = call.text("query").map(|query| format!(" about “{}”", query.to_lowercase()));
    let nouns = (&*format!("{word}task"), &*format!("{word}tasks"));
    let then = if span.is_some() { " due then" } else { "" };
    let none = format!("No {word}tasks{}{then}", about.unwrap_or_default());
    let summary = listing(&lines, found.len(), nouns, none);
    Ok(Output::ours(summary, json!({"items": items, "count": found.len()})))
}

/// All tasks of a kind, the most that a list can have.
pub(super) async fn of_kind(call: &CallContext<'_>, filter: Filter) -> Result<Vec<TaskRow>, Failure> {
    let mut all = tasks::of_person(call.store(), &call.ctx.turn.person.id, filter.stored(), 1000).await?;
    let now = call.store().now();
    all.retain(|task| filter != Filter::Overdue || task.due_at.is_some_and(|at| at < now));
    Ok(all)
}

pub(super) fn counted(tasks: &[TaskRow]) -> String {
    if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) }
}

/// A heading and the tasks under it, a line each.
pub(super) fn listed(tasks: &[TaskRow], call: &CallContext<'_>, heading: &str) -> String {
    let lines = tasks.iter().map(|task| format!("\n- {}", spoken(task, call)));
    format!("{heading}:{}", lines.collect::<String>())
}

/// The tasks that the argument `all` means; none without it.
pub(super) async fn all_meant(call: &CallContext<'_>) -> Result<Option<Vec<TaskRow>>, Failure> {
    let Some(kind) = call.text("all") else { return Ok(None) };
    let all = of_kind(call, Filter::of(Some(kind))).await?;
    if all.is_empty() {
        return Err(SkillError::not_found(ours!("there are no {} tasks", FromCall(kind))).into());
    }
    Ok(Some(all))
}
