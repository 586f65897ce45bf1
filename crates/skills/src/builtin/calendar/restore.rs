//! Puts an event back as it was.

use adjutant_dav::{Attendee, CalendarEvent, EventTime, ResponseStatus, Series, Zone};
use adjutant_store::Batch;
use adjutant_types::AccountId;
use chrono_tz::Tz;

use super::backend::{self, Change, Scope, StoredEvent};
use super::invitations::{invites_to, is_visible};
use crate::accounts::ConnectedAccount;
use crate::builtin::CallContext;
use crate::builtin::undo::{Outcome, without_writing};
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

/// How putting an event back ends. We tell no guests of it, but their server may.
async fn done(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    before: Option<&Series>,
    after: Option<&Series>,
) -> Result<Outcome> {
    match seen_by_guests(before, after).filter(|event| invites_to(call, account, event)) {
        Some(_) => Ok(Outcome::Seen { are_told: backend::sends_invitations(account, None).await? }),
        None => Ok(Outcome::Done),
    }
}

fn read(text: Option<&str>) -> Option<Series> {
    text.and_then(|text| Series::read(text).ok())
}

/// Whether guests hear of it if an event is put back.
pub(in crate::builtin) async fn tells_guests(
    call: &CallContext<'_>,
    account: &AccountId,
    (before, after): (Option<&str>, Option<&str>),
) -> Result<bool> {
    let Some(scope) = Scope::of_change(call, account) else { return Ok(false) };
    let done = done(call, scope.account(), read(before).as_ref(), read(after).as_ref()).await?;
    Ok(done == Outcome::Seen { are_told: true })
}

/// Puts an event back, if it is as `after` says.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    account: &AccountId,
    uid: &str,
    (before, after): (Option<&str>, Option<&str>),
    writes: &mut Batch,
) -> Result<Outcome> {
    let Some(scope) = Scope::of_change(call, account) else { return Ok(Outcome::Impossible) };
    let (mut before, after) = (read(before), read(after));
    let now: Option<StoredEvent<'_>> = backend::find(call, &scope, uid).await?;
    let (old, new) = (before.as_ref().map(content), after.as_ref().map(content));
    let settled =
        |now: Option<&StoredEvent<'_>>| without_writing(&now.map(|now| content(&now.series)), &old, &new);
    let settled_now = settled(now.as_ref());
    // It may have been put back before a crash.
    if let Some(outcome) = settled_now.filter(|outcome| !call.is_retry || *outcome != Outcome::Done) {
        return Ok(outcome);
    }
    let done = done(call, scope.account(), before.as_ref(), after.as_ref()).await?;
    if settled_now.is_some() {
        return Ok(done);
    }
    if let (Some(now), Some(before)) = (&now, &mut before) {
        before.follow(&now.series, call.now());
    }
    let change = match (&now, &before) {
        (Some(now), Some(before)) => Change::Update(now, before),
        (Some(now), None) => Change::Delete(now),
        (None, Some(before)) => Change::Create(before, scope.account(), None),
        (None, None) => return Ok(done),
    };
    match backend::apply(call, change, writes).await {
        Ok(()) => Ok(done),
        // Whether somebody else was faster, the event itself says: the server may just have failed.
        Err(Failure::Skill(error)) if matches!(error.kind, ErrorKind::Tool | ErrorKind::NotFound) => {
            match settled(backend::find(call, &scope, uid).await?.as_ref()) {
                Some(Outcome::Done) => Ok(done),
                outcome => outcome.ok_or_else(|| error.into()),
            }
        }
        Err(error) => Err(error),
    }
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
