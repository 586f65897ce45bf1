//! The calendar's skills that change something: making events, changing and deleting them.

use adjutant_dav::{Answer, Attendee, Occasion, Series, When};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::json;

use super::calendar::{MOST, now};
use super::invitations::{Notice, Replanned, differs};
use super::shelf::{Change, Object, span};
use super::{Look, Office, Trouble, Work, event, params, text, texts};
use crate::skills::{ErrorKind, Output, Risk, SkillError};
use crate::store::{Batch, executions};

/// What of a series is meant.
enum Part {
    All,
    One(When),
    Following(When),
}

impl Office {
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
        let writer = self.writer(work);
        Attendee { address: writer.address, name: writer.name.unwrap_or_default(), answer: Answer::Accepted }
    }

    pub(super) async fn create_event(
        &self,
        work: &Work<'_>,
        batch: Option<&mut Batch>,
    ) -> Result<Output, Trouble> {
        let home = work.scope.zone;
        let planned = self.planned(work).await?;
        let series = Series::new(&planned, now(work))?;
        // A rule that makes no sense is told now, and not when it is looked at.
        let start = planned.start.instant(home);
        series.occurrences(span(start, start + TimeDelta::days(1)), home, 1)?;
        let calendar = text(work.arguments, "calendar");
        let invitation = Notice::invitation(&series, planned.clone())?;
        self.shelf(work).change(Change::Create(&series, calendar), batch).await?;
        let mut summary =
            format!("Created “{}”, {}", planned.title, event::spoken(&planned.start, &planned.end, home));
        if planned.rule.is_some() {
            summary.push_str(", repeating");
        }
        summary.push_str(&self.notify(work, invitation.into_iter().collect(), calendar).await?);
        let item = event::item(&planned, calendar.unwrap_or_default(), home);
        Ok(Output { summary, data: item, untrusted: false })
    }

    pub(super) async fn update_event(
        &self,
        work: &Work<'_>,
        mut batch: Option<&mut Batch>,
    ) -> Result<Output, Trouble> {
        let object = self.meant(work).await?;
        let part = part(work, &object.series)?;
        let (old, new) = match self.replanned(work, &object.series, &part).await {
            Err(Trouble::Skill(error)) if work.again && error.kind == ErrorKind::NotFound => {
                return self.cut_before(work, &object, error).await;
            }
            planned => planned?,
        };
        let (mut series, mut tail, mut instance) = (object.series.clone(), None, None);
        match &part {
            Part::All => series.change_all(&new, now(work))?,
            Part::One(at) => {
                series.change_one(at, &new, now(work))?;
                instance = Some(at);
            }
            Part::Following(at) => tail = series.change_following(at, &new, &tail_uid(work), now(work))?,
        }
        // What an earlier try has changed differs no more, but may not have been told yet.
        let notices = match work.again || differs(&old, &new) {
            true => Replanned { old: &old, new: &new, after: &series, tail: tail.as_ref() }.notices(
                &object.series,
                instance,
                now(work),
            )?,
            false => Vec::new(),
        };
        let shelf = self.shelf(work);
        if let Some(tail) = &tail {
            shelf.change(Change::Create(tail, object.calendar_name()), batch.as_deref_mut()).await?;
        }
        shelf.change(Change::Update(&object, &series), batch).await?;
        self.tell_change(work, &object, &new, notices).await
    }

    /// Goes on with an update of this and following that had cut the series already.
    async fn cut_before(&self, work: &Work<'_>, head: &Object, error: SkillError) -> Result<Output, Trouble> {
        let Some(tail) = self.shelf(work).find(&tail_uid(work)).await? else { return Err(error.into()) };
        let (old, new) = (head.series.occasion()?, tail.series.occasion()?);
        let change = Replanned { old: &old, new: &new, after: &head.series, tail: Some(&tail.series) };
        let notices = change.notices(&head.series, None, now(work))?;
        self.tell_change(work, head, &new, notices).await
    }

    async fn tell_change(
        &self,
        work: &Work<'_>,
        object: &Object,
        new: &Occasion,
        notices: Vec<Notice>,
    ) -> Result<Output, Trouble> {
        let home = work.scope.zone;
        let told = self.notify(work, notices, object.calendar_name()).await?;
        let spoken = event::spoken(&new.start, &new.end, home);
        let summary = format!("Changed “{}”, {spoken}{told}", new.title);
        Ok(Output { summary, data: event::item(new, &object.calendar, home), untrusted: false })
    }

    /// The event as it is, and as an update would make it.
    async fn replanned(
        &self,
        work: &Work<'_>,
        series: &Series,
        part: &Part,
    ) -> Result<(Occasion, Occasion), Trouble> {
        let home = work.scope.zone;
        let old = match part {
            Part::All => series.occasion()?,
            Part::One(instance) | Part::Following(instance) => instance_of(series, instance, home)?,
        };
        let mut new = event::changed(&old, work.arguments, home)?;
        self.set_attendees(work, &mut new).await?;
        Ok((old, new))
    }

    pub(super) async fn delete_event(
        &self,
        work: &Work<'_>,
        batch: Option<&mut Batch>,
    ) -> Result<Output, Trouble> {
        let object = match self.meant(work).await {
            Err(Trouble::Skill(error)) if work.again && error.kind == ErrorKind::NotFound => {
                return Ok(Output { summary: "The event is gone".into(), ..Output::default() });
            }
            object => object?,
        };
        let title = object.series.occasion()?.title;
        let part = part(work, &object.series)?;
        let at = |instance| event::iso(instance, work.scope.zone);
        let what = match &part {
            Part::All => String::new(),
            Part::One(instance) => format!(" of {}", at(instance)),
            Part::Following(instance) => format!(" from {} on", at(instance)),
        };
        let told = match without(&object.series, &part, now(work)) {
            // An earlier try of this very call has done it, which is the last of its steps.
            Err(fault) if work.again && fault.kind == adjutant_dav::Kind::NotFound => {
                let phase = executions::phase(&work.scope.store, work.id).await?;
                phase.map(|_| "; who is invited was told by mail".to_owned()).unwrap_or_default()
            }
            left => self.take_out(work, batch, (&object, &part, left?.as_ref())).await?,
        };
        let data = json!({"id": object.series.uid(), "title": title});
        Ok(Output { summary: format!("Deleted “{title}”{what}{told}"), data, untrusted: false })
    }

    /// Tells those who are invited, and then deletes what is meant. Returns what is to be said of the telling.
    async fn take_out(
        &self,
        work: &Work<'_>,
        batch: Option<&mut Batch>,
        (object, part, left): (&Object, &Part, Option<&Series>),
    ) -> Result<String, Trouble> {
        let occasion = object.series.occasion()?;
        let to = occasion.attendees.clone();
        let notice = match (part, left) {
            _ if to.is_empty() => None,
            (Part::Following(_), Some(left)) => Notice::invitation(left, left.occasion()?)?,
            (Part::One(instance), Some(_)) => {
                let one = instance_of(&object.series, instance, work.scope.zone)?;
                Notice::cancellation(one, to, object.series.cancel(Some(instance), now(work))?)
            }
            _ => Notice::cancellation(occasion, to, object.series.cancel(None, now(work))?),
        };
        let told = self.notify(work, notice.into_iter().collect(), object.calendar_name()).await?;
        let change = left.map_or(Change::Delete(object), |left| Change::Update(object, left));
        self.shelf(work).change(change, batch).await?;
        Ok(told)
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

    pub(super) async fn look_at_event(&self, work: &Work<'_>, handler: &str) -> Result<Look, Trouble> {
        let home = work.scope.zone;
        let (occasion, risk, verb) = match handler {
            "calendar.create_event" => (self.planned(work).await?, Risk::Medium, "Put into the calendar"),
            "calendar.update_event" => {
                let object = self.meant(work).await?;
                let part = part(work, &object.series)?;
                (self.replanned(work, &object.series, &part).await?.1, Risk::Medium, "Change the event to")
            }
            _ => {
                let object = self.meant(work).await?;
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
        // That it is off leaves the house only where it is us who invite.
        let is_told = handler != "calendar.delete_event" || self.invites_to(&occasion);
        let outside = is_told && self.is_outside(occasion.attendees.iter().map(|one| one.address.as_str()));
        let risk = if outside { Risk::High } else { risk };
        let instance = text(work.arguments, "instance").map(|at| format!("\n- which: the one of {at}"));
        let lines = event::lines(&occasion, home);
        Ok(Look { risk, preview: Some(format!("{verb}:\n{lines}{}", instance.unwrap_or_default())) })
    }
}

/// What is left of a series without a part of it; none when nothing is.
fn without(
    series: &Series,
    part: &Part,
    stamp: DateTime<Utc>,
) -> Result<Option<Series>, adjutant_dav::Fault> {
    let mut series = series.clone();
    let is_left = match part {
        Part::All => false,
        Part::One(instance) => series.delete_one(instance, stamp)?,
        Part::Following(instance) => series.delete_following(instance, stamp)?,
    };
    Ok(is_left.then_some(series))
}

/// The UID of what an update of this and following makes.
fn tail_uid(work: &Work<'_>) -> String {
    format!("{}@adjutant", work.id)
}

/// One of a series, by when it would start by the rule.
fn instance_of(series: &Series, instance: &When, home: Tz) -> Result<Occasion, Trouble> {
    let at = instance.instant(home);
    let window = span(at - TimeDelta::days(2), at + TimeDelta::days(2));
    let found = series.occurrences(window, home, MOST)?;
    let same = |instant: &When| instant.instant(home) == at;
    let one = found.occurrences.iter().find(|one| one.instance.as_ref().is_some_and(same));
    let none = || {
        let message = format!("the series has nothing at {}", event::iso(instance, home));
        SkillError::new(ErrorKind::NotFound, message)
    };
    Ok(series.occasion_at(one.ok_or_else(none)?)?)
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
