//! Shows an answer while it is written: in a private chat as Telegram's preview, elsewhere by edits of a message.
//!
//! A preview is no message. It vanishes after 30 seconds or with our next message, and grows with an animation as
//! long as its id stays the same. Sources: <https://core.telegram.org/bots/api#sendmessagedraft> (Bot API 9.3, for
//! all bots since 9.5), <https://github.com/NousResearch/hermes-agent/pull/17179>.

use std::time::{Duration, Instant};

use adjutant_chat::{Address, AnswerDraft, Delivery, TextPart};
use serde::Serialize;
use serde::de::IgnoredAny;
use teloxide::requests::Payload;
use teloxide::types::ParseMode;

use crate::Telegram;
use crate::api::ApiError;
use crate::deliver::GONE;
use crate::place::{TelegramPlace, message_of};
use crate::render::{self, MessagePart};

/// Telegram says nothing about it. As others have measured, it refuses more than nine a second for long.
const PREVIEW_PACE: Duration = Duration::from_millis(400);

/// A chat takes a message a second, and a group 20 a minute; some are left for the answer itself.
/// Source: <https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this>
const EDIT_PACE: Duration = Duration::from_millis(1_200);
const GROUP_PACE: Duration = Duration::from_millis(3_200);

/// How long a preview may take. The answer waits for it.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(2);

/// What a private chat takes of answers that are being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftLimit {
    /// Nothing before this time.
    Paused(Instant),
    /// No previews, as on a server of an older version.
    NoPreviews,
}

#[derive(Serialize)]
struct SendMessageDraft {
    chat_id: i64,
    draft_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i32>,
    /// If it is empty, apps show "Thinking…".
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parse_mode: Option<ParseMode>,
}

impl Payload for SendMessageDraft {
    type Output = bool;
    const NAME: &'static str = "SendMessageDraft";
}

impl Telegram {
    pub(crate) async fn show_answer(&self, draft: &AnswerDraft<'_>) -> Delivery {
        let shown = Delivery::Sent(draft.receipt.unwrap_or_default().to_owned());
        let Ok(place) = draft.address.place.parse::<TelegramPlace>() else {
            return Delivery::Refused("there is no such chat".to_owned());
        };
        let limit = self.draft_limits.lock().get(&place.chat).copied();
        if matches!(limit, Some(DraftLimit::Paused(until)) if Instant::now() < until) {
            return shown;
        }
        let has_previews = self.shows_previews(draft.address);
        if has_previews && draft.receipt.is_none() {
            return self.show_preview(place, draft).await;
        }
        if draft.text.is_empty() {
            return shown;
        }
        if has_previews {
            // The pace of previews is too fast for edits.
            self.pause_drafts(place, EDIT_PACE);
        }
        self.show_draft_message(place, draft).await
    }

    async fn show_preview(&self, place: TelegramPlace, draft: &AnswerDraft<'_>) -> Delivery {
        let shown = Delivery::Sent(String::new());
        let part = match draft.text {
            "" => MessagePart::of_plain(String::new()),
            text => match render::parts(text).into_iter().next() {
                Some(part) => part,
                None => return shown,
            },
        };
        let draft_id = draft_id(draft);
        let make = |chat_id, text: &str, parse_mode| SendMessageDraft {
            chat_id,
            draft_id,
            message_thread_id: place.thread,
            text: text.to_owned(),
            parse_mode,
        };
        let sending = self.formatted::<IgnoredAny, _>(place, &part, make);
        let sent = tokio::time::timeout(PREVIEW_TIMEOUT, sending).await;
        let Err(error) = sent.unwrap_or(Ok(IgnoredAny)) else { return shown };
        match error {
            // Each method has its own limit, so the answer needn't wait.
            // Source: <https://core.telegram.org/api/errors#420-flood>
            ApiError::Flood(pause) => self.pause_drafts(place, pause),
            // Older servers require a text: <https://github.com/nullclaw/nullclaw/issues/338>
            ApiError::Refused { code: 400 | 404, .. } if draft.text.is_empty() => {}
            ApiError::Refused { code: 400 | 404, .. } if !error.says(&GONE) => {
                self.draft_limits.lock().insert(place.chat, DraftLimit::NoPreviews);
                return self.show_draft_message(place, draft).await;
            }
            // What else went wrong, the next one or the answer finds out.
            _ => {
                if let gone @ Delivery::Gone(_) = Delivery::from(error) {
                    return gone;
                }
            }
        }
        shown
    }

    /// In a group it replies, like the answer: others may have written there meanwhile.
    async fn show_draft_message(&self, place: TelegramPlace, draft: &AnswerDraft<'_>) -> Delivery {
        let event = draft.event.filter(|_| place.chat < 0);
        let reply_to = event.and_then(|event| message_of(event, place.chat));
        self.show_text(draft.address, draft.receipt, draft.text, reply_to).await
    }

    fn pause_drafts(&self, place: TelegramPlace, pause: Duration) {
        let limit = Instant::now().checked_add(pause).map_or(DraftLimit::NoPreviews, DraftLimit::Paused);
        self.draft_limits.lock().insert(place.chat, limit);
    }

    pub(crate) fn shows_previews(&self, address: &Address) -> bool {
        let chat = address.place.parse().map_or(0, |place: TelegramPlace| place.chat);
        // Groups have negative ids.
        chat > 0 && self.draft_limits.lock().get(&chat) != Some(&DraftLimit::NoPreviews)
    }

    pub(crate) fn pace_of_drafts(&self, address: &Address) -> Duration {
        let Ok(place) = address.place.parse::<TelegramPlace>() else { return GROUP_PACE };
        match self.draft_limits.lock().get(&place.chat) {
            _ if place.chat < 0 => GROUP_PACE,
            Some(DraftLimit::NoPreviews) => EDIT_PACE,
            _ => PREVIEW_PACE,
        }
    }
}

/// The same for a turn in every process, and never 0.
fn draft_id(draft: &AnswerDraft<'_>) -> u32 {
    // FNV-1a. Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
    let next = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    // Positive also where ids are signed.
    (draft.turn.bytes().fold(0x811c_9dc5, next) >> 1) | 1
}
