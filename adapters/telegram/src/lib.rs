//! Telegram as a chat platform, by the Bot API. <https://core.telegram.org/bots/api>
//!
//! An update is confirmed only after it is journalled, so nothing that Telegram still has (24 hours) is
//! lost. After a cut-off sending the message is looked for by edits: see [`Telegram`].

mod api;
mod check;
mod deliver;
mod files;
mod ids;
mod place;
mod poll;
mod receive;
mod render;
mod rooms;
mod setup;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_chat::{
    Address, Backoff, ChannelIntake, ChatPort, Connection, Delivery, Finding, LengthUnit, Limits, Markup,
    Outbound, Reconciliation, Retract,
};
use async_trait::async_trait;
use teloxide::Bot;
use tokio::sync::watch;

use crate::api::Api;
use crate::ids::Ids;
use crate::place::Place;

pub use crate::setup::setup;

/// So long a sending waits for the first polls.
const CATCHES_UP: Duration = Duration::from_secs(5);

/// So many connections wait for the next call; more would only keep memory after a rush.
const MOST_IDLE: usize = 4;

/// What a Telegram channel needs.
pub struct Settings {
    /// The configured channel's name.
    pub channel: String,
    /// The bot's token, from @BotFather.
    pub token: String,
    /// The root of the Bot API: `https://api.telegram.org`, or a Bot API server of one's own.
    pub api_url: String,
}

/// Why a channel can't even be tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address is none of HTTP.
    #[error("[channels.{0}] api_url is not an http or https address")]
    ApiUrl(String),
    /// The token is empty, or holds what no token holds.
    #[error("[channels.{0}] token is none: one looks like 123456789:AAF... and comes from @BotFather")]
    Token(String),
    /// No client could be made, for this reason.
    #[error("no HTTP client for [channels.{0}]: {1}")]
    Client(String, String),
}

/// One bot.
///
/// The Bot API can't be asked what was sent, and takes no key against doubles. So
/// [`ChatPort::checkpoint`] names the highest message id so far, and [`ChatPort::reconcile`] tries to edit what
/// came after it into the very same message: "message is not modified" names the one that was sent. Ids are
/// known from what arrives and what is sent, and from before the process began by what the engine has kept. It
/// must not be too low either: then the edit could hit an older message of ours. Without a mark nothing is
/// looked for, and the message is sent again: rather twice than never. More than 50 messages of unknown origin
/// since the mark are not looked through.
///
/// The mark is only as good as what this process sees: the one that delivers has to be the one that receives.
pub struct Telegram {
    channel: String,
    api: Api,
    ids: Mutex<Ids>,
    /// Groups that have become supergroups, with their new ids.
    moved: Mutex<HashMap<i64, i64>>,
    /// Whether all that waited when this process began has been polled.
    caught_up: watch::Sender<bool>,
    /// The pauses after failed polls.
    backoff: Backoff,
    titles: rooms::Titles,
}

/// Prepares a channel; nothing is asked of the network yet.
///
/// # Errors
/// [`ConnectError`]: the settings can't be right.
pub fn connect(settings: Settings) -> Result<Telegram, ConnectError> {
    let Settings { channel, token, api_url } = settings;
    let is_token = |char: char| char.is_ascii_alphanumeric() || ":_-".contains(char);
    if token.is_empty() || !token.chars().all(is_token) {
        return Err(ConnectError::Token(channel));
    }
    let is_http = api_url.starts_with("http://") || api_url.starts_with("https://");
    let Some(url) = api_url.parse().ok().filter(|_| is_http) else {
        return Err(ConnectError::ApiUrl(channel));
    };
    // A connection that was silent for long may be dead without a word, and what is written to it in doubt.
    let client = teloxide::net::default_reqwest_settings().pool_idle_timeout(Duration::from_secs(30));
    let client = client.pool_max_idle_per_host(MOST_IDLE).build();
    let client =
        client.map_err(|error| ConnectError::Client(channel.clone(), error.without_url().to_string()))?;
    let api = Api::new(Bot::with_client(token, client).set_api_url(url));
    Ok(Telegram {
        channel,
        api,
        ids: Mutex::default(),
        moved: Mutex::default(),
        caught_up: watch::Sender::new(false),
        backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
        titles: rooms::titles(),
    })
}

#[async_trait]
impl ChatPort for Telegram {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        // <https://core.telegram.org/bots/api#sendmessage>; a keyboard takes a hundred buttons.
        Limits {
            text: render::LONGEST,
            unit: LengthUnit::Utf16,
            buttons: 100,
            markup: Markup::Html,
            edits: true,
            files: true,
        }
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(render::parts(&outbound.text).len())
    }

    async fn seed(&self, address: &Address, names: &[String]) {
        self.learn(address, names);
    }

    async fn checkpoint(&self, address: &Address) -> Option<String> {
        self.catches_up().await;
        let place: Place = address.place.parse().ok()?;
        self.ids().highest(self.chat(place)).map(|highest| highest.to_string())
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        self.deliver_part(outbound).await
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        // What waits to be polled need not be probed.
        self.catches_up().await;
        self.look_for(outbound).await
    }

    async fn typing(&self, address: &Address) {
        self.say_typing(address).await;
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        self.show_text(address, receipt, text).await
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        self.take_away(address, receipt, what).await;
    }
}

#[async_trait]
impl Connection for Telegram {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        self.poll(intake).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.look().await
    }
}

impl Telegram {
    /// Ids that wait to be polled count as well; where nobody polls, nothing is waited for long.
    async fn catches_up(&self) {
        let mut caught_up = self.caught_up.subscribe();
        let _ = tokio::time::timeout(CATCHES_UP, caught_up.wait_for(|caught_up| *caught_up)).await;
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self) -> MutexGuard<'_, HashMap<i64, i64>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
