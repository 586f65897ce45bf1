//! Pure: reads messages of the history.

use adjutant_chat::{RoomMessage, one_line, sanitized};
use serde_json::Value;

use crate::place::Ts;
use crate::receive::{BY_PEOPLE, text};

pub(super) fn ts(message: &Value) -> Option<Ts> {
    message["ts"].as_str()?.parse().ok()
}

/// Whether a person or bot wrote it; the others are Slack's own (joins, topics).
pub(super) fn is_written(message: &Value) -> bool {
    let subtype = message["subtype"].as_str();
    subtype.is_none_or(|subtype| subtype == "bot_message" || BY_PEOPLE.contains(&subtype))
        && (!text_of(message).is_empty()
            || message["files"].as_array().is_some_and(|files| !files.is_empty()))
}

/// Its text; bots often write only into attachments.
fn text_of(message: &Value) -> String {
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

/// The people whose names are needed: the author and those mentioned.
pub(super) fn people_in(message: &Value) -> Vec<String> {
    let mut people = text::mentioned(&text_of(message));
    people.extend(message["user"].as_str().filter(|_| bot_name(message).is_none()).map(String::from));
    people
}

fn bot_name(message: &Value) -> Option<&str> {
    message["bot_id"].as_str()?;
    let names = [&message["username"], &message["bot_profile"]["name"]];
    names.into_iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()))
}

pub(super) fn room_message(message: &Value, names: &[(String, String)]) -> Option<RoomMessage> {
    let ts = ts(message)?;
    let user = message["user"].as_str().or_else(|| message["bot_id"].as_str()).unwrap_or("somebody");
    let known = names.iter().find(|(id, _)| id == user).map(|(_, name)| name.as_str());
    let mut texts = vec![text::readable(&text_of(message), names)];
    let files = message["files"].as_array().into_iter().flatten();
    texts.extend(
        files.map(|file| format!("[file: {}]", one_line(file["name"].as_str().unwrap_or("unnamed")))),
    );
    texts.retain(|text| !text.is_empty());
    Some(RoomMessage {
        id: ts.to_string(),
        at: ts.millis(),
        author: one_line(bot_name(message).or(known).unwrap_or(user)),
        text: sanitized(&texts.join("\n")).into_owned(),
        replies: message["reply_count"].as_u64().unwrap_or_default(),
    })
}
