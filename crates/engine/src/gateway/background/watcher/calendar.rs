//! Calendars that are watched.

use std::collections::BTreeMap;

use adjutant_skills::Failure;
use adjutant_skills::accounts::ConnectedAccount;
use adjutant_skills::builtin::{CalendarAccount, ComingEvent, coming_to};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Result, executions, people};
use adjutant_types::text::one_line;
use adjutant_types::{ItemNoun, Mark, PersonId, WatchAction, WatchItem, WatchTrigger};
use chrono_tz::Tz;

use super::{At, Finding, MINUTE_MS, Watcher, item, own_addresses};
use crate::watching::matching::{OwnAddresses, suits};

/// How long what was read is believed where a calendar says that it hasn't changed: the period goes on.
const BELIEVED_MS: i64 = 15 * MINUTE_MS;
/// Which events are read: those that begin from an hour ago to so far ahead.
const BEHIND_MS: i64 = 60 * MINUTE_MS;
const AHEAD_MS: i64 = 60 * 24 * 60 * MINUTE_MS;
/// How long after its beginning an event is still told to begin.
const LATE_MS: i64 = 5 * MINUTE_MS;

/// Of each event by its key: when it begins, what changes with it, and its title.
type Seen = BTreeMap<String, (i64, String, String)>;

/// What was read of a calendar.
#[derive(Default)]
pub(super) struct Agenda {
    events: Vec<ComingEvent>,
    tag: String,
    read_at: i64,
}

impl Watcher {
    pub(super) async fn look_at_own_calendar(&self, at: At<'_>) -> Result<()> {
        let (now, person) = (self.store().now(), PersonId::from(at.0.place.as_str()));
        let watches = watches::active_on(self.store(), at.0).await?;
        let events = coming_to(self.store(), &person, period(now), self.zone(&person).await?).await?;
        self.take_events(at, &events, &watches, &OwnAddresses::default()).await
    }

    pub(super) async fn look_at_calendar(
        &self,
        at: At<'_>,
        calendar: &CalendarAccount,
        (account, watches): (&ConnectedAccount, &[WatchRow]),
        agenda: &mut Agenda,
    ) -> Result<(), Failure> {
        let (now, Some(watch)) = (self.store().now(), watches.first()) else { return Ok(()) };
        // After a clock was set back, nobody knows.
        if !(0..BELIEVED_MS).contains(&(now - agenda.read_at)) {
            agenda.tag.clear();
            agenda.read_at = now;
        }
        let zone = self.zone(&watch.person_id).await?;
        if let Some(events) = calendar.coming(&at.0.place, &mut agenda.tag, period(now), zone).await? {
            agenda.events = events;
        }
        Ok(self.take_events(at, &agenda.events, watches, &own_addresses(account)).await?)
    }

    async fn zone(&self, person: &PersonId) -> Result<Tz> {
        Ok(self.conversations.zone_of(&people::person_by_id(self.store(), person).await?))
    }

    async fn take_events(
        &self,
        at: At<'_>,
        events: &[ComingEvent],
        watches: &[WatchRow],
        own: &OwnAddresses,
    ) -> Result<()> {
        let (store, now) = (self.store(), self.store().now());
        let row = watches::source(store, at.0).await?;
        let before = if let Some(Mark::Seen(seen)) = &row.mark { seen } else { &Seen::new() };
        let (mut found, mut seen) = (Vec::new(), Seen::new());
        if at.0.trigger == WatchTrigger::EventChanges {
            let name_of = |event: &ComingEvent| format!("{}|{}", event.uid, event.instance);
            // If two have one name, the same one counts in whatever order they come.
            let mut sorted: Vec<&ComingEvent> = events.iter().collect();
            sorted.sort_by_cached_key(|event| state(event));
            let named: BTreeMap<_, _> = sorted.into_iter().map(|event| (name_of(event), event)).collect();
            seen.extend(named.iter().map(|(name, event)| (name.clone(), state(event))));
            for (name, was) in before {
                let event = match named.get(name) {
                    Some(event) if state(event) != *was => (*event).clone(),
                    // Called off.
                    None if was.0 >= now => ComingEvent {
                        uid: name.rsplit_once('|').map(|(uid, _)| uid.to_owned()).unwrap_or_default(),
                        starts_at: was.0,
                        title: was.2.clone(),
                        ..ComingEvent::default()
                    },
                    _ => continue,
                };
                let by = executions::changers_of(store, &event.uid, now - BELIEVED_MS - MINUTE_MS).await?;
                // What we did for somebody else is news, unless two watches could go on changing it for ever.
                let is_news = |watch: &&WatchRow| {
                    by.is_empty() || (watch.action == WatchAction::Tell && !by.contains(&watch.person_id))
                };
                let key = format!("{name}|{now}");
                let wanted = watches.iter().filter(is_news);
                found.extend(wanted.filter_map(|watch| finding(watch, &event, &key, own)));
            }
        } else {
            for event in events.iter().filter(|event| now < event.starts_at + LATE_MS) {
                // An event that is moved is told for its new time.
                let key = format!("{}|{}", event.uid, event.starts_at);
                for watch in watches {
                    let begins = event.starts_at - i64::from(watch.condition.minutes) * MINUTE_MS;
                    let finding = if begins <= now { finding(watch, event, &key, own) } else { None };
                    let Some(finding) = finding else { continue };
                    let name = format!("{} {key}", watch.id);
                    found.extend((!before.contains_key(&name)).then_some(finding));
                    seen.insert(name, state(event));
                }
            }
        }
        self.commit(at.1, &row, &Mark::Seen(seen), &found).await
    }
}

fn period(now: i64) -> (i64, i64) {
    (now - BEHIND_MS, now + AHEAD_MS)
}

fn state(event: &ComingEvent) -> (i64, String, String) {
    (event.starts_at, event.digest.clone(), one_line(&event.title, 60))
}

/// That a watch has found an event, if that fits.
fn finding<'a>(watch: &'a WatchRow, of: &ComingEvent, key: &str, own: &OwnAddresses) -> Option<Finding<'a>> {
    let ComingEvent { uid, title, text, people, starts_at, .. } = of;
    let from = people.first().map(ToString::to_string).unwrap_or_default();
    let account = watch.source.account.clone();
    let thing = WatchItem { account, ..item(ItemNoun::Event, uid, (&from, title, text), *starts_at) };
    suits(&watch.condition, (people, title, text), own).then(|| Finding { watch, key: key.to_owned(), thing })
}
