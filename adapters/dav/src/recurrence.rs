//! The instances of a series in a window of time: the rule, what is left out, what is added, what differs.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::Fault;
use crate::content::Component;
use crate::event::Occasion;
use crate::free::Span;
use crate::rule::{Rule, Until};
use crate::series::{Series, is_override, shape, zone_of};
use crate::when::{Length, When};

/// How many starts there may be before a window within the reach of a change of the clock: each second of
/// three hours, on either side.
const MOST_AROUND: usize = 2 * 3 * 3_600;

/// How long, in seconds, what starts where the clock is steady for a day may last to end there, too: a day
/// less the farthest offset.
const SHORT: i64 = 8 * 3_600;

/// One time that a series takes place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// When it starts.
    pub start: When,
    /// When it is over.
    pub end: When,
    /// The same as moments.
    pub span: Span,
    /// Of a recurring series: when it would start by the rule, which is what the edits call it by.
    pub instance: Option<When>,
    /// Whether it takes up the time.
    pub is_busy: bool,
    /// Which of the series' components describes it.
    part: usize,
}

/// What takes place in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// By time.
    pub occurrences: Vec<Occurrence>,
    /// There may be more: the rule is dense, or asks for too many steps.
    pub is_cut: bool,
}

/// The starts of a series, before the instances that differ are considered.
pub(crate) struct Generated {
    /// In order.
    pub(crate) starts: Vec<Start>,
    pub(crate) is_cut: bool,
}

/// A start with its moment.
pub(crate) struct Start {
    when: When,
    at: DateTime<Utc>,
    /// The zone's clock does not change within a day of it.
    is_steady: bool,
}

impl Start {
    fn of(when: When, home: Tz) -> Self {
        if let When::Zoned(local, zone) = &when {
            let (at, is_steady) = zone.steady_instant(*local);
            return Self { when, at, is_steady };
        }
        Self { at: when.instant(home), when, is_steady: false }
    }
}

/// A component's place, start, length, and for an override the instance it stands for.
struct Part {
    index: usize,
    start: When,
    length: Length,
    instance: Option<When>,
    is_cancelled: bool,
    is_busy: bool,
    is_following: bool,
}

impl Series {
    /// What takes place in a window, at most `most`. Times without a zone are taken to be at home.
    /// What is cancelled does not take place.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when the text can't be read, [`crate::Kind::Params`] when its rule or zone makes
    /// no sense.
    pub fn occurrences(&self, window: Span, home: Tz, most: usize) -> Result<Expansion, Fault> {
        let mut found = Expansion::default();
        let parts = self.parts_of_series()?;
        let instant = |when: &When| when.instant(home);
        let overrides: BTreeMap<DateTime<Utc>, &Part> =
            parts.iter().filter_map(|part| Some((instant(part.instance.as_ref()?), part))).collect();
        if let (Some(main), Some(component)) =
            (parts.iter().find(|part| part.instance.is_none()), self.main())
        {
            let longest =
                parts.iter().map(|part| part.length.days + (part.length.seconds + 86_399) / 86_400).max();
            let moved = overrides.values().filter(|part| part.is_following).map(|part| {
                part.instance.as_ref().map_or(0, |id| (part.start.local() - id.local()).num_days().abs())
            });
            // A change of the clock near the window's edge, too.
            let slack =
                TimeDelta::days(longest.unwrap_or(0) + moved.max().unwrap_or(0)) + TimeDelta::hours(3);
            let zone = zone_of(&main.start, home);
            let near = |at: DateTime<Utc>, slack| {
                at.checked_add_signed(slack).map_or(zone.local(at), |at| zone.local(at))
            };
            let local = (near(window.from, -slack), near(window.to, slack));
            let generated = self.generated(component, local, home, most.saturating_add(MOST_AROUND))?;
            found.is_cut = generated.is_cut;
            let is_single = component.lines("RRULE").chain(component.lines("RDATE")).next().is_none();
            for start in generated.starts {
                if overrides.contains_key(&start.at) {
                    continue;
                }
                let follows =
                    overrides.range(..start.at).rev().map(|(_, part)| *part).find(|part| part.is_following);
                let by = follows.unwrap_or(main);
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
        for part in overrides.values() {
            let start = Start::of(part.start.clone(), home);
            let occurrence = part.occurrence(start, part.instance.clone(), window, home);
            found.occurrences.extend(occurrence);
        }
        found.occurrences.sort_by_key(|occurrence| occurrence.span.from);
        found.is_cut |= found.occurrences.len() > most;
        found.occurrences.truncate(most);
        Ok(found)
    }

    /// The occasion as it is at an occurrence: its own times, and what differs from the series.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when it can't be read.
    pub fn occasion_at(&self, occurrence: &Occurrence) -> Result<Occasion, Fault> {
        self.occasion_of(occurrence.part).map(|occasion| occurrence.fill(occasion))
    }

    /// The occasions of many occurrences, each component read once.
    ///
    /// # Errors
    /// As [`Series::occasion_at`].
    pub fn occasions_at(&self, occurrences: &[Occurrence]) -> Result<Vec<Occasion>, Fault> {
        let mut read: BTreeMap<usize, Occasion> = BTreeMap::new();
        let occasion = |occurrence: &Occurrence| {
            let occasion = match read.entry(occurrence.part) {
                Entry::Occupied(there) => there.get().clone(),
                Entry::Vacant(place) => place.insert(self.occasion_of(occurrence.part)?).clone(),
            };
            Ok(occurrence.fill(occasion))
        };
        occurrences.iter().map(occasion).collect()
    }

    fn occasion_of(&self, part: usize) -> Result<Occasion, Fault> {
        let event = self.events().nth(part);
        let event = event.ok_or_else(|| Fault::params("the occurrence is of another series"))?;
        let mut occasion = Occasion::read(event, &self.calendar)?;
        if is_override(event)
            && let Some(main) = self.main()
        {
            // An instance that differs recurs as its series does.
            occasion.rule = main.get("RRULE").map(|rule| rule.value);
            occasion.except = When::read_each(main, "EXDATE", &self.calendar)?;
        }
        Ok(occasion)
    }

    fn parts_of_series(&self) -> Result<Vec<Part>, Fault> {
        let part = |(index, event): (usize, &Component)| {
            let (start, length) = shape(event, &self.calendar)?;
            let id = event.get("RECURRENCE-ID");
            Ok(Part {
                index,
                start,
                length,
                instance: When::read(event, "RECURRENCE-ID", &self.calendar)?,
                is_cancelled: event.text("STATUS").eq_ignore_ascii_case("CANCELLED"),
                is_busy: !event.text("TRANSP").eq_ignore_ascii_case("TRANSPARENT"),
                is_following: id.is_some_and(|id| {
                    id.param("RANGE").is_some_and(|range| range.eq_ignore_ascii_case("THISANDFUTURE"))
                }),
            })
        };
        self.events().enumerate().map(part).collect()
    }

    /// The starts by rule and by date whose local times lie in a window, without what is left out.
    pub(crate) fn generated(
        &self,
        main: &Component,
        window: (NaiveDateTime, NaiveDateTime),
        home: Tz,
        most: usize,
    ) -> Result<Generated, Fault> {
        let (start, _) = shape(main, &self.calendar)?;
        let (mut locals, mut is_cut) = (Vec::new(), false);
        for line in main.lines("RRULE") {
            let rule = Rule::read(&line.read().value)?;
            let until = rule.until.map(|until| match until {
                Until::Day(day) => day.and_time(NaiveTime::MIN) + TimeDelta::seconds(86_399),
                Until::Local(until) => until,
                Until::Utc(until) => match &start {
                    When::Day(_) => until.date().and_time(NaiveTime::MIN),
                    other => zone_of(other, home).local(until.and_utc()),
                },
            });
            let found = rule.expand(start.local(), until, window, most);
            is_cut |= found.is_cut;
            locals.extend(found.starts);
        }
        let is_in_window = |local: &NaiveDateTime| (window.0..=window.1).contains(local);
        locals.extend(Some(start.local()).filter(is_in_window));
        let mut starts: Vec<When> = locals.into_iter().map(|local| start.at(local)).collect();
        for added in When::read_each(main, "RDATE", &self.calendar)? {
            let added = match (&start, &added) {
                (When::Zoned(..), When::Zoned(..)) => start.at_instant(added.instant(home), home),
                _ => start.at(added.local()),
            };
            starts.extend(Some(added).filter(|added| is_in_window(&added.local())));
        }
        let except = When::read_each(main, "EXDATE", &self.calendar)?;
        let moments: HashSet<DateTime<Utc>> = except.iter().map(|when| when.instant(home)).collect();
        let days: HashSet<NaiveDate> = except
            .iter()
            .filter_map(|when| if let When::Day(day) = when { Some(*day) } else { None })
            .collect();
        let mut starts: Vec<Start> = starts.into_iter().map(|when| Start::of(when, home)).collect();
        let is_left =
            |start: &Start| !days.contains(&start.when.local().date()) && !moments.contains(&start.at);
        starts.retain(|start| (moments.is_empty() && days.is_empty()) || is_left(start));
        starts.sort_by_key(|start| start.at);
        starts.dedup_by_key(|start| start.at);
        Ok(Generated { starts, is_cut })
    }

    /// The instance that is called by this start, said as the series says it.
    pub(crate) fn instance(&self, at: &When) -> Result<When, Fault> {
        let unknown = || Fault::new(crate::Kind::NotFound, "the series has no instance that starts then");
        if let Some(main) = self.main() {
            let (start, _) = shape(main, &self.calendar)?;
            let local = start.at_instant(at.instant(Tz::UTC), Tz::UTC).local();
            let near = (local - TimeDelta::days(1), local + TimeDelta::days(1));
            let generated = self.generated(main, near, Tz::UTC, 100_000)?;
            if let Some(found) =
                generated.starts.into_iter().map(|start| start.when).find(|start| start.is_same(at))
            {
                return Ok(found);
            }
        }
        for event in self.events().filter(|event| is_override(event)) {
            if let Some(id) = When::read(event, "RECURRENCE-ID", &self.calendar)?.filter(|id| id.is_same(at))
            {
                return Ok(id);
            }
        }
        Err(unknown())
    }
}

impl Occurrence {
    /// The occasion with this occurrence's times.
    fn fill(&self, occasion: Occasion) -> Occasion {
        let (start, end, instance) = (self.start.clone(), self.end.clone(), self.instance.clone());
        Occasion { start, end, instance, ..occasion }
    }
}

impl Part {
    /// The occurrence that starts then, if it takes place and touches the window.
    fn occurrence(&self, start: Start, instance: Option<When>, window: Span, home: Tz) -> Option<Occurrence> {
        let Start { when, at, is_steady } = start;
        let span = Span { from: at, to: self.length.ends(&when, at, home) };
        let touches = span.from < window.to && (span.to > window.from || span.from >= window.from);
        if !touches || self.is_cancelled {
            return None;
        }
        let (start, end) = if is_steady && self.length.days == 0 && self.length.seconds <= SHORT {
            let end = when.at(when.local() + TimeDelta::seconds(self.length.seconds));
            (when, end)
        } else {
            // A time that the clock skips is told as what it shows then.
            (when.at_instant(at, home), when.at_instant(span.to, home))
        };
        Some(Occurrence { start, end, span, instance, is_busy: self.is_busy, part: self.index })
    }
}
