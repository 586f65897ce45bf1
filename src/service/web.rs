//! The web page's view of the engine: who may see what, and what people do on the page.

mod accounts;
mod backend;
mod connect;
mod details;
mod notify;
mod now;
mod passkeys;
mod plans;
mod repeat;
mod runs;
mod search;
mod system;
mod tables;
mod uploads;
mod usage;
mod view;
mod workflows;

use std::sync::Arc;

use adjutant_chat::{
    Address, Attachment, ButtonPress, ChannelIntake, EventId, Inbound, IncomingMessage, IntakeOutcome,
    SenderId,
};
use adjutant_engine::conversation::Conversations;
use adjutant_engine::conversation::access::Access;
use adjutant_engine::gateway::health::Health;
use adjutant_engine::gateway::receiver::ChannelReceiver;
use adjutant_skills::handlers::HttpClient;
use adjutant_skills::handlers::mcp::McpServers;
use adjutant_store::{Result, Store, people, timeline, turns, web};
use adjutant_types::{PersonId, TurnId};
use adjutant_web::views::{Entry, Timeline, Viewer};
use adjutant_web::{Backend, Settings, Unavailable, Web};
use chrono_tz::Tz;
use futures::future::try_join_all;
use futures::try_join;

use super::{LiveConfig, Service};
use view::ViewerContext;
pub(crate) use view::moment;

/// How many turns a page of a conversation has.
const TURNS: i64 = 25;
/// How many of them are read at once. Each is several reads, and the turns that run need the store's connections, too.
const SIDE_BY_SIDE: usize = 2;
/// How many messages outside of turns it has.
const ALONE: i64 = 100;
/// The command that asks for a link to this page.
const WEB: &str = "/web";
const PEOPLE: i64 = 200;
/// How many rows of trees a page has, and how many the page of one request.
const ROWS: usize = 180;
const ROWS_ALONE: usize = 2_000;

/// The data that the page reads and writes.
pub(super) struct WebBackend {
    store: Store,
    channel: String,
    receivers: Vec<Arc<ChannelReceiver>>,
    conversations: Arc<Conversations>,
    access: Arc<Access>,
    health: Arc<Health>,
    live: Arc<LiveConfig>,
    mcp: Arc<McpServers>,
    public_url: String,
    push_hosts: Vec<String>,
    http: HttpClient,
    room_names: system::RoomNames,
}

impl Service {
    /// The web page, if one is configured, connected to this service.
    pub fn page(&self) -> Option<(Arc<Web>, Arc<dyn Backend>)> {
        let page = self.page.clone()?;
        let Settings { channel, public_url, push_hosts, .. } = page.settings().clone();
        let pages = WebBackend {
            store: self.store.clone(),
            receivers: self.receivers.clone(),
            channel,
            conversations: self.conversations.clone(),
            access: self.intake.access.clone(),
            health: self.health.clone(),
            live: self.live.clone(),
            mcp: self.mcp.clone(),
            public_url,
            push_hosts,
            http: HttpClient::new(),
            room_names: system::no_names(),
        };
        let backend: Arc<dyn Backend> = Arc::new(pages);
        page.connect(backend.clone());
        Some((page, backend))
    }
}

impl WebBackend {
    /// Whether the person may still talk to the assistant, by any account but that of the page itself.
    async fn may_come(&self, person: &PersonId) -> Result<bool> {
        for account in people::accounts(&self.store, person).await? {
            let Some((channel, user)) = account.split_once(':') else { continue };
            if channel != self.channel && self.access.may_speak(&self.store, channel, user).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The zone of the viewer's browser, or else the one that the assistant knows of the person.
    async fn zone(&self, viewer: &Viewer) -> Result<Tz> {
        if let Some(zone) = viewer.zone.as_deref().and_then(|zone| zone.parse().ok()) {
            return Ok(zone);
        }
        let person = people::person_by_id(&self.store, &viewer.person.as_str().into()).await?;
        Ok(self.conversations.zone_of(&person))
    }

    async fn view(&self, viewer: &Viewer) -> Result<ViewerContext<'_>> {
        Ok(self.view_of(viewer.person.as_str().into(), self.zone(viewer).await?))
    }

    fn view_of(&self, viewer: PersonId, zone: Tz) -> ViewerContext<'_> {
        ViewerContext {
            store: &self.store,
            zone,
            viewer,
            page: &self.channel,
            assistant: &self.live.initial().assistant.name,
            mail: &self.conversations.services().outgoing,
        }
    }

    /// The turn, if the viewer may see it.
    async fn visible(&self, viewer: &Viewer, turn: &TurnId) -> Result<Option<turns::TurnRow>> {
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
        channel: &str,
    ) -> Result<Timeline> {
        let view = self.view(viewer).await?;
        let store = &self.store;
        let mut found =
            timeline::turns(store, person, (before.unwrap_or(i64::MAX), channel), TURNS + 1).await?;
        let more = usize::try_from(TURNS).is_ok_and(|max| found.len() > max);
        found.truncate(usize::try_from(TURNS).unwrap_or(usize::MAX));
        let from = if more { found.last().map_or(0, |(_, _, began)| *began) } else { 0 };
        let to = match before {
            Some(before) => timeline::began(store, before).await?.unwrap_or(i64::MAX),
            None => i64::MAX,
        };
        let (mut entries, mut rows) = (Vec::new(), ROWS);
        for some in found.chunks(SIDE_BY_SIDE) {
            let turns = try_join_all(some.iter().map(|(_, turn, _)| view.turn_by_id(turn))).await?;
            for ((_, _, began), turn) in some.iter().zip(turns) {
                let Some(turn) = turn else { continue };
                let turn = turn.at_most(rows);
                rows -= turn.rows.len();
                entries.push((*began, Entry::Turn(turn)));
            }
        }
        let messages = timeline::said_alone(store, person, (from, to, channel), ALONE);
        let replies = timeline::replies_alone(store, person, (from, to, channel), ALONE);
        let (mut messages, mut replies) = try_join!(messages, replies)?;
        // Whoever reads this is signed in, so the links to this page say nothing.
        messages.retain(|row| row.channel == self.channel || row.text.trim() != WEB);
        replies.retain(|row| row.channel == self.channel || !view::is_login(&row.text));
        entries.extend(
            messages.into_iter().map(|row| (row.received_at, Entry::Said(Box::new(view.message(row))))),
        );
        entries
            .extend(replies.into_iter().map(|row| (row.created_at, Entry::Said(Box::new(view.reply(row))))));
        entries.sort_by_key(|(at, _)| *at);
        Ok(Timeline {
            person: person.to_string(),
            name: people::person_by_id(store, person).await?.name,
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
            older: more.then(|| found.last().map(|(seq, _, _)| *seq)).flatten(),
            channels: self.receivers.iter().map(|receiver| receiver.channel.clone()).collect(),
            channel: channel.to_owned(),
            speech: self.speech(),
        })
    }

    /// The longest voice note that is transcribed, in seconds.
    fn speech(&self) -> Option<u64> {
        let voice = &self.live.initial().voice;
        (!voice.transcribe.is_empty()).then_some(voice.max_length.as_secs())
    }

    /// Hands something over as this channel's receiver does.
    async fn take(
        &self,
        viewer: &Viewer,
        inbound: impl FnOnce(Address, SenderId, String) -> Inbound,
    ) -> Result<IntakeOutcome, Unavailable> {
        let person = web::ensure_account(&self.store, &self.channel, &viewer.person.as_str().into()).await?;
        let address = Address { channel: self.channel.clone(), place: viewer.person.clone() };
        let inbound = inbound(address, SenderId(viewer.person.clone()), person.name);
        self.receiver(&self.channel).ok_or(Unavailable)?.accept(inbound).await.map_err(|_| Unavailable)
    }

    /// Takes a message; the same `once` again is the same message.
    async fn hear(
        &self,
        viewer: &Viewer,
        once: &str,
        text: &str,
        attachments: Vec<Attachment>,
    ) -> Result<(), Unavailable> {
        let event = EventId(format!("{}-{once}", viewer.person));
        self.take(viewer, message(event, text.to_owned(), attachments)).await.map(drop)
    }

    /// Takes a press; the same `once` again is the same press. Returns what to tell the viewer, if it wasn't accepted.
    async fn pressed(
        &self,
        viewer: &Viewer,
        once: &str,
        button: &str,
    ) -> Result<Option<String>, Unavailable> {
        let event = EventId(format!("{}-{once}", viewer.person));
        let press = |address, sender, sender_name| {
            let button = button.to_owned();
            Inbound::ButtonPress(ButtonPress { event, address, sender, sender_name, direct: true, button })
        };
        Ok(match self.take(viewer, press).await? {
            IntakeOutcome::Accepted => None,
            IntakeOutcome::Notice(text) => Some(text),
        })
    }

    fn receiver(&self, channel: &str) -> Option<&ChannelReceiver> {
        self.receivers.iter().find(|receiver| receiver.channel == channel).map(AsRef::as_ref)
    }
}

/// What somebody says, as an adapter hands it over.
fn message(
    event: EventId,
    text: String,
    attachments: Vec<Attachment>,
) -> impl FnOnce(Address, SenderId, String) -> Inbound {
    move |address, sender, sender_name| {
        Inbound::Message(IncomingMessage {
            event,
            address,
            sender,
            sender_name,
            direct: true,
            is_addressed: true,
            text,
            attachments,
            ..IncomingMessage::default()
        })
    }
}

/// Owners may look at everything; that they did is on record.
fn log_look(viewer: &Viewer, person: &PersonId) {
    tracing::info!(owner = viewer.person, %person, "an owner looks at somebody else's conversation");
}
