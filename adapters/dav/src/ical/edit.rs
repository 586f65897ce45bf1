//! Changing and deleting a whole series, one instance, or one and all that follow.
//!
//! Each edit increments SEQUENCE. Lines it doesn't change stay as they were read.

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;

use super::event::{Attendee, CalendarEvent};
use super::expand::Effort;
use super::free_time::TimeRange;
use super::rule::{self, RecurrenceRule};
use super::series::{Series, mark_changed, start_and_length};
use super::time::{EventTime, Length};
use crate::content::{Line, Node};
use crate::{DavError, Result};

/// How many instances of a series with a COUNT are counted when it is split.
const MAX_COUNTED: usize = 100_000;

impl Series {
    /// Changes the whole series, or a single event. An event taken from an instance ([`Series::event_at`]) moves
    /// the series by as much as it moved that instance; exceptions and overrides move along.
    pub fn change_all(&mut self, new: &CalendarEvent, stamp: DateTime<Utc>) -> Result<()> {
        let master = self.master().ok_or_else(no_master)?;
        let old = CalendarEvent::read(master, &self.calendar)?;
        let mut new = CalendarEvent { uid: old.uid.clone(), ..new.clone() };
        if let Some(instance) = new.instance.take() {
            let length = Length::between(&new.start, &new.end)?;
            let base = old.start.at_instant(instance.instant(Tz::UTC), Tz::UTC).local();
            new.start = new.start.at(moved(old.start.local(), new.start.local() - base));
            new.end = length.after(&new.start);
        }
        if new.start != old.start {
            if new.rule == old.rule {
                new.rule =
                    old.rule.as_ref().map(|rule| moved_rule(rule, &old.start, &new.start)).transpose()?;
            }
            if new.except == old.except {
                new.except = old.except.iter().map(|when| shifted(when, &old.start, &new.start)).collect();
            }
        }
        new.check(Some(&old))?;
        if new.start != old.start {
            self.shift_instances(&old, &new)?;
        }
        let sequence = self.next_sequence();
        let master = self.master_mut()?;
        new.write(Some(&old), master);
        mark_changed(master, stamp, sequence);
        self.add_zones();
        Ok(())
    }

    /// Changes one instance; the event's rule and exceptions are ignored.
    pub fn change_one(
        &mut self,
        instance: &EventTime,
        new: &CalendarEvent,
        stamp: DateTime<Utc>,
    ) -> Result<()> {
        let id = self.instance(instance)?;
        let new = CalendarEvent {
            uid: self.uid(),
            rule: None,
            except: Vec::new(),
            instance: Some(id.clone()),
            ..new.clone()
        };
        new.check(Some(&self.event()?))?;
        let sequence = self.next_sequence();
        let calendar = self.calendar.clone();
        if let Some(vevent) = self.override_mut(&id, &calendar)? {
            let old = CalendarEvent::read(vevent, &calendar)?;
            new.write(Some(&old), vevent);
            mark_changed(vevent, stamp, sequence);
        } else {
            let mut vevent = self.master().ok_or_else(no_master)?.clone();
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                vevent.set(name, None);
            }
            let old = CalendarEvent::read(&vevent, &calendar)?;
            new.write(Some(&old), &mut vevent);
            vevent.set("RECURRENCE-ID", [id.line("RECURRENCE-ID")]);
            mark_changed(&mut vevent, stamp, sequence);
            self.calendar.nodes.push(Node::Component(vevent));
        }
        self.add_zones();
        Ok(())
    }

    /// Changes an instance and all that follow: this series ends before it, and the returned one continues under
    /// its own UID. `None` if no instance comes before: then this series itself was changed.
    pub fn change_following(
        &mut self,
        instance: &EventTime,
        new: &CalendarEvent,
        uid: &str,
        stamp: DateTime<Utc>,
    ) -> Result<Option<Self>> {
        let id = self.instance(instance)?;
        let mut head = self.clone();
        head.end_before(&id, stamp)?;
        if head.is_empty()? {
            return self.change_all(new, stamp).map(|()| None);
        }
        let rule = self.event()?.rule;
        let mut tail = self.clone();
        tail.begin_at(&id, uid)?;
        let adjusted = tail.event()?;
        let mut new = CalendarEvent { uid: uid.to_owned(), ..new.clone() };
        if new.rule == rule {
            new.rule.clone_from(&adjusted.rule);
        }
        new.except = adjusted.except;
        new.instance = Some(id);
        tail.change_all(&new, stamp)?;
        *self = head;
        Ok(Some(tail))
    }

    /// Removes one instance. Returns whether any is left; if not, delete the object instead.
    pub fn delete_one(&mut self, instance: &EventTime, stamp: DateTime<Utc>) -> Result<bool> {
        let id = self.instance(instance)?;
        let sequence = self.next_sequence();
        self.keep_overrides(|other| !other.is_same(&id))?;
        if let Ok(master) = self.master_mut() {
            master.add(id.line("EXDATE"));
            mark_changed(master, stamp, sequence);
        }
        Ok(!self.is_empty()?)
    }

    /// Removes an instance and all that follow. Returns whether any is left; if not, delete the object instead.
    pub fn delete_following(&mut self, instance: &EventTime, stamp: DateTime<Utc>) -> Result<bool> {
        let id = self.instance(instance)?;
        self.end_before(&id, stamp)?;
        Ok(!self.is_empty()?)
    }

    fn end_before(&mut self, id: &EventTime, stamp: DateTime<Utc>) -> Result<()> {
        let sequence = self.next_sequence();
        self.keep_overrides(|other| is_before(other, id))?;
        let calendar = self.calendar.clone();
        let Ok(master) = self.master_mut() else { return Ok(()) };
        let (start, _) = start_and_length(master, &calendar)?;
        let until = match id {
            EventTime::Day(day) => day.pred_opt().unwrap_or(*day).format("%Y%m%d").to_string(),
            EventTime::Floating(local) => {
                moved(*local, TimeDelta::seconds(-1)).format("%Y%m%dT%H%M%S").to_string()
            }
            EventTime::Zoned(..) => {
                let last = moved(id.instant(Tz::UTC).naive_utc(), TimeDelta::seconds(-1));
                last.format("%Y%m%dT%H%M%SZ").to_string()
            }
        };
        let rules: Vec<Line> = master
            .lines("RRULE")
            .map(|line| {
                let rule = line.read().value;
                let kept = rule.split(';').filter(|part| {
                    let name = part.split('=').next().unwrap_or(part).trim().to_ascii_uppercase();
                    name != "COUNT" && name != "UNTIL"
                });
                let kept: Vec<&str> = kept.collect();
                Line::new("RRULE", &[], &format!("{};UNTIL={until}", kept.join(";")))
            })
            .collect();
        master.set("RRULE", rules);
        for name in ["RDATE", "EXDATE"] {
            let all = EventTime::read_each(master, name, &calendar)?;
            if all.iter().any(|when| !is_before(when, id)) {
                let kept = all.iter().filter(|when| is_before(when, id));
                master.set(name, kept.map(|when| when.line(name)).collect::<Vec<_>>());
            }
        }
        if !is_before(&start, id) {
            // The start is always the first instance, whatever the rule says.
            master.add(start.line("EXDATE"));
        }
        mark_changed(master, stamp, sequence);
        Ok(())
    }

    /// Makes the series begin at an instance, under another UID.
    fn begin_at(&mut self, id: &EventTime, uid: &str) -> Result<()> {
        self.keep_overrides(|other| !is_before(other, id))?;
        let calendar = self.calendar.clone();
        for vevent in self.vevents_mut() {
            vevent.set("UID", [Line::new("UID", &[], &crate::content::escaped(uid))]);
            vevent.set("SEQUENCE", None);
        }
        let master = self.master_mut()?;
        let (start, length) = start_and_length(master, &calendar)?;
        let old = CalendarEvent::read(master, &calendar)?;
        let mut new = CalendarEvent { start: id.clone(), end: length.after(id), ..old.clone() };
        new.except.retain(|when| !is_before(when, id));
        if let Some(text) = &old.rule
            && let Some(count) = RecurrenceRule::read(text)?.count
        {
            let before = (start.local(), moved(id.local(), TimeDelta::seconds(-1)));
            let passed = RecurrenceRule::read(text)?
                .expand(start.local(), None, before, Effort::of(MAX_COUNTED))
                .starts
                .len();
            let left = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(passed).max(1);
            let parts = text.split(';').map(|part| {
                let is_count = part.trim().to_ascii_uppercase().starts_with("COUNT=");
                if is_count { format!("COUNT={left}") } else { part.to_owned() }
            });
            new.rule = Some(parts.collect::<Vec<_>>().join(";"));
        }
        new.write(Some(&old), master);
        let added = EventTime::read_each(master, "RDATE", &calendar)?;
        if added.iter().any(|when| is_before(when, id)) {
            let kept = added.iter().filter(|when| !is_before(when, id));
            master.set("RDATE", kept.map(|when| when.line("RDATE")).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Moves added dates and overrides along with the series.
    fn shift_instances(&mut self, old: &CalendarEvent, new: &CalendarEvent) -> Result<()> {
        let calendar = self.calendar.clone();
        let length = Length::between(&new.start, &new.end)?;
        for vevent in self.vevents_mut() {
            let added = EventTime::read_each(vevent, "RDATE", &calendar)?;
            if !added.is_empty() {
                let lines = added.iter().map(|when| shifted(when, &old.start, &new.start).line("RDATE"));
                vevent.set("RDATE", lines.collect::<Vec<_>>());
            }
            let Some(id) = EventTime::read(vevent, "RECURRENCE-ID", &calendar)? else { continue };
            let to = shifted(&id, &old.start, &new.start);
            let (start, _) = start_and_length(vevent, &calendar)?;
            if start.is_same(&id) {
                vevent.set("DURATION", None);
                vevent.set("DTSTART", [to.line("DTSTART")]);
                vevent.set("DTEND", [length.after(&to).line("DTEND")]);
            }
            vevent.set("RECURRENCE-ID", [to.line("RECURRENCE-ID")]);
        }
        Ok(())
    }

    /// Makes it what comes after another version: with the answers of that one's attendees, and numbered as such, as servers
    /// and guests ignore what is older.
    pub fn follow(&mut self, other: &Self, stamp: DateTime<Utc>) {
        let Ok(master) = self.master_mut() else { return };
        let address = |line: &Line| Attendee::read(line).address.to_lowercase();
        let theirs = other.master().into_iter().flat_map(|master| master.lines("ATTENDEE"));
        let theirs: Vec<(String, &Line)> = theirs.map(|line| (address(line), line)).collect();
        let answered = |line: &Line| {
            let whose = address(line);
            theirs.iter().find(|(address, _)| *address == whose).map_or(line, |(_, now)| *now).clone()
        };
        let attendees: Vec<Line> = master.lines("ATTENDEE").map(answered).collect();
        master.set("ATTENDEE", attendees);
        mark_changed(master, stamp, other.next_sequence());
    }

    fn next_sequence(&self) -> u32 {
        let sequences =
            self.vevents().map(|vevent| vevent.text("SEQUENCE").trim().parse::<u32>().unwrap_or(0));
        sequences.max().unwrap_or(0).saturating_add(1)
    }

    /// Whether no instance is left.
    fn is_empty(&self) -> Result<bool> {
        let moment = |year| NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or_default().and_hms_opt(0, 0, 0);
        let moment = |year| moment(year).unwrap_or_default().and_utc();
        let most = 2 + self.event()?.except.len();
        let found = self.occurrences(TimeRange { from: moment(1), to: moment(9_999) }, Tz::UTC, most)?;
        Ok(found.occurrences.is_empty() && !found.is_truncated)
    }
}

pub(super) fn no_master() -> DavError {
    DavError::params("this object holds only single instances, not the whole series")
}

fn is_before(when: &EventTime, id: &EventTime) -> bool {
    match (when, id) {
        (EventTime::Zoned(..), EventTime::Zoned(..)) => when.instant(Tz::UTC) < id.instant(Tz::UTC),
        _ => when.local() < id.local(),
    }
}

fn moved(local: chrono::NaiveDateTime, by: TimeDelta) -> chrono::NaiveDateTime {
    local.checked_add_signed(by).unwrap_or(local)
}

/// The time of an instance after the series' start has moved.
fn shifted(when: &EventTime, old: &EventTime, new: &EventTime) -> EventTime {
    let by = new.local() - old.local();
    match (when, old) {
        (EventTime::Day(day), EventTime::Floating(_) | EventTime::Zoned(..)) => {
            let days = new.local().date() - old.local().date();
            EventTime::Day(day.checked_add_signed(days).unwrap_or(*day))
        }
        (EventTime::Zoned(..), EventTime::Zoned(..)) => {
            new.at(moved(old.at_instant(when.instant(Tz::UTC), Tz::UTC).local(), by))
        }
        _ => new.at(moved(when.local(), by)),
    }
}

/// The rule after the series' start has moved: the day it names moves along.
fn moved_rule(rule: &str, old: &EventTime, new: &EventTime) -> Result<String> {
    let (from, to) = (old.local().date(), new.local().date());
    let weekday = |day: NaiveDate| rule::code(day.weekday()).to_owned();
    let part = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = name.trim().to_ascii_uppercase();
        let (was, is) = match name.as_str() {
            "BYDAY" => (weekday(from), weekday(to)),
            "BYMONTHDAY" => (from.day().to_string(), to.day().to_string()),
            "BYMONTH" => (from.month().to_string(), to.month().to_string()),
            "UNTIL" => return Ok(moved_until(value, old, new)),
            _ => return Ok(part.to_owned()),
        };
        if was == is {
            Ok(part.to_owned())
        } else if value.eq_ignore_ascii_case(&was) {
            Ok(format!("{name}={is}"))
        } else {
            Err(DavError::params(format!(
                "the new start is on another day, but the series repeats by {part}: give a new rule, too"
            )))
        }
    };
    let parts: Result<Vec<String>> = rule.split(';').map(part).collect();
    Ok(parts?.join(";"))
}

/// The UNTIL of a rule, moved along.
fn moved_until(value: &str, old: &EventTime, new: &EventTime) -> String {
    let text = value.trim().to_ascii_uppercase();
    let (text, zulu) = text.strip_suffix('Z').map_or((text.as_str(), ""), |text| (text, "Z"));
    if let Some(day) = rule::date(text) {
        let days = new.local().date() - old.local().date();
        return format!("UNTIL={}", day.checked_add_signed(days).unwrap_or(day).format("%Y%m%d"));
    }
    match rule::date_time(text) {
        Some(at) => format!("UNTIL={}{zulu}", moved(at, new.local() - old.local()).format("%Y%m%dT%H%M%S")),
        None => format!("UNTIL={value}"),
    }
}
