//! The storage of events: in accounts on servers, or in our own store.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_dav::{Collection, CreateOutcome, EventTime, Series, TimeRange, WriteOutcome};
use adjutant_l10n as l10n;
use adjutant_store::Batch;
use adjutant_store::objects::{self, ObjectRow, TimeSpan};
use adjutant_types::{AccountId, AccountService, FromCall, Own, ours};
use chrono_tz::Tz;

use super::event;
use crate::accounts::{Calendars, ConnectedAccount};
use crate::builtin::merged::{merged, of_step};
use crate::builtin::{CallContext, Idempotency, Location};
use crate::{Failure, Result, SkillError};

/// How long a server's list of calendars is cached.
const CACHE_TIME: Duration = Duration::from_mins(5);

/// The kind of our own store's calendar objects.
pub(super) const EVENT: &str = "event";

/// The calendars of an account on a server.
pub struct CalendarAccount {
    pub(super) dav: Calendars,
    default: String,
    cache: moka::future::Cache<(), Arc<Vec<Collection>>>,
}

/// An event or a series, and its storage.
pub(super) struct StoredEvent<'a> {
    pub(super) series: Series,
    /// The account that it is in; none: our own store.
    pub(super) account: Option<&'a ConnectedAccount>,
    /// The calendar's name; empty in our own store, which has one calendar without a name.
    pub(super) calendar: String,
    location: Location,
}

impl<'a> StoredEvent<'a> {
    pub(super) fn calendar_name(&self) -> Option<&str> {
        Some(self.calendar.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether its calendar is one of those that count for free and busy.
    pub(super) fn counts(&self) -> bool {
        let wanted = self.account.and_then(|account| account.busy_calendars.as_ref());
        let is_this = |name: &String| name.to_lowercase() == self.calendar.to_lowercase();
        wanted.is_none_or(|names| names.iter().any(is_this))
    }

    fn on_server(
        account: &'a ConnectedAccount,
        resource: &adjutant_dav::Resource,
        calendar: &str,
    ) -> Option<Self> {
        let series = Series::read(&resource.text).ok()?;
        let location = Location::Server { url: resource.url.clone(), etag: resource.etag.clone() };
        Some(Self { series, account: Some(account), calendar: calendar.to_owned(), location })
    }

    /// One that a call has deleted.
    pub(super) fn gone(series: Series, account: Option<&'a ConnectedAccount>) -> Self {
        let location = Location::Server { url: String::new(), etag: None };
        Self { series, account, calendar: String::new(), location }
    }

    fn in_own_store(row: ObjectRow) -> Option<Self> {
        let series = Series::read(&row.text).ok()?;
        Some(Self { series, account: None, calendar: String::new(), location: Location::OwnStore(row) })
    }
}

/// Where events are looked for. Our own store has what a person entered before they connected an account.
pub(super) struct Scope<'a> {
    accounts: Vec<&'a ConnectedAccount>,
    has_own: bool,
}

impl<'a> Scope<'a> {
    /// Those of a call: the account that it works with or names, or all.
    pub(super) fn of(call: &CallContext<'a>) -> Result<Self, SkillError> {
        let scope = Self::with(call.accounts_of(AccountService::Calendar)?);
        let is_named = call.text("account").is_some();
        Ok(Self { has_own: scope.has_own && !is_named, ..scope })
    }

    pub(super) fn all(call: &CallContext<'a>) -> Self {
        Self::with(call.accounts.all().with(AccountService::Calendar).collect())
    }

    fn with(mut accounts: Vec<&'a ConnectedAccount>) -> Self {
        accounts.sort_by_key(|account| !account.is_events_default);
        // What the configuration names is instead of our own.
        let has_own = !accounts.iter().any(|account| account.is_configured());
        Self { accounts, has_own }
    }

    /// Where a change was made; none if the account is gone.
    pub(super) fn of_change(call: &CallContext<'a>, account: &AccountId) -> Option<Self> {
        let found = of_step(call, AccountService::Calendar, account);
        let is_there = found.is_some() || account.is_empty();
        is_there.then(|| Self { has_own: found.is_none(), accounts: found.into_iter().collect() })
    }

    /// The first account; none where there is just our own store.
    pub(super) fn account(&self) -> Option<&'a ConnectedAccount> {
        self.accounts.first().copied()
    }

    /// Whether there is but one place.
    pub(super) fn is_one(&self) -> bool {
        self.accounts.len() + usize::from(self.has_own) == 1
    }
}

/// A change of the stored events.
pub(super) enum Change<'a> {
    /// Add a series to the calendar of that name in this account, or else to our own store.
    Create(&'a Series, Option<&'a ConnectedAccount>, Option<&'a str>),
    /// Replace a series.
    Update(&'a StoredEvent<'a>, &'a Series),
    Delete(&'a StoredEvent<'a>),
}

impl CalendarAccount {
    /// An account whose new events go into the calendar of that name, or into the first if it is empty.
    pub fn new(dav: Calendars, default: String) -> Self {
        let cache = moka::future::Cache::builder().time_to_live(CACHE_TIME).max_capacity(1).build();
        Self { dav, default, cache }
    }

    async fn all(&self) -> Result<Arc<Vec<Collection>>> {
        let load = async { self.dav.calendars().await.map(Arc::new) };
        let all = self.cache.try_get_with((), load).await;
        all.map_err(|error| error.as_ref().clone().into())
    }

    pub(super) async fn named(&self, name: Option<&str>) -> Result<Vec<Collection>> {
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
    async fn target(&self, name: Option<&str>) -> Result<Collection> {
        let default = Some(self.default.as_str()).filter(|name| !name.is_empty());
        let found = self.named(name.or(default)).await?;
        let missing = || SkillError::not_found(ours!(l10n::calendar::no_calendar));
        found.into_iter().next().ok_or_else(|| missing().into())
    }

    /// Whether the server itself sends invitations for that calendar.
    async fn sends_invitations(&self, name: Option<&str>) -> Result<bool> {
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

fn calendars(account: &ConnectedAccount) -> Result<&CalendarAccount, SkillError> {
    account.calendar.as_deref().ok_or_else(|| SkillError::not_found(ours!(l10n::calendar::no_calendar)))
}

/// The account that a new event goes into: the one with the calendar that the call names, or the usual one.
pub(super) async fn target<'a>(call: &CallContext<'a>) -> Result<Option<&'a ConnectedAccount>> {
    let service = AccountService::Calendar;
    let calendar = call.text("calendar").filter(|_| call.text("account").is_none());
    if let Some(name) = calendar.filter(|_| call.accounts.named().is_none() && call.has_several(service)) {
        let mut having = Vec::new();
        for account in call.accounts_of(service)? {
            if calendars(account)?.named(Some(name)).await.is_ok() {
                having.push(account);
            }
        }
        if let [only] = having.as_slice() {
            return Ok(Some(*only));
        }
    }
    Ok(call.account_for(service)?)
}

/// The events that may take place in a period, in the calendar of that name or in all, and a line about each account that
/// couldn't be read. Unreadable events are left out.
pub(super) async fn list<'a>(
    call: &CallContext<'a>,
    scope: &Scope<'a>,
    period: TimeRange,
    calendar: Option<&str>,
) -> Result<(Vec<StoredEvent<'a>>, Vec<String>)> {
    let mut events = Vec::new();
    // Its one calendar has no name.
    if scope.has_own && (calendar.is_none() || scope.accounts.is_empty()) {
        let (from, to) = (period.from.timestamp_millis(), period.to.timestamp_millis());
        let rows = objects::between(call.store(), &call.ctx.turn.person.id, EVENT, from, to).await?;
        events.extend(rows.into_iter().filter_map(StoredEvent::in_own_store));
    }
    let listed = merged(&scope.accounts, |account| list_in(account, period, calendar)).await?;
    events.extend(listed.found.into_iter().flat_map(|(_, found)| found));
    Ok((events, listed.notes))
}

async fn list_in<'a>(
    account: &'a ConnectedAccount,
    period: TimeRange,
    calendar: Option<&str>,
) -> Result<Vec<StoredEvent<'a>>> {
    let (server, mut found) = (calendars(account)?, Vec::new());
    for calendar in server.named(calendar).await? {
        for resource in server.dav.list(&calendar.url, period).await? {
            found.extend(StoredEvent::on_server(account, &resource, &calendar.name));
        }
    }
    Ok(found)
}

pub(super) async fn find<'a>(
    call: &CallContext<'a>,
    scope: &Scope<'a>,
    uid: &str,
) -> Result<Option<StoredEvent<'a>>> {
    if scope.has_own
        && let Some(found) = find_in_own_store(call, uid).await?
    {
        return Ok(Some(found));
    }
    let mut failed = None;
    for account in &scope.accounts {
        match find_in(account, uid).await {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            // It may be in another one.
            Err(Failure::Skill(error)) => {
                failed.get_or_insert(error);
            }
            Err(failure) => return Err(failure),
        }
    }
    failed.map_or(Ok(None), |error| Err(error.into()))
}

async fn find_in_own_store<'a>(call: &CallContext<'a>, uid: &str) -> Result<Option<StoredEvent<'a>>> {
    let row = objects::by_id(call.store(), &call.ctx.turn.person.id, EVENT, uid).await?;
    Ok(row.and_then(StoredEvent::in_own_store))
}

async fn find_in<'a>(account: &'a ConnectedAccount, uid: &str) -> Result<Option<StoredEvent<'a>>> {
    let server = calendars(account)?;
    for calendar in server.all().await?.iter() {
        if let Some(resource) = server.dav.find(&calendar.url, uid).await? {
            return Ok(StoredEvent::on_server(account, &resource, &calendar.name));
        }
    }
    Ok(None)
}

/// Whether the account's server itself invites the guests of events in that calendar.
pub(super) async fn sends_invitations(
    account: Option<&ConnectedAccount>,
    calendar: Option<&str>,
) -> Result<bool> {
    let Some(server) = account.and_then(|account| account.calendar.as_deref()) else { return Ok(false) };
    server.sends_invitations(calendar).await
}

/// Makes a change, on the server or in our own store. A change of our own store is committed with the call's row, or
/// at once if the call also reaches outside.
pub(super) async fn apply(call: &CallContext<'_>, change: Change<'_>, writes: &mut Batch) -> Result<()> {
    let account = match &change {
        Change::Create(_, account, _) => *account,
        Change::Update(stored, _) | Change::Delete(stored) => stored.account,
    };
    if let Some(account) = account {
        return apply_on_server(call, calendars(account)?, change).await;
    }
    if call.effect == Idempotency::OwnStore {
        return apply_in_own_store(call, change, writes);
    }
    if let Change::Create(series, ..) = &change
        && find_in_own_store(call, &series.uid()).await?.is_some()
    {
        // An earlier attempt of this call made it.
        return Ok(());
    }
    let mut now = call.ctx.batch();
    apply_in_own_store(call, change, &mut now)?;
    call.store().write(now).await?;
    Ok(())
}

fn apply_in_own_store(call: &CallContext<'_>, change: Change<'_>, writes: &mut Batch) -> Result<()> {
    let person = &call.ctx.turn.person.id;
    match change {
        Change::Create(series, ..) => {
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
) -> Result<()> {
    let written = match change {
        Change::Create(series, _, name) => {
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
fn time_span(series: &Series, zone: Tz) -> Result<TimeSpan> {
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
