//! Slack as a chat platform. It knows only `adjutant-chat`.
//!
//! [`connect`] returns a [`Slack`], both the port that sends and the connection that receives. The Web API's client and
//! the check of signatures are slack-morphism's. The socket is our own (`events/socket.rs`), because the library
//! acknowledges envelopes that don't fit its types, closes a socket before it opens the next, and reports neither pings
//! nor a socket's end.

mod attachments;
mod cache;
mod deliver;
mod events;
mod files;
mod place;
mod receive;
mod render;
mod respond;
mod rooms;
mod setup;
mod stream;
mod web_api;

use std::time::Duration;

use hyper_rustls::HttpsConnectorBuilder;
use parking_lot::Mutex;
use reqwest::Url;
use reqwest::redirect::Policy;
use slack_morphism::SlackSigningSecret;
use slack_morphism::prelude::SlackClientHyperHttpsConnector;
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{OnceCell, Semaphore};

use cache::Cache;
use events::Queued;
use web_api::{Api, ApiError};

pub use setup::setup;

/// Places that catch up at the same time.
const CONCURRENT_CATCH_UPS: usize = 8;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Settings {
    pub channel: String,
    /// The bot's token, `xoxb-...`.
    pub bot_token: String,
    /// The app's token, `xapp-...`, for events over a socket that we open (Socket Mode).
    pub app_token: Option<String>,
    /// The secret that Slack signs its requests to our HTTP endpoint with (Events API). One of the two is required;
    /// with both, events may come either way.
    pub signing_secret: Option<String>,
    /// The root of the Web API: `https://slack.com/api`, or a proxy.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    #[error("channels.{0}.api_url is not a web address; write \"https://slack.com/api\"")]
    ApiUrl(String),
    #[error(
        "channels.{0}.bot_token is not a bot's token. A bot's token begins with xoxb- and is on the app's page at \
         api.slack.com/apps, under “OAuth & Permissions”."
    )]
    BotToken(String),
    #[error(
        "channels.{0}.app_token is not an app's token. Create one on the app's page at api.slack.com/apps, under \
         “Basic Information”, “App-Level Tokens”, with the scope connections:write; it begins with xapp-."
    )]
    AppToken(String),
    #[error(
        "channels.{0}.signing_secret is empty. It is on the app's page at api.slack.com/apps, under “Basic \
         Information”."
    )]
    SigningSecret(String),
    /// The HTTPS client can't be made, for this reason.
    #[error("can't create an HTTPS client for channels.{0}: {1}")]
    Client(String, String),
}

/// One Slack app in one workspace.
pub struct Slack {
    channel: String,
    api_url: Url,
    bot: Api,
    /// For Socket Mode, if it is used.
    app: Option<Api>,
    /// Verifies Slack's requests, if the Events API is used.
    verifier: Option<SlackEventSignatureVerifier>,
    /// Created when first needed, because that is slow.
    plain: OnceCell<reqwest::Client>,
    me: OnceCell<String>,
    cache: Cache,
    /// The messages to journal, while this process receives.
    queue: Mutex<Option<UnboundedSender<Queued>>>,
    /// Limits the places that catch up at the same time.
    catching_up: Semaphore,
    lists: rooms::Lists,
    streams: stream::Streams,
}

/// Prepares a channel; nothing is sent yet.
pub fn connect(settings: Settings) -> Result<Slack, ConnectError> {
    let Settings { channel, bot_token, app_token, signing_secret, api_url } = settings;
    let url = Url::parse(&api_url).ok().filter(|url| url.has_host() && url.scheme().starts_with("http"));
    let Some(api_url) = url else { return Err(ConnectError::ApiUrl(channel)) };
    if !is_token(&bot_token, "xoxb-") {
        return Err(ConnectError::BotToken(channel));
    }
    // The clients need a TLS provider; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let https = HttpsConnectorBuilder::new().with_native_roots();
    let https = https.map_err(|error| ConnectError::Client(channel.clone(), error.to_string()))?;
    let connector = SlackClientHyperHttpsConnector::from(https.https_or_http().enable_http1().build());
    let connector = connector.with_slack_api_url(api_url.as_str().trim_end_matches('/'));
    let is_app = app_token.as_ref().map_or(signing_secret.is_some(), |token| is_token(token, "xapp-"));
    if !is_app {
        return Err(ConnectError::AppToken(channel));
    }
    if signing_secret.as_ref().is_some_and(String::is_empty) {
        return Err(ConnectError::SigningSecret(channel));
    }
    let app = app_token.map(|token| Api::new(connector.clone(), &token));
    let verifier = signing_secret.map(|secret| SlackEventSignatureVerifier::new(&SlackSigningSecret(secret)));
    let (plain, me, cache, queue, lists, streams) = Default::default();
    let (bot, catching_up) = (Api::new(connector, &bot_token), Semaphore::new(CONCURRENT_CATCH_UPS));
    Ok(Slack { channel, api_url, bot, app, verifier, plain, me, cache, queue, catching_up, lists, streams })
}

impl Slack {
    /// For requests outside the Web API. No redirects: they lead to a login page, or anywhere.
    async fn plain_client(&self) -> reqwest::Result<&reqwest::Client> {
        let build = || async {
            reqwest::Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT).build()
        };
        self.plain.get_or_try_init(build).await
    }

    /// Fetches our own account and workspace, which also proves that the bot's token is valid.
    async fn authenticate(&self) -> Result<(), ApiError> {
        let answer = self.bot.read("auth.test", &[]).await?;
        let me = answer["user_id"].as_str().ok_or(ApiError::Unclear)?.to_owned();
        self.me.get_or_init(|| async { me }).await;
        if let Some(team) = answer["team_id"].as_str() {
            self.streams.team.get_or_init(|| async { team.to_owned() }).await;
        }
        Ok(())
    }
}

/// Whether it can be a token of this kind, and fits into a header.
fn is_token(text: &str, begins: &str) -> bool {
    text.starts_with(begins) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;
