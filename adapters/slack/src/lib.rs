//! Slack as a chat platform. It knows only `adjutant-chat`.
//!
//! [`connect`] gives a [`Slack`], which is both sides of the door: the port that sends and the
//! connection that receives. The Web API's client and the check of signatures are slack-morphism's.

mod place;
mod render;

mod api;
mod deliver;
mod known;

use adjutant_chat::{Address, ChatPort, Delivery, Found, Limits, Outbound, Retract};
use async_trait::async_trait;
use hyper_rustls::HttpsConnectorBuilder;
use slack_morphism::prelude::SlackClientHyperHttpsConnector;
use thiserror::Error;

use api::Api;
use known::Known;

/// What a Slack channel needs.
#[derive(Clone)]
pub struct Settings {
    /// The configured channel's name.
    pub channel: String,
    /// The bot's token, `xoxb-...`.
    pub bot_token: String,
    /// How what happens gets to us.
    pub way: Way,
    /// The root under which `/api` lies: `https://slack.com`, or a proxy.
    pub api_url: String,
}

/// How what happens gets to us.
#[derive(Clone)]
pub enum Way {
    /// Over a socket that we open (Socket Mode).
    Socket {
        /// The app's token, `xapp-...`.
        app_token: String,
    },
    /// By requests of Slack's to our HTTP endpoint (Events API).
    Events {
        /// What Slack signs them with.
        signing_secret: String,
    },
}

/// Why a channel can't even begin to connect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The root is no http or https address.
    #[error("channels.{0}.api_url is no address; write \"https://slack.com\"")]
    ApiUrl(String),
    /// The bot's token is none.
    #[error(
        "channels.{0}.bot_token is no bot's token: one begins with xoxb- and stands on the app's page at \
         api.slack.com/apps, under “OAuth & Permissions”"
    )]
    BotToken(String),
    /// The app's token is none.
    #[error(
        "channels.{0}.app_token is no app's token: one begins with xapp- and is made on the app's page at \
         api.slack.com/apps, under “Basic Information”, “App-Level Tokens”, with the scope connections:write"
    )]
    AppToken(String),
    /// The secret is empty.
    #[error(
        "channels.{0}.signing_secret is empty: it stands on the app's page at api.slack.com/apps, under \
         “Basic Information”"
    )]
    SigningSecret(String),
    /// No HTTPS client could be made, for this reason.
    #[error("no HTTPS client for channels.{0}: {1}")]
    Client(String, String),
}

/// One Slack app in one workspace.
pub struct Slack {
    channel: String,
    bot: Api,
    known: Known,
}

/// Makes a channel. Nothing is sent yet.
///
/// # Errors
/// [`ConnectError`] when the settings can't be used.
pub fn connect(settings: Settings) -> Result<Slack, ConnectError> {
    let Settings { channel, bot_token, way: _, api_url } = settings;
    if !is_token(&bot_token, "xoxb-") {
        return Err(ConnectError::BotToken(channel));
    }
    // The clients want to be told which of TLS's providers to take; an error says that they were before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let https = HttpsConnectorBuilder::new().with_native_roots();
    let https = https.map_err(|error| ConnectError::Client(channel.clone(), error.to_string()))?;
    let connector = SlackClientHyperHttpsConnector::from(https.https_or_http().enable_http1().build());
    let connector = connector.with_slack_api_url(&format!("{}/api", api_url.trim_end_matches('/')));
    Ok(Slack { channel, bot: Api::new(connector, &bot_token), known: Known::default() })
}

/// Whether it can be a token of this kind; a header holds no others.
fn is_token(text: &str, begins: &str) -> bool {
    text.starts_with(begins) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[async_trait]
impl ChatPort for Slack {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        render::LIMITS
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        render::parts(&outbound.text).len()
    }

    async fn mark(&self, _: &Address, newest: &[String]) -> Option<String> {
        deliver::mark(self, newest)
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        deliver::deliver(self, outbound).await
    }

    async fn reconcile(&self, outbound: &Outbound) -> Found {
        deliver::reconcile(self, outbound).await
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
