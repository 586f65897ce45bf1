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
