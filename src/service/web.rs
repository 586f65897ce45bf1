//! The web page's view of the engine: who may see what, and what people do on the page.

mod details;
mod now;
mod tables;
mod usage;
mod view;

use std::sync::Arc;

use adjutant_chat::{
    Address, ButtonPress, ChannelIntake, EventId, Inbound, IncomingMessage, IntakeOutcome, SenderId,
};
use adjutant_web::views::{
    Act, Details, Entry, Now, PersonLine, Session, Table, Timeline, Turn, Usage, Viewer,
};
use adjutant_web::{Backend, Change, Cursor, Unavailable, Web};
use async_trait::async_trait;
use chrono_tz::Tz;

use super::Service;
use crate::conversation::Conversations;
use crate::conversation::access::Access;
use crate::domain::{OutboxId, PersonId, TurnId};
use crate::gateway::receiver::{ChannelReceiver, Health};
use crate::metrics;
use crate::store::{Store, StoreError, changes, control, people, timeline, turns, web};
use view::{Sight, moment};

/// How many turns a page of a conversation has.
const TURNS: i64 = 25;
/// How many messages outside of turns it has.
const ALONE: i64 = 100;
/// How many people an owner's list has.
const PEOPLE: i64 = 200;
/// How many rows of trees a page has.
const ROWS: usize = 180;

/// What the page reads and writes.
pub(super) struct Pages {
    store: Store,
    channel: String,
    receiver: Arc<ChannelReceiver>,
    conversations: Arc<Conversations>,
    access: Arc<Access>,
    health: Arc<Health>,
}

impl Service {
    /// The web page, if one is configured, connected to this service.
    pub fn page(&self) -> Option<(Arc<Web>, Arc<dyn Backend>)> {
        let page = self.page.clone()?;
        let channel = page.settings().channel.clone();
        let pages = Pages {
            store: self.store.clone(),
            receiver: self.receivers.iter().find(|receiver| receiver.channel == channel)?.clone(),
            channel,
            conversations: self.conversations.clone(),
            access: self.intake.access.clone(),
            health: self.health.clone(),
        };
        let backend: Arc<dyn Backend> = Arc::new(pages);
        page.connect(backend.clone());
        Some((page, backend))
    }
}

/// The reason is in the log.
fn unavailable(error: StoreError) -> Unavailable {
    tracing::error!(%error, "the web page couldn't use the store");
    Unavailable
}

impl Pages {
    /// Whether the person may still talk to the assistant, by any account but that of the page itself.
    async fn may_come(&self, person: &PersonId) -> Result<bool, StoreError> {
        for account in people::accounts(&self.store, person).await? {
            let Some((channel, user)) = account.split_once(':') else { continue };
            if channel != self.channel && self.access.may_speak(&self.store, channel, user).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn zone(&self, viewer: &Viewer) -> Result<Tz, StoreError> {
        let person = people::person_by_id(&self.store, &viewer.person.as_str().into()).await?;
        Ok(self.conversations.zone_of(&person))
    }

    async fn sight(&self, viewer: &Viewer) -> Result<Sight<'_>, StoreError> {
        Ok(Sight { store: &self.store, zone: self.zone(viewer).await? })
    }

    /// The turn, if the viewer may see it.
    async fn visible(&self, viewer: &Viewer, turn: &TurnId) -> Result<Option<turns::TurnRow>, StoreError> {
        let Some(row) = turns::by_id(&self.store, turn).await? else { return Ok(None) };
        if timeline::is_of(&self.store, &viewer.person.as_str().into(), turn).await? {
            return Ok(Some(row));
        }
        if !viewer.is_owner {
            return Ok(None);
        }
        log_look(viewer, &row.person_id);
        Ok(Some(row))
    }

    async fn page_of(
        &self,
        viewer: &Viewer,
        person: &PersonId,
        before: Option<i64>,
    ) -> Result<Timeline, StoreError> {
        let sight = self.sight(viewer).await?;
        let store = &self.store;
        let mut found = timeline::turns(store, person, before.unwrap_or(i64::MAX), TURNS + 1).await?;
        let more = usize::try_from(TURNS).is_ok_and(|most| found.len() > most);
        found.truncate(usize::try_from(TURNS).unwrap_or(usize::MAX));
        let from = if more { found.last().map_or(0, |(_, _, began)| *began) } else { 0 };
        let to = match before {
            Some(before) => timeline::began(store, before).await?.unwrap_or(i64::MAX),
            None => i64::MAX,
        };
        let (mut entries, mut rows) = (Vec::new(), ROWS);
        for (_, turn, began) in &found {
            let Some(row) = turns::by_id(store, turn).await? else { continue };
            let turn = sight.turn(&row, 0, rows).await?;
            rows = rows.saturating_sub(turn.rows.len());
            entries.push((*began, Entry::Turn(turn)));
        }
        for row in timeline::said_alone(store, person, from, to, ALONE).await? {
            entries.push((row.received_at, Entry::Said(sight.said(row))));
        }
        for row in timeline::replies_alone(store, person, from, to, ALONE).await? {
            entries.push((row.created_at, Entry::Said(sight.reply(row))));
        }
        entries.sort_by_key(|(at, _)| *at);
        Ok(Timeline {
            person: person.to_string(),
            name: people::person_by_id(store, person).await?.name,
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
            older: more.then(|| found.last().map(|(seq, _, _)| *seq)).flatten(),
        })
    }

    async fn find_viewer(&self, secret: &str) -> Result<Option<Viewer>, StoreError> {
        let Some(session) = web::session(&self.store, secret).await? else { return Ok(None) };
        if !self.may_come(&session.person_id).await? {
            return Ok(None);
        }
        let person = people::person_by_id(&self.store, &session.person_id).await?;
        let owners = self.conversations.settings.now();
        let is_owner = people::is_owner(&self.store, &person.id, &owners.owners).await?;
        Ok(Some(Viewer { person: person.id.to_string(), name: person.name, is_owner, session: session.id }))
    }

    async fn stop_turn(&self, viewer: &Viewer, turn: &TurnId) -> Result<bool, StoreError> {
        if self.visible(viewer, turn).await?.is_none_or(|row| row.ended_at.is_some()) {
            return Ok(false);
        }
        let is_stopped = control::cancel(&self.store, turn).await?;
        if let Some(running) = self.conversations.running.get(turn) {
            running.cancel.cancel();
        }
        Ok(is_stopped)
    }

    /// Hands something over as this channel's receiver does.
    async fn take(
        &self,
        viewer: &Viewer,
        inbound: impl FnOnce(Address, SenderId, String) -> Inbound,
    ) -> Result<IntakeOutcome, Unavailable> {
        let person = web::ensure_account(&self.store, &self.channel, &viewer.person.as_str().into()).await;
        let person = person.map_err(unavailable)?;
        let address = Address { channel: self.channel.clone(), place: viewer.person.clone() };
        let inbound = inbound(address, SenderId(viewer.person.clone()), person.name);
        self.receiver.accept(inbound).await.map_err(|_| Unavailable)
    }
}

/// Owners may look at everything; that they did is on record.
fn log_look(viewer: &Viewer, person: &PersonId) {
    tracing::info!(owner = viewer.person, %person, "an owner looks at somebody else's conversation");
}

#[async_trait]
impl Backend for Pages {
    async fn sign_in(&self, code: &str, browser: &str) -> Result<Option<String>, Unavailable> {
        web::redeem(&self.store, code, browser).await.map_err(unavailable)
    }

    async fn viewer(&self, secret: &str) -> Result<Option<Viewer>, Unavailable> {
        self.find_viewer(secret).await.map_err(unavailable)
    }

    async fn sessions(&self, viewer: &Viewer) -> Result<Vec<Session>, Unavailable> {
        let zone = self.zone(viewer).await.map_err(unavailable)?;
        let now = self.store.now();
        let own = web::sessions(&self.store, Some(&viewer.person.as_str().into())).await;
        let session = |row: web::SessionRow| Session {
            key: row.id,
            browser: row.browser,
            since: moment(row.created_at, now, zone),
            seen: moment(row.seen_at, now, zone),
        };
        Ok(own.map_err(unavailable)?.into_iter().map(session).collect())
    }

    async fn end_session(&self, viewer: &Viewer, session: &str) -> Result<bool, Unavailable> {
        web::revoke(&self.store, session, Some(&viewer.person.as_str().into())).await.map_err(unavailable)
    }

    async fn now(&self, viewer: &Viewer) -> Result<Now, Unavailable> {
        self.whats_on(viewer).await.map_err(unavailable)
    }

    async fn timeline(
        &self,
        viewer: &Viewer,
        whose: &str,
        before: Option<i64>,
    ) -> Result<Option<Timeline>, Unavailable> {
        let is_own = viewer.person == whose;
        let person: PersonId = whose.into();
        if !is_own {
            let is_known = people::exists(&self.store, &person).await.map_err(unavailable)?;
            if !viewer.is_owner || !is_known {
                return Ok(None);
            }
            log_look(viewer, &person);
        }
        self.page_of(viewer, &person, before).await.map(Some).map_err(unavailable)
    }

    async fn turn(&self, viewer: &Viewer, key: &str, skip: usize) -> Result<Option<Turn>, Unavailable> {
        let turn = async {
            let Some(row) = self.visible(viewer, &key.into()).await? else { return Ok(None) };
            self.sight(viewer).await?.turn(&row, skip, ROWS).await.map(Some)
        };
        turn.await.map_err(unavailable)
    }

    async fn details(&self, viewer: &Viewer, key: &str) -> Result<Option<Details>, Unavailable> {
        self.details_of(viewer, &key.into()).await.map_err(unavailable)
    }

    async fn people(&self, viewer: &Viewer) -> Result<Vec<PersonLine>, Unavailable> {
        let zone = self.zone(viewer).await.map_err(unavailable)?;
        let now = self.store.now();
        let rows = timeline::people(&self.store, PEOPLE).await.map_err(unavailable)?;
        let line = |(person, name, last): (PersonId, String, i64)| PersonLine {
            person: person.to_string(),
            name,
            last: moment(last, now, zone),
        };
        Ok(rows.into_iter().map(line).collect())
    }

    async fn say(&self, viewer: &Viewer, once: &str, text: &str) -> Result<(), Unavailable> {
        let event = EventId(format!("{}-{once}", viewer.person));
        let message = |address, sender, sender_name| {
            Inbound::Message(IncomingMessage {
                event,
                address,
                sender,
                sender_name,
                direct: true,
                text: text.to_owned(),
                forwarded_from: None,
                reply_to: None,
                attachments: Vec::new(),
            })
        };
        self.take(viewer, message).await.map(drop)
    }

    async fn press(&self, viewer: &Viewer, button: &str) -> Result<Option<String>, Unavailable> {
        // The same person pressing the same button again says nothing new.
        let event = EventId(format!("{}-{button}", viewer.person));
        let press = |address, sender, sender_name| {
            let button = button.to_owned();
            Inbound::ButtonPress(ButtonPress { event, address, sender, sender_name, direct: true, button })
        };
        Ok(match self.take(viewer, press).await? {
            IntakeOutcome::Accepted => None,
            IntakeOutcome::Notice(text) => Some(text),
        })
    }

    async fn stop(&self, viewer: &Viewer, key: &str) -> Result<bool, Unavailable> {
        self.stop_turn(viewer, &key.into()).await.map_err(unavailable)
    }

    async fn things(&self, viewer: &Viewer) -> Result<Vec<Table>, Unavailable> {
        self.things_of(viewer).await.map_err(unavailable)
    }

    async fn system(&self, viewer: &Viewer) -> Result<Option<Vec<Table>>, Unavailable> {
        match viewer.is_owner {
            true => self.system_tables(viewer).await.map(Some).map_err(unavailable),
            false => Ok(None),
        }
    }

    async fn usage(&self, viewer: &Viewer) -> Result<Usage, Unavailable> {
        self.used(viewer).await.map_err(unavailable)
    }

    async fn act(&self, viewer: &Viewer, act: Act, key: &str) -> Result<bool, Unavailable> {
        self.do_act(viewer, act, key).await.map_err(unavailable)
    }

    async fn latest(&self) -> Result<Cursor, Unavailable> {
        let (tx, seq) = changes::last(&self.store).await.map_err(unavailable)?;
        Ok(Cursor { tx, seq })
    }

    async fn changes(&self, after: Cursor, most: usize) -> Result<Option<Vec<Change>>, Unavailable> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = changes::after(&self.store, (after.tx, after.seq), most).await.map_err(unavailable)?;
        let change = |row: changes::ChangeRow| Change {
            at: Cursor { tx: row.tx, seq: row.seq },
            person: row.person_id.to_string(),
            kind: row.kind,
            id: row.id,
            turn: row.turn_id.map(|turn| turn.to_string()),
            status: row.status,
        };
        Ok(rows.map(|rows| rows.into_iter().map(change).collect()))
    }

    async fn tidy(&self) {
        if let Err(error) = changes::prune(&self.store).await {
            tracing::error!(%error, "couldn't delete old changes; will try again");
        }
    }

    async fn is_shown(&self, message: &str) -> bool {
        let message: OutboxId = message.into();
        timeline::is_replied(&self.store, &message).await.is_ok_and(|is_replied| is_replied)
    }

    fn refused(&self, reason: &'static str) {
        metrics::page_refused(reason);
        tracing::warn!(reason, "the web page refused a request");
    }
}
