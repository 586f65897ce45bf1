//! Other events at the time of an event.

use adjutant_dav::{CalendarEvent, Series, TimeRange, conflicts};
use adjutant_l10n as l10n;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::backend::Scope;
use super::changes::is_own;
use super::{Agenda, MAX_INSTANCES, event};
use crate::builtin::CallContext;
use crate::{Output, Result};

/// How far ahead a series is compared with the other events.
const AHEAD: TimeDelta = TimeDelta::weeks(8);
/// The most events that are named.
const MAX: usize = 5;

/// The other events at the time of a new or changed one.
#[derive(Default)]
pub(super) struct Clashes {
    lines: Vec<String>,
    /// How many more events there are.
    more: usize,
    items: Vec<Value>,
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
        let mut agenda = Agenda::load(call, &Scope::all(call), period, None, is_other).await?;
        agenda.instances.retain(|(index, other)| {
            other.is_busy && agenda.events[*index].counts() && !conflicts(&times, other.range).is_empty()
        });
        let mut clashes = Self { more: agenda.instances.len().saturating_sub(MAX), ..Self::default() };
        for (index, instance) in agenda.instances.iter().take(MAX) {
            let stored = &agenda.events[*index];
            let other = stored.series.event_at(instance)?;
            clashes.is_outside |= !is_own(call, stored, &other).await?;
            clashes.lines.push(format!(
                "“{}” ({})",
                other.title,
                event::spoken(&other.start, &other.end, zone)
            ));
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
        let Some(overlaps) = self.in_words() else { return output };
        output.summary.push_str(&format!("\n{overlaps}"));
        output.data["overlaps"] = json!(self.items);
        output.ours &= !self.is_outside;
        output
    }
}

/// A receipt without the overlaps that its turn has ended: with events that its calls, each with its skill and its data,
/// moved or deleted themselves.
pub fn without_ended_overlaps<'a>(
    receipt: &str,
    data: &Value,
    calls: impl Iterator<Item = (&'a str, &'a Value)> + Clone,
) -> String {
    let is_series = |item: &Value| !item["instance"].is_null() || !item["recurrence"].is_null();
    let at = |item: &'a Value, name: &str| item[name].as_str().filter(|_| item["all_day"] != true);
    let has_ended = |other: &&Value| {
        let is_it = |skill: &str, item: &Value| skill.starts_with("calendar.") && item["id"] == other["id"];
        let Some((_, now)) = calls.clone().filter(|(skill, item)| is_it(skill, item)).last() else {
            return false;
        };
        let is_before =
            |one: Option<&str>, other: Option<&str>| one.zip(other).is_some_and(|(one, other)| one <= other);
        let is_apart = is_before(at(now, "end"), data["start"].as_str())
            || is_before(data["end"].as_str(), at(now, "start"));
        let is_one = data["all_day"] != true && !is_series(data);
        !is_series(now) && (now["start"].is_null() || (is_one && is_apart))
    };
    let ended = data["overlaps"].as_array().into_iter().flatten().filter(has_ended);
    ended.fold(receipt.to_owned(), |receipt, other| {
        let begin = format!("“{}” (", other["title"].as_str().unwrap_or_default());
        let without = receipt.rsplit_once('\n').and_then(|(before, told)| {
            let (head, rest) = told.split_once(&begin)?;
            let (_, rest) = rest.split_once(')')?;
            let told = match rest.strip_prefix(", ") {
                Some(rest) => format!("{head}{rest}"),
                None => format!("{}{rest}", head.trim_end_matches(", ")),
            };
            Some(if told.contains('“') { format!("{before}\n{told}") } else { before.to_owned() })
        });
        without.unwrap_or(receipt)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_overlaps_still_is_told() {
        let at = |id: &str, title: &str, start: &str, end: &str| json!({"id": id, "title": title, "start": start, "end": end, "all_day": false});
        let (noon, one, two) = ("2026-11-27T12:00", "2026-11-27T13:00", "2026-11-27T14:00");
        let mut demo = at("d", "Demo", noon, two);
        demo["overlaps"] = json!([at("r", "Retro", noon, one), at("l", "Lunch", one, two)]);
        let receipt = "Moved “Demo”\nIt overlaps with “Retro” (Fri 27 Nov 2026, 12:00–13:00), “Lunch” (Fri 27 Nov 2026, 13:00–14:00)";
        let told = |calls: &[(&str, Value)]| {
            without_ended_overlaps(receipt, &demo, calls.iter().map(|(skill, item)| (*skill, item)))
        };
        let (moved, deleted) = (at("r", "Retro", two, two), json!({"id": "l", "title": "Lunch"}));
        let (update, delete) = ("calendar.update_event", "calendar.delete_event");
        assert_eq!(told(&[]), receipt);
        assert_eq!(told(&[(update, at("r", "Retro", one, two))]), receipt, "they overlap there, too");
        let mut one_of_many = deleted.clone();
        one_of_many["instance"] = json!("Fri 27 Nov 2026, 13:00");
        assert_eq!(told(&[(delete, one_of_many)]), receipt);
        assert_eq!(
            told(&[(update, moved.clone())]),
            "Moved “Demo”\nIt overlaps with “Lunch” (Fri 27 Nov 2026, 13:00–14:00)"
        );
        assert_eq!(
            told(&[(delete, deleted.clone())]),
            "Moved “Demo”\nIt overlaps with “Retro” (Fri 27 Nov 2026, 12:00–13:00)"
        );
        assert_eq!(told(&[(update, moved), (delete, deleted)]), "Moved “Demo”");
    }
}
