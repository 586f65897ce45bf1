//! Discord as a chat platform. It knows only `adjutant-chat`.
//!
//! [`connect`] returns a [`Discord`], both the port that sends and the connection that receives. REST, its routes, its
//! rate limits and its errors are serenity's. The gateway's socket is our own (`events/gateway.rs`), because the
//! library reorders events, silently drops those it can't read, and reports neither heartbeats nor a dead connection.

mod attachments;
mod deliver;
mod events;
mod receive;
mod render;
mod rest;
mod rooms;
mod setup;
mod state;

use reqwest::Url;
use serenity::http::{HttpBuilder, LightMethod, Route};
use serenity::model::id::UserId;
use thiserror::Error;
use tokio::sync::OnceCell;

use events::Roles;
use rest::{ApiError, Rest};
use state::ChannelStates;

pub use setup::setup;

const DISCORD: &str = "https://discord.com";

/// Idle connections that are kept; more would only hold memory after a rush.
const MAX_IDLE: usize = 4;

#[derive(Clone)]
pub struct Settings {
    pub channel: String,
    pub token: String,
    /// The root of `/api/v10`: `https://discord.com`, or a proxy.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    #[error("channels.{0}.api_url is not a web address; write \"https://discord.com\"")]
    ApiUrl(String),
    /// The HTTP client can't be made, for this reason.
    #[error("can't create an HTTP client for [channels.{0}]: {1}")]
    Client(String, String),
}

pub struct Discord {
    channel: String,
    rest: Rest,
    /// Downloads files; created with the first one, because that is slow.
    files: OnceCell<reqwest::Client>,
    api_url: Url,
    me: OnceCell<UserId>,
    channels: ChannelStates,
    roles: Roles,
    commands_registered: OnceCell<()>,
    guilds: rooms::Guilds,
}

/// Prepares a channel; nothing is sent yet.
pub fn connect(settings: Settings) -> Result<Discord, ConnectError> {
    let Settings { channel, token, api_url } = settings;
    let url = Url::parse(&api_url).ok().filter(|url| url.has_host() && url.scheme().starts_with("http"));
    let Some(api_url) = url else { return Err(ConnectError::ApiUrl(channel)) };
    // The clients need a TLS provider; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = api_url.as_str().trim_end_matches('/').to_owned();
    let client = reqwest_of_serenity::Client::builder().pool_max_idle_per_host(MAX_IDLE).build();
    let client =
        client.map_err(|error| ConnectError::Client(channel.clone(), error.without_url().to_string()))?;
    let http = HttpBuilder::new(token).client(client.clone());
    // The library's rate limiter bypasses a proxy, so we keep the limits there.
    let http = if root == DISCORD { http } else { http.proxy(root).ratelimiter_disabled(true) };
    let rest = Rest { http: http.build(), client, limits: rest::RateLimits::default() };
    let (files, me, channels, roles, commands_registered) = Default::default();
    let guilds = rooms::guilds();
    Ok(Discord { channel, rest, files, api_url, me, channels, roles, commands_registered, guilds })
}

impl Discord {
    async fn me(&self) -> Result<UserId, ApiError> {
        let ask = || async {
            let account = rest::call(&self.rest, LightMethod::Get, Route::UserMe, None).await?;
            id_of(&account).map(UserId::new).ok_or(ApiError::Unclear)
        };
        self.me.get_or_try_init(ask).await.copied()
    }
}

/// The id of a Discord object; never 0.
fn id_of(object: &serde_json::Value) -> Option<u64> {
    object.get("id")?.as_str()?.parse().ok().filter(|id| *id > 0)
}

#[cfg(test)]
mod tests;
