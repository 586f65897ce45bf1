//! Files: those that people send are fetched, those of the bot are stored, shared and deleted.
//! Source: <https://docs.slack.dev/messaging/working-with-files>

use std::io;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::web::failed;
use super::world::{BOT, Kind, World};
use super::{BOT_TOKEN, FakeSlack, Shared};
use crate::http::{self, HttpRequest};
use crate::sounds;

/// Where files that people send are fetched.
pub(super) const FETCHED: &str = "/files-pri/";
/// Where the bot's files are stored; behind it stands the file's id.
pub(super) const STORED: &str = "/upload/v1/";
/// What a storing is called among the calls.
pub(super) const STORING: &str = "upload";

/// The arguments that the methods know.
const ARGUMENTS: [(&str, &[&str]); 3] = [
    ("files.getUploadURLExternal", &["filename", "length", "alt_txt", "snippet_type"]),
    ("files.completeUploadExternal", &["files", "channel_id", "thread_ts", "initial_comment", "blocks"]),
    ("files.delete", &["file"]),
];

/// The bot's files, and what becomes of them.
#[derive(Debug, Default)]
pub(super) struct Files {
    all: Vec<File>,
    /// Where they are stored, if not here.
    host: Option<String>,
    /// Looks into a history before a file is in it that Slack has said to share.
    looks: usize,
    /// Files on the way: the looks that are left, the place and the message.
    under_way: Vec<(usize, String, Value)>,
}

#[derive(Debug)]
struct File {
    id: String,
    name: String,
    length: usize,
    bytes: Option<Vec<u8>>,
    /// Slack has said that it shares it.
    is_done: bool,
}

impl FakeSlack {
    /// The bot's files are in their place only after so many looks into its history.
    pub fn share_after(&self, looks: usize) {
        self.world().uploads.looks = looks;
    }

    /// The bot's files are to be stored at another host (`http://HOST:PORT`).
    pub fn store_files_at(&self, host: &str) {
        self.world().uploads.host = Some(host.to_owned());
    }
}

/// A file is there for whoever shows the bot's token.
pub(super) fn fetch(
    stream: &mut TcpStream,
    request: &HttpRequest,
    name: &str,
    shared: &Shared,
) -> io::Result<()> {
    let bearer = format!("Bearer {BOT_TOKEN}");
    let file = shared.world().files.get(name).cloned();
    let may = request.headers.get("authorization") == Some(&bearer);
    if may && name.starts_with("voice") {
        let asked = shared.world().sounds.ask(name);
        return sounds::send(stream, asked);
    }
    match file.filter(|_| may) {
        Some(file) => http::respond(stream, 200, &[], &file),
        None => http::respond(stream, 302, &[("location".to_owned(), "/login".to_owned())], ""),
    }
}

/// Stores the bytes of a file: as they are, once, and as many as were announced.
pub(super) fn store(world: &mut World, request: &HttpRequest, id: &str) -> (u16, String) {
    let header = |name: &str| request.headers.get(name).map(String::as_str).unwrap_or_default();
    if request.headers.contains_key("authorization") {
        world.faults.push("the token goes along with a file".to_owned());
    }
    let count = request.body.len();
    let stored = match world.uploads.all.iter_mut().find(|file| file.id == id && file.bytes.is_none()) {
        None => Err((404, format!("nothing is to be stored as {id}"))),
        Some(_) if request.method != "POST" => Err((405, format!("a file by {}", request.method))),
        Some(_) if header("content-type") != "application/octet-stream" => {
            Err((400, format!("a file as {:?}", header("content-type"))))
        }
        Some(file) if file.length != count => {
            Err((400, format!("{count} bytes of a file of {}", file.length)))
        }
        Some(file) => {
            file.bytes = Some(request.body.clone());
            Ok(())
        }
    };
    match stored {
        Ok(()) => (200, format!("OK - {count}")),
        Err((status, fault)) => {
            world.faults.push(fault.clone());
            (status, fault)
        }
    }
}

/// Answers the methods that are about the bot's files.
pub(super) fn answer(world: &mut World, method: &str, arguments: &Value, web: &str) -> Value {
    let Some((_, known)) = ARGUMENTS.iter().find(|(name, _)| *name == method) else {
        return failed("unknown_method");
    };
    for (name, _) in arguments.as_object().into_iter().flatten() {
        if !known.contains(&name.as_str()) {
            world.faults.push(format!("{method} has no argument {name}"));
        }
    }
    if !world.scopes.contains(&"files:write") {
        return json!({"ok": false, "error": "missing_scope", "needed": "files:write"});
    }
    if let Some(error) = arguments["channel_id"].as_str().and_then(|channel| world.closed.get(channel)) {
        return failed(error);
    }
    let answer = match method {
        "files.getUploadURLExternal" => announce(world, arguments, web),
        "files.completeUploadExternal" => share(world, arguments),
        _ => delete(world, arguments),
    };
    answer.unwrap_or_else(failed)
}

fn announce(world: &mut World, arguments: &Value, web: &str) -> Result<Value, &'static str> {
    let name = arguments["filename"].as_str().filter(|name| !name.is_empty()).ok_or("invalid_arguments")?;
    let length = arguments["length"].as_str().and_then(|length| length.parse().ok());
    let length = length.filter(|length| *length > 0).ok_or("invalid_arguments")?;
    let id = format!("F{:04}", world.new_id());
    let host = world.uploads.host.as_deref().unwrap_or(web);
    let url = format!("{host}{STORED}{id}");
    let file = File { id: id.clone(), name: name.to_owned(), length, bytes: None, is_done: false };
    world.uploads.all.push(file);
    Ok(json!({"ok": true, "upload_url": url, "file_id": id}))
}

/// Shares one file in one place; Slack says so before it has done it, and so it says nothing of the message.
fn share(world: &mut World, arguments: &Value) -> Result<Value, &'static str> {
    let [announced] = arguments["files"].as_array().map(Vec::as_slice).ok_or("invalid_arguments")? else {
        return Err("invalid_arguments");
    };
    let channel = arguments["channel_id"].as_str().ok_or("invalid_arguments")?.to_owned();
    let thread = arguments["thread_ts"].as_str();
    let place = world.places.get(&channel).ok_or("channel_not_found")?;
    match (place.members.contains(BOT), place.kind) {
        (true, _) => {}
        (false, Kind::Channel) => return Err("not_in_channel"),
        (false, _) => return Err("channel_not_found"),
    }
    if place.is_archived {
        return Err("is_archived");
    }
    if thread.is_some_and(|thread| world.find(&channel, thread).is_none()) {
        return Err("thread_not_found");
    }
    let is_it = |file: &&mut File| announced["id"] == *file.id && file.bytes.is_some() && !file.is_done;
    let file = world.uploads.all.iter_mut().find(is_it).ok_or("file_not_found")?;
    file.is_done = true;
    let title = announced["title"].as_str().unwrap_or(&file.name);
    let shown = json!({
        "id": file.id, "name": file.name, "title": title, "user": BOT, "size": file.length, "mode": "snippet",
        "mimetype": "text/plain", "filetype": "text", "channels": [], "groups": [], "ims": [], "shares": {},
    });
    let place = thread.map_or(channel.clone(), |thread| format!("{channel}/{thread}"));
    let message = json!({"subtype": "file_share", "upload": false, "bot_id": "B0BOT", "files": [&shown]});
    match world.uploads.looks {
        0 => appear_now(world, &place, &message),
        looks => world.uploads.under_way.push((looks, place, message)),
    }
    Ok(json!({"ok": true, "files": [shown]}))
}

/// Somebody looks into a history: what has been on its way for long enough is there.
pub(super) fn appear(world: &mut World) {
    for (looks, place, message) in std::mem::take(&mut world.uploads.under_way) {
        match looks.checked_sub(1) {
            Some(looks) => world.uploads.under_way.push((looks, place, message)),
            None => appear_now(world, &place, &message),
        }
    }
}

fn appear_now(world: &mut World, place: &str, message: &Value) {
    world.post(place, BOT, message);
    world.said += 1;
}

/// A deleted file is gone from its message too, and does not appear any more.
fn delete(world: &mut World, arguments: &Value) -> Result<Value, &'static str> {
    let id = &arguments["file"];
    let at = world.uploads.all.iter().position(|file| *id == *file.id && file.is_done);
    world.uploads.all.remove(at.ok_or("file_not_found")?);
    let has_it = |message: &Value| message["files"][0]["id"] == *id;
    world.uploads.under_way.retain(|(_, _, message)| !has_it(message));
    world.places.values_mut().for_each(|place| place.messages.retain(|message| !has_it(message)));
    Ok(json!({"ok": true}))
}

/// The file of a message of the bot's: its title, under which it is shown, and what is in it.
pub(super) fn seen(world: &World, message: &Value) -> Option<(String, Vec<u8>)> {
    let shown = &message["files"][0];
    let file = world.uploads.all.iter().find(|file| shown["id"] == *file.id)?;
    Some((shown["title"].as_str()?.to_owned(), file.bytes.clone()?))
}
