//! Pure: messages that are read later, as lines.

use adjutant_chat::{RoomMessage, one_line, sanitized};
use serde_json::Value;

use crate::place::Ts;
use crate::receive::{WRITTEN, text};

pub(super) fn ts(message: &Value) -> Option<Ts> {
    message["ts"].as_str()?.parse().ok()
}

/// Whether somebody wrote it; the others are Slack's own (joins, topics).
pub(super) fn is_said(message: &Value) -> bool {
    let subtype = message["subtype"].as_str();
    subtype.is_none_or(|subtype| subtype == "bot_message" || WRITTEN.contains(&subtype))
        && (!written(message).is_empty()
            || message["files"].as_array().is_some_and(|files| !files.is_empty()))
}

/// What it says; what machines write often stands only in what is attached.
fn written(message: &Value) -> String {
    let text = message["text"].as_str().unwrap_or_default().trim();
    if !text.is_empty() {
        return text.to_owned();
    }
    let attached = message["attachments"].as_array().into_iter().flatten();
    let texts = |one: &Value| {
        let texts = ["text", "fallback", "title"].iter().filter_map(|key| one[*key].as_str());
        texts.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
    };
    attached.filter_map(texts).collect::<Vec<_>>().join("\n")
}

/// Whoever has to be asked about: the writer, and those that it mentions.
pub(super) fn people_in(message: &Value) -> Vec<String> {
    let mut people = text::mentioned(&written(message));
    people.extend(message["user"].as_str().filter(|_| machine(message).is_none()).map(String::from));
    people
}

/// What a bot calls itself.
fn machine(message: &Value) -> Option<&str> {
    message["bot_id"].as_str()?;
    let names = [&message["username"], &message["bot_profile"]["name"]];
    names.into_iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()))
}

pub(super) fn line(message: &Value, names: &[(String, String)]) -> Option<RoomMessage> {
    let ts = ts(message)?;
    let user = message["user"].as_str().or_else(|| message["bot_id"].as_str()).unwrap_or("somebody");
    let known = names.iter().find(|(id, _)| id == user).map(|(_, name)| name.as_str());
    let mut texts = vec![text::readable(&written(message), names)];
    let files = message["files"].as_array().into_iter().flatten();
    texts.extend(
        files.map(|file| format!("[file: {}]", one_line(file["name"].as_str().unwrap_or("unnamed")))),
    );
    texts.retain(|text| !text.is_empty());
    Some(RoomMessage {
        id: ts.to_string(),
        at: ts.millis(),
        author: one_line(machine(message).or(known).unwrap_or(user)),
        text: sanitized(&texts.join("\n")).into_owned(),
        replies: message["reply_count"].as_u64().unwrap_or_default(),
    })
}
