//! The Bot API over HTTP.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{Fault, Shared, TOKEN, methods};
use crate::http::{self, Field, HttpRequest};
use crate::sounds;

/// A call's parameters by name.
pub(super) type Parameters = BTreeMap<String, Value>;

/// A result, or a failure: status, words, further parameters.
pub(super) type Outcome<T = Value> = Result<T, (u16, String, Value)>;

pub(super) fn refused<T>(words: &str) -> Outcome<T> {
    Err((400, format!("Bad Request: {words}"), Value::Null))
}

pub(super) fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    while let Some(request) = http::read(&stream)? {
        if shared.stopped.load(Ordering::SeqCst) || !serve_one(&mut stream, &request, shared)? {
            break;
        }
    }
    Ok(())
}

/// Whether the connection goes on.
fn serve_one(stream: &mut TcpStream, request: &HttpRequest, shared: &Shared) -> io::Result<bool> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if let Some(name) = path.strip_prefix(&format!("/file/bot{TOKEN}/voice/")) {
        let asked = shared.world().sounds.ask(name);
        return sounds::send(stream, asked).map(|()| false);
    }
    if let Some(path) = path.strip_prefix(&format!("/file/bot{TOKEN}/")) {
        let sent = match shared.world().files.get(path) {
            Some(content) => http::respond_bytes(stream, 200, &[], content),
            None => http::respond(stream, 404, &[], "no such file"),
        };
        return sent.map(|()| false);
    }
    let (token, method) = path.strip_prefix("/bot").and_then(|path| path.split_once('/')).unwrap_or_default();
    let is_formed =
        token.split_once(':').is_some_and(|(id, key)| id.parse::<u64>().is_ok() && key.len() >= 35);
    if token != TOKEN {
        let (status, words) = if is_formed { (401, "Unauthorized") } else { (404, "Not Found") };
        return answer(stream, Err((status, words.to_owned(), Value::Null)));
    }
    let method = method.to_lowercase();
    let fault = {
        let mut world = shared.world();
        *world.calls.entry(method.clone()).or_default() += 1;
        world.faults.get_mut(&method).and_then(|faults| faults.pop_front())
    };
    match fault {
        Some(Fault::Flood(seconds)) => {
            let words = format!("Too Many Requests: retry after {seconds}");
            return answer(stream, Err((429, words, json!({"retry_after": seconds}))));
        }
        Some(Fault::Refusal(status, words)) => {
            return answer(stream, Err((status, words.to_owned(), Value::Null)));
        }
        Some(Fault::Page(status)) => {
            return http::respond(stream, status, &[], "<h1>Sorry</h1>").map(|()| false);
        }
        Some(Fault::Hang) => return io::copy(&mut stream.by_ref(), &mut io::sink()).map(|_| false),
        Some(Fault::Cut | Fault::DoneBut502) | None => {}
    }
    let outcome = methods::call(shared, &method, &parameters(query, request));
    if matches!(method.as_str(), "sendmessage" | "senddocument" | "sendvoice") {
        shared.news.notify_all();
    }
    match fault {
        Some(Fault::Cut) => Ok(false),
        Some(_) => answer(stream, Err((502, "Bad Gateway".to_owned(), Value::Null))),
        None => answer(stream, outcome),
    }
}

fn answer(stream: &mut TcpStream, outcome: Outcome) -> io::Result<bool> {
    let (status, body) = match outcome {
        Ok(result) => (200, json!({"ok": true, "result": result})),
        Err((status, words, Value::Null)) => {
            (status, json!({"ok": false, "error_code": status, "description": words}))
        }
        Err((status, words, parameters)) => (
            status,
            json!({"ok": false, "error_code": status, "description": words, "parameters": parameters}),
        ),
    };
    let headers = [("content-type".to_owned(), "application/json".to_owned()), http::keep_alive()];
    http::respond(stream, status, &headers, &body.to_string()).map(|()| true)
}

/// The parameters of the address, and of a body of JSON or of a form.
fn parameters(query: &str, request: &HttpRequest) -> Parameters {
    let kind = request.headers.get("content-type").map(String::as_str).unwrap_or_default();
    let body = String::from_utf8_lossy(&request.body);
    let mut all: Parameters = form(query).collect();
    if let Some(fields) = http::fields(request) {
        all.extend(fields.into_iter().map(|field| (field.name.clone(), part(field))));
    } else if kind.starts_with("application/json") {
        all.extend(serde_json::from_str::<Parameters>(&body).unwrap_or_default());
    } else {
        all.extend(form(&body));
    }
    all
}

/// A field of a form with files: a file as an object, the rest as in any form.
fn part(field: Field) -> Value {
    let content = String::from_utf8_lossy(&field.content).into_owned();
    match field.file_name {
        // JSON holds no bytes.
        Some(name) if field.content_type.starts_with("audio/") => {
            let bytes: Vec<u32> = field.content.iter().map(|byte| u32::from(*byte)).collect();
            json!({"name": name, "type": field.content_type, "bytes": bytes})
        }
        Some(name) => json!({"name": name, "type": field.content_type, "content": content}),
        None => serde_json::from_str(&content).unwrap_or(Value::String(content)),
    }
}

/// In a form whatever is not a text is JSON.
fn form(text: &str) -> impl Iterator<Item = (String, Value)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| {
        let value = http::decoded(value);
        let is_text = matches!(name, "text" | "parse_mode" | "callback_query_id" | "file_id");
        let json = (!is_text).then(|| serde_json::from_str(&value).ok()).flatten();
        (name.to_owned(), json.unwrap_or(Value::String(value)))
    })
}
