//! Telegram on 127.0.0.1: a Bot API for one bot, and behind it people, private chats and groups.
//! It is as strict as the real one, and misbehaves on demand.
//!
//! ```
//! use adjutant_fakes::telegram::FakeTelegram;
//!
//! let telegram = FakeTelegram::start();
//! let ada = telegram.person("Ada");
//! // A private chat has its person's id.
//! telegram.say(ada, ada, "Hello!");
//! assert_eq!(telegram.unconfirmed(), 1);
//! assert!(telegram.seen(ada).is_empty(), "the bot has not answered");
//! ```
//!
//! Drafts are for private chats alone (<https://github.com/openclaw/openclaw/issues/7803>). One is seen for 30 seconds
//! (<https://core.telegram.org/bots/api#sendmessagedraft>) or until the bot's next message
//! (<https://github.com/NousResearch/hermes-agent/pull/17179>); whether an edit ends it isn't known, so here it doesn't.
//! As bots have measured, more than nine a second for long are refused for three seconds. A server of an older version
//! has no such method, or says "text must be non-empty" (<https://github.com/nullclaw/nullclaw/issues/338>): see
//! [`Fault::Refusal`]. A bot gives one reaction to a message, of those that exist
//! (<https://core.telegram.org/bots/api#setmessagereaction>).

mod markup;
mod methods;
mod rooms;
mod server;
mod world;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sounds::Download;
use world::{BOT, Chat, Kind, Message, World};

/// The bot's name, without the `@`.
pub const BOT_NAME: &str = "Adjutant_Bot";

const TOKEN: &str = "4242424242:AAFakeFakeFakeFakeFakeFakeFakeFake42";

/// How long a draft is shown.
const PREVIEW: Duration = Duration::from_secs(30);

/// Where something is said: a chat, or a topic of a forum.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    chat: i64,
    thread: Option<i64>,
}

impl From<i64> for Spot {
    fn from(chat: i64) -> Self {
        Self { chat, thread: None }
    }
}

impl From<(i64, i64)> for Spot {
    fn from((chat, thread): (i64, i64)) -> Self {
        Self { chat, thread: Some(thread) }
    }
}

/// A message of the bot's as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: i64,
    /// The topic it is in.
    pub thread: Option<i64>,
    /// The text, without markup.
    pub text: String,
    /// The kinds of its entities, in order.
    pub entities: Vec<String>,
    /// The buttons, row by row: what they read, what they send.
    pub buttons: Vec<Vec<(String, String)>>,
    /// The message it replies to.
    pub reply_to: Option<i64>,
    /// Its file: name, kind, content.
    pub file: Option<(String, String, String)>,
}

/// What may go wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// 429, with so many seconds to wait.
    Flood(u64),
    /// A refusal with this status and these words; nothing is done.
    Refusal(u16, &'static str),
    /// This status with a page instead of JSON; nothing is done.
    Page(u16),
    /// It is done, and the connection is cut before the answer.
    Cut,
    /// It is done, and answered with 502.
    DoneBut502,
    /// Nothing is done, and no answer ever comes.
    Hang,
}

/// What Telegram refuses in a message for its content, with a 400 that isn't "can't parse entities". The words are those
/// of the server: <https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp> and
/// <https://core.telegram.org/method/messages.sendMessage#possible-errors>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Any entity and any button.
    Markup,
    /// A text longer than this, in UTF-16 units.
    LongerThan(usize),
    /// Any document.
    Documents,
}

struct Shared {
    world: Mutex<World>,
    /// Wakes polls.
    news: Condvar,
    stopped: AtomicBool,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// The fake platform; it stops when it is dropped.
pub struct FakeTelegram {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FakeTelegram {
    /// Starts it on a free port, with nobody in it.
    pub fn start() -> Self {
        let (listener, address) = crate::http::listen(0);
        let shared = Arc::new(Shared {
            world: Mutex::new(World::default()),
            news: Condvar::new(),
            stopped: AtomicBool::new(false),
        });
        crate::http::accept(listener, &shared, Shared::is_over, |stream, shared| {
            server::serve(stream, shared)
        });
        Self { address, shared }
    }

    /// What to write as `api_url`.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bot's token.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// A new person; the private chat with the bot has the same id.
    pub fn person(&self, name: &str) -> i64 {
        let id = 1_000 + self.shared.world().people.len() as i64;
        self.person_with_id(id, name)
    }

    /// A new person with an id of one's own: a long one is in no other number by chance.
    pub fn person_with_id(&self, id: i64, name: &str) -> i64 {
        let mut world = self.shared.world();
        world.people.insert(id, name.to_owned());
        world.chats.insert(id, Chat::new(Kind::Private, name));
        id
    }

    /// A new basic group.
    pub fn group(&self, title: &str) -> i64 {
        self.shared.world().add_group(-5_000, Kind::Group, title)
    }

    /// A new supergroup.
    pub fn supergroup(&self, title: &str) -> i64 {
        self.shared.world().add_group(-1_002_000_000_000, Kind::Supergroup, title)
    }

    /// A new topic of a supergroup, opened by the bot itself; it makes the group a forum.
    pub fn topic(&self, chat: i64) -> i64 {
        let mut world = self.shared.world();
        let thread = world.add(chat, Message { opens_topic: true, ..Message::by(BOT, "") });
        world.chats.entry(chat).and_modify(|chat| chat.topics.push(thread));
        thread
    }

    /// Somebody says something; its id.
    pub fn say(&self, person: i64, spot: impl Into<Spot>, text: &str) -> i64 {
        self.post(spot.into(), Message::by(person, text))
    }

    /// Somebody replies to a message.
    pub fn reply(&self, person: i64, spot: impl Into<Spot>, to: i64, text: &str) -> i64 {
        self.post(spot.into(), Message { reply_to: Some(to), ..Message::by(person, text) })
    }

    /// Somebody sends a file with a caption.
    pub fn attach(
        &self,
        person: i64,
        spot: impl Into<Spot>,
        (name, kind): (&str, &str),
        content: &[u8],
        caption: &str,
    ) -> i64 {
        let size = content.len();
        let file = self.shared.world().keep_file(content);
        let document = json!({"document": {"file_id": file, "file_unique_id": file, "file_size": size,
            "file_name": name, "mime_type": kind}});
        self.post(spot.into(), Message { media: Some(document), ..Message::by(person, caption) })
    }

    /// Somebody sends a voice note.
    pub fn speak(&self, person: i64, spot: impl Into<Spot>, sound: &[u8], seconds: u64) -> i64 {
        let file = self.shared.world().sounds.keep(sound);
        let voice = json!({"voice": {"file_id": file, "file_unique_id": file, "file_size": sound.len(),
            "mime_type": "audio/ogg", "duration": seconds}});
        self.send(person, spot, voice)
    }

    /// The voice notes that the bot has sent to a chat: seconds and sound.
    pub fn voices(&self, chat: i64) -> Vec<(u64, Vec<u8>)> {
        let mut world = self.shared.world();
        let messages = world.chats.get(&chat).into_iter().flat_map(|chat| chat.messages.values());
        let sent =
            messages.filter(|message| message.from == BOT).filter_map(|message| message.media.as_ref());
        let voices: Vec<Value> = sent.map(|media| media["voice"].clone()).filter(Value::is_object).collect();
        let sound = |voice: &Value| {
            let name = voice["file_id"].as_str().unwrap_or_default();
            Some((voice["duration"].as_u64()?, world.sounds.ask(name).0?))
        };
        voices.iter().filter_map(sound).collect()
    }

    /// The next downloads of voice notes go wrong.
    pub fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.shared.world().sounds.misbehave(trouble, times);
    }

    /// How often a voice note was asked for.
    pub fn downloads(&self) -> usize {
        self.shared.world().sounds.asked
    }

    /// Somebody sends something without text, given as the fields of the message: `{"sticker": {..}}`.
    pub fn send(&self, person: i64, spot: impl Into<Spot>, media: Value) -> i64 {
        self.post(spot.into(), Message { media: Some(media), ..Message::by(person, "") })
    }

    fn post(&self, spot: Spot, message: Message) -> i64 {
        let mut world = self.shared.world();
        let id = world.add(spot.chat, Message { thread: spot.thread, ..message });
        let shown = world.show(spot.chat, id);
        world.last_said = Some(shown.clone());
        world.update(json!({"message": shown}));
        self.shared.news.notify_all();
        id
    }

    /// What somebody said last is told a second time.
    pub fn tell_again(&self) {
        let mut world = self.shared.world();
        if let Some(shown) = world.last_said.clone() {
            world.update(json!({"message": shown}));
            self.shared.news.notify_all();
        }
    }

    /// Somebody changes what they said.
    pub fn edit(&self, chat: i64, message: i64, text: &str) {
        let mut world = self.shared.world();
        if let Some(message) = world.message(chat, message) {
            text.clone_into(&mut message.text);
        }
        let shown = world.show(chat, message);
        world.update(json!({"edited_message": shown}));
        self.shared.news.notify_all();
    }

    /// Somebody presses the button of that label; the id of the press, nothing if there is no such button.
    pub fn press(&self, person: i64, chat: i64, message: i64, label: &str) -> Option<String> {
        let mut world = self.shared.world();
        let buttons = world.message(chat, message)?.keyboard.concat();
        let (_, data) = buttons.into_iter().find(|(text, _)| text == label)?;
        let query = world.fresh_id();
        let on = world.show(chat, message);
        let from = world.user(person);
        world.update(json!({"callback_query":
            {"id": query, "from": from, "message": on, "chat_instance": "1", "data": data}}));
        self.shared.news.notify_all();
        Some(query)
    }

    /// Somebody reacts to a message.
    pub fn react(&self, person: i64, chat: i64, message: i64, emoji: &str) {
        self.change_reaction(person, chat, message, [None, Some(emoji)]);
    }

    /// Somebody has another reaction to a message than before, or none.
    pub fn change_reaction(&self, person: i64, chat: i64, message: i64, change: [Option<&str>; 2]) {
        let shown = |emoji: &str| json!({"type": "emoji", "emoji": emoji});
        let [old, new] = change.map(|emoji| emoji.into_iter().map(shown).collect::<Vec<_>>());
        let mut world = self.shared.world();
        let (on, user) = (world.show(chat, message), world.user(person));
        world.update(json!({"message_reaction": {
            "chat": on["chat"], "message_id": message, "user": user, "date": 1, "old_reaction": old,
            "new_reaction": new,
        }}));
        self.shared.news.notify_all();
    }

    /// An update of any shape, to which an id is given if it has none.
    pub fn update(&self, update: Value) {
        self.shared.world().update(update);
        self.shared.news.notify_all();
    }

    /// What the bot has said in a chat and not taken away.
    pub fn seen(&self, chat: i64) -> Vec<Seen> {
        let world = self.shared.world();
        let messages = world.chats.get(&chat).into_iter().flat_map(|chat| &chat.messages);
        let ours = messages.filter(|(_, message)| message.from == BOT && !message.opens_topic);
        let kind = |entity: &Value| entity["type"].as_str().unwrap_or_default().to_owned();
        let seen = ours.map(|(id, message)| Seen {
            id: *id,
            thread: message.thread,
            text: message.text.clone(),
            entities: message.entities.iter().map(kind).collect(),
            buttons: message.keyboard.clone(),
            reply_to: message.reply_to,
            file: message.media.as_ref().and_then(|media| world.document(media)),
        });
        seen.collect()
    }

    /// The id and the text of the draft that a chat's person sees now.
    pub fn preview(&self, chat: i64) -> Option<(i64, String)> {
        let world = self.shared.world();
        let preview = world.chats.get(&chat)?.preview.as_ref()?;
        let is_shown = preview.shown.elapsed() < PREVIEW;
        is_shown.then(|| (preview.draft, preview.text.clone()))
    }

    /// The bot's reaction to a message.
    pub fn reaction(&self, chat: i64, message: i64) -> Option<String> {
        self.shared.world().message(chat, message)?.reaction.clone()
    }

    /// Waits until the bot has said so much in all, at most this long; whether it has.
    pub fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        let too_few = |world: &mut World| world.said < count;
        let waited = self.shared.news.wait_timeout_while(self.shared.world(), most, too_few);
        waited.unwrap_or_else(PoisonError::into_inner).0.said >= count
    }

    /// How often a method was called, in whatever case, faults included.
    pub fn calls(&self, method: &str) -> usize {
        self.shared.world().calls.get(&method.to_lowercase()).copied().unwrap_or(0)
    }

    /// How many updates wait to be confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.shared.world().updates.len()
    }

    /// Whether a press was answered.
    pub fn is_answered(&self, query: &str) -> bool {
        self.shared.world().answered.contains_key(query)
    }

    /// What was shown to a presser alone; empty for nothing.
    pub fn alert(&self, query: &str) -> String {
        self.shared.world().answered.get(query).cloned().unwrap_or_default()
    }

    /// The commands that the bot has registered.
    pub fn commands(&self) -> Vec<String> {
        self.shared.world().commands.clone()
    }

    /// The next `times` calls of a method go wrong.
    pub fn misbehave(&self, method: &str, fault: &Fault, times: usize) {
        let mut world = self.shared.world();
        let faults = world.faults.entry(method.to_lowercase()).or_default();
        faults.extend(std::iter::repeat_n(fault.clone(), times));
    }

    /// From now on it refuses these, for what they contain.
    pub fn refuse(&self, refusals: &[Refusal]) {
        self.shared.world().refusals = refusals.to_vec();
    }

    /// A method goes wrong no more.
    pub fn mend(&self, method: &str) {
        self.shared.world().faults.remove(&method.to_lowercase());
    }

    /// Whether a call of a method has yet to go wrong.
    pub fn will_misbehave(&self, method: &str) -> bool {
        self.shared.world().faults.get(&method.to_lowercase()).is_some_and(|faults| !faults.is_empty())
    }

    /// From now on a chat is closed to the bot: Telegram's 403 with these words.
    pub fn close(&self, chat: i64, words: &str) {
        self.shared.world().chats.entry(chat).and_modify(|chat| chat.closed = Some(words.to_owned()));
    }

    /// A basic group becomes a supergroup, as both say; its new id.
    pub fn migrate(&self, chat: i64) -> i64 {
        let new = self.supergroup("moved");
        self.shared.world().chats.entry(chat).and_modify(|chat| chat.moved_to = Some(new));
        self.send(0, chat, json!({"migrate_to_chat_id": new}));
        self.send(0, new, json!({"migrate_from_chat_id": chat}));
        new
    }

    /// A week without updates: open polls end with nothing, and the ids of updates begin anew, lower.
    pub fn pass_a_week(&self) {
        self.shared.world().pass_a_week();
        self.shared.news.notify_all();
    }

    /// Somebody has set a webhook.
    pub fn set_webhook(&self) {
        self.shared.world().webhook = true;
    }
}

impl Drop for FakeTelegram {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.news.notify_all();
        // Wakes the listener, which looks at the flag.
        let _ = TcpStream::connect(self.address);
    }
}

#[cfg(test)]
mod tests;
