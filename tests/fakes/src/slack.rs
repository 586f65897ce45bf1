//! Slack on 127.0.0.1: people, places and messages, with the Web API, Socket Mode and the Events API on top.
//! It is strict about what Slack is strict about, and misbehaves on demand.
//!
//! ```
//! use adjutant_fakes::slack::FakeSlack;
//!
//! let slack = FakeSlack::start();
//! let place = slack.dm("ada");
//! slack.say("ada", &place, "Hello?");
//! assert!(slack.seen(&place).is_empty(), "nobody answered");
//! ```

mod blocks;
mod events;
mod files;
mod mrkdwn;
mod private;
mod rooms;
mod socket;
mod streams;
mod web;
mod world;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http;
use crate::sounds::Download;

pub use events::signature;
pub use mrkdwn::plain;
pub use web::Fault;
use world::{Kind, Trouble, World};

/// The token of the bot.
pub const BOT_TOKEN: &str = "xoxb-1234567890-fake-bot-token";
/// The token of the app, for Socket Mode.
pub const APP_TOKEN: &str = "xapp-1-A0FAKE-1234567890-fake-app-token";
/// What requests to us are signed with.
pub const SIGNING_SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A message of the bot's as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its time stamp, which is its name.
    pub ts: String,
    /// Its text as read, without marks.
    pub text: String,
    /// Its text as written, section by section.
    pub sections: Vec<String>,
    /// What a notification shows.
    pub notification: String,
    /// Its buttons: value and label.
    pub buttons: Vec<(String, String)>,
    /// The file that hangs on it: its name as shown, and what is in it.
    pub file: Option<(String, Vec<u8>)>,
}

/// A call of the Web API as it came in.
#[derive(Debug, Clone)]
pub struct Call {
    /// `chat.postMessage` and the like.
    pub method: String,
    /// Its arguments.
    pub arguments: Value,
}

struct Shared {
    world: Mutex<World>,
    web: SocketAddr,
    sockets: SocketAddr,
    stopped: AtomicBool,
    /// The bot has called.
    news: Condvar,
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
pub struct FakeSlack {
    shared: Arc<Shared>,
}

impl FakeSlack {
    /// Starts it on free ports; what is not acknowledged within Slack's three seconds is told again.
    pub fn start() -> Self {
        Self::with_patience(Duration::from_secs(3))
    }

    /// Starts it with another time within which events must be acknowledged.
    pub fn with_patience(patience: Duration) -> Self {
        let ((web_listener, web), (socket_listener, sockets)) = (http::listen(0), http::listen(0));
        let (world, stopped) = (Mutex::new(World::new(patience)), AtomicBool::new(false));
        let shared = Arc::new(Shared { world, web, sockets, stopped, news: Condvar::new() });
        http::accept(web_listener, &shared, Shared::is_over, web::serve);
        http::accept(socket_listener, &shared, Shared::is_over, socket::serve);
        let ticking = Arc::clone(&shared);
        thread::spawn(move || {
            while !ticking.stopped.load(Ordering::SeqCst) {
                events::deliver(&ticking);
                thread::sleep(Duration::from_millis(10));
            }
        });
        Self { shared }
    }

    /// What to write as `api_url`.
    pub fn api_url(&self) -> String {
        format!("http://{}/api", self.shared.web)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    // Places. That of a thread is its channel's, a slash, and its first message's time stamp.

    /// The direct conversation with somebody.
    pub fn dm(&self, person: &str) -> String {
        self.world().place(Kind::Direct, person)
    }

    /// A channel of which the bot is a member.
    pub fn channel(&self, name: &str) -> String {
        self.world().place(Kind::Channel, name)
    }

    /// A direct conversation of several people and the bot.
    pub fn group(&self, name: &str) -> String {
        self.world().place(Kind::Group, name)
    }

    /// The place is no longer open to the bot: calls about it fail with this error.
    pub fn close(&self, place: &str, error: &str) {
        self.world().closed.insert(place.to_owned(), error.to_owned());
    }

    // What people do. Everything gives the name under which Slack knows it.

    /// Somebody's id.
    pub fn person(&self, name: &str) -> String {
        self.world().person(name)
    }

    /// The bot's token allows this no longer.
    pub fn withdraw(&self, scope: &str) {
        self.shared.world().scopes.retain(|granted| *granted != scope);
    }

    /// How the bot is mentioned.
    pub fn mention(&self) -> String {
        format!("<@{}>", world::BOT)
    }

    /// Somebody writes; what Slack escapes must be escaped.
    pub fn say(&self, person: &str, place: &str, text: &str) -> String {
        self.post(person, place, &json!({"text": text}))
    }

    /// Somebody sends a file of this type.
    pub fn attach(&self, person: &str, place: &str, text: &str, file: (&str, &str, &str)) -> String {
        let (name, kind, content) = file;
        self.world().files.insert(name.to_owned(), content.to_owned());
        let url = format!("http://{}/files-pri/{name}", self.shared.web);
        let file =
            json!({"id": "F1", "name": name, "mimetype": kind, "size": content.len(), "url_private": url});
        self.post(person, place, &json!({"text": text, "subtype": "file_share", "files": [file]}))
    }

    /// Somebody sends an audio clip.
    pub fn speak(&self, person: &str, place: &str, sound: &[u8], seconds: u64) -> String {
        let name = self.world().sounds.keep(sound);
        let url = format!("http://{}/files-pri/{name}", self.shared.web);
        let file = json!({"id": "F1", "name": "audio_message.m4a", "mimetype": "audio/mp4", "subtype": "slack_audio",
            "size": sound.len(), "duration_ms": seconds * 1000, "url_private": url});
        self.post(person, place, &json!({"text": "", "subtype": "file_share", "files": [file]}))
    }

    /// The next downloads of audio clips go wrong.
    pub fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.world().sounds.misbehave(trouble, times);
    }

    /// Somebody sends a message with any further fields.
    pub fn post(&self, person: &str, place: &str, fields: &Value) -> String {
        let mut world = self.world();
        let person = world.person(person);
        let ts = world.post(place, &person, fields);
        drop(world);
        events::deliver(&self.shared);
        ts
    }

    /// Somebody changes a message.
    pub fn edit(&self, place: &str, ts: &str, text: &str) {
        self.world().edit(place, ts, &json!({"text": text, "edited": {"ts": ts}}));
    }

    /// Somebody presses a button; the name of the envelope.
    pub fn press(&self, person: &str, place: &str, ts: &str, button: &str) -> String {
        self.world().press(person, place, ts, button)
    }

    /// Somebody uses a slash command, as `/link CODE`; the name of the envelope.
    pub fn command(&self, person: &str, place: &str, text: &str) -> String {
        let web = format!("http://{}", self.shared.web);
        self.world().command(person, place, text, &web)
    }

    /// A person presses a button of a message that only they see. Returns the envelope.
    pub fn press_private(&self, person: &str, place: &str, button: &str) -> String {
        let web = format!("http://{}", self.shared.web);
        self.world().press_private(person, place, button, &web)
    }

    // What can be seen.

    /// The bot's messages in a place.
    pub fn seen(&self, place: &str) -> Vec<Seen> {
        self.world().seen(place)
    }

    /// What only this person was shown, each with its place.
    pub fn ephemeral(&self, person: &str) -> Vec<(String, String)> {
        let mut world = self.world();
        let id = world.person(person);
        let theirs = world.ephemerals.iter().filter(|one| one.0 == id);
        theirs.map(|(_, place, text)| (place.clone(), text.clone())).collect()
    }

    /// Waits until the bot has said so much in all, at most this long; whether it has.
    pub fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        let too_few = |world: &mut World| world.said < count;
        let waited = self.shared.news.wait_timeout_while(self.world(), most, too_few);
        waited.unwrap_or_else(PoisonError::into_inner).0.said >= count
    }

    /// How long after it an envelope was acknowledged; nothing if it was not.
    pub fn acknowledged(&self, envelope: &str) -> Option<Duration> {
        self.world().envelopes.iter().find(|one| one.id == envelope)?.acknowledged
    }

    /// Whether every event was acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.world().envelopes.iter().all(|one| one.acknowledged.is_some())
    }

    /// How often events were told again.
    pub fn redeliveries(&self) -> u32 {
        self.world().envelopes.iter().map(|one| one.attempts.saturating_sub(1)).sum()
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.world().calls.clone()
    }

    /// How many sockets are open, and how many were ever opened.
    pub fn sockets(&self) -> (usize, usize) {
        let world = self.world();
        (world.lines.len(), world.opened)
    }

    /// What the bot did that Slack would not stand for.
    pub fn faults(&self) -> Vec<String> {
        self.world().faults.clone()
    }

    // The Events API.

    /// Events are sent to this address (`http://HOST:PORT/PATH`) instead of a socket.
    pub fn send_events_to(&self, url: &str) {
        self.world().request_url = Some(url.to_owned());
    }

    // Misbehaviour.

    /// The next `count` calls of this method end like this.
    pub fn misbehave(&self, method: &str, count: usize, fault: Fault) {
        let trouble = Trouble { method: method.to_owned(), count, fault };
        self.world().troubles.push(trouble);
    }

    /// The sockets that are open now tell nothing any more, nor answer.
    pub fn go_deaf(&self) {
        self.world().lines.iter().for_each(|line| line.go_deaf());
    }

    /// Slack asks to open another socket; this one is closed soon.
    pub fn ask_to_disconnect(&self, reason: &str) {
        let words = json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "fake"}});
        for line in &self.world().lines {
            line.send(&words);
        }
    }

    /// The sockets break.
    pub fn cut_sockets(&self) {
        self.world().lines.iter().for_each(|line| line.cut());
    }

    /// No socket is taken, the ones that are open are dropped, and what is said now is told nobody.
    pub fn take_sockets_down(&self) {
        let mut world = self.world();
        world.is_down = true;
        world.lines.iter().for_each(|line| line.cut());
    }

    /// Sockets are taken again.
    pub fn bring_sockets_up(&self) {
        self.world().is_down = false;
    }

    /// Every event is told twice from now on.
    pub fn tell_twice(&self) {
        self.world().tells_twice = true;
    }

    /// The last message is told again.
    pub fn tell_again(&self) {
        self.world().tell_again();
    }

    /// Slack tells any envelope.
    pub fn tell(&self, kind: &str, payload: Value) -> String {
        self.world().tell(kind, payload)
    }
}

impl Drop for FakeSlack {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.world().lines.iter().for_each(|line| line.cut());
        // Wakes the listeners, which look at the flag.
        for address in [self.shared.web, self.shared.sockets] {
            let _ = TcpStream::connect(address);
        }
    }
}

#[cfg(test)]
mod tests;
