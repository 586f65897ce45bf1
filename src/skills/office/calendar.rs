//! The calendar's skills.

use std::collections::BTreeSet;

use adjutant_dav::{
    Answer, Attendee, Occasion, Occurrence, Series, Span, When, WorkingHours, conflicts, free_slots,
};
use chrono::{DateTime, NaiveTime, TimeDelta, Utc, Weekday};
use serde_json::{Value, json};

use super::shelf::{Change, Object, Shelf, span};
use super::{Look, Office, Trouble, Work, event, params, text, texts};
use crate::clock::utc;
use crate::skills::{ErrorKind, Output, Risk, SkillError};
use crate::store::Batch;

/// More times of one event are not looked at in one call.
const MOST: usize = 2_000;
/// So many are shown.
const SHOWN: usize = 50;
/// So many free slots are proposed.
const SLOTS: usize = 10;

/// What takes place in a window: the events, and each of their times, by time.
struct Found {
    objects: Vec<Object>,
    times: Vec<(usize, Occurrence)>,
}

/// What of a series is meant.
enum Part {
    All,
    One(When),
    Following(When),
}

impl Office {
    pub(super) async fn calendar_call(
        &self,
        work: &Work<'_>,
        handler: &str,
        batch: &mut Batch,
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

    fn shelf<'a>(&'a self, work: &Work<'a>) -> Shelf<'a> {
        match &self.calendar {
            Some(calendars) => Shelf::Server(calendars),
            None if work.is_alone => Shelf::Own(work.scope),
            None => Shelf::OwnAtOnce(work.scope),
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

    /// The event that a call would make, its attendees found.
    async fn planned(&self, work: &Work<'_>) -> Result<Occasion, Trouble> {
        let mut new = event::new(work.arguments, format!("{}@adjutant", work.id), work.scope.zone)?;
        self.set_attendees(work, &mut new).await?;
        Ok(new)
    }

    async fn set_attendees(&self, work: &Work<'_>, new: &mut Occasion) -> Result<(), Trouble> {
        if work.arguments.get("attendees").is_none() {
            return Ok(());
        }
        let parties = self.parties(work, &texts(work.arguments, "attendees")).await?;
        let before = std::mem::take(&mut new.attendees);
        let attendee = |party: adjutant_mail::Party| {
            let same = |one: &&Attendee| one.address.eq_ignore_ascii_case(&party.address);
            before.iter().find(same).cloned().unwrap_or_else(|| Attendee {
                address: party.address.clone(),
                name: party.name.clone().unwrap_or_default(),
                answer: Answer::Open,
            })
        };
        new.attendees = parties.into_iter().map(attendee).collect();
        if new.organizer.is_none() && !new.attendees.is_empty() {
            new.organizer = Some(self.organizer(work));
        }
        Ok(())
    }

    /// Who invites: the mail account, or somebody without an address that anybody could answer to.
    fn organizer(&self, work: &Work<'_>) -> Attendee {
        let (address, name) = match &self.mail {
            Some(mail) => (mail.from.address.clone(), mail.from.name.clone().unwrap_or_default()),
            None => ("nobody@localhost".to_owned(), work.scope.person.name.clone()),
        };
        Attendee { address, name, answer: Answer::Accepted }
    }

    async fn create_event(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let home = work.scope.zone;
        let planned = self.planned(work).await?;
        let series = Series::new(&planned, now(work))?;
        // A rule that makes no sense is told now, and not when it is looked at.
        let start = planned.start.instant(home);
        series.occurrences(span(start, start + TimeDelta::days(1)), home, 1)?;
        let calendar = text(work.arguments, "calendar");
        self.shelf(work).change(Change::Create(&series, calendar), batch).await?;
        let mut summary =
            format!("Created “{}”, {}", planned.title, event::spoken(&planned.start, &planned.end, home));
        if planned.rule.is_some() {
            summary.push_str(", repeating");
        }
        summary.push_str(&self.invite(work, &series, &planned.attendees, calendar).await?);
        let item = event::item(&planned, calendar.unwrap_or_default(), home);
        Ok(Output { summary, data: item, untrusted: false })
    }

    async fn update_event(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let home = work.scope.zone;
        let object = self.meant(work).await?;
        let mut series = object.series.clone();
        let part = part(work, &series)?;
        let new = self.replanned(work, &series, &part).await?;
        let shelf = self.shelf(work);
        let calendar = Some(object.calendar.as_str()).filter(|name| !name.is_empty());
        match &part {
            Part::All => series.change_all(&new, now(work))?,
            Part::One(instance) => series.change_one(instance, &new, now(work))?,
            Part::Following(instance) => {
                let uid = format!("{}@adjutant", work.id);
                if let Some(tail) = series.change_following(instance, &new, &uid, now(work))? {
                    shelf.change(Change::Create(&tail, calendar), batch).await?;
                }
            }
        }
        shelf.change(Change::Update(&object, &series), batch).await?;
        let mut summary = format!("Changed “{}”, {}", new.title, event::spoken(&new.start, &new.end, home));
        summary.push_str(&self.invite(work, &series, &new.attendees, calendar).await?);
        Ok(Output { summary, data: event::item(&new, &object.calendar, home), untrusted: false })
    }

    /// The event as an update would make it.
    async fn replanned(&self, work: &Work<'_>, series: &Series, part: &Part) -> Result<Occasion, Trouble> {
        let home = work.scope.zone;
        let old = match part {
            Part::All => series.occasion()?,
            Part::One(instance) | Part::Following(instance) => {
                let at = instance.instant(home);
                let window = span(at - TimeDelta::days(2), at + TimeDelta::days(2));
                let found = series.occurrences(window, home, MOST)?;
                let same = |instant: &When| instant.instant(home) == at;
                let one = found.occurrences.iter().find(|one| one.instance.as_ref().is_some_and(same));
                let none = || {
                    let message = format!("the series has nothing at {}", event::iso(instance, home));
                    SkillError::new(ErrorKind::NotFound, message)
                };
                series.occasion_at(one.ok_or_else(none)?)?
            }
        };
        let mut new = event::changed(&old, work.arguments, home)?;
        self.set_attendees(work, &mut new).await?;
        Ok(new)
    }

    async fn delete_event(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let object = match self.meant(work).await {
            Err(Trouble::Skill(error)) if work.again && error.kind == ErrorKind::NotFound => {
                return Ok(Output { summary: "The event is gone".into(), ..Output::default() });
            }
            object => object?,
        };
        let shelf = self.shelf(work);
        let title = object.series.occasion()?.title;
        let mut series = object.series.clone();
        let (is_left, what) = match part(work, &series)? {
            Part::All => (false, String::new()),
            Part::One(instance) => {
                let what = format!(" of {}", event::iso(&instance, work.scope.zone));
                (series.delete_one(&instance, now(work))?, what)
            }
            Part::Following(instance) => {
                let what = format!(" from {} on", event::iso(&instance, work.scope.zone));
                (series.delete_following(&instance, now(work))?, what)
            }
        };
        let change = if is_left { Change::Update(&object, &series) } else { Change::Delete(&object) };
        shelf.change(change, batch).await?;
        let data = json!({"id": series.uid(), "title": title});
        Ok(Output { summary: format!("Deleted “{title}”{what}"), data, untrusted: false })
    }

    /// The event that a call names.
    async fn meant(&self, work: &Work<'_>) -> Result<Object, Trouble> {
        let id = text(work.arguments, "id").unwrap_or_default();
        let none = || {
            let message =
                format!("there is no event {id}; calendar.list_events and calendar.search give the ids");
            SkillError::new(ErrorKind::NotFound, message)
        };
        Ok(self.shelf(work).find(id).await?.ok_or_else(none)?)
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

    pub(super) async fn look_at_event(&self, work: &Work<'_>, handler: &str) -> Result<Look, Trouble> {
        let home = work.scope.zone;
        let (occasion, risk, verb) = match handler {
            "calendar.create_event" => (self.planned(work).await?, Risk::Medium, "Put into the calendar"),
            "calendar.update_event" => {
                let object = self.meant(work).await?;
                let part = part(work, &object.series)?;
                (self.replanned(work, &object.series, &part).await?, Risk::Medium, "Change the event to")
            }
            _ => {
                let object = match self.meant(work).await {
                    Err(Trouble::Skill(error)) if work.again && error.kind == ErrorKind::NotFound => {
                        return Ok(Look::HARMLESS);
                    }
                    object => object?,
                };
                let occasion = object.series.occasion()?;
                let is_series = occasion.rule.is_some();
                match part(work, &object.series)? {
                    Part::One(_) => (occasion, Risk::Medium, "Delete one of the series"),
                    Part::Following(_) => {
                        (occasion, Risk::High, "Delete this and all later ones of the series")
                    }
                    Part::All if is_series => (occasion, Risk::High, "Delete the whole series"),
                    Part::All => (occasion, Risk::Medium, "Delete the event"),
                }
            }
        };
        let outside = handler != "calendar.delete_event"
            && self.is_outside(occasion.attendees.iter().map(|one| one.address.as_str()));
        let risk = if outside { Risk::High } else { risk };
        let instance = text(work.arguments, "instance").map(|at| format!("\n- which: the one of {at}"));
        let lines = event::lines(&occasion, home);
        Ok(Look { risk, preview: Some(format!("{verb}:\n{lines}{}", instance.unwrap_or_default())) })
    }
}

fn now(work: &Work<'_>) -> DateTime<Utc> {
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

/// What of a series a call means.
fn part(work: &Work<'_>, series: &Series) -> Result<Part, Trouble> {
    let home = work.scope.zone;
    let instance = event::moment(work.arguments, "instance", home)?;
    let recurs = series.occasion()?.rule.is_some();
    let span = text(work.arguments, "span").unwrap_or(if instance.is_some() { "one" } else { "all" });
    match (span, instance) {
        ("all", _) => Ok(Part::All),
        (_, _) if !recurs => Ok(Part::All),
        ("one", Some(instance)) => Ok(Part::One(instance)),
        (_, Some(instance)) => Ok(Part::Following(instance)),
        (_, None) => Err(params("/instance: say which one of the series is meant, by its start").into()),
    }
}
