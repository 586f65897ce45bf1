//! Pure: reads messages of the history.

use adjutant_chat::{RoomMessage, one_line, sanitized};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::MessageId;

use crate::receive::{Account, with_names};

/// Types of messages that people and bots write: ordinary ones, replies, and answers to commands.
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-types>
const WRITTEN: [u64; 4] = [0, 19, 20, 23];
/// The first message of a thread; it refers to the message that the thread was started from.
const STARTER: u64 = 21;

/// When Discord's ids start, in milliseconds since 1970.
/// Source: <https://discord.com/developers/docs/reference#snowflakes>
const EPOCH: u64 = 1_420_070_400_000;

/// A message of the history. Its files, previews and thread are read one by one, so that no message is lost over an
/// odd one.
#[derive(Deserialize)]
struct HistoryMessage {
    id: MessageId,
    author: Account,
    #[serde(default, rename = "type")]
    kind: u64,
    #[serde(default)]
    content: String,
    #[serde(default)]
    mentions: Vec<Account>,
    #[serde(default)]
    attachments: Value,
    #[serde(default)]
    embeds: Value,
    #[serde(default)]
    thread: Value,
    referenced_message: Option<Box<HistoryMessage>>,
}

/// The time of an id, in milliseconds since 1970 UTC.
pub(super) fn millis(id: u64) -> i64 {
    i64::try_from((id >> 22) + EPOCH).unwrap_or(i64::MAX)
}

pub(super) fn room_message(value: &Value) -> Option<RoomMessage> {
    let mut message = HistoryMessage::deserialize(value).ok()?;
    if message.kind == STARTER {
        message = *message.referenced_message?;
    }
    if !WRITTEN.contains(&message.kind) {
        return None;
    }
    let mut texts = vec![with_names(&message.content, &message.mentions).trim().to_owned()];
    if texts[0].is_empty() {
        // Bots often write only into embeds.
        let embeds = message.embeds.as_array().into_iter().flatten();
        let parts = embeds.flat_map(|embed| [&embed["title"], &embed["description"]]);
        texts.extend(parts.filter_map(|part| part.as_str().map(String::from)));
    }
    let files = message.attachments.as_array().into_iter().flatten();
    texts.extend(
        files.map(|file| format!("[file: {}]", one_line(file["filename"].as_str().unwrap_or("unnamed")))),
    );
    texts.retain(|text| !text.is_empty());
    // A sticker or a poll has nothing to read.
    (!texts.is_empty()).then(|| RoomMessage {
        id: message.id.to_string(),
        at: millis(message.id.get()),
        author: one_line(message.author.name()),
        text: sanitized(&texts.join("\n")).into_owned(),
        replies: message.thread["message_count"].as_u64().unwrap_or_default(),
    })
}
