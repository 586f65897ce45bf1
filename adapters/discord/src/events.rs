//! Receives: stays connected, catches up, journals, and only then acknowledges.
//!
//! A channel's messages are journalled in order, those of a downtime before those after it. None is skipped while the
//! store or Discord fails: each is tried again until it is journalled. Presses and commands don't wait behind them,
//! because Discord gives three seconds to acknowledge one. If one can't be journalled, it isn't acknowledged; the
//! person sees that it failed and presses again.

mod catch_up;
mod gateway;
mod roles;

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{
    Backoff, COMMANDS, ChannelIntake, Connection, ConnectionEvent, EventId, Finding, Inbound, IntakeError,
    IntakeOutcome, Received, SlashCommand, backoff, guard,
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

use self::gateway::{Data, Disconnect, GatewayEvent, Session};
pub(crate) use self::roles::Roles;
use crate::Discord;
use crate::receive::{self, BotIdentity, Interaction, InteractionToken, MessageObject, MessageUpdate};
use crate::rest::{self, ApiError};

/// The gateway's close codes for an unknown token and for an intent that is off.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
pub(crate) const TOKEN_CLOSE: u16 = 4004;
pub(crate) const INTENT_CLOSE: u16 = 4014;

const REACTION_GONE: &str = "MESSAGE_REACTION_REMOVE";

/// A connection that lasted this long resets the back-off.
const STEADY: Duration = Duration::from_secs(60);

/// The waits between two tries. Discord allows 1,000 sessions a day: at the longest, one in 90 s on average, they
/// can fail forever.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(120));

/// Discord wants at least this between two sessions.
const BETWEEN_SESSIONS: Duration = Duration::from_secs(1);

/// After this many failures in a row a new session begins instead of resuming the old one.
const RESUME_TRIES: u32 = 3;

/// Channels or presses that are handled at the same time.
const CONCURRENT: usize = 16;

/// How many messages are sorted by channel at once, so that channels don't wait for one another.
const BATCH: usize = 256;

/// Waits to be journalled, in order.
enum Queued {
    /// A new session: catch up.
    CatchUp,
    /// A message event: its name and its frame.
    Event(String, String),
}

/// Message events by channel, in order.
type Channels = HashMap<Option<ChannelId>, Vec<(String, String)>>;

/// What all message events have.
#[derive(Deserialize)]
struct InChannel {
    channel_id: ChannelId,
}

#[derive(Deserialize)]
struct Named {
    #[serde(alias = "message_id")]
    id: String,
}

/// What arrived and isn't journalled yet. It outlives a connection: a resumed session doesn't repeat events.
struct EventQueue {
    messages: UnboundedSender<Queued>,
    /// Frames of interactions.
    interactions: UnboundedSender<String>,
}

#[async_trait]
impl Connection for Discord {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        let (messages, queued_messages) = unbounded_channel();
        let (interactions, queued_interactions) = unbounded_channel();
        let queue = EventQueue { messages, interactions };
        tokio::select! {
            sentence = self.stay_connected(intake, &queue) => sentence,
            () = self.journal_messages(queued_messages, intake) => String::new(),
            () = self.journal_interactions(queued_interactions, intake) => String::new(),
        }
    }

    fn shows_notices(&self) -> bool {
        true
    }

    async fn check(&self) -> Vec<Finding> {
        self.check_account().await
    }
}

impl Discord {
    /// Returns only to give up, with the reason.
    async fn stay_connected(&self, intake: &dyn ChannelIntake, queue: &EventQueue) -> String {
        let mut session: Option<Session> = None;
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let reason = match self.connect_once(intake, &mut session, queue).await {
                Disconnect::Fatal(code) => return self.fatal_close(code),
                Disconnect::Resumable(reason) | Disconnect::SessionLost(reason) => reason,
            };
            tracing::info!(channel = self.channel, reason, "disconnected");
            intake.report(ConnectionEvent::Error(reason));
            failures = if begun.elapsed() < STEADY { failures + 1 } else { 0 };
            if failures >= RESUME_TRIES {
                session = None;
            }
            // A session that lasted is resumed at once.
            let least = if session.is_none() { BETWEEN_SESSIONS } else { Duration::ZERO };
            sleep(BACKOFF.after(failures, backoff::random()).max(least)).await;
        }
    }

    async fn connect_once(
        &self,
        intake: &dyn ChannelIntake,
        session: &mut Option<Session>,
        queue: &EventQueue,
    ) -> Disconnect {
        if let Err(error) = self.me().await {
            return disconnect(error);
        }
        let url = match session {
            Some(session) => session.url.clone(),
            None => match rest::call(&self.rest, LightMethod::Get, Route::Gateway, None).await {
                Ok(gateway) => gateway["url"].as_str().unwrap_or_default().to_owned(),
                Err(error) => return disconnect(error),
            },
        };
        let on_event = |event| {
            intake.report(ConnectionEvent::Alive);
            // A send fails only without receivers, and they live as long as this.
            match event {
                GatewayEvent::Ready(application) => {
                    if let Some(id) = application {
                        self.rest.http.set_application_id(ApplicationId::new(id));
                    }
                    let _ = queue.messages.send(Queued::CatchUp);
                }
                GatewayEvent::Dispatch(name, frame) => match name.as_str() {
                    "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_REACTION_ADD" | REACTION_GONE => {
                        let _ = queue.messages.send(Queued::Event(name, frame));
                    }
                    "INTERACTION_CREATE" => {
                        let _ = queue.interactions.send(frame);
                    }
                    _ => intake.report(ConnectionEvent::Ignored),
                },
                GatewayEvent::Resumed | GatewayEvent::Alive => {}
            }
        };
        let token = self.rest.http.token().trim_start_matches("Bot ");
        gateway::run(&url, token, session, on_event).await
    }

    /// What a person has to fix after a close code that is fatal.
    pub(crate) fn fatal_close(&self, code: u16) -> String {
        let channel = &self.channel;
        match code {
            TOKEN_CLOSE => format!(
                "Discord rejects the token. Set channels.{channel}.token to the one from the Developer Portal (your \
                 application, Bot, Reset Token)."
            ),
            4013 | INTENT_CLOSE => format!(
                "Discord doesn't let the bot of channels.{channel} read messages. Switch on “Message Content Intent” \
                 in the Developer Portal (your application, Bot, Privileged Gateway Intents)."
            ),
            _ => format!("Discord's gateway permanently rejects channels.{channel} (code {code})."),
        }
    }

    /// Never returns.
    async fn journal_messages(&self, mut queued: UnboundedReceiver<Queued>, intake: &dyn ChannelIntake) {
        let mut batch = Vec::new();
        while queued.recv_many(&mut batch, BATCH).await > 0 {
            let mut channels = Channels::new();
            for next in batch.drain(..) {
                match next {
                    Queued::CatchUp => {
                        self.journal_channels(std::mem::take(&mut channels), intake).await;
                        tokio::join!(self.catch_up(intake), self.register_commands());
                    }
                    Queued::Event(name, frame) => {
                        let channel = read::<InChannel>(&frame).map(|event| event.channel_id);
                        channels.entry(channel).or_default().push((name, frame));
                    }
                }
            }
            self.journal_channels(channels, intake).await;
        }
    }

    async fn journal_channels(&self, channels: Channels, intake: &dyn ChannelIntake) {
        let all = futures::stream::iter(channels.into_values());
        all.for_each_concurrent(CONCURRENT, |events| async move {
            for (name, frame) in events {
                let Some(Named { id }) = read(&frame) else {
                    intake.report(ConnectionEvent::Ignored);
                    continue;
                };
                guard::take(intake, &EventId(id), BACKOFF, || self.event(&name, &frame, intake)).await;
            }
        })
        .await;
    }

    async fn event(&self, name: &str, frame: &str, intake: &dyn ChannelIntake) {
        let Ok(me) = self.me().await else { return };
        if name == "MESSAGE_CREATE" {
            let Some(message) = read::<MessageObject>(frame) else {
                return intake.report(ConnectionEvent::Ignored);
            };
            let bot = BotIdentity { channel: &self.channel, me, role: self.own_role(&message.at, me).await };
            let (channel, id, direct) =
                (message.at.channel_id, message.id.get(), message.at.guild_id.is_none());
            self.channels.set_direct(channel, direct);
            self.journal(receive::message(message, bot, direct), intake).await;
            return self.channels.add_journalled(channel, id);
        }
        if name == "MESSAGE_REACTION_ADD" || name == REACTION_GONE {
            let bot = BotIdentity { channel: &self.channel, me, role: None };
            let told: Value = read(frame).unwrap_or_default();
            return self.journal(receive::reaction(&told, name == REACTION_GONE, bot), intake).await;
        }
        let Some(update) = read::<MessageUpdate>(frame) else {
            return intake.report(ConnectionEvent::Ignored);
        };
        let bot = BotIdentity { channel: &self.channel, me, role: self.own_role(&update.at, me).await };
        self.journal(receive::edit(update, bot), intake).await;
    }

    /// Journals it, however long that takes.
    async fn journal(&self, received: Received, intake: &dyn ChannelIntake) {
        if received.is_wanted(intake).await {
            received.journal(intake, BACKOFF).await;
        }
    }

    async fn journal_interactions(&self, mut queued: UnboundedReceiver<String>, intake: &dyn ChannelIntake) {
        let all = futures::stream::poll_fn(|context| queued.poll_recv(context));
        all.for_each_concurrent(CONCURRENT, |frame| async move {
            let event = EventId(read(&frame).map_or_else(String::new, |Named { id }| id));
            guard::take_once(intake, &event, self.interaction(&frame, intake)).await;
        })
        .await;
    }

    async fn interaction(&self, frame: &str, intake: &dyn ChannelIntake) {
        let Ok(me) = self.me().await else { return };
        let bot = BotIdentity { channel: &self.channel, me, role: None };
        let interacted = read::<Interaction>(frame).and_then(|one| receive::interaction(one, bot));
        let Some((inbound, token)) = interacted else { return intake.report(ConnectionEvent::Ignored) };
        let answer = match &inbound {
            // Only the person sees this sign that the command was taken; the answer is a message.
            Inbound::Message(command) => {
                only_for_them(&format!("`{}` ✓", command.text.split(' ').next().unwrap_or_default()))
            }
            // Deferred: the engine edits the message with the button.
            Inbound::ButtonPress(_) => json!({"type": 6}),
        };
        match intake.accept(inbound).await {
            Ok(IntakeOutcome::Accepted) => self.acknowledge(&token, &answer).await,
            Ok(IntakeOutcome::Notice(notice)) => self.acknowledge(&token, &only_for_them(&notice)).await,
            Err(IntakeError) => {}
        }
    }

    async fn acknowledge(&self, token: &InteractionToken, answer: &Value) {
        let route = Route::InteractionResponse { interaction_id: token.id, token: &token.token };
        if let Err(error) = rest::call(&self.rest, LightMethod::Post, route, Some(answer)).await {
            tracing::warn!(channel = self.channel, %error, "an interaction was not acknowledged");
        }
    }

    /// Once in a process; after an error it is tried again with the next session.
    async fn register_commands(&self) {
        let Some(application_id) = self.rest.http.application_id() else { return };
        let command = |SlashCommand { name, argument, description }: &SlashCommand| {
            let option =
                |name: &&str| json!({"type": 3, "name": name, "description": name, "required": false});
            let options: Vec<Value> = argument.iter().map(option).collect();
            // In guilds and in conversations with the bot, not in private places that others share.
            json!({
                "type": 1, "name": name, "description": description(), "options": options,
                "integration_types": [0], "contexts": [0, 1],
            })
        };
        let all: Value = COMMANDS.iter().map(command).collect();
        let register = || async {
            let route = Route::Commands { application_id };
            rest::call(&self.rest, LightMethod::Put, route, Some(&all)).await.map(drop)
        };
        if let Err(error) = self.commands_registered.get_or_try_init(register).await {
            tracing::warn!(channel = self.channel, %error, "slash commands were not registered");
        }
    }
}

/// A message that only the person sees who pressed the button or sent the command.
fn only_for_them(text: &str) -> Value {
    json!({"type": 4, "data": {"content": text, "flags": 1 << 6, "allowed_mentions": {"parse": []}}})
}

fn read<T: DeserializeOwned>(frame: &str) -> Option<T> {
    serde_json::from_str::<Data<T>>(frame).ok().map(|frame| frame.d)
}

fn disconnect(error: ApiError) -> Disconnect {
    match error {
        ApiError::Token => Disconnect::Fatal(TOKEN_CLOSE),
        error => Disconnect::Resumable(error.to_string()),
    }
}
