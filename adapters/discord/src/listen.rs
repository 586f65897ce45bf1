//! Receives: stays connected, catches up, journals, and only then acknowledges.
//!
//! Wanted: a place's messages are handed over in order, those of a downtime before those after it, and none is
//! skipped while the store or Discord has trouble: it is tried again until it is journalled. Presses and
//! commands don't wait behind them, because Discord gives three seconds to acknowledge one. One that could
//! not be journalled is not acknowledged; the person sees that it failed and presses again.

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{
    Backoff, ChannelIntake, Connection, ConnectionEvent, Finding, Inbound, IntakeError, IntakeOutcome,
    backoff,
};
use async_trait::async_trait;
use futures::StreamExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ApplicationId, ChannelId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

use crate::gateway::{self, Data, End, Session, Signal};
use crate::receive::{self, Change, Interaction, InteractionEvent, InteractionToken, Post, Reader, Received};
use crate::rest::{self, CallError};
use crate::{Discord, attachments};

/// The close codes for a token that Discord does not know, and for an intent that is not switched on.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
pub(crate) const TOKEN_CLOSE: u16 = 4004;
pub(crate) const INTENT_CLOSE: u16 = 4014;

/// The slash commands, each with what Discord shows of it and the name of its argument.
const COMMANDS: [(&str, &str, Option<&str>); 9] = [
    ("new", "Start a new conversation", None),
    ("run", "Run a workflow, with what it is given", Some("workflow")),
    ("draft", "Make a workflow of your words", Some("words")),
    ("stop", "Stop what is being done", None),
    ("pause", "Pause what is being done", None),
    ("status", "Show what is being done", None),
    ("trace", "Show how the last answer came about", None),
    ("help", "Show what I can do", None),
    ("link", "Join your accounts on several platforms", Some("code")),
];

/// A connection that lasted so long did not fail at its beginning.
const STEADY: Duration = Duration::from_secs(60);

/// The waits between two tries. Discord allows 1,000 sessions a day: at the longest, one in 90 s on average, they
/// can fail forever.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(120));

/// Discord wants at least this between two sessions.
const BETWEEN_SESSIONS: Duration = Duration::from_secs(1);

/// After so many failures in a row the session is not resumed, but begun anew.
const TRIES_TO_RESUME: u32 = 3;

/// Places or presses that are looked after at the same time.
pub(crate) const AT_ONCE: usize = 16;

/// So many messages that came at once are sorted by their places, which then don't wait for one another.
const BATCH: usize = 256;

/// What waits to be journalled, in order.
enum Waiting {
    /// A new session: catch up.
    Ready,
    /// A message event: its name and its frame.
    Told(String, String),
}

/// Message events by their places, in order.
type Places = HashMap<Option<ChannelId>, Vec<(String, String)>>;

/// What all message events tell.
#[derive(Deserialize)]
struct Placed {
    channel_id: ChannelId,
}

/// Where what arrives waits. It outlives a connection: a resumed session does not tell it again.
struct Waitlist {
    posts: UnboundedSender<Waiting>,
    /// Frames of interactions.
    presses: UnboundedSender<String>,
}

#[async_trait]
impl Connection for Discord {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        let (posts, waiting_posts) = unbounded_channel();
        let (presses, waiting_presses) = unbounded_channel();
        let waitlist = Waitlist { posts, presses };
        tokio::select! {
            sentence = self.stay_connected(intake, &waitlist) => sentence,
            () = self.journal_posts(waiting_posts, intake) => String::new(),
            () = self.journal_presses(waiting_presses, intake) => String::new(),
        }
    }

    async fn check(&self) -> Vec<Finding> {
        self.look().await
    }
}

impl Discord {
    /// Returns the sentence with which it gives up.
    async fn stay_connected(&self, intake: &dyn ChannelIntake, waitlist: &Waitlist) -> String {
        let mut session: Option<Session> = None;
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let reason = match self.connect_once(intake, &mut session, waitlist).await {
                End::Final(code) => return self.mend(code),
                End::Cut(reason) | End::Over(reason) => reason,
            };
            tracing::info!(channel = self.channel, reason, "disconnected");
            intake.report(ConnectionEvent::Error(reason));
            failures = if begun.elapsed() < STEADY { failures + 1 } else { 0 };
            if failures >= TRIES_TO_RESUME {
                session = None;
            }
            // A session that lasted is resumed at once.
            let least = if session.is_none() { BETWEEN_SESSIONS } else { Duration::ZERO };
            sleep(wait_after(failures).max(least)).await;
        }
    }

    async fn connect_once(
        &self,
        intake: &dyn ChannelIntake,
        session: &mut Option<Session>,
        waitlist: &Waitlist,
    ) -> End {
        if let Err(error) = self.me().await {
            return end_of(error);
        }
        let url = match session {
            Some(session) => session.url.clone(),
            None => match rest::call(&self.http, LightMethod::Get, Route::Gateway, None).await {
                Ok(gateway) => gateway["url"].as_str().unwrap_or_default().to_owned(),
                Err(error) => return end_of(error),
            },
        };
        let tell = |signal| {
            intake.report(ConnectionEvent::Alive);
            // A send fails only after the receivers are gone, and they live as long as this.
            match signal {
                Signal::Ready(application) => {
                    if let Some(id) = application {
                        self.http.set_application_id(ApplicationId::new(id));
                    }
                    let _ = waitlist.posts.send(Waiting::Ready);
                }
                Signal::Told(name, frame) => match name.as_str() {
                    "MESSAGE_CREATE" | "MESSAGE_UPDATE" => {
                        let _ = waitlist.posts.send(Waiting::Told(name, frame));
                    }
                    "INTERACTION_CREATE" => {
                        let _ = waitlist.presses.send(frame);
                    }
                    _ => intake.report(ConnectionEvent::Ignored),
                },
                Signal::Resumed | Signal::Alive => {}
            }
        };
        let token = self.http.token().trim_start_matches("Bot ");
        gateway::run(&url, token, session, tell).await
    }

    /// What a person must do about a close code after which there is no going on.
    pub(crate) fn mend(&self, code: u16) -> String {
        let channel = &self.channel;
        match code {
            TOKEN_CLOSE => format!(
                "Discord refuses the token. Set channels.{channel}.token to the one that the Developer \
                 Portal gives (your application, Bot, Reset Token)."
            ),
            4013 | INTENT_CLOSE => format!(
                "Discord does not let the bot of channels.{channel} read messages. Switch on “Message \
                 Content Intent” in the Developer Portal (your application, Bot, Privileged Gateway Intents)."
            ),
            _ => format!("Discord's gateway refuses channels.{channel} for good (code {code})."),
        }
    }

    /// Never returns.
    async fn journal_posts(&self, mut waiting: UnboundedReceiver<Waiting>, intake: &dyn ChannelIntake) {
        let mut batch = Vec::new();
        while waiting.recv_many(&mut batch, BATCH).await > 0 {
            let mut places: Places = HashMap::new();
            for next in batch.drain(..) {
                match next {
                    Waiting::Ready => {
                        self.journal_places(std::mem::take(&mut places), intake).await;
                        tokio::join!(self.catch_up(intake), self.register_commands());
                    }
                    Waiting::Told(name, frame) => {
                        let place = read::<Placed>(&frame).map(|placed| placed.channel_id);
                        places.entry(place).or_default().push((name, frame));
                    }
                }
            }
            self.journal_places(places, intake).await;
        }
    }

    async fn journal_places(&self, places: Places, intake: &dyn ChannelIntake) {
        let all = futures::stream::iter(places.into_values());
        all.for_each_concurrent(AT_ONCE, |events| async move {
            for (name, frame) in events {
                self.event(&name, &frame, intake).await;
            }
        })
        .await;
    }

    async fn event(&self, name: &str, frame: &str, intake: &dyn ChannelIntake) {
        let Ok(me) = self.me().await else { return };
        let heard = if name == "MESSAGE_CREATE" {
            let Some(post) = read::<Post>(frame) else { return intake.report(ConnectionEvent::Ignored) };
            let reader = Reader { channel: &self.channel, me, role: self.own_role(&post.at, me).await };
            let (place, id, direct) = (post.at.channel_id, post.id.get(), post.at.guild_id.is_none());
            self.known.is_direct(place, direct);
            self.hand_over(receive::post(post, reader, direct), intake).await;
            return self.known.is_heard(place, id);
        } else {
            let Some(change) = read::<Change>(frame) else { return intake.report(ConnectionEvent::Ignored) };
            let reader = Reader { channel: &self.channel, me, role: self.own_role(&change.at, me).await };
            receive::changed(change, reader)
        };
        self.hand_over(heard, intake).await;
    }

    /// Journals it, however long that takes.
    pub(crate) async fn hand_over(&self, heard: Received, intake: &dyn ChannelIntake) {
        let (inbound, edited) = match heard {
            Received::Message(mut said, files) => {
                said.attachments = attachments::read_all(self, files).await;
                (Some(Inbound::Message(said)), None)
            }
            Received::Edit(edited) => (None, Some(edited)),
            Received::Own => return,
            Received::Ignored => return intake.report(ConnectionEvent::Ignored),
        };
        for tries in 1.. {
            let done = match (&inbound, &edited) {
                (Some(inbound), _) => intake.accept(inbound.clone()).await.map(drop),
                (None, Some(edited)) => intake.edit(edited.clone()).await,
                (None, None) => return,
            };
            if done.is_ok() {
                return;
            }
            intake.report(ConnectionEvent::Error("a message could not be journalled".into()));
            sleep(wait_after(tries)).await;
        }
    }

    async fn journal_presses(&self, mut waiting: UnboundedReceiver<String>, intake: &dyn ChannelIntake) {
        let all = futures::stream::poll_fn(|context| waiting.poll_recv(context));
        all.for_each_concurrent(AT_ONCE, |frame| async move { self.press(&frame, intake).await }).await;
    }

    async fn press(&self, frame: &str, intake: &dyn ChannelIntake) {
        let Ok(me) = self.me().await else { return };
        let reader = Reader { channel: &self.channel, me, role: None };
        let interacted = read::<Interaction>(frame).and_then(|one| receive::interaction(one, reader));
        let (inbound, ticket, answer) = match interacted {
            // Only the person sees it, as a sign that the command was taken; the answer is a message.
            Some(InteractionEvent::Command(said, ticket)) => {
                let sign = format!("`{}` ✓", said.text.split(' ').next().unwrap_or_default());
                (Inbound::Message(said), ticket, for_them_alone(&sign))
            }
            // Deferred: the message with the button is changed when the engine says so.
            Some(InteractionEvent::ButtonPress(pressed, ticket)) => {
                (Inbound::ButtonPress(pressed), ticket, json!({"type": 6}))
            }
            None => return intake.report(ConnectionEvent::Ignored),
        };
        match intake.accept(inbound).await {
            Ok(IntakeOutcome::Accepted) => self.acknowledge(&ticket, &answer).await,
            Ok(IntakeOutcome::Notice(notice)) => self.acknowledge(&ticket, &for_them_alone(&notice)).await,
            Err(IntakeError) => {}
        }
    }

    async fn acknowledge(&self, ticket: &InteractionToken, answer: &Value) {
        let route = Route::InteractionResponse { interaction_id: ticket.id, token: &ticket.token };
        if let Err(error) = rest::call(&self.http, LightMethod::Post, route, Some(answer)).await {
            tracing::warn!(channel = self.channel, %error, "an interaction was not acknowledged");
        }
    }

    /// Once in a process; what can't be registered now is tried with the next session.
    async fn register_commands(&self) {
        let Some(application_id) = self.http.application_id() else { return };
        let command = |(name, description, argument): &(&str, &str, Option<&str>)| {
            let option =
                |name: &&str| json!({"type": 3, "name": name, "description": name, "required": false});
            let options: Vec<Value> = argument.iter().map(option).collect();
            // In the guild and with the bot alone, not in private places that others share.
            json!({
                "type": 1, "name": name, "description": description, "options": options,
                "integration_types": [0], "contexts": [0, 1],
            })
        };
        let all: Value = COMMANDS.iter().map(command).collect();
        let register = || async {
            let route = Route::Commands { application_id };
            rest::call(&self.http, LightMethod::Put, route, Some(&all)).await.map(drop)
        };
        if let Err(error) = self.commands_are_set.get_or_try_init(register).await {
            tracing::warn!(channel = self.channel, %error, "slash commands were not registered");
        }
    }
}

/// A message that only the person sees who pressed or commanded.
fn for_them_alone(text: &str) -> Value {
    json!({"type": 4, "data": {"content": text, "flags": 1 << 6, "allowed_mentions": {"parse": []}}})
}

fn read<T: DeserializeOwned>(frame: &str) -> Option<T> {
    serde_json::from_str::<Data<T>>(frame).ok().map(|frame| frame.d)
}

fn end_of(error: CallError) -> End {
    match error {
        CallError::Token => End::Final(TOKEN_CLOSE),
        error => End::Cut(error.to_string()),
    }
}

pub(crate) fn wait_after(failures: u32) -> Duration {
    BACKOFF.after(failures, backoff::random())
}
