//! Who is there, and what was said.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use serde_json::{Value, json};

use super::{BOT_NAME, Fault, Refusal};
use crate::sounds::Sounds;

/// The bot's id.
pub(super) const BOT: i64 = 4_242_424_242;

/// Rows of buttons: what they read, what they send.
pub(super) type Keyboard = Vec<Vec<(String, String)>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Private,
    Group,
    Supergroup,
}

pub(super) struct Chat {
    pub(super) kind: Kind,
    title: String,
    pub(super) topics: Vec<i64>,
    pub(super) messages: BTreeMap<i64, Message>,
    /// The highest id of a supergroup; others count together.
    highest: i64,
    pub(super) moved_to: Option<i64>,
    pub(super) closed: Option<String>,
    /// When the last drafts came.
    pub(super) drafts: Vec<Instant>,
    /// What is shown of the last one.
    pub(super) preview: Option<Preview>,
}

/// A draft that the chat's person sees.
pub(super) struct Preview {
    pub(super) draft: i64,
    pub(super) text: String,
    pub(super) shown: Instant,
}

impl Chat {
    pub(super) fn new(kind: Kind, title: &str) -> Self {
        Self {
            kind,
            title: title.to_owned(),
            topics: Vec::new(),
            messages: BTreeMap::new(),
            highest: 0,
            moved_to: None,
            closed: None,
            drafts: Vec::new(),
            preview: None,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Message {
    pub(super) from: i64,
    pub(super) thread: Option<i64>,
    pub(super) text: String,
    pub(super) entities: Vec<Value>,
    pub(super) keyboard: Keyboard,
    pub(super) reply_to: Option<i64>,
    /// Fields of a message that is more than text.
    pub(super) media: Option<Value>,
    pub(super) opens_topic: bool,
    /// The bot's reaction.
    pub(super) reaction: Option<String>,
}

impl Message {
    pub(super) fn by(from: i64, text: &str) -> Self {
        Self { from, text: text.to_owned(), entities: entities(text), ..Self::default() }
    }
}

/// The mentions and commands that Telegram finds in what people write.
fn entities(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let is_name = |char: char| char.is_ascii_alphanumeric() || "_@/".contains(char);
        let name: String = word.chars().take_while(|char| is_name(*char)).collect();
        let kind = match name.chars().next() {
            Some('@') => "mention",
            Some('/') => "bot_command",
            _ => "",
        };
        if !kind.is_empty() {
            found.push(json!({"type": kind, "offset": offset, "length": name.len()}));
        }
        offset += word.encode_utf16().count();
    }
    found
}

#[derive(Default)]
pub(super) struct World {
    pub(super) people: BTreeMap<i64, String>,
    pub(super) chats: BTreeMap<i64, Chat>,
    /// How people stand in chats.
    pub(super) members: BTreeMap<(i64, i64), Value>,
    /// Groups whose members are shown to administrators alone.
    pub(super) hidden: BTreeSet<i64>,
    /// Public names of groups, and of people.
    pub(super) public: BTreeMap<String, i64>,
    pub(super) usernames: BTreeMap<i64, String>,
    /// The highest id over private chats and basic groups.
    highest: i64,
    ids: u64,
    pub(super) updates: VecDeque<(i64, Value)>,
    last_update: i64,
    /// The poll that is open; an older one is ended by it.
    pub(super) poll: u64,
    /// The last poll that ends with nothing, whatever there is.
    pub(super) ended_poll: u64,
    pub(super) webhook: bool,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) sounds: Sounds,
    pub(super) faults: BTreeMap<String, VecDeque<Fault>>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) calls: BTreeMap<String, usize>,
    /// The presses that were answered, with what was shown to their presser.
    pub(super) answered: BTreeMap<String, String>,
    pub(super) asked: BTreeSet<String>,
    pub(super) commands: Vec<String>,
    /// How much the bot has said.
    pub(super) said: usize,
    /// What a person said last, as it was told.
    pub(super) last_said: Option<Value>,
}

impl World {
    pub(super) fn fresh_id(&mut self) -> String {
        self.ids += 1;
        let id = (77_000_000 + self.ids).to_string();
        self.asked.insert(id.clone());
        id
    }

    pub(super) fn add_group(&mut self, first: i64, kind: Kind, title: &str) -> i64 {
        let id = first - self.chats.len() as i64;
        self.chats.insert(id, Chat::new(kind, title));
        id
    }

    pub(super) fn keep_file(&mut self, content: &[u8]) -> String {
        let id = format!("file{}", self.files.len());
        self.files.insert(format!("documents/{id}"), content.to_vec());
        id
    }

    /// Name, kind and content of a message's document.
    pub(super) fn document(&self, media: &Value) -> Option<(String, String, String)> {
        let document = &media["document"];
        let content = self.files.get(&format!("documents/{}", document["file_id"].as_str()?))?;
        let content = String::from_utf8_lossy(content).into_owned();
        Some((
            document["file_name"].as_str()?.to_owned(),
            document["mime_type"].as_str()?.to_owned(),
            content,
        ))
    }

    pub(super) fn pass_a_week(&mut self) {
        self.ended_poll = self.poll;
        self.last_update = 0;
    }

    /// Gives an update its id and keeps it until it is confirmed.
    pub(super) fn update(&mut self, mut update: Value) {
        self.last_update += 1;
        if let Value::Object(fields) = &mut update {
            fields.entry("update_id").or_insert(self.last_update.into());
        }
        self.updates.push_back((self.last_update, update));
    }

    /// Adds a message; its id. In a chat that is not there it goes nowhere. One of the bot's ends the preview.
    pub(super) fn add(&mut self, chat: i64, message: Message) -> i64 {
        let Some(chat) = self.chats.get_mut(&chat) else { return 0 };
        if message.from == BOT {
            chat.preview = None;
        }
        let highest = if chat.kind == Kind::Supergroup { &mut chat.highest } else { &mut self.highest };
        *highest += 1;
        chat.messages.insert(*highest, message);
        *highest
    }

    pub(super) fn message(&mut self, chat: i64, message: i64) -> Option<&mut Message> {
        self.chats.get_mut(&chat)?.messages.get_mut(&message)
    }

    pub(super) fn user(&self, id: i64) -> Value {
        if id == BOT {
            return json!({"id": BOT, "is_bot": true, "first_name": "Adjutant", "username": BOT_NAME});
        }
        let name = self.people.get(&id).map_or("Nobody", String::as_str);
        let (first, last) = name.split_once(' ').unwrap_or((name, ""));
        let mut user = json!({"id": id, "is_bot": false, "first_name": first});
        if !last.is_empty() {
            user["last_name"] = last.into();
        }
        if let Some(username) = self.usernames.get(&id) {
            user["username"] = username.clone().into();
        }
        user
    }

    pub(super) fn chat(&self, id: i64) -> Value {
        match self.chats.get(&id) {
            Some(chat) if chat.kind == Kind::Supergroup => {
                let is_forum = !chat.topics.is_empty();
                json!({"id": id, "type": "supergroup", "title": chat.title, "is_forum": is_forum})
            }
            Some(chat) if chat.kind == Kind::Group => {
                json!({"id": id, "type": "group", "title": chat.title})
            }
            _ => {
                let first = self.people.get(&id).map_or("Nobody", String::as_str);
                json!({"id": id, "type": "private", "first_name": first})
            }
        }
    }

    /// A message as the API shows it.
    pub(super) fn show(&self, chat: i64, id: i64) -> Value {
        self.show_with_reply(chat, id, true)
    }

    fn show_with_reply(&self, chat: i64, id: i64, with_reply: bool) -> Value {
        let Some(message) = self.chats.get(&chat).and_then(|chat| chat.messages.get(&id)) else {
            return Value::Null;
        };
        // Time stands still here; nobody asks.
        let mut shown = json!({"message_id": id, "date": 1_700_000_000, "chat": self.chat(chat),
            "from": self.user(message.from)});
        if let Some(thread) = message.thread {
            shown["message_thread_id"] = thread.into();
            shown["is_topic_message"] = true.into();
        }
        if message.opens_topic {
            shown["forum_topic_created"] = json!({"name": "topic", "icon_color": 7_322_096});
        }
        let (text, entities) =
            if message.media.is_some() { ("caption", "caption_entities") } else { ("text", "entities") };
        if !message.text.is_empty() {
            shown[text] = message.text.clone().into();
            shown[entities] = message.entities.clone().into();
        }
        for (key, value) in message.media.iter().filter_map(Value::as_object).flatten() {
            shown[key] = value.clone();
        }
        if !message.keyboard.is_empty() {
            let button = |(text, data): &(String, String)| json!({"text": text, "callback_data": data});
            let rows: Vec<Vec<Value>> =
                message.keyboard.iter().map(|row| row.iter().map(button).collect()).collect();
            shown["reply_markup"] = json!({"inline_keyboard": rows});
        }
        // What is said in a topic replies to the message that opened it, if to nothing else.
        if let Some(reply) = message.reply_to.or(message.thread).filter(|_| with_reply) {
            shown["reply_to_message"] = self.show_with_reply(chat, reply, false);
        }
        shown
    }
}
