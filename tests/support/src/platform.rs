//! The fake platforms behind one trait: people who write to the assistant, in private and in one room, and read its
//! answers. A new platform is one more `impl` and an entry in [`PLATFORMS`].

use std::time::Duration;

use adjutant_fakes::sounds::Download;
use adjutant_fakes::{discord, slack, telegram};

/// Makes a platform with this many people.
pub type Make = fn(usize) -> Box<dyn Platform>;

/// All platforms.
pub const PLATFORMS: [Make; 3] = [Telegram::make, Discord::make, Slack::make];

/// The same, with a room where answers are streams if the platform has such rooms.
pub const STREAMING: [Make; 3] = [Telegram::make, Discord::make, Slack::make_with_thread];

/// What to break next.
#[derive(Clone, Copy)]
pub enum Failure {
    /// A sending arrives, and its answer does not.
    Cut,
    /// A delivery arrives, but its reply is an error.
    Fail,
    /// A delivery is refused: too many requests.
    Flood,
    /// Receiving breaks off.
    Deaf,
    /// An event is delivered twice.
    Again,
}

pub const FAILURES: [Failure; 5] =
    [Failure::Cut, Failure::Fail, Failure::Flood, Failure::Deaf, Failure::Again];

/// A platform with people.
pub trait Platform {
    fn name(&self) -> &'static str;
    /// Its configuration table.
    fn config(&self) -> String;
    /// A person writes a direct message.
    fn say(&self, person: usize, text: &str);
    /// A person sends a voice note.
    fn speak(&self, person: usize, sound: &[u8], seconds: u64);
    /// A person sends a text file, with these words beside it.
    fn send_file(&self, person: usize, words: &str, name: &str, content: &str);
    /// How many voice notes the assistant has sent.
    fn voices(&self) -> usize;
    /// The next downloads of voice notes go wrong.
    fn spoil_downloads(&self, trouble: Download, times: usize);
    /// A person writes in the room.
    fn say_in_room(&self, person: usize, text: &str);
    /// All messages of the assistant that it didn't delete.
    fn said(&self) -> Vec<String>;
    /// What the assistant shows a person in private, or all in the room, drafts too.
    fn on_screen(&self, person: Option<usize>) -> Vec<String>;
    /// How often the assistant has called the platform to show something.
    fn calls(&self) -> usize;
    /// How often receiving has started, by a poll or a session.
    fn heard(&self) -> usize;
    /// Waits until the assistant has sent this many messages in all; returns whether it did.
    fn wait_for_said(&self, count: usize, most: Duration) -> bool;
    fn failure(&self, failure: Failure);
}

struct Telegram {
    fake: telegram::FakeTelegram,
    people: Vec<i64>,
    room: i64,
}

impl Telegram {
    fn make(people: usize) -> Box<dyn Platform> {
        let fake = telegram::FakeTelegram::start();
        let people = (0..people).map(|person| fake.person(&format!("p{person}"))).collect();
        let room = fake.supergroup("room");
        Box::new(Self { fake, people, room })
    }
}

impl Platform for Telegram {
    fn name(&self) -> &'static str {
        "Telegram"
    }
    fn config(&self) -> String {
        let (token, url) = (self.fake.token(), self.fake.api_url());
        format!("[channels.telegram]\ntoken = \"{token}\"\napi_url = \"{url}\"\nallow = [\"*\"]\n")
    }
    fn say(&self, person: usize, text: &str) {
        self.fake.say(self.people[person], self.people[person], text);
    }
    fn speak(&self, person: usize, sound: &[u8], seconds: u64) {
        self.fake.speak(self.people[person], self.people[person], sound, seconds);
    }
    fn send_file(&self, person: usize, words: &str, name: &str, content: &str) {
        let file = (name, "text/plain");
        self.fake.attach(self.people[person], self.people[person], file, content.as_bytes(), words);
    }
    fn voices(&self) -> usize {
        self.people.iter().map(|person| self.fake.voices(*person).len()).sum()
    }
    fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.fake.spoil_downloads(trouble, times);
    }
    fn say_in_room(&self, person: usize, text: &str) {
        self.fake.say(self.people[person], self.room, &format!("@{} {text}", telegram::BOT_NAME));
    }
    fn said(&self) -> Vec<String> {
        let places = self.people.iter().chain([&self.room]);
        let all = places.flat_map(|place| self.fake.seen(*place));
        all.flat_map(|seen| [Some(seen.text), seen.file.map(|file| file.2)]).flatten().collect()
    }
    fn on_screen(&self, person: Option<usize>) -> Vec<String> {
        let place = person.map_or(self.room, |person| self.people[person]);
        let preview = self.fake.preview(place).map(|(_, text)| text);
        self.fake.seen(place).into_iter().map(|seen| seen.text).chain(preview).collect()
    }
    fn calls(&self) -> usize {
        const METHODS: [&str; 8] = [
            "deletemessage",
            "editmessagetext",
            "sendchataction",
            "senddocument",
            "sendmessage",
            "sendmessagedraft",
            "sendvoice",
            "setmessagereaction",
        ];
        METHODS.iter().map(|method| self.fake.calls(method)).sum()
    }
    fn heard(&self) -> usize {
        self.fake.calls("getupdates")
    }
    fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        self.fake.wait_for_said(count, most)
    }
    fn failure(&self, failure: Failure) {
        const SENDING: &[&str] = &["sendmessage", "senddocument", "sendvoice"];
        let (methods, fault) = match failure {
            Failure::Cut => (SENDING, telegram::Fault::Cut),
            Failure::Fail => (SENDING, telegram::Fault::DoneBut502),
            Failure::Flood => (SENDING, telegram::Fault::Flood(1)),
            Failure::Deaf => (&["getupdates"][..], telegram::Fault::Cut),
            Failure::Again => return self.fake.tell_again(),
        };
        // Failures don't pile up while nobody calls: the promise ends where fifty messages wait unheard.
        for method in methods.iter().filter(|method| !self.fake.will_misbehave(method)) {
            self.fake.misbehave(method, &fault, 1);
        }
    }
}

struct Discord {
    fake: discord::FakeDiscord,
    places: Vec<String>,
    room: String,
}

impl Discord {
    fn make(people: usize) -> Box<dyn Platform> {
        let fake = discord::FakeDiscord::start();
        let places = (0..people).map(|person| fake.dm(&format!("p{person}"))).collect();
        let room = fake.channel("room");
        Box::new(Self { fake, places, room })
    }
}

impl Platform for Discord {
    fn name(&self) -> &'static str {
        "Discord"
    }
    fn config(&self) -> String {
        let (token, url) = (discord::TOKEN, self.fake.api_url());
        format!("[channels.discord]\ntoken = \"{token}\"\napi_url = \"{url}\"\nallow = [\"*\"]\n")
    }
    fn say(&self, person: usize, text: &str) {
        self.fake.say(&format!("p{person}"), &self.places[person], text);
    }
    fn speak(&self, person: usize, sound: &[u8], seconds: u64) {
        self.fake.speak(&format!("p{person}"), &self.places[person], sound, seconds);
    }
    fn send_file(&self, person: usize, words: &str, name: &str, content: &str) {
        let file = (name, "text/plain", content);
        self.fake.attach(&format!("p{person}"), &self.places[person], words, file);
    }
    fn voices(&self) -> usize {
        let seen = self.places.iter().flat_map(|place| self.fake.seen(place));
        seen.filter(|seen| seen.file.as_ref().is_some_and(|file| file.0.starts_with("voice-message"))).count()
    }
    fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.fake.spoil_downloads(trouble, times);
    }
    fn say_in_room(&self, person: usize, text: &str) {
        self.fake.say(&format!("p{person}"), &self.room, &format!("{} {text}", self.fake.mention()));
    }
    fn said(&self) -> Vec<String> {
        let places = self.places.iter().chain([&self.room]);
        let all = places.flat_map(|place| self.fake.seen(place));
        all.flat_map(|seen| [Some(seen.text), seen.file.map(|file| file.1)]).flatten().collect()
    }
    fn on_screen(&self, person: Option<usize>) -> Vec<String> {
        let place = person.map_or(&self.room, |person| &self.places[person]);
        self.fake.seen(place).into_iter().map(|seen| seen.text).collect()
    }
    fn calls(&self) -> usize {
        self.fake.calls().len()
    }
    fn heard(&self) -> usize {
        self.fake.sessions().0
    }
    fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        self.fake.wait_for_said(count, most)
    }
    fn failure(&self, failure: Failure) {
        let sending = |fault| self.fake.misbehave("POST", "/messages", 1, fault);
        match failure {
            Failure::Cut => sending(discord::Fault::DoneThenCut),
            Failure::Fail => sending(discord::Fault::DoneThenStatus(502)),
            Failure::Flood => sending(discord::Fault::Status(429)),
            Failure::Deaf => self.fake.ask_to_reconnect(),
            Failure::Again => self.fake.tell_again(),
        }
    }
}

struct Slack {
    fake: slack::FakeSlack,
    places: Vec<String>,
    room: String,
}

impl Slack {
    fn new(people: usize) -> Self {
        let fake = slack::FakeSlack::start();
        let places = (0..people).map(|person| fake.dm(&format!("p{person}"))).collect();
        let room = fake.channel("room");
        Self { fake, places, room }
    }

    fn make(people: usize) -> Box<dyn Platform> {
        Box::new(Self::new(people))
    }

    fn make_with_thread(people: usize) -> Box<dyn Platform> {
        let mut slack = Self::new(people);
        let root = slack.fake.say("p0", &slack.room, "all about tasks");
        slack.room = format!("{}/{root}", slack.room);
        Box::new(slack)
    }
}

impl Platform for Slack {
    fn name(&self) -> &'static str {
        "Slack"
    }
    fn config(&self) -> String {
        let (bot, app, url) = (slack::BOT_TOKEN, slack::APP_TOKEN, self.fake.api_url());
        format!(
            "[channels.slack]\nbot_token = \"{bot}\"\napp_token = \"{app}\"\napi_url = \"{url}\"\nallow = [\"*\"]\n"
        )
    }
    fn say(&self, person: usize, text: &str) {
        self.fake.say(&format!("p{person}"), &self.places[person], text);
    }
    fn speak(&self, person: usize, sound: &[u8], seconds: u64) {
        self.fake.speak(&format!("p{person}"), &self.places[person], sound, seconds);
    }
    fn send_file(&self, person: usize, words: &str, name: &str, content: &str) {
        let file = (name, "text/plain", content);
        self.fake.attach(&format!("p{person}"), &self.places[person], words, file);
    }
    fn voices(&self) -> usize {
        let seen = self.places.iter().flat_map(|place| self.fake.seen(place));
        seen.filter(|seen| seen.file.as_ref().is_some_and(|file| file.0.starts_with("voice-message"))).count()
    }
    fn spoil_downloads(&self, trouble: Download, times: usize) {
        self.fake.spoil_downloads(trouble, times);
    }
    fn say_in_room(&self, person: usize, text: &str) {
        self.fake.say(&format!("p{person}"), &self.room, &format!("{} {text}", self.fake.mention()));
    }
    fn said(&self) -> Vec<String> {
        let places = self.places.iter().chain([&self.room]);
        let all = places.flat_map(|place| self.fake.seen(place));
        let text = |file: (String, Vec<u8>)| String::from_utf8(file.1).unwrap();
        all.flat_map(|seen| [Some(seen.text), seen.file.map(text)]).flatten().collect()
    }
    fn on_screen(&self, person: Option<usize>) -> Vec<String> {
        let place = person.map_or(&self.room, |person| &self.places[person]);
        self.fake.seen(place).into_iter().map(|seen| seen.text).collect()
    }
    fn calls(&self) -> usize {
        self.fake.calls().len()
    }
    fn heard(&self) -> usize {
        self.fake.sockets().1
    }
    fn wait_for_said(&self, count: usize, most: Duration) -> bool {
        self.fake.wait_for_said(count, most)
    }
    fn failure(&self, failure: Failure) {
        let sending = |fault: slack::Fault| {
            for method in ["chat.postMessage", "files.completeUploadExternal"] {
                self.fake.misbehave(method, 1, fault);
            }
        };
        match failure {
            Failure::Cut => sending(slack::Fault::DoneThenCut),
            Failure::Fail => sending(slack::Fault::DoneThenStatus(502)),
            Failure::Flood => sending(slack::Fault::Status(429)),
            Failure::Deaf => self.fake.cut_sockets(),
            Failure::Again => self.fake.tell_again(),
        }
    }
}
