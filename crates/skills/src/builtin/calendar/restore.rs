//! Puts an event back as it was, and tells that to the guests who were told of the change.

use std::collections::BTreeSet;

use adjutant_dav::{Attendee, CalendarEvent, EventTime, ResponseStatus, Series, Zone};
use adjutant_l10n as l10n;
use adjutant_store::Batch;
use adjutant_types::AccountId;
use chrono_tz::Tz;

use super::backend::{self, Change, Scope, StoredEvent};
use super::changes::instance_of;
use super::invitations::{Notice, NoticeKind, Update, invites_to, is_own, is_visible, notify};
use crate::builtin::merged::id_of;
use crate::builtin::undo::{self, Outcome, Step, Telling, without_writing};
use crate::builtin::{CallContext, email};
use crate::{ErrorKind, Failure, Result};

/// The content of an event, without the wording: servers may write the same event in other words. Microsoft keeps neither
/// its SEQUENCE nor how we name those who take part. That they have answered is no change, as [`Series::follow`] keeps it,
/// unless it was about one instance.
fn content(series: &Series) -> Option<(CalendarEvent, Vec<CalendarEvent>)> {
    let plain = |event: CalendarEvent| {
        let by_address = |guest: Attendee| Attendee { name: String::new(), ..guest };
        let attendees = event.attendees.into_iter().map(by_address).collect();
        CalendarEvent { sequence: 0, organizer: None, attendees, ..event }
    };
    let (mut event, overrides) = (plain(series.event().ok()?), series.overrides().ok()?);
    event.attendees.iter_mut().for_each(|guest| guest.response = ResponseStatus::NeedsAction);
    Some((event, overrides.into_iter().map(plain).collect()))
}

/// The event and its overrides.
pub(super) fn events_of(series: &Series) -> impl Iterator<Item = CalendarEvent> {
    series.event().into_iter().chain(series.overrides().into_iter().flatten())
}

/// The same in whatever zone its times are.
pub(super) fn comparable(series: &Series, zone: Tz) -> Option<(CalendarEvent, Vec<CalendarEvent>)> {
    let (mut event, overrides) = content(series)?;
    let in_utc = |time: &EventTime| match time {
        EventTime::Zoned(..) => EventTime::Zoned(time.instant(zone).naive_utc(), Zone::Named(Tz::UTC)),
        time => time.clone(),
    };
    // The zone of a series decides when its later events are.
    if event.rule.is_none() {
        (event.start, event.end) = (in_utc(&event.start), in_utc(&event.end));
    }
    Some((event, overrides))
}

/// The event with the guests who see a difference between the two, if there are any.
fn seen_by_guests(before: Option<&Series>, after: Option<&Series>) -> Option<CalendarEvent> {
    if let (Some(old), Some(new)) = (before.and_then(content), after.and_then(content))
        && !is_visible(&old.0, &new.0)
        && old.1 == new.1
    {
        return None;
    }
    let mut events = before.into_iter().chain(after).flat_map(events_of);
    events.find(|event| !event.attendees.is_empty())
}

fn read(text: Option<&str>) -> Option<Series> {
    text.and_then(|text| Series::read(text).ok())
}

/// Which guests hear of it if an event is put back, by their addresses.
#[derive(Default)]
pub(in crate::builtin) struct Hearing {
    pub(in crate::builtin) by_mail: Vec<String>,
    /// Whether their server tells all of them.
    pub(in crate::builtin) by_server: bool,
    /// Those who may have heard of the change, and whom we can't tell.
    unaware: Vec<String>,
}

/// Who hears of it if an event is put back: the guests whom our emails `told` of the change, if that is known.
pub(in crate::builtin) async fn hearers(
    call: &CallContext<'_>,
    account: &AccountId,
    (before, after): (Option<&str>, Option<&str>),
    told: Option<&[String]>,
) -> Result<Hearing> {
    let Some(scope) = Scope::of_change(call, account) else { return Ok(Hearing::default()) };
    let (before, after) = (read(before), read(after));
    let Some(seen) = seen_by_guests(before.as_ref(), after.as_ref()) else { return Ok(Hearing::default()) };
    let is_ours = invites_to(call, scope.account(), &seen);
    if is_ours && backend::sends_invitations(scope.account(), None).await? {
        return Ok(Hearing { by_server: true, ..Hearing::default() });
    }
    let guests = before.iter().chain(&after).flat_map(events_of).flat_map(|event| event.attendees);
    let is_told = |address: &str| match told {
        Some(told) => told.iter().any(|other| other.eq_ignore_ascii_case(address)),
        // A former version, which told them.
        None => is_ours,
    };
    let all: BTreeSet<String> = guests.map(|guest| guest.address).filter(|it| is_told(it)).collect();
    let all = all.into_iter().collect();
    Ok(match is_ours && told.is_some() && email::mail_account(call).is_some() {
        true => Hearing { by_mail: all, ..Hearing::default() },
        false => Hearing { unaware: all, ..Hearing::default() },
    })
}

/// Says to which of the guests that a call names no email of ours told how their event is, if we made it so here.
pub(super) async fn untold(
    call: &CallContext<'_>,
    stored: &StoredEvent<'_>,
    event: &CalendarEvent,
) -> Result<Option<String>> {
    let names_them = call.arguments.get("attendees").is_some() && invites_to(call, stored.account, event);
    if !names_them || backend::sends_invitations(stored.account, stored.calendar_name()).await? {
        return Ok(None);
    }
    let (uid, account) = (stored.series.uid(), id_of(stored.account));
    // Another conversation, or another app, may have changed it since, and back.
    let version = |series: &Series| {
        (content(series), events_of(series).map(|event| event.sequence).collect::<Vec<_>>())
    };
    let told = undo::newest_first(call).await?.into_iter().find_map(|step| match step {
        Step::Event { uid: changed, before, after, account: there, told: Some(told) } => {
            let (before, after) = (read(before.as_deref()), read(after.as_deref()));
            let is_it = (&changed, &there) == (&uid, &account)
                && after.as_ref().map(version) == Some(version(&stored.series));
            (is_it && seen_by_guests(before.as_ref(), after.as_ref()).is_some()).then_some(told)
        }
        _ => None,
    });
    let Some(told) = told else { return Ok(None) };
    let is_told = |address: &str| told.iter().any(|other| other.eq_ignore_ascii_case(address));
    let guests = event.attendees.iter().filter(|guest| !is_own(call, stored.account, guest));
    let untold: Vec<&str> =
        guests.map(|guest| guest.address.as_str()).filter(|address| !is_told(address)).collect();
    Ok((!untold.is_empty()).then(|| l10n::calendar::untold(untold.join(", "))))
}

/// The only day of a series that two versions of it have differently.
fn changed_day(left: &Series, back: &Series) -> Option<EventTime> {
    let ((old, old_days), (new, new_days)) = (content(left)?, content(back)?);
    let gone = old_days.iter().filter(|day| !new_days.contains(day));
    let mut changed = gone.chain(new_days.iter().filter(|day| !old_days.contains(day)));
    let first = changed.next()?.instance.clone();
    let is_all = !is_visible(&old, &new) && changed.all(|day| day.instance == first);
    first.filter(|_| is_all)
}

/// The mails about an event that is put back, from what the change had left of it, to the guests with these addresses.
fn notices(
    call: &CallContext<'_>,
    (left, back): (Option<&Series>, Option<&Series>),
    hear: &[String],
) -> Result<Vec<Notice>> {
    // The day of an override may be far from the one that the rule gives.
    let on = |series: &Series, day: &EventTime| -> Result<CalendarEvent> {
        let other = series.overrides()?.into_iter().find(|other| other.instance.as_ref() == Some(day));
        other.map_or_else(|| instance_of(call, series, day), Ok)
    };
    let all = match (left, back) {
        _ if hear.is_empty() => Vec::new(),
        (Some(left), Some(back)) => {
            let day = changed_day(left, back);
            let (old, new) = match &day {
                Some(day) => (on(left, day)?, on(back, day)?),
                None => (left.event()?, back.event()?),
            };
            let update = Update { old: &old, new: &new, after: back, tail: None };
            update.notices(left, day.as_ref(), call.now())?
        }
        (Some(left), None) => vec![Notice::cancellation(left.event()?, left.cancel(None, call.now())?)],
        (None, Some(back)) => {
            Notice::request(NoticeKind::Invitation, back, back.event()?)?.into_iter().collect()
        }
        (None, None) => Vec::new(),
    };
    let hears = |address: &str| hear.iter().any(|other| other.eq_ignore_ascii_case(address));
    Ok(all.into_iter().map(|notice| notice.only_to(hears)).collect())
}

/// Puts an event back, if it is as `after` says, and tells that to those whom our emails `told` of the change, or says that
/// they may not know.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    (account, uid): (&AccountId, &str),
    versions: (Option<&str>, Option<&str>),
    told: Option<&[String]>,
    telling: &mut Telling<'_>,
    writes: &mut Batch,
) -> Result<Outcome> {
    let Some(scope) = Scope::of_change(call, account) else { return Ok(Outcome::Impossible) };
    let (before, after) = (read(versions.0), read(versions.1));
    let now: Option<StoredEvent<'_>> = backend::find(call, &scope, uid).await?;
    let (old, new) = (before.as_ref().map(content), after.as_ref().map(content));
    let settled =
        |now: Option<&StoredEvent<'_>>| without_writing(&now.map(|now| content(&now.series)), &old, &new);
    let settled_now = settled(now.as_ref());
    if settled_now == Some(Outcome::Changed) {
        return Ok(Outcome::Changed);
    }
    let Hearing { by_mail: hear, by_server, unaware } = hearers(call, account, versions, told).await?;
    let may_not_know =
        |guests: &[String]| (!guests.is_empty()).then(|| l10n::undo::may_not_know(guests.join(", ")));
    // It may have been put back before a crash. A call before this one may have failed before it told anybody.
    if settled_now.is_some() && !call.is_retry {
        telling.notes.extend(may_not_know(&[hear, unaware].concat()));
        return Ok(Outcome::Done);
    }
    let place = (scope.account(), now.as_ref().and_then(StoredEvent::calendar_name));
    let found = now.as_ref().map(|now| &now.series);
    let (left, back) = match (found, before) {
        (found, _) if settled_now.is_some() => (after.as_ref(), found.cloned()),
        (Some(found), Some(mut back)) => {
            back.follow(found, call.now());
            (Some(found), Some(back))
        }
        (None, Some(mut back)) if !hear.is_empty() => {
            // To its guests it was canceled, under the next number.
            let mut canceled = back.clone();
            canceled.follow(&back, call.now());
            back.follow(&canceled, call.now());
            (None, Some(back))
        }
        versions => versions,
    };
    let notices = notices(call, (left, back.as_ref()), &hear)?;
    let change = match (&now, &back) {
        _ if settled_now.is_some() => None,
        (Some(now), Some(back)) => Some(Change::Update(now, back)),
        (Some(now), None) => Some(Change::Delete(now)),
        (None, Some(back)) => Some(Change::Create(back, scope.account(), None)),
        (None, None) => None,
    };
    // As every cancellation, before the event is gone, and with it how often it was changed.
    let (early, late) = if back.is_none() { (notices, Vec::new()) } else { (Vec::new(), notices) };
    telling.notes.extend(notify(call, place, early, telling.number, telling.approved).await?.notes);
    let written = match change {
        Some(change) => backend::apply(call, change, writes).await,
        None => Ok(()),
    };
    match written {
        Ok(()) => {}
        // Whether somebody else was faster, the event itself says: the server may just have failed.
        Err(Failure::Skill(error)) if matches!(error.kind, ErrorKind::Tool | ErrorKind::NotFound) => {
            match settled(backend::find(call, &scope, uid).await?.as_ref()) {
                Some(Outcome::Done) => {}
                outcome => return outcome.ok_or_else(|| error.into()),
            }
        }
        Err(error) => return Err(error),
    }
    telling.notes.extend(notify(call, place, late, telling.number, telling.approved).await?.notes);
    telling.notes.extend(by_server.then(l10n::undo::guests_told).or_else(|| may_not_know(&unaware)));
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(hour: u32, alarm: &str) -> Series {
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:u\r\nDTSTAMP:20261101T000000Z\r\n\
             DTSTART:20261127T{hour}0000Z\r\nDTEND:20261127T{hour}3000Z\r\nSUMMARY:Demo\r\n\
             ORGANIZER:mailto:ada@x.test\r\nATTENDEE:mailto:bob@x.test\r\n{alarm}END:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        Series::read(&text).unwrap()
    }

    #[test]
    fn guests_see_all_but_reminders() {
        let alarm = "SEQUENCE:1\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:x\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\n";
        let (plain, reminding, moved) = (series(14, ""), series(14, alarm), series(15, ""));
        let is_seen = |before: Option<&Series>, after| seen_by_guests(before, after).is_some();
        assert!(!is_seen(Some(&plain), Some(&reminding)));
        assert!(
            is_seen(None, Some(&plain)) && is_seen(Some(&plain), None) && is_seen(Some(&plain), Some(&moved))
        );
    }

    #[test]
    fn guests_of_one_day_see_a_change_of_it_and_answer_for_it() {
        let event = |more: &str| {
            format!(
                "BEGIN:VEVENT\r\nUID:u\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:20261127T140000Z\r\n\
                 DTEND:20261127T143000Z\r\nSUMMARY:Demo\r\n{more}END:VEVENT\r\n"
            )
        };
        let weekly = |one: &str| {
            let all = event("RRULE:FREQ=WEEKLY\r\n");
            let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{all}{one}END:VCALENDAR\r\n");
            Series::read(&text).unwrap()
        };
        let invited = |answer: &str| {
            weekly(&event(&format!(
                "RECURRENCE-ID:20261127T140000Z\r\nORGANIZER:mailto:ada@x.test\r\n\
                 ATTENDEE;PARTSTAT={answer}:mailto:bob@x.test\r\n"
            )))
        };
        let (nobody, open, answered) = (weekly(""), invited("NEEDS-ACTION"), invited("ACCEPTED"));
        assert!(seen_by_guests(Some(&nobody), Some(&open)).is_some());
        assert_eq!(changed_day(&nobody, &open), open.overrides().unwrap()[0].instance);
        assert_eq!(changed_day(&series(14, ""), &series(15, "")), None);
        assert!(content(&open) != content(&answered), "the answer would be overwritten");
    }

    #[test]
    fn a_server_need_not_keep_the_sequence() {
        assert!(content(&series(14, "SEQUENCE:3\r\n")) == content(&series(14, "")));
        assert!(content(&series(15, "")) != content(&series(14, "")));
        // Nor what it was told of those who take part.
        let answered = "ATTENDEE;CN=Cat;PARTSTAT=ACCEPTED:mailto:cat@x.test\r\n";
        assert!(content(&series(14, answered)) == content(&series(14, "ATTENDEE:mailto:cat@x.test\r\n")));
    }
}
