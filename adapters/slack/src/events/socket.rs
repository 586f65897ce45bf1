//! Socket Mode: one connection from its hello to its end.
//!
//! Nothing is acknowledged before it is journalled, a dead connection ends, and every wait has a limit. Source of the
//! protocol: <https://docs.slack.dev/apis/events-api/using-socket-mode>.

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
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection silent for this long is dead. Slack pings every few seconds and answers our pings.
const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 45 });

/// After this much silence we ping.
const PING_AFTER: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(20) };

/// How long a replaced connection still acknowledges its envelopes.
const LINGER: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

#[derive(Debug)]
pub(super) enum SocketEvent {
    /// Slack sends events from now on.
    Hello,
    Alive,
    /// Slack will close it soon.
    Leaving,
    Envelope(Envelope),
}

/// What Slack wraps everything in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) envelope_id: String,
    pub(super) payload: Value,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects and stays until the connection ends, or some time after `close`. Acknowledges the envelopes whose ids it
/// gets. Returns the reason for the end.
pub(super) async fn run(
    url: &str,
    acknowledge: UnboundedReceiver<String>,
    close: oneshot::Receiver<()>,
    on_event: impl Fn(SocketEvent) + Send,
) -> String {
    // The library's error texts may hold the address, which is a secret.
    let Ok(connected) = timeout(TIMEOUT, connect_async(url)).await else {
        return "Slack's socket didn't answer".to_owned();
    };
    let Ok((socket, _)) = connected else { return "Slack's socket can't be reached".to_owned() };
    let mut connection =
        SocketConnection { socket, on_event, last_frame: Instant::now(), pinged: false, greeted: false };
    match connection.listen(acknowledge, close).await {
        Ok(()) => "another socket has taken over".to_owned(),
        Err(reason) => reason.to_owned(),
    }
}

struct SocketConnection<T> {
    socket: Socket,
    on_event: T,
    last_frame: Instant,
    pinged: bool,
    greeted: bool,
}

impl<T: Fn(SocketEvent) + Send> SocketConnection<T> {
    async fn listen(
        &mut self,
        mut acknowledge: UnboundedReceiver<String>,
        mut close: oneshot::Receiver<()>,
    ) -> Result<(), &'static str> {
        let patience = Instant::now() + TIMEOUT;
        let mut leaves_at = None;
        loop {
            let quiet_until = self.last_frame + if self.pinged { SILENCE } else { PING_AFTER };
            tokio::select! {
                frame = self.socket.next() => self.on_frame(frame)?,
                Some(id) = acknowledge.recv() => {
                    self.send(Frame::text(json!({"envelope_id": id}).to_string())).await?;
                }
                () = sleep_until(quiet_until) => {
                    if self.pinged {
                        return Err("Slack's socket stopped answering");
                    }
                    self.pinged = true;
                    self.send(Frame::Ping(Vec::new().into())).await?;
                }
                () = sleep_until(patience), if !self.greeted => return Err("Slack's socket didn't say hello"),
                // Also when it is dropped.
                _ = &mut close, if leaves_at.is_none() => leaves_at = Some(Instant::now() + LINGER),
                () = sleep_until(leaves_at.unwrap_or(patience)), if leaves_at.is_some() => {
                    let _ = timeout(TIMEOUT, self.socket.close(None)).await;
                    return Ok(());
                }
            }
        }
    }

    fn on_frame(&mut self, frame: Option<Result<Frame, Error>>) -> Result<(), &'static str> {
        let frame = match frame {
            Some(Ok(Frame::Close(_))) => return Err("Slack closed the socket"),
            Some(Ok(frame)) => frame,
            Some(Err(_)) | None => return Err("Slack's socket was cut off"),
        };
        (self.last_frame, self.pinged) = (Instant::now(), false);
        (self.on_event)(SocketEvent::Alive);
        let Frame::Text(text) = frame else { return Ok(()) };
        // Without an id it can't be acknowledged; the receiver counts it.
        let envelope: Envelope = serde_json::from_str(text.as_str()).unwrap_or_default();
        match envelope.kind.as_str() {
            "hello" => {
                self.greeted = true;
                (self.on_event)(SocketEvent::Hello);
            }
            "disconnect" => (self.on_event)(SocketEvent::Leaving),
            _ => (self.on_event)(SocketEvent::Envelope(envelope)),
        }
        Ok(())
    }

    async fn send(&mut self, frame: Frame) -> Result<(), &'static str> {
        let sent = timeout(TIMEOUT, self.socket.send(frame)).await;
        sent.ok().and_then(Result::ok).ok_or("Slack's socket was cut off")
    }
}
