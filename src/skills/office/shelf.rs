//! Where calendar objects lie: on a server, or in our own store.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_dav::{CalDav, Collection, Created, Series, Span, When, Written};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::{ErrorKind, SkillError, Trouble};
use crate::journal::Scope;
use crate::store::Batch;
use crate::store::objects::{self, Life, ObjectRow};

/// So long a server's list of calendars is taken to be what it was.
const FRESH: Duration = Duration::from_mins(5);

/// The calendars of an account on a server.
pub struct Calendars {
    dav: CalDav,
    default: String,
    known: moka::future::Cache<(), Arc<Vec<Collection>>>,
}

/// One object, and where it lies.
pub(super) struct Object {
    pub(super) series: Series,
    /// The calendar's name; our own store has one without a name.
    pub(super) calendar: String,
    place: Place,
}

impl Object {
    /// The calendar's name, if it has one.
    pub(super) fn calendar_name(&self) -> Option<&str> {
        Some(self.calendar.as_str()).filter(|name| !name.is_empty())
    }
}

enum Place {
    Server { url: String, etag: Option<String> },
    Own(ObjectRow),
}

/// What is to be done to a shelf.
pub(super) enum Change<'a> {
    /// Put a new object there, into the calendar of that name.
    Create(&'a Series, Option<&'a str>),
    /// Put a new state in place of an object.
    Update(&'a Object, &'a Series),
    /// Take an object away.
    Delete(&'a Object),
}

/// The shelf of one person.
pub(super) enum Shelf<'a> {
    Server(&'a Calendars),
    Own(&'a Scope),
}

impl Calendars {
    /// An account, whose new events go into the calendar of that name; an empty one is the first.
    pub fn new(dav: CalDav, default: String) -> Self {
        Self {
            dav,
            default,
            known: moka::future::Cache::builder().time_to_live(FRESH).max_capacity(1).build(),
        }
    }

    async fn all(&self) -> Result<Arc<Vec<Collection>>, Trouble> {
        let ask = async { self.dav.calendars().await.map(Arc::new) };
        let all = self.known.try_get_with((), ask).await;
        all.map_err(|fault| Trouble::Skill(fault.as_ref().clone().into()))
    }

    /// The calendars of that name, or all.
    async fn named(&self, name: Option<&str>) -> Result<Vec<Collection>, Trouble> {
        let all = self.all().await?;
        let Some(name) = name else { return Ok(all.to_vec()) };
        let same = |one: &&Collection| one.name.to_lowercase() == name.to_lowercase();
        let found: Vec<Collection> = all.iter().filter(same).cloned().collect();
        if found.is_empty() {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            let message = format!("there is no calendar “{name}”; there are {}", names.join(", "));
            return Err(SkillError::new(ErrorKind::NotFound, message).into());
        }
        Ok(found)
    }

    /// Where new events go.
    async fn usual(&self, name: Option<&str>) -> Result<Collection, Trouble> {
        let default = Some(self.default.as_str()).filter(|name| !name.is_empty());
        let found = self.named(name.or(default)).await?;
        let none = || SkillError::new(ErrorKind::NotFound, "the account has no calendar");
        found.into_iter().next().ok_or_else(|| none().into())
    }

    /// Whether the server itself tells the attendees of the usual calendar.
    pub(super) async fn sends_invitations(&self, name: Option<&str>) -> Result<bool, Trouble> {
        let calendar = self.usual(name).await?;
        Ok(self.dav.sends_invitations(&calendar.url).await?)
    }

    /// Whether the account works.
    pub(super) async fn check(&self) -> Finding {
        match self.dav.calendars().await {
            Ok(all) if all.is_empty() => {
                Finding::warning("logged in, but there is no calendar", "make one on the server")
            }
            Ok(all) => {
                let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
                let is_there = |one: &&str| one.to_lowercase() == self.default.to_lowercase();
                match self.default.is_empty() || names.iter().any(is_there) {
                    true => Finding::ok(format!("logged in; calendars: {}", names.join(", "))),
                    false => Finding::error(
                        format!("there is no calendar “{}”", self.default),
                        format!("set [calendar] default to one of {}", names.join(", ")),
                    ),
                }
            }
            Err(fault) => {
                Finding::error(fault.to_string(), "check [calendar] url, user, password and ca_file")
            }
        }
    }
}

impl Shelf<'_> {
    /// What may take place in a window, in the calendar of that name or in all. What can't be read is left out.
    pub(super) async fn list(&self, window: Span, calendar: Option<&str>) -> Result<Vec<Object>, Trouble> {
        match self {
            Self::Own(scope) => {
                let (from, to) = (window.from.timestamp_millis(), window.to.timestamp_millis());
                let rows = objects::between(&scope.store, &scope.person.id, "event", from, to).await?;
                Ok(rows.into_iter().filter_map(own).collect())
            }
            Self::Server(calendars) => {
                let mut found = Vec::new();
                for calendar in calendars.named(calendar).await? {
                    for resource in calendars.dav.list(&calendar.url, window).await? {
                        found.extend(Object::of_server(&resource, &calendar.name));
                    }
                }
                Ok(found)
            }
        }
    }

    /// The object with that UID.
    pub(super) async fn find(&self, uid: &str) -> Result<Option<Object>, Trouble> {
        match self {
            Self::Own(scope) => {
                let row = objects::by_id(&scope.store, &scope.person.id, "event", uid).await?;
                Ok(row.and_then(own))
            }
            Self::Server(calendars) => {
                for calendar in calendars.all().await?.iter() {
                    if let Some(resource) = calendars.dav.find(&calendar.url, uid).await? {
                        return Ok(Object::of_server(&resource, &calendar.name));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Makes a change: on the server, or in our own store. That is added to the batch which is written with the
    /// call's row, or, where the call also reaches outside and so has none, written at once.
    pub(super) async fn change(&self, change: Change<'_>, batch: Option<&mut Batch>) -> Result<(), Trouble> {
        let scope = match self {
            Self::Own(scope) => scope,
            Self::Server(calendars) => return write_to_server(calendars, change).await,
        };
        if let Some(batch) = batch {
            return write_own(scope, change, batch);
        }
        if let Change::Create(series, _) = &change
            && self.find(&series.uid()).await?.is_some()
        {
            // An earlier try of this very call has made it.
            return Ok(());
        }
        let mut now = scope.batch();
        write_own(scope, change, &mut now)?;
        scope.store.write(now).await?;
        Ok(())
    }
}

fn write_own(scope: &Scope, change: Change<'_>, batch: &mut Batch) -> Result<(), Trouble> {
    let person = &scope.person.id;
    match change {
        Change::Create(series, _) => {
            let life = life(series, scope.zone)?;
            objects::insert(batch, person, "event", (&series.uid(), &series.text()), life);
        }
        Change::Update(Object { place: Place::Own(row), .. }, series) => {
            let life = life(series, scope.zone)?;
            objects::update(batch, person, "event", (row, &series.text()), life);
        }
        Change::Delete(Object { place: Place::Own(row), .. }) => {
            objects::delete(batch, person, "event", row);
        }
        Change::Update(..) | Change::Delete(..) => {}
    }
    Ok(())
}

async fn write_to_server(calendars: &Calendars, change: Change<'_>) -> Result<(), Trouble> {
    let written = match change {
        Change::Create(series, name) => {
            let calendar = calendars.usual(name).await?;
            // An earlier try of this very call may have made it.
            return match calendars.dav.create(&calendar.url, series).await? {
                Created::Made { .. } | Created::AlreadyThere(_) => Ok(()),
            };
        }
        Change::Update(Object { place: Place::Server { url, etag }, .. }, series) => {
            calendars.dav.update(url, etag.as_deref(), series).await?
        }
        Change::Delete(Object { place: Place::Server { url, etag }, .. }) => {
            match calendars.dav.delete(url, etag.as_deref()).await? {
                Written::Gone => Written::Done(None),
                written => written,
            }
        }
        Change::Update(..) | Change::Delete(..) => Written::Gone,
    };
    match written {
        Written::Done(_) => Ok(()),
        Written::Conflict(now) => Err(conflict(&now.text).into()),
        Written::Gone => {
            Err(SkillError::new(ErrorKind::NotFound, "the event was deleted meanwhile, by somebody else")
                .into())
        }
    }
}

fn conflict(text: &str) -> SkillError {
    let now = Series::read(text).and_then(|series| series.occasion());
    let now =
        now.map(|it| format!(": it is now “{}”, {}", it.title, it.start.local().format("%-d %b %Y, %H:%M")));
    let message = format!(
        "somebody else changed the event at the same time, so nothing was done{}. Look at it and ask again",
        now.unwrap_or_default()
    );
    SkillError::new(ErrorKind::Tool, message)
}

impl Object {
    fn of_server(resource: &adjutant_dav::Resource, calendar: &str) -> Option<Self> {
        let series = Series::read(&resource.text).ok()?;
        let place = Place::Server { url: resource.url.clone(), etag: resource.etag.clone() };
        Some(Self { series, calendar: calendar.to_owned(), place })
    }
}

fn own(row: ObjectRow) -> Option<Object> {
    let series = Series::read(&row.text).ok()?;
    Some(Object { series, calendar: String::new(), place: Place::Own(row) })
}

/// When an event first starts, and when it is over for good: never, where it recurs.
fn life(series: &Series, home: Tz) -> Result<Life, Trouble> {
    // Where the zone is another one day, a day more is enough.
    const DAY: i64 = 24 * 3_600 * 1_000;
    let millis = |when: &When| when.instant(home).timestamp_millis();
    let occasion = series.occasion()?;
    let mut first = millis(&occasion.start);
    for one in series.overrides()? {
        first = first.min(millis(&one.start));
    }
    let over_at = occasion.rule.is_none().then(|| millis(&occasion.end) + DAY);
    Ok(Life { starts_at: Some(first - DAY), over_at })
}

/// A span that does not end before it begins.
pub(super) fn span(from: DateTime<Utc>, to: DateTime<Utc>) -> Span {
    Span { from, to: to.max(from) }
}
