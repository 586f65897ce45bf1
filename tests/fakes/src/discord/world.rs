//! The people, the places, what was said, and who is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gateway::Line;
use super::rest::Fault;
use super::rooms::Guild;
use super::{Call, Seen, plain};
use crate::sounds::Sounds;

/// The bot's account.
pub(super) const BOT: u64 = 900_000_000_000_000_001;
/// The bot's application.
pub(super) const APPLICATION: u64 = 900_000_000_000_000_002;
pub(super) const GUILD: u64 = 900_000_000_000_000_003;
/// The role that Discord made for the bot, and another one.
pub(super) const ROLES: [u64; 2] = [900_000_000_000_000_004, 900_000_000_000_000_005];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Direct = 1,
    Guild = 0,
    Thread = 11,
    PrivateThread = 12,
}

pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) name: String,
    /// A thread's channel.
    pub(super) parent: Option<String>,
    /// Who is in a direct conversation or a private thread, beside us.
    pub(super) members: BTreeSet<u64>,
    /// As Discord tells of them, oldest first.
    pub(super) messages: Vec<Value>,
}

pub(super) struct Asked {
    pub(super) token: String,
    pub(super) at: Instant,
    pub(super) answered: Option<(Value, Duration)>,
}

pub(super) struct Trouble {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) count: usize,
    pub(super) fault: Fault,
}

/// What the gateway keeps of a client.
pub(super) struct Session {
    pub(super) id: String,
    sequence: u64,
    told: Vec<Value>,
    pub(super) line: Option<Arc<Line>>,
}

pub(super) struct World {
    pub(super) heartbeat: Duration,
    last_id: u64,
    people: BTreeMap<String, u64>,
    pub(super) places: BTreeMap<String, Place>,
    pub(super) guild: Guild,
    pub(super) closed: BTreeMap<String, (u16, u64)>,
    /// Nonce to message.
    pub(super) nonces: BTreeMap<String, Value>,
    pub(super) interactions: BTreeMap<String, Asked>,
    pub(super) commands: Vec<String>,
    pub(super) files: BTreeMap<String, String>,
    pub(super) sounds: Sounds,
    pub(super) sessions: Vec<Session>,
    pub(super) identified: usize,
    pub(super) resumed: usize,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Vec<String>,
    pub(super) troubles: Vec<Trouble>,
    pub(super) is_down: bool,
    pub(super) content_is_forbidden: bool,
    pub(super) hears_reactions: bool,
    pub(super) files_are_forbidden: bool,
    /// The bot's reactions by message.
    pub(super) reactions: BTreeMap<String, BTreeSet<String>>,
    pub(super) reactions_are_forbidden: bool,
    /// How many edits a channel takes in what time, if that is limited, and how many each had since when.
    pub(super) edit_limit: Option<(usize, Duration)>,
    pub(super) edits: BTreeMap<String, (Instant, usize)>,
    pub(super) tells_twice: bool,
    /// How much the bot has said.
    pub(super) said: usize,
    /// Where and what a person said last.
    pub(super) last_said: Option<(String, String)>,
}

impl World {
    pub(super) fn new(heartbeat: Duration) -> Self {
        Self {
            heartbeat,
            last_id: 1_100_000_000_000_000_000,
            people: BTreeMap::new(),
            places: BTreeMap::new(),
            guild: Guild::default(),
            closed: BTreeMap::new(),
            nonces: BTreeMap::new(),
            interactions: BTreeMap::new(),
            commands: Vec::new(),
            files: BTreeMap::new(),
            sounds: Sounds::default(),
            sessions: Vec::new(),
            identified: 0,
            resumed: 0,
            calls: Vec::new(),
            faults: Vec::new(),
            troubles: Vec::new(),
            is_down: false,
            content_is_forbidden: false,
            hears_reactions: false,
            files_are_forbidden: false,
            reactions: BTreeMap::new(),
            reactions_are_forbidden: false,
            edit_limit: None,
            edits: BTreeMap::new(),
            tells_twice: false,
            said: 0,
            last_said: None,
        }
    }

    /// Ids tell times: between two of them there is a millisecond.
    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1 << 22;
        self.last_id
    }

    pub(super) fn person(&mut self, name: &str) -> u64 {
        if let Some(id) = self.people.get(name) {
            return *id;
        }
        let id = self.new_id();
        self.people.insert(name.to_owned(), id);
        id
    }

    pub(super) fn place(&mut self, kind: Kind, name: &str) -> String {
        let is_it = |place: &Place| place.kind == kind && place.name == name;
        if let Some((id, _)) = self.places.iter().find(|(_, place)| is_it(place)) {
            return id.clone();
        }
        let id = self.new_id().to_string();
        self.add_place(&id, kind, name, None);
        if kind == Kind::Direct {
            let person = self.person(name);
            self.places.entry(id.clone()).and_modify(|place| place.members.extend([person]));
        }
        id
    }

    pub(super) fn add_place(&mut self, id: &str, kind: Kind, name: &str, parent: Option<String>) {
        let (name, members, messages) = (name.to_owned(), BTreeSet::new(), Vec::new());
        self.places.insert(id.to_owned(), Place { kind, name, parent, members, messages });
    }

    pub(super) fn is_person(&self, id: u64) -> bool {
        self.people.values().any(|one| *one == id)
    }

    pub(super) fn place_of(&self, message: &str) -> Option<String> {
        let holds = |place: &Place| place.messages.iter().any(|one| one["id"] == message);
        self.places.iter().find(|(_, place)| holds(place)).map(|(id, _)| id.clone())
    }

    pub(super) fn account(&self, id: u64) -> Value {
        let name = self.people.iter().find(|(_, one)| **one == id).map_or("adjutant", |(name, _)| name);
        json!({
            "id": id.to_string(), "username": name, "discriminator": "0", "global_name": null, "avatar": null,
            "bot": id == BOT,
        })
    }

    /// A message is written and told of.
    pub(super) fn post(&mut self, place: &str, author: u64, fields: &Value) -> String {
        let id = self.new_id().to_string();
        let mut message = json!({
            "id": id, "channel_id": place, "author": self.account(author), "content": "", "type": 0,
            "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mention_roles": [], "mentions": [], "attachments": [], "embeds": [],
            "components": [], "pinned": false, "flags": 0,
        });
        for (key, value) in fields.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        message["content"] = json!(message["content"].as_str().unwrap_or_default().trim());
        let content = message["content"].as_str().unwrap_or_default().to_owned();
        let mentioned = self.people.values().chain([&BOT]).filter(|id| content.contains(&format!("<@{id}>")));
        message["mentions"] = mentioned.map(|id| self.account(*id)).collect();
        let roles = ROLES.iter().filter(|id| content.contains(&format!("<@&{id}>")));
        message["mention_roles"] = roles.map(|id| json!(id.to_string())).collect();
        let referenced = message["message_reference"]["message_id"].as_str().map(String::from);
        if let Some(referenced) = referenced {
            message["type"] = json!(19);
            message["referenced_message"] = self.find(place, &referenced).cloned().unwrap_or_default();
        }
        let nonce = message.as_object_mut().and_then(|fields| fields.remove("nonce"));
        if let Some(found) = self.places.get_mut(place) {
            found.messages.push(message.clone());
            if found.kind != Kind::Direct && author != BOT {
                self.guild.members.entry(author).or_insert_with(|| json!({}));
            }
        }
        self.count_in_thread(place);
        // Only the one who has just written, and who hears it live, is told the nonce.
        if let Some(nonce) = nonce {
            message["nonce"] = nonce.clone();
            self.nonces.insert(nonce.to_string(), message.clone());
        }
        self.tell_of("MESSAGE_CREATE", place, message);
        id
    }

    /// A message at which a thread was begun tells how much was said in that.
    fn count_in_thread(&mut self, thread: &str) {
        let parent = self.places.get(thread).and_then(|place| place.parent.clone());
        let Some(parent) = parent.and_then(|parent| self.places.get_mut(&parent)) else { return };
        if let Some(root) = parent.messages.iter_mut().find(|one| one["id"] == thread) {
            let count = root["thread"]["message_count"].as_u64().unwrap_or_default();
            root["thread"]["message_count"] = json!(count + 1);
        }
    }

    pub(super) fn tell_again(&mut self) {
        let Some((place, id)) = self.last_said.clone() else { return };
        if let Some(message) = self.find(&place, &id).cloned() {
            self.tell_of("MESSAGE_CREATE", &place, message);
        }
    }

    /// Mostly it is a recent one.
    pub(super) fn find(&self, place: &str, message: &str) -> Option<&Value> {
        self.places.get(place)?.messages.iter().rev().find(|one| one["id"] == message)
    }

    /// A message gets other fields; the message, if it is there.
    pub(super) fn edit(&mut self, message: &str, fields: &Value) -> Option<Value> {
        let place = self.place_of(message)?;
        let messages = &mut self.places.get_mut(&place)?.messages;
        let found = messages.iter_mut().find(|one| one["id"] == message)?;
        for (key, value) in fields.as_object().into_iter().flatten() {
            found[key] = value.clone();
        }
        // Discord's own updates are no edits.
        if fields["content"].is_string() {
            found["edited_timestamp"] = json!("2026-01-01T00:01:00.000000+00:00");
        }
        let found = found.clone();
        self.tell_of("MESSAGE_UPDATE", &place, found.clone());
        Some(found)
    }

    pub(super) fn interact(&mut self, person: &str, place: &str, kind: u8, data: &Value) -> String {
        let (person, id) = (self.person(person), self.new_id().to_string());
        let token = format!("interaction-token-{id}");
        let (at, answered) = (Instant::now(), None);
        self.interactions.insert(id.clone(), Asked { token: token.clone(), at, answered });
        let mut interaction = json!({
            "id": id, "application_id": APPLICATION.to_string(), "type": kind, "token": token, "version": 1,
            "channel_id": place, "data": data, "locale": "en-GB", "entitlements": [],
        });
        let account = self.account(person);
        if self.is_direct(place) {
            interaction["user"] = account;
            self.tell("INTERACTION_CREATE", &interaction);
        } else {
            interaction["member"] = json!({"user": account, "nick": null, "roles": []});
            self.tell_of("INTERACTION_CREATE", place, interaction);
        }
        id
    }

    pub(super) fn is_direct(&self, place: &str) -> bool {
        self.places.get(place).is_some_and(|place| place.kind == Kind::Direct)
    }

    pub(super) fn seen(&self, place: &str) -> Vec<Seen> {
        let bot = BOT.to_string();
        let messages = self.places.get(place).into_iter().flat_map(|place| &place.messages);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let seen = |message: &Value| {
            let rows = message["components"].as_array().into_iter().flatten();
            let buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
            Seen {
                id: text(&message["id"]),
                content: text(&message["content"]),
                text: plain(message["content"].as_str().unwrap_or_default()),
                buttons: buttons.map(|one| (text(&one["custom_id"]), text(&one["label"]))).collect(),
                reply_to: message["message_reference"]["message_id"].as_str().map(String::from),
                file: message["attachments"].get(0).and_then(|file| {
                    let content = self.files.get(file["id"].as_str()?)?;
                    Some((text(&file["filename"]), content.clone()))
                }),
            }
        };
        messages.filter(|message| message["author"]["id"] == *bot).map(seen).collect()
    }

    // The gateway's side.

    pub(super) fn tell_of(&mut self, name: &str, place: &str, mut data: Value) {
        if !self.is_direct(place) {
            data["guild_id"] = json!(GUILD.to_string());
        }
        self.tell(name, &data);
    }

    /// Tells every session; one without a connection hears it when it resumes.
    pub(super) fn tell(&mut self, name: &str, data: &Value) {
        let times = if self.tells_twice { 2 } else { 1 };
        for session in &mut self.sessions {
            for _ in 0..times {
                session.tell(name, data);
            }
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &Arc<Line>> {
        self.sessions.iter().filter_map(|session| session.line.as_ref())
    }

    pub(super) fn forget_sessions(&mut self) {
        self.sessions.clear();
    }

    pub(super) fn forget_nonces(&mut self) {
        self.nonces.clear();
    }

    pub(super) fn begin_session(&mut self, line: &Arc<Line>, gateway: &str) -> String {
        self.identified += 1;
        let id = format!("session-{}", self.new_id());
        let told = Vec::new();
        let mut session = Session { id: id.clone(), sequence: 0, told, line: Some(Arc::clone(line)) };
        let ready = json!({
            "v": 10, "user": self.account(BOT), "guilds": [{"id": GUILD.to_string(), "unavailable": true}],
            "session_id": id, "resume_gateway_url": gateway, "application": {"id": APPLICATION.to_string(), "flags": 0},
        });
        session.tell("READY", &ready);
        self.sessions.push(session);
        id
    }

    /// Whether there is such a session; then what was missed is told.
    pub(super) fn resume_session(&mut self, id: &str, sequence: u64, line: &Arc<Line>) -> bool {
        let Some(session) = self.sessions.iter_mut().find(|session| session.id == id) else { return false };
        if sequence > session.sequence {
            return false;
        }
        let missed = session.told.iter().filter(|told| told["s"].as_u64() > Some(sequence));
        missed.for_each(|told| line.send(told));
        session.line = Some(Arc::clone(line));
        session.tell("RESUMED", &json!({}));
        self.resumed += 1;
        true
    }
}

impl Session {
    fn tell(&mut self, name: &str, data: &Value) {
        self.sequence += 1;
        let frame = json!({"op": 0, "t": name, "s": self.sequence, "d": data});
        if let Some(line) = &self.line {
            line.send(&frame);
        }
        self.told.push(frame);
    }

    pub(super) fn has_told(&self, sequence: u64) -> bool {
        sequence <= self.sequence
    }
}
