//! The gateway's socket: one connection from Hello to its end, its heartbeat, and the session to resume.
//!
//! Events stay in order, a connection that no longer acknowledges heartbeats ends, and every wait has a limit. Source
//! of the protocol: <https://discord.com/developers/docs/events/gateway>.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::model::gateway::GatewayIntents;
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// The longest wait for a connection, for Hello, for a write, and for the session to begin.
const TIMEOUT: Duration = Duration::from_secs(20);

fn intents() -> GatewayIntents {
    GatewayIntents::GUILDS
        | GatewayIntents::GUILD_MESSAGES
        | GatewayIntents::GUILD_MESSAGE_REACTIONS
        | GatewayIntents::DIRECT_MESSAGES
        | GatewayIntents::DIRECT_MESSAGE_REACTIONS
        | GatewayIntents::MESSAGE_CONTENT
}

#[derive(Debug)]
pub(super) enum GatewayEvent {
    /// A new session has begun, without the events before it. With our application's id.
    Ready(Option<u64>),
    /// The former session goes on, and missed events follow.
    Resumed,
    /// A heartbeat was acknowledged.
    Alive,
    /// An event: its name, and the frame that holds it as `d`.
    Dispatch(String, String),
}

/// A session that can be resumed.
pub(super) struct Session {
    id: String,
    pub(super) url: String,
    sequence: Option<u64>,
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Disconnect {
    /// For this reason; the session can be resumed.
    Resumable(String),
    /// For this reason; the session is lost.
    SessionLost(String),
    /// The gateway's close code says that reconnecting is useless.
    Fatal(u16),
}

#[derive(Deserialize)]
struct Head {
    op: u8,
    s: Option<u64>,
    t: Option<String>,
}

/// A frame of which only the data matters.
#[derive(Deserialize)]
pub(super) struct Data<T> {
    pub(super) d: T,
}

#[derive(Deserialize)]
struct Hello {
    /// Milliseconds.
    heartbeat_interval: u64,
}

#[derive(Deserialize)]
struct Ready {
    session_id: String,
    resume_gateway_url: String,
    application: Value,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects and stays until the connection ends. Resumes `session` if there is one, and leaves there what can be
/// resumed next time, at its own address.
pub(super) async fn run(
    url: &str,
    token: &str,
    session: &mut Option<Session>,
    on_event: impl Fn(GatewayEvent) + Send,
) -> Disconnect {
    let url = format!("{}/?v=10&encoding=json", url.trim_end_matches('/'));
    let Ok(connected) = timeout(TIMEOUT, connect_async(url)).await else {
        return Disconnect::Resumable("the gateway didn't answer".into());
    };
    let Ok((socket, _)) = connected else {
        return Disconnect::Resumable("the gateway can't be reached".into());
    };
    let mut connection = GatewayConnection { socket, session, on_event, acknowledged: true, begun: false };
    let end = match connection.identify(token).await {
        Ok(interval) => connection.listen(interval).await,
        Err(end) => end,
    };
    if !matches!(end, Disconnect::Resumable(_)) {
        *connection.session = None;
    }
    end
}

struct GatewayConnection<'a, T> {
    socket: Socket,
    session: &'a mut Option<Session>,
    on_event: T,
    acknowledged: bool,
    /// Whether the session has begun or been resumed.
    begun: bool,
}

impl<T: Fn(GatewayEvent) + Send> GatewayConnection<'_, T> {
    /// Waits for Hello and identifies us. Returns the heartbeat's interval.
    async fn identify(&mut self, token: &str) -> Result<Duration, Disconnect> {
        let silent = || Disconnect::Resumable("the gateway didn't say hello".into());
        let hello = loop {
            let frame = timeout(TIMEOUT, self.socket.next()).await.map_err(|_| silent())?;
            if let Some(text) = text_of(frame)? {
                break text;
            }
        };
        let hello: Data<Hello> = serde_json::from_str(&hello).map_err(|_| silent())?;
        let payload = match &self.session {
            Some(Session { id, sequence, .. }) => {
                json!({"op": 6, "d": {"token": token, "session_id": id, "seq": sequence}})
            }
            None => json!({"op": 2, "d": {
                "token": token,
                "intents": intents().bits(),
                "properties": {"os": std::env::consts::OS, "browser": "adjutant", "device": "adjutant"},
            }}),
        };
        self.send(&payload).await?;
        Ok(Duration::from_millis(hello.d.heartbeat_interval.max(1)))
    }

    async fn listen(&mut self, interval: Duration) -> Disconnect {
        // The first heartbeat comes early, as Discord asks.
        let mut beat = interval_at(Instant::now() + interval / 2, interval);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let patience = Instant::now() + TIMEOUT;
        loop {
            let step = tokio::select! {
                _ = beat.tick() => self.beat().await,
                () = sleep_until(patience), if !self.begun => {
                    Err(Disconnect::SessionLost("the gateway didn't begin a session".into()))
                }
                frame = self.socket.next() => match text_of(frame) {
                    Ok(Some(text)) => self.on_frame(text).await,
                    Ok(None) => Ok(()),
                    Err(end) => Err(end),
                },
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn beat(&mut self) -> Result<(), Disconnect> {
        if !self.acknowledged {
            return Err(Disconnect::Resumable("the gateway stopped acknowledging heartbeats".into()));
        }
        self.acknowledged = false;
        self.heartbeat().await
    }

    async fn heartbeat(&mut self) -> Result<(), Disconnect> {
        let sequence = self.session.as_ref().and_then(|session| session.sequence);
        self.send(&json!({"op": 1, "d": sequence})).await
    }

    async fn send(&mut self, payload: &Value) -> Result<(), Disconnect> {
        let sent = timeout(TIMEOUT, self.socket.send(Frame::text(payload.to_string()))).await;
        sent.ok()
            .and_then(Result::ok)
            .ok_or_else(|| Disconnect::Resumable("the gateway closed the connection".into()))
    }

    async fn on_frame(&mut self, text: String) -> Result<(), Disconnect> {
        let Ok(head) = serde_json::from_str::<Head>(&text) else {
            // Not understood: the receiver counts it.
            (self.on_event)(GatewayEvent::Dispatch(String::new(), text));
            return Ok(());
        };
        match (head.op, head.t) {
            (0, Some(name)) => self.dispatch(name, head.s, text)?,
            (1, _) => self.heartbeat().await?,
            (7, _) => return Err(Disconnect::Resumable("the gateway asked to reconnect".into())),
            (9, _) => {
                let is_resumable = serde_json::from_str(&text).is_ok_and(|Data { d }| d);
                let end = if is_resumable { Disconnect::Resumable } else { Disconnect::SessionLost };
                return Err(end("the gateway ended the session".to_owned()));
            }
            (11, _) => {
                self.acknowledged = true;
                (self.on_event)(GatewayEvent::Alive);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, name: String, sequence: Option<u64>, text: String) -> Result<(), Disconnect> {
        let event = match name.as_str() {
            "READY" => {
                let ready: Data<Ready> = serde_json::from_str(&text)
                    .map_err(|_| Disconnect::SessionLost("the gateway sent an invalid READY event".into()))?;
                let Ready { session_id, resume_gateway_url, application } = ready.d;
                *self.session = Some(Session { id: session_id, url: resume_gateway_url, sequence: None });
                self.begun = true;
                GatewayEvent::Ready(crate::id_of(&application))
            }
            "RESUMED" => {
                self.begun = true;
                GatewayEvent::Resumed
            }
            _ => GatewayEvent::Dispatch(name, text),
        };
        (self.on_event)(event);
        if let (Some(session), Some(sequence)) = (self.session.as_mut(), sequence) {
            session.sequence = Some(sequence);
        }
        Ok(())
    }
}

type Received = Option<Result<Frame, tokio_tungstenite::tungstenite::Error>>;

fn text_of(frame: Received) -> Result<Option<String>, Disconnect> {
    match frame {
        Some(Ok(Frame::Text(text))) => Ok(Some(text.as_str().to_owned())),
        Some(Ok(Frame::Close(frame))) => Err(closed(frame.map(|frame| frame.code.into()))),
        Some(Ok(_)) => Ok(None),
        Some(Err(_)) | None => Err(Disconnect::Resumable("the gateway closed the connection".into())),
    }
}

/// The meaning of a close code.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
fn closed(code: Option<u16>) -> Disconnect {
    match code {
        Some(code @ (4004 | 4010..=4014)) => Disconnect::Fatal(code),
        Some(code @ (4003 | 4006 | 4007 | 4009)) => {
            Disconnect::SessionLost(format!("the gateway closed ({code})"))
        }
        Some(code) => Disconnect::Resumable(format!("the gateway closed ({code})")),
        None => Disconnect::Resumable("the gateway closed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_code_tells_whether_to_resume() {
        for code in [4004, 4013, 4014] {
            assert_eq!(closed(Some(code)), Disconnect::Fatal(code));
        }
        assert!(matches!(closed(Some(4009)), Disconnect::SessionLost(_)));
        assert!(matches!(closed(Some(4000)), Disconnect::Resumable(_)));
        assert!(matches!(closed(Some(1001)), Disconnect::Resumable(_)));
        assert!(matches!(closed(None), Disconnect::Resumable(_)));
    }
}
