//! Stays connected, by sockets of ours or by Slack's requests.
//!
//! Wanted: one socket at a time, because Slack spreads what happens over all that are open; when Slack asks for
//! another one, that is there before the old one goes; failures wait longer and longer. Race accepted: while two are
//! open, messages of one place come in any order.

use std::time::Duration;

use adjutant_chat::{Backoff, ChannelIntake, ConnectionEvent, backoff};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::Slack;
use crate::api::{Api, CallError};
use crate::listen::{Done, Waiting, Waitlist};
use crate::socket::{self, Signal};

/// A connection that lasted so long did not fail at its beginning.
const STEADY: Duration = Duration::from_secs(60);

/// The waits between two tries.
const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(if cfg!(test) { 100 } else { 1_000 }), Duration::from_secs(60));

/// Between two signs of life where Slack sends to us.
const SIGN_OF_LIFE: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(30) };

/// Why a socket ended.
pub(crate) enum End {
    /// For this reason; another one may do.
    Cut(String),
    /// Going on makes no sense, with the mend.
    Final(String),
}

/// A socket that is open or about to be; without it the socket goes.
struct Handle {
    number: u64,
    begun: Instant,
    _replaced: oneshot::Sender<()>,
}

/// The sockets of one channel.
#[derive(Default)]
struct Sockets {
    made: u64,
    failures: u32,
    /// The one that tells us things.
    serving: Option<Handle>,
    /// Whether that will end soon.
    is_leaving: bool,
    /// The one that shall tell us things.
    opening: Option<Handle>,
}

impl Slack {
    /// Returns the sentence with which it gives up.
    pub(crate) async fn stay_connected(
        &self,
        app: &Api,
        intake: &dyn ChannelIntake,
        waitlist: &Waitlist,
    ) -> String {
        let (signals, mut heard) = unbounded_channel();
        let mut lines = FuturesUnordered::new();
        let mut sockets = Sockets::default();
        loop {
            if sockets.want_another() {
                let (number, replaced, wait) = sockets.open();
                lines.push(self.line(app, intake, waitlist, (number, wait), (replaced, signals.clone())));
            }
            tokio::select! {
                Some((number, signal)) = heard.recv() => match signal {
                    Signal::Hello => sockets.is_open(number),
                    _ => sockets.leaves(number),
                },
                Some((number, end)) = lines.next() => match end {
                    End::Final(sentence) => return sentence,
                    End::Cut(reason) => {
                        tracing::info!(channel = self.channel, reason, "disconnected");
                        if sockets.is_over(number) {
                            intake.report(ConnectionEvent::Error(reason));
                        }
                    }
                },
            }
        }
    }

    /// One socket, after a wait, until its end.
    async fn line(
        &self,
        app: &Api,
        intake: &dyn ChannelIntake,
        waitlist: &Waitlist,
        (number, wait): (u64, Duration),
        (replaced, signals): (oneshot::Receiver<()>, UnboundedSender<(u64, Signal)>),
    ) -> (u64, End) {
        sleep(wait).await;
        let url = match self.address_of_socket(app).await {
            Ok(url) => url,
            Err(end) => return (number, end),
        };
        let (acknowledge, acknowledged) = unbounded_channel();
        let tell = |signal| {
            intake.report(ConnectionEvent::Alive);
            match signal {
                Signal::Told(envelope) => {
                    let (acknowledge, id) = (acknowledge.clone(), envelope.envelope_id);
                    // The socket may be gone by then; Slack tells it again on the next one.
                    let done: Done = Box::new(move || {
                        if !id.is_empty() {
                            let _ = acknowledge.send(id);
                        }
                    });
                    match self.arrived(&envelope.kind, envelope.payload) {
                        Some(arrived) => waitlist.add(arrived, done),
                        // Told again it would not be understood, either.
                        None => {
                            intake.report(ConnectionEvent::Ignored);
                            done();
                        }
                    }
                }
                Signal::Alive => {}
                signal => {
                    // From here, not once the signal is heard: what follows the hello must find it in the line.
                    if matches!(signal, Signal::Hello) {
                        let _ = waitlist.posts.send(Waiting::Ready);
                    }
                    let _ = signals.send((number, signal));
                }
            }
        };
        (number, End::Cut(socket::run(&url, acknowledged, replaced, tell).await))
    }

    async fn address_of_socket(&self, app: &Api) -> Result<String, End> {
        self.find_out_who_we_are().await.map_err(|error| self.end("bot_token", error))?;
        let opened = app.call("apps.connections.open", &json!({})).await;
        let opened = opened.map_err(|error| self.end("app_token", error))?;
        opened["url"].as_str().map(String::from).ok_or_else(|| End::Cut(CallError::Unclear.to_string()))
    }

    /// Returns the sentence with which it gives up. Slack sends; our own calls are the sign of life.
    pub(crate) async fn stay_reachable(&self, intake: &dyn ChannelIntake, waitlist: &Waitlist) -> String {
        let mut is_ready = false;
        let mut failures = 0;
        loop {
            match self.find_out_who_we_are().await {
                Ok(()) => {
                    intake.report(ConnectionEvent::Alive);
                    if !is_ready {
                        let _ = waitlist.posts.send(Waiting::Ready);
                    }
                    (is_ready, failures) = (true, 0);
                    sleep(SIGN_OF_LIFE).await;
                }
                Err(error) => match self.end("bot_token", error) {
                    End::Final(sentence) => return sentence,
                    End::Cut(reason) => {
                        intake.report(ConnectionEvent::Error(reason));
                        (is_ready, failures) = (false, failures + 1);
                        sleep(wait_after(failures)).await;
                    }
                },
            }
        }
    }

    /// What a failed call with one of the tokens means, with the mend.
    pub(crate) fn end(&self, key: &str, error: CallError) -> End {
        let channel = &self.channel;
        let stands = match key {
            "app_token" => {
                "one that is made on the app's page at api.slack.com/apps, under “Basic Information”, “App-Level \
                 Tokens”, with the scope connections:write; it begins with xapp-"
            }
            _ => {
                "the “Bot User OAuth Token” on the app's page at api.slack.com/apps, under “OAuth & Permissions”; it \
                 begins with xoxb-"
            }
        };
        match error {
            CallError::Token(why) => End::Final(format!(
                "Slack refuses the token ({why}). Set channels.{channel}.{key} to {stands}."
            )),
            CallError::Scope(scope) => End::Final(format!(
                "The token of channels.{channel}.{key} lacks the scope {scope}. Add it on the app's page at \
                 api.slack.com/apps, install the app again, and set channels.{channel}.{key} to {stands}."
            )),
            error => End::Cut(error.to_string()),
        }
    }
}

impl Sockets {
    /// Whether nobody tells us things, or will not for long.
    fn want_another(&self) -> bool {
        self.opening.is_none() && (self.serving.is_none() || self.is_leaving)
    }

    /// Begins another one: its number, the word that it is replaced, and the wait before it.
    fn open(&mut self) -> (u64, oneshot::Receiver<()>, Duration) {
        self.made += 1;
        let (replaced, is_replaced) = oneshot::channel();
        self.opening = Some(Handle { number: self.made, begun: Instant::now(), _replaced: replaced });
        (self.made, is_replaced, wait_after(self.failures))
    }

    /// It has said hello; the one before it may go.
    fn is_open(&mut self, number: u64) {
        if let Some(mut handle) = self.opening.take_if(|handle| handle.number == number) {
            handle.begun = Instant::now();
            self.serving = Some(handle);
            self.is_leaving = false;
        }
    }

    /// Slack will close it soon.
    fn leaves(&mut self, number: u64) {
        if let Some(handle) = self.serving.as_ref().filter(|handle| handle.number == number) {
            // One that is asked to go as soon as it has come must not make us open one after the other.
            let steady = handle.begun.elapsed() >= STEADY;
            self.failures = if steady { 0 } else { self.failures + 1 };
            self.is_leaving = true;
        }
    }

    /// It has ended. Whether now nobody tells us things.
    fn is_over(&mut self, number: u64) -> bool {
        if self.opening.take_if(|handle| handle.number == number).is_some() {
            self.failures += 1;
        } else if let Some(handle) = self.serving.take_if(|handle| handle.number == number) {
            let steady = handle.begun.elapsed() >= STEADY;
            self.failures = if steady { 0 } else { self.failures + 1 };
            self.is_leaving = false;
        }
        self.serving.is_none()
    }
}

pub(crate) fn wait_after(failures: u32) -> Duration {
    BACKOFF.after(failures, backoff::random())
}
