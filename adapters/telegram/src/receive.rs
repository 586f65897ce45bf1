//! Pure: reads Telegram's updates.

pub(crate) mod message;

use adjutant_chat::{
    Address, Attachment, ButtonPress, EventId, IncomingMessage, IncomingReaction, Mention, MessageEdit,
    Received, SenderId, is_command, one_line,
};
use serde::Deserialize;
use serde_json::Value;
use teloxide::types::CallbackQueryId;

use self::message::{Entity, Message, Press, Sender};
use crate::place::{TelegramPlace, event_of};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct BotUser {
    pub(crate) id: u64,
    pub(crate) username: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Update {
    /// A message, a new text or a reaction; or nothing for us.
    Received(Received),
    /// A pressed button, with the query to answer.
    ButtonPress { press: ButtonPress, query: CallbackQueryId },
    /// A group has become a supergroup, which has another id.
    Moved { from: i64, to: i64 },
}

pub(crate) fn update_of(update: &Value, me: &BotUser, channel: &str) -> Update {
    let found = if let Some(message) = update.get("message") {
        moved_of(message).or_else(|| message_of(message, me, channel).map(Update::Received))
    } else if let Some(message) = update.get("edited_message") {
        edit_of(message, me).map(Update::Received)
    } else if let Some(reacted) = update.get("message_reaction") {
        reaction_of(reacted, channel).map(Update::Received)
    } else {
        update.get("callback_query").and_then(|query| press_of(query, channel))
    };
    found.unwrap_or(Update::Received(Received::Ignored))
}

/// The chat and the id of an update's message.
pub(crate) fn message_id(update: &Value) -> Option<(i64, i32)> {
    let message = ["message", "edited_message"].iter().find_map(|kind| update.get(kind));
    let message = message.or_else(|| update.get("callback_query")?.get("message"))?;
    let id = i32::try_from(message.get("message_id")?.as_i64()?).ok()?;
    Some((message.get("chat")?.get("id")?.as_i64()?, id))
}

/// Both chats say so. Source: <https://core.telegram.org/bots/api#message>
fn moved_of(message: &Value) -> Option<Update> {
    let here = message.get("chat")?.get("id")?.as_i64()?;
    let chat = |field: &str| message.get(field).and_then(Value::as_i64);
    let from_here = || chat("migrate_to_chat_id").map(|to| Update::Moved { from: here, to });
    chat("migrate_from_chat_id").map(|from| Update::Moved { from, to: here }).or_else(from_here)
}

fn message_of(value: &Value, me: &BotUser, channel: &str) -> Option<Received> {
    let message = Message::deserialize(value).ok()?;
    // Somebody who writes in the name of a chat can't be identified, so they have no rights here.
    let person = message.from.as_ref().filter(|from| !from.is_bot && message.sender_chat.is_none())?;
    let attachments = attachments(&message);
    let text = Text::of(&message, me);
    let reply_to = reply_to_us(&message, me);
    let direct = message.chat.is_private();
    let is_addressed = direct || text.is_for_us || (reply_to.is_some() && !text.is_for_another);
    let is_for_another = text.is_for_another && !is_addressed;
    if is_for_another || (text.text.is_empty() && attachments.is_empty()) {
        return None;
    }
    let incoming = IncomingMessage {
        event: EventId(event_of(message.chat.id, message.message_id)),
        address: address(&message, channel),
        sender: SenderId(person.id.to_string()),
        sender_name: name(person),
        direct,
        is_addressed,
        text: text.text,
        mentions: text.mentions,
        forwarded_from: message.passed_on_from().map(|name| one_line(&name)),
        reply_to,
        attachments,
    };
    Some(Received::Message(incoming))
}

fn edit_of(value: &Value, me: &BotUser) -> Option<Received> {
    let message = Message::deserialize(value).ok()?;
    let Text { text, mentions, .. } = Text::of(&message, me);
    let event = EventId(event_of(message.chat.id, message.message_id));
    (!text.is_empty()).then_some(Received::Edit(MessageEdit { event, text, mentions }))
}

/// The reaction that a person has added, or the 👎 that they have taken away.
/// Source: <https://core.telegram.org/bots/api#messagereactionupdated>
fn reaction_of(reacted: &Value, channel: &str) -> Option<Received> {
    let user = reacted.get("user").filter(|user| user["is_bot"] != true)?["id"].as_u64()?;
    let (chat, message) = (reacted["chat"]["id"].as_i64()?, reacted["message_id"].as_i64()?);
    let list = |key: &str| reacted[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let (before, now) = (list("old_reaction"), list("new_reaction"));
    let known = |one: &Value| {
        let address = Address { channel: channel.to_owned(), place: chat.to_string() };
        IncomingReaction::of(one["emoji"].as_str()?, address, user.to_string(), message.to_string())
    };
    let new = now.iter().filter(|one| !before.contains(one)).filter_map(known).next_back();
    let is_there = now.iter().filter_map(known).any(|one| !one.is_up);
    let gone = || before.iter().filter_map(known).find_map(|one| one.or_gone(true)).filter(|_| !is_there);
    new.or_else(gone).map(Received::Reaction)
}

fn press_of(value: &Value, channel: &str) -> Option<Update> {
    let press = Press::deserialize(value).ok()?;
    // The bot can't answer a message that it can't reach any more.
    let message = press.message.filter(|message| message.date != 0)?;
    let button_press = ButtonPress {
        event: EventId(format!("press:{}", press.id)),
        address: address(&message, channel),
        sender: SenderId(press.from.id.to_string()),
        sender_name: name(&press.from),
        direct: message.chat.is_private(),
        button: press.data?,
    };
    Some(Update::ButtonPress { press: button_press, query: CallbackQueryId(press.id) })
}

fn address(message: &Message, channel: &str) -> Address {
    let place = TelegramPlace { chat: message.chat.id, thread: message.topic() };
    Address { channel: channel.to_owned(), place: place.to_string() }
}

fn name(person: &Sender) -> String {
    one_line(&person.name())
}

fn reply_to_us(message: &Message, me: &BotUser) -> Option<String> {
    let reply = message.reply_to_message.as_ref()?;
    // Within a topic everything "replies" to its first message, which may be ours.
    let opened_topic = message.message_thread_id == Some(reply.message_id);
    let ours = reply.from.as_ref().is_some_and(|from| from.id == me.id);
    (ours && !opened_topic).then(|| reply.message_id.to_string())
}

/// A message's text without our name.
struct Text {
    text: String,
    /// The people without a user name that it mentions.
    mentions: Vec<Mention>,
    /// Whether it mentions us or is one of our commands.
    is_for_us: bool,
    /// Whether it is a command for another bot.
    is_for_another: bool,
}

impl Text {
    fn of(message: &Message, me: &BotUser) -> Self {
        let (text, entities) = message.text();
        let (mut cut, mut is_for_us, mut is_for_another) = (Vec::new(), false, false);
        let (mut ids, mut mentions) = (Vec::new(), Vec::new());
        for entity in entities {
            let Some((start, marked)) = slice(text, entity) else { continue };
            let is_me = |name: &str| name.eq_ignore_ascii_case(&me.username);
            match entity.kind.as_str() {
                "mention" if marked.strip_prefix('@').is_some_and(is_me) => {
                    cut.push((start, start + marked.len()));
                }
                "text_mention" if entity.user.as_ref().is_some_and(|user| user.id == me.id) => {
                    cut.push((start, start + marked.len()));
                }
                // The client writes the name that they gave themselves.
                "text_mention" => {
                    let Some(user) = &entity.user else { continue };
                    let id = format!("@{}", user.id);
                    ids.push((start, start + marked.len(), id.clone()));
                    mentions.push(Mention { id, name: user.name() });
                }
                "bot_command" => match marked.split_once('@') {
                    Some((command, bot)) if is_me(bot) => {
                        cut.push((start + command.len(), start + marked.len()));
                    }
                    Some(_) => is_for_another |= start == 0,
                    None => {
                        // In a group they address us even without our name.
                        is_for_us |= start == 0 && is_command(marked);
                    }
                },
                _ => {}
            }
        }
        is_for_us |= !cut.is_empty();
        let rest = without(text, &cut, &ids);
        // A message with only our name is still a message.
        let text = if rest.is_empty() { text.trim().to_owned() } else { rest };
        Self { text, mentions, is_for_us: is_for_us && !is_for_another, is_for_another }
    }
}

/// An entity's text and where it begins, if Telegram's offsets are valid.
fn slice<'a>(text: &'a str, entity: &Entity) -> Option<(usize, &'a str)> {
    let byte_at = |units: usize| {
        let mut passed = 0;
        let ends = text.char_indices().chain([(text.len(), '\0')]);
        ends.into_iter().find_map(|(at, char)| {
            let found = passed == units;
            passed += char.len_utf16();
            found.then_some(at)
        })
    };
    let (start, end) = (byte_at(entity.offset)?, byte_at(entity.offset.checked_add(entity.length)?)?);
    Some((start, text.get(start..end)?))
}

/// The text without these ranges and the comma or colon after our name at its start, and with ids in place of others.
fn without(text: &str, cut: &[(usize, usize)], ids: &[(usize, usize, String)]) -> String {
    let mut rest = String::new();
    let mut at = 0;
    let mut changes: Vec<(usize, usize, &str)> = cut.iter().map(|&(start, end)| (start, end, "")).collect();
    changes.extend(ids.iter().map(|(start, end, id)| (*start, *end, id.as_str())));
    changes.sort_unstable();
    for (start, end, id) in changes {
        rest.push_str(text.get(at..start).unwrap_or_default());
        rest.push_str(id);
        at = at.max(end);
        if !id.is_empty() {
            continue;
        }
        if rest.is_empty() {
            at += text[at..].len() - text[at..].trim_start_matches([',', ':']).len();
        }
        if rest.ends_with(' ') && text[at..].starts_with(' ') {
            at += 1;
        }
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    rest.trim().to_owned()
}

/// The file of a message; Telegram sends one a message.
fn attachments(message: &Message) -> Vec<Attachment> {
    if let Some((name, note)) = message.voice_note() {
        return vec![Attachment { name: one_line(&name), voice: Some(note), ..Attachment::default() }];
    }
    let kinds = [
        (&message.animation, "animation.mp4"),
        (&message.document, "document"),
        (&message.video, "video.mp4"),
        (&message.video_note, "video.mp4"),
    ];
    let found = kinds.iter().find_map(|(file, name)| Some((file.as_ref()?, *name)));
    // The last size of a photo is the largest; Telegram makes all of them JPEG.
    let photo = || Some((message.photo.last()?, "photo.jpg"));
    let Some((file, default)) = found.or_else(photo) else { return Vec::new() };
    let name = file.file_name.as_deref().unwrap_or(default);
    vec![Attachment { name: one_line(name), file: Some(file.remote()), ..Attachment::default() }]
}

#[cfg(test)]
mod tests;
