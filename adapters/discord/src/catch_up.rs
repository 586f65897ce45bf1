//! Catches up: what was said while no session was listening is read by message ids, place by place.

use adjutant_chat::{Address, ChannelIntake, ConnectionEvent};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::ChannelId;
use tokio::time::sleep;

use crate::listen::{AT_ONCE, wait_after};
use crate::receive::{self, Post, Reader};
use crate::rest::{self, CallError};
use crate::{Discord, deliver};

/// Pages that are read in one place to catch up: 5,000 messages.
const PAGES: usize = 50;

/// The type of a direct conversation.
/// Source: <https://discord.com/developers/docs/resources/channel#channel-object-channel-types>
const DIRECT: u64 = 1;

impl Discord {
    pub(crate) async fn catch_up(&self, intake: &dyn ChannelIntake) {
        let places = intake.places().await;
        let all = futures::stream::iter(places);
        all.for_each_concurrent(AT_ONCE, |(address, last)| async move {
            self.catch_up_in(&address, &last, intake).await;
        })
        .await;
    }

    /// Hands over what was said in a place after the last message that was journalled or handed over.
    async fn catch_up_in(&self, address: &Address, last: &str, intake: &dyn ChannelIntake) {
        let Some(place) = address.place.parse().ok().filter(|id| *id > 0).map(ChannelId::new) else { return };
        // A press's name ends with an id, too.
        let last = last.rsplit(':').next().and_then(|id| id.parse::<u64>().ok()).unwrap_or_default();
        let mut after = last.max(self.known.get(place).heard);
        if after == 0 {
            return;
        }
        for _ in 0..PAGES {
            let page = self.persist(intake, || deliver::since(self, place, after)).await;
            let Some(page) = page else { return };
            for message in &page {
                self.missed(place, message, intake).await;
                after = crate::id_of(message).unwrap_or(after);
                self.known.is_heard(place, after);
            }
            if !deliver::is_full(&page) {
                return;
            }
        }
        tracing::warn!(channel = self.channel, place = %place, "too much was missed to read it all");
    }

    async fn missed(&self, place: ChannelId, message: &Value, intake: &dyn ChannelIntake) {
        let (Ok(me), Ok(post)) = (self.me().await, Post::deserialize(message)) else {
            return intake.report(ConnectionEvent::Ignored);
        };
        let Some(direct) = self.is_direct(place, intake).await else { return };
        let reader = Reader { channel: &self.channel, me, role: self.own_role(&post.at, me).await };
        self.hand_over(receive::post(post, reader, direct), intake).await;
    }

    /// Whether a place is a direct conversation, which a message that is read later does not tell.
    async fn is_direct(&self, channel_id: ChannelId, intake: &dyn ChannelIntake) -> Option<bool> {
        if let Some(direct) = self.known.get(channel_id).direct {
            return Some(direct);
        }
        let route = Route::Channel { channel_id };
        let channel = self.persist(intake, || rest::call(&self.http, LightMethod::Get, route, None)).await?;
        let direct = channel["type"] == DIRECT;
        self.known.is_direct(channel_id, direct);
        Some(direct)
    }

    /// Asks until there is an answer; nothing if the place is closed to us.
    async fn persist<T, F: Future<Output = Result<T, CallError>>>(
        &self,
        intake: &dyn ChannelIntake,
        ask: impl Fn() -> F,
    ) -> Option<T> {
        for tries in 1.. {
            match ask().await {
                Ok(answer) => return Some(answer),
                Err(CallError::Closed(..) | CallError::Refused(_) | CallError::NoMessage) => return None,
                Err(error) => intake.report(ConnectionEvent::Error(format!("catching up: {error}"))),
            }
            sleep(wait_after(tries)).await;
        }
        None
    }
}
