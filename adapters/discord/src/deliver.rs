//! Sends, edits and finds messages.

use std::time::Duration;

use adjutant_chat::{
    Address, AnswerDraft, ChatPort, Delivery, DownloadError, FileDownload, Limits, Outbound, OutgoingPart,
    Reconciliation, Retract,
};
use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, MessageId};

use crate::rest::{self, ApiError};
use crate::{Discord, attachments, id_of, render};

/// No link gets a preview: nobody asked for it, and Discord fetches previews, so a text could leak something through
/// the address.
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-flags>
const SUPPRESS_EMBEDS: u64 = 1 << 2;

/// The message is a voice message: nothing but its one file, of which Discord wants to know the length and the loudness.
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// Messages in a page.
pub(crate) const PAGE: usize = 100;

/// Pages that are read for one reconciliation.
const PAGES: usize = 10;

/// Discord's codes for a channel that doesn't exist or is closed to us.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes>
const NO_CHANNEL: [isize; 3] = [10003, 50001, 50007];
const NO_PERMISSION: isize = 50013;

/// A channel takes five edits in five seconds, in practice: <https://github.com/discord/discord-api-docs/issues/20>. At
/// this pace the fifth is free for the answer itself.
const DRAFT_PACE: Duration = Duration::from_millis(1_300);

const SEEN: &str = "👀";

#[async_trait]
impl ChatPort for Discord {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        Limits { edits: true, files: true }
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(render::texts(outbound).len())
    }

    /// The newest message known to be in the channel: what is sent next has a greater id.
    async fn checkpoint(&self, address: &Address) -> Option<String> {
        let channel = channel(address).ok()?;
        let known = self.channels.get(channel).newest;
        if known > 0 {
            return Some(known.to_string());
        }
        // The first message to this channel: only Discord knows.
        let page = page(self, channel, vec![("limit", "1".to_owned())]).await.ok()?;
        let newest = page.last().and_then(id_of).unwrap_or_default();
        self.channels.add_message(channel, newest);
        Some(newest.to_string())
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        self.send_part(outbound).await.map_or_else(|failed| failed, Delivery::Sent)
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        match self.find_sent(outbound).await {
            Ok(Some(id)) => Reconciliation::Sent(id.to_string()),
            // If the channel is closed, sending again finds out.
            Ok(None) | Err(ApiError::Closed(..)) => Reconciliation::NotSent,
            Err(_) => Reconciliation::Unavailable,
        }
    }

    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        attachments::download(self, file, into).await
    }

    async fn typing(&self, address: &Address) {
        let Ok(channel_id) = channel(address) else { return };
        let route = Route::ChannelTyping { channel_id };
        if let Err(error) = rest::call(&self.rest, LightMethod::Post, route, None).await {
            tracing::debug!(channel = self.channel, %error, "typing was not shown");
        }
    }

    async fn react(&self, address: &Address, event: &str, is_at_work: bool) -> bool {
        let (Ok(channel_id), Some(message_id)) = (channel(address), message_id(event)) else { return false };
        if self.channels.get(channel_id).takes_no_reactions {
            return false;
        }
        let method = if is_at_work { LightMethod::Put } else { LightMethod::Delete };
        let route = Route::ChannelMessageReactionMe { channel_id, message_id, reaction: SEEN };
        let done = rest::call(&self.rest, method, route, None).await;
        if let Err(error) = &done {
            tracing::debug!(channel = self.channel, %error, "a reaction was not changed");
            if matches!(error, ApiError::Closed(NO_PERMISSION, _)) {
                self.channels.change(channel_id, |state| state.takes_no_reactions = true);
            }
        }
        done.is_ok()
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        self.show_text(address, None, receipt, text).await.map_or_else(|failed| failed, Delivery::Sent)
    }

    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        match self.show_text(draft.address, draft.event, draft.receipt, draft.text).await {
            Ok(receipt) => Delivery::Sent(receipt),
            // Only what Discord demands delays the answer.
            Err(Delivery::Retry(None)) => Delivery::Retry(Some(Duration::ZERO)),
            Err(failed) => failed,
        }
    }

    fn draft_pace(&self, _: &Address) -> Duration {
        DRAFT_PACE
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        let (Ok(channel_id), Some(message_id)) = (channel(address), message_id(receipt)) else { return };
        let route = Route::ChannelMessage { channel_id, message_id };
        let bare = json!({"components": []});
        let done = match what {
            Retract::Message => rest::call(&self.rest, LightMethod::Delete, route, None).await,
            Retract::Buttons => rest::call(&self.rest, LightMethod::Patch, route, Some(&bare)).await,
        };
        if let Err(error) = done {
            tracing::debug!(channel = self.channel, %error, "a message or its buttons were not removed");
        }
    }
}

impl Discord {
    /// The receipt, or why there is none.
    async fn send_part(&self, outbound: &Outbound) -> Result<String, Delivery> {
        let channel = channel(&outbound.address)?;
        let (content, choices) = match outbound.part_of(render::texts(outbound)) {
            Some(OutgoingPart::Text(content, choices)) => (content, choices),
            Some(file) => return self.send_file(channel, outbound, &file).await,
            None => return Err(Delivery::Refused(format!("there is no part {}", outbound.part))),
        };
        let mut body = body(&content, render::buttons(choices));
        if let Some(shown) = outbound.edit_of.as_deref().filter(|_| outbound.part == 0)
            && self.edit(channel, shown, &body).await?
        {
            return Ok(shown.to_owned());
        }
        set_nonce(&mut body, outbound);
        self.set_reference(&mut body, channel, outbound.answers.last().filter(|_| outbound.part == 0));
        self.send(channel, &body).await
    }

    /// In company it replies to the message that it answers.
    fn set_reference(&self, body: &mut Value, channel: ChannelId, answered: Option<impl AsRef<str>>) {
        let answered = answered.and_then(|answered| message_id(answered.as_ref()));
        if let (Some(answered), Some(false)) = (answered, self.channels.get(channel).direct) {
            body["message_reference"] =
                json!({"message_id": answered.to_string(), "fail_if_not_exists": false});
        }
    }

    async fn send_file(
        &self,
        channel_id: ChannelId,
        outbound: &Outbound,
        part: &OutgoingPart<'_, String>,
    ) -> Result<String, Delivery> {
        let file = part.file().unwrap_or_default();
        let mut body = body("", json!([]));
        body["attachments"] = json!([{"id": 0, "filename": file.0}]);
        if let OutgoingPart::Voice(voice) = part {
            let seconds = voice.milliseconds as f64 / 1000.0;
            body["flags"] = json!(IS_VOICE_MESSAGE);
            body["attachments"][0]["duration_secs"] = json!(seconds);
            body["attachments"][0]["waveform"] = json!(BASE64_STANDARD.encode(&voice.waveform));
        }
        set_nonce(&mut body, outbound);
        let route = Route::ChannelMessages { channel_id };
        match rest::upload(&self.rest, route, &body, file).await {
            Ok(message) => self.receipt(channel_id, &message),
            // Without the permission to attach files, Discord answers as without the permission to write, and it has
            // more reasons than it documents. If it isn't the file, the text sent instead finds out.
            Err(ApiError::Closed(code, why)) if !NO_CHANNEL.contains(&code) => {
                Err(Delivery::FileRefused(why))
            }
            Err(ApiError::Refused(why)) => Err(Delivery::FileRefused(why)),
            Err(error) => Err(error.into()),
        }
    }

    async fn show_text(
        &self,
        address: &Address,
        answered: Option<&str>,
        shown: Option<&str>,
        text: &str,
    ) -> Result<String, Delivery> {
        let channel = channel(address)?;
        let content = render::parts(text).into_iter().next().unwrap_or_default();
        let mut body = body(&content, json!([]));
        if let Some(shown) = shown
            && self.edit(channel, shown, &body).await?
        {
            return Ok(shown.to_owned());
        }
        self.set_reference(&mut body, channel, answered);
        self.send(channel, &body).await
    }

    /// Looks through the messages after the checkpoint. Discord forgets a nonce after a few minutes, so a message of
    /// ours with the same text, or with a file of the same name and size, counts too: only one delivery at a time is
    /// under way in a channel.
    async fn find_sent(&self, outbound: &Outbound) -> Result<Option<u64>, ApiError> {
        let part = outbound.part_of(render::texts(outbound));
        let (Ok(channel), Some(part)) = (channel(&outbound.address), part) else { return Ok(None) };
        let (me, nonce) = (self.me().await?.to_string(), nonce(outbound));
        let is_same = |message: &Value| match &part {
            OutgoingPart::Text(content, _) => message["content"] == *content,
            part => part.file().is_some_and(|file| {
                message["attachments"].as_array().into_iter().flatten().any(|one| is_file(one, file))
            }),
        };
        let is_it = |message: &&Value| {
            message["author"]["id"] == *me && (message["nonce"] == *nonce || is_same(message))
        };
        // The messages that it answers are older, too.
        let answered = outbound.answers.iter().filter_map(|answered| answered.parse().ok());
        let checkpoint = outbound.checkpoint.iter().filter_map(|checkpoint| checkpoint.parse::<u64>().ok());
        let mut after = checkpoint.chain(answered).max();
        for _ in 0..PAGES {
            let page = match after {
                Some(after) => since(self, channel, after).await?,
                None => page(self, channel, vec![("limit", "50".to_owned())]).await?,
            };
            if let Some(id) = page.iter().find(is_it).and_then(id_of) {
                return Ok(Some(id));
            }
            if after.is_none() || !is_full(&page) {
                break;
            }
            after = page.last().and_then(id_of);
        }
        Ok(None)
    }

    async fn send(&self, channel_id: ChannelId, body: &Value) -> Result<String, Delivery> {
        let route = Route::ChannelMessages { channel_id };
        let message = rest::call(&self.rest, LightMethod::Post, route, Some(body)).await?;
        self.receipt(channel_id, &message)
    }

    fn receipt(&self, channel: ChannelId, message: &Value) -> Result<String, Delivery> {
        let id = id_of(message).ok_or(Delivery::Unknown)?;
        self.channels.add_message(channel, id);
        Ok(id.to_string())
    }

    /// Edits a message; false if somebody has deleted it.
    async fn edit(&self, channel_id: ChannelId, receipt: &str, body: &Value) -> Result<bool, ApiError> {
        let Some(message_id) = message_id(receipt) else { return Ok(false) };
        let route = Route::ChannelMessage { channel_id, message_id };
        match rest::call(&self.rest, LightMethod::Patch, route, Some(body)).await {
            Ok(_) => Ok(true),
            Err(ApiError::NoMessage) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether an attachment is this file. Discord strips these characters from the ends of a name:
/// <https://github.com/discord/discord-api-docs/issues/4847>.
fn is_file(attachment: &Value, (name, content): (&str, &[u8])) -> bool {
    let bare = |name: &str| name.trim_matches(['_', '.']).to_owned();
    attachment["size"] == content.len() && attachment["filename"].as_str().map(bare) == Some(bare(name))
}

/// The messages after one, oldest first, at most [`PAGE`].
pub(crate) async fn since(discord: &Discord, channel: ChannelId, after: u64) -> Result<Vec<Value>, ApiError> {
    page(discord, channel, vec![("limit", PAGE.to_string()), ("after", after.to_string())]).await
}

/// Whether a page was full, so that there may be more.
pub(crate) fn is_full(page: &[Value]) -> bool {
    page.len() >= PAGE
}

/// Messages of a channel, oldest first.
pub(crate) async fn page(
    discord: &Discord,
    channel_id: ChannelId,
    params: Vec<(&'static str, String)>,
) -> Result<Vec<Value>, ApiError> {
    match rest::read(&discord.rest, Route::ChannelMessages { channel_id }, params).await? {
        Value::Array(mut page) => {
            page.sort_by_key(id_of);
            Ok(page)
        }
        _ => Err(ApiError::Unclear),
    }
}

fn body(content: &str, buttons: Value) -> Value {
    json!({
        "content": content,
        "components": buttons,
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": {"parse": [], "replied_user": false},
    })
}

/// Discord ignores a second message with the same nonce if it comes soon.
fn set_nonce(body: &mut Value, outbound: &Outbound) {
    body["nonce"] = json!(nonce(outbound));
    body["enforce_nonce"] = json!(true);
}

/// Identifies a part of a message; Discord allows 25 characters.
fn nonce(outbound: &Outbound) -> String {
    format!("{}{:03}", outbound.id, outbound.part)
}

impl From<ApiError> for Delivery {
    fn from(error: ApiError) -> Self {
        match error {
            // The message can wait until the token is fixed.
            ApiError::Token | ApiError::Unreachable => Self::Retry(None),
            ApiError::TooMany(pause) => Self::Retry(pause),
            ApiError::Closed(_, why) => Self::Gone(why),
            ApiError::Refused(why) => Self::Refused(why),
            ApiError::NoMessage => Self::Refused(error.to_string()),
            ApiError::Unclear => Self::Unknown,
        }
    }
}

pub(crate) fn channel(address: &Address) -> Result<ChannelId, Delivery> {
    let id = address.place.parse().ok().filter(|id| *id > 0);
    id.map(ChannelId::new)
        .ok_or_else(|| Delivery::Gone(format!("“{}” is not a Discord channel", address.place)))
}

fn message_id(receipt: &str) -> Option<MessageId> {
    receipt.parse().ok().filter(|id| *id > 0).map(MessageId::new)
}
