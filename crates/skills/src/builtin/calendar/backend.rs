//! The storage of events: on a server, or in our own store.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_dav::{CalDav, Collection, CreateOutcome, EventTime, Series, TimeRange, WriteOutcome};
use adjutant_l10n as l10n;
use adjutant_store::Batch;
use adjutant_store::objects::{self, ObjectRow, TimeSpan};
use adjutant_types::{FromCall, Own, ours};
use chrono_tz::Tz;

use super::event;
use crate::builtin::{CallContext, Idempotency, Location};
use crate::{Failure, SkillError};

/// How long a server's list of calendars is cached.
const CACHE_TIME: Duration = Duration::from_mins(5);

/// The kind of our own store's calendar objects.
const EVENT: &str = "event";

/// The calendars of an account on a server.
pub struct CalendarAccount {
    dav: CalDav,
    default: String,
    cache: moka::future::Cache<(), Arc<Vec<Collection>>>,
}

/// An event or a series, and its storage.
pub(super) struct StoredEvent {
    pub(super) series: Series,
    /// The calendar's name; empty in our own store, which has one calendar without a name.
    pub(super) calendar: String,
    location: Location,
}

impl StoredEvent {
    pub(super) fn calendar_name(&self) -> Option<&str> {
        Some(self.calendar.as_str()).filter(|name| !name.is_empty())
    }

    fn on_server(resource: &adjutant_dav::Resource, calendar: &str) -> Option<Self> {
        let series = Series::read(&resource.text).ok()?;
        let location = Location::Server { url: resource.url.clone(), etag: resource.etag.clone() };
        Some(Self { series, calendar: calendar.to_owned(), location })
    }

    fn in_own_store(row: ObjectRow) -> Option<Self> {
        let series = Series::read(&row.text).ok()?;
        Some(Self { series, calendar: String::new(), location: Location::OwnStore(row) })
    }
}

/// A change of the stored events.
pub(super) enum Change<'a> {
    /// Add a series to the calendar of that name.
    Create(&'a Series, Option<&'a str>),
    /// Replace a series.
    Update(&'a StoredEvent, &'a Series),
    /// Remove a series.
    Delete(&'a StoredEvent),
}

impl CalendarAccount {
    /// An account whose new events go into the calendar of that name, or into the first if it is empty.
    pub fn new(dav: CalDav, default: String) -> Self {
        let cache = moka::future::Cache::builder().time_to_live(CACHE_TIME).max_capacity(1).build();
        Self { dav, default, cache }
    }

    async fn all(&self) -> Result<Arc<Vec<Collection>>, Failure> {
        let load = async { self.dav.calendars().await.map(Arc::new) };
        let all = self.cache.try_get_with((), load).await;
        all.map_err(|error| error.as_ref().clone().into())
    }

    async fn named(&self, name: Option<&str>) -> Result<Vec<Collection>, Failure> {
        let all = self.all().await?;
        let Some(name) = name else { return Ok(all.to_vec()) };
        let is_named = |calendar: &&Collection| calendar.name.to_lowercase() == name.to_lowercase();
        let found: Vec<Collection> = all.iter().filter(is_named).cloned().collect();
        if found.is_empty() {
            let names: Vec<&str> = all.iter().map(|calendar| calendar.name.as_str()).collect();
            let message = ours!(l10n::calendar::no_such_calendar, FromCall(name), names.join(", "));
            return Err(SkillError::not_found(message).into());
        }
        Ok(found)
    }

    /// The calendar for new events.
    async fn target(&self, name: Option<&str>) -> Result<Collection, Failure> {
        let default = Some(self.default.as_str()).filter(|name| !name.is_empty());
        let found = self.named(name.or(default)).await?;
        let missing = || SkillError::not_found(ours!(l10n::calendar::no_calendar));
        found.into_iter().next().ok_or_else(|| missing().into())
    }

    /// Whether the server itself sends invitations for that calendar.
    pub(super) async fn sends_invitations(&self, name: Option<&str>) -> Result<bool, Failure> {
        let calendar = self.target(name).await?;
        Ok(self.dav.sends_invitations(&calendar.url).await?)
    }

    /// Whether the account works.
    pub(in crate::builtin) async fn check(&self) -> Finding {
        let all = match self.dav.calendars().await {
            Ok(all) => all,
            Err(error) => {
                return Finding::error(error.to_string(), "check [calendar] url, user, password and ca_file");
            }
        };
        if all.is_empty() {
            return Finding::warning("logged in, but there is no calendar", "create one on the server");
        }
        let names: Vec<&str> = all.iter().map(|calendar| calendar.name.as_str()).collect();
        let is_default = |name: &&str| name.to_lowercase() == self.default.to_lowercase();
        match self.default.is_empty() || names.iter().any(is_default) {
            true => Finding::ok(format!("logged in; calendars: {}", names.join(", "))),
            false => Finding::error(
                format!("there is no calendar “{}”", self.default),
                format!("set [calendar] default to one of {}", names.join(", ")),
            ),
        }
    }
}

/// The events that may take place in a period, in the calendar of that name or in all. Unreadable events are left out.
pub(super) async fn list(
    call: &CallContext<'_>,
    period: TimeRange,
    calendar: Option<&str>,
) -> Result<Vec<StoredEvent>, Failure> {
    let Some(account) = &call.services.calendar else {
        let (from, to) = (period.from.timestamp_millis(), period.to.timestamp_millis());
        let rows = objects::between(call.store(), &call.ctx.turn.person.id, EVENT, from, to).await?;
        return Ok(rows.into_iter().filter_map(StoredEvent::in_own_store).collect());
    };
    let mut found = Vec::new();
    for calendar in account.named(calendar).await? {
        for resource in account.dav.list(&calendar.url, period).await? {
            found.extend(StoredEvent::on_server(&resource, &calendar.name));
        }
    }
    Ok(found)
}

pub(super) async fn find(call: &CallContext<'_>, uid: &str) -> Result<Option<StoredEvent>, Failure> {
    let Some(account) = &call.services.calendar else {
        let row = objects::by_id(call.store(), &call.ctx.turn.person.id, EVENT, uid).await?;
        return Ok(row.and_then(StoredEvent::in_own_store));
    };
    for calendar in account.all().await?.iter() {
        if let Some(resource) = account.dav.find(&calendar.url, uid).await? {
            return Ok(StoredEvent::on_server(&resource, &calendar.name));
        }
    }
    Ok(None)
}

/// Makes a change, on the server or in our own store. A change of our own store is committed with the call's row, or
/// at once if the call also reaches outside.
pub(super) async fn apply(
    call: &CallContext<'_>,
    change: Change<'_>,
    writes: &mut Batch,
) -> Result<(), Failure> {
    if let Some(account) = &call.services.calendar {
        return apply_on_server(call, account, change).await;
    }
    if call.effect == Idempotency::OwnStore {
        return apply_in_own_store(call, change, writes);
    }
    if let Change::Create(series, _) = &change
        && find(call, &series.uid()).await?.is_some()
    {
        // An earlier attempt of this call made it.
        return Ok(());
    }
    let mut now = call.ctx.batch();
    apply_in_own_store(call, change, &mut now)?;
    call.store().write(now).await?;
    Ok(())
}

fn apply_in_own_store(call: &CallContext<'_>, change: Change<'_>, writes: &mut Batch) -> Result<(), Failure> {
    let person = &call.ctx.turn.person.id;
    match change {
        Change::Create(series, _) => {
            let span = time_span(series, call.zone())?;
            objects::insert(writes, person, EVENT, (&series.uid(), &series.text()), span);
        }
        Change::Update(StoredEvent { location: Location::OwnStore(row), .. }, series) => {
            let span = time_span(series, call.zone())?;
            objects::update(writes, person, EVENT, (row, &series.text()), span);
        }
        Change::Delete(StoredEvent { location: Location::OwnStore(row), .. }) => {
            objects::delete(writes, person, EVENT, row);
        }
        Change::Update(..) | Change::Delete(..) => {}
    }
    Ok(())
}

async fn apply_on_server(
    call: &CallContext<'_>,
    account: &CalendarAccount,
    change: Change<'_>,
) -> Result<(), Failure> {
    let written = match change {
        Change::Create(series, name) => {
            let calendar = account.target(name).await?;
            // It is already there if an earlier attempt of this call made it.
            return match account.dav.create(&calendar.url, series).await? {
                CreateOutcome::Created { .. } | CreateOutcome::AlreadyExists(_) => Ok(()),
            };
        }
        Change::Update(StoredEvent { location: Location::Server { url, etag }, .. }, series) => {
            account.dav.update(url, etag.as_deref(), series).await?
        }
        Change::Delete(StoredEvent { location: Location::Server { url, etag }, .. }) => {
            match account.dav.delete(url, etag.as_deref()).await? {
                WriteOutcome::Gone => return Ok(()),
                written => written,
            }
        }
        Change::Update(..) | Change::Delete(..) => WriteOutcome::Gone,
    };
    match written {
        WriteOutcome::Done(_) => Ok(()),
        WriteOutcome::Conflict(now) => Err(conflict(&now.text, call.zone()).into()),
        WriteOutcome::Gone => Err(SkillError::not_found(ours!(l10n::calendar::deleted_meanwhile)).into()),
    }
}

fn conflict(text: &str, zone: Tz) -> SkillError {
    SkillError::tool(match Series::read(text).and_then(|series| series.event()) {
        Ok(now) => {
            let start = Own(event::spoken_at(&now.start, zone));
            ours!(l10n::calendar::changed_meanwhile_to, now.title, start)
        }
        Err(_) => ours!(l10n::calendar::changed_meanwhile),
    })
}

/// When an event first starts, and when it is over for good: never if it recurs.
fn time_span(series: &Series, zone: Tz) -> Result<TimeSpan, Failure> {
    // The person's zone may be another one some day: a day more is enough.
    const DAY: i64 = 24 * 3_600 * 1_000;
    let millis = |when: &EventTime| when.instant(zone).timestamp_millis();
    let occasion = series.event()?;
    let mut first = millis(&occasion.start);
    for instance in series.overrides()? {
        first = first.min(millis(&instance.start));
    }
    let over_at = occasion.rule.is_none().then(|| millis(&occasion.end) + DAY);
    Ok(TimeSpan { starts_at: Some(first - DAY), over_at })
}
