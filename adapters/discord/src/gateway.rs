//! The gateway's socket: one connection from Hello to its end, its heartbeat, and the session to resume.
//!
//! Wanted: events come out in the order in which they came in; a connection that no longer acknowledges
//! heartbeats ends; nothing here waits without an end. Source of the protocol:
//! <https://discord.com/developers/docs/events/gateway>.

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
const PATIENCE: Duration = Duration::from_secs(20);

/// What we want to be told of.
fn intents() -> GatewayIntents {
    GatewayIntents::GUILDS
        | GatewayIntents::GUILD_MESSAGES
        | GatewayIntents::DIRECT_MESSAGES
        | GatewayIntents::MESSAGE_CONTENT
}

/// What a connection tells while it lasts.
#[derive(Debug)]
pub(crate) enum Signal {
    /// A new session has begun: what was said before it was not told. With our application's id.
    Ready(Option<u64>),
    /// The former session goes on: what was missed is told now.
    Resumed,
    /// A heartbeat was acknowledged.
    Alive,
    /// An event: its name, and the frame that holds it as `d`.
    Told(String, String),
}

/// A session that can be resumed.
pub(crate) struct Session {
    id: String,
    /// Where it is to be resumed.
    pub(crate) url: String,
    sequence: Option<u64>,
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// For this reason; the session can be resumed.
    Cut(String),
    /// The session has ended for this reason.
    Over(String),
    /// Going on makes no sense: the gateway's close code.
    Final(u16),
}

#[derive(Deserialize)]
struct Head {
    op: u8,
    s: Option<u64>,
    t: Option<String>,
}

/// A frame of which only the data matters.
#[derive(Deserialize)]
pub(crate) struct Data<T> {
    pub(crate) d: T,
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

/// Connects and stays until the connection ends. Resumes `session` if there is one, and leaves there what
/// can be resumed next time, at its own address.
pub(crate) async fn run(
    url: &str,
    token: &str,
    session: &mut Option<Session>,
    tell: impl Fn(Signal) + Send,
) -> End {
    let url = format!("{}/?v=10&encoding=json", url.trim_end_matches('/'));
    let socket = match timeout(PATIENCE, connect_async(url)).await {
        Ok(Ok((socket, _))) => socket,
        Ok(Err(_)) => return End::Cut("the gateway can't be reached".into()),
        Err(_) => return End::Cut("the gateway does not answer".into()),
    };
    let mut line = Line { socket, session, tell, acknowledged: true, begun: false };
    let end = match line.greet(token).await {
        Ok(interval) => line.listen(interval).await,
        Err(end) => end,
    };
    if !matches!(end, End::Cut(_)) {
        *line.session = None;
    }
    end
}

struct Line<'a, T> {
    socket: Socket,
    session: &'a mut Option<Session>,
    tell: T,
    /// Whether the last heartbeat was.
    acknowledged: bool,
    /// Whether Discord has said that the session goes on from here.
    begun: bool,
}

impl<T: Fn(Signal) + Send> Line<'_, T> {
    /// Hello, and who we are. Gives the heartbeat's interval.
    async fn greet(&mut self, token: &str) -> Result<Duration, End> {
        let silent = || End::Cut("the gateway does not say hello".into());
        let hello = loop {
            let frame = timeout(PATIENCE, self.socket.next()).await.map_err(|_| silent())?;
            if let Some(text) = text_of(frame)? {
                break text;
            }
        };
        let hello: Data<Hello> = serde_json::from_str(&hello).map_err(|_| silent())?;
        let words = match &self.session {
            Some(Session { id, sequence, .. }) => {
                json!({"op": 6, "d": {"token": token, "session_id": id, "seq": sequence}})
            }
            None => json!({"op": 2, "d": {
                "token": token,
                "intents": intents().bits(),
                "properties": {"os": std::env::consts::OS, "browser": "adjutant", "device": "adjutant"},
            }}),
        };
        self.send(&words).await?;
        Ok(Duration::from_millis(hello.d.heartbeat_interval.max(1)))
    }

    async fn listen(&mut self, interval: Duration) -> End {
        // The first heartbeat comes early, as Discord asks.
        let mut beat = interval_at(Instant::now() + interval / 2, interval);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let patience = Instant::now() + PATIENCE;
        loop {
            let step = tokio::select! {
                _ = beat.tick() => self.beat().await,
                () = sleep_until(patience), if !self.begun => {
                    Err(End::Over("the gateway does not begin a session".into()))
                }
                frame = self.socket.next() => match text_of(frame) {
                    Ok(Some(text)) => self.hear(text).await,
                    Ok(None) => Ok(()),
                    Err(end) => Err(end),
                },
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn beat(&mut self) -> Result<(), End> {
        if !self.acknowledged {
            return Err(End::Cut("the gateway has gone deaf".into()));
        }
        self.acknowledged = false;
        self.heartbeat().await
    }

    async fn heartbeat(&mut self) -> Result<(), End> {
        let sequence = self.session.as_ref().and_then(|session| session.sequence);
        self.send(&json!({"op": 1, "d": sequence})).await
    }

    async fn send(&mut self, words: &Value) -> Result<(), End> {
        let sent = timeout(PATIENCE, self.socket.send(Frame::text(words.to_string()))).await;
        sent.ok().and_then(Result::ok).ok_or_else(|| End::Cut("the gateway has hung up".into()))
    }

    async fn hear(&mut self, text: String) -> Result<(), End> {
        let Ok(head) = serde_json::from_str::<Head>(&text) else {
            // Not understood, which is the listener's to count.
            (self.tell)(Signal::Told(String::new(), text));
            return Ok(());
        };
        match (head.op, head.t) {
            (0, Some(name)) => self.told(name, head.s, text)?,
            (1, _) => self.heartbeat().await?,
            (7, _) => return Err(End::Cut("the gateway asked to reconnect".into())),
            (9, _) => {
                let resumable = serde_json::from_str(&text).is_ok_and(|Data { d }| d);
                let reason = "the gateway ended the session".to_owned();
                return Err(if resumable { End::Cut(reason) } else { End::Over(reason) });
            }
            (11, _) => {
                self.acknowledged = true;
                (self.tell)(Signal::Alive);
            }
            _ => {}
        }
        Ok(())
    }

    fn told(&mut self, name: String, sequence: Option<u64>, text: String) -> Result<(), End> {
        let signal = match name.as_str() {
            "READY" => {
                let ready: Data<Ready> = serde_json::from_str(&text)
                    .map_err(|_| End::Over("the gateway's first words are not understood".into()))?;
                let Ready { session_id, resume_gateway_url, application } = ready.d;
                *self.session = Some(Session { id: session_id, url: resume_gateway_url, sequence: None });
                self.begun = true;
                Signal::Ready(crate::id_of(&application))
            }
            "RESUMED" => {
                self.begun = true;
                Signal::Resumed
            }
            _ => Signal::Told(name, text),
        };
        (self.tell)(signal);
        if let (Some(session), Some(sequence)) = (self.session.as_mut(), sequence) {
            session.sequence = Some(sequence);
        }
        Ok(())
    }
}

type Received = Option<Result<Frame, tokio_tungstenite::tungstenite::Error>>;

/// The text of a frame; nothing if it has none; an end if the connection has ended.
fn text_of(frame: Received) -> Result<Option<String>, End> {
    match frame {
        Some(Ok(Frame::Text(text))) => Ok(Some(text.as_str().to_owned())),
        Some(Ok(Frame::Close(frame))) => Err(closed(frame.map(|frame| frame.code.into()))),
        Some(Ok(_)) => Ok(None),
        Some(Err(_)) | None => Err(End::Cut("the gateway has hung up".into())),
    }
}

/// What a close code means.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
fn closed(code: Option<u16>) -> End {
    match code {
        Some(code @ (4004 | 4010..=4014)) => End::Final(code),
        Some(code @ (4003 | 4006 | 4007 | 4009)) => End::Over(format!("the gateway closed ({code})")),
        Some(code) => End::Cut(format!("the gateway closed ({code})")),
        None => End::Cut("the gateway closed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_code_tells_whether_to_resume() {
        for code in [4004, 4013, 4014] {
            assert_eq!(closed(Some(code)), End::Final(code));
        }
        assert!(matches!(closed(Some(4009)), End::Over(_)));
        assert!(matches!(closed(Some(4000)), End::Cut(_)));
        assert!(matches!(closed(Some(1001)), End::Cut(_)));
        assert!(matches!(closed(None), End::Cut(_)));
    }
}
