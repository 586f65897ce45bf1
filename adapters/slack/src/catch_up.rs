//! Catches up: what was said while nobody listened is read by time stamps, place by place.

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{ChannelIntake, ConnectionEvent};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::api::CallError;
use crate::connect::wait_after;
use crate::place::{Place, Ts};
use crate::receive::Post;
use crate::{Slack, deliver};

/// The most places that are caught up, those with the newest messages first: threads become many.
const PLACES: usize = 200;

/// Pages that are read in one place: 5,000 messages.
const PAGES: usize = 25;

/// Pages of the list of direct conversations: 1,000.
const DIRECT_PAGES: usize = 5;

/// The longest wait for that list.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where nothing tells what we heard last, we begin so many seconds before what we heard last anywhere. What was
/// heard in that time already is journalled, and so a no-op.
const MARGIN: u64 = 600;

/// A place in which something may have been missed, and after what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) place: Place,
    after: Ts,
}

impl Slack {
    /// The places to catch up in: those that are known, and direct conversations that are not known yet.
    pub(crate) async fn missed(&self, intake: &dyn ChannelIntake) -> Vec<Missed> {
        let known: Vec<(Place, Option<Ts>)> = intake
            .places()
            .await
            .into_iter()
            .filter_map(|(address, last)| Some((address.place.parse().ok()?, Ts::of_event(&last))))
            .collect();
        // Without anything that was ever heard there was no downtime.
        let Some(newest) = known.iter().filter_map(|(_, last)| *last).max() else { return Vec::new() };
        let mut missed: HashMap<Place, Ts> = HashMap::new();
        for (place, last) in known {
            let after = last.unwrap_or(newest.before(MARGIN));
            // Of a channel in which only threads are known, what is said beside them counts as well.
            let top = missed.entry(Place::top(&place.channel)).or_insert(after);
            if place.thread.is_none() {
                *top = after;
            } else {
                missed.insert(place, after);
            }
        }
        for place in self.direct_conversations().await {
            missed.entry(place).or_insert(newest.before(MARGIN));
        }
        let mut missed: Vec<Missed> =
            missed.into_iter().map(|(place, after)| Missed { place, after }).collect();
        missed.sort_by_key(|one| std::cmp::Reverse(one.after));
        if missed.len() > PLACES {
            tracing::warn!(
                channel = self.channel,
                places = missed.len(),
                "too many places to catch up in all"
            );
            missed.truncate(PLACES);
        }
        missed
    }

    async fn direct_conversations(&self) -> Vec<Place> {
        let arguments = [("types", "im".to_owned()), ("limit", "200".to_owned())];
        let place = |channel: Value| channel["id"].as_str()?.parse().ok();
        let list = self.bot.list("conversations.list", "channels", &arguments, DIRECT_PAGES, place);
        // What is told meanwhile waits, so this must not take long.
        match timeout(PATIENCE, list).await.unwrap_or(Err(CallError::Unclear)) {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(channel = self.channel, %error, "the direct conversations could not be listed");
                Vec::new()
            }
        }
    }

    /// Hands over what was said in a place since, by the same rules as what is told at once.
    pub(crate) async fn catch_up_in(&self, missed: &Missed, intake: &dyn ChannelIntake) {
        let Ok(_permit) = self.catching_up.acquire().await else { return };
        let messages = self.persist(&missed.place, missed.after, intake).await;
        for message in &messages {
            self.catch_up_with(&missed.place, message, intake).await;
            // A thread that began since may hold a mention; history does not show what is said in it.
            if let (None, Some((root, last))) = (missed.place.thread, Post::own_thread(message))
                && last > missed.after
            {
                let thread = Place { thread: Some(root), ..missed.place.clone() };
                for message in &self.persist(&thread, missed.after, intake).await {
                    self.catch_up_with(&thread, message, intake).await;
                }
            }
        }
    }

    async fn catch_up_with(&self, place: &Place, message: &Value, intake: &dyn ChannelIntake) {
        match Post::deserialize(message) {
            Ok(post) => self.post(&place.channel, &post, intake).await,
            Err(_) => intake.report(ConnectionEvent::Ignored),
        }
    }

    /// Asks until there is an answer; nothing if the place is closed to us.
    async fn persist(&self, place: &Place, after: Ts, intake: &dyn ChannelIntake) -> Vec<Value> {
        for tries in 1.. {
            let pause = match deliver::since(self, place, Some(after), PAGES).await {
                Ok(messages) => return messages,
                // It is slow, and no trouble.
                Err(CallError::TooMany(pause)) => pause,
                Err(error @ (CallError::Unreachable | CallError::Unclear)) => {
                    intake.report(ConnectionEvent::Error(format!("catching up: {error}")));
                    None
                }
                Err(error) => {
                    tracing::warn!(channel = self.channel, %place, %error, "not caught up");
                    break;
                }
            };
            sleep(pause.unwrap_or_default().max(wait_after(tries))).await;
        }
        Vec::new()
    }
}
