//! Sends files, and finds them again.

use adjutant_chat::{Delivery, Outbound, OutgoingFile, OutgoingVoice};
use reqwest_of_serenity::multipart::{Form, Part};
use serde::Deserialize;
use serde::de::IgnoredAny;
use teloxide::payloads::EditMessageCaption;
use teloxide::types::{ChatId, MessageId};

use crate::Telegram;
use crate::api::ApiError;
use crate::deliver::{SentMessage, is_it};
use crate::place::TelegramPlace;

/// Messages of a chat that takes texts but no files.
const NO_FILES: [&str; 6] = [
    "not enough rights to send",
    "have no rights to send",
    "CHAT_SEND_DOCS_FORBIDDEN",
    "CHAT_SEND_MEDIA_FORBIDDEN",
    "CHAT_SEND_VOICES_FORBIDDEN",
    "VOICE_MESSAGES_FORBIDDEN",
];

/// A message as an edit returns it.
#[derive(Deserialize)]
pub(crate) struct EditedMessage {
    document: Option<Document>,
    voice: Option<Voice>,
}

#[derive(Deserialize)]
struct Voice {
    file_size: Option<usize>,
}

#[derive(Deserialize)]
struct Document {
    file_name: Option<String>,
    file_size: Option<usize>,
}

impl EditedMessage {
    pub(crate) fn is(&self, file: &OutgoingFile) -> bool {
        self.document.as_ref().is_some_and(|document| {
            document.file_name.as_ref() == Some(&file.name)
                && document.file_size.is_none_or(|size| size == file.text.len())
        })
    }

    pub(crate) fn is_voice(&self, voice: &OutgoingVoice) -> bool {
        self.voice.as_ref().is_some_and(|sent| sent.file_size.is_none_or(|size| size == voice.sound.len()))
    }
}

impl Telegram {
    pub(crate) async fn deliver_file(
        &self,
        outbound: &Outbound,
        place: TelegramPlace,
        file: &OutgoingFile,
    ) -> Delivery {
        self.deliver_form("SendDocument", outbound, place, |chat| form(chat, place, file)).await
    }

    /// Source: <https://core.telegram.org/bots/api#sendvoice>
    pub(crate) async fn deliver_voice(
        &self,
        outbound: &Outbound,
        place: TelegramPlace,
        voice: &OutgoingVoice,
    ) -> Delivery {
        let form = |chat| {
            let content = Part::bytes(voice.sound.clone()).file_name(OutgoingVoice::NAME);
            let seconds = voice.milliseconds.div_ceil(1000).to_string();
            Ok(bare(chat, place)
                .text("duration", seconds)
                .part("voice", content.mime_str("audio/ogg").map_err(refused)?))
        };
        self.deliver_form("SendVoice", outbound, place, form).await
    }

    async fn deliver_form(
        &self,
        method: &str,
        outbound: &Outbound,
        place: TelegramPlace,
        form: impl Fn(i64) -> Result<Form, ApiError>,
    ) -> Delivery {
        let mut sent = self.upload(method, form(self.chat(place))).await;
        if let Some(chat) = self.moved_to(place, &sent) {
            sent = self.upload(method, form(chat)).await;
        }
        match sent {
            Ok(message) => self.receipt(place, message.message_id, outbound),
            Err(error) if error.says(&NO_FILES) => Delivery::FileRefused(error.to_string()),
            Err(error) => match error.into() {
                // Too large, or of an unwanted type: it can be sent as text.
                Delivery::Refused(why) => Delivery::FileRefused(why),
                delivery => delivery,
            },
        }
    }

    /// Only an edit shows a message. Our files have no caption, so the probe adds one and removes it again.
    pub(crate) async fn probe_for_file(
        &self,
        outbound: &Outbound,
        name: &str,
        is_sent: impl Fn(&EditedMessage) -> bool,
        place: TelegramPlace,
    ) -> Result<Option<i32>, ApiError> {
        for message in self.candidates(outbound, place) {
            let caption = |text: Option<String>| {
                move |chat| {
                    let mut edit = EditMessageCaption::new(ChatId(chat), MessageId(message));
                    edit.caption.clone_from(&text);
                    edit
                }
            };
            let probed = match self.in_chat(place, caption(Some(name.to_owned()))).await {
                Ok(edited) => {
                    self.in_chat::<IgnoredAny, _>(place, caption(None)).await?;
                    Ok(is_sent(&edited))
                }
                // It still has the caption of an earlier probe.
                Err(error) if error.says(&["message is not modified"]) => Ok(true),
                Err(error) => Err(error),
            };
            if is_it(probed)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    async fn upload(&self, method: &str, form: Result<Form, ApiError>) -> Result<SentMessage, ApiError> {
        self.api.upload(method, form?).await
    }
}

fn refused(error: reqwest_of_serenity::Error) -> ApiError {
    ApiError::Refused { code: 400, text: error.to_string() }
}

/// A form for a place, without its file.
fn bare(chat: i64, place: TelegramPlace) -> Form {
    let form = Form::new().text("chat_id", chat.to_string());
    match place.thread {
        Some(thread) => form.text("message_thread_id", thread.to_string()),
        None => form,
    }
}

/// Source: <https://core.telegram.org/bots/api#senddocument>
fn form(chat: i64, place: TelegramPlace, file: &OutgoingFile) -> Result<Form, ApiError> {
    let kind = if file.is_json() { "application/json" } else { "text/markdown" };
    let content = Part::text(file.text.clone()).file_name(file.name.clone());
    Ok(bare(chat, place).part("document", content.mime_str(kind).map_err(refused)?))
}
