//! Stays connected, by our sockets or by Slack's requests.
//!
//! One socket at a time, because Slack distributes events over all that are open. When Slack asks for a new one, it
//! opens before the old one closes. Race accepted: while two are open, messages of one place come in any order.

use std::time::Duration;

use adjutant_chat::{Backoff, ChannelIntake, ConnectionEvent, backoff};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::socket::{self, SocketEvent};
use super::{Acknowledge, EventQueue, Queued};
use crate::Slack;
use crate::web_api::{Api, ApiError};

/// A connection that lasted this long resets the back-off.
const STEADY: Duration = Duration::from_secs(60);

pub(super) const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(if cfg!(test) { 100 } else { 1_000 }), Duration::from_secs(60));

/// Between two calls that prove that Slack can be reached.
const KEEPALIVE: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(30) };

/// Why a connection ended.
pub(crate) enum Disconnect {
    Retry(String),
    /// A person has to fix this first.
    Fatal(String),
}

/// A socket that is open or opening. Dropping the handle closes it.
struct SocketHandle {
    number: u64,
    since: Instant,
    _close: oneshot::Sender<()>,
}

#[derive(Default)]
struct Sockets {
    opened: u64,
    failures: u32,
    serving: Option<SocketHandle>,
    /// Whether Slack will close it soon.
    is_leaving: bool,
    /// The one that will replace it.
    opening: Option<SocketHandle>,
}

impl Slack {
    /// Returns only to give up, with the reason.
    pub(crate) async fn stay_connected(
        &self,
        app: &Api,
        intake: &dyn ChannelIntake,
        queue: &EventQueue,
    ) -> String {
        let (events, mut received) = unbounded_channel();
        let mut running = FuturesUnordered::new();
        let mut sockets = Sockets::default();
        loop {
            // No socket receives events, or not for much longer.
            if sockets.opening.is_none() && (sockets.serving.is_none() || sockets.is_leaving) {
                let (number, close, wait) = sockets.open();
                running.push(self.run_socket(app, intake, queue, (number, wait), (close, events.clone())));
            }
            tokio::select! {
                Some((number, event)) = received.recv() => match event {
                    SocketEvent::Hello => sockets.opened(number),
                    _ => sockets.leaving(number),
                },
                Some((number, end)) = running.next() => match end {
                    Disconnect::Fatal(sentence) => return sentence,
                    Disconnect::Retry(reason) => {
                        tracing::info!(channel = self.channel, reason, "disconnected");
                        if sockets.closed(number) {
                            intake.report(ConnectionEvent::Error(reason));
                        }
                    }
                },
            }
        }
    }

    /// Opens a socket after a wait and runs it to its end.
    async fn run_socket(
        &self,
        app: &Api,
        intake: &dyn ChannelIntake,
        queue: &EventQueue,
        (number, wait): (u64, Duration),
        (close, events): (oneshot::Receiver<()>, UnboundedSender<(u64, SocketEvent)>),
    ) -> (u64, Disconnect) {
        sleep(wait).await;
        let url = match self.socket_url(app).await {
            Ok(url) => url,
            Err(end) => return (number, end),
        };
        let (acknowledged, to_acknowledge) = unbounded_channel();
        let on_event = |event| {
            intake.report(ConnectionEvent::Alive);
            match event {
                SocketEvent::Envelope(envelope) => {
                    let (acknowledged, id) = (acknowledged.clone(), envelope.envelope_id);
                    // If the socket is gone by then, Slack sends it again on the next one.
                    let acknowledge: Acknowledge = Box::new(move || {
                        if !id.is_empty() {
                            let _ = acknowledged.send(id);
                        }
                    });
                    match self.arrived(&envelope.kind, envelope.payload) {
                        Some(arrived) => queue.add(arrived, acknowledge),
                        // Sent again, it wouldn't be understood either.
                        None => {
                            intake.report(ConnectionEvent::Ignored);
                            acknowledge();
                        }
                    }
                }
                SocketEvent::Alive => {}
                event => {
                    // Now, not when the event is handled: whatever follows the hello must come after it in the queue.
                    if matches!(event, SocketEvent::Hello) {
                        let _ = queue.messages.send(Queued::CatchUp);
                    }
                    let _ = events.send((number, event));
                }
            }
        };
        (number, Disconnect::Retry(socket::run(&url, to_acknowledge, close, on_event).await))
    }

    async fn socket_url(&self, app: &Api) -> Result<String, Disconnect> {
        self.authenticate().await.map_err(|error| self.disconnect("bot_token", error))?;
        let opened = app.call("apps.connections.open", &json!({})).await;
        let opened = opened.map_err(|error| self.disconnect("app_token", error))?;
        let url = opened["url"].as_str().map(str::to_owned);
        url.ok_or_else(|| Disconnect::Retry(ApiError::Unclear.to_string()))
    }

    /// Returns only to give up, with the reason. Slack sends requests to us; our own calls prove that it is there.
    pub(crate) async fn stay_reachable(&self, intake: &dyn ChannelIntake, queue: &EventQueue) -> String {
        let mut is_ready = false;
        let mut failures = 0;
        loop {
            match self.authenticate().await {
                Ok(()) => {
                    intake.report(ConnectionEvent::Alive);
                    if !is_ready {
                        let _ = queue.messages.send(Queued::CatchUp);
                    }
                    (is_ready, failures) = (true, 0);
                    sleep(KEEPALIVE).await;
                }
                Err(error) => match self.disconnect("bot_token", error) {
                    Disconnect::Fatal(sentence) => return sentence,
                    Disconnect::Retry(reason) => {
                        intake.report(ConnectionEvent::Error(reason));
                        (is_ready, failures) = (false, failures + 1);
                        sleep(BACKOFF.after(failures, backoff::random())).await;
                    }
                },
            }
        }
    }

    /// What a failed call with one of the tokens means, and how to fix it.
    pub(crate) fn disconnect(&self, key: &str, error: ApiError) -> Disconnect {
        let channel = &self.channel;
        let source = match key {
            "app_token" => {
                "one from the app's page at api.slack.com/apps, “Basic Information”, “App-Level Tokens”, with the scope \
                 connections:write; it begins with xapp-"
            }
            _ => {
                "the “Bot User OAuth Token” on the app's page at api.slack.com/apps, “OAuth & Permissions”; it begins \
                 with xoxb-"
            }
        };
        match error {
            ApiError::Token(why) => Disconnect::Fatal(format!(
                "Slack rejects the token ({why}). Set channels.{channel}.{key} to {source}."
            )),
            ApiError::Scope(scope) => Disconnect::Fatal(format!(
                "The token of channels.{channel}.{key} lacks the scope {scope}. Add it on the app's page at \
                 api.slack.com/apps, reinstall the app, and set channels.{channel}.{key} to {source}."
            )),
            error => Disconnect::Retry(error.to_string()),
        }
    }
}

impl Sockets {
    /// Opens another one: its number, the signal to close it, and the wait before.
    fn open(&mut self) -> (u64, oneshot::Receiver<()>, Duration) {
        self.opened += 1;
        let (close, closed) = oneshot::channel();
        self.opening = Some(SocketHandle { number: self.opened, since: Instant::now(), _close: close });
        (self.opened, closed, BACKOFF.after(self.failures, backoff::random()))
    }

    /// A socket has said hello; the one before it closes.
    fn opened(&mut self, number: u64) {
        if let Some(mut handle) = self.opening.take_if(|handle| handle.number == number) {
            handle.since = Instant::now();
            self.serving = Some(handle);
            self.is_leaving = false;
        }
    }

    /// Slack will close this socket soon.
    fn leaving(&mut self, number: u64) {
        if let Some(handle) = self.serving.as_ref().filter(|handle| handle.number == number) {
            // A socket that closes as soon as it opens must not make us open one after another.
            let steady = handle.since.elapsed() >= STEADY;
            self.failures = if steady { 0 } else { self.failures + 1 };
            self.is_leaving = true;
        }
    }

    /// A socket has ended. Whether none receives events now.
    fn closed(&mut self, number: u64) -> bool {
        if self.opening.take_if(|handle| handle.number == number).is_some() {
            self.failures += 1;
        } else if let Some(handle) = self.serving.take_if(|handle| handle.number == number) {
            let steady = handle.since.elapsed() >= STEADY;
            self.failures = if steady { 0 } else { self.failures + 1 };
            self.is_leaving = false;
        }
        self.serving.is_none()
    }
}
