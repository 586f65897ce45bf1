//! Puts an event back as it was.

use adjutant_dav::{CalendarEvent, Series};
use adjutant_store::Batch;

use super::backend::{self, Change, StoredEvent};
use crate::builtin::CallContext;
use crate::builtin::undo::{Outcome, without_writing};
use crate::{ErrorKind, Failure};

/// The content of an event, without the wording: servers may write the same event in other words.
fn content(series: &Series) -> Option<(CalendarEvent, Vec<CalendarEvent>)> {
    Some((series.event().ok()?, series.overrides().ok()?))
}

/// Puts an event back, if it is as `after` says and nobody was invited: people who know of it aren't told again.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    uid: &str,
    before: Option<&str>,
    after: Option<&str>,
    writes: &mut Batch,
) -> Result<Outcome, Failure> {
    let read = |text: Option<&str>| text.and_then(|text| Series::read(text).ok());
    let (before, after) = (read(before), read(after));
    let now: Option<StoredEvent> = backend::find(call, uid).await?;
    let current = now.as_ref().map(|now| content(&now.series));
    if let Some(outcome) =
        without_writing(&current, &before.as_ref().map(content), &after.as_ref().map(content))
    {
        return Ok(outcome);
    }
    let invites = |series: &Series| series.event().is_ok_and(|event| !event.attendees.is_empty());
    if before.iter().chain(&after).any(invites) {
        return Ok(Outcome::Impossible);
    }
    let change = match (&now, &before) {
        (Some(now), Some(before)) => Change::Update(now, before),
        (Some(now), None) => Change::Delete(now),
        (None, Some(before)) => Change::Create(before, None),
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
