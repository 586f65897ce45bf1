//! The occurrences of a series in a time range: rule, added dates, exceptions and overrides.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;

use super::event::CalendarEvent;
use super::expand::Effort;
use super::free_time::TimeRange;
use super::rule::{RecurrenceRule, Until};
use super::series::{Series, is_override, start_and_length, zone_of};
use super::time::{EventTime, Length};
use crate::content::Component;
use crate::{DavError, Result};

/// How many starts outside the range are expanded because of clock changes: every second of three hours on either
/// side.
const MAX_AROUND: usize = 2 * 3 * 3_600;

/// An event of at most this many seconds ends before the next clock change, if there is none within a day of its
/// start: a day less the largest UTC offset.
const SHORT: i64 = 8 * 3_600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub start: EventTime,
    pub end: EventTime,
    /// The same in UTC.
    pub range: TimeRange,
    /// For a recurring series, its start according to the rule, by which the edits identify it.
    pub instance: Option<EventTime>,
    pub is_busy: bool,
    /// Which of the series' components describes it.
    template: usize,
}

/// The occurrences in a time range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// In order.
    pub occurrences: Vec<Occurrence>,
    /// There may be more: the limit was reached, or the rule takes too many steps.
    pub is_truncated: bool,
    pub steps: u32,
}

/// The starts of a series, regardless of overrides.
pub(crate) struct Generated {
    /// In order.
    pub(crate) starts: Vec<Start>,
    pub(crate) is_truncated: bool,
    pub(crate) steps: u32,
}

pub(crate) struct Start {
    when: EventTime,
    at: DateTime<Utc>,
    /// The zone's offset doesn't change within a day of it.
    is_steady: bool,
}

impl Start {
    fn of(when: EventTime, home: Tz) -> Self {
        if let EventTime::Zoned(local, zone) = &when {
            let (at, is_steady) = zone.steady_instant(*local);
            return Self { when, at, is_steady };
        }
        Self { at: when.instant(home), when, is_steady: false }
    }
}

/// What the expansion needs of a `VEVENT`; an override names the instance it replaces.
struct Template {
    index: usize,
    start: EventTime,
    length: Length,
    instance: Option<EventTime>,
    is_cancelled: bool,
    is_busy: bool,
    is_following: bool,
}

impl Series {
    /// The occurrences in a range, at most `limit`, without cancelled ones. Times without a zone are in `home`.
    pub fn occurrences(&self, window: TimeRange, home: Tz, limit: usize) -> Result<Expansion> {
        self.occurrences_within(window, home, Effort::of(limit))
    }

    /// The same with at most this effort.
    pub fn occurrences_within(&self, window: TimeRange, home: Tz, most: Effort) -> Result<Expansion> {
        let mut found = Expansion::default();
        let templates = self.templates()?;
        let instant = |when: &EventTime| when.instant(home);
        let overrides: BTreeMap<DateTime<Utc>, &Template> = templates
            .iter()
            .filter_map(|template| Some((instant(template.instance.as_ref()?), template)))
            .collect();
        let mut following = overrides.clone();
        following.retain(|_, template| template.is_following);
        if let (Some(master), Some(component)) =
            (templates.iter().find(|template| template.instance.is_none()), self.master())
        {
            let longest = templates
                .iter()
                .map(|template| template.length.days + (template.length.seconds + 86_399) / 86_400)
                .max();
            let moved = following.values().map(|template| {
                template
                    .instance
                    .as_ref()
                    .map_or(0, |id| (template.start.local() - id.local()).num_days().abs())
            });
            // Plus the largest clock change at the edge of the range.
            let slack =
                TimeDelta::days(longest.unwrap_or(0) + moved.max().unwrap_or(0)) + TimeDelta::hours(3);
            let zone = zone_of(&master.start, home);
            let near = |at: DateTime<Utc>, slack| {
                at.checked_add_signed(slack).map_or(zone.local(at), |at| zone.local(at))
            };
            let local = (near(window.from, -slack), near(window.to, slack));
            let around = Effort { instances: most.instances.saturating_add(MAX_AROUND), ..most };
            let generated = self.generated(component, local, home, around)?;
            (found.is_truncated, found.steps) = (generated.is_truncated, generated.steps);
            let is_single = component.lines("RRULE").chain(component.lines("RDATE")).next().is_none();
            for start in generated.starts {
                if overrides.contains_key(&start.at) {
                    continue;
                }
                let follows = following.range(..start.at).next_back();
                let by = follows.map_or(master, |(_, template)| *template);
                let id = (!is_single).then(|| start.when.clone());
                let start = match &by.instance {
                    Some(from) => {
                        let moved = start.when.local() + (by.start.local() - from.local());
                        Start::of(by.start.at(moved), home)
                    }
                    None => start,
                };
                found.occurrences.extend(by.occurrence(start, id, window, home));
            }
        }
        for template in overrides.values() {
            let start = Start::of(template.start.clone(), home);
            let occurrence = template.occurrence(start, template.instance.clone(), window, home);
            found.occurrences.extend(occurrence);
        }
        found.occurrences.sort_by_key(|occurrence| occurrence.range.from);
        found.is_truncated |= found.occurrences.len() > most.instances;
        found.occurrences.truncate(most.instances);
        Ok(found)
    }

    /// The event of an occurrence: with its own times and, for an override, its own content.
    pub fn event_at(&self, occurrence: &Occurrence) -> Result<CalendarEvent> {
        self.event_of(occurrence.template).map(|event| occurrence.fill(event))
    }

    /// The events of many occurrences; each `VEVENT` is read once.
    pub fn events_at(&self, occurrences: &[Occurrence]) -> Result<Vec<CalendarEvent>> {
        let mut read: BTreeMap<usize, CalendarEvent> = BTreeMap::new();
        let event = |occurrence: &Occurrence| {
            let event = match read.entry(occurrence.template) {
                Entry::Occupied(there) => there.get().clone(),
                Entry::Vacant(place) => place.insert(self.event_of(occurrence.template)?).clone(),
            };
            Ok(occurrence.fill(event))
        };
        occurrences.iter().map(event).collect()
    }

    fn event_of(&self, template: usize) -> Result<CalendarEvent> {
        let vevent = self.vevents().nth(template);
        let vevent = vevent.ok_or_else(|| DavError::params("the occurrence belongs to another series"))?;
        let mut event = CalendarEvent::read(vevent, &self.calendar)?;
        if is_override(vevent)
            && let Some(master) = self.master()
        {
            // An override recurs like its series.
            event.rule = master.get("RRULE").map(|rule| rule.value);
            event.except = EventTime::read_each(master, "EXDATE", &self.calendar)?;
        }
        Ok(event)
    }

    fn templates(&self) -> Result<Vec<Template>> {
        let template = |(index, vevent): (usize, &Component)| {
            let (start, length) = start_and_length(vevent, &self.calendar)?;
            let id = vevent.get("RECURRENCE-ID");
            Ok(Template {
                index,
                start,
                length,
                instance: EventTime::read(vevent, "RECURRENCE-ID", &self.calendar)?,
                is_cancelled: vevent.text("STATUS").eq_ignore_ascii_case("CANCELLED"),
                is_busy: !vevent.text("TRANSP").eq_ignore_ascii_case("TRANSPARENT"),
                is_following: id.is_some_and(|id| {
                    id.param("RANGE").is_some_and(|range| range.eq_ignore_ascii_case("THISANDFUTURE"))
                }),
            })
        };
        self.vevents().enumerate().map(template).collect()
    }

    /// The starts by rule and by added date within a local time range, without exceptions.
    pub(crate) fn generated(
        &self,
        master: &Component,
        window: (NaiveDateTime, NaiveDateTime),
        home: Tz,
        most: Effort,
    ) -> Result<Generated> {
        let (start, _) = start_and_length(master, &self.calendar)?;
        let (mut locals, mut is_truncated, mut steps) = (Vec::new(), false, 0_u32);
        for line in master.lines("RRULE") {
            let rule = RecurrenceRule::read(&line.read().value)?;
            let until = rule.until.map(|until| match until {
                Until::Day(day) => day.and_time(NaiveTime::MIN) + TimeDelta::seconds(86_399),
                Until::Local(until) => until,
                Until::Utc(until) => match &start {
                    EventTime::Day(_) => until.date().and_time(NaiveTime::MIN),
                    other => zone_of(other, home).local(until.and_utc()),
                },
            });
            let left = Effort { steps: most.steps.saturating_sub(steps), ..most };
            let found = rule.expand(start.local(), until, window, left);
            is_truncated |= found.is_truncated;
            steps = steps.saturating_add(found.steps);
            locals.extend(found.starts);
        }
        let is_in_window = |local: &NaiveDateTime| (window.0..=window.1).contains(local);
        locals.extend(Some(start.local()).filter(is_in_window));
        let mut starts: Vec<EventTime> = locals.into_iter().map(|local| start.at(local)).collect();
        for added in EventTime::read_each(master, "RDATE", &self.calendar)? {
            let added = match (&start, &added) {
                (EventTime::Zoned(..), EventTime::Zoned(..)) => start.at_instant(added.instant(home), home),
                _ => start.at(added.local()),
            };
            starts.extend(Some(added).filter(|added| is_in_window(&added.local())));
        }
        let except = EventTime::read_each(master, "EXDATE", &self.calendar)?;
        let moments: HashSet<DateTime<Utc>> = except.iter().map(|when| when.instant(home)).collect();
        let days: HashSet<NaiveDate> = except
            .iter()
            .filter_map(|when| if let EventTime::Day(day) = when { Some(*day) } else { None })
            .collect();
        let mut starts: Vec<Start> = starts.into_iter().map(|when| Start::of(when, home)).collect();
        let is_left =
            |start: &Start| !days.contains(&start.when.local().date()) && !moments.contains(&start.at);
        starts.retain(|start| (moments.is_empty() && days.is_empty()) || is_left(start));
        starts.sort_by_key(|start| start.at);
        starts.dedup_by_key(|start| start.at);
        Ok(Generated { starts, is_truncated, steps })
    }

    /// The start of an instance, in the series' own zone and form.
    pub(crate) fn instance(&self, at: &EventTime) -> Result<EventTime> {
        let unknown = || DavError::not_found("the series has no instance at this time");
        if let Some(master) = self.master() {
            let (start, _) = start_and_length(master, &self.calendar)?;
            let local = start.at_instant(at.instant(Tz::UTC), Tz::UTC).local();
            let near = (local - TimeDelta::days(1), local + TimeDelta::days(1));
            let generated = self.generated(master, near, Tz::UTC, Effort::of(100_000))?;
            if let Some(found) =
                generated.starts.into_iter().map(|start| start.when).find(|start| start.is_same(at))
            {
                return Ok(found);
            }
        }
        for vevent in self.vevents().filter(|vevent| is_override(vevent)) {
            if let Some(id) =
                EventTime::read(vevent, "RECURRENCE-ID", &self.calendar)?.filter(|id| id.is_same(at))
            {
                return Ok(id);
            }
        }
        Err(unknown())
    }
}

impl Occurrence {
    fn fill(&self, event: CalendarEvent) -> CalendarEvent {
        let (start, end, instance) = (self.start.clone(), self.end.clone(), self.instance.clone());
        CalendarEvent { start, end, instance, ..event }
    }
}

impl Template {
    /// The occurrence at this start, unless it is cancelled or outside of the range.
    fn occurrence(
        &self,
        start: Start,
        instance: Option<EventTime>,
        window: TimeRange,
        home: Tz,
    ) -> Option<Occurrence> {
        let Start { when, at, is_steady } = start;
        let range = TimeRange { from: at, to: self.length.ends(&when, at, home) };
        let touches = range.from < window.to && (range.to > window.from || range.from >= window.from);
        if !touches || self.is_cancelled {
            return None;
        }
        let (start, end) = if is_steady && self.length.days == 0 && self.length.seconds <= SHORT {
            let end = when.at(when.local() + TimeDelta::seconds(self.length.seconds));
            (when, end)
        } else {
            // A skipped local time becomes the time that the clock shows then.
            (when.at_instant(at, home), when.at_instant(range.to, home))
        };
        Some(Occurrence { start, end, range, instance, is_busy: self.is_busy, template: self.index })
    }
}
