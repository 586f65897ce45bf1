//! REST.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::world::{APPLICATION, BOT, World};
use super::{Call, Shared, TOKEN, reactions, rooms, uploads};
use crate::http::{self, Field, HttpRequest};
use crate::sounds;

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status, and nothing is done.
    Status(u16),
    /// Something in between answers with this status and a page, and nothing is done.
    Page(u16),
    /// The connection is cut, and nothing is done.
    Cut,
    /// It is done, but the connection is cut before the answer.
    DoneThenCut,
    /// It is done, but answered with this status.
    DoneThenStatus(u16),
    /// It is neither done nor answered.
    Hang,
}

/// A status and a body; null is none.
pub(super) type Answer = (u16, Value);

pub(super) fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    while let Some(request) = http::read(&stream)? {
        if shared.stopped.load(Ordering::SeqCst) || !serve_one(&mut stream, &request, shared)? {
            break;
        }
    }
    Ok(())
}

/// Where voice notes are; what follows the `=` is the age of the address.
pub(super) const VOICE: &str = "/voice/";

/// One message, with the present addresses of its files.
fn one(world: &World, place: &str, id: &str) -> Answer {
    let Some(mut message) = world.find(place, id).cloned() else {
        return (404, json!({"message": "Unknown Message", "code": 10008}));
    };
    for file in message["attachments"].as_array_mut().into_iter().flatten() {
        let url = file["url"].as_str().unwrap_or_default().to_owned();
        if let Some((address, _)) = url.split_once("?ex=") {
            file["url"] = format!("{address}?ex={}", world.sounds.age).into();
        }
    }
    (200, message)
}

/// Whether the connection goes on.
fn serve_one(stream: &mut TcpStream, request: &HttpRequest, shared: &Shared) -> io::Result<bool> {
    if let Some(name) = request.path.strip_prefix(VOICE) {
        let asked = {
            let mut world = shared.world();
            let age = format!("?ex={}", world.sounds.age);
            let (file, trouble) = world.sounds.ask(name.split('?').next().unwrap_or_default());
            (file.filter(|_| name.ends_with(&age)), trouble)
        };
        return sounds::send(stream, asked).map(|()| false);
    }
    let (body, uploads) = uploads::read(request);
    let path = request.path.trim_start_matches("/api/v10").to_owned();
    let call = Call { method: request.method.clone(), path: path.clone(), body };
    let (fault, edits) = {
        let mut world = shared.world();
        world.calls.push(call.clone());
        let edits = reactions::count_edit(&mut world, &call);
        let trouble = world.troubles.iter_mut().find(|trouble| {
            trouble.count > 0 && trouble.method == call.method && call.path.contains(&trouble.path)
        });
        let fault = trouble.map(|trouble| {
            trouble.count -= 1;
            trouble.fault
        });
        (fault, edits)
    };
    if let Some((None, rest)) = edits {
        let rest = rest.as_secs_f64() + 0.001;
        let body = json!({"message": "You are being rate limited.", "retry_after": rest, "global": false});
        return respond_with(stream, 429, &[("retry-after", &*rest.to_string())], &body);
    }
    let done = matches!(fault, None | Some(Fault::DoneThenCut | Fault::DoneThenStatus(_)));
    let (status, body) = if done { answer(request, &call, &uploads, shared) } else { (500, Value::Null) };
    match fault {
        None => match edits {
            Some((Some(left), rest)) => {
                let (left, rest) = (left.to_string(), format!("{:.3}", rest.as_secs_f64() + 0.001));
                let headers = [("x-ratelimit-remaining", &*left), ("x-ratelimit-reset-after", &*rest)];
                respond_with(stream, status, &headers, &body)
            }
            _ => respond(stream, status, &body),
        },
        Some(Fault::Status(429)) => {
            let body = json!({"message": "You are being rate limited.", "retry_after": 0.3, "global": false});
            // Source: <https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit>
            let headers =
                [("retry-after", "0.3"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-scope", "user")];
            respond_with(stream, 429, &headers, &body)
        }
        Some(Fault::Status(status) | Fault::DoneThenStatus(status)) => {
            respond(stream, status, &json!({"message": "Something went wrong", "code": 0}))
        }
        Some(Fault::Page(status)) => respond(stream, status, &json!("<html>Access denied</html>")),
        Some(Fault::Cut | Fault::DoneThenCut) => Ok(false),
        Some(Fault::Hang) => io::copy(&mut stream.by_ref(), &mut io::sink()).map(|_| false),
    }
}

fn respond(stream: &mut TcpStream, status: u16, body: &Value) -> io::Result<bool> {
    respond_with(stream, status, &[], body)
}

fn respond_with(
    stream: &mut TcpStream,
    status: u16,
    more: &[(&str, &str)],
    body: &Value,
) -> io::Result<bool> {
    let body = match body {
        Value::Null => String::new(),
        Value::String(file) => file.clone(),
        body => body.to_string(),
    };
    let mut headers = vec![("content-type".into(), "application/json".into()), http::keep_alive()];
    headers.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    http::respond(stream, status, &headers, &body).map(|()| true)
}

fn answer(request: &HttpRequest, call: &Call, uploads: &[Field], shared: &Shared) -> Answer {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let mut world = shared.world();
    match (call.method.as_str(), parts.as_slice()) {
        ("GET", ["gateway"]) => return (200, json!({"url": format!("ws://{}", shared.gateway)})),
        ("GET", ["files", name]) => {
            return world.files.get(*name).map_or((404, Value::Null), |file| (200, json!(file)));
        }
        ("POST", ["interactions", id, token, "callback"]) => {
            return callback(&mut world, id, token, &call.body);
        }
        _ => {}
    }
    if request.headers.get("authorization").map(String::as_str) != Some(&format!("Bot {TOKEN}")) {
        return (401, json!({"message": "401: Unauthorized", "code": 0}));
    }
    if let ["channels", place, ..] = parts.as_slice() {
        if let Some((status, code)) = world.closed.get(*place) {
            return (*status, json!({"message": "Missing Access", "code": code}));
        }
        if !world.places.contains_key(*place) {
            return (404, json!({"message": "Unknown Channel", "code": 10003}));
        }
    }
    match (call.method.as_str(), parts.as_slice()) {
        ("GET", ["users", "@me"]) => {
            (200, json!({"id": BOT.to_string(), "username": "adjutant", "bot": true}))
        }
        ("GET", ["oauth2", "applications", "@me"]) => {
            let flags = if world.content_is_forbidden { 0 } else { 1 << 19 };
            (200, json!({"id": APPLICATION.to_string(), "name": "adjutant", "flags": flags}))
        }
        ("GET", ["channels", place, "messages"]) => messages(&mut world, place, query),
        ("POST", ["channels", place, "messages"]) => {
            let answer = send(&mut world, place, &call.body, uploads);
            shared.news.notify_all();
            answer
        }
        ("GET", ["channels", place, "messages", id]) => one(&world, place, id),
        ("POST", ["channels", _, "typing"]) => (204, Value::Null),
        ("PATCH", ["channels", place, "messages", id]) => change(&mut world, place, id, &call.body),
        ("DELETE", ["channels", place, "messages", id]) => delete(&mut world, place, id),
        (method @ ("PUT" | "DELETE"), ["channels", place, "messages", id, "reactions", emoji, "@me"]) => {
            reactions::react(&mut world, (*place, *id), emoji, method == "PUT")
        }
        ("PUT", ["applications", id, "commands"]) if **id == APPLICATION.to_string() => {
            let names = call.body.as_array().into_iter().flatten();
            world.commands = names.filter_map(|one| one["name"].as_str().map(String::from)).collect();
            (200, call.body.clone())
        }
        ("GET", parts) => rooms::answer(&mut world, parts, query).unwrap_or_else(not_found),
        _ => not_found(),
    }
}

fn not_found() -> Answer {
    (404, json!({"message": "404: Not Found", "code": 0}))
}

/// At most `limit`, newest first: the oldest after `after`, the newest before `before`, or the newest of all.
fn messages(world: &mut World, place: &str, query: &str) -> Answer {
    let parameters: Vec<(&str, &str)> = query.split('&').filter_map(|one| one.split_once('=')).collect();
    if let Some((name, _)) = parameters.iter().find(|(name, _)| !["limit", "after", "before"].contains(name))
    {
        return invalid(world, &format!("messages have no parameter {name}"));
    }
    let parameter = |name: &str| parameters.iter().find(|one| one.0 == name).map(|one| one.1.parse::<u64>());
    let limit = match parameter("limit").unwrap_or(Ok(50)) {
        Ok(limit @ 1..=100) => usize::try_from(limit).unwrap_or(1),
        _ => return invalid(world, "limit: int value should be between 1 and 100"),
    };
    let (after, before) = (parameter("after").transpose(), parameter("before").transpose());
    let (Ok(after), Ok(before)) = (after, before) else {
        return invalid(world, "value is not snowflake");
    };
    let all = world.places.get(place).map(|place| place.messages.as_slice()).unwrap_or_default();
    let id =
        |message: &Value| message["id"].as_str().and_then(|id| id.parse::<u64>().ok()).unwrap_or_default();
    let is_in = |message: &&Value| {
        after.is_none_or(|after| id(message) > after) && before.is_none_or(|before| id(message) < before)
    };
    let between: Vec<&Value> = all.iter().filter(is_in).collect();
    let from = if after.is_some() { 0 } else { between.len().saturating_sub(limit) };
    let page = between[from..].iter().take(limit).rev();
    (200, page.map(|message| (*message).clone()).collect())
}

fn send(world: &mut World, place: &str, body: &Value, uploads: &[Field]) -> Answer {
    if let Some(refusal) = uploads::refusal(world, place, uploads) {
        return refusal;
    }
    let mut fields = body.clone();
    match uploads::attachments(world, body, uploads) {
        Ok(none) if none.is_empty() => {}
        Ok(attachments) => fields["attachments"] = json!(attachments),
        Err(fault) => return invalid(world, &fault),
    }
    if let Some(fault) = fault_of(&fields) {
        return invalid(world, &fault);
    }
    let key = body["nonce"].to_string();
    if body["enforce_nonce"] == true
        && let Some(same) = world.nonces.get(&key).filter(|same| same["channel_id"] == place)
    {
        return (200, same.clone());
    }
    let reference = &body["message_reference"];
    let answered = reference["message_id"].as_str().unwrap_or_default();
    if reference.is_object() && world.find(place, answered).is_none() {
        if reference["fail_if_not_exists"] != false {
            return invalid(world, "message_reference: Unknown message");
        }
        fields["message_reference"] = Value::Null;
    }
    let id = world.post(place, BOT, &fields);
    world.said += 1;
    let mut message = world.find(place, &id).cloned().unwrap_or_default();
    message["nonce"] = body["nonce"].clone();
    (200, message)
}

fn change(world: &mut World, place: &str, id: &str, body: &Value) -> Answer {
    let Some(message) = world.find(place, id).cloned() else {
        return (404, json!({"message": "Unknown Message", "code": 10008}));
    };
    if message["author"]["id"] != *BOT.to_string() {
        return (403, json!({"message": "Cannot edit a message authored by another user", "code": 50005}));
    }
    let mut whole = message;
    for (key, value) in body.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    if let Some(fault) = fault_of(&whole) {
        return invalid(world, &fault);
    }
    world.edit(id, body).map_or((404, Value::Null), |message| (200, message))
}

fn delete(world: &mut World, place: &str, id: &str) -> Answer {
    if world.find(place, id).is_none() {
        return (404, json!({"message": "Unknown Message", "code": 10008}));
    }
    if let Some(place) = world.places.get_mut(place) {
        place.messages.retain(|message| message["id"] != id);
    }
    (204, Value::Null)
}

fn callback(world: &mut World, id: &str, token: &str, body: &Value) -> Answer {
    let unknown = (404, json!({"message": "Unknown interaction", "code": 10062}));
    let Some(asked) = world.interactions.get_mut(id).filter(|asked| asked.token == token) else {
        return unknown;
    };
    if asked.answered.is_some() {
        return (400, json!({"message": "Interaction has already been acknowledged.", "code": 40060}));
    }
    let took = asked.at.elapsed();
    if took.as_secs() >= 3 {
        world.faults.push(format!("interaction {id} was answered after {} s", took.as_secs()));
        return unknown;
    }
    asked.answered = Some((body.clone(), took));
    (204, Value::Null)
}

fn invalid(world: &mut World, fault: &str) -> Answer {
    world.faults.push(fault.to_owned());
    (
        400,
        json!({"message": "Invalid Form Body", "code": 50035, "errors": {"body": {"_errors": [{"code": "INVALID", "message": fault}]}}}),
    )
}

/// The first fault of a message, by Discord's limits.
fn fault_of(message: &Value) -> Option<String> {
    let content = message["content"].as_str().unwrap_or_default();
    let rows = message["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let length = content.chars().count();
    if length > 2_000 {
        return Some(format!("content: {length} characters"));
    }
    let has_files = message["attachments"].as_array().is_some_and(|files| !files.is_empty());
    if content.trim().is_empty() && rows.is_empty() && !has_files {
        return Some("Cannot send an empty message".into());
    }
    if message["nonce"].as_str().is_some_and(|nonce| nonce.chars().count() > 25) {
        return Some("nonce: longer than 25".into());
    }
    if rows.len() > 5 || rows.iter().any(|row| row["type"] != 1) {
        return Some("components: at most 5 rows".into());
    }
    let mut ids = BTreeSet::new();
    for row in rows {
        let buttons = row["components"].as_array().map(Vec::as_slice).unwrap_or_default();
        if buttons.is_empty() || buttons.len() > 5 {
            return Some(format!("components: {} buttons in a row", buttons.len()));
        }
        for button in buttons {
            let length = |key: &str| button[key].as_str().unwrap_or_default().chars().count();
            if !(1..=100).contains(&length("custom_id")) || !(1..=80).contains(&length("label")) {
                return Some(format!("components: a button {button}"));
            }
            if !ids.insert(button["custom_id"].to_string()) {
                return Some("components: a custom_id twice".into());
            }
        }
    }
    None
}
