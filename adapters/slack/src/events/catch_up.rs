//! Catches up: reads the messages of a downtime by their time stamps, place by place.

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{ChannelIntake, ConnectionEvent, backoff};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::connect::BACKOFF;
use crate::Slack;
use crate::place::{SlackPlace, Ts};
use crate::receive::MessageEvent;
use crate::web_api::ApiError;

/// The most places that are caught up, those with the newest messages first: there may be many threads.
const MAX_PLACES: usize = 200;

/// Pages that are read in one place: 5,000 messages.
const PAGES: usize = 25;

/// Pages of the list of direct conversations: 1,000.
const DIRECT_PAGES: usize = 5;

/// The longest wait for that list.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Without a last message of a place, we start this many seconds before the last one anywhere. Messages journalled
/// already are a no-op.
const MARGIN: u64 = 600;

/// A place where messages may have been missed, and the last one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) place: SlackPlace,
    after: Ts,
}

impl Slack {
    /// The places to catch up in: the known ones, and new direct conversations.
    pub(super) async fn gaps(&self, intake: &dyn ChannelIntake) -> Vec<Gap> {
        let known: Vec<(SlackPlace, Option<Ts>)> = intake
            .places()
            .await
            .into_iter()
            .filter_map(|(address, last)| Some((address.place.parse().ok()?, Ts::of_event(&last))))
            .collect();
        // Without any message so far, there was no downtime.
        let Some(newest) = known.iter().filter_map(|(_, last)| *last).max() else { return Vec::new() };
        let mut gaps: HashMap<SlackPlace, Ts> = HashMap::new();
        for (place, last) in known {
            let after = last.unwrap_or(newest.before(MARGIN));
            // If only threads of a channel are known, its other messages count too.
            let top = gaps.entry(SlackPlace::top(&place.channel)).or_insert(after);
            if place.thread.is_none() {
                *top = after;
            } else {
                gaps.insert(place, after);
            }
        }
        for place in self.direct_conversations().await {
            gaps.entry(place).or_insert(newest.before(MARGIN));
        }
        let mut gaps: Vec<Gap> = gaps.into_iter().map(|(place, after)| Gap { place, after }).collect();
        gaps.sort_by_key(|one| std::cmp::Reverse(one.after));
        if gaps.len() > MAX_PLACES {
            tracing::warn!(
                channel = self.channel,
                places = gaps.len(),
                "not all places are caught up, there are too many"
            );
            gaps.truncate(MAX_PLACES);
        }
        gaps
    }

    async fn direct_conversations(&self) -> Vec<SlackPlace> {
        let arguments = [("types", "im".to_owned()), ("limit", "200".to_owned())];
        let place = |channel: Value| channel["id"].as_str()?.parse().ok();
        let list = self.bot.list("conversations.list", "channels", &arguments, DIRECT_PAGES, place);
        // New messages wait meanwhile, so this must not take long.
        match timeout(TIMEOUT, list).await.unwrap_or(Err(ApiError::Unclear)) {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(channel = self.channel, %error, "the direct conversations could not be listed");
                Vec::new()
            }
        }
    }

    /// Journals the missed messages of a place, by the same rules as new ones.
    pub(super) async fn catch_up(&self, gap: &Gap, intake: &dyn ChannelIntake) {
        let Ok(_permit) = self.catching_up.acquire().await else { return };
        let messages = self.until_answered(&gap.place, gap.after, intake).await;
        for message in &messages {
            self.catch_up_with(&gap.place, message, intake).await;
            // A thread that began since may hold a mention; the history doesn't include its messages.
            if let (None, Some((root, last))) = (gap.place.thread, MessageEvent::thread_of(message))
                && last > gap.after
            {
                let thread = SlackPlace { thread: Some(root), ..gap.place.clone() };
                for message in &self.until_answered(&thread, gap.after, intake).await {
                    self.catch_up_with(&thread, message, intake).await;
                }
            }
        }
    }

    async fn catch_up_with(&self, place: &SlackPlace, message: &Value, intake: &dyn ChannelIntake) {
        match MessageEvent::deserialize(message) {
            Ok(message) => self.message(&place.channel, &message, intake).await,
            Err(_) => intake.report(ConnectionEvent::Ignored),
        }
    }

    /// Asks until there is an answer; nothing if the place is closed to us.
    async fn until_answered(&self, place: &SlackPlace, after: Ts, intake: &dyn ChannelIntake) -> Vec<Value> {
        for tries in 1.. {
            let pause = match self.messages_after(place, Some(after), PAGES).await {
                Ok(messages) => return messages,
                // A rate limit is not an error.
                Err(ApiError::TooMany(pause)) => pause,
                Err(error @ (ApiError::Unreachable | ApiError::Unclear)) => {
                    intake.report(ConnectionEvent::Error(format!("catching up: {error}")));
                    None
                }
                Err(error) => {
                    tracing::warn!(channel = self.channel, %place, %error, "not caught up");
                    break;
                }
            };
            sleep(pause.unwrap_or_default().max(BACKOFF.after(tries, backoff::random()))).await;
        }
        Vec::new()
    }
}
