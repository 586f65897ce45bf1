//! The adapter against the fake platform.

use std::sync::{Arc, Mutex};

use adjutant_chat::{
    Address, AnswerDraft, ChatPort, Choice, ConnectionEvent, Delivery, EventId, Inbound, IncomingReaction,
    IntakeError, IntakeOutcome, MessageEdit, Outbound, OutgoingFile, Reconciliation, Retract,
};
use adjutant_fakes::conformance::{Platform, Seen, check_all};
use adjutant_fakes::telegram::{FakeTelegram, Fault};
use serde_json::json;
use tokio::time::timeout;

use super::*;

/// Longer than anything takes that does not hang.
const BOUND: Duration = Duration::from_secs(20);

fn port(telegram: &FakeTelegram) -> Arc<Telegram> {
    with_token(telegram, telegram.token())
}

fn with_token(telegram: &FakeTelegram, token: &str) -> Arc<Telegram> {
    let settings =
        Settings { channel: "telegram".to_owned(), token: token.to_owned(), api_url: telegram.api_url() };
    let mut port = connect(settings).unwrap();
    port.backoff = Backoff::new(Duration::from_millis(2), Duration::from_secs(60));
    // Most of these tests send without receiving.
    port.caught_up.send_replace(true);
    Arc::new(port)
}

fn address(place: impl ToString) -> Address {
    Address { channel: "telegram".to_owned(), place: place.to_string() }
}

fn outbound(place: impl ToString, text: &str) -> Outbound {
    Outbound {
        id: "0TestTestTestTestTest0".to_owned(),
        address: address(place),
        turn: None,
        answers: Vec::new(),
        text: text.to_owned(),
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
async fn a_look_tells_who_we_are_and_what_is_in_the_way() {
    let telegram = FakeTelegram::start();
    let shown = async |port: Arc<Telegram>| format!("{:#?}", port.check().await);
    insta::assert_snapshot!(shown(port(&telegram)).await, @r#"
[
    Finding {
        status: Ok,
        reason: "logged in as @Adjutant_Bot; write to it at https://t.me/Adjutant_Bot",
        fix: "",
    },
]
"#);
    telegram.set_webhook();
    insta::assert_snapshot!(shown(port(&telegram)).await, @r#"
[
    Finding {
        status: Ok,
        reason: "logged in as @Adjutant_Bot; write to it at https://t.me/Adjutant_Bot",
        fix: "",
    },
    Finding {
        status: Warning,
        reason: "another program has set a webhook for this bot",
        fix: "if that program is still in use, give each program its own bot; otherwise `adjutant serve` removes the webhook",
    },
]
"#);
    insta::assert_snapshot!(shown(with_token(&telegram, "1:wrong")).await, @r#"
[
    Finding {
        status: Error,
        reason: "Telegram rejects the token",
        fix: "Set channels.telegram.token to the one from @BotFather (https://t.me/BotFather, /mybots, API Token).",
    },
]
"#);
    let api_url = telegram.api_url();
    drop(telegram);
    let settings = Settings { channel: "telegram".to_owned(), token: "1:any".to_owned(), api_url };
    let [finding] = &connect(settings).unwrap().check().await[..] else { panic!("one finding") };
    assert!(finding.reason.starts_with("Telegram can't be reached"), "{finding:?}");
}

fn texts(telegram: &FakeTelegram, chat: i64) -> Vec<String> {
    telegram.seen(chat).into_iter().map(|seen| seen.text).collect()
}

/// Waits for a condition, within bounds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(timeout(BOUND, waiting).await.is_ok(), "never: {what}");
}

/// An intake that keeps what it takes, and refuses as often as it is told to.
#[derive(Default)]
struct Journal {
    rows: Mutex<Vec<Inbound>>,
    edits: Mutex<Vec<MessageEdit>>,
    reacted: Mutex<Vec<IncomingReaction>>,
    /// The places that have moved, and where to.
    moves: Mutex<Vec<(String, String)>>,
    events: Mutex<Vec<ConnectionEvent>>,
    refusals: Mutex<usize>,
    /// What presses are told, if they are not for us.
    notice: Mutex<Option<String>>,
    /// Whether what isn't for us is wanted, too.
    wants_all: Mutex<bool>,
}

impl Journal {
    fn refuses(&self) -> bool {
        let mut refusals = self.refusals.lock().unwrap();
        *refusals = refusals.saturating_sub(1);
        *refusals > 0
    }

    fn texts(&self) -> Vec<String> {
        let text = |inbound: &Inbound| match inbound {
            Inbound::Message(said) => said.text.clone(),
            Inbound::ButtonPress(pressed) => format!("[{}]", pressed.button),
        };
        self.rows.lock().unwrap().iter().map(text).collect()
    }

    fn count(&self, wanted: impl Fn(&ConnectionEvent) -> bool) -> usize {
        self.events.lock().unwrap().iter().filter(|condition| wanted(condition)).count()
    }

    fn trouble(&self) -> String {
        let events = self.events.lock().unwrap();
        let trouble = events.iter().find_map(|condition| match condition {
            ConnectionEvent::Error(reason) => Some(reason.clone()),
            _ => None,
        });
        trouble.unwrap_or_default()
    }
}

#[async_trait]
impl ChannelIntake for Journal {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        let is_poisoned = matches!(&inbound, Inbound::Message(message) if message.text == "poison");
        assert!(!is_poisoned, "on purpose");
        if self.refuses() {
            return Err(IntakeError);
        }
        let is_press = matches!(inbound, Inbound::ButtonPress(_));
        self.rows.lock().unwrap().push(inbound);
        let notice = self.notice.lock().unwrap().clone().filter(|_| is_press);
        Ok(notice.map_or(IntakeOutcome::Accepted, IntakeOutcome::Notice))
    }

    async fn failed(&self, _: EventId) -> Result<(), IntakeError> {
        if self.refuses() { Err(IntakeError) } else { Ok(()) }
    }

    async fn edit(&self, edited: MessageEdit) -> Result<(), IntakeError> {
        self.edits.lock().unwrap().push(edited);
        Ok(())
    }

    async fn reacted(&self, reaction: IncomingReaction) -> Result<(), IntakeError> {
        if self.refuses() {
            return Err(IntakeError);
        }
        self.reacted.lock().unwrap().push(reaction);
        Ok(())
    }

    async fn moved(&self, from: &Address, to: &Address) -> Result<(), IntakeError> {
        self.moves.lock().unwrap().push((from.place.clone(), to.place.clone()));
        Ok(())
    }

    async fn wants_all(&self, _: &Address) -> bool {
        *self.wants_all.lock().unwrap()
    }

    async fn places(&self) -> Vec<(Address, String)> {
        Vec::new()
    }

    fn report(&self, event: ConnectionEvent) {
        self.events.lock().unwrap().push(event);
    }
}

/// A port that receives into a journal for as long as this is kept.
struct Receiving {
    port: Arc<Telegram>,
    journal: Arc<Journal>,
    task: tokio::task::JoinHandle<String>,
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn receiving(telegram: &FakeTelegram) -> Receiving {
    receiving_into(telegram, Journal::default())
}

fn receiving_into(telegram: &FakeTelegram, journal: Journal) -> Receiving {
    receive_by(port(telegram), journal)
}

fn receive_by(port: Arc<Telegram>, journal: Journal) -> Receiving {
    let journal = Arc::new(journal);
    let (receiver, intake) = (port.clone(), journal.clone());
    let task = tokio::spawn(async move { receiver.receive(&*intake).await });
    Receiving { port, journal, task }
}

/// One place, for the suite.
struct OnePlace {
    telegram: FakeTelegram,
    chat: i64,
    place: String,
    said: i64,
}

#[async_trait]
impl Platform for OnePlace {
    const LONGEST: usize = 4_096;
    fn connect(&self) -> Arc<dyn ChatPort> {
        port(&self.telegram)
    }

    fn address(&self) -> Address {
        address(&self.place)
    }

    fn arrived(&self) -> Vec<String> {
        vec![format!("{}:{}", self.chat, self.said)]
    }

    async fn seen(&self) -> Vec<Seen> {
        let choice = |(label, id): (String, String)| Choice { id, label };
        let seen = self.telegram.seen(self.chat).into_iter().map(|seen| Seen {
            text: seen.text,
            choices: seen.buttons.into_iter().flatten().map(choice).collect(),
            file: seen.file.map(|(name, _, text)| OutgoingFile { name, text }),
        });
        // A preview that stays would be seen beside its answer.
        let preview = self.telegram.preview(self.chat);
        let preview = preview.map(|(_, text)| Seen { text, choices: Vec::new(), file: None });
        seen.chain(preview).collect()
    }
}

#[tokio::test]
async fn in_a_private_chat_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let telegram = FakeTelegram::start();
        let chat = telegram.person("Ada");
        let said = telegram.say(chat, chat, "Hello");
        OnePlace { telegram, chat, place: chat.to_string(), said }
    })
    .await;
}

#[tokio::test]
async fn in_a_topic_it_keeps_the_promises_of_every_adapter() {
    check_all(|| {
        let telegram = FakeTelegram::start();
        let chat = telegram.supergroup("forum");
        let topic = telegram.topic(chat);
        let said = telegram.say(telegram.person("Ada"), (chat, topic), "Hello");
        OnePlace { telegram, chat, place: format!("{chat}/{topic}"), said }
    })
    .await;
}

mod delivering;
mod previews;
mod receiving;
mod rooms;
