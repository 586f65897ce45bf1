//! Other events at the time of an event.

use adjutant_dav::{CalendarEvent, Series, TimeRange, conflicts};
use adjutant_l10n as l10n;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{Agenda, MAX_INSTANCES, event};
use crate::builtin::CallContext;
use crate::{Failure, Output};

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
}

impl Clashes {
    /// Looks for them. `series` is what the event belongs to, as it will be. A calendar that can't be read now hinders
    /// nobody from writing into it.
    pub(super) async fn of(call: &CallContext<'_>, new: &CalendarEvent, series: &Series) -> Self {
        Self::find(call, new, series).await.unwrap_or_default()
    }

    async fn find(call: &CallContext<'_>, new: &CalendarEvent, series: &Series) -> Result<Self, Failure> {
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
        let mut agenda = Agenda::load(call, period, None, |other| !own.contains(&other.uid())).await?;
        agenda.instances.retain(|(_, other)| other.is_busy && !conflicts(&times, other.range).is_empty());
        let mut clashes = Self { more: agenda.instances.len().saturating_sub(MAX), ..Self::default() };
        for (index, instance) in agenda.instances.iter().take(MAX) {
            let other = agenda.events[*index].series.event_at(instance)?;
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
    pub(super) fn described(self, call: &CallContext<'_>, mut output: Output) -> Output {
        let Some(overlaps) = self.in_words() else { return output };
        output.summary.push_str(&format!("\n{overlaps}"));
        output.data["overlaps"] = json!(self.items);
        // Other people write into a calendar on a server: they send invitations.
        output.ours &= call.services.calendar.is_none();
        output
    }
}
