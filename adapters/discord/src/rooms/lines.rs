//! Pure: messages that are read later, as lines.

use adjutant_chat::{RoomMessage, one_line, sanitized};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::MessageId;

use crate::receive::{Account, named};

/// Kinds of messages that people and bots write: ordinary ones, replies, and answers to commands.
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-types>
const WRITTEN: [u64; 4] = [0, 19, 20, 23];
/// At the beginning of a thread, in the place of the message that it was begun at.
const STARTER: u64 = 21;

/// When Discord's ids begin, in milliseconds since 1970.
/// Source: <https://discord.com/developers/docs/reference#snowflakes>
const EPOCH: u64 = 1_420_070_400_000;

/// A message that is read. Its files, previews and thread are looked at one by one, so that no message is lost over
/// an odd one.
#[derive(Deserialize)]
struct Post {
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
    referenced_message: Option<Box<Post>>,
}

/// When what has this id was made, in milliseconds since 1970 UTC.
pub(super) fn millis(id: u64) -> i64 {
    i64::try_from((id >> 22) + EPOCH).unwrap_or(i64::MAX)
}

pub(super) fn line(message: &Value) -> Option<RoomMessage> {
    let mut post = Post::deserialize(message).ok()?;
    if post.kind == STARTER {
        post = *post.referenced_message?;
    }
    if !WRITTEN.contains(&post.kind) {
        return None;
    }
    let mut texts = vec![named(&post.content, &post.mentions).trim().to_owned()];
    if texts[0].is_empty() {
        // What machines write often stands only in what is attached.
        let embeds = post.embeds.as_array().into_iter().flatten();
        let parts = embeds.flat_map(|embed| [&embed["title"], &embed["description"]]);
        texts.extend(parts.filter_map(|part| part.as_str().map(String::from)));
    }
    let files = post.attachments.as_array().into_iter().flatten();
    texts.extend(
        files.map(|file| format!("[file: {}]", one_line(file["filename"].as_str().unwrap_or("unnamed")))),
    );
    texts.retain(|text| !text.is_empty());
    // A sticker, a poll: nothing that could be read.
    (!texts.is_empty()).then(|| RoomMessage {
        id: post.id.to_string(),
        at: millis(post.id.get()),
        author: one_line(post.author.name()),
        text: sanitized(&texts.join("\n")).into_owned(),
        replies: post.thread["message_count"].as_u64().unwrap_or_default(),
    })
}
