//! Catches up: reads the messages of a downtime by their ids, channel by channel.

use adjutant_chat::{Address, ChannelIntake, ConnectionEvent, EventId, backoff, guard};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::ChannelId;
use tokio::time::sleep;

use super::{BACKOFF, CONCURRENT};
use crate::receive::{self, BotIdentity, MessageObject};
use crate::rest::{self, ApiError};
use crate::{Discord, deliver};

/// Pages that are read in one channel: 5,000 messages.
const PAGES: usize = 50;

/// The type of a direct conversation.
/// Source: <https://discord.com/developers/docs/resources/channel#channel-object-channel-types>
const DIRECT: u64 = 1;

impl Discord {
    pub(crate) async fn catch_up(&self, intake: &dyn ChannelIntake) {
        let places = intake.places().await;
        let all = futures::stream::iter(places);
        all.for_each_concurrent(CONCURRENT, |(address, last)| async move {
            self.catch_up_in(&address, &last, intake).await;
        })
        .await;
    }

    /// Journals the messages of a channel after the last one that was journalled.
    async fn catch_up_in(&self, address: &Address, last: &str, intake: &dyn ChannelIntake) {
        let Ok(channel) = deliver::channel(address) else { return };
        // The id of a press ends with one, too.
        let last = last.rsplit(':').next().and_then(|id| id.parse::<u64>().ok()).unwrap_or_default();
        let mut after = last.max(self.channels.get(channel).journalled);
        if after == 0 {
            return;
        }
        for _ in 0..PAGES {
            let page = self.until_answered(intake, || deliver::since(self, channel, after)).await;
            let Some(page) = page else { return };
            for message in &page {
                let event = EventId(message["id"].as_str().unwrap_or_default().to_owned());
                guard::take(intake, &event, BACKOFF, || self.catch_up_with(channel, message, intake)).await;
                after = crate::id_of(message).unwrap_or(after);
                self.channels.add_journalled(channel, after);
            }
            if !deliver::is_full(&page) {
                return;
            }
        }
        tracing::warn!(channel = self.channel, place = %channel, "more messages were missed than can be read");
    }

    async fn catch_up_with(&self, channel: ChannelId, message: &Value, intake: &dyn ChannelIntake) {
        let (Ok(me), Ok(message)) = (self.me().await, MessageObject::deserialize(message)) else {
            return intake.report(ConnectionEvent::Ignored);
        };
        let Some(direct) = self.is_direct(channel, intake).await else { return };
        let bot = BotIdentity { channel: &self.channel, me, role: self.own_role(&message.at, me).await };
        self.journal(receive::message(message, bot, direct), intake).await;
    }

    /// Whether a channel is a direct conversation; messages from the history don't say.
    async fn is_direct(&self, channel_id: ChannelId, intake: &dyn ChannelIntake) -> Option<bool> {
        if let Some(direct) = self.channels.get(channel_id).direct {
            return Some(direct);
        }
        let route = Route::Channel { channel_id };
        let channel =
            self.until_answered(intake, || rest::call(&self.rest, LightMethod::Get, route, None)).await?;
        let direct = channel["type"] == DIRECT;
        self.channels.set_direct(channel_id, direct);
        Some(direct)
    }

    /// Asks until there is an answer; nothing if the channel is closed to us.
    async fn until_answered<T, F: Future<Output = Result<T, ApiError>>>(
        &self,
        intake: &dyn ChannelIntake,
        ask: impl Fn() -> F,
    ) -> Option<T> {
        for tries in 1.. {
            match ask().await {
                Ok(answer) => return Some(answer),
                Err(ApiError::Closed(..) | ApiError::Refused(_) | ApiError::NoMessage) => return None,
                Err(error) => intake.report(ConnectionEvent::Error(format!("catching up: {error}"))),
            }
            sleep(BACKOFF.after(tries, backoff::random())).await;
        }
        None
    }
}
