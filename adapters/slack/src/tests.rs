//! The adapter against a Slack on loopback.

mod commands;
mod deliver;
mod files;
mod hook;
mod receive;
mod rooms;
mod stream;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, ChatPort, Choice, Connection, ConnectionEvent, EventId, Inbound, IncomingMessage,
    IncomingReaction, IntakeError, IntakeOutcome, MessageEdit, Outbound, OutgoingFile,
};
use adjutant_fakes::conformance::{Platform, Seen, check_all};
use adjutant_fakes::slack::{APP_TOKEN, BOT_TOKEN, FakeSlack, SIGNING_SECRET};
use async_trait::async_trait;

use crate::{ConnectError, Settings, Slack, connect};

fn settings(fake: &FakeSlack) -> Settings {
    Settings {
        channel: "slack".into(),
        bot_token: BOT_TOKEN.into(),
        app_token: Some(APP_TOKEN.into()),
        signing_secret: None,
        api_url: fake.api_url(),
    }
}

fn connected(fake: &FakeSlack) -> Slack {
    connect(settings(fake)).unwrap()
}

fn address(place: &str) -> Address {
    Address { channel: "slack".into(), place: place.into() }
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
    let fake = FakeSlack::start();
    insta::assert_snapshot!(format!("{:#?}", connected(&fake).check().await), @r#"
[
    Finding {
        status: Ok,
        reason: "logged in to Acme as adjutant; `/invite @adjutant` adds it to a channel",
        fix: "",
    },
]
"#);
    fake.withdraw("im:history");
    fake.withdraw("files:read");
    let app_token = Some("xapp-wrong".to_owned());
    let wrong = connect(Settings { app_token, ..settings(&fake) }).unwrap();
    insta::assert_snapshot!(format!("{:#?}", wrong.check().await), @r#"
[
    Finding {
        status: Ok,
        reason: "logged in to Acme as adjutant; `/invite @adjutant` adds it to a channel",
        fix: "",
    },
    Finding {
        status: Error,
        reason: "the bot lacks the scopes files:read, im:history",
        fix: "add them on the app's page at api.slack.com/apps, under “OAuth & Permissions”, “Bot Token Scopes”, reinstall the app, and if the token has changed, set channels.slack.bot_token to the new one",
    },
    Finding {
        status: Error,
        reason: "Slack rejects the token (invalid_auth)",
        fix: "Slack rejects the token (invalid_auth). Set channels.slack.app_token to one from the app's page at api.slack.com/apps, “Basic Information”, “App-Level Tokens”, with the scope connections:write; it begins with xapp-.",
    },
]
"#);
    let wrong = connect(Settings { bot_token: "xoxb-wrong".into(), ..settings(&fake) }).unwrap();
    insta::assert_snapshot!(format!("{:#?}", wrong.check().await), @r#"
[
    Finding {
        status: Error,
        reason: "Slack rejects the token (invalid_auth)",
        fix: "Slack rejects the token (invalid_auth). Set channels.slack.bot_token to the “Bot User OAuth Token” on the app's page at api.slack.com/apps, “OAuth & Permissions”; it begins with xoxb-.",
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
    /// What is said to whoever presses a button.
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

    fn said(&self, number: usize) -> IncomingMessage {
        match &self.taken.lock().unwrap()[number] {
            Inbound::Message(said) => said.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// From now on it knows of the place that this was said last there.
    fn knows(&self, place: &str, last: &str) {
        self.places.lock().unwrap().push((address(place), last.to_owned()));
    }

    fn is_in_trouble(&self, reason: &str) -> bool {
        let told = |condition: &ConnectionEvent| matches!(condition, ConnectionEvent::Error(why) if why.contains(reason));
        self.events.lock().unwrap().iter().any(told)
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
        if let (Inbound::ButtonPress(_), Some(notice)) = (&inbound, self.notice.lock().unwrap().clone()) {
            return Ok(IntakeOutcome::Notice(notice));
        }
        let event = |inbound: &Inbound| match inbound {
            Inbound::Message(said) => said.event.clone(),
            Inbound::ButtonPress(pressed) => pressed.event.clone(),
        };
        *self.offered.lock().unwrap() += 1;
        let mut taken = self.taken.lock().unwrap();
        if !taken.iter().any(|one| event(one) == event(&inbound)) {
            taken.push(inbound);
        }
        Ok(IntakeOutcome::Accepted)
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

/// Waits until it is so, at most as long as a deaf socket and a reconnection may take.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came true: {what}");
}

struct SlackPlace {
    fake: FakeSlack,
    place: String,
}

#[async_trait]
impl Platform for SlackPlace {
    const LONGEST: usize = 9_000;
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
            file: one
                .file
                .map(|(name, bytes)| OutgoingFile { name, text: String::from_utf8(bytes).unwrap() }),
        })
        .collect()
    }
}

#[tokio::test]
async fn in_a_channel_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let fake = FakeSlack::start();
        let place = fake.channel("general");
        SlackPlace { fake, place }
    })
    .await;
}

#[tokio::test]
async fn in_a_thread_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let fake = FakeSlack::start();
        let channel = fake.channel("general");
        let root = fake.say("ada", &channel, "a root");
        SlackPlace { fake, place: format!("{channel}/{root}") }
    })
    .await;
}

#[test]
fn settings_that_can_not_be_right_are_told_with_their_mend() {
    let fake = FakeSlack::start();
    let error = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(&fake);
        change(&mut settings);
        connect(settings).err()
    };
    assert_eq!(error(&|_| ()), None);
    let channel = || "slack".to_owned();
    for api_url in ["", "slack.com", "ftp://slack.com", "http://"] {
        let api_url = |settings: &mut Settings| settings.api_url = api_url.into();
        assert_eq!(error(&api_url), Some(ConnectError::ApiUrl(channel())));
    }
    for token in ["", "xapp-1-2", "xoxb-line\nbreak"] {
        let bot = |settings: &mut Settings| settings.bot_token = token.into();
        assert_eq!(error(&bot), Some(ConnectError::BotToken(channel())));
    }
    let app = |settings: &mut Settings| settings.app_token = Some(BOT_TOKEN.into());
    assert_eq!(error(&app), Some(ConnectError::AppToken(channel())));
    let secret = |settings: &mut Settings| settings.signing_secret = Some(String::new());
    assert_eq!(error(&secret), Some(ConnectError::SigningSecret(channel())));
}
