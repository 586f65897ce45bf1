//! Messages that grow in a stream, and reactions.
//!
//! - A stream is a reply in a thread (`invalid_thread_ts` elsewhere), and in channels names the person it is for:
//!   <https://docs.slack.dev/reference/methods/chat.startStream>
//! - It takes 12,000 characters a call, and fewer than 11,000 bytes in all, as was measured:
//!   <https://github.com/openclaw/openclaw/pull/143882>
//! - While it is open, its message can't be edited (<https://docs.slack.dev/reference/methods/chat.update>) or, as was
//!   measured, deleted (`cant_delete_message`). Slack closes it after some minutes:
//!   <https://github.com/slackapi/python-slack-sdk/issues/1859>
//! - It takes text or chunks, whichever it began with: <https://docs.slack.dev/reference/methods/chat.appendStream>. A
//!   later card takes the place of one with the same id.
//! - 20, 100 and 20 calls a minute: <https://docs.slack.dev/apis/web-api/rate-limits>

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::FakeSlack;
use super::mrkdwn;
use super::web::failed;
use super::world::{BOT, Kind, World};

/// The methods: calls a minute, and the arguments that they know.
const METHODS: [(&str, usize, &[&str]); 3] = [
    (
        "chat.startStream",
        20,
        &[
            "channel",
            "thread_ts",
            "markdown_text",
            "chunks",
            "task_display_mode",
            "recipient_user_id",
            "recipient_team_id",
        ],
    ),
    ("chat.appendStream", 100, &["channel", "ts", "markdown_text", "chunks"]),
    ("chat.stopStream", 20, &["channel", "ts", "markdown_text", "chunks", "blocks", "metadata"]),
];

const STATE: &str = "streaming_state";
const OPEN: &str = "in_progress";

impl FakeSlack {
    /// Slack closes the streams that are open.
    pub fn expire_streams(&self) {
        let mut world = self.world();
        let messages = world.places.values_mut().flat_map(|place| &mut place.messages);
        messages.filter(|one| one[STATE] == OPEN).for_each(|one| one[STATE] = json!("completed"));
    }

    /// Whether a message is a stream that is open.
    pub fn is_streaming(&self, place: &str, ts: &str) -> bool {
        is_open(&self.world(), channel_of(place), ts)
    }

    /// Somebody deletes a message.
    pub fn delete(&self, place: &str, ts: &str) {
        self.world().delete(channel_of(place), ts);
    }

    /// Somebody reacts to a message, by the emoji's name. The bot hears of it if its scopes allow that.
    pub fn react(&self, person: &str, place: &str, ts: &str, name: &str) {
        self.tell_of_reaction("reaction_added", (person, place, ts), name);
    }

    /// Somebody takes their reaction away.
    pub fn unreact(&self, person: &str, place: &str, ts: &str, name: &str) {
        self.tell_of_reaction("reaction_removed", (person, place, ts), name);
    }

    fn tell_of_reaction(&self, kind: &str, (person, place, ts): (&str, &str, &str), name: &str) {
        let mut world = self.world();
        let (user, event_ts) = (world.person(person), world.new_ts());
        if world.scopes.contains(&"reactions:read") {
            world.tell_event(json!({
                "type": kind, "user": user, "reaction": name, "item_user": BOT, "event_ts": event_ts,
                "item": {"type": "message", "channel": channel_of(place), "ts": ts},
            }));
        }
    }

    /// The bot's reactions to a message.
    pub fn reactions(&self, place: &str, ts: &str) -> Vec<String> {
        let world = self.world();
        let message = world.find(channel_of(place), ts);
        let all = message.and_then(|one| one["reactions"].as_array()).into_iter().flatten();
        all.filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
    }
}

fn channel_of(place: &str) -> &str {
    place.split('/').next().unwrap_or(place)
}

pub(super) fn is_open(world: &World, channel: &str, ts: &str) -> bool {
    world.find(channel, ts).is_some_and(|message| message[STATE] == OPEN)
}

pub(super) fn start(world: &mut World, channel: &str, arguments: &Value) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let mut fields = match written(world, "chat.startStream", &Value::Null, arguments) {
        Ok(fields) => fields,
        Err(error) => return failed(error),
    };
    if world.find(channel, text("thread_ts")).is_none() {
        return failed("invalid_thread_ts");
    }
    if world.places.get(channel).is_some_and(|place| place.kind != Kind::Direct) {
        for (key, error) in [
            ("recipient_team_id", "missing_recipient_team_id"),
            ("recipient_user_id", "missing_recipient_user_id"),
        ] {
            if text(key).is_empty() {
                return failed(error);
            }
        }
        if world.name_of(text("recipient_user_id")).is_none() {
            return failed("user_not_found");
        }
    }
    let place = format!("{channel}/{}", text("thread_ts"));
    (fields[STATE], fields["bot_id"]) = (json!(OPEN), json!("B0BOT"));
    let ts = world.post(&place, BOT, &fields);
    world.said += 1;
    json!({"ok": true, "channel": channel, "ts": ts})
}

pub(super) fn append(world: &mut World, channel: &str, arguments: &Value) -> Value {
    change(world, "chat.appendStream", channel, arguments, OPEN)
}

pub(super) fn stop(world: &mut World, channel: &str, arguments: &Value) -> Value {
    change(world, "chat.stopStream", channel, arguments, "completed")
}

fn change(world: &mut World, method: &str, channel: &str, arguments: &Value, state: &str) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let ts = text("ts");
    let Some(message) = world.find(channel, ts).cloned() else { return failed("message_not_found") };
    if message[STATE] != OPEN {
        return failed("message_not_in_streaming_state");
    }
    if method == "chat.appendStream" && text("markdown_text").is_empty() && arguments["chunks"].is_null() {
        return failed("no_text");
    }
    let mut fields = match written(world, method, &message, arguments) {
        Ok(fields) => fields,
        Err(error) => return failed(error),
    };
    fields[STATE] = json!(state);
    world.edit(channel, ts, &fields);
    json!({"ok": true, "channel": channel, "ts": ts})
}

/// A message's text, and its cards by their ids, after what is written now.
fn written(
    world: &mut World,
    method: &str,
    message: &Value,
    arguments: &Value,
) -> Result<Value, &'static str> {
    let before = message["text"].as_str().unwrap_or_default();
    let more = arguments["markdown_text"].as_str().unwrap_or_default();
    let has_cards = message["cards"].is_object();
    let Some(chunks) = arguments["chunks"].as_array() else {
        if has_cards && !more.is_empty() {
            return Err("streaming_mode_mismatch");
        }
        let whole = format!("{before}{more}");
        check(world, method, arguments, &whole)?;
        return Ok(json!({"text": whole}));
    };
    if !more.is_empty() || (message.is_object() && !has_cards) {
        return Err("streaming_mode_mismatch");
    }
    if method == "chat.startStream"
        && !["timeline", "plan"].iter().any(|mode| arguments["task_display_mode"] == *mode)
    {
        return Err("invalid_arguments");
    }
    let mut cards = message["cards"].as_object().cloned().unwrap_or_default();
    for chunk in chunks {
        let [title, id, status] =
            ["title", "id", "status"].map(|key| chunk[key].as_str().unwrap_or_default());
        let is_status = ["pending", "in_progress", "complete", "error"].contains(&status);
        let shown = match chunk["type"].as_str() {
            Some("plan_update") => title.to_owned(),
            Some("task_update") if is_status && !id.is_empty() => format!("{status}: {title}"),
            _ => return Err("invalid_chunks"),
        };
        if title.is_empty() || title.chars().count() > 256 {
            return Err("invalid_chunks");
        }
        cards.insert(id.to_owned(), json!(shown));
    }
    let lines: Vec<&str> = cards.values().filter_map(Value::as_str).collect();
    let whole = lines.join("\n");
    check(world, method, arguments, &whole)?;
    Ok(json!({"text": whole, "cards": cards}))
}

/// Refuses what Slack refuses; what it would fetch or notify somebody of is a fault.
fn check(world: &mut World, method: &str, arguments: &Value, whole: &str) -> Result<(), &'static str> {
    let Some((name, most, known)) = METHODS.into_iter().find(|(name, ..)| *name == method) else {
        return Err("unknown_method");
    };
    for (argument, _) in arguments.as_object().into_iter().flatten() {
        if !known.contains(&argument.as_str()) {
            world.faults.push(format!("{name} has no argument {argument}"));
        }
    }
    let calls = world.paced.entry(name).or_default();
    calls.retain(|at| at.elapsed() < Duration::from_mins(1));
    if calls.len() >= most {
        return Err("ratelimited");
    }
    calls.push(Instant::now());
    if let Some(ping) = mrkdwn::pings(whole) {
        world.faults.push(format!("pings: {ping}"));
    }
    if whole.contains("://") {
        world.faults.push(format!("Slack fetches what is named in {whole}"));
    }
    let is_long = arguments["markdown_text"].as_str().is_some_and(|text| text.chars().count() > 12_000);
    if is_long || whole.len() > 10_600 { Err("msg_too_long") } else { Ok(()) }
}

/// <https://docs.slack.dev/reference/methods/reactions.add>
pub(super) fn react(world: &mut World, method: &str, arguments: &Value) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let name = text("name");
    if !world.scopes.contains(&"reactions:write") {
        return json!({"ok": false, "error": "missing_scope", "needed": "reactions:write"});
    }
    if name != "eyes" {
        return failed("invalid_name");
    }
    let Some(message) = world.find_mut(text("channel"), text("timestamp")) else {
        return failed("message_not_found");
    };
    let mut all = message["reactions"].as_array().cloned().unwrap_or_default();
    let at = all.iter().position(|one| one["name"] == name);
    match (method, at) {
        ("reactions.add", Some(_)) => return failed("already_reacted"),
        ("reactions.add", None) => all.push(json!({"name": name, "users": [BOT], "count": 1})),
        (_, Some(at)) => drop(all.remove(at)),
        (_, None) => return failed("no_reaction"),
    }
    message["reactions"] = Value::Array(all);
    json!({"ok": true})
}
