//! A platform with editable, short messages, where everyone is a stranger until let in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant::service::{self, Channel, Models, Service};
use adjutant_chat::{
    Address, Attachment, ButtonPress, ChannelIntake, ChatPort, Choice, Connection, ConnectionEvent, Delivery,
    EventId, Finding, Inbound, IncomingMessage, IncomingReaction, IntakeOutcome, Limits, MessageEdit,
    Outbound, Progress, Reconciliation, Retract, SenderId,
};
use adjutant_config::{Config, ConnectConfig, People, Policy};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_store::leases::{self, Instance};
use adjutant_store::{Store, access, inbox, outbox, people};
use adjutant_turn::journal::RateLimits;
use adjutant_types::ProviderKind;
use adjutant_types::clock::{FixedClock, SharedClock};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::app::{NOW, agent, direct, plan, skill};
use crate::scripted::{Gate, Scripted, calls, has_results, last_text, text};
use crate::workflows::workflow_file;

const FOR_EVER: Duration = Duration::from_secs(20);
/// Characters per message.
const SHORT: usize = 200;

/// A message of the assistant, as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
struct Bubble {
    id: String,
    place: String,
    text: String,
    choices: Vec<Choice>,
}

/// The platform: its messages and events.
struct Phone {
    bubbles: watch::Sender<Vec<Bubble>>,
    log: Mutex<Vec<String>>,
    files: Mutex<Files>,
    refuses_buttons: Mutex<bool>,
    /// Whether it has a form of its own for agents at work.
    has_cards: Mutex<bool>,
    has_reactions: Mutex<bool>,
    draft_pace: Mutex<Duration>,
    /// Where another process stores a receipt for each message, having sent it as well.
    elsewhere: Mutex<Option<Store>>,
    arriving: tokio::sync::Mutex<mpsc::UnboundedReceiver<Arrival>>,
}

/// What happens to the assistant's files.
#[derive(Clone, Copy, Default, PartialEq)]
enum Files {
    /// There are none.
    #[default]
    Unknown,
    Taken,
    NotAllowed,
    /// They can't be uploaded at the moment.
    Broken,
}

enum Arrival {
    Inbound(Inbound),
    Edit(MessageEdit),
    Reaction(IncomingReaction),
    Moved(Address, Address),
}

impl Phone {
    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(what.to_owned());
    }

    fn put(&self, place: &str, text: String, choices: Vec<Choice>) -> Delivery {
        let id = format!("{}", 100 + self.log.lock().unwrap().len());
        self.bubbles.send_modify(|bubbles| {
            bubbles.push(Bubble { id: id.clone(), place: place.to_owned(), text, choices });
        });
        Delivery::Sent(id)
    }

    /// Another process sends the same part, and is quicker with its receipt.
    async fn sends_elsewhere(&self, store: &Store, outbound: &Outbound, is_last: bool) {
        let place = &outbound.address.place;
        let Delivery::Sent(receipt) = self.put(place, format!("{} (elsewhere)", part(outbound)), Vec::new())
        else {
            return;
        };
        self.note("answer elsewhere");
        let here = people::find_conversation(store, "phone", place).await.unwrap().unwrap();
        let owner: (String,) = store
            .first("SELECT instance FROM outbox WHERE id = $1", &[outbound.id.as_str().into()])
            .await
            .unwrap()
            .unwrap();
        let row = outbox::open(store, &here.id, &owner.0.as_str().into(), 1).await.unwrap().remove(0);
        let stored = match is_last {
            true => outbox::sent(store, &row, &receipt).await,
            false => outbox::part_sent(store, &row, &receipt, false).await,
        };
        assert_eq!(stored.unwrap(), None);
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Bubble)) -> Delivery {
        let found = self.bubbles.send_if_modified(|bubbles| {
            let bubble = bubbles.iter_mut().find(|bubble| bubble.id == id);
            bubble.map(change).is_some()
        });
        if found { Delivery::Sent(id.to_owned()) } else { Delivery::Refused("no such message".into()) }
    }
}

/// How many messages the text needs.
fn texts(outbound: &Outbound) -> usize {
    outbound.text.chars().count().div_ceil(SHORT).max(1)
}

fn part(outbound: &Outbound) -> String {
    let characters: Vec<char> = outbound.text.chars().collect();
    characters.chunks(SHORT).nth(outbound.part).unwrap_or_default().iter().collect()
}

#[async_trait::async_trait]
impl ChatPort for Phone {
    fn channel(&self) -> &'static str {
        "phone"
    }
    fn limits(&self) -> Limits {
        Limits { edits: true, files: *self.files.lock().unwrap() != Files::Unknown }
    }
    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(texts(outbound))
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        if let Some(file) = outbound.file.as_ref().filter(|_| outbound.part == texts(outbound)) {
            self.note("file");
            return match *self.files.lock().unwrap() {
                Files::NotAllowed => Delivery::FileRefused("not here".into()),
                Files::Broken => Delivery::Retry(None),
                _ => self.put(
                    &outbound.address.place,
                    format!("FILE {}\n{}", file.name, file.text),
                    Vec::new(),
                ),
            };
        }
        let is_last = outbound.part + 1 == texts(outbound);
        let choices = if is_last { outbound.choices.clone() } else { Vec::new() };
        self.note(if outbound.edit_of.is_some() { "answer in place" } else { "answer" });
        if !choices.is_empty() && *self.refuses_buttons.lock().unwrap() {
            return Delivery::Refused("bad button".into());
        }
        let elsewhere = self.elsewhere.lock().unwrap().clone();
        if let Some(store) = elsewhere {
            self.sends_elsewhere(&store, outbound, is_last).await;
        }
        match &outbound.edit_of {
            None => self.put(&outbound.address.place, part(outbound), choices),
            Some(id) => self.change(id, |bubble| {
                bubble.text = part(outbound);
                bubble.choices = choices;
            }),
        }
    }
    async fn reconcile(&self, _: &Outbound) -> Reconciliation {
        Reconciliation::NotSent
    }
    async fn typing(&self, _: &Address) {
        self.note("typing");
    }
    async fn react(&self, _: &Address, _: &str, is_at_work: bool) -> bool {
        self.note(if is_at_work { "reaction" } else { "no reaction" });
        *self.has_reactions.lock().unwrap()
    }
    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        self.note("show");
        match receipt {
            None => self.put(&address.place, text.to_owned(), Vec::new()),
            Some(id) => self.change(id, |bubble| text.clone_into(&mut bubble.text)),
        }
    }
    async fn show_agents(
        &self,
        _: Option<&str>,
        receipt: Option<&str>,
        progress: &Progress,
    ) -> Option<Delivery> {
        let missions: Vec<&str> = progress.agents.iter().map(|agent| agent.mission.as_str()).collect();
        let cards = format!("CARDS {}", missions.join(", "));
        let has_cards = *self.has_cards.lock().unwrap();
        has_cards.then(|| match receipt {
            None => self.put(&progress.address.place, cards, Vec::new()),
            Some(id) => self.change(id, |bubble| bubble.text = cards),
        })
    }
    fn draft_pace(&self, _: &Address) -> Duration {
        *self.draft_pace.lock().unwrap()
    }
    async fn retract(&self, _: &Address, receipt: &str, what: Retract) {
        self.note("retract");
        match what {
            Retract::Message => {
                self.bubbles.send_modify(|bubbles| bubbles.retain(|bubble| bubble.id != receipt))
            }
            Retract::Buttons => drop(self.change(receipt, |bubble| bubble.choices.clear())),
        }
    }
}

#[async_trait::async_trait]
impl Connection for Phone {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        intake.report(ConnectionEvent::Alive);
        while let Some(arrival) = self.arriving.lock().await.recv().await {
            match arrival {
                Arrival::Inbound(inbound) => match intake.accept(inbound).await.unwrap() {
                    IntakeOutcome::Accepted => {}
                    IntakeOutcome::Notice(notice) => drop(self.put("notice", notice, Vec::new())),
                },
                Arrival::Edit(edited) => intake.edit(edited).await.unwrap(),
                Arrival::Reaction(reaction) => intake.reacted(reaction).await.unwrap(),
                Arrival::Moved(from, to) => intake.moved(&from, &to).await.unwrap(),
            }
            self.note("taken");
        }
        "the line was cut; lay a new one".to_owned()
    }
    fn shows_notices(&self) -> bool {
        true
    }
    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }
}

struct Town {
    service: Service,
    phone: Arc<Phone>,
    clock: Arc<FixedClock>,
    arrivals: mpsc::UnboundedSender<Arrival>,
    events: std::cell::Cell<usize>,
    _folder: tempfile::TempDir,
}

/// A platform on which only Ada, the owner, and Carol have access.
async fn town(script: Scripted, change: impl FnOnce(&mut Config)) -> Town {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::in_dir(folder.path().to_owned());
    config.assistant.owner = vec!["phone:ada".into()];
    change(&mut config);
    let clock = FixedClock::at(NOW);
    let shared: SharedClock = clock.clone();
    let store = service::open_store(&config, shared).await.unwrap();
    let skills = service::load_skills(&config).unwrap();
    let (arrivals, arriving) = mpsc::unbounded_channel();
    let (bubbles, log) = (watch::Sender::default(), Mutex::default());
    let phone = Arc::new(Phone {
        bubbles,
        log,
        files: Mutex::default(),
        refuses_buttons: Mutex::default(),
        has_cards: Mutex::default(),
        has_reactions: Mutex::default(),
        draft_pace: Mutex::new(Duration::from_millis(1_200)),
        elsewhere: Mutex::default(),
        arriving: tokio::sync::Mutex::new(arriving),
    });
    let connection: Arc<dyn Connection> = phone.clone();
    let channel =
        Channel { connection: Some(connection), allow: vec!["carol".into()], ..Channel::open(phone.clone()) };
    let model = Arc::new(script);
    let models = Models {
        orchestrator: model.clone(),
        agent: model.clone(),
        basic: BasicMode::Never,
        intent: Some(model),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    let service = Service::start(&config, store, skills, models, vec![channel]).await.unwrap();
    Town { service, phone, clock, arrivals, events: Default::default(), _folder: folder }
}

impl Town {
    fn event(&self) -> String {
        self.clock.advance(Duration::from_secs(1));
        self.events.set(self.events.get() + 1);
        self.events.get().to_string()
    }

    /// A person writes: a direct message, unless the place is a room.
    fn writes(&self, who: &str, text: &str) -> String {
        self.writes_in(who, who, text)
    }

    fn writes_in(&self, place: &str, who: &str, text: &str) -> String {
        self.sends(place, who, text, Vec::new())
    }

    fn sends(&self, place: &str, who: &str, text: &str, attachments: Vec<Attachment>) -> String {
        let event = self.event();
        let said = IncomingMessage {
            event: EventId(event.clone()),
            address: Address { channel: "phone".into(), place: place.into() },
            sender: SenderId(who.into()),
            sender_name: who.into(),
            direct: place == who,
            is_addressed: true,
            text: text.into(),
            mentions: Vec::new(),
            forwarded_from: None,
            reply_to: None,
            attachments,
        };
        // The platform delivers it twice.
        for _ in 0..2 {
            self.arrivals.send(Arrival::Inbound(Inbound::Message(said.clone()))).unwrap();
        }
        event
    }

    fn presses(&self, who: &str, choice: &Choice) {
        self.presses_in(who, who, choice);
    }

    fn presses_in(&self, place: &str, who: &str, choice: &Choice) {
        let pressed = ButtonPress {
            event: EventId(self.event()),
            address: Address { channel: "phone".into(), place: place.into() },
            sender: SenderId(who.into()),
            sender_name: who.into(),
            direct: place == who,
            button: choice.id.clone(),
        };
        self.arrivals.send(Arrival::Inbound(Inbound::ButtonPress(pressed))).unwrap();
    }

    /// Ada puts an emoji under a message in her direct chat; waits until it is taken, as the arrival of this number.
    async fn reacts(&self, emoji: &str, bubble: &Bubble, number: usize) {
        let address = Address { channel: "phone".into(), place: "ada".into() };
        let reaction = IncomingReaction::of(emoji, address, "ada".into(), bubble.id.clone()).unwrap();
        self.arrivals.send(Arrival::Reaction(reaction)).unwrap();
        self.has_happened("taken", number).await;
    }

    /// Waits for a message with this text.
    async fn sees(&self, text: &str) -> Bubble {
        let mut bubbles = self.phone.bubbles.subscribe();
        let look = bubbles.wait_for(|bubbles| bubbles.iter().any(|bubble| bubble.text.contains(text)));
        let seen = tokio::time::timeout(FOR_EVER, look).await.map(|seen| seen.unwrap().clone());
        let seen = seen.unwrap_or_else(|_| panic!("never saw {text}; there is {:#?}", self.texts()));
        seen.into_iter().rfind(|bubble| bubble.text.contains(text)).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.phone.bubbles.borrow().iter().map(|bubble| bubble.text.clone()).collect()
    }

    fn log(&self) -> Vec<String> {
        self.phone.log.lock().unwrap().clone()
    }

    /// Waits until this has happened this many times.
    async fn has_happened(&self, what: &str, times: usize) {
        let look = async {
            while self.log().iter().filter(|it| *it == what).count() < times {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(FOR_EVER, look).await;
        assert!(waited.is_ok(), "{what} did not happen {times} times: {:?}", self.log());
    }

    async fn passes(&self, time: Duration) {
        self.clock.advance(time);
        self.service.tend().await.unwrap();
    }

    async fn ends_well(self) {
        tokio::time::timeout(FOR_EVER, self.service.idle()).await.expect("it never rests");
        let store = self.service.store();
        for (what, sql) in [
            ("message", "SELECT count(*) FROM inbox WHERE state <> 'done'"),
            ("turn", "SELECT count(*) FROM turns WHERE ended_at IS NULL"),
            ("reply", "SELECT count(*) FROM outbox WHERE state <> 'sent'"),
            ("shown message", "SELECT count(*) FROM turns WHERE progress_receipt IS NOT NULL"),
        ] {
            assert_eq!(store.count(sql, &[]).await.unwrap(), 0, "an open {what}");
        }
        self.service.shut_down(Duration::from_secs(5)).await.unwrap();
    }
}

fn echo() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        text(format!("You said: {said}"))
    })
}

/// The code in a message.
fn code(bubble: &Bubble) -> String {
    bubble.text.lines().last().unwrap().trim_matches('`').to_owned()
}

#[tokio::test]
async fn what_works_with_an_owners_account_is_listed_to_owners_alone() {
    let script = Scripted::new().orchestrator(|request| {
        let is_listed = |name: &str| request.messages[0].text.contains(name);
        text(format!("notes: {}, tasks: {}", is_listed("\nnotes: "), is_listed("\ntasks: ")))
    });
    let notes = tempfile::tempdir().unwrap();
    let town = town(script, |config| config.notes = Some(notes.path().to_owned())).await;
    town.writes("ada", "hello");
    assert_eq!(town.sees("notes: true, tasks: true").await.place, "ada");
    town.writes("carol", "hello");
    assert_eq!(town.sees("notes: false, tasks: true").await.place, "carol");
    town.ends_well().await;
}

#[tokio::test]
async fn of_two_sendings_one_remains() {
    let town = town(echo(), |_| {}).await;
    *town.phone.elsewhere.lock().unwrap() = Some(town.service.store().clone());
    town.writes("ada", "hello");
    town.has_happened("retract", 1).await;
    assert_eq!(town.texts(), ["You said: hello (elsewhere)"]);
    // In two parts.
    let long = "x".repeat(SHORT);
    town.writes("ada", &long);
    town.has_happened("retract", 3).await;
    let texts = town.texts();
    assert!(texts.len() == 3 && texts.iter().all(|text| text.ends_with(" (elsewhere)")), "{texts:?}");
    town.ends_well().await;
}

#[tokio::test]
async fn a_stranger_waits_for_an_owner() {
    let town = town(echo(), |_| {}).await;
    town.writes("bob", "let me in");
    let asked = town.sees("I only talk to people").await;
    insta::assert_snapshot!(asked.text.replace(&code(&asked), "CODE"), @r"
    Hi! I only talk to people my owner has let in. Ask my owner to approve this code within the hour, and I'll answer your message. If I'm your own bot, run `adjutant pair approve CODE`.

    CODE
    ");
    town.writes("bob", "hello?");
    town.writes("bob", &format!("/pair {}", code(&asked)));
    town.has_happened("taken", 6).await;
    assert_eq!(town.texts().len(), 1, "one code, and nobody lets himself in: {:?}", town.texts());
    town.writes("ada", "/pair");
    town.sees("Send `/pair` with the code").await;
    town.writes("ada", "/pair NONE-SUCH");
    town.sees("That code is unknown or has expired").await;
    town.writes("ada", &format!("/pair {}", code(&asked).to_lowercase()));
    town.sees("bob can talk to me now.").await;
    town.passes(Duration::from_secs(1)).await;
    let answer = town.sees("let me in").await;
    assert_eq!(
        (answer.place.as_str(), answer.text.lines().count()),
        ("bob", 3),
        "all that was kept: {answer:?}"
    );
    town.writes("bob", "thanks");
    town.sees("You said: thanks").await;
    assert!(access::revoke(town.service.store(), "phone", "bob").await.unwrap());
    town.writes("bob", "and now?");
    town.has_happened("taken", 16).await;
    assert!(!town.texts().iter().any(|text| text.contains("and now")), "{:?}", town.texts());
    town.passes(Duration::from_hours(2)).await;
    town.ends_well().await;
}

#[tokio::test]
async fn a_code_is_good_for_an_hour() {
    let town = town(echo(), |_| {}).await;
    town.writes("bob", "let me in");
    let first = code(&town.sees("I only talk to people").await);
    town.passes(Duration::from_mins(61)).await;
    town.writes("ada", &format!("/pair {first}"));
    town.sees("That code is unknown or has expired").await;
    town.writes("bob", "again");
    let again = town.sees("I only talk to people").await;
    town.has_happened("answer", 3).await;
    let again = town
        .phone
        .bubbles
        .borrow()
        .iter()
        .rfind(|it| it.text.contains("I only talk to people"))
        .cloned()
        .unwrap_or(again);
    assert_ne!(code(&again), first);
    assert_eq!(
        access::approve(town.service.store(), &code(&again)).await.unwrap().unwrap().name.unwrap(),
        "bob"
    );
    town.passes(Duration::from_secs(1)).await;
    assert_eq!(
        town.sees("You said:").await.text,
        "You said: again",
        "what was kept an hour ago is forgotten"
    );
    town.ends_well().await;
}

#[tokio::test]
async fn an_invitation_lets_one_in() {
    let town = town(echo(), |_| {}).await;
    let store = town.service.store();
    let code = access::new_code(77);
    let mut batch = adjutant_store::Batch::new();
    let expires_at = store.now() + 60_000;
    let invitation =
        access::Pairing { code: code.clone(), channel: None, user_id: None, name: None, expires_at };
    access::add_code(&mut batch, &invitation, store.now());
    store.write(batch).await.unwrap();
    town.writes("bob", &format!("/start {code}"));
    town.sees("Say what you need, for example").await;
    town.writes("bob", "hello");
    town.sees("You said: hello").await;
    town.writes("eve", &code);
    town.sees("I only talk to people").await;
    town.passes(Duration::from_hours(2)).await;
    town.ends_well().await;
}

#[tokio::test]
async fn a_flood_of_strangers_is_told_once_and_keeps_no_invited_person_out() {
    let town = town(echo(), |_| {}).await;
    let store = town.service.store();
    let code = access::new_code(77);
    let mut batch = adjutant_store::Batch::new();
    let expires_at = store.now() + 60_000;
    let invitation =
        access::Pairing { code: code.clone(), channel: None, user_id: None, name: None, expires_at };
    access::add_code(&mut batch, &invitation, store.now());
    store.write(batch).await.unwrap();
    town.writes("ada", "hello");
    town.sees("You said: hello").await;
    for stranger in 0..53 {
        town.writes(&format!("stranger{stranger}"), "let me in");
    }
    assert_eq!(town.sees("50 strangers have asked").await.place, "ada");
    town.writes("bob", &format!("/start {code}"));
    town.sees("Say what you need, for example").await;
    town.writes("bob", "I was invited");
    town.sees("You said: I was invited").await;
    let count = |words: &str| town.texts().iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("I only talk to people"), count("50 strangers have asked")), (50, 1));
    town.passes(Duration::from_hours(2)).await;
    town.ends_well().await;
}

#[tokio::test]
async fn two_accounts_become_one_person() {
    let script = Scripted::new().orchestrator(|request| match has_results(request) {
        true => text(crate::app::results(request).join("\n")),
        false => direct("a", "tasks.search", json!({"state": "open"})),
    });
    let both = |config: &mut Config| config.assistant.owner.push("phone:ada2".into());
    let town = town(script, both).await;
    let store = town.service.store();
    town.writes("ada2", "anything?");
    town.sees("No open tasks").await;
    let person = adjutant_store::people::person(store, "phone", "ada2", "").await.unwrap();
    town.writes_in("room", "ada", "/link");
    town.sees("other people can read this chat").await;
    town.writes("ada", "/link AAAA-AAAA");
    town.sees("That code is unknown or has expired").await;
    town.writes("ada", "/link");
    let offered = town.sees("Send me this").await;
    town.writes("ada", &code(&offered));
    town.has_happened("answer", 5).await;
    town.writes("ada2", &code(&offered));
    town.sees("Your two accounts are linked").await;
    let joined = adjutant_store::people::person(store, "phone", "ada2", "").await.unwrap();
    let first = adjutant_store::people::person(store, "phone", "ada", "").await.unwrap();
    assert_eq!((joined.id == first.id, joined.id == person.id), (true, false));
    town.writes("ada2", "and now?");
    town.has_happened("answer", 7).await;
    town.ends_well().await;
}

#[tokio::test]
async fn what_concerns_one_alone_is_answered_in_their_direct_chat() {
    let town = town(echo(), |_| {}).await;
    town.writes_in("room", "ada", "/rules");
    let refused = town.sees("other people can read this chat").await;
    assert_eq!(refused.place, "room", "there is no direct chat yet");
    town.writes("ada", "hello");
    town.sees("You said: hello").await;
    town.writes_in("room", "ada", "/link");
    assert_eq!(town.sees("Send me this").await.place, "ada");
    assert_eq!(town.sees("answered that in our direct chat").await.place, "room");
    town.ends_well().await;
}

#[tokio::test]
async fn in_a_room_strangers_are_not_heard() {
    let town = town(echo(), |_| {}).await;
    town.writes_in("room", "bob", "who are you?");
    town.writes_in("room", "ada", "hello");
    town.sees("You said: hello").await;
    assert_eq!(town.texts().len(), 1);
    assert_eq!(inbox::count_held_back(town.service.store(), &"bob".into()).await.unwrap(), 0);
    town.ends_well().await;
}

#[tokio::test]
async fn a_room_that_gets_another_id_keeps_its_rule() {
    let town = town(echo(), |_| {}).await;
    town.writes_in("old", "ada", "/room never");
    town.sees("I answer nothing but").await;
    town.writes_in("new", "ada", "one");
    town.sees("You said: one").await;
    let [old, new] = ["old", "new"].map(|place| Address { channel: "phone".into(), place: place.into() });
    town.arrivals.send(Arrival::Moved(old, new)).unwrap();
    town.writes_in("new", "ada", "two");
    town.writes_in("new", "ada", "/room mentioned");
    town.sees("I answer when somebody mentions me").await;
    town.service.idle().await;
    assert!(!town.texts().contains(&"You said: two".to_owned()), "{:?}", town.texts());
    town.ends_well().await;
}

#[tokio::test]
async fn a_long_answer_comes_in_parts() {
    let long = "0123456789".repeat(45);
    let told = long.clone();
    let town = town(Scripted::new().orchestrator(move |_| text(told.clone())), |_| {}).await;
    town.writes("ada", "tell me all");
    town.has_happened("answer", 3).await;
    assert_eq!(town.texts().concat(), long);
    assert_eq!(town.texts().len(), 3);
    town.service.idle().await;
    // What they think of one part is of the answer.
    let disliked = "SELECT count(*) FROM turns WHERE disliked_at IS NOT NULL";
    let parts = town.phone.bubbles.borrow().clone();
    for (number, (part, emoji, count)) in
        [(0, "👎", 1), (1, "👍", 0), (2, "❌", 1), (1, "👍", 0)].into_iter().enumerate()
    {
        town.reacts(emoji, &parts[part], 3 + number).await;
        assert_eq!(town.service.store().count(disliked, &[]).await.unwrap(), count, "{part} {emoji}");
    }
    town.ends_well().await;
}

#[tokio::test]
async fn a_reaction_is_a_yes_only_under_the_part_that_asks() {
    let beside = "I looked at it from all sides. ".repeat(10);
    let script = Scripted::new().orchestrator(plan(move || {
        direct("a", "tasks.create", json!({"title": "pay"})).saying(beside.clone())
    }));
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
        config.approval.reactions = true;
    };
    let town = town(script, ask).await;
    town.writes("ada", "pay it");
    town.sees("Shall I do").await;
    town.service.idle().await;
    let parts = town.phone.bubbles.borrow().clone();
    assert!(parts.len() > 1 && parts[0].choices.is_empty(), "{parts:?}");
    let presses = "SELECT count(*) FROM inbox WHERE kind = 'press'";
    town.reacts("👍", &parts[0], 3).await;
    assert_eq!(town.service.store().count(presses, &[]).await.unwrap(), 0);
    town.reacts("👍", &parts[parts.len() - 1], 4).await;
    town.sees("Added “pay”").await;
    assert_eq!(town.service.store().count(presses, &[]).await.unwrap(), 1);
    town.ends_well().await;
}

#[tokio::test]
async fn what_was_shown_becomes_the_answer() {
    let gate = Gate::closed();
    let slow = gate.clone();
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text("Here it is.").behind(&slow),
        false => direct("a", "tasks.search", json!({"query": "x"})),
    });
    let town = town(script, |_| {}).await;
    town.writes("ada", "find it");
    let shown = town.sees("Working on it").await;
    assert_eq!(shown.text, "Working on it…\n- ✓ mission a");
    assert_eq!(town.log().iter().find(|it| *it == "typing" || *it == "show").unwrap(), "typing");
    gate.open();
    let answer = town.sees("Here it is.").await;
    assert_eq!((answer.id, town.texts().len()), (shown.id, 1), "in its place");
    town.ends_well().await;
}

#[tokio::test]
async fn agents_at_work_are_shown_in_the_form_that_the_platform_has_for_them() {
    let gate = Gate::closed();
    let slow = gate.clone();
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text("Here it is.").behind(&slow),
        false => direct("a", "tasks.search", json!({"query": "x"})),
    });
    let town = town(script, |_| {}).await;
    *town.phone.has_cards.lock().unwrap() = true;
    town.writes("ada", "find it");
    let shown = town.sees("CARDS mission a").await;
    gate.open();
    let answer = town.sees("Here it is.").await;
    assert_eq!((answer.id, town.texts().len()), (shown.id, 1), "in their place");
    assert!(!town.log().iter().any(|it| it == "show"), "{:?}", town.log());
    town.ends_well().await;
}

#[tokio::test]
async fn in_a_room_a_reaction_stands_for_the_message_as_long_as_there_are_no_agents() {
    let (thought, gate) = (Gate::closed(), Gate::closed());
    let (slow, slower) = (thought.clone(), gate.clone());
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text("Here it is.").behind(&slower),
        false => direct("a", "tasks.search", json!({"query": "x"})).behind(&slow),
    });
    let town = town(script, |_| {}).await;
    *town.phone.has_reactions.lock().unwrap() = true;
    town.writes_in("room", "ada", "find it");
    town.has_happened("reaction", 1).await;
    // When it types again, the time for a message is long over.
    town.has_happened("typing", 2).await;
    assert_eq!(town.texts(), [""; 0]);
    thought.open();
    town.sees("Working on it…\n- ✓ mission a").await;
    gate.open();
    town.sees("Here it is.").await;
    town.has_happened("no reaction", 1).await;
    assert_eq!(town.texts(), ["Here it is."]);
    town.ends_well().await;
}

#[tokio::test]
async fn after_long_work_the_answer_is_a_message_of_its_own() {
    let gate = Gate::closed();
    let slow = gate.clone();
    let town = town(Scripted::new().orchestrator(move |_| text("At last.").behind(&slow)), |_| {}).await;
    town.writes("ada", "think hard");
    let shown = town.sees("Working on it").await;
    town.clock.advance(Duration::from_secs(11));
    gate.open();
    let answer = town.sees("At last.").await;
    assert_ne!(answer.id, shown.id, "an edit would notify nobody");
    town.has_happened("retract", 1).await;
    assert_eq!(town.texts(), ["At last."]);
    town.ends_well().await;
}

#[tokio::test]
async fn whoever_was_not_asked_is_told_alone() {
    let script = Scripted::new().orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "pay"}))));
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    };
    let town = town(script, ask).await;
    town.writes_in("room", "ada", "pay it");
    let asked = town.sees("Shall I do").await;
    town.presses_in("room", "carol", &asked.choices[0]);
    town.presses_in("room", "a stranger", &asked.choices[0]);
    town.has_happened("taken", 4).await;
    let told = |town: &Town| {
        let bubbles = town.phone.bubbles.borrow();
        bubbles.iter().filter(|bubble| bubble.place == "notice").count()
    };
    assert_eq!(told(&town), 2);
    assert_eq!(
        town.service.store().count("SELECT count(*) FROM inbox", &[]).await.unwrap(),
        1,
        "nothing kept"
    );
    town.presses_in("room", "ada", &asked.choices[0]);
    town.sees("Added “pay”").await;
    assert_eq!(told(&town), 2);
    town.ends_well().await;
}

#[tokio::test]
async fn a_closed_question_loses_its_buttons() {
    let script = Scripted::new().orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "pay"}))));
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    };
    let town = town(script, ask).await;
    town.writes("ada", "pay it");
    let asked = town.sees("Shall I do").await;
    assert_eq!(asked.choices.len(), 2);
    town.presses("ada", &asked.choices[0]);
    town.sees("Added “pay”").await;
    town.has_happened("retract", 1).await;
    let now = town.sees("Shall I do").await;
    assert!(now.choices.is_empty(), "{now:?}");
    // A screen that still shows them: its owner alone hears that it is too late.
    let texts = town.texts().len();
    town.presses("ada", &asked.choices[1]);
    let late = town.sees("You already answered: Approve.").await;
    assert_eq!((late.place.as_str(), town.texts().len()), ("notice", texts + 1));
    let presses = "SELECT count(*) FROM inbox WHERE kind = 'press'";
    assert_eq!(town.service.store().count(presses, &[]).await.unwrap(), 1, "the late one isn't kept");
    town.ends_well().await;
}

#[tokio::test]
async fn a_button_for_all_answers_the_rest() {
    let two = || {
        calls(vec![
            direct("a", "tasks.create", json!({"title": "pay"})),
            direct("b", "tasks.create", json!({"title": "sing"})),
        ])
    };
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    };
    let town = town(Scripted::new().orchestrator(plan(two)), ask).await;
    town.writes("ada", "pay and sing");
    let asked = town.sees("Shall I do").await;
    let press = |label: &str| {
        town.presses("ada", asked.choices.iter().find(|choice| choice.label == label).unwrap());
    };
    press("Reject 1");
    town.sees("I won't do this").await;
    press("Approve all");
    town.sees("Added “sing”").await;
    press("Approve all");
    town.sees("You already answered: Reject.").await;
    town.ends_well().await;
}

#[tokio::test]
async fn an_answer_to_several_messages_leaves_the_buttons_of_what_stays_open() {
    let add = |id: &str, title: &str| direct(id, "tasks.create", json!({"title": title}));
    let script = Scripted::new().orchestrator(move |request| match request.messages.last() {
        Some(last) if last.text.contains("pay and sing") => calls(vec![add("a", "pay"), add("b", "sing")]),
        Some(last) if last.text.contains("dance") => calls(vec![add("a", "dance")]),
        _ => text("Done."),
    });
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    };
    let town = town(script, ask).await;
    town.writes("ada", "pay and sing");
    let first = town.sees("“sing”").await;
    town.writes("ada", "dance");
    town.sees("“dance”").await;
    // A question is open once its receipt is stored.
    town.service.idle().await;
    town.writes("ada", "yes to all");
    let listed = town.sees("Which one do you mean?").await.text;
    let numbers: Vec<&str> = listed.split("**").skip(1).step_by(2).collect();
    let [pay, _, dance] = numbers[..] else { panic!("{listed}") };
    town.service.idle().await;
    town.writes("ada", &format!("yes to {pay} and {dance}"));
    town.sees("Added “dance”").await;
    town.has_happened("retract", 1).await;
    let choices = |about: &Bubble| {
        let bubbles = town.phone.bubbles.borrow();
        bubbles.iter().find(|bubble| bubble.id == about.id).map(|bubble| bubble.choices.len())
    };
    assert_eq!(choices(&first), Some(first.choices.len()), "what is still asked has its buttons");
    town.service.idle().await;
    town.writes("ada", "no");
    town.has_happened("retract", 2).await;
    assert_eq!(choices(&first), Some(0));
    town.ends_well().await;
}

#[tokio::test]
async fn a_message_that_waits_can_be_changed() {
    let gate = Gate::closed();
    let slow = gate.clone();
    let script = Scripted::new().orchestrator(move |request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        text(format!("You said: {said}")).behind(&slow)
    });
    let town = town(script, |_| {}).await;
    town.writes_in("room", "ada", "first");
    gate.arrived(1).await;
    let list = Attachment { name: "list.txt".into(), text: Some("milk".into()), ..Attachment::default() };
    let event = town.sends("room", "carol", "secnod", vec![list]);
    for (event, new) in [(event.as_str(), "second"), ("99", "never said")] {
        let event = EventId(event.to_owned());
        town.arrivals
            .send(Arrival::Edit(MessageEdit { event, text: new.into(), mentions: Vec::new() }))
            .unwrap();
    }
    town.has_happened("taken", 6).await;
    gate.open();
    town.sees("You said: first").await;
    town.sees("You said: second").await;
    // What was answered before it was changed is told once, an unchanged text never.
    for (event, new) in [("1", "again"), (event.as_str(), "second"), (event.as_str(), "third")] {
        let event = EventId(event.to_owned());
        town.arrivals
            .send(Arrival::Edit(MessageEdit { event, text: new.into(), mentions: Vec::new() }))
            .unwrap();
    }
    town.has_happened("taken", 9).await;
    let told = "SELECT count(*) FROM outbox WHERE text LIKE 'I had already read%'";
    assert_eq!(town.service.store().count(told, &[]).await.unwrap(), 2);
    town.ends_well().await;
}

#[tokio::test]
async fn an_edit_of_what_is_being_worked_on_changes_it() {
    let gate = Gate::closed();
    let slow = gate.clone();
    let script = Scripted::new().orchestrator(move |request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        text(format!("You said: {said}")).behind(&slow)
    });
    let town = town(script, |_| {}).await;
    let event = town.writes("ada", "buy milk");
    gate.arrived(1).await;
    for _ in 0..2 {
        let edit =
            MessageEdit { event: EventId(event.clone()), text: "buy bread".into(), mentions: Vec::new() };
        town.arrivals.send(Arrival::Edit(edit)).unwrap();
    }
    gate.arrived(2).await;
    gate.open();
    let answer = town.sees("You said:").await;
    assert!(
        answer.text.ends_with("buy milk\nI have edited my message. It now says: buy bread"),
        "{}",
        answer.text
    );
    assert_eq!(town.texts().len(), 1);
    town.ends_well().await;
}

#[tokio::test]
async fn a_message_that_is_changed_into_a_password_stays_what_it_was() {
    let connect = ConnectConfig {
        offer: vec![ProviderKind::Password],
        people: People::Everybody,
        google: None,
        microsoft: None,
    };
    let town = town(echo(), |config| config.connect = Some(connect)).await;
    town.writes("ada", "/connect fastmail");
    town.sees("`adjutant account add`").await;
    let event = town.writes("ada", "buy milk");
    town.sees("You said: buy milk").await;
    for _ in 0..2 {
        let (event, text) = (EventId(event.clone()), "abcd-efgh-ijkl-mnop".into());
        town.arrivals.send(Arrival::Edit(MessageEdit { event, text, mentions: Vec::new() })).unwrap();
    }
    town.sees("Please don't send me passwords").await;
    town.has_happened("taken", 6).await;
    let count = async |sql| town.service.store().count(sql, &[]).await.unwrap();
    assert_eq!(count("SELECT count(*) FROM inbox WHERE text LIKE '%efgh%'").await, 0);
    assert_eq!(count("SELECT count(*) FROM inbox WHERE text = 'buy milk'").await, 1);
    assert_eq!(count("SELECT count(*) FROM inbox WHERE text = '/connect typed'").await, 1, "answered once");
    town.ends_well().await;
}

#[tokio::test]
async fn whoever_writes_too_fast_waits_and_is_answered_together() {
    let town = town(echo(), |config| config.limits.turns_per_minute = 2).await;
    for (n, text) in ["one", "two"].into_iter().enumerate() {
        town.writes("ada", text);
        town.sees(&format!("You said: {text}")).await;
        town.has_happened("taken", 2 * n + 2).await;
    }
    town.writes("ada", "three");
    town.writes_in("room", "carol", "somebody else");
    town.sees("You said: somebody else").await;
    town.has_happened("taken", 8).await;
    assert!(!town.texts().iter().any(|text| text.contains("three")), "{:?}", town.texts());
    town.clock.advance(Duration::from_mins(1));
    town.writes("ada", "four");
    town.sees("You said: three\nfour").await;
    town.service.shut_down(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn who_waits_for_another_process_has_begun_nothing() {
    let town = town(echo(), |config| config.limits.turns_per_minute = 2).await;
    town.writes("ada", "one");
    town.sees("You said: one").await;
    town.has_happened("taken", 2).await;
    let store = town.service.store();
    let here = people::find_conversation(store, "phone", "ada").await.unwrap().unwrap();
    let other = Instance::register(store).await.unwrap();
    let lane = other.acquire(store, leases::lane(&here.id, 0)).await.unwrap();
    assert!(lane.is_some(), "the first turn has given its lane back");
    town.writes("ada", "two");
    // Long enough that the lane has tried and failed.
    for text in ["first", "second"] {
        town.writes_in("room", "carol", text);
        town.sees(&format!("You said: {text}")).await;
    }
    assert!(!town.texts().iter().any(|text| text.contains("two")), "{:?}", town.texts());
    other.leave(store).await.unwrap();
    town.sees("You said: two").await;
    town.ends_well().await;
}

#[tokio::test]
async fn a_channel_that_stops_says_why_and_the_others_go_on() {
    let mut town = town(echo(), |_| {}).await;
    town.writes("ada", "hello");
    town.sees("You said: hello").await;
    assert_eq!(town.service.health.errors(), []);
    drop(std::mem::replace(&mut town.arrivals, mpsc::unbounded_channel().0));
    let look = async {
        while !town.service.health.all_stopped() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(FOR_EVER, look).await.unwrap();
    let troubles = town.service.health.errors();
    assert_eq!(troubles, [("phone".to_owned(), "the line was cut; lay a new one".to_owned())]);
    town.ends_well().await;
}

#[tokio::test]
async fn an_account_on_a_server_is_its_owners_alone() {
    let list = || direct("a", "calendar.list_events", json!({}));
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text(format!("{:?}", crate::app::reports(request)["a"]["error"]["message"].as_str())),
        false => list(),
    });
    let town = town(script, |config| config.calendar = Some(crate::groupware::account())).await;
    town.writes_in("room", "carol", "what is on?");
    town.sees("only my owners").await;
    town.writes("ada", "what is on?");
    // The owner's request gets as far as the server, which doesn't exist.
    town.sees("the server can't be reached").await;
    town.ends_well().await;
}

#[tokio::test]
async fn only_owners_are_told_of_what_works_with_their_keys() {
    let world = crate::mcp::World::new().await;
    let script = Scripted::new().orchestrator(|request| {
        let listed = request.messages[0].text.contains("\nnotes: ");
        let all = request.messages[0].text.contains("\ntasks: ");
        text(format!("{} {all}", if listed { "known" } else { "hidden" }))
    });
    let town = town(script, |config| {
        let owner = config.assistant.owner.clone();
        *config = world.config("");
        config.assistant.owner = owner;
    })
    .await;
    town.writes_in("room", "carol", "what can you do?");
    town.sees("hidden true").await;
    town.writes("ada", "what can you do?");
    town.sees("known true").await;
    town.ends_well().await;
}

#[tokio::test]
async fn an_mcp_server_is_its_owners_alone() {
    let world = crate::mcp::World::new().await;
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text(format!("{:?}", crate::app::reports(request)["a"])),
        false => direct("a", "notes.search_notes", json!({"query": "milk"})),
    });
    let town = town(script, |config| {
        let owner = config.assistant.owner.clone();
        *config = world.config("");
        config.assistant.owner = owner;
    })
    .await;
    town.writes_in("room", "carol", "what do the notes say?");
    town.sees("only my owners").await;
    town.writes("ada", "what do the notes say?");
    town.sees("notes about milk").await;
    town.ends_well().await;
}

/// What a person reads of a run with this output, message by message, and the stored answer.
async fn run_with(files: Files, output: &str) -> (Vec<String>, String) {
    let said = output.to_owned();
    let town = town(Scripted::new().plain(move |_| text(said.clone())), |config| {
        let yaml = "workflow:\n  name: write\n  agents: { a: { prompt: Write } }\n  steps: [{ id: one, agent: a }]\n";
        workflow_file(config, "write", yaml);
    })
    .await;
    *town.phone.files.lock().unwrap() = files;
    town.writes("ada", "/run write");
    tokio::time::timeout(FOR_EVER, town.service.idle()).await.unwrap();
    town.sees("THE END").await;
    let answer: Option<(String,)> =
        town.service.store().first("SELECT answer FROM turns", &[]).await.unwrap();
    let texts = town.texts();
    town.ends_well().await;
    (texts, answer.unwrap().0)
}

#[tokio::test]
async fn an_output_that_is_too_long_for_a_chat_is_a_file() {
    let long = format!("# Title\n\n{}\n\nTHE END", "a word ".repeat(1_000));
    let (texts, answer) = run_with(Files::Taken, &long).await;
    let file = format!("FILE write.md\n{long}");
    assert_eq!(texts.last(), Some(&file), "{texts:#?}");
    let report = texts[..texts.len() - 1].concat();
    assert!(report.starts_with("write is complete: 1 of 1 step"), "{report}");
    assert!(report.ends_with("**Output, 7.0 KB**"), "{report}");
    assert_eq!(answer, format!("{report}\n\n{long}"), "the answer is kept whole");
    let (texts, same) = run_with(Files::Unknown, &long).await;
    assert_eq!((texts.concat(), &same), (answer.clone(), &answer), "where there are no files it is said");
    let (texts, same) = run_with(Files::NotAllowed, &long).await;
    assert_eq!((texts.concat(), &same), (format!("{report}{long}"), &answer), "and where none is allowed");
}

/// What a person reads of a model's answer, message by message.
async fn answered_with(files: Files, said: &str) -> Vec<String> {
    let answer = said.to_owned();
    let town = town(Scripted::new().orchestrator(move |_| text(answer.clone())), |_| {}).await;
    *town.phone.files.lock().unwrap() = files;
    town.writes("ada", "tell me everything");
    town.sees("THE END").await;
    tokio::time::timeout(FOR_EVER, town.service.idle()).await.unwrap();
    let texts = town.texts();
    town.ends_well().await;
    texts
}

#[tokio::test]
async fn an_answer_of_many_messages_is_a_file_behind_its_beginning() {
    let long = format!("# Everything\n\nIt begins.\n\n{}\n\nTHE END", "a word ".repeat(200));
    let texts = answered_with(Files::Taken, &long).await;
    let said = "# Everything\n\nIt begins.\n\n… The whole answer is in the file.".to_owned();
    assert_eq!(texts, [said.clone(), format!("FILE answer.md\n{long}")]);
    assert_eq!(
        answered_with(Files::Unknown, &long).await.concat(),
        long,
        "where there are no files it is said"
    );
    let refused = answered_with(Files::NotAllowed, &long).await;
    assert_eq!(refused.concat(), format!("{said}{long}"), "and where none is allowed");
    let words = "a word ".repeat(200);
    let parts = format!("It begins.\n\n{words}\n\n## Costs\n\nNone.\n\n## Dates\n\nTHE END");
    let said = answered_with(Files::Taken, &parts).await.remove(0);
    assert_eq!(said, "It begins.\n\n… The whole answer is in the file. There it goes on with: Costs · Dates");
    let short = format!("{}THE END", "a word ".repeat(110));
    assert_eq!(answered_with(Files::Taken, &short).await.concat(), short, "four messages are read");
}

#[tokio::test]
async fn data_is_a_file_of_its_own_kind_and_what_is_short_is_said() {
    let rows: Vec<serde_json::Value> =
        (0..900).map(|row| json!({"row": row})).chain([json!("THE END")]).collect();
    let (texts, answer) = run_with(Files::Taken, &json!(rows).to_string()).await;
    let file = texts.last().and_then(|text| text.strip_prefix("FILE write.json\n")).expect("a file");
    assert_eq!(serde_json::from_str::<serde_json::Value>(file).unwrap(), json!(rows));
    assert!(answer.ends_with("\n```"), "{answer}");
    let (texts, _) = run_with(Files::Taken, "Short. THE END").await;
    assert!(!texts.concat().contains("FILE"), "{texts:#?}");
}

#[tokio::test]
async fn a_question_whose_buttons_are_refused_is_asked_in_words() {
    let script = Scripted::new().orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "pay"}))));
    let ask = |config: &mut Config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    };
    let town = town(script, ask).await;
    *town.phone.refuses_buttons.lock().unwrap() = true;
    town.writes("ada", "pay it");
    let asked = town.sees("Reply with one of these: Approve, Reject.").await;
    assert!(asked.text.contains("Shall I do this?") && asked.choices.is_empty(), "{asked:?}");
    // A yes counts once the question's receipt is stored.
    tokio::time::timeout(FOR_EVER, town.service.idle()).await.unwrap();
    town.writes("ada", "Approve");
    town.sees("Added “pay”").await;
    town.ends_well().await;
}

/// A platform that takes no uploads at the moment, and an answer whose file waits.
async fn with_broken_files() -> Town {
    let long = format!("# Everything\n\nIt begins.\n\n{}\n\nTHE END", "a word ".repeat(200));
    let town = town(
        Scripted::new().orchestrator(move |request| match request.messages.last().unwrap().text.as_str() {
            "everything" => text(long.clone()),
            said => text(format!("You said: {said}")),
        }),
        |_| {},
    )
    .await;
    *town.phone.files.lock().unwrap() = Files::Broken;
    town.writes("ada", "everything");
    town.sees("The whole answer is in the file.").await;
    town.has_happened("file", 1).await;
    town
}

#[tokio::test]
async fn a_file_that_is_not_taken_holds_up_no_later_message_and_comes_in_the_end() {
    let town = with_broken_files().await;
    for said in ["hello", "everything", "bye"] {
        town.writes("ada", said);
        if said != "everything" {
            town.sees(&format!("You said: {said}")).await;
        }
    }
    *town.phone.files.lock().unwrap() = Files::Taken;
    town.passes(Duration::from_mins(6)).await;
    town.sees("FILE answer.md").await;
    tokio::time::timeout(FOR_EVER, town.service.idle()).await.unwrap();
    let files = town.texts().iter().filter(|text| text.starts_with("FILE answer.md")).count();
    assert_eq!((files, town.texts().len()), (2, 6), "{:#?}", town.texts());
    town.ends_well().await;
}

#[tokio::test]
async fn a_file_that_is_not_taken_for_a_day_is_named() {
    let town = with_broken_files().await;
    town.passes(Duration::from_hours(25)).await;
    town.sees("I couldn't deliver the file `answer.md`: I tried for a day, but Phone didn't accept it.")
        .await;
    town.writes("ada", "hello");
    town.sees("You said: hello").await;
    tokio::time::timeout(FOR_EVER, town.service.idle()).await.unwrap();
    assert_eq!(town.texts().len(), 3, "{:#?}", town.texts());
    let given_up = "SELECT count(*) FROM outbox WHERE state = 'dead' AND file IS NOT NULL";
    assert_eq!(
        town.service.store().count(given_up, &[]).await.unwrap(),
        1,
        "an owner can have it tried again"
    );
    town.service.shut_down(Duration::from_secs(5)).await.unwrap();
}

/// A model that writes its beginning, and the rest once the gate opens.
fn writes(gate: &Arc<Gate>) -> Scripted {
    let gate = Arc::clone(gate);
    Scripted::new()
        .orchestrator(move |_| text("First, the offer.").writing("First, \u{2713} the").behind(&gate))
}

#[tokio::test]
async fn an_answer_is_shown_while_it_is_written() {
    let gate = Gate::closed();
    let town = town(writes(&gate), |_| {}).await;
    town.writes("ada", "what about the offer?");
    let draft = town.sees("First").await;
    assert_eq!(draft.text, "First, - the", "no mark of ours is the model's");
    gate.open();
    let answer = town.sees("First, the offer.").await;
    assert_eq!(answer.id, draft.id, "the answer takes its place");
    assert_eq!(town.texts(), ["First, the offer."]);
    town.ends_well().await;
}

#[tokio::test]
async fn the_first_words_after_the_list_of_agents_do_not_wait_for_the_pace_of_later_ones() {
    let (work, rest) = (Gate::closed(), Gate::closed());
    let (here, there) = (Arc::clone(&work), Arc::clone(&rest));
    let script = Scripted::new()
        .orchestrator(move |request| match has_results(request) {
            true => text("First, the offer.").writing("First,").behind(&there),
            false => agent("a", &["tasks.search"], json!({})),
        })
        .agent(move |_| text("looked").behind(&here));
    let town = town(script, |_| {}).await;
    *town.phone.draft_pace.lock().unwrap() = Duration::from_hours(1);
    town.writes("ada", "what about the offer?");
    let shown = town.sees("Working on it").await;
    work.open();
    let draft = town.sees("First,").await;
    assert_eq!((draft.id, town.texts()), (shown.id, vec!["First,".to_owned()]), "in the list's place");
    rest.open();
    town.sees("First, the offer.").await;
    town.ends_well().await;
}

#[tokio::test]
async fn what_turns_out_not_to_be_the_answer_is_taken_back() {
    let gate = Gate::closed();
    let (here, done) = (Arc::clone(&gate), Gate::closed());
    let rest = Arc::clone(&done);
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        false => direct("add", "tasks.create", json!({"title": "Milk"}))
            .saying("Let me look.")
            .writing("Let me look.")
            .behind(&here),
        true => text("Milk is on the list.").behind(&rest),
    });
    let town = town(script, |_| {}).await;
    town.writes("ada", "milk!");
    let draft = town.sees("Let me look.").await;
    gate.open();
    town.sees("Working on it").await;
    assert_eq!(town.texts().len(), 1, "the same message: {:?}", town.texts());
    done.open();
    let answer = town.sees("Milk is on the list.").await;
    assert_eq!(answer.id, draft.id);
    town.ends_well().await;
}

#[tokio::test]
async fn a_message_during_an_answer_changes_it() {
    let gate = Gate::closed();
    let here = Arc::clone(&gate);
    let script = Scripted::new().orchestrator(move |request| {
        let said = request.messages.last().map(|message| message.text.to_string()).unwrap_or_default();
        let (said, note) = said.split_once("\n\n[The person wrote again").unwrap_or((said.as_str(), ""));
        match said.contains("only Monday") && note.contains("they still see:]\nMonday, \n[") {
            false => text("Monday, Tuesday").writing("Monday, Tues").behind(&here),
            true => text(format!("You said: {said}")),
        }
    });
    let town = town(script, |_| {}).await;
    town.writes("ada", "what's on?");
    town.sees("Monday, Tues").await;
    town.writes("ada", "only Monday");
    let answer = town.sees("You said:").await;
    assert!(answer.text.ends_with("what's on?\nonly Monday"), "{}", answer.text);
    assert_eq!(town.texts().len(), 1, "one turn has one answer: {:?}", town.texts());
    gate.open();
    town.ends_well().await;
}

#[tokio::test]
async fn thanks_during_an_answer_leave_what_was_read() {
    let (written, thanked) = (Gate::closed(), Gate::closed());
    let (first, second) = (Arc::clone(&written), Arc::clone(&thanked));
    let script = Scripted::new().orchestrator(move |request| {
        let said = request.messages.last().map(|message| message.text.to_string()).unwrap_or_default();
        match said.contains("they still see:]\nAnn owes 1, \n[To keep it, begin with “(continued)”") {
            false => text("never").writing("Ann owes 1, Bo").behind(&first),
            true => text("(continued) Bob owes 2. You're welcome!").writing("(cont").behind(&second),
        }
    });
    let town = town(script, |_| {}).await;
    town.writes("ada", "who owes what?");
    let draft = town.sees("Ann owes 1, Bo").await;
    town.writes("ada", "thx!");
    thanked.arrived(1).await;
    assert!(town.texts().concat().starts_with("Ann owes 1,"), "it stays on the screen: {:?}", town.texts());
    thanked.open();
    let answer = town.sees("You're welcome!").await;
    assert_eq!((answer.id, answer.text.as_str()), (draft.id, "Ann owes 1, Bob owes 2. You're welcome!"));
    town.ends_well().await;
}

#[tokio::test]
async fn what_is_said_beside_calls_stays_if_it_is_more_than_a_line() {
    let (gate, done) = (Gate::closed(), Gate::closed());
    let (here, rest) = (Arc::clone(&gate), Arc::clone(&done));
    let summary = "Carol wrote twice:\n- the invoice\n- the reminder";
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        false => direct("add", "tasks.create", json!({"title": "Pay Carol"}))
            .saying(summary)
            .writing(summary)
            .behind(&here),
        true => text("That's on your list.").behind(&rest),
    });
    let town = town(script, |_| {}).await;
    town.writes("ada", "sum up what Carol wrote, and make me a task");
    let draft = town.sees("the reminder").await;
    gate.open();
    done.arrived(1).await;
    assert!(town.texts().concat().contains("the reminder"), "it stays on the screen: {:?}", town.texts());
    done.open();
    let answer = town.sees("That's on your list.").await;
    assert_eq!(answer.id, draft.id);
    assert_eq!(answer.text.matches("the reminder").count(), 1, "{}", answer.text);
    assert!(answer.text.starts_with("Carol wrote twice:"), "{}", answer.text);
    town.ends_well().await;
}

#[tokio::test]
async fn what_was_not_done_yet_waits_for_what_the_person_has_just_written() {
    let gate = Gate::closed();
    let here = Arc::clone(&gate);
    let script = Scripted::new()
        .orchestrator(move |request| {
            let said = request.messages.last().map(|message| message.text.to_string()).unwrap_or_default();
            match said.contains("The person has just written: \"no, bread\"") {
                false => agent("a", &["email.send", "tasks.search"], json!({})),
                true => {
                    assert!(said.contains("has just written again"), "{said}");
                    text("Bread, then.")
                }
            }
        })
        .agent(move |request| match has_results(request) {
            false => skill(
                "email.send",
                json!({"to": ["carol@example.test"], "subject": "Milk", "body": "Buy it"}),
            )
            .behind(&here),
            true => text(last_text(request)),
        });
    let town = town(script, |config| {
        config.approval.skills.insert("email.send".into(), Policy::Auto);
    })
    .await;
    town.writes("ada", "tell carol@example.test to buy milk");
    gate.arrived(1).await;
    town.writes("ada", "no, bread");
    town.has_happened("taken", 4).await;
    gate.open();
    town.sees("Bread, then.").await;
    let sent = "SELECT count(*) FROM executions WHERE skill = 'email.send' AND status = 'completed'";
    let sent = town.service.store().count(sent, &[]).await.unwrap();
    assert_eq!((sent, town.texts().len()), (0, 1), "{:?}", town.texts());
    town.ends_well().await;
}

#[tokio::test]
async fn a_plain_stop_stops_the_running_turn_and_is_a_message_otherwise() {
    let gate = Gate::closed();
    let town = town(writes(&gate), |_| {}).await;
    town.writes("ada", "what about the offer?");
    town.sees("First").await;
    town.writes("ada", "Stop!");
    town.sees("Stopped").await;
    gate.open();
    town.writes("ada", "stop");
    town.sees("First, the offer.").await;
    town.ends_well().await;
}

/// A commit whose reply is lost.
#[cfg(debug_assertions)]
mod lost_reply {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use adjutant_store::simulation::{self, Passing};
    use adjutant_store::{Batch, StoreError};

    use super::{echo, town};

    /// Loses the reply to the first commit that adds a message of ours.
    #[derive(Default)]
    struct LosesOne(AtomicBool);

    impl simulation::World for LosesOne {
        fn before_read(&self) -> Passing<'_> {
            Box::pin(async { Ok(()) })
        }
        fn before_commit<'a>(&'a self, _: &'a [Batch]) -> Passing<'a> {
            Box::pin(async { Ok(()) })
        }
        fn after_commit<'a>(&'a self, batches: &'a [Batch]) -> Passing<'a> {
            let says =
                batches.iter().flat_map(Batch::texts).any(|text| text.starts_with("INSERT INTO outbox"));
            let is_lost = says && !self.0.swap(true, Ordering::Relaxed);
            Box::pin(async move {
                match is_lost {
                    true => Err(StoreError::Corrupt("the reply was lost".into())),
                    false => Ok(()),
                }
            })
        }
        fn reach(&self, _: &str) {}
        fn mailed<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Passing<'a, bool> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn an_answer_of_which_only_the_store_knows_is_sent() {
        let town = town(echo(), |_| {}).await;
        town.writes("ada", "one");
        town.sees("You said: one").await;
        town.has_happened("taken", 2).await;
        town.service.idle().await;
        let world = Arc::new(LosesOne::default());
        simulation::enter(Some(world.clone()));
        town.writes("ada", "two");
        town.sees("You said: two").await;
        simulation::enter(None);
        assert!(world.0.load(Ordering::Relaxed));
        town.ends_well().await;
    }
}
