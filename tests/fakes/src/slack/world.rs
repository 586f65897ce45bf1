//! The people, the places, what was said, and who is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::{Value, json};

use super::files::{self, Files};
use super::socket::Line;
use super::web::Fault;
use super::{Call, Seen, blocks, plain};
use crate::sounds::Sounds;

/// The bot's account.
pub(super) const BOT: &str = "U0BOT";
pub(super) const TEAM: &str = "T0TEAM";
/// What the manifest of `docs/channels.md` asks for.
const SCOPES: [&str; 16] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Direct,
    Channel,
    Private,
    Group,
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Self::Direct => 'D',
            Self::Channel | Self::Private => 'C',
            Self::Group => 'G',
        }
    }

    /// As events call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Direct => "im",
            Self::Channel => "channel",
            Self::Private => "group",
            Self::Group => "mpim",
        }
    }

    /// As `conversations.list` calls it.
    pub(super) fn of_type(name: &str) -> Option<Self> {
        match name {
            "im" => Some(Self::Direct),
            "public_channel" => Some(Self::Channel),
            "private_channel" => Some(Self::Private),
            "mpim" => Some(Self::Group),
            _ => None,
        }
    }

    /// The scope to `read` it or its `history`.
    pub(super) fn scope(self, what: &str) -> String {
        match self {
            Self::Channel | Self::Private => format!("{}s:{what}", self.name()),
            Self::Direct | Self::Group => format!("{}:{what}", self.name()),
        }
    }
}

pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) members: BTreeSet<String>,
    pub(super) creator: Option<String>,
    pub(super) is_archived: bool,
    /// As Slack tells of them, oldest first, those of threads included.
    pub(super) messages: Vec<Value>,
}

pub(super) struct Trouble {
    pub(super) method: String,
    pub(super) count: usize,
    pub(super) fault: Fault,
}

/// Something to tell, until it is acknowledged.
pub(super) struct Envelope {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) payload: Value,
    pub(super) at: Instant,
    pub(super) told_at: Option<Instant>,
    pub(super) attempts: u32,
    pub(super) acknowledged: Option<Duration>,
}

/// Where commands are answered.
pub(super) const RESPONSES: &str = "/commands/";

pub(super) struct World {
    /// Within this time events must be acknowledged.
    pub(super) patience: Duration,
    /// Microseconds.
    last_ts: u64,
    last_id: u64,
    pub(super) people: BTreeMap<String, String>,
    /// Fields of accounts that are told beside the usual ones.
    pub(super) accounts: BTreeMap<String, Value>,
    /// Entries of a page.
    pub(super) most: usize,
    pub(super) places: BTreeMap<String, Place>,
    pub(super) closed: BTreeMap<String, String>,
    /// What the bot's token allows, as far as that is told.
    pub(super) scopes: Vec<&'static str>,
    /// What people send.
    pub(super) files: BTreeMap<String, String>,
    pub(super) sounds: Sounds,
    /// What the bot sends.
    pub(super) uploads: Files,
    /// Person, place and text.
    pub(super) ephemerals: Vec<(String, String, String)>,
    /// The addresses at which commands can be answered: whose, where, and how often yet.
    pub(super) responses: BTreeMap<String, (String, String, usize)>,
    pub(super) envelopes: Vec<Envelope>,
    /// How much the bot has said.
    pub(super) said: usize,
    pub(super) lines: Vec<Arc<Line>>,
    /// Addresses of sockets that may be opened, once each.
    pub(super) tickets: Vec<String>,
    pub(super) opened: usize,
    pub(super) request_url: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Vec<String>,
    pub(super) troubles: Vec<Trouble>,
    /// When each method with a limit was called.
    pub(super) paced: BTreeMap<&'static str, Vec<Instant>>,
    pub(super) is_down: bool,
    pub(super) tells_twice: bool,
}

impl World {
    pub(super) fn new(patience: Duration) -> Self {
        #[expect(clippy::disallowed_methods, reason = "Slack's names of messages are times")]
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            patience,
            last_ts: u64::try_from(now.as_micros()).unwrap_or_default(),
            last_id: 0,
            people: BTreeMap::new(),
            accounts: BTreeMap::new(),
            most: usize::MAX,
            places: BTreeMap::new(),
            closed: BTreeMap::new(),
            scopes: SCOPES.to_vec(),
            files: BTreeMap::new(),
            sounds: Sounds::default(),
            uploads: Files::default(),
            ephemerals: Vec::new(),
            responses: BTreeMap::new(),
            envelopes: Vec::new(),
            said: 0,
            lines: Vec::new(),
            tickets: Vec::new(),
            opened: 0,
            request_url: None,
            calls: Vec::new(),
            faults: Vec::new(),
            troubles: Vec::new(),
            paced: BTreeMap::new(),
            is_down: false,
            tells_twice: false,
        }
    }

    /// A time stamp that was not given before.
    pub(super) fn new_ts(&mut self) -> String {
        self.last_ts += 1_000;
        format!("{}.{:06}", self.last_ts / 1_000_000, self.last_ts % 1_000_000)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn person(&mut self, name: &str) -> String {
        if let Some(id) = self.people.get(name) {
            return id.clone();
        }
        let id = format!("U{:04}", self.new_id());
        self.people.insert(name.to_owned(), id.clone());
        id
    }

    pub(super) fn name_of(&self, person: &str) -> Option<&str> {
        self.people.iter().find(|(_, id)| *id == person).map(|(name, _)| name.as_str())
    }

    pub(super) fn place(&mut self, kind: Kind, name: &str) -> String {
        let is_it = |place: &Place| place.kind == kind && place.name == name;
        if let Some((id, _)) = self.places.iter().find(|(_, place)| is_it(place)) {
            return id.clone();
        }
        let id = format!("{}{:04}", kind.letter(), self.new_id());
        let person = (kind == Kind::Direct).then(|| self.person(name));
        let members = person.into_iter().chain([BOT.to_owned()]).collect();
        let (name, messages) = (name.to_owned(), Vec::new());
        let place = Place { kind, name, members, creator: None, is_archived: false, messages };
        self.places.insert(id.clone(), place);
        id
    }

    /// A message is written and told of.
    pub(super) fn post(&mut self, place: &str, author: &str, fields: &Value) -> String {
        let ts = self.new_ts();
        let (channel, thread) =
            place.split_once('/').map_or((place, None), |(channel, ts)| (channel, Some(ts)));
        let mut message = json!({"type": "message", "user": author, "text": "", "ts": ts, "team": TEAM});
        for (key, value) in fields.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        if let Some(thread) = thread {
            message["thread_ts"] = json!(thread);
            if let Some(root) = self.find_mut(channel, thread) {
                root["thread_ts"] = json!(thread);
                root["latest_reply"] = json!(ts);
                root["reply_count"] = json!(root["reply_count"].as_u64().unwrap_or_default() + 1);
                message["parent_user_id"] = root["user"].clone();
            }
        }
        let Some(found) = self.places.get_mut(channel) else { return String::new() };
        found.messages.push(message.clone());
        found.members.insert(author.to_owned());
        let kind = found.kind;
        message["channel"] = json!(channel);
        message["event_ts"] = json!(ts);
        // Events of new messages don't tell their metadata.
        if let Some(fields) = message.as_object_mut() {
            fields.remove("metadata");
        }
        let mention = format!("<@{BOT}>");
        if kind != Kind::Direct && message["text"].as_str().is_some_and(|text| text.contains(&mention)) {
            let mut mentioned = message.clone();
            mentioned["type"] = json!("app_mention");
            self.tell_event(mentioned);
        }
        message["channel_type"] = json!(kind.name());
        self.tell_event(message);
        ts
    }

    /// Mostly it is a recent one.
    pub(super) fn find(&self, channel: &str, ts: &str) -> Option<&Value> {
        self.places.get(channel)?.messages.iter().rev().find(|one| one["ts"] == ts)
    }

    pub(super) fn find_mut(&mut self, channel: &str, ts: &str) -> Option<&mut Value> {
        self.places.get_mut(channel)?.messages.iter_mut().rev().find(|one| one["ts"] == ts)
    }

    /// A message gets other fields.
    pub(super) fn edit(&mut self, place: &str, ts: &str, fields: &Value) {
        let channel = place.split('/').next().unwrap_or(place);
        let Some(message) = self.find_mut(channel, ts) else { return };
        let before = message.clone();
        for (key, value) in fields.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        let message = message.clone();
        let event_ts = self.new_ts();
        let kind = self.places.get(channel).map_or("channel", |place| place.kind.name());
        self.tell_event(json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": channel, "ts": event_ts,
            "event_ts": event_ts, "channel_type": kind, "message": message, "previous_message": before,
        }));
    }

    pub(super) fn delete(&mut self, channel: &str, ts: &str) {
        if let Some(place) = self.places.get_mut(channel) {
            place.messages.retain(|message| message["ts"] != ts);
        }
    }

    pub(super) fn press(&mut self, person: &str, place: &str, ts: &str, button: &str) -> String {
        let (user, action_ts) = (self.person(person), self.new_ts());
        let channel = place.split('/').next().unwrap_or(place).to_owned();
        let message = self.find(&channel, ts).cloned().unwrap_or_default();
        let mut container =
            json!({"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false});
        if message["thread_ts"].is_string() {
            container["thread_ts"] = message["thread_ts"].clone();
        }
        let action = json!({
            "action_id": button, "block_id": "b1", "type": "button", "value": button, "action_ts": action_ts,
            "text": {"type": "plain_text", "text": button},
        });
        self.tell("interactive", json!({
            "type": "block_actions", "user": {"id": user, "username": person, "name": person, "team_id": TEAM},
            "api_app_id": "A0FAKE", "team": {"id": TEAM, "domain": "fake"}, "container": container,
            "channel": {"id": channel, "name": "some"}, "message": message, "trigger_id": self.last_id.to_string(),
            "actions": [action],
        }))
    }

    pub(super) fn command(&mut self, person: &str, place: &str, text: &str, web: &str) -> String {
        let (user, id) = (self.person(person), self.new_id());
        let channel = place.split('/').next().unwrap_or(place).to_owned();
        let (command, text) = text.split_once(' ').unwrap_or((text, ""));
        let name = self.places.get(&channel).map_or("", |place| match place.kind {
            Kind::Direct => "directmessage",
            _ => &place.name,
        });
        let payload = json!({
            "token": "old", "team_id": TEAM, "team_domain": "fake", "channel_id": channel, "channel_name": name,
            "user_id": user, "user_name": person, "command": command, "text": text, "api_app_id": "A0FAKE",
            "trigger_id": format!("{}.738474920.8088930838d88f008e0", 13_345_224_609_u64 + id),
            "response_url": format!("{web}{RESPONSES}{id}"),
        });
        self.responses.insert(id.to_string(), (user, place.to_owned(), 5));
        self.tell("slash_commands", payload)
    }

    pub(super) fn seen(&self, place: &str) -> Vec<Seen> {
        let (channel, thread) =
            place.split_once('/').map_or((place, None), |(channel, ts)| (channel, Some(ts)));
        let in_place = |message: &&Value| {
            let of = message["thread_ts"].as_str().filter(|of| message["ts"] != **of);
            message["user"] == BOT && of == thread
        };
        let messages = self.places.get(channel).into_iter().flat_map(|place| &place.messages);
        messages.filter(in_place).map(|message| seen(self, message)).collect()
    }

    pub(super) fn tell_event(&mut self, event: Value) {
        let payload = json!({
            "token": "old", "team_id": TEAM, "api_app_id": "A0FAKE", "type": "event_callback",
            "event_id": format!("Ev{:06}", self.new_id()), "event_time": 1, "event": event,
        });
        self.tell("events_api", payload);
    }

    /// Tells the last message of a person again.
    pub(super) fn tell_again(&mut self) {
        let last = self.envelopes.iter().rev().find(|one| one.kind == "events_api");
        if let Some(payload) = last.map(|one| one.payload.clone()) {
            self.tell("events_api", payload);
        }
    }

    /// Puts something on the list of what is to be told.
    pub(super) fn tell(&mut self, kind: &str, payload: Value) -> String {
        let id = format!("envelope-{}", self.new_id());
        if self.is_down {
            return id;
        }
        for again in 0..=u8::from(self.tells_twice) {
            let id = if again == 0 { id.clone() } else { format!("{id}-again") };
            self.envelopes.push(Envelope {
                id,
                kind: kind.to_owned(),
                payload: payload.clone(),
                at: Instant::now(),
                told_at: None,
                attempts: 0,
                acknowledged: None,
            });
        }
        id
    }
}

fn seen(world: &World, message: &Value) -> Seen {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sections = blocks::sections(message);
    let elements =
        blocks::of(message, "actions").flat_map(|block| block["elements"].as_array().into_iter().flatten());
    let read = match sections.is_empty() {
        true if message["mrkdwn"] == false => super::mrkdwn::unescaped(&text(&message["text"])),
        true => plain(&text(&message["text"])),
        false => sections.iter().map(|section| plain(section)).collect::<Vec<_>>().join("\n"),
    };
    Seen {
        ts: text(&message["ts"]),
        text: read,
        sections,
        notification: text(&message["text"]),
        buttons: elements.map(|one| (text(&one["value"]), text(&one["text"]["text"]))).collect(),
        file: files::seen(world, message),
    }
}
