//! The Web API.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::world::{BOT, Kind, RESPONSES, World};
use super::{APP_TOKEN, BOT_TOKEN, Call, Shared, blocks, files, mrkdwn, rooms, streams};
use crate::http::{self, HttpRequest};

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status, and nothing is done; 429 asks for a second's pause.
    Status(u16),
    /// Something in between answers with this status and a page, and nothing is done.
    Page(u16),
    /// Slack answers with this error, and nothing is done.
    Error(&'static str),
    /// The connection is cut, and nothing is done.
    Cut,
    /// It is done, but the connection is cut before the answer.
    DoneThenCut,
    /// It is done, but answered with this status.
    DoneThenStatus(u16),
    /// It is done, but answered with this error.
    DoneThenError(&'static str),
    /// It is neither done nor answered.
    Hang,
}

pub(super) fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    while let Some(request) = http::read(&stream)? {
        if shared.stopped.load(Ordering::SeqCst) || !serve_one(&mut stream, &request, shared)? {
            break;
        }
    }
    Ok(())
}

/// Whether the connection goes on.
fn serve_one(stream: &mut TcpStream, request: &HttpRequest, shared: &Arc<Shared>) -> io::Result<bool> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if let Some(name) = path.strip_prefix(files::FETCHED) {
        return files::fetch(stream, request, name, shared).map(|()| false);
    }
    if let Some(id) = path.strip_prefix(RESPONSES) {
        let (status, body) = respond(&mut shared.world(), id, &request.body);
        shared.news.notify_all();
        return http::respond(stream, status, &[http::keep_alive()], body).map(|()| true);
    }
    let stored = path.strip_prefix(files::STORED);
    let (method, arguments) = match stored {
        Some(id) => (files::STORING.to_owned(), json!({"file": id})),
        None => (path.trim_start_matches("/api/").to_owned(), arguments(request, query)),
    };
    let fault = {
        let mut world = shared.world();
        world.calls.push(Call { method: method.clone(), arguments: arguments.clone() });
        let trouble = world.troubles.iter_mut().find(|trouble| trouble.count > 0 && trouble.method == method);
        trouble.map(|trouble| {
            trouble.count -= 1;
            trouble.fault
        })
    };
    let done =
        matches!(fault, None | Some(Fault::DoneThenCut | Fault::DoneThenStatus(_) | Fault::DoneThenError(_)));
    let token = request.headers.get("authorization").map(String::as_str).unwrap_or_default();
    let json = |status, body: &Value| (status, body.to_string(), "application/json; charset=utf-8");
    let answered = match stored.filter(|_| done) {
        Some(id) => {
            let (status, body) = files::store(&mut shared.world(), request, id);
            (status, body, "text/plain")
        }
        None if done => json(200, &answer(token, &method, &arguments, shared)),
        None => json(200, &Value::Null),
    };
    shared.news.notify_all();
    let (status, body, kind) = match fault {
        None => answered,
        Some(Fault::Error(error) | Fault::DoneThenError(error)) => json(200, &failed(error)),
        Some(Fault::Status(429)) => json(429, &failed("ratelimited")),
        Some(Fault::Status(status) | Fault::DoneThenStatus(status)) => json(status, &failed("fatal_error")),
        Some(Fault::Page(status)) => (status, "<html>Access denied</html>".to_owned(), "text/html"),
        Some(Fault::Cut | Fault::DoneThenCut) => return Ok(false),
        Some(Fault::Hang) => return io::copy(&mut stream.by_ref(), &mut io::sink()).map(|_| false),
    };
    let mut headers = vec![("content-type".to_owned(), kind.to_owned()), http::keep_alive()];
    if token == format!("Bearer {BOT_TOKEN}") {
        let scopes = shared.world().scopes.join(",");
        headers.push(("x-oauth-scopes".to_owned(), scopes));
    }
    if status == 429 {
        headers.push(("retry-after".to_owned(), "1".to_owned()));
    }
    http::respond(stream, status, &headers, &body).map(|()| true)
}

pub(super) fn failed(error: &str) -> Value {
    json!({"ok": false, "error": error})
}

/// Writing methods take JSON or a form; what reads takes a form or a query, and overlooks JSON.
fn arguments(request: &HttpRequest, query: &str) -> Value {
    let kind = request.headers.get("content-type").map(String::as_str).unwrap_or_default();
    if kind.starts_with("application/json") {
        let reads = ["conversations.", "users.", "auth.", "files.getUpload"]
            .iter()
            .any(|name| request.path.contains(name));
        return if reads { json!({}) } else { serde_json::from_slice(&request.body).unwrap_or_default() };
    }
    let body = String::from_utf8_lossy(&request.body);
    let pairs = query.split('&').chain(body.split('&')).filter_map(|pair| pair.split_once('='));
    Value::Object(
        pairs.map(|(key, value)| (key.to_owned(), json!(http::decoded(value)))).collect::<Map<_, _>>(),
    )
}

fn answer(token: &str, method: &str, arguments: &Value, shared: &Shared) -> Value {
    let wants_app = method == "apps.connections.open";
    match token.strip_prefix("Bearer ") {
        Some(BOT_TOKEN) if !wants_app => {}
        Some(APP_TOKEN) if wants_app => {}
        Some(BOT_TOKEN | APP_TOKEN) => return failed("not_allowed_token_type"),
        Some(_) => return failed("invalid_auth"),
        None => return failed("not_authed"),
    }
    let mut world = shared.world();
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    // A person's id stands for the conversation with them.
    let person = world.name_of(text("channel")).map(str::to_owned);
    let direct = person.filter(|_| method == "chat.postMessage").map(|name| world.place(Kind::Direct, &name));
    let (channel, ts) = (direct.as_deref().unwrap_or(text("channel")), text("ts"));
    if method.starts_with("chat.") || method.starts_with("conversations.") && method != "conversations.list" {
        if let Some(error) = world.closed.get(channel) {
            return failed(error);
        }
        if !world.places.contains_key(channel) {
            return failed("channel_not_found");
        }
    }
    if method.starts_with("files.") {
        return files::answer(&mut world, method, arguments, &format!("http://{}", shared.web));
    }
    if matches!(method, "conversations.history" | "conversations.replies") {
        files::appear(&mut world);
    }
    if let Some(refusal) = rooms::refusal(&mut world, method, arguments) {
        return refusal;
    }
    match method {
        "auth.test" => {
            json!({"ok": true, "user_id": BOT, "user": "adjutant", "bot_id": "B0BOT", "team": "Acme", "team_id": "T0TEAM"})
        }
        "apps.connections.open" => {
            let ticket = format!("ticket={}&app_id=A0FAKE", world.new_id());
            let url = format!("ws://{}/link/?{ticket}", shared.sockets);
            world.tickets.push(ticket);
            json!({"ok": true, "url": url})
        }
        "users.info" => rooms::user(&world, text("user")),
        "users.list" => rooms::users(&world, arguments),
        "conversations.info" => rooms::info(&world, channel),
        "conversations.list" => rooms::list(&world, arguments),
        "conversations.members" => rooms::members(&world, channel, arguments),
        "conversations.history" => history(&world, channel, arguments),
        "conversations.replies" => replies(&world, channel, ts, arguments),
        "chat.postMessage" => send(&mut world, channel, arguments),
        "chat.postEphemeral" => whisper(&mut world, channel, arguments),
        "chat.update" => update(&mut world, channel, ts, arguments),
        "chat.startStream" => streams::start(&mut world, channel, arguments),
        "chat.appendStream" => streams::append(&mut world, channel, arguments),
        "chat.stopStream" => streams::stop(&mut world, channel, arguments),
        "reactions.add" | "reactions.remove" => streams::react(&mut world, method, arguments),
        "chat.delete" => match ours(&world, channel, ts, "cant_delete_message") {
            Err(error) => failed(error),
            Ok(()) if streams::is_open(&world, channel, ts) => failed("cant_delete_message"),
            Ok(()) => {
                world.delete(channel, ts);
                json!({"ok": true, "channel": channel, "ts": ts})
            }
        },
        _ => failed("unknown_method"),
    }
}

fn is_true(value: &Value) -> bool {
    *value == true || value == "true" || value == "1"
}

/// One page of a list, and where the next one begins.
pub(super) fn page(world: &World, arguments: &Value, name: &str, all: &[Value]) -> Value {
    let number = |key: &str| arguments[key].as_str().map(str::parse::<usize>);
    let (from, limit) = match (number("cursor").unwrap_or(Ok(0)), number("limit").unwrap_or(Ok(100))) {
        (Ok(from), _) if from > all.len() => return failed("invalid_cursor"),
        (Err(_), _) => return failed("invalid_cursor"),
        (Ok(from), Ok(limit @ 1..=999)) => (from, limit.min(world.most)),
        _ => return failed("invalid_limit"),
    };
    let to = (from + limit).min(all.len());
    let next = if to < all.len() { to.to_string() } else { String::new() };
    json!({"ok": true, name: all[from..to], "has_more": to < all.len(), "response_metadata": {"next_cursor": next}})
}

/// The messages within the times that are asked for, with metadata only for who asks for it.
fn between(messages: &[&Value], arguments: &Value) -> Vec<Value> {
    let (oldest, latest) = (arguments["oldest"].as_str(), arguments["latest"].as_str());
    let inclusive = is_true(&arguments["inclusive"]);
    let is_in = |message: &&&Value| {
        let ts = message["ts"].as_str().unwrap_or_default();
        let after = oldest.is_none_or(|oldest| ts > oldest || inclusive && ts == oldest);
        after && latest.is_none_or(|latest| ts < latest || inclusive && ts == latest)
    };
    let strip = |message: &&Value| {
        let mut message = (*message).clone();
        if let Some(fields) = message.as_object_mut().filter(|_| !is_true(&arguments["include_all_metadata"]))
        {
            fields.remove("metadata");
        }
        message
    };
    messages.iter().filter(is_in).map(strip).collect()
}

/// Newest first; answers in threads are not among them.
fn history(world: &World, channel: &str, arguments: &Value) -> Value {
    let at_top = |message: &&Value| message["thread_ts"].is_null() || message["thread_ts"] == message["ts"];
    let all: Vec<&Value> =
        world.places.get(channel).into_iter().flat_map(|place| &place.messages).filter(at_top).collect();
    let mut all = between(&all, arguments);
    all.reverse();
    page(world, arguments, "messages", &all)
}

/// Oldest first, the thread's first message always among them.
fn replies(world: &World, channel: &str, ts: &str, arguments: &Value) -> Value {
    let Some(root) = world.find(channel, ts) else { return failed("thread_not_found") };
    let is_reply = |message: &&Value| message["thread_ts"] == ts && message["ts"] != ts;
    let all: Vec<&Value> =
        world.places.get(channel).into_iter().flat_map(|place| &place.messages).filter(is_reply).collect();
    let mut all = between(&all, arguments);
    all.insert(0, root.clone());
    page(world, arguments, "messages", &all)
}

/// Refuses what Slack refuses, and counts what would ping.
fn check(world: &mut World, message: &Value) -> Result<(), &'static str> {
    let texts = blocks::sections(message).into_iter().chain(message["text"].as_str().map(String::from));
    for text in texts {
        if let Some(ping) = mrkdwn::pings(&text) {
            world.faults.push(format!("pings: {ping}"));
        }
    }
    blocks::fault_of(message).map_or(Ok(()), |(error, fault)| {
        world.faults.push(format!("{error}: {fault}"));
        Err(error)
    })
}

fn send(world: &mut World, channel: &str, arguments: &Value) -> Value {
    if let Err(error) = check(world, arguments) {
        return failed(error);
    }
    let thread = arguments["thread_ts"].as_str();
    if thread.is_some_and(|thread| world.find(channel, thread).is_none()) {
        return failed("thread_not_found");
    }
    let place = thread.map_or(channel.to_owned(), |thread| format!("{channel}/{thread}"));
    let mut fields = kept(arguments);
    fields["bot_id"] = json!("B0BOT");
    fields["bot_profile"] = json!({"id": "B0BOT", "name": "adjutant"});
    let ts = world.post(&place, BOT, &fields);
    world.said += 1;
    json!({"ok": true, "channel": channel, "ts": ts, "message": world.find(channel, &ts)})
}

fn kept(arguments: &Value) -> Value {
    let names = ["text", "blocks", "metadata", "mrkdwn"];
    let fields = names.iter().filter(|name| !arguments[**name].is_null());
    Value::Object(fields.map(|name| ((*name).to_owned(), arguments[*name].clone())).collect())
}

fn whisper(world: &mut World, channel: &str, arguments: &Value) -> Value {
    if let Err(error) = check(world, arguments) {
        return failed(error);
    }
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    if world.name_of(&text("user")).is_none() {
        return failed("user_not_in_channel");
    }
    let place = match arguments["thread_ts"].as_str() {
        Some(thread) => format!("{channel}/{thread}"),
        None => channel.to_owned(),
    };
    world.ephemerals.push((text("user"), place, mrkdwn::plain(&text("text"))));
    json!({"ok": true, "message_ts": world.new_ts()})
}

/// The answer to a command, which needs no token.
fn respond(world: &mut World, id: &str, body: &[u8]) -> (u16, &'static str) {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    if message["response_type"] != "ephemeral" || check(world, &message).is_err() {
        return (400, "invalid_payload");
    }
    match world.responses.get_mut(id) {
        Some((person, place, left)) if *left > 0 => {
            *left -= 1;
            let text = mrkdwn::plain(&blocks::sections(&message).join("\n"));
            let shown = (person.clone(), place.clone(), text);
            world.ephemerals.push(shown);
            (200, "ok")
        }
        _ => (404, "used_url"),
    }
}

fn ours(world: &World, channel: &str, ts: &str, error: &'static str) -> Result<(), &'static str> {
    match world.find(channel, ts) {
        None => Err("message_not_found"),
        Some(message) if message["user"] != BOT => Err(error),
        Some(_) => Ok(()),
    }
}

fn update(world: &mut World, channel: &str, ts: &str, arguments: &Value) -> Value {
    let checked = ours(world, channel, ts, "cant_update_message").and_then(|()| check(world, arguments));
    if let Err(error) = checked {
        return failed(error);
    }
    if streams::is_open(world, channel, ts) {
        return failed("streaming_state_conflict");
    }
    let mut fields = kept(arguments);
    if fields["blocks"].is_null() {
        fields["blocks"] = json!([]);
    }
    world.edit(channel, ts, &fields);
    json!({"ok": true, "channel": channel, "ts": ts, "text": arguments["text"]})
}
