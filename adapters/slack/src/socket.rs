//! Socket Mode: one connection from its hello to its end.
//!
//! Wanted: nothing is acknowledged before it is journalled; a connection that has gone deaf ends; nothing here
//! waits without an end. Source of the protocol: <https://docs.slack.dev/apis/events-api/using-socket-mode>.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// The longest wait for a connection, for the hello, and for a write.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection that was silent for so long has gone deaf. Slack pings every few seconds, and answers ours.
const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 45 });

/// After so much of it we ping.
const DOUBT: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(20) };

/// So long a connection that another one has replaced still acknowledges what it brought.
const LINGER: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// What a connection tells while it lasts.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Slack is there, and tells things from now on.
    Hello,
    /// A sign of life.
    Alive,
    /// Slack will close it soon.
    Leaving,
    /// Something happened.
    Told(Envelope),
}

/// What Slack wraps everything in.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) envelope_id: String,
    #[serde(default)]
    pub(crate) payload: Value,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects and stays until the connection ends, or, some time later, `replaced` does. Acknowledges the envelopes
/// whose ids it gets. Gives the reason for the end.
pub(crate) async fn run(
    url: &str,
    acknowledge: UnboundedReceiver<String>,
    replaced: oneshot::Receiver<()>,
    tell: impl Fn(Signal) + Send,
) -> String {
    // The library's words for an error may hold the address, which is a secret.
    let socket = match timeout(PATIENCE, connect_async(url)).await {
        Ok(Ok((socket, _))) => socket,
        Ok(Err(_)) => return "Slack's socket can't be reached".to_owned(),
        Err(_) => return "Slack's socket does not answer".to_owned(),
    };
    let mut line = Line { socket, tell, heard: Instant::now(), in_doubt: false, greeted: false };
    match line.listen(acknowledge, replaced).await {
        Ok(()) => "another socket has taken over".to_owned(),
        Err(reason) => reason.to_owned(),
    }
}

struct Line<T> {
    socket: Socket,
    tell: T,
    /// When something came last.
    heard: Instant,
    /// Whether it was pinged since.
    in_doubt: bool,
    greeted: bool,
}

impl<T: Fn(Signal) + Send> Line<T> {
    async fn listen(
        &mut self,
        mut acknowledge: UnboundedReceiver<String>,
        mut replaced: oneshot::Receiver<()>,
    ) -> Result<(), &'static str> {
        let patience = Instant::now() + PATIENCE;
        let mut leaves_at = None;
        loop {
            let quiet_until = self.heard + if self.in_doubt { SILENCE } else { DOUBT };
            tokio::select! {
                frame = self.socket.next() => self.hear(frame)?,
                Some(id) = acknowledge.recv() => {
                    self.send(Frame::text(json!({"envelope_id": id}).to_string())).await?;
                }
                () = sleep_until(quiet_until) => {
                    if self.in_doubt {
                        return Err("Slack's socket has gone deaf");
                    }
                    self.in_doubt = true;
                    self.send(Frame::Ping(Vec::new().into())).await?;
                }
                () = sleep_until(patience), if !self.greeted => return Err("Slack's socket does not say hello"),
                // Dropped, too.
                _ = &mut replaced, if leaves_at.is_none() => leaves_at = Some(Instant::now() + LINGER),
                () = sleep_until(leaves_at.unwrap_or(patience)), if leaves_at.is_some() => {
                    let _ = timeout(PATIENCE, self.socket.close(None)).await;
                    return Ok(());
                }
            }
        }
    }

    fn hear(&mut self, frame: Option<Result<Frame, Error>>) -> Result<(), &'static str> {
        let frame = match frame {
            Some(Ok(Frame::Close(_))) => return Err("Slack has closed the socket"),
            Some(Ok(frame)) => frame,
            Some(Err(_)) | None => return Err("Slack's socket has hung up"),
        };
        (self.heard, self.in_doubt) = (Instant::now(), false);
        (self.tell)(Signal::Alive);
        let Frame::Text(text) = frame else { return Ok(()) };
        // What is not understood at all can't be acknowledged; the listener counts it.
        let envelope: Envelope = serde_json::from_str(text.as_str()).unwrap_or(Envelope {
            kind: String::new(),
            envelope_id: String::new(),
            payload: Value::Null,
        });
        match envelope.kind.as_str() {
            "hello" => {
                self.greeted = true;
                (self.tell)(Signal::Hello);
            }
            "disconnect" => (self.tell)(Signal::Leaving),
            _ => (self.tell)(Signal::Told(envelope)),
        }
        Ok(())
    }

    async fn send(&mut self, frame: Frame) -> Result<(), &'static str> {
        let sent = timeout(PATIENCE, self.socket.send(frame)).await;
        sent.ok().and_then(Result::ok).ok_or("Slack's socket has hung up")
    }
}
