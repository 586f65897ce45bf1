//! Finding tasks, and all of a kind.

use adjutant_l10n as l10n;
use adjutant_store::tasks::{self, TaskRow};
use adjutant_types::clock::span::Span;
use adjutant_types::clock::when::When;
use adjutant_types::{Own, TaskState, ours};
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use serde_json::{Value, json};

use super::{due_of, item, like, mentions, spoken};
use crate::builtin::{CallContext, read_rule, under};
use crate::{Output, Result, SkillError};

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

    /// The name that chooses between the words of a message.
    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Overdue => "overdue",
            Self::In(state) => state.as_str(),
        }
    }
}

/// From `due_after` on and before `due_before`; none if neither is given.
fn due_span(call: &CallContext<'_>) -> Result<Option<Span>, SkillError> {
    let (after, before) = (call.when("due_after")?, call.when("due_before")?);
    let span = Span {
        from: after.map_or(NaiveDateTime::MIN, When::local),
        to: before.map_or(NaiveDateTime::MAX, When::local),
    };
    Ok((after.is_some() || before.is_some()).then_some(span))
}

/// The next time after its own that a repeating task is due, if that is in this span.
fn again_in(task: &TaskRow, span: Span, call: &CallContext<'_>) -> Option<When> {
    let due = due_of(task, call.zone()).filter(|_| task.state == TaskState::Open)?;
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
    if due_of(task, call.zone()).is_some_and(|due| span.meets(due)) {
        return Some(spoken(task, call));
    }
    let due = again_in(task, span, call)?;
    Some(spoken(&TaskRow { due: Some(due.iso()), due_at: None, ..task.clone() }, call))
}

pub(super) async fn search(call: &CallContext<'_>) -> Result<Output> {
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
    let state = filter.as_str();
    let heading = match (found.len(), query.is_empty(), span) {
        (0, true, None) => l10n::tasks::none(state),
        (0, true, Some(_)) => l10n::tasks::none_then(state),
        (0, false, None) => l10n::tasks::none_about(state, query),
        (0, false, Some(_)) => l10n::tasks::none_about_then(state, query),
        (count, ..) if count > lines.len() => l10n::tasks::found_first(state, count, lines.len()),
        (count, ..) => l10n::tasks::found(state, count),
    };
    let summary = under(heading, lines);
    Ok(Output::ours(summary, json!({"items": items, "count": found.len()})))
}

/// All tasks of a kind, the most that a list can have.
pub(super) async fn of_kind(call: &CallContext<'_>, filter: Filter) -> Result<Vec<TaskRow>> {
    let mut all = tasks::of_person(call.store(), &call.ctx.turn.person.id, filter.stored(), 1000).await?;
    let now = call.store().now();
    all.retain(|task| filter != Filter::Overdue || task.due_at.is_some_and(|at| at < now));
    Ok(all)
}

/// A heading and the tasks under it, a line each.
pub(super) fn listed(tasks: &[TaskRow], call: &CallContext<'_>, heading: String) -> String {
    under(heading, tasks.iter().map(|task| format!("- {}", spoken(task, call))))
}

/// The tasks that the argument `all` means; none without it.
pub(super) async fn all_meant(call: &CallContext<'_>) -> Result<Option<Vec<TaskRow>>> {
    let Some(kind) = call.text("all") else { return Ok(None) };
    let filter = Filter::of(Some(kind));
    let all = of_kind(call, filter).await?;
    if all.is_empty() {
        let none = l10n::tasks::none_in_state(filter.as_str());
        return Err(SkillError::not_found(ours!("{}", Own(none))).into());
    }
    Ok(Some(all))
}
