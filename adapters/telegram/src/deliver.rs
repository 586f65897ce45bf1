//! Sends, edits and finds messages.

use std::time::Duration;

use adjutant_chat::{
    Address, AnswerDraft, ChatPort, Choice, Delivery, DownloadError, FileDownload, Limits, Outbound,
    OutgoingPart, OutgoingVoice, Reconciliation, Retract,
};
use async_trait::async_trait;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use teloxide::payloads::{
    DeleteMessage, EditMessageReplyMarkup, EditMessageText, EditMessageTextSetters, SendChatAction,
    SendMessage, SendMessageSetters, SetMessageReaction,
};
use teloxide::requests::Payload;
use teloxide::types::{
    ChatAction, ChatId, FileId, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ParseMode, ReactionType,
    ReplyParameters, ThreadId,
};

use crate::Telegram;
use crate::api::ApiError;
use crate::place::{TelegramPlace, message_of};
use crate::render::{self, MessagePart};

/// The most messages that are probed in one reconciliation.
const PROBES: usize = 50;

/// Messages of a 400 for a place that is gone or closed to us.
pub(crate) const GONE: [&str; 12] = [
    "chat not found",
    "user not found",
    "PEER_ID_INVALID",
    "bot was kicked",
    "bot was blocked",
    "user is deactivated",
    "group is deactivated",
    "not enough rights",
    "have no rights",
    "CHAT_WRITE_FORBIDDEN",
    "message thread not found",
    "TOPIC_",
];

/// Messages of a 400 to an edit of a message that is not ours or doesn't exist.
const NO_SUCH_MESSAGE: [&str; 3] =
    ["message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"];

#[derive(Deserialize)]
pub(crate) struct SentMessage {
    pub(crate) message_id: i32,
}

struct Draft {
    place: TelegramPlace,
    part: MessagePart,
    keyboard: Option<InlineKeyboardMarkup>,
    reply_to: Option<i32>,
}

impl From<ApiError> for Delivery {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Unreachable(_) | ApiError::Moved(_) => Self::Retry(None),
            ApiError::Flood(pause) => Self::Retry(Some(pause)),
            ApiError::Unclear(_) => Self::Unknown,
            // The receiving side reports the token; the message waits until it is fixed.
            _ if error.is_wrong_token() => Self::Retry(None),
            ApiError::Refused { code: 403, text } => Self::Gone(text),
            _ if error.says(&GONE) => Self::Gone(error.to_string()),
            ApiError::Refused { text, .. } => Self::Refused(text),
        }
    }
}

#[async_trait]
impl ChatPort for Telegram {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        Limits { edits: true, files: true }
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(render::texts(outbound).len())
    }

    /// Messages that the journal knows need not be probed.
    async fn seed(&self, address: &Address, known: &[String]) {
        let Ok(place) = address.place.parse::<TelegramPlace>() else { return };
        let here = self.chat(place);
        let mut ids = self.ids.lock();
        for id in known {
            // A receipt alone is a message of this chat.
            let (chat, message) = match id.split_once(':') {
                Some((place, message)) => {
                    (place.parse().ok().map(|place: TelegramPlace| place.chat), message)
                }
                None => (Some(here), id.as_str()),
            };
            if let (Some(chat), Ok(message)) = (chat, message.parse()) {
                ids.add(chat, message);
            }
        }
    }

    async fn checkpoint(&self, address: &Address) -> Option<String> {
        self.wait_until_caught_up().await;
        let place: TelegramPlace = address.place.parse().ok()?;
        self.ids.lock().highest(self.chat(place)).map(|highest| highest.to_string())
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        let part = outbound.part_of(render::texts(outbound));
        let (Ok(place), Some(part)) = (outbound.address.place.parse(), part) else {
            return Delivery::Refused("there is no such part or no such chat".to_owned());
        };
        let draft = match part {
            OutgoingPart::Text(part, choices) => draft(outbound, place, part, choices),
            OutgoingPart::File(file) => return self.deliver_file(outbound, place, file).await,
            OutgoingPart::Voice(voice) => return self.deliver_voice(outbound, place, voice).await,
        };
        let sent = match self.edit_shown(outbound, &draft).await.transpose() {
            Some(edited) => edited,
            None => self.send(&draft).await,
        };
        sent.map_or_else(Into::into, |message| self.receipt(draft.place, message, outbound))
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        // Messages that can be polled need not be probed.
        self.wait_until_caught_up().await;
        let Ok(place) = outbound.address.place.parse::<TelegramPlace>() else {
            return Reconciliation::NotSent;
        };
        if let Some(message) = self.ids.lock().message_of(&outbound.id, outbound.part) {
            return Reconciliation::Sent(message.to_string());
        }
        let Some(part) = outbound.part_of(render::texts(outbound)) else { return Reconciliation::NotSent };
        let found = match part {
            OutgoingPart::Text(part, choices) => {
                self.probe(outbound, &draft(outbound, place, part, choices)).await
            }
            OutgoingPart::File(file) => {
                self.probe_for_file(outbound, &file.name, |sent| sent.is(file), place).await
            }
            OutgoingPart::Voice(voice) => {
                self.probe_for_file(outbound, OutgoingVoice::NAME, |sent| sent.is_voice(voice), place).await
            }
        };
        match found {
            Ok(Some(message)) => {
                self.receipt(place, message, outbound);
                Reconciliation::Sent(message.to_string())
            }
            Ok(None) => Reconciliation::NotSent,
            Err(error) => match error.into() {
                // Sending it again finds out.
                Delivery::Refused(_) | Delivery::Gone(_) => Reconciliation::NotSent,
                _ => Reconciliation::Unavailable,
            },
        }
    }

    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        self.api.download(&FileId(file.to_owned()), into).await
    }

    async fn typing(&self, address: &Address) {
        let Ok(place) = address.place.parse::<TelegramPlace>() else { return };
        let typing = |chat| {
            let mut typing = SendChatAction::new(ChatId(chat), ChatAction::Typing);
            typing.message_thread_id = place.thread.map(|thread| ThreadId(MessageId(thread)));
            typing
        };
        // Best effort.
        let _ = self.in_chat::<IgnoredAny, _>(place, typing).await;
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        self.show_text(address, receipt, text, None).await
    }

    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        self.show_answer(draft).await
    }

    fn has_previews(&self, address: &Address) -> bool {
        self.shows_previews(address)
    }

    fn draft_pace(&self, address: &Address) -> Duration {
        self.pace_of_drafts(address)
    }

    async fn react(&self, address: &Address, event: &str, is_at_work: bool) -> bool {
        let Ok(place) = address.place.parse::<TelegramPlace>() else { return false };
        // A press of a button is no message.
        let Some(message) = message_of(event, place.chat) else { return false };
        let seen = is_at_work.then(|| ReactionType::Emoji { emoji: "👀".to_owned() });
        let react = |chat| {
            let mut react = SetMessageReaction::new(ChatId(chat), MessageId(message));
            react.reaction = Some(seen.clone().into_iter().collect());
            react
        };
        // A group may allow other reactions only, or none.
        self.in_chat::<IgnoredAny, _>(place, react).await.is_ok()
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        let (Ok(place), Ok(message)) = (address.place.parse(), receipt.parse()) else { return };
        let message = MessageId(message);
        // Best effort: it may be gone already.
        let _ = match what {
            Retract::Message => {
                self.in_chat::<IgnoredAny, _>(place, |chat| DeleteMessage::new(ChatId(chat), message)).await
            }
            Retract::Buttons => {
                self.in_chat(place, |chat| EditMessageReplyMarkup::new(ChatId(chat), message)).await
            }
        };
    }
}

impl Telegram {
    pub(crate) fn receipt(&self, place: TelegramPlace, message: i32, outbound: &Outbound) -> Delivery {
        self.ids.lock().add_sent(self.chat(place), message, &outbound.id, outbound.part);
        Delivery::Sent(message.to_string())
    }

    /// Edits the shown message into the part; nothing if there is none any more.
    async fn edit_shown(&self, outbound: &Outbound, draft: &Draft) -> Result<Option<i32>, ApiError> {
        let shown = outbound.edit_of.as_ref().filter(|_| outbound.part == 0);
        let Some(message) = shown.and_then(|receipt| receipt.parse().ok()) else { return Ok(None) };
        Ok(self.edit(draft, message).await?.then_some(message))
    }

    async fn probe(&self, outbound: &Outbound, draft: &Draft) -> Result<Option<i32>, ApiError> {
        // An edit is a delivery, and can be repeated.
        if let Some(message) = self.edit_shown(outbound, draft).await? {
            return Ok(Some(message));
        }
        for message in self.candidates(outbound, draft.place) {
            if is_it(self.edit(draft, message).await)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The messages that may be a part whose delivery was interrupted.
    pub(crate) fn candidates(&self, outbound: &Outbound, place: TelegramPlace) -> Vec<i32> {
        let Some(checkpoint) = outbound.checkpoint.as_ref().and_then(|checkpoint| checkpoint.parse().ok())
        else {
            return Vec::new();
        };
        let answered = outbound.answers.iter().filter_map(|event| message_of(event, place.chat));
        let after = answered.fold(checkpoint, i32::max);
        self.ids.lock().unknown_after(self.chat(place), after, PROBES)
    }

    pub(crate) async fn show_text(
        &self,
        address: &Address,
        receipt: Option<&str>,
        text: &str,
        reply_to: Option<i32>,
    ) -> Delivery {
        let (Ok(place), Some(part)) = (address.place.parse(), render::parts(text).into_iter().next()) else {
            return Delivery::Refused("there is no such chat".to_owned());
        };
        let draft = Draft { place, part, keyboard: None, reply_to };
        let Some(receipt) = receipt else {
            return match self.send(&draft).await {
                Ok(message) => {
                    self.ids.lock().add(self.chat(place), message);
                    Delivery::Sent(message.to_string())
                }
                Err(error) => error.into(),
            };
        };
        let Ok(message) = receipt.parse() else {
            return Delivery::Refused("there is no such message".to_owned());
        };
        match self.edit(&draft, message).await {
            Ok(true) => Delivery::Sent(receipt.to_owned()),
            Ok(false) => Delivery::Refused("the shown message is gone".to_owned()),
            Err(error) => error.into(),
        }
    }

    async fn send(&self, draft: &Draft) -> Result<i32, ApiError> {
        let make = |chat, text: &str, mode: Option<ParseMode>| {
            let mut message = SendMessage::new(ChatId(chat), text).link_preview_options(no_preview());
            message.message_thread_id = draft.place.thread.map(|thread| ThreadId(MessageId(thread)));
            message.parse_mode = mode;
            message.reply_markup = draft.keyboard.clone().map(Into::into);
            message.reply_parameters = draft
                .reply_to
                .map(|message| ReplyParameters::new(MessageId(message)).allow_sending_without_reply());
            message
        };
        let sent: SentMessage = self.formatted(draft.place, &draft.part, make).await?;
        Ok(sent.message_id)
    }

    /// Edits a message into the draft; false if it isn't ours or doesn't exist.
    async fn edit(&self, draft: &Draft, message: i32) -> Result<bool, ApiError> {
        let make = |chat, text: &str, mode: Option<ParseMode>| {
            let mut edit = EditMessageText::new(ChatId(chat), MessageId(message), text)
                .link_preview_options(no_preview());
            edit.parse_mode = mode;
            edit.reply_markup = draft.keyboard.clone();
            edit
        };
        match self.formatted::<IgnoredAny, _>(draft.place, &draft.part, make).await {
            Ok(_) => Ok(true),
            Err(error) if error.says(&["message is not modified"]) => Ok(true),
            Err(error) if error.says(&NO_SUCH_MESSAGE) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a call with the text as HTML, or as plain text if Telegram refuses that.
    pub(crate) async fn formatted<T: DeserializeOwned, P: Payload + Serialize + Send + Sync>(
        &self,
        place: TelegramPlace,
        part: &MessagePart,
        make: impl Fn(i64, &str, Option<ParseMode>) -> P + Send + Sync,
    ) -> Result<T, ApiError> {
        let plain = || self.in_chat(place, |chat| make(chat, &part.plain, None));
        if part.html.is_empty() {
            return plain().await;
        }
        match self.in_chat(place, |chat| make(chat, &part.html, Some(ParseMode::Html))).await {
            Err(error) if error.says(&["can't parse entities"]) => plain().await,
            result => result,
        }
    }

    /// Makes a call in a chat, also if it has moved.
    pub(crate) async fn in_chat<T: DeserializeOwned, P: Payload + Serialize + Send + Sync>(
        &self,
        place: TelegramPlace,
        make: impl Fn(i64) -> P + Send + Sync,
    ) -> Result<T, ApiError> {
        let result = self.api.call(&make(self.chat(place))).await;
        match self.moved_to(place, &result) {
            Some(chat) => self.api.call(&make(chat)).await,
            None => result,
        }
    }

    /// Where the chat has moved to, if that is why a call failed.
    pub(crate) fn moved_to<T>(&self, place: TelegramPlace, result: &Result<T, ApiError>) -> Option<i64> {
        let Err(ApiError::Moved(chat)) = result else { return None };
        self.moved.lock().insert(place.chat, *chat);
        Some(*chat)
    }

    /// The chat's id as it is now.
    pub(crate) fn chat(&self, place: TelegramPlace) -> i64 {
        self.moved.lock().get(&place.chat).copied().unwrap_or(place.chat)
    }
}

fn draft(outbound: &Outbound, place: TelegramPlace, part: MessagePart, choices: &[Choice]) -> Draft {
    // Groups have negative ids; others may have written there meanwhile.
    let answered = outbound.answers.first().filter(|_| place.chat < 0 && outbound.part == 0);
    let reply_to = answered.and_then(|event| message_of(event, place.chat));
    Draft { place, part, keyboard: render::keyboard(choices), reply_to }
}

/// Whether a probed message is the one, unless that can't be determined now.
pub(crate) fn is_it(probed: Result<bool, ApiError>) -> Result<bool, ApiError> {
    match probed {
        // Another reason why it isn't this one.
        Err(error @ ApiError::Refused { code: 400, .. }) if !error.says(&GONE) => Ok(false),
        probed => probed,
    }
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}
