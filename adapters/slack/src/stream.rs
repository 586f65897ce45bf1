//! Answers that grow in a stream while they are written, and agents at work as task cards.
//!
//! Only a thread can have a stream: <https://docs.slack.dev/reference/methods/chat.startStream>. Elsewhere, and where
//! Slack refuses one, the message is edited. A turn's answer has at most one stream; if what it shows turns out to be
//! wrong, edits go on with its message. A stream takes only what it began with, text or chunks
//! (`streaming_mode_mismatch`, <https://docs.slack.dev/reference/methods/chat.appendStream>), so cards have a stream of
//! their own, whose place the answer takes. A message can't be edited or deleted while its stream is open
//! (`streaming_state_conflict`, <https://docs.slack.dev/reference/methods/chat.update>), so whoever wants to stops it
//! first, also if another process began it. Race accepted: a process dies while it starts one, and Slack keeps the
//! first words.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use adjutant_chat::richtext::markup::ZERO_WIDTH_SPACE;
use adjutant_chat::{Address, AgentProgress, AnswerDraft, Delivery, Progress, one_line, sanitized};
use adjutant_l10n::turns;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::place::SlackPlace;
use crate::respond::CommandId;
use crate::web_api::ApiError;
use crate::{Slack, cache, deliver};

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

/// The longest name of an agent on its card, in characters. Slack takes 256.
const CARD: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Our workspace, with which a channel's stream names whom it is for.
    pub(crate) team: OnceCell<String>,
    /// What of a draft is shown, and the cards of its agents.
    drafts: StreamsOf<String>,
    cards: StreamsOf<Vec<Value>>,
}

/// Streams that show the same kind of thing.
#[derive(Debug, Default)]
struct StreamsOf<T> {
    by_turn: Mutex<HashMap<String, Stream<T>>>,
    /// The channels where Slack refused one.
    refused: Mutex<HashSet<String>>,
}

#[derive(Debug, Clone)]
struct Stream<T> {
    place: String,
    receipt: String,
    is_open: bool,
    shown: T,
    began: Instant,
    /// Slack takes nothing before.
    paused_until: Instant,
}

impl<T> Stream<T> {
    fn new(place: &SlackPlace, receipt: &str, shown: T) -> Self {
        let (place, receipt, now) = (place.to_string(), receipt.to_owned(), Instant::now());
        Self { place, receipt, is_open: true, shown, began: now, paused_until: now }
    }
}

impl<T: Clone> StreamsOf<T> {
    fn get(&self, turn: &str) -> Option<Stream<T>> {
        self.by_turn.lock().get(turn).cloned()
    }

    fn put(&self, turn: &str, stream: Stream<T>) {
        cache::insert(&self.by_turn, TURNS, turn, stream);
    }

    fn close(&self, receipt: &str) -> bool {
        let mut all = self.by_turn.lock();
        let open = all.values_mut().find(|one| one.is_open && one.receipt == receipt);
        open.map(|one| one.is_open = false).is_some()
    }
}

impl Streams {
    /// Whether the stream was open; whoever closes it here stops it at Slack.
    pub(crate) fn close(&self, receipt: &str) -> bool {
        self.drafts.close(receipt) || self.cards.close(receipt)
    }

    pub(crate) fn pace(&self, address: &Address) -> Duration {
        let drafts = self.drafts.by_turn.lock();
        let is_open = drafts.values().any(|one| one.is_open && one.place == address.place);
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
        let of_turn = (&self.streams.drafts, draft.turn);
        match of_turn.0.get(draft.turn) {
            Some(stream) if stream.is_open && draft.receipt == Some(stream.receipt.as_str()) => {
                let written = disarmed(text.strip_prefix(stream.shown.as_str())?);
                if disarmed(text).len() > LENGTH {
                    return None;
                }
                let more = (!written.is_empty()).then(|| ("markdown_text", json!(written)));
                self.append_stream(&place, of_turn, stream, more, text.to_owned()).await
            }
            Some(_) => None,
            None => {
                let written = disarmed(text);
                if text.trim().is_empty() || written.len() > LENGTH {
                    return None;
                }
                let (instead_of, content) = ((draft.event, draft.receipt), json!({"markdown_text": written}));
                self.start_stream(&place, of_turn, instead_of, content, text.to_owned()).await
            }
        }
    }

    /// Shows agents as task cards. Nothing if they have to be shown as text.
    pub(crate) async fn task_cards(
        &self,
        event: Option<&str>,
        receipt: Option<&str>,
        progress: &Progress,
    ) -> Option<Delivery> {
        let place = deliver::place(&progress.address).ok()?;
        let cards: Vec<Value> = progress.agents.iter().map(card).collect();
        let of_turn = (&self.streams.cards, progress.turn.as_str());
        match of_turn.0.get(&progress.turn) {
            Some(stream) if stream.is_open && receipt == Some(stream.receipt.as_str()) => {
                let changed: Vec<&Value> = cards.iter().filter(|card| !stream.shown.contains(card)).collect();
                let more = (!changed.is_empty()).then(|| ("chunks", json!(changed)));
                self.append_stream(&place, of_turn, stream, more, cards).await
            }
            Some(_) if receipt.is_some() => None,
            _ if cards.is_empty() => None,
            _ => {
                let plan = json!({"type": "plan_update", "title": turns::working()});
                let chunks: Vec<&Value> = std::iter::once(&plan).chain(&cards).collect();
                let content = json!({"task_display_mode": "plan", "chunks": chunks});
                self.start_stream(&place, of_turn, (event, receipt), content, cards).await
            }
        }
    }

    /// Starts a stream, which then shows this, in the place of what was shown for an event. Nothing where there can be none.
    async fn start_stream<T: Clone>(
        &self,
        place: &SlackPlace,
        (streams, turn): (&StreamsOf<T>, &str),
        (event, before): (Option<&str>, Option<&str>),
        mut arguments: Value,
        shown: T,
    ) -> Option<Delivery> {
        let thread = place.thread?;
        let is_private = event.and_then(CommandId::of_event).is_some();
        let is_refused = streams.refused.lock().contains(&place.channel);
        if is_private || is_refused {
            return None;
        }
        arguments["channel"] = json!(place.channel);
        arguments["thread_ts"] = json!(thread.to_string());
        if !place.is_direct() {
            arguments["recipient_user_id"] = json!(self.cache.sender(event?)?);
            arguments["recipient_team_id"] = json!(self.streams.team.get()?);
        }
        // A stream is a message of its own.
        if let Some(before) = before {
            self.delete(&place.channel, before).await.ok()?;
        }
        match self.bot.call("chat.startStream", &arguments).await {
            Ok(started) => {
                let Some(receipt) = started["ts"].as_str() else { return Some(Delivery::Unknown) };
                self.remember(receipt);
                streams.put(turn, Stream::new(place, receipt, shown));
                Some(Delivery::Sent(receipt.to_owned()))
            }
            Err(ApiError::Unclear) => Some(Delivery::Unknown),
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "no stream is started");
                if matches!(error, ApiError::Refused(_) | ApiError::Scope(_)) {
                    streams.refused.lock().insert(place.channel.clone());
                }
                None
            }
        }
    }

    /// Appends to a stream, which then shows this. Nothing if it has ended early.
    async fn append_stream<T: Clone>(
        &self,
        place: &SlackPlace,
        (streams, turn): (&StreamsOf<T>, &str),
        mut stream: Stream<T>,
        more: Option<(&str, Value)>,
        shown: T,
    ) -> Option<Delivery> {
        if stream.began.elapsed() > LIFE {
            return None;
        }
        let sent = Delivery::Sent(stream.receipt.clone());
        let Some((name, more)) = more.filter(|_| Instant::now() >= stream.paused_until) else {
            return Some(sent);
        };
        let arguments = json!({"channel": place.channel, "ts": stream.receipt, name: more});
        match self.bot.call("chat.appendStream", &arguments).await {
            Ok(_) => stream.shown = shown,
            // This limit is not the answer's.
            Err(ApiError::TooMany(pause)) => stream.paused_until = Instant::now() + pause.unwrap_or(PAUSE),
            Err(error) => {
                tracing::debug!(channel = self.channel, %error, "a stream has ended early");
                return None;
            }
        }
        streams.put(turn, stream);
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

/// An agent's card. A later one with its id takes its place.
fn card(agent: &AgentProgress) -> Value {
    let status = match agent.status.as_str() {
        "running" => "in_progress",
        "completed" => "complete",
        "failed" | "timeout" | "skipped" | "cancelled" | "partial" | "unknown" => "error",
        _ => "pending",
    };
    let mission = agent.mission.lines().next().unwrap_or_default();
    let title: String = one_line(mission).chars().take(CARD).collect();
    json!({"type": "task_update", "id": agent.agent_id, "title": disarmed(&title), "status": status})
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
