//! Events as the skills' arguments say them, as JSON, and in words.

use adjutant_dav::{Answer, Attendee, Occasion, Status, When, Zone};
use chrono::{NaiveDateTime, TimeDelta};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::{params, text};
use crate::clock::duration;
use crate::clock::when::When as Said;
use crate::skills::SkillError;

/// The longest an event may last that people put into calendars.
const LONGEST: TimeDelta = TimeDelta::days(366);

/// What a time argument says, in the zone that the call names or the person's.
pub(super) fn moment(arguments: &Value, name: &str, home: Tz) -> Result<Option<When>, SkillError> {
    let Some(said) = text(arguments, name) else { return Ok(None) };
    let zone = zone(arguments, home)?;
    let said = Said::parse(said, zone).map_err(|message| params(format!("/{name}: {message}")))?;
    Ok(Some(match said {
        Said::Day(day) => When::Day(day),
        Said::Time(local) => When::Zoned(local, Zone::Named(zone)),
    }))
}

/// The zone of a call's times.
pub(super) fn zone(arguments: &Value, home: Tz) -> Result<Tz, SkillError> {
    match text(arguments, "timezone") {
        None => Ok(home),
        Some(name) => adjutant_dav::zone_named(name).map_err(|fault| params(format!("/timezone: {fault}"))),
    }
}

/// How long an event lasts: `30m`, `1h30m`, `2d`, or the ISO 8601 form of it.
pub(super) fn duration(said: &str) -> Result<TimeDelta, SkillError> {
    let length = duration::parse_event(said).map_err(|error| params(format!("/duration: {error}")))?;
    let length = TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX);
    if length > LONGEST { Err(params("/duration: an event can last at most a year")) } else { Ok(length) }
}

/// A new event.
pub(super) fn new(arguments: &Value, uid: String, home: Tz) -> Result<Occasion, SkillError> {
    let start = moment(arguments, "start", home)?.ok_or_else(|| params("/start: say when it starts"))?;
    let blank = Occasion {
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
        status: Status::Confirmed,
        is_busy: true,
        sequence: 0,
        instance: None,
    };
    changed(&blank, arguments, home)
}

/// An event with what the arguments say put in place of what it was; an event that has no end yet gets one.
pub(super) fn changed(old: &Occasion, arguments: &Value, home: Tz) -> Result<Occasion, SkillError> {
    let mut new = old.clone();
    for (name, field) in
        [("title", &mut new.title), ("location", &mut new.location), ("notes", &mut new.notes)]
    {
        if let Some(said) = arguments.get(name).and_then(Value::as_str) {
            said.trim().clone_into(field);
        }
    }
    if let Some(rule) = text(arguments, "recurrence") {
        new.rule = Some(rule.trim_start_matches("RRULE:").to_owned());
    }
    if let Some(minutes) = arguments.get("reminders").and_then(Value::as_array) {
        let minutes = minutes.iter().filter_map(Value::as_u64).filter_map(|one| u32::try_from(one).ok());
        new.reminders = minutes.collect();
    }
    set_times(&mut new, old, arguments, home)?;
    Ok(new)
}

fn set_times(new: &mut Occasion, old: &Occasion, arguments: &Value, home: Tz) -> Result<(), SkillError> {
    let all_day = arguments.get("all_day").and_then(Value::as_bool);
    let shaped = |when: When| -> Result<When, SkillError> {
        if all_day == Some(false) && matches!(when, When::Day(_)) {
            return Err(params("/start: an event that is not all day needs a time"));
        }
        Ok(if all_day == Some(true) { When::Day(when.local().date()) } else { when })
    };
    let said_start = moment(arguments, "start", home)?.map(shaped).transpose()?;
    let said_end = moment(arguments, "end", home)?.map(shaped).transpose()?;
    let lasted = old.end.local() - old.start.local();
    if let Some(start) = said_start {
        new.start = start;
    } else if all_day == Some(true) {
        new.start = When::Day(old.start.local().date());
    }
    let is_day = matches!(new.start, When::Day(_));
    new.end = match (said_end, text(arguments, "duration")) {
        (Some(_), Some(_)) => return Err(params("/duration: say either end or duration")),
        (Some(When::Day(last)), None) if is_day => {
            let after = last.succ_opt().ok_or_else(|| params("/end: that is too late"))?;
            When::Day(after)
        }
        (Some(end), None) => match (is_day, &end) {
            (false, When::Day(_)) => return Err(params("/end: start has a time, so end needs one too")),
            (true, _) => return Err(params("/end: start is a day, so end must be one too")),
            _ => end,
        },
        (None, Some(said)) => later(&new.start, duration(said)?),
        (None, None) if lasted > TimeDelta::zero() && is_day == matches!(old.start, When::Day(_)) => {
            later(&new.start, lasted)
        }
        (None, None) => later(&new.start, if is_day { TimeDelta::days(1) } else { TimeDelta::hours(1) }),
    };
    let lasts = new.end.instant(home) - new.start.instant(home);
    if lasts <= TimeDelta::zero() {
        return Err(params("/end: it would be over before it starts"));
    }
    if lasts > LONGEST {
        return Err(params("/end: an event may last a year at most"));
    }
    Ok(())
}

fn later(start: &When, by: TimeDelta) -> When {
    match start {
        When::Day(day) => When::Day(*day + TimeDelta::days(by.num_days().max(1))),
        When::Floating(local) => When::Floating(*local + by),
        When::Zoned(local, zone) => When::Zoned(*local + by, zone.clone()),
    }
}

/// A time as the skills give it: in the person's zone.
pub(super) fn iso(when: &When, home: Tz) -> String {
    match when {
        When::Day(day) => day.format("%Y-%m-%d").to_string(),
        when => local(when, home).format("%Y-%m-%dT%H:%M").to_string(),
    }
}

fn local(when: &When, home: Tz) -> NaiveDateTime {
    when.instant(home).with_timezone(&home).naive_local()
}

/// When something takes place, in words: `Fri 27 Nov 2026, 14:00–15:00`.
pub(super) fn spoken(start: &When, end: &When, home: Tz) -> String {
    if let (When::Day(first), When::Day(after)) = (start, end) {
        let last = after.pred_opt().unwrap_or(*after).max(*first);
        let day = |day: &chrono::NaiveDate| day.format("%a %-d %b %Y").to_string();
        return match last == *first {
            true => format!("{}, all day", day(first)),
            false => format!("{} to {}, all day", day(first), day(&last)),
        };
    }
    let (from, to) = (local(start, home), local(end, home));
    match from.date() == to.date() {
        true => format!("{}–{}", from.format("%a %-d %b %Y, %H:%M"), to.format("%H:%M")),
        false => format!("{} to {}", from.format("%a %-d %b %Y, %H:%M"), to.format("%a %-d %b %Y, %H:%M")),
    }
}

/// An event for what depends on it.
pub(super) fn item(occasion: &Occasion, calendar: &str, home: Tz) -> Value {
    let attendee = |one: &Attendee| {
        let answer = match one.answer {
            Answer::Open => "none yet",
            Answer::Accepted => "accepted",
            Answer::Declined => "declined",
            Answer::Tentative => "tentative",
        };
        json!({"email": one.address, "name": one.name, "answer": answer})
    };
    let mut item = json!({
        "id": occasion.uid, "title": occasion.title, "start": iso(&occasion.start, home),
        "end": iso(&occasion.end, home), "all_day": matches!(occasion.start, When::Day(_)),
    });
    let more = [
        ("location", json!(occasion.location)),
        ("notes", json!(occasion.notes)),
        ("attendees", occasion.attendees.iter().map(attendee).collect()),
        ("recurrence", json!(occasion.rule.clone().unwrap_or_default())),
        ("calendar", json!(calendar)),
        ("instance", json!(occasion.instance.as_ref().map(|at| iso(at, home)).unwrap_or_default())),
    ];
    for (name, value) in more {
        let is_empty = value == json!("") || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            item[name] = value;
        }
    }
    item
}

/// Everything about an event, a line each, for a person to approve.
pub(super) fn lines(occasion: &Occasion, home: Tz) -> String {
    let mut text =
        format!("- what: {}\n- when: {}", occasion.title, spoken(&occasion.start, &occasion.end, home));
    if !matches!(occasion.start, When::Day(_)) {
        text.push_str(&format!(" ({home})"));
    }
    let attendees: Vec<String> = occasion.attendees.iter().map(|one| one.address.clone()).collect();
    for (name, value) in [
        ("where", occasion.location.clone()),
        ("repeats", occasion.rule.clone().unwrap_or_default()),
        ("invited", attendees.join(", ")),
        ("notes", occasion.notes.clone()),
    ] {
        if !value.is_empty() {
            text.push_str(&format!("\n- {name}: {value}"));
        }
    }
    text
}
