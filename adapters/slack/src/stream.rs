//! Answers that grow in a stream while they are written.
//!
//! Only a thread can have a stream: <https://docs.slack.dev/reference/methods/chat.startStream>. Elsewhere, and where
//! Slack refuses one, the draft's message is edited. A turn has at most one stream; if what it shows turns out to be
//! wrong, edits go on with its message. A message can't be edited or deleted while its stream is open
//! (`streaming_state_conflict`, <https://docs.slack.dev/reference/methods/chat.update>), so whoever wants to stops it
//! first, also if another process began it. Race accepted: a process dies while it starts one, and Slack keeps the
//! first words.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use adjutant_chat::richtext::markup::ZERO_WIDTH_SPACE;
use adjutant_chat::{Address, AnswerDraft, Delivery, sanitized};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::Slack;
use crate::deliver;
use crate::place::SlackPlace;
use crate::respond::CommandId;
use crate::web_api::ApiError;

/// The error of an edit of a message whose stream is open.
pub(crate) const CONFLICT: &str = "streaming_state_conflict";

/// `chat.appendStream` takes 100 calls a minute in a workspace.
/// Source: <https://docs.slack.dev/apis/web-api/rate-limits>
const APPEND_PACE: Duration = Duration::from_millis(750);

/// `chat.update` takes 50 calls a minute, and the answer needs one of them.
const EDIT_PACE: Duration = Duration::from_millis(1_500);

/// Slack closes a stream about five minutes after its start.
/// Source: <https://github.com/slackapi/python-slack-sdk/issues/1859>
const LIFE: Duration = Duration::from_mins(4);

/// The longest stream, in bytes. Slack documents 12,000 characters a call, and takes fewer than 11,000 bytes in all.
/// Source: <https://github.com/openclaw/openclaw/pull/143882>
const LENGTH: usize = 9_000;

/// The pause if Slack names none.
const PAUSE: Duration = Duration::from_secs(5);

/// What mentions, links, emoji and escapes begin with, or continue with.
const RISKY: [char; 5] = ['<', '@', ':', '.', '&'];

/// Turns whose streams are known.
const TURNS: usize = 1_000;

/// The streams of this process.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Our workspace, with which a channel's stream names whom it is for.
    pub(crate) team: OnceCell<String>,
    of_turns: Mutex<HashMap<String, Stream>>,
    /// The channels where Slack refused one.
    refused: Mutex<HashSet<String>>,
}

#[derive(Debug, Clone)]
struct Stream {
    place: String,
    receipt: String,
    is_open: bool,
    /// What of the draft it shows.
    shown: String,
    /// In bytes, as Slack has it.
    length: usize,
    began: Instant,
    /// Slack takes nothing before.
    paused_until: Instant,
}

impl Streams {
    fn put(&self, draft: &AnswerDraft<'_>, stream: Stream) {
        let mut all = self.of_turns.lock();
        if all.len() >= TURNS && !all.contains_key(draft.turn) {
            all.clear();
        }
        all.insert(draft.turn.to_owned(), stream);
    }

    /// Whether the stream was open; whoever closes it here stops it at Slack.
    pub(crate) fn close(&self, receipt: &str) -> bool {
        let mut all = self.of_turns.lock();
        let open = all.values_mut().find(|one| one.is_open && one.receipt == receipt);
        open.map(|one| one.is_open = false).is_some()
    }

    pub(crate) fn pace(&self, address: &Address) -> Duration {
        let is_open = self.of_turns.lock().values().any(|one| one.is_open && one.place == address.place);
        if is_open { APPEND_PACE } else { EDIT_PACE }
    }
}

impl Slack {
    /// Shows a draft in a stream. Nothing if it has to be shown by an edit.
    pub(crate) async fn stream(&self, draft: &AnswerDraft<'_>) -> Option<Delivery> {
        let place = deliver::place(draft.address).ok()?;
        let text = sanitized(draft.text);
        // What follows decides what these are.
        let text = text.trim_end_matches(RISKY);
        let stream = self.streams.of_turns.lock().get(draft.turn).cloned();
        match stream {
            Some(stream) if stream.is_open && draft.receipt == Some(stream.receipt.as_str()) => {
                self.append_stream(draft, &place, stream, text).await
            }
            Some(_) => None,
            None => self.start_stream(draft, &place, text).await,
        }
    }

    async fn start_stream(
        &self,
        draft: &AnswerDraft<'_>,
        place: &SlackPlace,
        text: &str,
    ) -> Option<Delivery> {
        let (thread, written) = (place.thread?, disarmed(text));
        let is_private = draft.event.and_then(CommandId::of_event).is_some();
        let is_refused = self.streams.refused.lock().contains(&place.channel);
        if is_private || is_refused || text.trim().is_empty() || written.len() > LENGTH {
            return None;
        }
        let mut arguments =
            json!({"channel": place.channel, "thread_ts": thread.to_string(), "markdown_text": written});
        if !place.is_direct() {
            arguments["recipient_user_id"] = json!(self.cache.sender(draft.event?)?);
            arguments["recipient_team_id"] = json!(self.streams.team.get()?);
        }
        // A stream is a message of its own.
        if let Some(shown) = draft.receipt {
            self.delete(&place.channel, shown).await.ok()?;
        }
        let started = match self.bot.call("chat.startStream", &arguments).await {
            Ok(started) => started,
            Err(ApiError::Unclear) => return Some(Delivery::Unknown),
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "no stream is started");
                if matches!(error, ApiError::Refused(_) | ApiError::Scope(_)) {
                    self.streams.refused.lock().insert(place.channel.clone());
                }
                return None;
            }
        };
        let Some(receipt) = started["ts"].as_str() else { return Some(Delivery::Unknown) };
        self.remember(receipt);
        let now = Instant::now();
        let stream = Stream {
            place: draft.address.place.clone(),
            receipt: receipt.to_owned(),
            is_open: true,
            shown: text.to_owned(),
            length: written.len(),
            began: now,
            paused_until: now,
        };
        self.streams.put(draft, stream);
        Some(Delivery::Sent(receipt.to_owned()))
    }

    async fn append_stream(
        &self,
        draft: &AnswerDraft<'_>,
        place: &SlackPlace,
        mut stream: Stream,
        text: &str,
    ) -> Option<Delivery> {
        let written = disarmed(text.strip_prefix(stream.shown.as_str())?);
        if stream.began.elapsed() > LIFE || stream.length + written.len() > LENGTH {
            return None;
        }
        let sent = Delivery::Sent(stream.receipt.clone());
        if written.is_empty() || Instant::now() < stream.paused_until {
            return Some(sent);
        }
        let arguments = json!({"channel": place.channel, "ts": stream.receipt, "markdown_text": written});
        match self.bot.call("chat.appendStream", &arguments).await {
            Ok(_) => (stream.shown, stream.length) = (text.to_owned(), stream.length + written.len()),
            // This limit is not the answer's.
            Err(ApiError::TooMany(pause)) => stream.paused_until = Instant::now() + pause.unwrap_or(PAUSE),
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "a stream has ended early");
                return None;
            }
        }
        self.streams.put(draft, stream);
        Some(sent)
    }

    /// Stops a stream, whoever began it. False if there is none.
    pub(crate) async fn stop_stream(&self, channel: &str, receipt: &str) -> Result<bool, ApiError> {
        match self.bot.call("chat.stopStream", &json!({"channel": channel, "ts": receipt})).await {
            Ok(_) => Ok(true),
            Err(ApiError::Refused(_) | ApiError::NoMessage) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Markdown in which Slack finds no mention, link or picture, so that it notifies nobody and fetches nothing: a stream
/// has no argument that forbids previews.
fn disarmed(text: &str) -> String {
    let mut disarmed = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        disarmed.push(char);
        if RISKY.contains(&char) && chars.peek().is_some_and(|next| !next.is_whitespace()) {
            disarmed.push_str(ZERO_WIDTH_SPACE);
        }
    }
    disarmed
}
