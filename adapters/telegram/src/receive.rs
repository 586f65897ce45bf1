//! Pure: an update of Telegram's as what it means to us.

mod message;

use adjutant_chat::{
    Address, Attachment, ButtonPress, EventId, IncomingMessage, MessageEdit, SenderId, one_line,
};
use serde::Deserialize;
use serde_json::Value;
use teloxide::types::{CallbackQueryId, FileId};

use self::message::{Entity, Message, Press, Sender};
use crate::place::{Place, event_of};

/// The commands that are registered, and for us in a group also without our name.
pub(crate) const COMMANDS: [(&str, &str); 9] = [
    ("new", "Start a new conversation"),
    ("run", "Run a workflow"),
    ("draft", "Make a workflow of your words"),
    ("stop", "Stop what is running"),
    ("pause", "Pause what is running"),
    ("status", "How things stand"),
    ("trace", "What the last answer was made of"),
    ("help", "What I can do"),
    ("link", "Join your accounts on several platforms"),
];

/// The longest text file that is read, in bytes.
pub(crate) const LONGEST_FILE: usize = 64 * 1024;

/// Who we are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Myself {
    pub(crate) id: u64,
    pub(crate) username: String,
}

/// What arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Update {
    /// Somebody wrote to us; the file is the text of its first attachment.
    Message { said: IncomingMessage, file: Option<FileId> },
    /// Somebody changed a message.
    Edit(MessageEdit),
    /// Somebody pressed a button; the query is to be answered.
    ButtonPress { pressed: ButtonPress, query: CallbackQueryId },
    /// Not for us, or not understood.
    Ignored,
}

/// What an update means.
pub(crate) fn arrived(update: &Value, me: &Myself, channel: &str) -> Update {
    let found = if let Some(message) = update.get("message") {
        said(message, me, channel)
    } else if let Some(message) = update.get("edited_message") {
        edited(message, me)
    } else {
        update.get("callback_query").and_then(|query| pressed(query, channel))
    };
    found.unwrap_or(Update::Ignored)
}

/// The chat and the id of the message that an update tells of.
pub(crate) fn message_id(update: &Value) -> Option<(i64, i32)> {
    let message = ["message", "edited_message"].iter().find_map(|kind| update.get(kind));
    let message = message.or_else(|| update.get("callback_query")?.get("message"))?;
    let id = i32::try_from(message.get("message_id")?.as_i64()?).ok()?;
    Some((message.get("chat")?.get("id")?.as_i64()?, id))
}

fn said(value: &Value, me: &Myself, channel: &str) -> Option<Update> {
    let message = Message::deserialize(value).ok()?;
    // Who writes in the name of a chat can't be told from others who do, so they have no rights here.
    let person = message.from.as_ref().filter(|from| !from.is_bot && message.sender_chat.is_none())?;
    let (attachments, file) = attachments(&message);
    let text = Text::of(&message, me);
    let reply_to = reply_to_us(&message, me);
    let direct = message.chat.is_private();
    let for_us = direct || text.is_for_us || (reply_to.is_some() && !text.is_for_another);
    if !for_us || (text.text.is_empty() && attachments.is_empty()) {
        return None;
    }
    let said = IncomingMessage {
        event: EventId(event_of(message.chat.id, message.message_id)),
        address: address(&message, channel),
        sender: SenderId(person.id.to_string()),
        sender_name: name(person),
        direct,
        text: text.text,
        reply_to,
        attachments,
    };
    Some(Update::Message { said, file })
}

fn edited(value: &Value, me: &Myself) -> Option<Update> {
    let message = Message::deserialize(value).ok()?;
    let text = Text::of(&message, me).text;
    let event = EventId(event_of(message.chat.id, message.message_id));
    (!text.is_empty()).then_some(Update::Edit(MessageEdit { event, text }))
}

fn pressed(value: &Value, channel: &str) -> Option<Update> {
    let press = Press::deserialize(value).ok()?;
    // A message that the bot can't reach any more is no place to answer in.
    let message = press.message.filter(|message| message.date != 0)?;
    let pressed = ButtonPress {
        event: EventId(format!("press:{}", press.id)),
        address: address(&message, channel),
        sender: SenderId(press.from.id.to_string()),
        sender_name: name(&press.from),
        direct: message.chat.is_private(),
        button: press.data?,
    };
    Some(Update::ButtonPress { pressed, query: CallbackQueryId(press.id) })
}

fn address(message: &Message, channel: &str) -> Address {
    let place = Place { chat: message.chat.id, thread: message.topic() };
    Address { channel: channel.to_owned(), place: place.to_string() }
}

fn name(person: &Sender) -> String {
    one_line(&person.name())
}

fn reply_to_us(message: &Message, me: &Myself) -> Option<String> {
    let reply = message.reply_to_message.as_ref()?;
    // Within a topic everything "replies" to the message that opened it, which may be ours.
    let opened_topic = message.message_thread_id == Some(reply.message_id);
    let ours = reply.from.as_ref().is_some_and(|from| from.id == me.id);
    (ours && !opened_topic).then(|| reply.message_id.to_string())
}

/// What somebody wrote, without our name.
struct Text {
    text: String,
    /// It names us, or is one of our commands.
    is_for_us: bool,
    /// It is a command for another bot.
    is_for_another: bool,
}

impl Text {
    fn of(message: &Message, me: &Myself) -> Self {
        let (text, entities) = message.text();
        let (mut cut, mut is_for_us, mut is_for_another) = (Vec::new(), false, false);
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
                "bot_command" => match marked.split_once('@') {
                    Some((command, bot)) if is_me(bot) => {
                        cut.push((start + command.len(), start + marked.len()));
                    }
                    Some(_) => is_for_another |= start == 0,
                    None => {
                        let is_ours = COMMANDS.iter().any(|(name, _)| marked.strip_prefix('/') == Some(name));
                        is_for_us |= start == 0 && is_ours;
                    }
                },
                _ => {}
            }
        }
        is_for_us |= !cut.is_empty();
        let rest = without(text, &cut);
        // Who says only our name still says something.
        let text = if rest.is_empty() { text.trim().to_owned() } else { rest };
        Self { text, is_for_us: is_for_us && !is_for_another, is_for_another }
    }
}

/// The marked piece of a text and where it begins. Telegram may be wrong.
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

/// The text without these pieces, and without the comma or colon that followed our name at its start.
fn without(text: &str, cut: &[(usize, usize)]) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for &(start, end) in cut {
        rest.push_str(text.get(at..start).unwrap_or_default());
        at = end;
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

/// What hangs on a message by name, and the file to read if it is a short text.
fn attachments(message: &Message) -> (Vec<Attachment>, Option<FileId>) {
    let files = [
        (&message.animation, "animation.mp4"),
        (&message.document, "document"),
        (&message.audio, "audio.mp3"),
        (&message.video, "video.mp4"),
    ];
    let others =
        [(&message.photo, "photo.jpg"), (&message.voice, "voice.ogg"), (&message.video_note, "video.mp4")];
    let file = files.iter().find_map(|(file, name)| Some((file.as_ref()?, *name)));
    let name = match file {
        Some((file, name)) => file.file_name.clone().unwrap_or_else(|| name.to_owned()),
        None => match others.iter().find(|(there, _)| there.is_some()) {
            Some((_, name)) => (*name).to_owned(),
            None => return (Vec::new(), None),
        },
    };
    let short = |size: u64| usize::try_from(size).is_ok_and(|size| size <= LONGEST_FILE);
    let read = message.document.as_ref().filter(|_| message.animation.is_none());
    let read =
        read.filter(|file| is_text(&name, file.mime_type.as_deref()) && file.file_size.is_none_or(short));
    let read = read.map(|file| FileId(file.file_id.clone()));
    (vec![Attachment { name: one_line(&name), text: None }], read)
}

fn is_text(name: &str, kind: Option<&str>) -> bool {
    const ENDINGS: &str = " txt md csv tsv json yaml yml toml xml html css log ini cfg conf ics vcf eml sql \
                           sh py rs js ts go c h java rb tex srt diff patch ";
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    let by_ending = !ending.is_empty() && ENDINGS.contains(&format!(" {ending} "));
    by_ending || kind.is_some_and(|kind| kind.starts_with("text/") || kind == "application/json")
}

#[cfg(test)]
mod tests;
