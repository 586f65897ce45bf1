//! Socket Mode: a thread a connection reads, whoever has something to tell writes.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use super::{Shared, events};

/// The writing side of a connection.
pub(super) struct Line {
    socket: Mutex<WebSocket<TcpStream>>,
    stream: TcpStream,
    is_deaf: AtomicBool,
}

impl Line {
    /// Whether it was written; a connection that broke is the client's to notice.
    pub(super) fn send(&self, frame: &Value) -> bool {
        if self.is_deaf.load(Ordering::SeqCst) {
            // The network swallows it without a word.
            return true;
        }
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.send(Message::text(frame.to_string())).is_ok()
    }

    /// Leaves a frame where the next one takes it along.
    fn leave(&self, frame: &Value) -> bool {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.write(Message::text(frame.to_string())).is_ok()
    }

    fn flush(&self) -> bool {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).flush().is_ok()
    }

    pub(super) fn go_deaf(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    pub(super) fn cut(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Serves one connection until it ends.
#[expect(clippy::result_large_err, reason = "the handshake's own type")]
pub(super) fn serve(stream: TcpStream, shared: &Arc<Shared>) -> Option<()> {
    if shared.world().is_down {
        return None;
    }
    let mut ticket = String::new();
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        ticket = request.uri().query().unwrap_or_default().to_owned();
        Ok(response)
    };
    let mut reader = tungstenite::accept_hdr(stream.try_clone().ok()?, look).ok()?;
    let writer = WebSocket::from_raw_socket(stream.try_clone().ok()?, Role::Server, None);
    let line = Arc::new(Line { socket: Mutex::new(writer), stream, is_deaf: AtomicBool::new(false) });
    {
        let mut world = shared.world();
        let known = world.tickets.iter().position(|one| *one == ticket)?;
        // An address is good for one socket.
        world.tickets.remove(known);
        world.opened += 1;
        let hello = json!({
            "type": "hello", "num_connections": world.lines.len() + 1, "connection_info": {"app_id": "A0FAKE"},
            "debug_info": {"host": "fake", "approximate_connection_time": 18060},
        });
        line.leave(&hello);
        world.lines.push(Arc::clone(&line));
    }
    // What waits comes in one piece with the hello, as a network may have it.
    events::deliver(shared);
    line.flush();
    while let Ok(message) = reader.read() {
        if line.is_deaf.load(Ordering::SeqCst) {
            // Not even a ping is answered.
            let _ = io::copy(&mut &line.stream, &mut io::sink());
            break;
        }
        if let Message::Text(text) = message {
            acknowledged(text.as_str(), shared);
        }
    }
    shared.world().lines.retain(|one| !Arc::ptr_eq(one, &line));
    Some(())
}

fn acknowledged(text: &str, shared: &Shared) {
    let frame: Value = serde_json::from_str(text).unwrap_or_default();
    let mut world = shared.world();
    let id = frame["envelope_id"].as_str().unwrap_or_default();
    match world.envelopes.iter_mut().rev().find(|one| one.id == id) {
        Some(envelope) => {
            envelope.acknowledged.get_or_insert(envelope.at.elapsed());
        }
        None => world.faults.push(format!("no envelope is acknowledged by {text}")),
    }
}
