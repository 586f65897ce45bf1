//! Events as arguments, as JSON and in words.

use std::time::Duration;

use adjutant_dav::{Attendee, CalendarEvent, EventStatus, EventTime, ResponseStatus, Zone};
use adjutant_l10n as l10n;
use adjutant_turn::wording;
use adjutant_types::clock::duration;
use adjutant_types::clock::rule;
use adjutant_types::clock::span::Span;
use adjutant_types::clock::when::When;
use adjutant_types::text::one_line;
use adjutant_types::{ErrorText, FromCall, Own, ours};
use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::invitations::{is_guest, is_visible};
use crate::SkillError;
use crate::builtin::{CallContext, read_rule};

/// The longest event.
const MAX: TimeDelta = TimeDelta::days(366);

fn params(message: impl Into<ErrorText>) -> SkillError {
    SkillError::params(message)
}

/// A time argument, in the zone that the call names or else the person's.
pub(in crate::builtin) fn moment(
    call: &CallContext<'_>,
    name: &str,
) -> Result<Option<EventTime>, SkillError> {
    let zone = zone(call)?;
    let shaped = |when| match when {
        When::Day(day) => EventTime::Day(day),
        When::Time(local) => EventTime::Zoned(local, Zone::Named(zone)),
    };
    Ok(when(call, name)?.map(shaped))
}

/// A time argument as it was written.
pub(super) fn when(call: &CallContext<'_>, name: &str) -> Result<Option<When>, SkillError> {
    let Some(text) = call.text(name) else { return Ok(None) };
    let when = When::parse(text, zone(call)?);
    when.map(Some).map_err(|message| params(ours!("/{}: {}", Own(name), FromCall(message))))
}

pub(super) fn zone(call: &CallContext<'_>) -> Result<Tz, SkillError> {
    match call.text("timezone") {
        None => Ok(call.zone()),
        Some(name) => {
            adjutant_dav::zone_named(name).map_err(|error| params(ours!("/timezone: {}", FromCall(error))))
        }
    }
}

/// How long an event lasts: `30m`, `1h30m`, `2d`, or the ISO 8601 form of it.
pub(super) fn duration(text: &str) -> Result<TimeDelta, SkillError> {
    let length =
        duration::parse_event(text).map_err(|error| params(ours!("/duration: {}", FromCall(error))))?;
    let length = TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX);
    if length > MAX { Err(params(ours!(l10n::calendar::too_long))) } else { Ok(length) }
}

pub(super) fn new(call: &CallContext<'_>, uid: String, is_seen: bool) -> Result<CalendarEvent, SkillError> {
    let start = moment(call, "start")?.ok_or_else(|| params(ours!(l10n::calendar::no_start)))?;
    let blank = CalendarEvent {
        uid,
        title: String::new(),
        end: start.clone(),
        start,
        location: String::new(),
        notes: String::new(),
        organizer: None,
        attendees: Vec::new(),
        reminders: Vec::new(),
        rule: None,
        except: Vec::new(),
        status: EventStatus::Confirmed,
        is_busy: true,
        sequence: 0,
        instance: None,
    };
    changed(&blank, call, is_seen)
}

/// An event with the fields that the arguments name replaced; one without an end gets one. `is_seen`: calendar apps show it.
pub(super) fn changed(
    old: &CalendarEvent,
    call: &CallContext<'_>,
    is_seen: bool,
) -> Result<CalendarEvent, SkillError> {
    let mut new = old.clone();
    let fields = [("title", &mut new.title), ("location", &mut new.location), ("notes", &mut new.notes)];
    for (name, field) in fields {
        if let Some(text) = call.arguments.get(name).and_then(Value::as_str) {
            text.trim().clone_into(field);
        }
    }
    if let Some(rule) = call.text("recurrence") {
        new.rule = Some(read_rule(rule)?.0);
    }
    if let Some(minutes) = call.arguments.get("reminders").and_then(Value::as_array) {
        let minutes =
            minutes.iter().filter_map(Value::as_u64).filter_map(|number| u32::try_from(number).ok());
        new.reminders = minutes.collect();
    }
    set_times(&mut new, old, call)?;
    if call.text("recurrence").is_some() {
        let day = new.start.local().day();
        new.rule = new.rule.map(|rule| rule::in_short_months(&rule, day));
    }
    // Nobody looks into our own store but us.
    let is_unseen = !is_seen && call.arguments.get("reminders").is_some();
    if let Some(minutes) = new.reminders.first().filter(|_| is_unseen) {
        let due = local(&new.start, call.zone()) - TimeDelta::minutes(i64::from(*minutes));
        return Err(params(ours!(l10n::calendar::no_reminders, Own(When::Time(due).iso()))));
    }
    Ok(new)
}

fn set_times(new: &mut CalendarEvent, old: &CalendarEvent, call: &CallContext<'_>) -> Result<(), SkillError> {
    let all_day = call.arguments.get("all_day").and_then(Value::as_bool);
    let shaped = |when: EventTime| match (all_day, when) {
        (Some(false), EventTime::Day(_)) => Err(params(ours!(l10n::calendar::start_needs_time))),
        (Some(true), when) => Ok(EventTime::Day(when.local().date())),
        (_, when) => Ok(when),
    };
    let given_start = moment(call, "start")?.map(shaped).transpose()?;
    let given_end = moment(call, "end")?.map(shaped).transpose()?;
    let lasted = old.end.local() - old.start.local();
    if let Some(start) = given_start {
        new.start = start;
    } else if all_day == Some(true) {
        new.start = EventTime::Day(old.start.local().date());
    }
    let is_day = matches!(new.start, EventTime::Day(_));
    new.end = match (given_end, call.text("duration")) {
        (Some(_), Some(_)) => return Err(params(ours!(l10n::calendar::end_or_duration))),
        (Some(EventTime::Day(last)), None) if is_day => {
            EventTime::Day(last.succ_opt().ok_or_else(|| params(ours!(l10n::calendar::end_too_late)))?)
        }
        (Some(EventTime::Day(_)), None) => return Err(params(ours!(l10n::calendar::end_needs_time))),
        (Some(_), None) if is_day => return Err(params(ours!(l10n::calendar::end_needs_day))),
        (Some(end), None) => end,
        (None, Some(length)) => later(&new.start, duration(length)?),
        (None, None) if lasted > TimeDelta::zero() && is_day == matches!(old.start, EventTime::Day(_)) => {
            later(&new.start, lasted)
        }
        (None, None) => later(&new.start, if is_day { TimeDelta::days(1) } else { TimeDelta::hours(1) }),
    };
    let lasts = new.end.instant(call.zone()) - new.start.instant(call.zone());
    if lasts <= TimeDelta::zero() {
        return Err(params(ours!(l10n::calendar::end_before_start)));
    }
    if lasts > MAX { Err(params(ours!(l10n::calendar::end_too_far))) } else { Ok(()) }
}

fn later(start: &EventTime, by: TimeDelta) -> EventTime {
    match start {
        EventTime::Day(day) => EventTime::Day(*day + TimeDelta::days(by.num_days().max(1))),
        EventTime::Floating(local) => EventTime::Floating(*local + by),
        EventTime::Zoned(local, zone) => EventTime::Zoned(*local + by, zone.clone()),
    }
}

/// A time in results: in the person's zone.
pub(super) fn iso(when: &EventTime, zone: Tz) -> String {
    here(when, zone).iso()
}

/// The same for people.
pub(super) fn spoken_at(when: &EventTime, zone: Tz) -> String {
    here(when, zone).spoken()
}

fn here(when: &EventTime, zone: Tz) -> When {
    match when {
        EventTime::Day(day) => When::Day(*day),
        when => When::Time(local(when, zone)),
    }
}

fn local(when: &EventTime, zone: Tz) -> NaiveDateTime {
    when.instant(zone).with_timezone(&zone).naive_local()
}

/// The last of an event's whole days; the format keeps the day after it.
fn last_day(first: NaiveDate, after: NaiveDate) -> NaiveDate {
    Span { from: When::Day(first).local(), to: When::Day(after).local() }.last_day().max(first)
}

/// When something takes place, in words: `Fri 27 Nov 2026, 14:00–15:00`.
pub(super) fn spoken(start: &EventTime, end: &EventTime, zone: Tz) -> String {
    if let (EventTime::Day(first), EventTime::Day(after)) = (start, end) {
        let last = last_day(*first, *after);
        let days = Span { from: When::Day(*first).local(), to: When::Day(last).ends() };
        return l10n::calendar::all_day(days.spoken());
    }
    let (from, to) = (local(start, zone), local(end, zone));
    let begin = When::Time(from).spoken();
    match from.date() == to.date() {
        true => l10n::times::same_day(begin, to.format("%H:%M")),
        false => l10n::times::several_days(begin, When::Time(to).spoken()),
    }
}

/// When reminders go off: `10 minutes before, when it starts`.
pub(super) fn reminders(occasion: &CalendarEvent) -> String {
    let spoken = |minutes: &u32| match *minutes {
        0 => l10n::calendar::at_start(),
        minutes => l10n::calendar::before_start(wording::duration(Duration::from_mins(minutes.into()))),
    };
    occasion.reminders.iter().map(spoken).collect::<Vec<_>>().join(", ")
}

/// An event as JSON.
pub(super) fn item(occasion: &CalendarEvent, calendar: &str, zone: Tz) -> Value {
    let attendee = |guest: &Attendee| {
        let answer = match guest.response {
            ResponseStatus::NeedsAction => "none yet",
            ResponseStatus::Accepted => "accepted",
            ResponseStatus::Declined => "declined",
            ResponseStatus::Tentative => "tentative",
        };
        json!({"email": guest.address, "name": guest.name, "answer": answer})
    };
    // As it is entered: whole days end with their last one.
    let end = match (&occasion.start, &occasion.end) {
        (EventTime::Day(first), EventTime::Day(after)) => EventTime::Day(last_day(*first, *after)),
        (_, end) => end.clone(),
    };
    let mut item = json!({
        "id": occasion.uid, "title": occasion.title, "start": iso(&occasion.start, zone),
        "end": iso(&end, zone), "all_day": matches!(occasion.start, EventTime::Day(_)),
    });
    let more = [
        ("location", json!(occasion.location)),
        ("notes", json!(occasion.notes)),
        ("attendees", occasion.attendees.iter().map(attendee).collect()),
        ("recurrence", json!(occasion.rule.clone().unwrap_or_default())),
        ("reminders", json!(occasion.reminders)),
        ("calendar", json!(calendar)),
        ("instance", json!(occasion.instance.as_ref().map(|at| iso(at, zone)).unwrap_or_default())),
    ];
    for (name, value) in more {
        let is_empty = value == json!("") || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            item[name] = value;
        }
    }
    item
}

/// Everything about an event for a person to approve: what and when in the first line, and a line for each of the rest.
/// Of an event that changes, what it is now stands before what it will be, and what stays only if it says who hears of it, or
/// if somebody is invited to it who then reads that.
pub(super) fn lines(occasion: &CalendarEvent, old: Option<&CalendarEvent>, zone: Tz) -> String {
    let changed = |of: &dyn Fn(&CalendarEvent) -> String| {
        let new = of(occasion);
        match old.map(of).filter(|old| *old != new) {
            Some(old) if old.is_empty() => new,
            Some(old) if new.is_empty() => format!("{old} → {}", l10n::calendar::none()),
            Some(old) => format!("{old} → {new}"),
            None => new,
        }
    };
    let title = changed(&|event| format!("“{}”", event.title));
    let mut text = format!("{title}, {}", changed(&|event| spoken(&event.start, &event.end, zone)));
    if !matches!(occasion.start, EventTime::Day(_)) {
        text.push_str(&format!(" ({zone})"));
    }
    let repeats = |event: &CalendarEvent| {
        let repeats = event.rule.as_deref().unwrap_or_default();
        rule::in_words(repeats, zone).unwrap_or_else(|| repeats.to_owned())
    };
    let invited = |event: &CalendarEvent| {
        event.attendees.iter().map(|guest| guest.address.as_str()).collect::<Vec<_>>().join(", ")
    };
    let is_told = old.is_some_and(|old| is_visible(old, occasion));
    let is_news =
        old.is_some_and(|old| occasion.attendees.iter().any(|guest| !is_guest(old, &guest.address)));
    let mut add = |line: fn(String) -> String, of: &dyn Fn(&CalendarEvent) -> String, is_shown: bool| {
        let (value, is_new) = (changed(of), old.is_none_or(|old| of(old) != of(occasion)));
        if !value.is_empty() && (is_new || is_shown) {
            text.push_str(&format!("\n- {}", line(value)));
        }
    };
    add(l10n::calendar::place, &|event| one_line(&event.location, 200), is_news);
    add(l10n::calendar::rule, &repeats, false);
    add(l10n::calendar::guests, &invited, is_told);
    add(l10n::calendar::reminder, &reminders, false);
    add(l10n::calendar::notes, &|event| event.notes.clone(), is_news);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_which_app_reminds_and_when() {
        let at = |hour| EventTime::Zoned(When::parse(hour, Tz::UTC).unwrap().local(), Zone::Named(Tz::UTC));
        let event = |reminders: &[u32]| CalendarEvent {
            uid: "u".into(),
            title: "Demo".into(),
            start: at("2026-11-27T14:00"),
            end: at("2026-11-27T15:00"),
            location: String::new(),
            notes: String::new(),
            organizer: None,
            attendees: Vec::new(),
            reminders: reminders.to_vec(),
            rule: None,
            except: Vec::new(),
            status: EventStatus::Confirmed,
            is_busy: true,
            sequence: 0,
            instance: None,
        };
        let line = |old: &[u32], new: &[u32]| {
            let lines = lines(&event(new), Some(&event(old)), Tz::UTC);
            lines.split_once("\n- ").map(|(_, line)| line.to_owned())
        };
        let reminder = |when: &str| Some(format!("reminder: {when}, by your calendar app"));
        assert_eq!(line(&[], &[10]), reminder("10 minutes before"));
        assert_eq!(line(&[10], &[60, 0]), reminder("10 minutes before → 1 hour before, when it starts"));
        assert_eq!(line(&[10], &[]), reminder("10 minutes before → none"));
        assert_eq!(line(&[], &[]), None);
        assert_eq!(line(&[10], &[10]), None, "what stays is no change");
        assert_eq!(item(&event(&[10]), "", Tz::UTC)["reminders"], json!([10]));
    }
}
