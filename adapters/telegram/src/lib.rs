//! Telegram as a chat platform, by the Bot API. <https://core.telegram.org/bots/api>
//!
//! An update is confirmed only after it is journalled, so nothing that Telegram keeps (24 hours) is lost. After an
//! interrupted delivery, edits find the message: see [`Telegram`].

mod api;
mod deliver;
mod files;
mod ids;
mod place;
mod poll;
mod preview;
mod receive;
mod render;
mod rooms;
mod setup;

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{Backoff, ChannelIntake, Connection, Finding};
use async_trait::async_trait;
use parking_lot::Mutex;
use teloxide::Bot;
use tokio::sync::watch;

use crate::api::Api;
use crate::ids::MessageIds;
use crate::preview::DraftLimit;

pub use crate::setup::setup;

/// The longest time that a delivery waits for the first polls.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// Idle connections that are kept; more would only hold memory after a rush.
const MAX_IDLE: usize = 4;

pub struct Settings {
    pub channel: String,
    /// The bot's token, from @BotFather.
    pub token: String,
    /// The root of the Bot API: `https://api.telegram.org`, or your own Bot API server.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error("channels.{0}.api_url is not a web address; write \"https://api.telegram.org\"")]
    ApiUrl(String),
    /// The token isn't a number, a colon and more.
    #[error("channels.{0}.token is not a token; it looks like 123456789:AAF... and comes from @BotFather")]
    Token(String),
    #[error("can't create an HTTP client for [channels.{0}]: {1}")]
    Client(String, String),
}

/// One Telegram bot.
///
/// The Bot API can't be asked what was sent, and has no idempotency key. So a message's checkpoint is the highest message
/// id so far, and [reconciling](adjutant_chat::ChatPort::reconcile) tries to edit each later message into the same text:
/// "message is not modified" identifies the one that was sent. Ids are known from what arrives and what is sent, and from
/// the journal for the time before this process. The checkpoint must not be too low, or the edit could change an older
/// message of ours. Without a checkpoint nothing is probed and the message is sent again: rather twice than never. At most
/// 50 unknown messages since the checkpoint are probed.
///
/// The checkpoint is only as good as what this process sees: the process that delivers must also receive.
pub struct Telegram {
    channel: String,
    api: Api,
    ids: Mutex<MessageIds>,
    /// The new ids of groups that have become supergroups.
    moved: Mutex<HashMap<i64, i64>>,
    /// By private chat.
    draft_limits: Mutex<HashMap<i64, DraftLimit>>,
    /// Whether everything from before this process has been polled.
    caught_up: watch::Sender<bool>,
    backoff: Backoff,
    titles: rooms::Titles,
}

/// Prepares a channel; nothing is sent yet.
pub fn connect(settings: Settings) -> Result<Telegram, ConnectError> {
    let Settings { channel, token, api_url } = settings;
    let (id, secret) = token.split_once(':').unwrap_or_default();
    let is_secret = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
    if id.parse::<u64>().is_err() || secret.is_empty() || !secret.chars().all(is_secret) {
        return Err(ConnectError::Token(channel));
    }
    let is_http = api_url.starts_with("http://") || api_url.starts_with("https://");
    let Some(url) = api_url.parse().ok().filter(|_| is_http) else {
        return Err(ConnectError::ApiUrl(channel));
    };
    // A connection that was silent for long may be dead, and it would be unclear whether a request arrived.
    let client = teloxide::net::default_reqwest_settings().pool_idle_timeout(Duration::from_secs(30));
    let client = client.pool_max_idle_per_host(MAX_IDLE).build();
    let client =
        client.map_err(|error| ConnectError::Client(channel.clone(), error.without_url().to_string()))?;
    let api = Api::new(Bot::with_client(token, client).set_api_url(url));
    Ok(Telegram {
        channel,
        api,
        ids: Mutex::default(),
        moved: Mutex::default(),
        draft_limits: Mutex::default(),
        caught_up: watch::Sender::new(false),
        backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
        titles: rooms::titles(),
    })
}

#[async_trait]
impl Connection for Telegram {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        self.poll(intake).await
    }

    fn shows_notices(&self) -> bool {
        true
    }

    async fn check(&self) -> Vec<Finding> {
        self.check_account().await
    }
}

impl Telegram {
    /// Unpolled ids count as well. If nobody polls, the wait ends soon.
    async fn wait_until_caught_up(&self) {
        let mut caught_up = self.caught_up.subscribe();
        let _ = tokio::time::timeout(CATCH_UP_TIMEOUT, caught_up.wait_for(|caught_up| *caught_up)).await;
    }
}

#[cfg(test)]
mod tests;
