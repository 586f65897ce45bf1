//! Slack as a chat platform. It knows only `adjutant-chat`.
//!
//! [`connect`] gives a [`Slack`], which is both sides of the door: the port that sends and the
//! connection that receives. The Web API's client and the check of signatures are slack-morphism's. The socket is
//! our own (`socket.rs`), because the library reads an envelope into fixed types and acknowledges what does not
//! fit them, closes a socket before it opens the next, and tells neither of pings nor of a socket's end.

mod place;
mod receive;
mod render;

mod api;
mod deliver;
mod files;
mod known;

mod connect;
mod hook;
mod listen;
mod socket;

mod attachments;
mod catch_up;
mod check;
mod rooms;
mod setup;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, ChatPort, Connection, Delivery, Finding, Limits, Outbound, Reconciliation,
    Retract, WebhookRequest, WebhookResponse,
};
use async_trait::async_trait;
use hyper_rustls::HttpsConnectorBuilder;
use reqwest::Url;
use reqwest::redirect::Policy;
use slack_morphism::SlackSigningSecret;
use slack_morphism::prelude::SlackClientHyperHttpsConnector;
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{OnceCell, Semaphore};

use api::{Api, CallError};
use known::Known;
use listen::{Waiting, Waitlist};
use place::Ts;

pub use setup::setup;

/// Places that are caught up at the same time.
const AT_ONCE: usize = 8;

/// The longest time in which a host that is there is reached.
const CONNECTING: Duration = Duration::from_secs(10);

/// What a Slack channel needs.
#[derive(Clone)]
pub struct Settings {
    /// The configured channel's name.
    pub channel: String,
    /// The bot's token, `xoxb-...`.
    pub bot_token: String,
    /// The app's token, `xapp-...`: then what happens gets to us over a socket that we open (Socket Mode).
    pub app_token: Option<String>,
    /// What Slack signs its requests to our HTTP endpoint with (Events API). One of the two there must be; with both,
    /// what comes either way is taken.
    pub signing_secret: Option<String>,
    /// The Web API, below which its methods lie: `https://slack.com/api`, or a proxy.
    pub api_url: String,
}

/// Why a channel can't even begin to connect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The root is no http or https address.
    #[error("channels.{0}.api_url is no address; write \"https://slack.com/api\"")]
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
    api_url: Url,
    bot: Api,
    /// For the socket, if there is to be one.
    app: Option<Api>,
    /// Tells Slack's own requests from others, if there are to be any.
    verifier: Option<SlackEventSignatureVerifier>,
    /// Made when it is first needed, because that takes longer than all the rest.
    plain: OnceCell<reqwest::Client>,
    /// Our own account.
    me: OnceCell<String>,
    known: Known,
    /// Where messages wait to be journalled, while anybody receives.
    posts: Mutex<Option<UnboundedSender<Waiting>>>,
    /// So many places are caught up at the same time.
    catching_up: Semaphore,
    lists: rooms::Lists,
}

/// Makes a channel. Nothing is sent yet.
///
/// # Errors
/// [`ConnectError`] when the settings can't be used.
pub fn connect(settings: Settings) -> Result<Slack, ConnectError> {
    let Settings { channel, bot_token, app_token, signing_secret, api_url } = settings;
    let url = Url::parse(&api_url).ok().filter(|url| url.has_host() && url.scheme().starts_with("http"));
    let Some(api_url) = url else { return Err(ConnectError::ApiUrl(channel)) };
    if !is_token(&bot_token, "xoxb-") {
        return Err(ConnectError::BotToken(channel));
    }
    // The clients want to be told which of TLS's providers to take; an error says that they were before.
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
    let (plain, me, known, posts, lists) = Default::default();
    let (bot, catching_up) = (Api::new(connector, &bot_token), Semaphore::new(AT_ONCE));
    Ok(Slack { channel, api_url, bot, app, verifier, plain, me, known, posts, catching_up, lists })
}

impl Slack {
    /// For what is none of the Web API's; no redirects: they lead to a page to log in, or anywhere.
    async fn plain_client(&self) -> reqwest::Result<&reqwest::Client> {
        let build = || async {
            reqwest::Client::builder().redirect(Policy::none()).connect_timeout(CONNECTING).build()
        };
        self.plain.get_or_try_init(build).await
    }

    /// Asks for our own account; that it is answered means that the bot's token is good.
    async fn find_out_who_we_are(&self) -> Result<(), CallError> {
        let answer = self.bot.read("auth.test", &[]).await?;
        let me = answer["user_id"].as_str().ok_or(CallError::Unclear)?.to_owned();
        self.me.get_or_init(|| async { me }).await;
        Ok(())
    }
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
        outbound.parts(render::parts(&outbound.text).len())
    }

    async fn seed(&self, _: &Address, names: &[String]) {
        names.iter().filter_map(|name| Ts::of_event(name)).for_each(|ts| self.known.is_there(ts));
    }

    async fn checkpoint(&self, _: &Address) -> Option<String> {
        self.known.newest().map(|ts| ts.to_string())
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        deliver::deliver(self, outbound).await
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        deliver::reconcile(self, outbound).await
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        deliver::show(self, address, receipt, text).await
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        deliver::retract(self, address, receipt, what).await;
    }
}

#[async_trait]
impl Connection for Slack {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        let (posts, waiting_posts) = unbounded_channel();
        let (presses, waiting_presses) = unbounded_channel();
        *self.posts.lock().unwrap_or_else(PoisonError::into_inner) = Some(posts.clone());
        let waitlist = Waitlist { posts, presses };
        let stay = async {
            match &self.app {
                Some(app) => self.stay_connected(app, intake, &waitlist).await,
                None => self.stay_reachable(intake, &waitlist).await,
            }
        };
        tokio::select! {
            sentence = stay => sentence,
            () = self.journal_posts(waiting_posts, intake) => String::new(),
            () = self.journal_presses(waiting_presses, intake) => String::new(),
        }
    }

    async fn webhook(&self, intake: &dyn ChannelIntake, request: WebhookRequest) -> WebhookResponse {
        match &self.verifier {
            Some(verifier) => self.answer(verifier, &request, intake).await,
            None => WebhookResponse::not_found(),
        }
    }

    async fn check(&self) -> Vec<Finding> {
        self.look().await
    }
}

#[cfg(test)]
mod tests;
