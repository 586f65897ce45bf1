//! Word to those who are invited (iTIP, RFC 5546), by mail, where the calendar's server does not send it.
//!
//! - Only who invites sends word: an event that somebody else invites to is theirs to announce.
//! - Each letter goes once, as [`super::sending`] has it; several of one call go one after the other.
//! - A cancellation goes before the event does: afterwards nobody could know any more whom to tell.

use adjutant_dav::{Attendee, Occasion, Series, When};
use adjutant_mail::{Draft, Party};
use chrono::{DateTime, Utc};

use super::{Office, Trouble, Work, event};

/// One letter.
pub(super) struct Notice {
    /// The beginning of its subject, and what is said of those whom it reaches.
    words: (&'static str, &'static str),
    occasion: Occasion,
    to: Vec<Attendee>,
    calendar: String,
}

impl Notice {
    /// That the event, or one of the series, is as it is now; none when nobody is invited.
    pub(super) fn invitation(series: &Series, occasion: Occasion) -> Result<Option<Self>, Trouble> {
        let to = occasion.attendees.clone();
        if to.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { words: ("Invitation", "invited"), occasion, to, calendar: series.request()? }))
    }

    /// That the event, or the instance that the text is about, is off; none when nobody is told.
    pub(super) fn cancellation(occasion: Occasion, to: Vec<Attendee>, calendar: String) -> Option<Self> {
        let words = ("Cancelled", "told that it is off");
        (!to.is_empty()).then_some(Self { words, occasion, to, calendar })
    }

    fn names(&self) -> String {
        self.to.iter().map(|one| one.address.clone()).collect::<Vec<_>>().join(", ")
    }
}

impl Office {
    /// Whether it is us who invite to an event: nobody else is named.
    pub(super) fn invites_to(&self, occasion: &Occasion) -> bool {
        let Some(organizer) = &occasion.organizer else { return true };
        let is_from = |mail: &super::Mailbox| mail.from.address.eq_ignore_ascii_case(&organizer.address);
        self.mail.as_ref().is_none_or(is_from)
    }

    /// Sends what those who are invited must know, in that order. Returns what is to be said of it.
    pub(super) async fn notify(
        &self,
        work: &Work<'_>,
        notices: Vec<Notice>,
        calendar: Option<&str>,
    ) -> Result<String, Trouble> {
        let Some(first) = notices.first() else { return Ok(String::new()) };
        if !self.invites_to(&first.occasion) {
            return Ok(String::new());
        }
        let names = first.names();
        if let Some(calendars) = &self.calendar
            && calendars.sends_invitations(calendar).await?
        {
            return Ok(format!("; the calendar's server tells {names}"));
        }
        if self.mail.is_none() {
            return Ok(format!("; nobody was told ({names}), because no mail account is configured"));
        }
        if self.admit(work.scope, "email.send").await.is_err() {
            return Ok(format!("; nobody was told ({names}), because the mail account is my owners'"));
        }
        let mut said = String::new();
        for (number, notice) in notices.iter().enumerate() {
            let (names, done) = (notice.names(), notice.words.1);
            match self.send_once(work, self.notice(work, notice, number), number).await {
                // Whom two letters reach, about the two parts of a series, is named once.
                Ok(_) if said.contains(&format!("; {names} {done}")) => {}
                Ok(_) => said.push_str(&format!("; {names} {done} by mail")),
                // The event is there, or goes, all the same, which is what the call was for.
                Err(Trouble::Skill(error)) if error.unknown => {
                    let what = "is not known, so it was not sent again";
                    return Ok(format!("{said}; whether the word of it reached {names} {what}"));
                }
                Err(Trouble::Skill(error)) => {
                    return Ok(format!("{said}; {names} could not be told: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(said)
    }

    fn notice(&self, work: &Work<'_>, notice: &Notice, number: usize) -> Draft {
        let Occasion { title, start, end, notes, .. } = &notice.occasion;
        let zone = work.scope.zone;
        let party = |one: &Attendee| Party {
            name: Some(one.name.clone()).filter(|name| !name.is_empty()),
            address: one.address.clone(),
        };
        Draft {
            to: notice.to.iter().map(party).collect(),
            subject: format!("{}: {title}", notice.words.0),
            body: format!("{title}\n\n{} ({zone})\n\n{notes}", event::spoken(start, end, zone)),
            invitation: Some(notice.calendar.clone()),
            ..self.blank(work, number)
        }
    }
}

/// Whether those who are invited would see a difference: when we want to be reminded is our own business.
pub(super) fn differs(old: &Occasion, new: &Occasion) -> bool {
    let seen = |it: &Occasion| Occasion { reminders: Vec::new(), ..it.clone() };
    seen(old) != seen(new)
}

/// A change of an event.
pub(super) struct Replanned<'a> {
    pub(super) old: &'a Occasion,
    pub(super) new: &'a Occasion,
    /// The series afterwards; of one that was cut, its beginning.
    pub(super) after: &'a Series,
    /// The rest of a series that was cut.
    pub(super) tail: Option<&'a Series>,
}

impl Replanned<'_> {
    /// What those who are invited, or were, must know of it.
    pub(super) fn notices(
        &self,
        before: &Series,
        instance: Option<&When>,
        stamp: DateTime<Utc>,
    ) -> Result<Vec<Notice>, Trouble> {
        if let Some(tail) = self.tail {
            let head = Notice::invitation(self.after, self.after.occasion()?)?;
            return Ok(head.into_iter().chain(Notice::invitation(tail, tail.occasion()?)?).collect());
        }
        let is_in = |one: &&Attendee| {
            self.new.attendees.iter().any(|it| it.address.eq_ignore_ascii_case(&one.address))
        };
        let gone: Vec<Attendee> = self.old.attendees.iter().filter(|one| !is_in(one)).cloned().collect();
        let off = match gone.is_empty() {
            true => None,
            false => Notice::cancellation(self.old.clone(), gone, before.cancel(instance, stamp)?),
        };
        Ok(off.into_iter().chain(Notice::invitation(self.after, self.new.clone())?).collect())
    }
}
