//! The calendar's skills.

use std::collections::BTreeSet;

use adjutant_dav::{Occurrence, Series, Span, When, WorkingHours, conflicts, free_slots};
use chrono::{DateTime, NaiveTime, TimeDelta, Utc, Weekday};
use serde_json::{Value, json};

use super::shelf::{Object, Shelf, span};
use super::{Office, Trouble, Work, event, params, text, texts};
use crate::clock::utc;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::Batch;

/// More times of one event are not looked at in one call.
pub(super) const MOST: usize = 2_000;
/// So many are shown.
const SHOWN: usize = 50;
/// So many free slots are proposed.
const SLOTS: usize = 10;

/// What takes place in a window: the events, and each of their times, by time.
struct Found {
    objects: Vec<Object>,
    times: Vec<(usize, Occurrence)>,
}

impl Office {
    pub(super) async fn calendar_call(
        &self,
        work: &Work<'_>,
        handler: &str,
        batch: Option<&mut Batch>,
    ) -> Result<Output, Trouble> {
        match handler {
            "calendar.list_events" => self.list_events(work).await,
            "calendar.search" => self.search_events(work).await,
            "calendar.create_event" => self.create_event(work, batch).await,
            "calendar.update_event" => self.update_event(work, batch).await,
            "calendar.delete_event" => self.delete_event(work, batch).await,
            "calendar.check_availability" => self.check_availability(work).await,
            other => Err(SkillError::new(ErrorKind::NotFound, format!("there is no handler {other}")).into()),
        }
    }

    pub(super) fn shelf<'a>(&'a self, work: &Work<'a>) -> Shelf<'a> {
        match &self.calendar {
            Some(calendars) => Shelf::Server(calendars),
            None => Shelf::Own(work.scope),
        }
    }

    /// What takes place in a window. One event that can't be read hides no other.
    async fn find(
        &self,
        work: &Work<'_>,
        window: Span,
        calendar: Option<&str>,
        is_wanted: impl Fn(&Series) -> bool,
    ) -> Result<Found, Trouble> {
        let mut objects = self.shelf(work).list(window, calendar).await?;
        objects.retain(|object| is_wanted(&object.series));
        let mut times = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            let Ok(expansion) = object.series.occurrences(window, work.scope.zone, MOST) else { continue };
            times.extend(expansion.occurrences.into_iter().map(|time| (index, time)));
        }
        times.sort_by_key(|(_, time)| time.span);
        Ok(Found { objects, times })
    }

    async fn list_events(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let window = window(work, TimeDelta::days(7))?;
        let found = self.find(work, window, text(work.arguments, "calendar"), |_| true).await?;
        self.tell(work, &found, "Nothing is on then".to_owned())
    }

    async fn search_events(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let query = text(work.arguments, "query").unwrap_or_default();
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let window = window(work, TimeDelta::days(366))?;
        let mut found = self.find(work, window, None, |series| mentions(series, &words)).await?;
        // Of a series the next one stands for all.
        let mut seen = BTreeSet::new();
        found.times.retain(|(index, _)| seen.insert(*index));
        self.tell(work, &found, format!("No event about “{query}” in that time"))
    }

    fn tell(&self, work: &Work<'_>, found: &Found, none: String) -> Result<Output, Trouble> {
        let home = work.scope.zone;
        let (mut lines, mut items) = (Vec::new(), Vec::new());
        for (index, time) in found.times.iter().take(SHOWN) {
            let object = &found.objects[*index];
            let it = object.series.occasion_at(time)?;
            let place = if it.location.is_empty() { String::new() } else { format!(" ({})", it.location) };
            lines.push(format!("- {}: {}{place}", event::spoken(&it.start, &it.end, home), it.title));
            items.push(event::item(&it, &object.calendar, home));
        }
        let summary = match found.times.len() {
            0 => none,
            1 => format!("1 event:\n{}", lines.join("\n")),
            many if many > SHOWN => format!("{many} events, the first {SHOWN}:\n{}", lines.join("\n")),
            many => format!("{many} events:\n{}", lines.join("\n")),
        };
        // Others write into a calendar on a server: invitations do.
        let untrusted = self.calendar.is_some() && !items.is_empty();
        Ok(Output { summary, data: json!({"items": items, "count": found.times.len()}), untrusted })
    }

    async fn check_availability(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let window = window(work, TimeDelta::days(1))?;
        let mut found = self.find(work, window, None, |_| true).await?;
        found.times.retain(|(_, time)| time.is_busy);
        let busy: Vec<Span> = found.times.iter().map(|(_, time)| time.span).collect();
        let mut output = match text(work.arguments, "duration") {
            Some(said) => slots(work, &busy, window, event::duration(said)?)?,
            None if conflicts(&busy, window).is_empty() => {
                Output { summary: "You are free then".into(), data: json!({"free": true}), untrusted: false }
            }
            None => {
                let mut told = self.tell(work, &found, String::new())?;
                let lines = told.summary.split_once('\n').map(|(_, lines)| lines).unwrap_or_default();
                told.summary = format!("You are busy then:\n{lines}");
                told.data["free"] = json!(false);
                told
            }
        };
        if !texts(work.arguments, "attendees").is_empty() {
            let note = "\nThe others' calendars can't be read from here, so only yours was looked at.";
            output.summary.push_str(note);
        }
        Ok(output)
    }
}

pub(super) fn now(work: &Work<'_>) -> DateTime<Utc> {
    utc(work.scope.store.now())
}

/// The span that a call asks about: from now, and so long, if it does not say.
fn window(work: &Work<'_>, usual: TimeDelta) -> Result<Span, Trouble> {
    let home = work.scope.zone;
    let from = event::moment(work.arguments, "start", home)?;
    let from = from.map_or(now(work), |from| from.instant(home));
    let to = match event::moment(work.arguments, "end", home)? {
        Some(When::Day(last)) => When::Day(last.succ_opt().unwrap_or(last)).instant(home),
        Some(to) => to.instant(home),
        None => from + usual,
    };
    if to <= from {
        return Err(params("/end: it must be after start").into());
    }
    Ok(span(from, to))
}

/// Free slots within the hours in which people meet.
fn slots(work: &Work<'_>, busy: &[Span], window: Span, duration: TimeDelta) -> Result<Output, Trouble> {
    let zone = event::zone(work.arguments, work.scope.zone)?;
    let hour = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    let days = vec![Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri];
    let hours = WorkingHours { zone, days, from: hour(9), to: hour(18) };
    let free = free_slots(busy, window, duration, &hours)?;
    let local = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local();
    let line = |slot: &Span| {
        format!("- {}–{}", local(slot.from).format("%a %-d %b %Y, %H:%M"), local(slot.to).format("%H:%M"))
    };
    let lines: Vec<String> = free.iter().take(SLOTS).map(line).collect();
    let summary = match lines.len() {
        0 => "There is no such slot on a weekday between 9 and 18 o'clock".to_owned(),
        _ => format!("Free, on weekdays between 9 and 18 o'clock:\n{}", lines.join("\n")),
    };
    let item = |slot: &Span| {
        let iso = |at| local(at).format("%Y-%m-%dT%H:%M").to_string();
        json!({"start": iso(slot.from), "end": iso(slot.to)})
    };
    let items: Vec<Value> = free.iter().take(SLOTS).map(item).collect();
    Ok(Output { summary, data: json!({"free": !free.is_empty(), "slots": items}), untrusted: false })
}

/// Whether all words stand in what an event, or one of its instances, says.
fn mentions(series: &Series, words: &[String]) -> bool {
    let parts = series.occasion().into_iter().chain(series.overrides().unwrap_or_default());
    let mut texts = parts.map(|it| {
        let people = it.attendees.iter().map(|one| format!(" {} {}", one.name, one.address));
        let people: String = people.collect();
        format!("{} {} {}{people}", it.title, it.location, it.notes).to_lowercase()
    });
    texts.any(|text| words.iter().all(|word| text.contains(word.as_str())))
}
