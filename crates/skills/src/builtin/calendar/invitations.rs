//! Telling the people who are invited (iTIP, RFC 5546), by mail where the calendar's server doesn't.
//!
//! - Only the organizer tells: an event that somebody else invites to is theirs to announce.
//! - Each mail goes once, by [`email::send_once`]; a call's mails go one after the other.
//! - A cancellation goes out before the event is deleted: afterwards nobody would know whom to tell.

use std::collections::BTreeSet;

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
pub(super) enum NoticeKind {
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
    pub(super) fn request(
        kind: NoticeKind,
        series: &Series,
        occasion: CalendarEvent,
    ) -> Result<Option<Self>> {
        let to = occasion.attendees.clone();
        if to.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { kind, occasion, to, calendar: series.request()? }))
    }

    /// The event, or one of the series, is cancelled.
    pub(super) fn cancellation(occasion: CalendarEvent, calendar: String) -> Self {
        let to = occasion.attendees.clone();
        Self { kind: NoticeKind::Cancellation, occasion, to, calendar }
    }

    /// The same to the guests with these addresses alone.
    pub(super) fn only_to(mut self, is_meant: impl Fn(&str) -> bool) -> Self {
        self.to.retain(|guest| is_meant(&guest.address));
        self
    }

    fn mail(&self, call: &CallContext<'_>, number: usize) -> Draft {
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
            to: self.to.iter().map(party).collect(),
            subject,
            body: format!("{title}\n\n{} ({zone})\n\n{notes}", event::spoken(start, end, zone)),
            invitation: Some(self.calendar.clone()),
            ..email::blank(call, number)
        }
    }
}

pub(super) fn is_guest(occasion: &CalendarEvent, address: &str) -> bool {
    occasion.attendees.iter().any(|guest| guest.address.eq_ignore_ascii_case(address))
}

/// The addresses of those who get one of these mails, each once.
fn addresses(notices: &[Notice]) -> Vec<String> {
    let all = notices.iter().flat_map(|notice| &notice.to).map(|guest| guest.address.clone());
    all.collect::<BTreeSet<_>>().into_iter().collect()
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
pub(super) fn is_own(call: &CallContext<'_>, account: Option<&ConnectedAccount>, guest: &Attendee) -> bool {
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

/// What guests were told.
#[derive(Default)]
pub(super) struct Told {
    /// A line about each email.
    pub(super) notes: Vec<String>,
    /// The addresses of those who have got one, as far as we know.
    pub(super) guests: Vec<String>,
}

impl Told {
    fn only(note: impl IntoIterator<Item = String>) -> Self {
        Self { notes: note.into_iter().collect(), guests: Vec::new() }
    }
}

/// Sends these mails in order, numbered from `first` on.
pub(super) async fn notify(
    call: &CallContext<'_>,
    (account, calendar): (Option<&ConnectedAccount>, Option<&str>),
    mut notices: Vec<Notice>,
    first: usize,
    approved: &Approved,
) -> Result<Told> {
    if let Some(Notice { occasion, .. }) = notices.first()
        && !invites_to(call, account, occasion)
    {
        return Ok(Told::only(host(call, account, occasion).map(l10n::calendar::only_yours)));
    }
    notices.iter_mut().for_each(|notice| notice.to.retain(|guest| !is_own(call, account, guest)));
    notices.retain(|notice| !notice.to.is_empty());
    if notices.is_empty() {
        return Ok(Told::default());
    }
    let names = addresses(&notices).join(", ");
    if backend::sends_invitations(account, calendar).await? {
        return Ok(Told::only([l10n::calendar::told_by_server(names)]));
    }
    if email::mail_account(call).is_none() {
        return Ok(Told::only([match call.accounts.all().check(AccountService::Mail) {
            Ok(()) => l10n::calendar::not_told_no_account(names),
            Err(error) => l10n::calendar::not_told(names, error),
        }]));
    }
    let mut told = Told::default();
    for (at, notice) in notices.iter().enumerate() {
        let guests = addresses(std::slice::from_ref(notice));
        let names = guests.join(", ");
        let number = first + at;
        match email::send_once(call, notice.mail(call, number), number, approved).await {
            Ok(_) => {
                let note = match notice.kind {
                    NoticeKind::Invitation => l10n::calendar::invited(names),
                    NoticeKind::Update => l10n::calendar::told_of_change(names),
                    NoticeKind::Cancellation => l10n::calendar::told_of_cancellation(names),
                };
                // Two mails about the two parts of a series may go to the same people: they are named once.
                if !told.notes.contains(&note) {
                    told.notes.push(note);
                }
                told.guests.extend(guests);
            }
            // The calendar is changed all the same, which is what the call was for.
            Err(Failure::Skill(error)) => {
                let mut left = &notices[at..];
                if error.unknown {
                    told.notes.push(l10n::calendar::perhaps_told(names));
                    told.guests.extend(guests);
                    left = &left[1..];
                }
                if !left.is_empty() {
                    told.notes.push(l10n::calendar::not_told(addresses(left).join(", "), error));
                }
                return Ok(told);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(told)
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
            let head = Notice::request(NoticeKind::Update, self.after, self.after.event()?)?;
            let rest = Notice::request(NoticeKind::Invitation, tail, tail.event()?)?;
            return Ok(head.into_iter().chain(rest).collect());
        }
        let (was_guest, is_guest) =
            (|address: &str| is_guest(self.old, address), |address: &str| is_guest(self.new, address));
        let cancellation = match self.old.attendees.iter().all(|guest| is_guest(&guest.address)) {
            true => None,
            false => Some(Notice::cancellation(self.old.clone(), before.cancel(instance, stamp)?)),
        };
        let cancellation = cancellation.map(|notice| notice.only_to(|address| !is_guest(address)));
        let request = |kind| Notice::request(kind, self.after, self.new.clone());
        let update = request(NoticeKind::Update)?.map(|notice| notice.only_to(was_guest));
        let invitation = request(NoticeKind::Invitation)?;
        let invitation = invitation.map(|notice| notice.only_to(|address| !was_guest(address)));
        Ok([cancellation, update, invitation].into_iter().flatten().collect())
    }
}
