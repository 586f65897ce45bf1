//! Changing and deleting: all of a series, one instance, one and those that follow.
//!
//! Each edit counts SEQUENCE up and takes the time of the edit from the caller. What it does not change
//! stays as it was read.

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::Fault;
use crate::content::{Line, Node};
use crate::event::Occasion;
use crate::free::Span;
use crate::rule::{self, Rule};
use crate::series::{Series, shape, stamped};
use crate::when::{Length, When};

/// How many instances a limited series may have for it to be split.
const MOST_COUNTED: usize = 100_000;

impl Series {
    /// Changes the whole series, or what does not recur. An occasion taken from an instance
    /// ([`Series::occasion_at`]) moves the series by as much as it moved the instance. When the time moves,
    /// the instances that are left out or differ move with it.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when the occasion makes no sense, or the day moves and it is not plain how a
    /// rule that names days follows; [`crate::Kind::Tool`] when the text can't be read.
    pub fn change_all(&mut self, new: &Occasion, stamp: DateTime<Utc>) -> Result<(), Fault> {
        let main = self.main().ok_or_else(only_instances)?;
        let old = Occasion::read(main, &self.calendar)?;
        let mut new = Occasion { uid: old.uid.clone(), ..new.clone() };
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
        let main = self.main_mut()?;
        new.write(Some(&old), main);
        stamped(main, stamp, sequence);
        self.describe_zones();
        Ok(())
    }

    /// Changes one instance. The occasion's rule and what it leaves out are passed over.
    ///
    /// # Errors
    /// [`crate::Kind::NotFound`] when there is no such instance, else as [`Series::change_all`].
    pub fn change_one(&mut self, instance: &When, new: &Occasion, stamp: DateTime<Utc>) -> Result<(), Fault> {
        let id = self.instance(instance)?;
        let new = Occasion {
            uid: self.uid(),
            rule: None,
            except: Vec::new(),
            instance: Some(id.clone()),
            ..new.clone()
        };
        new.check(Some(&self.occasion()?))?;
        let sequence = self.next_sequence();
        let calendar = self.calendar.clone();
        if let Some(event) = self.override_mut(&id)? {
            let old = Occasion::read(event, &calendar)?;
            new.write(Some(&old), event);
            stamped(event, stamp, sequence);
        } else {
            let mut event = self.main().ok_or_else(only_instances)?.clone();
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                event.set(name, None);
            }
            let old = Occasion::read(&event, &calendar)?;
            new.write(Some(&old), &mut event);
            event.set("RECURRENCE-ID", [id.line("RECURRENCE-ID")]);
            stamped(&mut event, stamp, sequence);
            self.calendar.nodes.push(Node::Part(event));
        }
        self.describe_zones();
        Ok(())
    }

    /// Changes an instance and all that follow: this series ends before it, and the one returned, under a
    /// UID of its own, goes on. None when nothing is before the instance: then this series was changed.
    ///
    /// # Errors
    /// As [`Series::change_one`].
    pub fn change_following(
        &mut self,
        instance: &When,
        new: &Occasion,
        uid: &str,
        stamp: DateTime<Utc>,
    ) -> Result<Option<Self>, Fault> {
        let id = self.instance(instance)?;
        let mut head = self.clone();
        head.end_before(&id, stamp)?;
        if head.is_empty()? {
            return self.change_all(new, stamp).map(|()| None);
        }
        let rule = self.occasion()?.rule;
        let mut tail = self.clone();
        tail.begin_at(&id, uid)?;
        let adjusted = tail.occasion()?;
        let mut new = Occasion { uid: uid.to_owned(), ..new.clone() };
        if new.rule == rule {
            new.rule.clone_from(&adjusted.rule);
        }
        new.except = adjusted.except;
        new.instance = Some(id);
        tail.change_all(&new, stamp)?;
        *self = head;
        Ok(Some(tail))
    }

    /// Takes one instance out. Whether anything is left: if not, delete the object instead.
    ///
    /// # Errors
    /// [`crate::Kind::NotFound`] when there is no such instance, [`crate::Kind::Tool`] when the text can't be
    /// read.
    pub fn delete_one(&mut self, instance: &When, stamp: DateTime<Utc>) -> Result<bool, Fault> {
        let id = self.instance(instance)?;
        let sequence = self.next_sequence();
        self.keep_overrides(|other| !other.is_same(&id))?;
        if let Ok(main) = self.main_mut() {
            main.add(id.line("EXDATE"));
            stamped(main, stamp, sequence);
        }
        Ok(!self.is_empty()?)
    }

    /// Takes an instance and all that follow out. Whether anything is left: if not, delete the object
    /// instead.
    ///
    /// # Errors
    /// As [`Series::delete_one`].
    pub fn delete_following(&mut self, instance: &When, stamp: DateTime<Utc>) -> Result<bool, Fault> {
        let id = self.instance(instance)?;
        self.end_before(&id, stamp)?;
        Ok(!self.is_empty()?)
    }

    /// Ends the series before an instance.
    fn end_before(&mut self, id: &When, stamp: DateTime<Utc>) -> Result<(), Fault> {
        let sequence = self.next_sequence();
        self.keep_overrides(|other| is_before(other, id))?;
        let calendar = self.calendar.clone();
        let Ok(main) = self.main_mut() else { return Ok(()) };
        let (start, _) = shape(main, &calendar)?;
        let until = match id {
            When::Day(day) => day.pred_opt().unwrap_or(*day).format("%Y%m%d").to_string(),
            When::Floating(local) => {
                moved(*local, TimeDelta::seconds(-1)).format("%Y%m%dT%H%M%S").to_string()
            }
            When::Zoned(..) => {
                let last = moved(id.instant(Tz::UTC).naive_utc(), TimeDelta::seconds(-1));
                last.format("%Y%m%dT%H%M%SZ").to_string()
            }
        };
        let rules: Vec<Line> = main
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
        main.set("RRULE", rules);
        for name in ["RDATE", "EXDATE"] {
            let all = When::read_each(main, name, &calendar)?;
            if all.iter().any(|when| !is_before(when, id)) {
                let kept = all.iter().filter(|when| is_before(when, id));
                main.set(name, kept.map(|when| when.line(name)).collect::<Vec<_>>());
            }
        }
        if !is_before(&start, id) {
            // The start is the first instance whatever the rule says.
            main.add(start.line("EXDATE"));
        }
        stamped(main, stamp, sequence);
        Ok(())
    }

    /// Makes the series one that begins at an instance, under another UID.
    fn begin_at(&mut self, id: &When, uid: &str) -> Result<(), Fault> {
        self.keep_overrides(|other| !is_before(other, id))?;
        let calendar = self.calendar.clone();
        for node in &mut self.calendar.nodes {
            if let Node::Part(event) = node
                && event.is("VEVENT")
            {
                event.set("UID", [Line::new("UID", &[], &crate::content::escaped(uid))]);
                event.set("SEQUENCE", None);
            }
        }
        let main = self.main_mut()?;
        let (start, length) = shape(main, &calendar)?;
        let old = Occasion::read(main, &calendar)?;
        let mut new = Occasion { start: id.clone(), end: length.after(id), ..old.clone() };
        new.except.retain(|when| !is_before(when, id));
        if let Some(text) = &old.rule
            && let Some(count) = Rule::read(text)?.count
        {
            let before = (start.local(), moved(id.local(), TimeDelta::seconds(-1)));
            let passed = Rule::read(text)?.expand(start.local(), None, before, MOST_COUNTED).starts.len();
            let left = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(passed).max(1);
            let parts = text.split(';').map(|part| {
                let is_count = part.trim().to_ascii_uppercase().starts_with("COUNT=");
                if is_count { format!("COUNT={left}") } else { part.to_owned() }
            });
            new.rule = Some(parts.collect::<Vec<_>>().join(";"));
        }
        new.write(Some(&old), main);
        let added = When::read_each(main, "RDATE", &calendar)?;
        if added.iter().any(|when| is_before(when, id)) {
            let kept = added.iter().filter(|when| !is_before(when, id));
            main.set("RDATE", kept.map(|when| when.line("RDATE")).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Moves the added dates and the instances that differ with the series.
    fn shift_instances(&mut self, old: &Occasion, new: &Occasion) -> Result<(), Fault> {
        let calendar = self.calendar.clone();
        let length = Length::between(&new.start, &new.end)?;
        for node in &mut self.calendar.nodes {
            let Node::Part(event) = node else { continue };
            let added = When::read_each(event, "RDATE", &calendar)?;
            if event.is("VEVENT") && !added.is_empty() {
                let lines = added.iter().map(|when| shifted(when, &old.start, &new.start).line("RDATE"));
                event.set("RDATE", lines.collect::<Vec<_>>());
            }
            let Some(id) = When::read(event, "RECURRENCE-ID", &calendar)?.filter(|_| event.is("VEVENT"))
            else {
                continue;
            };
            let to = shifted(&id, &old.start, &new.start);
            let (start, _) = shape(event, &calendar)?;
            if start.is_same(&id) {
                event.set("DURATION", None);
                event.set("DTSTART", [to.line("DTSTART")]);
                event.set("DTEND", [length.after(&to).line("DTEND")]);
            }
            event.set("RECURRENCE-ID", [to.line("RECURRENCE-ID")]);
        }
        Ok(())
    }

    fn next_sequence(&self) -> u32 {
        let sequences = self.events().map(|event| event.text("SEQUENCE").trim().parse::<u32>().unwrap_or(0));
        sequences.max().unwrap_or(0).saturating_add(1)
    }

    /// Whether no instance is left.
    fn is_empty(&self) -> Result<bool, Fault> {
        let moment = |year| NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or_default().and_hms_opt(0, 0, 0);
        let moment = |year| moment(year).unwrap_or_default().and_utc();
        let most = 2 + self.occasion()?.except.len();
        let found = self.occurrences(Span { from: moment(1), to: moment(9_999) }, Tz::UTC, most)?;
        Ok(found.occurrences.is_empty() && !found.is_cut)
    }
}

fn only_instances() -> Fault {
    Fault::params("only single instances are known here, not the whole series")
}

fn is_before(when: &When, id: &When) -> bool {
    match (when, id) {
        (When::Zoned(..), When::Zoned(..)) => when.instant(Tz::UTC) < id.instant(Tz::UTC),
        _ => when.local() < id.local(),
    }
}

fn moved(local: chrono::NaiveDateTime, by: TimeDelta) -> chrono::NaiveDateTime {
    local.checked_add_signed(by).unwrap_or(local)
}

/// Where an instance of a series is when the series' start moves.
fn shifted(when: &When, old: &When, new: &When) -> When {
    let by = new.local() - old.local();
    match (when, old) {
        (When::Day(day), When::Floating(_) | When::Zoned(..)) => {
            let days = new.local().date() - old.local().date();
            When::Day(day.checked_add_signed(days).unwrap_or(*day))
        }
        (When::Zoned(..), When::Zoned(..)) => {
            new.at(moved(old.at_instant(when.instant(Tz::UTC), Tz::UTC).local(), by))
        }
        _ => new.at(moved(when.local(), by)),
    }
}

/// The rule when the series' start moves: the day it names moves with it.
fn moved_rule(rule: &str, old: &When, new: &When) -> Result<String, Fault> {
    let (from, to) = (old.local().date(), new.local().date());
    let weekday =
        |day: NaiveDate| day.weekday().to_string().to_uppercase().chars().take(2).collect::<String>();
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
            Err(Fault::params(format!(
                "the day moves, but the series recurs by {part}: say the new rule too"
            )))
        }
    };
    let parts: Result<Vec<String>, Fault> = rule.split(';').map(part).collect();
    Ok(parts?.join(";"))
}

/// The end of a rule, moved along.
fn moved_until(value: &str, old: &When, new: &When) -> String {
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
