//! The adapter against a Discord on loopback.

mod deliver;
mod drafts;
mod files;
mod receive;
mod rooms;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, ChatPort, Choice, Connection, ConnectionEvent, EventId, Inbound,
    IncomingReaction, IntakeError, IntakeOutcome, MessageEdit, Outbound, OutgoingFile,
};
use adjutant_fakes::conformance::{Platform, Seen, check_all};
use adjutant_fakes::discord::{FakeDiscord, TOKEN};
use async_trait::async_trait;

use crate::{ConnectError, Discord, Settings, connect};

fn settings(fake: &FakeDiscord) -> Settings {
    Settings { channel: "discord".into(), token: TOKEN.into(), api_url: fake.api_url() }
}

fn connected(fake: &FakeDiscord) -> Discord {
    connect(settings(fake)).unwrap()
}

fn address(place: &str) -> Address {
    Address { channel: "discord".into(), place: place.into() }
}

fn outbound(place: &str, text: &str) -> Outbound {
    Outbound {
        id: "0123456789abcdefghijAB".into(),
        address: address(place),
        turn: None,
        answers: Vec::new(),
        text: text.into(),
        choices: Vec::new(),
        form: adjutant_chat::Form::Rich,
        part: 0,
        checkpoint: None,
        edit_of: None,
        file: None,
        voice: None,
    }
}

#[tokio::test]
async fn a_look_tells_who_we_are_and_what_is_missing() {
    let fake = FakeDiscord::start();
    insta::assert_snapshot!(format!("{:#?}", connected(&fake).check().await), @r#"
[
    Finding {
        status: Ok,
        reason: "logged in as adjutant",
        fix: "",
    },
    Finding {
        status: Ok,
        reason: "add it to a server: https://discord.com/oauth2/authorize?client_id=900000000000000002&scope=bot+applications.commands&permissions=274878008384",
        fix: "",
    },
]
"#);
    fake.forbid_message_content();
    insta::assert_snapshot!(format!("{:#?}", connected(&fake).check().await), @r#"
[
    Finding {
        status: Ok,
        reason: "logged in as adjutant",
        fix: "",
    },
    Finding {
        status: Ok,
        reason: "add it to a server: https://discord.com/oauth2/authorize?client_id=900000000000000002&scope=bot+applications.commands&permissions=274878008384",
        fix: "",
    },
    Finding {
        status: Error,
        reason: "Message Content Intent is off",
        fix: "Discord doesn't let the bot of channels.discord read messages. Switch on “Message Content Intent” in the Developer Portal (your application, Bot, Privileged Gateway Intents).",
    },
]
"#);
    let wrong = connect(Settings { token: "wrong".into(), ..settings(&fake) }).unwrap();
    insta::assert_snapshot!(format!("{:#?}", wrong.check().await), @r#"
[
    Finding {
        status: Error,
        reason: "Discord rejects the token",
        fix: "Discord rejects the token. Set channels.discord.token to the one from the Developer Portal (your application, Bot, Reset Token).",
    },
]
"#);
}

/// A journal in memory; what comes again is a no-op, as it is in the engine's.
#[derive(Default)]
struct Journal {
    /// Those that came again included.
    offered: Mutex<usize>,
    taken: Mutex<Vec<Inbound>>,
    edited: Mutex<Vec<MessageEdit>>,
    reacted: Mutex<Vec<IncomingReaction>>,
    places: Mutex<Vec<(Address, String)>>,
    events: Mutex<Vec<ConnectionEvent>>,
    /// So many times it can't journal.
    fails: Mutex<usize>,
    /// How often our code failed on each arrival; the third time it is set aside.
    failed: Mutex<Vec<EventId>>,
    /// What presses are told, if they are not for us.
    notice: Mutex<Option<String>>,
    /// Whether what isn't for us is wanted, too.
    wants_all: Mutex<bool>,
}

impl Journal {
    fn texts(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        let text = |inbound: &Inbound| match inbound {
            Inbound::Message(said) => said.text.clone(),
            Inbound::ButtonPress(pressed) => format!("pressed {}", pressed.button),
        };
        taken.iter().map(text).collect()
    }

    fn try_it(&self) -> Result<(), IntakeError> {
        let mut fails = self.fails.lock().unwrap();
        if *fails == 0 {
            return Ok(());
        }
        *fails -= 1;
        Err(IntakeError)
    }
}

#[async_trait]
impl ChannelIntake for Journal {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        let is_poisoned = matches!(&inbound, Inbound::Message(message) if message.text.contains("poison"));
        assert!(!is_poisoned, "on purpose");
        self.try_it()?;
        let event = |inbound: &Inbound| match inbound {
            Inbound::Message(said) => said.event.clone(),
            Inbound::ButtonPress(pressed) => pressed.event.clone(),
        };
        *self.offered.lock().unwrap() += 1;
        let mut taken = self.taken.lock().unwrap();
        let is_press = matches!(inbound, Inbound::ButtonPress(_));
        if !taken.iter().any(|one| event(one) == event(&inbound)) {
            taken.push(inbound);
        }
        let notice = self.notice.lock().unwrap().clone().filter(|_| is_press);
        Ok(notice.map_or(IntakeOutcome::Accepted, IntakeOutcome::Notice))
    }

    async fn failed(&self, event: EventId) -> Result<(), IntakeError> {
        let mut failed = self.failed.lock().unwrap();
        failed.push(event.clone());
        if failed.iter().filter(|one| **one == event).count() < 3 { Err(IntakeError) } else { Ok(()) }
    }

    async fn edit(&self, edited: MessageEdit) -> Result<(), IntakeError> {
        self.try_it()?;
        self.edited.lock().unwrap().push(edited);
        Ok(())
    }

    async fn reacted(&self, reaction: IncomingReaction) -> Result<(), IntakeError> {
        self.try_it()?;
        self.reacted.lock().unwrap().push(reaction);
        Ok(())
    }

    async fn wants_all(&self, _: &Address) -> bool {
        *self.wants_all.lock().unwrap()
    }

    async fn places(&self) -> Vec<(Address, String)> {
        self.places.lock().unwrap().clone()
    }

    fn report(&self, event: ConnectionEvent) {
        self.events.lock().unwrap().push(event);
    }
}

/// Waits until it is so, at most as long as a heartbeat's failure and a reconnection may take.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came true: {what}");
}

struct Place {
    fake: FakeDiscord,
    place: String,
}

#[async_trait]
impl Platform for Place {
    const LONGEST: usize = 2_000;
    fn connect(&self) -> Arc<dyn ChatPort> {
        Arc::new(connected(&self.fake))
    }

    fn address(&self) -> Address {
        address(&self.place)
    }

    async fn seen(&self) -> Vec<Seen> {
        let choice = |(id, label): (String, String)| Choice { id, label };
        let seen = self.fake.seen(&self.place).into_iter();
        seen.map(|one| Seen {
            text: one.text,
            choices: one.buttons.into_iter().map(choice).collect(),
            file: one.file.map(|(name, text)| OutgoingFile { name, text }),
        })
        .collect()
    }
}

#[tokio::test]
async fn it_is_a_chat_platform() {
    check_all(|| {
        let fake = FakeDiscord::start();
        let place = fake.channel("general");
        Place { fake, place }
    })
    .await;
}

#[test]
fn a_root_that_is_no_address_is_told() {
    for api_url in ["", "discord.com", "ftp://discord.com", "http://"] {
        let settings = Settings { channel: "work".into(), token: TOKEN.into(), api_url: api_url.into() };
        assert_eq!(connect(settings).err(), Some(ConnectError::ApiUrl("work".into())), "{api_url}");
    }
}
