//! Reads what people watch. A mailbox and a calendar of an account have a task each, which waits until something is new; what
//! is in our own store is looked at here.
//!
//! Properties:
//!
//! - What a source brought, and how far it is read, are one commit: nothing is found twice, and nothing is missed.
//! - One instance reads a source: the one that has its lease.
//! - A source that can't be read is tried again after longer and longer waits. After an hour its people are told.

mod calendar;
mod files;
mod local;
mod mail;
mod push;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::backoff::{self, Backoff};
use adjutant_l10n as l10n;
use adjutant_skills::accounts::{ConnectedAccount, MailSource, is_open_to_all};
use adjutant_skills::builtin::watches::described;
use adjutant_skills::{ErrorKind, Failure};
use adjutant_store::leases::{self, Lease};
use adjutant_store::outbox::{self, Message};
use adjutant_store::watches::{self, SourceRow, WatchRow};
use adjutant_store::{Batch, Result, Store, StoreError, connected};
use adjutant_turn::journal::fail_point;
use adjutant_types::clock::utc;
use adjutant_types::text::one_line;
use adjutant_types::{
    AccountState, ItemNoun, Mark, ProviderKind, WatchId, WatchItem, WatchSource, WatchState, WatchTrigger,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::scheduler::unless_stale;
use crate::conversation::Conversations;
use crate::watching::matching::OwnAddresses;
use calendar::Agenda;
pub(crate) use local::watch_room;

/// How often it is looked what is watched.
const LOOK: Duration = Duration::from_secs(5);
/// How often calendars, folders and what is in our own store are looked at, and whether an account can be used again.
const CHECK: Duration = Duration::from_mins(1);
const MINUTE_MS: i64 = 60_000;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// After so long people are told that a source can't be read, in milliseconds.
const AWAY_MS: i64 = 60 * MINUTE_MS;
/// Of more open things than that, the rest is only counted.
const MAX_OPEN: i64 = 100;
/// The longest title, and how much of a text is stored, in characters.
const TITLE: usize = 200;
const SNIPPET: usize = 1_000;

/// A source, and the lease of who reads it.
type At<'a> = (&'a WatchSource, &'a Lease);

pub struct Watcher {
    conversations: Arc<Conversations>,
    /// What is older is no news: all of it, or what came while no process ran.
    since: i64,
    /// The sources of accounts that this instance reads, and when it looked at those in our own store.
    reading: tokio::sync::Mutex<(BTreeMap<WatchSource, AbortOnDropHandle<()>>, i64)>,
    pushes: push::Pushes,
}

struct Finding<'a> {
    watch: &'a WatchRow,
    key: String,
    thing: WatchItem,
}

impl Watcher {
    /// `catch_up`: what came while no process ran is news, too.
    pub fn new(conversations: Arc<Conversations>, catch_up: bool) -> Self {
        let since = if catch_up { 0 } else { conversations.store.now() };
        Self { conversations, since, reading: tokio::sync::Mutex::default(), pushes: push::Pushes::default() }
    }

    fn store(&self) -> &Store {
        &self.conversations.store
    }

    /// Looks every few seconds until it is stopped.
    pub async fn work(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Err(error) = self.look().await {
                tracing::error!(%error, "can't look what is watched; retrying");
            }
            if stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
                break;
            }
        }
        self.reading.lock().await.0.clear();
    }

    /// Begins to read what is watched, ends what isn't any more, and looks at what is in our own store.
    pub async fn look(self: &Arc<Self>) -> Result<()> {
        let (mut reading, now) = (self.reading.lock().await, self.store().now());
        let (tasks, looked_at) = &mut *reading;
        let is_soon = (0..MINUTE_MS).contains(&(now - *looked_at));
        *looked_at = if is_soon { *looked_at } else { now };
        for watch in watches::ending(self.store()).await? {
            if watch.bounds.until.is_some_and(|until| until <= now) {
                let over = WatchRow { state: WatchState::Over, ..watch.clone() };
                self.store().try_write(Batch::with(|batch| watches::change(batch, &watch, &over))).await?;
            }
        }
        let wanted: BTreeSet<WatchSource> = watches::sources(self.store()).await?.into_iter().collect();
        tasks.retain(|source, task| wanted.contains(source) && !task.is_finished());
        let instance = &self.conversations.instance;
        let held = leases::held(self.store()).await?;
        let is_taken = |name: String| held.iter().any(|one| one.0 == name && one.1 != instance.id);
        for source in wanted {
            let is_own = source.account.is_empty();
            // Rooms and webhooks come to us.
            let comes = matches!(source.trigger, WatchTrigger::Room | WatchTrigger::Webhook);
            if comes || (is_own && is_soon) || tasks.contains_key(&source) || is_taken(source.to_string()) {
                continue;
            }
            let Some(lease) = instance.acquire(self.store(), source.to_string()).await? else { continue };
            let looked = match source.trigger {
                _ if !is_own => {
                    let task = tokio::spawn(self.clone().read(source.clone(), lease));
                    tasks.insert(source, AbortOnDropHandle::new(task));
                    continue;
                }
                WatchTrigger::TaskDue => self.look_at_tasks((&source, &lease)).await,
                WatchTrigger::File => self.look_at_folder((&source, &lease)).await,
                _ => self.look_at_own_calendar((&source, &lease)).await,
            };
            unless_stale(looked.map(|()| true))?;
        }
        Ok(())
    }

    /// Reads a source of an account until another instance does.
    async fn read(self: Arc<Self>, source: WatchSource, lease: Lease) {
        let (mut mailbox, mut agenda) = (None, Agenda::default());
        let (mut failures, mut since) = (0, 0);
        loop {
            let failure = match self.step((&source, &lease), &mut mailbox, &mut agenda).await {
                Ok(pause) => {
                    failures = 0;
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Err(Failure::Store(StoreError::Stale(_))) => return,
                Err(failure) => failure,
            };
            since = if failures == 0 { self.store().now() } else { since };
            (failures, mailbox) = (failures + 1, None);
            tracing::warn!(%source, %failure, "what is watched can't be read; retrying");
            if let Err(error) = self.failed(&source, &failure, failures, since).await {
                tracing::error!(%source, %error, "can't note that it can't be read");
            }
            tokio::time::sleep(BACKOFF.after(failures, backoff::random())).await;
        }
    }

    /// Reads what is new in a source of an account. Returns after how long it is to be read again.
    async fn step(
        &self,
        at: At<'_>,
        mailbox: &mut Option<MailSource>,
        agenda: &mut Agenda,
    ) -> Result<Duration, Failure> {
        let Some((account, watches)) = self.watched(at.0).await? else { return Ok(CHECK) };
        let inbox = account.mail.as_ref().and_then(|mail| mail.imap.as_ref());
        match (at.0.trigger, inbox, &account.calendar) {
            (WatchTrigger::Mail, Some(inbox), _) => {
                let mailbox = mailbox.get_or_insert_with(|| self.pushing(inbox.watch(&at.0.place)));
                if !self.take_mail(at, (&account, &watches), mailbox).await? {
                    mailbox.wait(utc(self.store().now())).await?;
                }
                return Ok(Duration::ZERO);
            }
            (WatchTrigger::EventBegins | WatchTrigger::EventChanges, _, Some(calendar)) => {
                self.look_at_calendar(at, calendar, (&account, &watches), agenda).await?;
            }
            _ => {}
        }
        Ok(CHECK)
    }

    /// Ends a login that is refused. After an hour without the source its people are told, once.
    async fn failed(&self, source: &WatchSource, failure: &Failure, failures: u32, since: i64) -> Result<()> {
        let (store, now) = (self.store(), self.store().now());
        // Of a password nobody but its server says that it is good no more.
        let is_refused = matches!(failure, Failure::Skill(error) if error.kind == ErrorKind::Auth);
        let row = connected::by_id(store, &source.account).await?;
        if is_refused && failures > 2 && row.is_some_and(|row| row.provider == ProviderKind::Password) {
            let mut batch = Batch::new();
            connected::set_state(&mut batch, &source.account, AccountState::NeedsLogin);
            store.write(batch).await?;
        }
        if now - since < AWAY_MS {
            return Ok(());
        }
        let Some((account, watches)) = self.watched(source).await? else { return Ok(()) };
        for watch in watches {
            let mut batch = Batch::new();
            outbox::announce_once(&mut batch, &format!("watch {} away since {since}", watch.id), now);
            self.say(batch, &watch, l10n::watches::source_away(&account.label)).await?;
        }
        Ok(())
    }

    /// Tells something about a watch, unless that was done before.
    async fn say(&self, mut batch: Batch, watch: &WatchRow, text: String) -> Result<()> {
        let message = Message::from(text);
        outbox::say(self.store(), &mut batch, &watch.conversation_id, &outbox::anybody(), &message);
        self.store().try_write(batch).await.map(drop)
    }

    /// The active watches on a source of an account whose people have that account, and the account; none if there are none, or
    /// nobody can log in now. The watches on an account that is gone end.
    async fn watched(&self, source: &WatchSource) -> Result<Option<(ConnectedAccount, Vec<WatchRow>)>> {
        let row = connected::by_id(self.store(), &source.account).await?;
        let is_gone = row.is_none() && !source.account.starts_with("config:");
        if row.is_some_and(|row| row.state != AccountState::Ready) {
            return Ok(None);
        }
        let accounts = &self.conversations.services().accounts;
        let settings = self.conversations.settings.current();
        let (mut found, mut having) = (None, Vec::new());
        for watch in watches::active_on(self.store(), source).await? {
            if is_gone {
                let mut batch = Batch::new();
                let ended = WatchRow { state: WatchState::Stopped, ..watch.clone() };
                watches::change(&mut batch, &watch, &ended);
                self.say(batch, &watch, l10n::watches::no_access(described(&watch))).await?;
                continue;
            }
            let (owners, person) = (&settings.owners, &watch.person_id);
            let account = accounts.for_watch(self.store(), owners, person, &source.account).await?;
            if account.is_some() {
                found = account;
                having.push(watch);
            }
        }
        Ok(found.map(|account| (account, having)))
    }

    /// Stores what watches found in a source, and how far it is read now.
    async fn commit(&self, lease: &Lease, row: &SourceRow, mark: &Mark, found: &[Finding<'_>]) -> Result<()> {
        if found.is_empty() && row.mark.as_ref() == Some(mark) {
            return Ok(());
        }
        let mut batch = lease.fence(self.store());
        add(self.store(), &mut batch, found).await?;
        watches::advance(&mut batch, row, mark);
        fail_point("watch-fetched");
        self.store().write(batch).await?;
        fail_point("watch-found");
        if !found.is_empty() {
            self.conversations.found.notify_one();
        }
        Ok(())
    }
}

async fn add(store: &Store, batch: &mut Batch, found: &[Finding<'_>]) -> Result<()> {
    let mut open: BTreeMap<&WatchId, i64> = BTreeMap::new();
    for Finding { watch, key, thing } in found {
        let before = match open.get(&watch.id) {
            Some(before) => *before,
            None => watches::open(store, &watch.id, 1).await?.count,
        };
        open.insert(&watch.id, before + 1);
        watches::found(store, batch, watch, key, Some(thing).filter(|_| before < MAX_OPEN));
    }
    Ok(())
}

/// Something that isn't from an account.
fn item(noun: ItemNoun, name: &str, (from, title, text): (&str, &str, &str), at: i64) -> WatchItem {
    let (from, title) = (one_line(from, TITLE), one_line(title, TITLE));
    WatchItem { snippet: one_line(text, SNIPPET), ..WatchItem::new(noun, name, (&from, &title), at) }
}

/// The addresses of an account, and the domains of its house. One at which anybody has an address is nobody's house.
fn own_addresses(account: &ConnectedAccount) -> OwnAddresses {
    let mut own = OwnAddresses { addresses: vec![account.address.clone()], domains: Vec::new() };
    let domain = account.address.rsplit_once('@').map(|(_, domain)| domain.to_owned());
    own.domains.extend(domain.filter(|domain| !is_open_to_all(domain)));
    if let Some(mail) = &account.mail {
        own.addresses.push(mail.from.address.clone());
        own.domains.extend_from_slice(&mail.internal_domains);
    }
    own
}

#[cfg(test)]
mod tests {
    use adjutant_mail::Address;
    use adjutant_types::{AccountService, Condition};

    use super::*;
    use crate::watching::matching::suits;

    #[test]
    fn whoever_has_an_address_at_the_same_public_provider_is_from_outside() {
        let outside = Condition { outside: Some(true), ..Condition::default() };
        for (own, from, is_outside) in [
            ("ada@acme.test", "bob@acme.test", false),
            ("ada@acme.test", "bob@gmail.com", true),
            ("ada@gmail.com", "bob@gmail.com", true),
            ("ada@gmail.com", "Ada@Gmail.com", false),
            ("ada@yahoo.co.uk", "bob@yahoo.co.uk", true),
            ("ada@ICLOUD.com", "bob@icloud.com", true),
            ("ada@mailbox.org", "bob@mailbox.org", true),
            ("ada@outlook.acme-inc.test", "bob@outlook.acme-inc.test", false),
        ] {
            let own = own_addresses(&ConnectedAccount::configured(AccountService::Mail, "private", own));
            let party = Address { name: None, address: from.to_owned() };
            assert_eq!(suits(&outside, (&[party], "", ""), &own), is_outside, "{own:?} {from}");
        }
    }
}
