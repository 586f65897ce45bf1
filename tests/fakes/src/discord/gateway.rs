//! The gateway: a thread a connection reads, whoever has something to tell writes.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tungstenite::protocol::{CloseFrame, Role};
use tungstenite::{Message, WebSocket};

use super::{Shared, TOKEN};

/// The intent without which messages have no text.
const MESSAGE_CONTENT: u64 = 1 << 15;
/// Those in guilds, and those in direct messages.
const REACTIONS: u64 = 1 << 10 | 1 << 13;

/// The writing side of a connection.
pub(super) struct Line {
    socket: Mutex<WebSocket<TcpStream>>,
    stream: TcpStream,
    is_deaf: AtomicBool,
}

impl Line {
    pub(super) fn send(&self, frame: &Value) {
        if !self.is_deaf.load(Ordering::SeqCst) {
            // A connection that broke is the client's to notice.
            let _ = self
                .socket
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .send(Message::text(frame.to_string()));
        }
    }

    pub(super) fn close(&self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = socket.close(Some(frame));
        let _ = socket.flush();
    }

    pub(super) fn go_deaf(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    pub(super) fn cut(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Serves one connection until it ends.
pub(super) fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let heartbeat = {
        let world = shared.world();
        if world.is_down {
            return None;
        }
        world.heartbeat
    };
    // A client that sends no heartbeat is dropped.
    stream.set_read_timeout(Some(heartbeat * 3)).ok()?;
    let mut reader = tungstenite::accept(stream.try_clone().ok()?).ok()?;
    let writer = WebSocket::from_raw_socket(stream.try_clone().ok()?, Role::Server, None);
    let line = Arc::new(Line { socket: Mutex::new(writer), stream, is_deaf: AtomicBool::new(false) });
    line.send(&json!({"op": 10, "d": {"heartbeat_interval": heartbeat.as_millis() as u64}}));
    let mut session = None;
    while let Ok(message) = reader.read() {
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(text.as_str()).unwrap_or_default();
        if !answer(&frame, &line, &mut session, shared) {
            break;
        }
    }
    for one in &mut shared.world().sessions {
        if Some(&one.id) == session.as_ref() && one.line.as_ref().is_some_and(|one| Arc::ptr_eq(one, &line)) {
            one.line = None;
        }
    }
    Some(())
}

/// Whether the connection goes on after a frame.
fn answer(frame: &Value, line: &Arc<Line>, session: &mut Option<String>, shared: &Shared) -> bool {
    let mut world = shared.world();
    let data = &frame["d"];
    let code = match frame["op"].as_u64() {
        Some(1) => {
            let said = data.as_u64().unwrap_or_default();
            let known = world.sessions.iter().find(|one| Some(&one.id) == session.as_ref());
            if known.is_some_and(|known| !known.has_told(said)) {
                4007
            } else {
                line.send(&json!({"op": 11}));
                return true;
            }
        }
        Some(2 | 6) if session.is_some() => 4005,
        Some(2 | 6) if data["token"] != TOKEN => 4004,
        Some(2)
            if world.content_is_forbidden
                && data["intents"].as_u64().unwrap_or_default() & MESSAGE_CONTENT != 0 =>
        {
            4014
        }
        Some(2) => {
            world.hears_reactions = data["intents"].as_u64().unwrap_or_default() & REACTIONS == REACTIONS;
            *session = Some(world.begin_session(line, &format!("ws://{}", shared.gateway)));
            return true;
        }
        Some(6) => {
            let id = data["session_id"].as_str().unwrap_or_default();
            if world.resume_session(id, data["seq"].as_u64().unwrap_or_default(), line) {
                *session = Some(id.to_owned());
            } else {
                line.send(&json!({"op": 9, "d": false}));
            }
            return true;
        }
        _ => 4001,
    };
    world.faults.push(format!("the gateway closed with {code}"));
    drop(world);
    line.close(code);
    false
}
