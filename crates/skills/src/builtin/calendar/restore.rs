//! Puts an event back as it was.

use adjutant_dav::{CalendarEvent, EventTime, ResponseStatus, Series, Zone};
use adjutant_store::Batch;
use adjutant_types::AccountId;
use chrono_tz::Tz;

use super::backend::{self, Change, Scope, StoredEvent};
use super::event;
use super::invitations::is_visible;
use crate::builtin::CallContext;
use crate::builtin::undo::{Outcome, without_writing};
use crate::{ErrorKind, Failure, Result};

/// The content of an event, without the wording: servers may write the same event in other words. Microsoft doesn't keep
/// its SEQUENCE.
fn content(series: &Series) -> Option<(CalendarEvent, Vec<CalendarEvent>)> {
    let unnumbered = |event: CalendarEvent| CalendarEvent { sequence: 0, ..event };
    let overrides = series.overrides().ok()?;
    Some((unnumbered(series.event().ok()?), overrides.into_iter().map(unnumbered).collect()))
}

/// The same, whatever its guests have answered, and in whatever zone its times are.
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
    event.attendees.iter_mut().for_each(|guest| guest.response = ResponseStatus::NeedsAction);
    Some((event, overrides))
}

/// What stands against putting an event back: guests who may know of the change.
fn guests_know(before: Option<&Series>, after: Option<&Series>, zone: Tz) -> Result<Option<Outcome>> {
    let invites = |series: &Series| series.event().is_ok_and(|event| !event.attendees.is_empty());
    if !before.into_iter().chain(after).any(invites) {
        return Ok(None);
    }
    let (Some(before), Some(after)) = (before, after) else { return Ok(Some(Outcome::GuestsKnow(None))) };
    let (old, new) = (before.event()?, after.event()?);
    if !is_visible(&old, &new) && before.overrides()? == after.overrides()? {
        return Ok(None);
    }
    let moved = (old.start != new.start).then(|| event::here(&old.start, zone));
    Ok(Some(Outcome::GuestsKnow(moved)))
}

/// Puts an event back, if it is as `after` says and no guest saw the change: people who know of it aren't told again.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    account: &AccountId,
    uid: &str,
    (before, after): (Option<&str>, Option<&str>),
    writes: &mut Batch,
) -> Result<Outcome> {
    let Some(scope) = Scope::of_change(call, account) else { return Ok(Outcome::Impossible) };
    let read = |text: Option<&str>| text.and_then(|text| Series::read(text).ok());
    let (before, after) = (read(before), read(after));
    let now: Option<StoredEvent<'_>> = backend::find(call, &scope, uid).await?;
    let current = now.as_ref().map(|now| content(&now.series));
    if let Some(outcome) =
        without_writing(&current, &before.as_ref().map(content), &after.as_ref().map(content))
    {
        return Ok(outcome);
    }
    if let Some(outcome) = guests_know(before.as_ref(), after.as_ref(), call.zone())? {
        return Ok(outcome);
    }
    let change = match (&now, &before) {
        (Some(now), Some(before)) => Change::Update(now, before),
        (Some(now), None) => Change::Delete(now),
        (None, Some(before)) => Change::Create(before, scope.account(), None),
        (None, None) => return Ok(Outcome::Done),
    };
    match backend::apply(call, change, writes).await {
        Ok(()) => Ok(Outcome::Done),
        Err(Failure::Skill(error)) if matches!(error.kind, ErrorKind::Tool | ErrorKind::NotFound) => {
            Ok(Outcome::Changed)
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
    fn guests_know_of_all_but_reminders() {
        let alarm = "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:x\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\n";
        let (plain, reminding, moved) = (series(14, ""), series(14, alarm), series(15, ""));
        let outcome = |before: Option<&Series>, after| guests_know(before, after, Tz::UTC).unwrap();
        assert_eq!(outcome(Some(&plain), Some(&reminding)), None);
        assert_eq!(outcome(None, Some(&plain)), Some(Outcome::GuestsKnow(None)));
        let Some(Outcome::GuestsKnow(Some(when))) = outcome(Some(&plain), Some(&moved)) else { panic!() };
        assert_eq!(when.spoken(), "Fri 27 Nov 2026, 14:00");
    }

    #[test]
    fn a_server_need_not_keep_the_sequence() {
        assert!(content(&series(14, "SEQUENCE:3\r\n")) == content(&series(14, "")));
        assert!(content(&series(15, "")) != content(&series(14, "")));
    }
}
