//! Sends, edits and finds messages.

use std::time::Duration;

use adjutant_chat::{
    Address, AnswerDraft, ChatPort, Choice, Delivery, DownloadError, FileDownload, Limits, Outbound,
    OutgoingPart, Progress, Reconciliation, Retract,
};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::place::{SlackPlace, Ts};
use crate::render::{self, MessagePart};
use crate::respond::CommandId;
use crate::web_api::ApiError;
use crate::{Slack, attachments, files, stream};

const METADATA: &str = "adjutant";

/// Messages in a page.
const PAGE: usize = 200;

/// Pages that are read for one reconciliation.
const PAGES: usize = 10;

/// Reconciliation starts this many seconds before the checkpoint, because Slack's clocks may differ.
const MARGIN: u64 = 60;

/// Our reaction: 👀.
const SEEN: &str = "eyes";

/// The error where another process has put it there.
const STANDS: &str = "already_reacted";

/// Errors that another try without blocks may avoid.
const BLOCK_ERRORS: [&str; 5] =
    ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"];

/// The error of an edit that would replace rich text, as a stream leaves it, with other blocks.
/// Source: <https://docs.slack.dev/reference/methods/chat.update>
const MISMATCH: &str = "block_mismatch";

#[async_trait]
impl ChatPort for Slack {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        Limits { edits: true, files: true }
    }

    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(render::texts(outbound).len())
    }

    async fn seed(&self, _: &Address, ids: &[String]) {
        ids.iter().filter_map(|id| Ts::of_event(id)).for_each(|ts| self.cache.add_message(ts));
    }

    async fn checkpoint(&self, _: &Address) -> Option<String> {
        self.cache.newest().map(|ts| ts.to_string())
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        self.send_part(outbound).await.map_or_else(|failed| failed, Delivery::Sent)
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        let part = outbound.part_of(render::texts(outbound));
        if let Some((file, _)) = part.as_ref().and_then(OutgoingPart::file) {
            return files::reconcile(self, outbound, file).await;
        }
        let is_it = |message: &Value| {
            let metadata = &message["metadata"];
            let payload = &metadata["event_payload"];
            metadata["event_type"] == METADATA
                && payload["id"] == outbound.id
                && payload["part"] == outbound.part
        };
        self.find_sent(outbound, is_it).await
    }

    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        attachments::download(self, file, into).await
    }

    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        self.show_text(address, receipt, text).await.map_or_else(|failed| failed, Delivery::Sent)
    }

    async fn show_progress(
        &self,
        event: Option<&str>,
        address: &Address,
        receipt: Option<&str>,
        text: &str,
    ) -> Delivery {
        match event.and_then(CommandId::of_event) {
            Some(command) => self.show_for_command(&command, address, receipt, text).await,
            None => self.show(address, receipt, text).await,
        }
    }

    async fn show_agents(
        &self,
        event: Option<&str>,
        receipt: Option<&str>,
        progress: &Progress,
    ) -> Option<Delivery> {
        self.task_cards(event, receipt, progress).await
    }

    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        match self.stream(draft).await {
            Some(shown) => shown,
            // It wasn't the answer, and nothing is shown.
            None if draft.text.is_empty() && draft.receipt.is_none() => Delivery::Sent(String::new()),
            None => self.show_progress(draft.event, draft.address, draft.receipt, draft.text).await,
        }
    }

    fn draft_pace(&self, address: &Address) -> Duration {
        self.streams.pace(address)
    }

    async fn react(&self, address: &Address, event: &str, is_at_work: bool) -> bool {
        let Ok(place) = place(address) else { return false };
        // Presses and commands are no messages.
        let ts = event.strip_prefix(&place.channel).and_then(|rest| rest.strip_prefix(':'));
        let Some(ts) = ts.filter(|ts| ts.parse::<Ts>().is_ok()) else { return false };
        let method = if is_at_work { "reactions.add" } else { "reactions.remove" };
        let arguments = json!({"channel": place.channel, "timestamp": ts, "name": SEEN});
        match self.bot.call(method, &arguments).await {
            Ok(_) => true,
            Err(ApiError::Refused(why)) if why == STANDS => true,
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "a reaction was not changed");
                false
            }
        }
    }

    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        let (Ok(place), Ok(ts)) = (place(address), receipt.parse()) else { return };
        let done = match what {
            Retract::Message => self.delete(&place.channel, receipt).await,
            Retract::Buttons => self.remove_buttons(&place, ts).await,
        };
        if let Err(error) = done {
            tracing::debug!(channel = self.channel, %error, "a message or its buttons were not removed");
        }
    }
}

impl Slack {
    /// The receipt, or why there is none.
    async fn send_part(&self, outbound: &Outbound) -> Result<String, Delivery> {
        let place = place(&outbound.address)?;
        let command = CommandId::of(outbound);
        let (part, choices) = match outbound.part_of(render::texts(outbound)) {
            Some(OutgoingPart::Text(part, choices)) => (part, choices),
            // A file can't be shown to one person alone; its content can.
            Some(_) if command.is_some() => {
                return Err(Delivery::FileRefused("the answer to a command is for one person".to_owned()));
            }
            Some(file) => return files::send(self, outbound, &place, file.file().unwrap_or_default()).await,
            None => return Err(Delivery::Refused(format!("the message has no part {}", outbound.part))),
        };
        let mut message = message(&place, &part, choices);
        if let Some(command) = command {
            return self.answer_command(outbound, &command, &message, &part).await;
        }
        let payload = json!({"id": outbound.id, "part": outbound.part});
        message["metadata"] = json!({"event_type": METADATA, "event_payload": payload});
        let shown = outbound.edit_of.as_deref().filter(|_| outbound.part == 0);
        Ok(self.put(&message, &part, shown).await?)
    }

    pub(crate) async fn show_text(
        &self,
        address: &Address,
        shown: Option<&str>,
        text: &str,
    ) -> Result<String, Delivery> {
        let place = place(address)?;
        let parts = render::parts(text);
        let part = parts.first().ok_or_else(|| Delivery::Refused("there is nothing to show".to_owned()))?;
        let message = message(&place, part, &[]);
        Ok(self.put(&message, part, shown).await?)
    }

    /// Shows a text to one person only; best effort.
    pub(crate) async fn show_privately(&self, address: &Address, person: &str, text: &str) {
        let Ok(place) = place(address) else { return };
        let mut message = json!({"channel": place.channel, "user": person, "text": render::escaped(text)});
        if let Some(thread) = place.thread {
            message["thread_ts"] = json!(thread.to_string());
        }
        if let Err(error) = self.bot.call("chat.postEphemeral", &message).await {
            tracing::debug!(channel = self.channel, %error, "a notice was not shown");
        }
    }

    /// Looks through the messages after the checkpoint.
    pub(crate) async fn find_sent(
        &self,
        outbound: &Outbound,
        is_it: impl Fn(&Value) -> bool,
    ) -> Reconciliation {
        let Ok(place) = place(&outbound.address) else { return Reconciliation::NotSent };
        let after = outbound.checkpoint.as_deref().and_then(|checkpoint| checkpoint.parse::<Ts>().ok());
        let messages = match self.messages_after(&place, after.map(|ts| ts.before(MARGIN)), PAGES).await {
            Ok(messages) => messages,
            // Sending it again finds out.
            Err(ApiError::Closed(_)) => return Reconciliation::NotSent,
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "can't reconcile");
                return Reconciliation::Unavailable;
            }
        };
        let found = messages.iter().find(|message| is_it(message)).and_then(|message| message["ts"].as_str());
        let Some(ts) = found else { return Reconciliation::NotSent };
        self.remember(ts);
        Reconciliation::Sent(ts.to_owned())
    }

    /// The messages of a place after a time (without one, the newest page), oldest first, with their metadata; at
    /// most this many pages.
    pub(crate) async fn messages_after(
        &self,
        place: &SlackPlace,
        after: Option<Ts>,
        pages: usize,
    ) -> Result<Vec<Value>, ApiError> {
        let mut arguments = place_arguments(place);
        arguments.extend([("limit", PAGE.to_string()), ("include_all_metadata", "true".to_owned())]);
        arguments.extend(after.map(|after| ("oldest", after.to_string())));
        let pages = if after.is_some() { pages } else { 1 };
        let mut all = self.bot.list(history_method(place), "messages", &arguments, pages, Some).await?;
        let ts = |message: &Value| message["ts"].as_str().and_then(|ts| ts.parse::<Ts>().ok());
        // Slack always includes a thread's first message.
        all.retain(|message| ts(message).is_some_and(|ts| after.is_none_or(|after| ts > after)));
        all.sort_by_key(ts);
        Ok(all)
    }

    /// Sends the message again without its buttons; only Slack knows its text.
    async fn remove_buttons(&self, place: &SlackPlace, ts: Ts) -> Result<(), ApiError> {
        let mut arguments = place_arguments(place);
        let at = ts.to_string();
        arguments.extend([("oldest", at.clone()), ("latest", at.clone()), ("inclusive", "true".to_owned())]);
        let page = self.bot.read(history_method(place), &arguments).await?;
        let mut messages = page["messages"].as_array().into_iter().flatten();
        let message = messages.find(|message| message["ts"] == *at).ok_or(ApiError::NoMessage)?;
        let blocks = message["blocks"].as_array().into_iter().flatten();
        let bare: Vec<&Value> = blocks.clone().filter(|block| block["type"] != "actions").collect();
        if bare.len() == blocks.count() {
            return Ok(());
        }
        let message = json!({"channel": place.channel, "ts": at, "text": message["text"], "blocks": bare});
        self.bot.call("chat.update", &message).await.map(drop)
    }

    /// Edits what is shown into a message; sends the message if nothing is.
    async fn put(
        &self,
        message: &Value,
        part: &MessagePart,
        shown: Option<&str>,
    ) -> Result<String, ApiError> {
        if let Some(shown) = shown
            && self.edit(message, part, shown).await?
        {
            return Ok(shown.to_owned());
        }
        let sent = self.with_plain_fallback("chat.postMessage", message, part).await?;
        let ts = sent["ts"].as_str().ok_or(ApiError::Unclear)?;
        self.remember(ts);
        Ok(ts.to_owned())
    }

    /// Edits a message; false if it is gone.
    async fn edit(&self, message: &Value, part: &MessagePart, receipt: &str) -> Result<bool, ApiError> {
        let channel = message["channel"].as_str().unwrap_or_default();
        let mut message = message.clone();
        message["ts"] = json!(receipt);
        if self.streams.close(receipt) {
            self.stop_stream(channel, receipt).await?;
        }
        let mut edited = self.with_plain_fallback("chat.update", &message, part).await;
        if matches!(&edited, Err(ApiError::Refused(why)) if why == stream::CONFLICT) {
            self.stop_stream(channel, receipt).await?;
            edited = self.with_plain_fallback("chat.update", &message, part).await;
        }
        match edited {
            Ok(_) => Ok(true),
            Err(ApiError::NoMessage) => Ok(false),
            Err(ApiError::Refused(why)) if why == MISMATCH => {
                self.delete(channel, receipt).await.map(|()| false)
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes a message of ours, if it is still there.
    pub(crate) async fn delete(&self, channel: &str, receipt: &str) -> Result<(), ApiError> {
        let message = json!({"channel": channel, "ts": receipt});
        if self.streams.close(receipt) {
            self.stop_stream(channel, receipt).await?;
        }
        let mut deleted = self.bot.call("chat.delete", &message).await;
        // It is gone, or its stream is open.
        if deleted == Err(ApiError::NoMessage) && self.stop_stream(channel, receipt).await? {
            deleted = self.bot.call("chat.delete", &message).await;
        }
        match deleted {
            Ok(_) | Err(ApiError::NoMessage) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn remember(&self, ts: &str) {
        if let Ok(ts) = ts.parse() {
            self.cache.add_message(ts);
        }
    }

    /// If Slack refuses the blocks, the message is sent once more as plain text.
    pub(crate) async fn with_plain_fallback(
        &self,
        method: &str,
        message: &Value,
        part: &MessagePart,
    ) -> Result<Value, ApiError> {
        match self.bot.call(method, message).await {
            Err(ApiError::Refused(why)) if BLOCK_ERRORS.contains(&why.as_str()) => {
                tracing::warn!(channel = self.channel, why, "sent as plain text");
                let mut message = message.clone();
                set_plain(&mut message, part);
                self.bot.call(method, &message).await
            }
            done => done,
        }
    }
}

pub(crate) fn history_method(place: &SlackPlace) -> &'static str {
    if place.thread.is_some() { "conversations.replies" } else { "conversations.history" }
}

pub(crate) fn place_arguments(place: &SlackPlace) -> Vec<(&'static str, String)> {
    let thread = place.thread.map(|thread| ("ts", thread.to_string()));
    [("channel", place.channel.clone())].into_iter().chain(thread).collect()
}

pub(crate) fn message(place: &SlackPlace, part: &MessagePart, choices: &[Choice]) -> Value {
    let mut message = json!({
        "channel": place.channel,
        "text": part.notification(),
        // Nobody asked for previews, and Slack fetches them, so a text could leak something through the address.
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(thread) = place.thread {
        message["thread_ts"] = json!(thread.to_string());
    }
    match part.sections.is_empty() {
        true => set_plain(&mut message, part),
        false => message["blocks"] = part.blocks(choices),
    }
    message
}

fn set_plain(message: &mut Value, part: &MessagePart) {
    message["text"] = json!(part.plain);
    message["mrkdwn"] = json!(false);
    // Without an empty list, an edit would keep the old blocks.
    message["blocks"] = json!([]);
}

impl From<ApiError> for Delivery {
    fn from(error: ApiError) -> Self {
        match error {
            // The message can wait until the token and its scopes are fixed.
            ApiError::Token(_) | ApiError::Scope(_) | ApiError::Unreachable => Self::Retry(None),
            ApiError::TooMany(pause) => Self::Retry(pause),
            ApiError::Closed(why) => Self::Gone(why),
            ApiError::Refused(why) => Self::Refused(why),
            ApiError::NoMessage => Self::Refused(error.to_string()),
            ApiError::Unclear => Self::Unknown,
        }
    }
}

pub(crate) fn place(address: &Address) -> Result<SlackPlace, Delivery> {
    let place = address.place.parse();
    place.map_err(|_| Delivery::Gone(format!("“{}” is not a Slack channel", address.place)))
}
