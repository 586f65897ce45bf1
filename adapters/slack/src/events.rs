//! Receives: journals what arrives, and only then acknowledges it.
//!
//! A place's messages are journalled in order, those of a downtime before those after it, so that the last journalled
//! one says where to catch up from. None is skipped while the store fails: each is tried again until it is journalled.
//! Places don't wait for one another. Presses and commands wait for nothing, because Slack gives three seconds to
//! acknowledge them. Race accepted: Slack repeats a message that waits longer, which is a no-op.

mod catch_up;
mod connect;
mod socket;
mod webhook;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use adjutant_chat::{
    ChannelIntake, Connection, Finding, Inbound, IntakeOutcome, Received, WebhookRequest, WebhookResponse,
    guard,
};
use async_trait::async_trait;
use futures::StreamExt;
use futures::future::{Fuse, FusedFuture, FutureExt};
use futures::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use self::catch_up::Gap;
use self::connect::BACKOFF;
pub(crate) use self::connect::Disconnect;
use crate::Slack;
use crate::place::Ts;
use crate::receive::{self, BotIdentity, Command, Interaction, MessageEvent, text};

/// The longest wait for a message's files and for the names in it: it has to be acknowledged within 3 s.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Presses that are handled, and names that are asked for, at the same time.
const CONCURRENT: usize = 16;

/// Acknowledges something once it is journalled.
pub(crate) type Acknowledge = Box<dyn FnOnce() + Send>;

/// Something that arrived and was understood.
#[expect(clippy::large_enum_variant, reason = "few wait at a time")]
pub(crate) enum Arrived {
    /// A message or an edit, with its channel.
    Message(String, Box<MessageEvent>),
    /// A press or a command.
    Interaction(Inbound),
}

/// Waits to be journalled, in order.
pub(crate) enum Queued {
    /// A new connection: catch up.
    CatchUp,
    Message(String, Box<MessageEvent>, Acknowledge),
}

/// What arrived and isn't journalled yet.
pub(crate) struct EventQueue {
    pub(crate) messages: UnboundedSender<Queued>,
    pub(crate) interactions: UnboundedSender<(Inbound, Acknowledge)>,
}

impl EventQueue {
    pub(crate) fn add(&self, arrived: Arrived, acknowledge: Acknowledge) {
        // A send fails only without receivers, and they live as long as this.
        match arrived {
            Arrived::Message(channel, message) => {
                drop(self.messages.send(Queued::Message(channel, message, acknowledge)))
            }
            Arrived::Interaction(inbound) => drop(self.interactions.send((inbound, acknowledge))),
        }
    }
}

/// Work in a place.
enum Job {
    CatchUp(Gap),
    Message(String, Box<MessageEvent>, Acknowledge),
}

#[async_trait]
impl Connection for Slack {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        let (messages, queued_messages) = unbounded_channel();
        let (interactions, queued_interactions) = unbounded_channel();
        *self.queue.lock() = Some(messages.clone());
        let queue = EventQueue { messages, interactions };
        let stay = async {
            match &self.app {
                Some(app) => self.stay_connected(app, intake, &queue).await,
                None => self.stay_reachable(intake, &queue).await,
            }
        };
        tokio::select! {
            sentence = stay => sentence,
            () = self.journal_messages(queued_messages, intake) => String::new(),
            () = self.journal_interactions(queued_interactions, intake) => String::new(),
        }
    }

    async fn webhook(&self, intake: &dyn ChannelIntake, request: WebhookRequest) -> WebhookResponse {
        let Some(verifier) = &self.verifier else { return WebhookResponse::not_found() };
        self.respond(verifier, &request, intake).await
    }

    fn shows_notices(&self) -> bool {
        true
    }

    async fn check(&self) -> Vec<Finding> {
        self.check_account().await
    }
}

impl Slack {
    /// Reads a payload of this kind; nothing if it is not understood, or if our code panics over it.
    fn arrived(&self, kind: &str, payload: Value) -> Option<Arrived> {
        catch_unwind(AssertUnwindSafe(|| self.understood(kind, payload))).ok().flatten()
    }

    fn understood(&self, kind: &str, mut payload: Value) -> Option<Arrived> {
        match kind {
            "events_api" => {
                let message = MessageEvent::deserialize(payload.get_mut("event")?.take()).ok()?;
                let of_item = || message.item["channel"].as_str().map(str::to_owned);
                let channel = message.channel.clone().or_else(of_item)?;
                Some(Arrived::Message(channel, Box::new(message)))
            }
            "interactive" => {
                let interaction = Interaction::deserialize(payload).ok()?;
                let response = interaction.response();
                let press = receive::press(interaction, &self.channel)?;
                if let Some(url) = response {
                    self.add_command(&press.event.0, &url, "");
                }
                Some(Arrived::Interaction(Inbound::ButtonPress(press)))
            }
            "slash_commands" => {
                let command = Command::deserialize(payload).ok()?;
                if let Some((event, url, words)) = command.response() {
                    self.add_command(&event, url, &words);
                }
                let message = receive::command(command, &self.channel)?;
                Some(Arrived::Interaction(Inbound::Message(message)))
            }
            _ => None,
        }
    }

    /// Never returns while the queue is open.
    async fn journal_messages(&self, mut queued: UnboundedReceiver<Queued>, intake: &dyn ChannelIntake) {
        // Each place that is being worked on, with the jobs that wait.
        let mut places: HashMap<String, VecDeque<Job>> = HashMap::new();
        let mut work = FuturesUnordered::new();
        let mut gaps = pin!(Fuse::terminated());
        loop {
            let mut jobs = Vec::new();
            tokio::select! {
                // New messages wait until the gaps are known.
                next = queued.recv(), if gaps.is_terminated() => match next {
                    Some(Queued::CatchUp) => gaps.set(self.gaps(intake).fuse()),
                    Some(Queued::Message(channel, message, acknowledge)) => {
                        jobs.push((message.place(&channel).to_string(), Job::Message(channel, message, acknowledge)));
                    }
                    None => return,
                },
                all = &mut gaps => {
                    jobs = all.into_iter().map(|one| (one.place.to_string(), Job::CatchUp(one))).collect();
                }
                Some(place) = work.next() => match places.get_mut(&place).and_then(VecDeque::pop_front) {
                    Some(job) => work.push(self.work(place, job, intake)),
                    None => drop(places.remove(&place)),
                },
            }
            for (place, job) in jobs {
                match places.get_mut(&place) {
                    Some(jobs) => jobs.push_back(job),
                    None => {
                        places.insert(place.clone(), VecDeque::new());
                        work.push(self.work(place, job, intake));
                    }
                }
            }
        }
    }

    async fn work(&self, place: String, job: Job, intake: &dyn ChannelIntake) -> String {
        match job {
            Job::CatchUp(gap) => self.catch_up(&gap, intake).await,
            Job::Message(channel, message, acknowledge) => {
                self.message(&channel, &message, intake).await;
                acknowledge();
            }
        }
        place
    }

    async fn message(&self, channel: &str, message: &MessageEvent, intake: &dyn ChannelIntake) {
        let Some(me) = self.me.get() else { return };
        if let Ok(ts) = message.ts.parse::<Ts>() {
            self.cache.add_message(ts);
        }
        let event = receive::event(channel, &message.ts);
        let work =
            || self.journal(|| message.read(channel, BotIdentity { channel: &self.channel, me }), intake);
        guard::take(intake, &event, BACKOFF, work).await;
    }

    /// Journals it, however long that takes.
    async fn journal(&self, read: impl FnOnce() -> Received + Send, intake: &dyn ChannelIntake) {
        let mut received = read();
        if !received.is_wanted(intake).await {
            // The names in it are not even asked for.
            return;
        }
        match &mut received {
            Received::Message(message) => {
                self.cache.add_sender(&message.event.0, &message.sender.0);
                let mut people = text::mentioned(&message.text);
                people.push(message.sender.0.clone());
                let names = self.names(people).await;
                if let Some((_, name)) = names.iter().find(|(id, _)| *id == message.sender.0) {
                    message.sender_name.clone_from(name);
                }
                (message.text, message.mentions) = text::own(&message.text, &names);
            }
            Received::Edit(edit) => {
                let names = self.names(text::mentioned(&edit.text)).await;
                (edit.text, edit.mentions) = text::own(&edit.text, &names);
            }
            _ => {}
        }
        received.journal(intake, BACKOFF).await;
    }

    /// The names of people, without those that can't be found out.
    pub(crate) async fn names(&self, people: Vec<String>) -> Vec<(String, String)> {
        let ask = |id: String| async move {
            let name = timeout(TIMEOUT, self.name(&id)).await.ok().flatten()?;
            Some((id, name))
        };
        let asked = futures::stream::iter(people).map(ask).buffer_unordered(CONCURRENT);
        asked.filter_map(std::future::ready).collect().await
    }

    pub(crate) async fn name(&self, id: &str) -> Option<String> {
        if let Some(name) = self.cache.name(id) {
            return Some(name);
        }
        let answer = self.bot.read("users.info", &[("user", id.to_owned())]).await.ok()?;
        let name = display_name(&answer["user"])?;
        self.cache.add_name(id, name);
        Some(name.to_owned())
    }

    /// Never returns while the queue is open.
    async fn journal_interactions(
        &self,
        mut queued: UnboundedReceiver<(Inbound, Acknowledge)>,
        intake: &dyn ChannelIntake,
    ) {
        let all = futures::stream::poll_fn(|context| queued.poll_recv(context));
        all.for_each_concurrent(CONCURRENT, |(inbound, acknowledge)| {
            self.interaction(inbound, acknowledge, intake)
        })
        .await;
    }

    /// Journals a press or a command. If that fails, it isn't acknowledged; the person sees that it failed and tries
    /// again.
    async fn interaction(&self, inbound: Inbound, acknowledge: Acknowledge, intake: &dyn ChannelIntake) {
        let event = inbound.event().clone();
        guard::take_once(intake, &event, self.take_interaction(inbound, acknowledge, intake)).await;
    }

    async fn take_interaction(&self, inbound: Inbound, acknowledge: Acknowledge, intake: &dyn ChannelIntake) {
        let Ok(outcome) = intake.accept(inbound.clone()).await else { return };
        acknowledge();
        if let (IntakeOutcome::Notice(text), Inbound::ButtonPress(press)) = (outcome, &inbound) {
            self.show_privately(&press.address, &press.sender.0, &text).await;
        }
    }
}

/// The name that Slack's clients show.
pub(crate) fn display_name(user: &Value) -> Option<&str> {
    let names = [&user["profile"]["display_name"], &user["real_name"], &user["name"]];
    names.into_iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()))
}
