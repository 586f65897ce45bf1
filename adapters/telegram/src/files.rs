//! Sends files, and finds them again.

use adjutant_chat::{Delivery, Outbound, OutgoingFile};
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
const NO_FILES: [&str; 4] = [
    "not enough rights to send",
    "have no rights to send",
    "CHAT_SEND_DOCS_FORBIDDEN",
    "CHAT_SEND_MEDIA_FORBIDDEN",
];

/// A message as an edit returns it.
#[derive(Deserialize)]
struct EditedMessage {
    document: Option<Document>,
}

#[derive(Deserialize)]
struct Document {
    file_name: Option<String>,
    file_size: Option<usize>,
}

impl Document {
    fn is(&self, file: &OutgoingFile) -> bool {
        self.file_name.as_ref() == Some(&file.name)
            && self.file_size.is_none_or(|size| size == file.text.len())
    }
}

impl Telegram {
    pub(crate) async fn deliver_file(&self, outbound: &Outbound, file: &OutgoingFile) -> Delivery {
        let Ok(place) = outbound.address.place.parse() else {
            return Delivery::Refused("there is no such place".to_owned());
        };
        let mut sent = self.upload(self.chat(place), place, file).await;
        if let Some(chat) = self.moved_to(place, &sent) {
            sent = self.upload(chat, place, file).await;
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
        file: &OutgoingFile,
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
            let probed = match self.in_chat(place, caption(Some(file.name.clone()))).await {
                Ok(EditedMessage { document }) => {
                    self.in_chat::<IgnoredAny, _>(place, caption(None)).await?;
                    Ok(document.is_some_and(|it| it.is(file)))
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

    async fn upload(
        &self,
        chat: i64,
        place: TelegramPlace,
        file: &OutgoingFile,
    ) -> Result<SentMessage, ApiError> {
        self.api.upload("SendDocument", form(chat, place, file)?).await
    }
}

/// Source: <https://core.telegram.org/bots/api#senddocument>
fn form(chat: i64, place: TelegramPlace, file: &OutgoingFile) -> Result<Form, ApiError> {
    let kind = if file.is_json() { "application/json" } else { "text/markdown" };
    let content = Part::text(file.text.clone()).file_name(file.name.clone());
    let refused =
        |error: reqwest_of_serenity::Error| ApiError::Refused { code: 400, text: error.to_string() };
    let form = Form::new()
        .text("chat_id", chat.to_string())
        .part("document", content.mime_str(kind).map_err(refused)?);
    Ok(match place.thread {
        Some(thread) => form.text("message_thread_id", thread.to_string()),
        None => form,
    })
}
