//! Discord as a chat platform. It knows only `adjutant-chat`.
//!
//! [`connect`] gives a [`Discord`], which is both sides of the door: the port that sends and the
//! connection that receives. REST, its routes, its rate limits and its errors are serenity's. The gateway's
//! socket is our own (`gateway.rs`), because the library hands events over out of order, drops in silence
//! what it can't read, and tells neither of heartbeats nor of a connection that has gone deaf.

mod receive;
mod render;

mod deliver;
mod known;
mod rest;

mod gateway;
mod listen;

mod attachments;
mod catch_up;
mod check;
mod roles;
mod setup;

mod permissions;
mod rooms;

use adjutant_chat::{Address, ChatPort, Delivery, Limits, Outbound, Reconciliation, Retract};
use async_trait::async_trait;
use reqwest::Url;
use serenity::http::{Http, HttpBuilder, LightMethod, Route};
use serenity::model::id::UserId;
use thiserror::Error;
use tokio::sync::OnceCell;

use known::Known;
use rest::CallError;
use roles::Roles;

pub use setup::setup;

/// Where Discord is.
const DISCORD: &str = "https://discord.com";

/// So many connections wait for the next call; more would only keep memory after a rush.
const MOST_IDLE: usize = 4;

/// What a Discord channel needs.
#[derive(Clone)]
pub struct Settings {
    /// The configured channel's name.
    pub channel: String,
    /// The bot's token.
    pub token: String,
    /// The root under which `/api/v10` lies: `https://discord.com`, or a proxy.
    pub api_url: String,
}

/// Why a channel can't even begin to connect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The root is no http or https address.
    #[error("channels.{0}.api_url is no address; write \"https://discord.com\"")]
    ApiUrl(String),
    /// No client could be made, for this reason.
    #[error("no HTTP client for [channels.{0}]: {1}")]
    Client(String, String),
}

/// One Discord bot.
pub struct Discord {
    channel: String,
    http: Http,
    /// Reads files; made when the first one comes, because that takes longer than all the rest.
    files: OnceCell<reqwest::Client>,
    api_url: Url,
    me: OnceCell<UserId>,
    known: Known,
    roles: Roles,
    commands_are_set: OnceCell<()>,
    guilds: rooms::Guilds,
}

/// Makes a channel. Nothing is sent yet.
///
/// # Errors
/// [`ConnectError`] when the settings can't be used.
pub fn connect(settings: Settings) -> Result<Discord, ConnectError> {
    let Settings { channel, token, api_url } = settings;
    let url = Url::parse(&api_url).ok().filter(|url| url.has_host() && url.scheme().starts_with("http"));
    let Some(api_url) = url else { return Err(ConnectError::ApiUrl(channel)) };
    // The clients want to be told which of TLS's providers to take; an error says that they were before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = api_url.as_str().trim_end_matches('/').to_owned();
    let client = reqwest_of_serenity::Client::builder().pool_max_idle_per_host(MOST_IDLE).build();
    let client =
        client.map_err(|error| ConnectError::Client(channel.clone(), error.without_url().to_string()))?;
    let http = HttpBuilder::new(token).client(client);
    // The library goes past a proxy while it keeps to the rate limits.
    let http = if root == DISCORD { http } else { http.proxy(root).ratelimiter_disabled(true) };
    let http = http.build();
    let (files, me, known, roles, commands_are_set) = Default::default();
    let guilds = rooms::guilds();
    Ok(Discord { channel, http, files, api_url, me, known, roles, commands_are_set, guilds })
}

impl Discord {
    /// Our own account.
    async fn me(&self) -> Result<UserId, CallError> {
        let ask = || async {
            let account = rest::call(&self.http, LightMethod::Get, Route::UserMe, None).await?;
            id_of(&account).map(UserId::new).ok_or(CallError::Unclear)
        };
        self.me.get_or_try_init(ask).await.copied()
    }
}

/// The id of anything of Discord's; never 0.
fn id_of(thing: &serde_json::Value) -> Option<u64> {
    thing.get("id")?.as_str()?.parse().ok().filter(|id| *id > 0)
}

#[async_trait]
impl ChatPort for Discord {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        render::LIMITS
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(render::parts(&outbound.text).len())
    }

    async fn checkpoint(&self, address: &Address) -> Option<String> {
        deliver::checkpoint(self, address).await
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        deliver::deliver(self, outbound).await
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        deliver::reconcile(self, outbound).await
    }

    async fn typing(&self, address: &Address) {
        deliver::typing(self, address).await;
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        deliver::show(self, address, receipt, text).await
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        deliver::retract(self, address, receipt, what).await;
    }
}

#[cfg(test)]
mod tests;
