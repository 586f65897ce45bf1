//! The adapter against a Slack on loopback.

use std::sync::Arc;

use adjutant_chat::conformance::{Platform, Seen, check_all};
use adjutant_chat::{Address, ChatPort, Choice, Outbound};
use adjutant_fakes::slack::{APP_TOKEN, BOT_TOKEN, FakeSlack};
use async_trait::async_trait;

use crate::{Settings, Slack, Way, connect};

mod deliver;

fn settings(fake: &FakeSlack) -> Settings {
    Settings {
        channel: "slack".into(),
        bot_token: BOT_TOKEN.into(),
        way: Way::Socket { app_token: APP_TOKEN.into() },
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
        part: 0,
        mark: None,
        stand_in: None,
    }
}

struct Place {
    fake: FakeSlack,
    place: String,
}

#[async_trait]
impl Platform for Place {
    fn connect(&self) -> Arc<dyn ChatPort> {
        Arc::new(connected(&self.fake))
    }

    fn address(&self) -> Address {
        address(&self.place)
    }

    async fn seen(&self) -> Vec<Seen> {
        let choice = |(id, label): (String, String)| Choice { id, label };
        let seen = self.fake.seen(&self.place).into_iter();
        seen.map(|one| Seen { text: one.text, choices: one.buttons.into_iter().map(choice).collect() })
            .collect()
    }
}

#[tokio::test]
async fn in_a_channel_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let fake = FakeSlack::start();
        let place = fake.channel("general");
        Place { fake, place }
    })
    .await;
}

#[tokio::test]
async fn in_a_thread_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let fake = FakeSlack::start();
        let channel = fake.channel("general");
        let root = fake.say("ada", &channel, "a root");
        Place { fake, place: format!("{channel}/{root}") }
    })
    .await;
}
