//! Tells what is to be told: over a socket, or by requests that are signed. What is not acknowledged in time is
//! told again, on whichever socket is next, at most three times.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{SIGNING_SECRET, Shared};

/// Tries of one envelope.
const TRIES: u32 = 4;

/// Tells what waits.
pub(super) fn deliver(shared: &Arc<Shared>) {
    let mut world = shared.world();
    let (patience, lines, url) = (world.patience, world.lines.clone(), world.request_url.clone());
    let mut turn = world.envelopes.len();
    for envelope in &mut world.envelopes {
        // In this order: most are long acknowledged, and a look at the clock costs more than the rest.
        let is_over = envelope.acknowledged.is_some() || envelope.attempts >= TRIES;
        if is_over || envelope.told_at.is_some_and(|at| at.elapsed() < patience) {
            continue;
        }
        if let Some(url) = &url {
            let (shared, url) = (Arc::clone(shared), url.clone());
            let (id, kind, payload) = (envelope.id.clone(), envelope.kind.clone(), envelope.payload.clone());
            let attempt = envelope.attempts;
            thread::spawn(move || post(&shared, &url, (&id, &kind, attempt), &payload));
        } else {
            if lines.is_empty() {
                continue;
            }
            let accepts = envelope.kind != "events_api";
            let mut frame = json!({
                "envelope_id": envelope.id, "type": envelope.kind, "payload": envelope.payload,
                "accepts_response_payload": accepts,
            });
            if envelope.kind == "events_api" {
                frame["retry_attempt"] = json!(envelope.attempts);
                frame["retry_reason"] = json!(if envelope.attempts > 0 { "timeout" } else { "" });
            }
            turn += 1;
            if !lines[turn % lines.len()].send(&frame) {
                continue;
            }
        }
        envelope.attempts += 1;
        envelope.told_at = Some(Instant::now());
    }
}

/// What Slack signs a body with, at a time.
pub fn signature(secret: &str, time: u64, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("v0:{time}:{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v0={hex}")
}

fn post(shared: &Shared, url: &str, (id, kind, attempt): (&str, &str, u32), payload: &Value) {
    let (type_, body) = match kind {
        "events_api" => ("application/json", payload.to_string()),
        "interactive" => (FORM, format!("payload={}", encoded(&payload.to_string()))),
        _ => {
            let fields = payload.as_object().into_iter().flatten();
            let pair = |(key, value): (&String, &Value)| {
                format!("{key}={}", encoded(value.as_str().unwrap_or_default()))
            };
            (FORM, fields.map(pair).collect::<Vec<_>>().join("&"))
        }
    };
    let status = request(url, type_, &body, attempt).unwrap_or_default();
    let mut world = shared.world();
    let patience = world.patience;
    let Some(envelope) = world.envelopes.iter_mut().find(|one| one.id == id) else { return };
    let in_time = envelope.told_at.is_none_or(|at| at.elapsed() < patience);
    if status == 200 && in_time {
        envelope.acknowledged.get_or_insert(envelope.at.elapsed());
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Makes a signed request; its status.
fn request(url: &str, kind: &str, body: &str, attempt: u32) -> io::Result<u16> {
    let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    #[expect(clippy::disallowed_methods, reason = "the time is signed")]
    let time = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let signature = signature(SIGNING_SECRET, time, body);
    let retry = match attempt {
        0 => String::new(),
        attempt => format!("X-Slack-Retry-Num: {attempt}\r\nX-Slack-Retry-Reason: http_error\r\n"),
    };
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\nX-Slack-Request-Timestamp: {time}\r\nX-Slack-Signature: {signature}\r\n{retry}\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or_default())
}
