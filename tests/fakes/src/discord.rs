//! Discord on 127.0.0.1: people, places and messages, with REST and a gateway on top. It is strict about
//! what Discord is strict about, and misbehaves on demand.
//!
//! ```
//! use adjutant_fakes::discord::FakeDiscord;
//!
//! let discord = FakeDiscord::start();
//! let place = discord.dm("ada");
//! discord.say("ada", &place, "Hello?");
//! assert!(discord.seen(&place).is_empty(), "nobody answered");
//! ```

mod gateway;
mod markdown;
mod reactions;
mod rest;
mod rooms;
mod uploads;
mod world;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http;
use crate::sounds::Download;

pub use markdown::plain;
pub use rest::Fault;
use world::{Asked, Kind, Trouble, World};

/// The token that the bot must show.
pub const TOKEN: &str = "fake-discord-token.0123456789";

/// A message of the bot's as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its text as written.
    pub content: String,
    /// Its text as read, without marks.
    pub text: String,
    /// Its buttons: id and label.
    pub buttons: Vec<(String, String)>,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// The file that hangs on it: its name and what is in it.
    pub file: Option<(String, String)>,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Call {
    /// `POST` and the like.
    pub method: String,
    /// From `/channels` on, with its query.
    pub path: String,
    /// The JSON body, which may be a part of a form; null if there was none.
    pub body: Value,
}

struct Shared {
    world: Mutex<World>,
    rest: SocketAddr,
    gateway: SocketAddr,
    /// The bot has said something.
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

/// The fake; it stops when it is dropped.
pub struct FakeDiscord {
    shared: Arc<Shared>,
}

impl FakeDiscord {
    /// Starts it on free ports, with Discord's own heartbeat.
    pub fn start() -> Self {
        Self::with_heartbeat(Duration::from_millis(41_250))
    }

    /// Starts it with another heartbeat.
    pub fn with_heartbeat(heartbeat: Duration) -> Self {
        let ((rest_listener, rest), (gateway_listener, gateway)) = (http::listen(0), http::listen(0));
        let (world, stopped) = (Mutex::new(World::new(heartbeat)), AtomicBool::new(false));
        let shared = Arc::new(Shared { world, rest, gateway, news: Condvar::new(), stopped });
        http::accept(rest_listener, &shared, Shared::is_over, |stream, shared| rest::serve(stream, shared));
        http::accept(gateway_listener, &shared, Shared::is_over, |stream, shared| {
            gateway::serve(stream, shared)
        });
        Self { shared }
    }

    /// What to write as `api_url`.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.shared.rest)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    // Places.

    /// The direct conversation with somebody.
    pub fn dm(&self, person: &str) -> String {
        self.world().place(Kind::Direct, person)
    }

    /// A text channel of the guild.
    pub fn channel(&self, name: &str) -> String {
        self.world().place(Kind::Guild, name)
    }

    /// A thread of the guild.
    pub fn thread(&self, name: &str) -> String {
        self.world().place(Kind::Thread, name)
    }

    /// The place is no longer open to the bot: it is answered with this status and Discord's code.
    pub fn close(&self, place: &str, status: u16, code: u64) {
        self.world().closed.insert(place.to_owned(), (status, code));
    }

    // What people do. Everything gives the id under which Discord knows it.

    /// How the bot is mentioned.
    pub fn mention(&self) -> String {
        format!("<@{}>", world::BOT)
    }

    /// How the role is mentioned that Discord made for the bot.
    pub fn own_role(&self) -> String {
        format!("<@&{}>", world::ROLES[0])
    }

    /// How a role is mentioned that is not the bot's.
    pub fn other_role(&self) -> String {
        format!("<@&{}>", world::ROLES[1])
    }

    /// Somebody writes.
    pub fn say(&self, person: &str, place: &str, text: &str) -> String {
        self.post(person, place, &json!({"content": text}))
    }

    /// Somebody replies to a message.
    pub fn reply(&self, person: &str, place: &str, to: &str, text: &str) -> String {
        self.post(
            person,
            place,
            &json!({"content": text, "type": 19, "message_reference": {"message_id": to}}),
        )
    }

    /// Somebody sends a file of this type.
    pub fn attach(&self, person: &str, place: &str, text: &str, file: (&str, &str, &str)) -> String {
        let (name, kind, content) = file;
        self.world().files.insert(name.to_owned(), content.to_owned());
        let url = format!("{}/files/{name}", self.api_url());
        let file =
            json!({"id": "1", "filename": name, "content_type": kind, "size": content.len(), "url": url});
        self.post(person, place, &json!({"content": text, "attachments": [file]}))
    }

    /// Somebody sends a voice message.
    pub fn speak(&self, person: &str, place: &str, sound: &[u8], seconds: u64) -> String {
        let (name, age) = {
            let mut world = self.world();
            (world.sounds.keep(sound), world.sounds.age)
        };
        let url = format!("{}{}{name}?ex={age}", self.api_url(), rest::VOICE);
        let file = json!({"id": "1", "filename": "voice-message.ogg", "content_type": "audio/ogg",
            "size": sound.len(), "url": url, "duration_secs": seconds as f64 - 0.2, "waveform": "AAAA"});
        self.post(person, place, &json!({"content": "", "flags": 8192, "attachments": [file]}))
    }

    /// The next downloads of voice messages go wrong.
    pub fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.world().sounds.misbehave(trouble, times);
    }

    /// How often a voice message was asked for, by any address.
    pub fn downloads(&self) -> usize {
        self.world().sounds.asked
    }

    /// All addresses of voice messages so far expire; each message has a new one.
    pub fn expire_addresses(&self) {
        self.world().sounds.age += 1;
    }

    /// Somebody sends a message with any further fields.
    pub fn post(&self, person: &str, place: &str, fields: &Value) -> String {
        let mut world = self.world();
        let author = world.person(person);
        let id = world.post(place, author, fields);
        world.last_said = Some((place.to_owned(), id.clone()));
        id
    }

    /// Somebody changes a message.
    pub fn edit(&self, message: &str, text: &str) {
        self.world().edit(message, &json!({"content": text}));
    }

    /// Somebody presses a button.
    pub fn press(&self, person: &str, message: &str, button: &str) -> String {
        let mut world = self.world();
        let Some(place) = world.place_of(message) else { return String::new() };
        world.interact(person, &place, 3, &json!({"custom_id": button, "component_type": 2}))
    }

    /// Somebody uses a slash command, as `/link CODE`.
    pub fn command(&self, person: &str, place: &str, text: &str) -> String {
        let (name, argument) = text.trim_start_matches('/').split_once(' ').unwrap_or((text, ""));
        let option = json!({"name": "code", "type": 3, "value": argument});
        let options = if argument.is_empty() { json!([]) } else { json!([option]) };
        let data = json!({"id": "1", "type": 1, "name": name.trim_start_matches('/'), "options": options});
        self.world().interact(person, place, 2, &data)
    }

    // What can be seen.

    /// The bot's messages in a place.
    pub fn seen(&self, place: &str) -> Vec<Seen> {
        self.world().seen(place)
    }

    /// Waits until the bot has said so much in all, at most this long; whether it has.
    pub fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        let too_few = |world: &mut World| world.said < count;
        let waited = self.shared.news.wait_timeout_while(self.world(), most, too_few);
        waited.unwrap_or_else(PoisonError::into_inner).0.said >= count
    }

    /// How an interaction was answered, and how long after it; nothing if it was not.
    pub fn answered(&self, interaction: &str) -> Option<(Value, Duration)> {
        self.world().interactions.get(interaction).and_then(|Asked { answered, .. }| answered.clone())
    }

    /// The names of the registered commands.
    pub fn commands(&self) -> Vec<String> {
        self.world().commands.clone()
    }

    /// Every REST call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.world().calls.clone()
    }

    /// How often a session was begun, and how often one was resumed.
    pub fn sessions(&self) -> (usize, usize) {
        let world = self.world();
        (world.identified, world.resumed)
    }

    /// What the bot did that Discord would not stand for.
    pub fn faults(&self) -> Vec<String> {
        self.world().faults.clone()
    }

    // Misbehaviour.

    /// The next `count` calls with this method and a path that contains `path` end like this.
    pub fn misbehave(&self, method: &str, path: &str, count: usize, fault: Fault) {
        let trouble = Trouble { method: method.to_owned(), path: path.to_owned(), count, fault };
        self.world().troubles.push(trouble);
    }

    /// The gateway neither acknowledges nor tells anything on the connections that are open now.
    pub fn go_deaf(&self) {
        self.world().lines().for_each(|line| line.go_deaf());
    }

    /// The gateway asks to reconnect (op 7).
    pub fn ask_to_reconnect(&self) {
        self.world().lines().for_each(|line| line.send(&json!({"op": 7, "d": null})));
    }

    /// The gateway ends the sessions (op 9).
    pub fn end_sessions(&self, resumable: bool) {
        let mut world = self.world();
        world.lines().for_each(|line| line.send(&json!({"op": 9, "d": resumable})));
        if !resumable {
            world.forget_sessions();
        }
    }

    /// The gateway closes its connections with this code.
    pub fn close_gateway(&self, code: u16) {
        self.world().lines().for_each(|line| line.close(code));
    }

    /// The gateway's connections break.
    pub fn cut_gateway(&self) {
        self.world().lines().for_each(|line| line.cut());
    }

    /// The gateway takes no connections, and drops and forgets the ones it has; what is said now is missed.
    pub fn take_gateway_down(&self) {
        let mut world = self.world();
        world.is_down = true;
        world.lines().for_each(|line| line.cut());
        world.forget_sessions();
    }

    /// The gateway takes connections again.
    pub fn bring_gateway_up(&self) {
        self.world().is_down = false;
    }

    /// The message content intent is switched off.
    pub fn forbid_message_content(&self) {
        self.world().content_is_forbidden = true;
    }

    /// Every event is told twice from now on.
    pub fn tell_twice(&self) {
        self.world().tells_twice = true;
    }

    /// What somebody said last is told a second time.
    pub fn tell_again(&self) {
        self.world().tell_again();
    }

    /// The gateway tells any event.
    pub fn tell(&self, name: &str, data: &Value) {
        self.world().tell(name, data);
    }

    /// Two minutes pass: nonces are no longer enforced.
    pub fn forget_nonces(&self) {
        self.world().forget_nonces();
    }
}

impl Drop for FakeDiscord {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.world().lines().for_each(|line| line.cut());
        // Wakes the listeners, which look at the flag.
        for address in [self.shared.rest, self.shared.gateway] {
            let _ = TcpStream::connect(address);
        }
    }
}
