//! The gateway under a real `kill -9` at moments that nobody chose, on each platform: what people wrote is
//! answered once and done once, also when an answer arrived whose receipt did not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_fakes::{discord, telegram};

use crate::kill::{Chance, LIMITS, fate};
use crate::process::Home;
use crate::serve::{DEADLINE, Gateway};

/// How often it is killed, unless `ADJUTANT_KILLS` says otherwise.
const KILLS: u32 = 12;

/// How many people write at once.
const PEOPLE: u64 = 4;

/// A platform with people who write to the assistant, and read what it says.
trait Platform {
    /// Its table in the configuration.
    fn config(&self) -> String;
    fn say(&self, person: u64, text: &str);
    /// All that the assistant said and did not take away.
    fn said(&self) -> Vec<String>;
    /// Whether it listens to what is said from now on, where a platform tells nothing of what was said before.
    fn is_heard(&self) -> bool {
        true
    }
    /// The next sending arrives, and its answer does not.
    fn cut(&self);
    /// The next sending is answered as if the platform had failed.
    fn fail(&self);
    /// Receiving is disturbed.
    fn disturb(&self);
}

struct Telegram {
    fake: telegram::FakeTelegram,
    people: Vec<i64>,
}

impl Platform for Telegram {
    fn config(&self) -> String {
        let (token, url) = (self.fake.token(), self.fake.api_url());
        format!("[channels.telegram]\ntoken = \"{token}\"\napi_url = \"{url}\"\nallow = [\"*\"]\n")
    }
    fn say(&self, person: u64, text: &str) {
        let person = self.people[usize::try_from(person).unwrap()];
        self.fake.say(person, person, text);
    }
    fn said(&self) -> Vec<String> {
        self.people.iter().flat_map(|person| self.fake.seen(*person)).map(|seen| seen.text).collect()
    }
    fn cut(&self) {
        self.fake.misbehave("sendmessage", &telegram::Fault::Cut, 1);
    }
    fn fail(&self) {
        self.fake.misbehave("sendmessage", &telegram::Fault::DoneBut502, 1);
    }
    fn disturb(&self) {
        self.fake.misbehave("getupdates", &telegram::Fault::Cut, 1);
    }
}

struct Discord {
    fake: discord::FakeDiscord,
    places: Vec<String>,
}

impl Platform for Discord {
    fn config(&self) -> String {
        let (token, url) = (discord::TOKEN, self.fake.api_url());
        format!("[channels.discord]\ntoken = \"{token}\"\napi_url = \"{url}\"\nallow = [\"*\"]\n")
    }
    fn say(&self, person: u64, text: &str) {
        self.fake.say(&format!("p{person}"), &self.places[usize::try_from(person).unwrap()], text);
    }
    fn said(&self) -> Vec<String> {
        self.places.iter().flat_map(|place| self.fake.seen(place)).map(|seen| seen.text).collect()
    }
    fn is_heard(&self) -> bool {
        self.fake.sessions().0 > 0
    }
    fn cut(&self) {
        self.fake.misbehave("POST", "/messages", 1, discord::Fault::DoneThenCut);
    }
    fn fail(&self) {
        self.fake.misbehave("POST", "/messages", 1, discord::Fault::DoneThenStatus(502));
    }
    fn disturb(&self) {
        self.fake.ask_to_reconnect();
    }
}

fn telegram() -> Telegram {
    let fake = telegram::FakeTelegram::start();
    let people = (0..PEOPLE).map(|person| fake.person(&format!("p{person}"))).collect();
    Telegram { fake, people }
}

fn discord() -> Discord {
    let fake = discord::FakeDiscord::start();
    let places = (0..PEOPLE).map(|person| fake.dm(&format!("p{person}"))).collect();
    Discord { fake, places }
}

/// How often each thing was said to be done.
fn done(platform: &impl Platform) -> BTreeMap<u32, usize> {
    let mut done = BTreeMap::new();
    for text in platform.said() {
        for rest in text.split("“do thing ").skip(1) {
            let number = rest.split('”').next().and_then(|number| number.parse().ok());
            *done.entry(number.unwrap_or_else(|| panic!("cut open: {text}"))).or_default() += 1;
        }
    }
    done
}

/// Waits until so many things were said to be done.
fn wait(platform: &impl Platform, things: u32) {
    let begun = Instant::now();
    while done(platform).len() < things as usize && begun.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// People write for a while, and something may go wrong.
fn write(platform: &impl Platform, number: &mut u32, chance: &mut Chance) {
    match chance.below(6) {
        0 => platform.cut(),
        1 => platform.fail(),
        2 => platform.disturb(),
        _ => {}
    }
    let death = Instant::now() + Duration::from_millis(20 + chance.below(800));
    while Instant::now() < death {
        *number += 1;
        platform.say(chance.below(PEOPLE), &format!("add a task to do thing {number}"));
        std::thread::sleep(Duration::from_millis(chance.below(40)));
    }
}

fn run(platform: &impl Platform) {
    let (kills, mut chance) = fate(KILLS);
    let home = Home::with_config(&format!("{LIMITS}[http]\nlisten = \"\"\n{}", platform.config()));
    // Everybody is known before the first death: of a conversation that it never heard of, a bot that was
    // down is not told on every platform.
    let first = Gateway::start(&home);
    let begun = Instant::now();
    while !platform.is_heard() && begun.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut number = 0;
    for person in 0..PEOPLE {
        number += 1;
        platform.say(person, &format!("add a task to do thing {number}"));
    }
    wait(platform, number);
    first.kill();
    for _ in 0..kills {
        let gateway = Gateway::start(&home);
        write(platform, &mut number, &mut chance);
        gateway.kill();
    }
    let last = Gateway::start(&home);
    wait(platform, number);
    let (status, log) = last.stop();
    assert_eq!(status, Some(0), "{log}");
    println!("{number} messages");
    let done = done(platform);
    let lost: Vec<u32> = (1..=number).filter(|number| !done.contains_key(number)).collect();
    let twice: Vec<_> = done.iter().filter(|(_, times)| **times > 1).collect();
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, answered twice {twice:?}:\n{log}");
    let mut wanted: Vec<String> = (1..=number).map(|number| format!("do thing {number}")).collect();
    wanted.sort();
    assert_eq!(home.tasks(), wanted, "done not at all, or twice");
    home.assert_tidy("after all those kills");
}

#[test]
fn telegram_is_answered_once() {
    run(&telegram());
}

#[test]
fn discord_is_answered_once() {
    run(&discord());
}
