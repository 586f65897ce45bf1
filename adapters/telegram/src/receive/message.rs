//! The fields of an update that we read. The library's own types reject a whole message for an unknown entity, an
//! invalid file type, or a voice message without a type; a message must not be lost for a field that nobody needs.

use adjutant_chat::{RemoteFile, VoiceNote, is_audio};
use adjutant_l10n::channels;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i32,
    /// 0 for one that the bot can't reach any more.
    pub(super) date: i64,
    pub(super) chat: Chat,
    pub(super) message_thread_id: Option<i32>,
    #[serde(default)]
    is_topic_message: bool,
    pub(super) from: Option<Sender>,
    pub(super) sender_chat: Option<IgnoredAny>,
    pub(super) reply_to_message: Option<Reply>,
    /// Who wrote it, if it was forwarded.
    #[serde(default, deserialize_with = "origin")]
    pub(super) forward_origin: Option<Origin>,
    /// The bot that made the text for its sender.
    via_bot: Option<Value>,
    text: Option<String>,
    #[serde(default)]
    entities: Vec<Entity>,
    caption: Option<String>,
    #[serde(default)]
    caption_entities: Vec<Entity>,
    pub(super) document: Option<File>,
    /// The same picture in several sizes.
    #[serde(default)]
    pub(super) photo: Vec<File>,
    pub(super) voice: Option<Sound>,
    pub(super) video_note: Option<File>,
    pub(super) audio: Option<Sound>,
    pub(super) video: Option<File>,
    /// Comes with a `document` for the same file.
    pub(super) animation: Option<File>,
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type")]
    kind: String,
}

/// Where a forwarded message is from. Source: <https://core.telegram.org/bots/api#messageorigin>
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Origin {
    sender_user: Option<Sender>,
    sender_user_name: Option<String>,
    sender_chat: Option<Titled>,
    chat: Option<Titled>,
}

#[derive(Deserialize)]
struct Titled {
    #[serde(default)]
    title: String,
}

/// A message of a kind that we don't know was forwarded too.
fn origin<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Origin>, D::Error> {
    let origin = Option::<Value>::deserialize(from)?.filter(|origin| !origin.is_null());
    Ok(origin.map(|origin| Origin::deserialize(origin).unwrap_or_default()))
}

impl Origin {
    /// The name of a person, a group or a channel, as Telegram tells it.
    pub(super) fn name(&self) -> String {
        let person = self.sender_user.as_ref().map(Sender::name);
        let chat = || self.chat.as_ref().or(self.sender_chat.as_ref()).map(|chat| chat.title.clone());
        let name = person.or_else(|| self.sender_user_name.clone()).or_else(chat);
        name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| channels::somebody("Telegram"))
    }
}

#[derive(Deserialize)]
pub(super) struct Reply {
    pub(super) message_id: i32,
    pub(super) from: Option<Sender>,
}

#[derive(Deserialize)]
pub(crate) struct Sender {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) is_bot: bool,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
    pub(crate) username: Option<String>,
}

/// An entity of a text, counted in UTF-16 units.
#[derive(Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) offset: usize,
    pub(super) length: usize,
    /// The mentioned user, if they have no user name.
    pub(super) user: Option<Sender>,
}

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) file_id: String,
    pub(super) file_size: Option<u64>,
    pub(super) file_name: Option<String>,
    pub(super) mime_type: Option<String>,
}

impl File {
    pub(super) fn remote(&self) -> RemoteFile {
        let (file, bytes) = (self.file_id.clone(), self.file_size);
        RemoteFile { file, mime_type: self.mime_type.clone().unwrap_or_default(), bytes }
    }
}

/// A voice note, or a file of music. Source: <https://core.telegram.org/bots/api#voice>
#[derive(Deserialize)]
#[serde(from = "Value")]
pub(super) struct Sound {
    note: VoiceNote,
    file_name: Option<String>,
}

impl From<Value> for Sound {
    fn from(sound: Value) -> Self {
        let text = |key: &str| sound[key].as_str().map(str::to_owned);
        let note = VoiceNote {
            file: text("file_id").unwrap_or_default(),
            mime_type: text("mime_type").unwrap_or_else(|| "audio/ogg".to_owned()),
            seconds: sound["duration"].as_u64(),
            bytes: sound["file_size"].as_u64(),
        };
        Self { note, file_name: text("file_name") }
    }
}

#[derive(Deserialize)]
pub(super) struct Press {
    pub(super) id: String,
    pub(super) from: Sender,
    pub(super) message: Option<Message>,
    pub(super) data: Option<String>,
}

impl Message {
    /// Who made the text, if its sender only passed it on.
    pub(super) fn passed_on_from(&self) -> Option<String> {
        let bot =
            self.via_bot.as_ref().map(|bot| format!("the bot @{}", bot["username"].as_str().unwrap_or("?")));
        self.forward_origin.as_ref().map(Origin::name).or(bot)
    }

    /// The text, or a file's caption.
    pub(super) fn text(&self) -> (&str, &[Entity]) {
        match (&self.text, &self.caption) {
            (Some(text), _) => (text, &self.entities),
            (None, Some(caption)) => (caption, &self.caption_entities),
            (None, None) => ("", &[]),
        }
    }

    /// Its voice note, or its file of sound, and the file's name.
    pub(super) fn voice_note(&self) -> Option<(String, VoiceNote)> {
        if let Some(sound) = &self.voice {
            return Some(("voice.ogg".to_owned(), sound.note.clone()));
        }
        if let Some(sound) = &self.audio {
            let name = sound.file_name.clone().unwrap_or_else(|| "audio.mp3".to_owned());
            return Some((name, sound.note.clone()));
        }
        let document = self.document.as_ref().filter(|_| self.animation.is_none())?;
        let mime_type = document.mime_type.clone().filter(|kind| is_audio(kind))?;
        let name = document.file_name.clone().unwrap_or_else(|| "audio".to_owned());
        let (file, bytes) = (document.file_id.clone(), document.file_size);
        Some((name, VoiceNote { file, mime_type, seconds: None, bytes }))
    }

    /// Its forum topic; chains of replies are threads too, but not places.
    pub(super) fn topic(&self) -> Option<i32> {
        self.message_thread_id.filter(|_| self.is_topic_message)
    }
}

pub(crate) fn full_name(first: &str, last: Option<&str>) -> String {
    format!("{first} {}", last.unwrap_or_default()).trim().to_owned()
}

impl Chat {
    pub(super) fn is_private(&self) -> bool {
        self.kind == "private"
    }
}

impl Sender {
    pub(super) fn name(&self) -> String {
        match (self.full_name(), &self.username) {
            (full, Some(username)) if full.is_empty() => format!("@{username}"),
            (full, _) => full,
        }
    }

    /// Their first and last name, empty if the account is deleted.
    pub(crate) fn full_name(&self) -> String {
        full_name(&self.first_name, self.last_name.as_deref())
    }
}
