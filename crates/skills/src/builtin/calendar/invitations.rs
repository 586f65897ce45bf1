//! Telling the people who are invited (iTIP, RFC 5546), by mail where the calendar's server doesn't.
//!
//! - Only the organizer tells: an event that somebody else invites to is theirs to announce.
//! - Each mail goes once, by [`email::send_once`]; a call's mails go one after the other.
//! - A cancellation goes out before the event is deleted: afterwards nobody would know whom to tell.

use adjutant_dav::{Attendee, CalendarEvent, EventTime, Series};
use adjutant_l10n as l10n;
use adjutant_mail::{Address, Draft};
use adjutant_types::AccountService;
use adjutant_types::text::one_line;
use chrono::{DateTime, Utc};

use super::{backend, event};
use crate::accounts::ConnectedAccount;
use crate::builtin::{CallContext, email};
use crate::{Approved, Failure, Result};

/// The subject of a mail to attendees.
#[derive(Clone, Copy)]
enum NoticeKind {
    Invitation,
    Update,
    Cancellation,
}

/// A mail to attendees.
pub(super) struct Notice {
    kind: NoticeKind,
    occasion: CalendarEvent,
    to: Vec<Attendee>,
    calendar: String,
}

impl Notice {
    /// The event, or one of the series, as it is now; none when nobody is invited.
    pub(super) fn invitation(series: &Series, occasion: CalendarEvent) -> Result<Option<Self>> {
        let to = occasion.attendees.clone();
        if to.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { kind: NoticeKind::Invitation, occasion, to, calendar: series.request()? }))
    }

    /// The event that they were invited to before, or one of the series, as it is now; none when nobody is invited.
    pub(super) fn update(series: &Series, occasion: CalendarEvent) -> Result<Option<Self>> {
        let invitation = Self::invitation(series, occasion)?;
        Ok(invitation.map(|invitation| Self { kind: NoticeKind::Update, ..invitation }))
    }

    /// The event, or one of the series, is cancelled; none when nobody gets a mail.
    pub(super) fn cancellation(occasion: CalendarEvent, to: Vec<Attendee>, calendar: String) -> Option<Self> {
        (!to.is_empty()).then_some(Self { kind: NoticeKind::Cancellation, occasion, to, calendar })
    }

    fn names(&self) -> String {
        self.to.iter().map(|guest| guest.address.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn mail(&self, call: &CallContext<'_>, account: Option<&ConnectedAccount>, number: usize) -> Draft {
        let CalendarEvent { title, start, end, notes, .. } = &self.occasion;
        let zone = call.zone();
        let party = |guest: &Attendee| Address {
            name: Some(guest.name.clone()).filter(|name| !name.is_empty()),
            address: guest.address.clone(),
        };
        let subject = match self.kind {
            NoticeKind::Invitation => l10n::calendar::invitation(title),
            NoticeKind::Update => l10n::calendar::update(title),
            NoticeKind::Cancellation => l10n::calendar::cancellation(title),
        };
        Draft {
            to: self.to.iter().filter(|guest| !is_own(call, account, guest)).map(party).collect(),
            subject,
            body: format!("{title}\n\n{} ({zone})\n\n{notes}", event::spoken(start, end, zone)),
            invitation: Some(self.calendar.clone()),
            ..email::blank(call, number)
        }
    }
}

/// The person, as guests see them: as they write emails, or by the address of a calendar whose account has no email.
pub(super) fn own_party(call: &CallContext<'_>, account: Option<&ConnectedAccount>) -> Address {
    match account.filter(|account| is_identity(account)) {
        Some(account) => {
            Address { name: Some(call.ctx.turn.person.name.clone()), address: account.address.clone() }
        }
        None => email::writer(call),
    }
}

/// Whether a calendar's own address stands for the person.
fn is_identity(account: &ConnectedAccount) -> bool {
    account.mail.is_none() && !account.is_configured() && account.address.contains('@')
}

/// Whether an attendee is the person: they know already.
fn is_own(call: &CallContext<'_>, account: Option<&ConnectedAccount>, guest: &Attendee) -> bool {
    let all = [email::writer(call).address, own_party(call, account).address];
    all.iter().any(|own| guest.address.eq_ignore_ascii_case(own))
}

/// Whether we are an event's organizer: nobody else is named.
pub(super) fn invites_to(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    occasion: &CalendarEvent,
) -> bool {
    let Some(organizer) = &occasion.organizer else { return true };
    // Without an address of theirs, nobody but the person invites from here.
    let is_nobody = email::mail_account(call).is_none() && !account.is_some_and(is_identity);
    is_nobody || own_party(call, account).address.eq_ignore_ascii_case(&organizer.address)
}

/// Who invites to an event, if it's somebody else. No other copy than the person's changes then.
pub(super) fn host(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    occasion: &CalendarEvent,
) -> Option<String> {
    let is_theirs = account.is_some() && !invites_to(call, account, occasion);
    let organizer = occasion.organizer.as_ref().filter(|_| is_theirs)?;
    let is_own = |own: &ConnectedAccount| own.address.eq_ignore_ascii_case(&organizer.address);
    (!call.accounts.all().all.iter().any(is_own)).then(|| one_line(&organizer.address, 100))
}

/// Sends these mails in order. Returns notes about that.
pub(super) async fn notify(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    notices: Vec<Notice>,
    calendar: Option<&str>,
    approved: &Approved,
) -> Result<Vec<String>> {
    let Some(first) = notices.first() else { return Ok(Vec::new()) };
    if !invites_to(call, account, &first.occasion) {
        let host = host(call, account, &first.occasion);
        return Ok(host.map(l10n::calendar::only_yours).into_iter().collect());
    }
    let names = first.names();
    if backend::sends_invitations(account, calendar).await? {
        return Ok(vec![l10n::calendar::told_by_server(names)]);
    }
    if email::mail_account(call).is_none() {
        return Ok(vec![match call.accounts.all().check(AccountService::Mail) {
            Ok(()) => l10n::calendar::not_told_no_account(names),
            Err(error) => l10n::calendar::not_told(names, error),
        }]);
    }
    let mut notes = Vec::new();
    for (number, notice) in notices.iter().enumerate() {
        let names = notice.names();
        let note = match notice.kind {
            NoticeKind::Invitation => l10n::calendar::invited(&names),
            NoticeKind::Update => l10n::calendar::told_of_change(&names),
            NoticeKind::Cancellation => l10n::calendar::told_of_cancellation(&names),
        };
        match email::send_once(call, notice.mail(call, account, number), number, approved).await {
            // Two mails about the two parts of a series may go to the same people: they are named once.
            Ok(_) if notes.contains(&note) => {}
            Ok(_) => notes.push(note),
            // The calendar is changed all the same, which is what the call was for.
            Err(Failure::Skill(error)) => {
                notes.push(match error.unknown {
                    true => l10n::calendar::perhaps_told(names),
                    false => l10n::calendar::not_told(names, error),
                });
                return Ok(notes);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(notes)
}

/// Whether attendees would see a difference: our reminders are our own business.
pub(super) fn is_visible(old: &CalendarEvent, new: &CalendarEvent) -> bool {
    let seen = |occasion: &CalendarEvent| CalendarEvent { reminders: Vec::new(), ..occasion.clone() };
    seen(old) != seen(new)
}

/// A change of an event.
pub(super) struct Update<'a> {
    pub(super) old: &'a CalendarEvent,
    pub(super) new: &'a CalendarEvent,
    /// The series afterwards; if it was cut, its first part.
    pub(super) after: &'a Series,
    /// The second part of a series that was cut.
    pub(super) tail: Option<&'a Series>,
}

impl Update<'_> {
    /// The mails to those who are invited, or were.
    pub(super) fn notices(
        &self,
        before: &Series,
        instance: Option<&EventTime>,
        stamp: DateTime<Utc>,
    ) -> Result<Vec<Notice>> {
        if let Some(tail) = self.tail {
            let head = Notice::update(self.after, self.after.event()?)?;
            return Ok(head.into_iter().chain(Notice::invitation(tail, tail.event()?)?).collect());
        }
        let is_invited = |old: &&Attendee| {
            self.new.attendees.iter().any(|new| new.address.eq_ignore_ascii_case(&old.address))
        };
        let gone: Vec<Attendee> =
            self.old.attendees.iter().filter(|guest| !is_invited(guest)).cloned().collect();
        // One email for all: after a crash nobody knows which of them are new.
        let has_stayed = gone.len() < self.old.attendees.len();
        let tell = if has_stayed { Notice::update } else { Notice::invitation };
        let cancellation = match gone.is_empty() {
            true => None,
            false => Notice::cancellation(self.old.clone(), gone, before.cancel(instance, stamp)?),
        };
        let news = tell(self.after, self.new.clone())?;
        Ok(cancellation.into_iter().chain(news).collect())
    }
}
