//! Other events at the time of an event.

use adjutant_dav::{CalendarEvent, Series, TimeRange, conflicts};
use adjutant_l10n as l10n;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_types::clock::local_to_utc;
use adjutant_types::clock::when::When;
use adjutant_types::{ExecutionId, ExecutionStatus};
use chrono::TimeDelta;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::backend::Scope;
use super::changes::is_own;
use super::{Agenda, MAX_INSTANCES, event};
use crate::builtin::CallContext;
use crate::{Handler, Output, Result, Skill};

/// How far ahead a series is compared with the other events.
const AHEAD: TimeDelta = TimeDelta::weeks(8);
/// The most events that are named.
const MAX: usize = 5;
/// The skills that take an event away from where it is.
const DELETE: &str = "calendar.delete_event";
const UPDATE: &str = "calendar.update_event";

/// The other events at the time of a new or changed one.
#[derive(Default)]
pub(super) struct Clashes {
    lines: Vec<String>,
    /// How many more events there are.
    more: usize,
    items: Vec<Value>,
    /// The events that other calls of the same answer are to take away, without their titles: these may be of others.
    leaving: Vec<Value>,
    /// Whether one of them isn't the person's own: other people send invitations.
    is_outside: bool,
}

impl Clashes {
    /// Looks for them. `series` is what the event belongs to, as it will be. A calendar that can't be read now hinders
    /// nobody from writing into it.
    pub(super) async fn of(call: &CallContext<'_>, new: &CalendarEvent, series: &Series) -> Self {
        Self::find(call, new, series).await.unwrap_or_default()
    }

    async fn find(call: &CallContext<'_>, new: &CalendarEvent, series: &Series) -> Result<Self> {
        let (zone, now) = (call.zone(), call.now());
        let range = TimeRange { from: new.start.instant(zone), to: new.end.instant(zone) };
        let mut times = vec![range];
        if new.rule.is_some() {
            let ahead = TimeRange { from: range.from.max(now), to: range.from.max(now) + AHEAD };
            let found = series.occurrences(ahead, zone, MAX_INSTANCES)?;
            times = found.occurrences.into_iter().map(|occurrence| occurrence.range).collect();
        }
        times.retain(|time| time.to > now);
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(Self::default()) };
        if !new.is_busy {
            return Ok(Self::default());
        }
        let period = TimeRange { from: first.from, to: last.to };
        let own = [series.uid(), new.uid.clone()];
        let is_other = |other: &Series| !own.contains(&other.uid());
        // Before the calendar is read: it has what those that are done by then have changed.
        let to_come = still_to_come(call).await?;
        let agenda = Agenda::load(call, &Scope::all(call), period, None, is_other).await?;
        let mut clashes = Self::default();
        for (index, instance) in &agenda.instances {
            let stored = &agenda.events[*index];
            if !instance.is_busy || !stored.counts() || conflicts(&times, instance.range).is_empty() {
                continue;
            }
            let id = stored.series.uid();
            let is_gone =
                |(_, task): &&(ExecutionId, Value)| leaves(task, (id.as_str(), instance.range), &times, zone);
            let leaving = to_come.iter().find(is_gone);
            let named = if leaving.is_some() { clashes.leaving.len() } else { clashes.lines.len() };
            if named == MAX {
                clashes.more += usize::from(leaving.is_none());
                continue;
            }
            let other = stored.series.event_at(instance)?;
            let when = event::spoken(&other.start, &other.end, zone);
            if let Some((agent, _)) = leaving {
                clashes.leaving.push(json!({"agent": agent.as_str(), "id": id, "when": when}));
                continue;
            }
            clashes.is_outside |= !is_own(call, stored, &other).await?;
            clashes.lines.push(format!("“{}” ({when})", other.title));
            let item = event::item(&other, "", zone);
            clashes.items.push(json!({
                "id": item["id"], "title": item["title"], "start": item["start"], "end": item["end"],
            }));
        }
        Ok(clashes)
    }

    /// The overlapping events, as a sentence.
    pub(super) fn in_words(&self) -> Option<String> {
        let events = self.lines.join(", ");
        let events = if self.more == 0 { events } else { l10n::calendar::and_more(events, self.more) };
        (!self.lines.is_empty()).then(|| l10n::calendar::overlaps(events))
    }

    /// The output of a change with what overlaps.
    pub(super) fn described(self, mut output: Output) -> Output {
        if !self.leaving.is_empty() {
            output.data["leaving"] = json!(self.leaving);
        }
        let Some(overlaps) = self.in_words() else { return output };
        output.summary.push_str(&format!("\n{overlaps}"));
        output.data["overlaps"] = json!(self.items);
        output.ours &= !self.is_outside;
        output
    }
}

/// What an event overlaps with after all, because what was to take that away hasn't done it, nor has a later call.
pub fn still_there(skill: &Skill, data: &Value, rows: &[ExecutionRow]) -> Option<String> {
    // What others return may look like it.
    let is_ours = matches!(&skill.handler, Handler::Builtin(name) if name.starts_with("calendar."));
    let leaving = data["leaving"].as_array().filter(|_| is_ours)?.iter().filter(|other| stays(other, rows));
    let times: Vec<&str> = leaving.filter_map(|other| other["when"].as_str()).collect();
    (!times.is_empty()).then(|| l10n::calendar::still_there(times.join(", ")))
}

/// Whether an event is still there for certain: of a call that may have taken it away its own receipt tells.
fn stays(other: &Value, rows: &[ExecutionRow]) -> bool {
    use ExecutionStatus::{Completed, Unknown};
    let takes_away = |row: &ExecutionRow| {
        let arguments = row.parameters.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
        matches!(row.skill.as_deref(), Some(DELETE | UPDATE))
            && matches!(row.status, Completed | Unknown)
            && arguments.is_some_and(|arguments| arguments["id"] == other["id"])
    };
    let mut since = rows.iter().skip_while(|row| other["agent"] != *row.id);
    let is_undone = since.next().is_some_and(|agent| agent.status.has_ended() && agent.status != Unknown);
    is_undone && !since.any(takes_away)
}

/// The agents and tasks of the same answer's other calls that neither have ended nor wait for a person.
async fn still_to_come(call: &CallContext<'_>) -> Result<Vec<(ExecutionId, Value)>> {
    let rows = executions::of_turn(call.store(), &call.ctx.turn.id).await?;
    let place = |row: &ExecutionRow| (row.parent_id.clone(), row.call_n);
    let own = rows.iter().find(|row| row.id == *call.agent).map(place);
    let is_to_come = |row: &&ExecutionRow| {
        let is_open = matches!(row.status, ExecutionStatus::Pending | ExecutionStatus::Running);
        row.direct && is_open && row.id != *call.agent && Some(place(row)) == own
    };
    let task = |row: &ExecutionRow| Some((row.id.clone(), serde_json::from_str(row.task.as_deref()?).ok()?));
    Ok(rows.iter().filter(is_to_come).filter_map(task).collect())
}

/// Whether a task deletes the event with this id and range, or moves it away from these times.
fn leaves(task: &Value, (id, range): (&str, TimeRange), times: &[TimeRange], zone: Tz) -> bool {
    let arguments = &task["arguments"];
    let time = |name: &str| {
        let when = When::parse(arguments[name].as_str()?, zone).ok()?;
        Some(local_to_utc(when.local(), zone))
    };
    if arguments["id"] != id || time("instance").is_some_and(|instance| instance != range.from) {
        return false;
    }
    let moved = time("start").map(|from| TimeRange { from, to: from + (range.to - range.from) });
    match task["skills"][0].as_str() {
        Some(DELETE) => true,
        Some(UPDATE) => moved.is_some_and(|moved| conflicts(times, moved).is_empty()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_taken_away_is_not_said_to_be_still_there() {
        use ExecutionStatus::{Completed, Failed, Running, Unknown};
        let other = json!({"agent": "a", "id": "retro"});
        let row = |id: &str, status, skill: Option<&str>| ExecutionRow {
            id: id.into(),
            status,
            skill: skill.map(str::to_owned),
            parameters: Some(json!({"id": "retro"}).to_string()),
            ..ExecutionRow::default()
        };
        let is_there = |agent, call| stays(&other, &[row("a", agent, None), row("b", call, Some(DELETE))]);
        assert!(is_there(Failed, Failed));
        for (agent, call) in [(Unknown, Failed), (Failed, Unknown), (Failed, Completed), (Running, Failed)] {
            assert!(!is_there(agent, call), "{agent:?} {call:?}");
        }
    }
}
