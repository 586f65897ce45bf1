//! What the bot may read, on behalf of a person who may read it too.

mod messages;
mod people;
mod permissions;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId, one_line, sanitized};
use adjutant_l10n::channels;
use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use moka::future::Cache;
use serde::Deserialize;
use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, GuildId, UserId};

use self::messages::{millis, room_message};
pub(crate) use self::permissions::may_attach;
use self::permissions::{Permission, may_manage, may_read};
use crate::events::TOKEN_CLOSE;
use crate::receive::Account;
use crate::rest::{self, ApiError};
use crate::{Discord, deliver, id_of};

/// The most messages that are returned, and the pages that are read for them.
const MAX_MESSAGES: usize = 500;
const PAGES: usize = 10;

/// Guilds whose channels are found by name, and how many are asked at the same time.
const GUILDS: usize = 20;
const CONCURRENT: usize = 4;

/// How long the list of channels is cached.
const CACHED: Duration = Duration::from_secs(300);

/// Types of channels.
/// Source: <https://discord.com/developers/docs/resources/channel#channel-object-channel-types>
const DIRECT: [u64; 2] = [1, 3];
const WITH_MESSAGES: [u64; 4] = [0, 2, 5, 13];
const THREADS: [u64; 3] = [10, 11, PRIVATE_THREAD];
const PRIVATE_THREAD: u64 = 12;

/// Discord's codes for an unknown channel, and for an unknown member or account.
const UNKNOWN_CHANNEL: isize = 10003;
const UNKNOWN_PERSON: [isize; 2] = [10007, 10013];

/// The channels of our guilds, each with its name in lower case.
pub(crate) type Guilds = Cache<(), Arc<Vec<(String, Room)>>>;

pub(crate) fn guilds() -> Guilds {
    Cache::builder().time_to_live(CACHED).max_capacity(1).build()
}

#[async_trait]
impl Rooms for Discord {
    async fn find(&self, query: &str, _: &[String]) -> Result<Vec<Room>, RoomError> {
        let query = query.trim();
        let mention = query.strip_prefix("<#").and_then(|inner| inner.strip_suffix('>'));
        if let Ok(place) = parse(mention.unwrap_or(query)) {
            match self.get(Route::Channel { channel_id: place }).await {
                Ok(channel) => return Ok(room(&channel, "").into_iter().map(|(_, room)| room).collect()),
                Err(ApiError::Closed(UNKNOWN_CHANNEL, _)) => {}
                Err(error) => return Err(self.room_error(error)),
            }
        }
        let name = query.trim_start_matches('#').to_lowercase();
        let rooms = self.guilds.try_get_with((), self.list_rooms()).await;
        let rooms = rooms.map_err(|error| self.room_error((*error).clone()))?;
        Ok(rooms.iter().filter(|(called, _)| *called == name).map(|(_, room)| room.clone()).collect())
    }

    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        self.may(place, sender, may_read).await
    }

    async fn manages(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        self.may(place, sender, may_manage).await
    }

    async fn read(
        &self,
        place: &str,
        thread: Option<&str>,
        since: Option<i64>,
        limit: usize,
    ) -> Result<Option<Vec<RoomMessage>>, RoomError> {
        let mut place = parse(place)?;
        if let Some(thread) = thread {
            place = self.thread_of(place, parse(thread)?).await?;
        }
        let (limit, mut messages, mut before) = (limit.min(MAX_MESSAGES), Vec::new(), None);
        'pages: for _ in 0..PAGES {
            if messages.len() >= limit {
                break;
            }
            let mut params = vec![("limit", deliver::PAGE.to_string())];
            params.extend(before.map(|before: u64| ("before", before.to_string())));
            let page = deliver::page(self, place, params).await.map_err(|error| self.room_error(error))?;
            for message in page.iter().rev() {
                let is_before = |at: i64| since.is_some_and(|since| at < since);
                if id_of(message).is_some_and(|id| is_before(millis(id))) || messages.len() >= limit {
                    break 'pages;
                }
                messages.extend(room_message(message).filter(|message| !is_before(message.at)));
            }
            before = page.first().and_then(id_of).filter(|_| deliver::is_full(&page));
            if before.is_none() {
                break;
            }
        }
        messages.reverse();
        Ok(Some(messages))
    }

    async fn profiles(&self, place: &str, query: &str) -> Result<Vec<Profile>, RoomError> {
        let place = parse(place)?;
        self.find_people(place, query.trim()).await.map_err(|error| self.room_error(error))
    }
}

impl Discord {
    async fn get(&self, route: Route<'_>) -> Result<Value, ApiError> {
        rest::call(&self.rest, LightMethod::Get, route, None).await
    }

    async fn list_rooms(&self) -> Result<Arc<Vec<(String, Room)>>, ApiError> {
        let params = vec![("limit", GUILDS.to_string())];
        let guilds = rest::read(&self.rest, Route::UserMeGuilds, params).await?;
        let guilds: Vec<&Value> = guilds.as_array().into_iter().flatten().take(GUILDS).collect();
        // With only one guild, its name says nothing.
        let is_one = guilds.len() == 1;
        let guilds = guilds.into_iter().filter_map(|guild| {
            let name = if is_one { String::new() } else { guild["name"].as_str()?.to_owned() };
            Some((GuildId::new(id_of(guild)?), name))
        });
        let guilds: Vec<(GuildId, String)> = guilds.collect();
        let asked = futures::stream::iter(guilds).map(|(guild_id, name)| async move {
            let channels = match self.get(Route::GuildChannels { guild_id }).await {
                // A guild that is closed to us doesn't hide the others.
                Err(ApiError::Closed(..)) => return Ok(Vec::new()),
                channels => channels?,
            };
            let channels = channels.as_array().into_iter().flatten();
            let can_be_read =
                |channel: &&Value| channel["type"].as_u64().is_some_and(|it| WITH_MESSAGES.contains(&it));
            Ok(channels.filter(can_be_read).filter_map(|channel| room(channel, &name)).collect())
        });
        let rooms: Vec<Vec<(String, Room)>> = asked.buffered(CONCURRENT).try_collect().await?;
        Ok(Arc::new(rooms.concat()))
    }

    /// Whether somebody may do something in a place, by the rules of its channel.
    async fn may(&self, place: &str, sender: &SenderId, allows: Permission) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let Some(person) = sender.0.parse().ok().filter(|id| *id > 0).map(UserId::new) else {
            return Ok(false);
        };
        self.is_allowed(place, person, allows).await.map_err(|error| self.room_error(error))
    }

    /// Everyone who may read a channel may read its threads, except private ones: only their members may.
    /// Source: <https://discord.com/developers/docs/topics/threads#permissions>
    async fn is_allowed(
        &self,
        place: ChannelId,
        person: UserId,
        allows: Permission,
    ) -> Result<bool, ApiError> {
        let mut channel = self.get(Route::Channel { channel_id: place }).await?;
        let kind = channel["type"].as_u64().ok_or(ApiError::Unclear)?;
        if DIRECT.contains(&kind) {
            let mut recipients = channel["recipients"].as_array().into_iter().flatten();
            return Ok(recipients.any(|one| id_of(one) == Some(person.get())));
        }
        if THREADS.contains(&kind) {
            let route = Route::ChannelThreadMember { channel_id: place, user_id: person };
            if kind == PRIVATE_THREAD && if_exists(self.get(route).await)?.is_none() {
                return Ok(false);
            }
            let parent =
                channel["parent_id"].as_str().and_then(|id| parse(id).ok()).ok_or(ApiError::Unclear)?;
            channel = self.get(Route::Channel { channel_id: parent }).await?;
        }
        let guild_id = guild_of(&channel).ok_or(ApiError::Unclear)?;
        let route = Route::GuildMember { guild_id, user_id: person };
        let Some(member) = if_exists(self.get(route).await)? else { return Ok(false) };
        let guild = self.get(Route::Guild { guild_id }).await?;
        let roles: Vec<&str> =
            member["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        Ok(allows(&guild, &channel, &person.to_string(), &roles))
    }

    /// A thread of this channel. Threads are channels too, so the right to read this channel must not open a private
    /// thread, or one elsewhere.
    async fn thread_of(&self, place: ChannelId, thread: ChannelId) -> Result<ChannelId, RoomError> {
        if place == thread {
            return Ok(thread);
        }
        let channel =
            self.get(Route::Channel { channel_id: thread }).await.map_err(|error| self.room_error(error))?;
        let is_open =
            channel["type"].as_u64().is_some_and(|it| it != PRIVATE_THREAD && THREADS.contains(&it));
        match is_open && channel["parent_id"] == *place.to_string() {
            true => Ok(thread),
            false => Err(RoomError::Closed(channels::discord_no_thread())),
        }
    }

    /// Why something can't be read, and how to fix it.
    fn room_error(&self, error: ApiError) -> RoomError {
        match error {
            ApiError::Token => RoomError::Token(self.fatal_close(TOKEN_CLOSE)),
            ApiError::TooMany(pause) => RoomError::TooMany(pause),
            ApiError::Closed(UNKNOWN_CHANNEL, _) => RoomError::Closed(channels::discord_no_channel()),
            ApiError::Closed(_, why) => RoomError::Closed(channels::discord_refuses(sanitized(&why))),
            ApiError::Refused(why) => RoomError::Closed(channels::not_shown("Discord", sanitized(&why))),
            ApiError::Unreachable | ApiError::NoMessage | ApiError::Unclear => {
                RoomError::Unreachable(error.to_string())
            }
        }
    }
}

fn parse(place: &str) -> Result<ChannelId, RoomError> {
    let id = place.parse().ok().filter(|id| *id > 0).map(ChannelId::new);
    id.ok_or_else(|| RoomError::Closed(channels::not_a_channel(one_line(place), "Discord")))
}

/// Nothing instead of the error that nobody has this id.
fn if_exists(answer: Result<Value, ApiError>) -> Result<Option<Value>, ApiError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ApiError::Closed(code, _)) if UNKNOWN_PERSON.contains(&code) => Ok(None),
        Err(error) => Err(error),
    }
}

fn guild_of(channel: &Value) -> Option<GuildId> {
    channel["guild_id"].as_str()?.parse().ok().filter(|id| *id > 0).map(GuildId::new)
}

/// A channel with its bare name, and with the guild's name if there are several.
fn room(channel: &Value, guild: &str) -> Option<(String, Room)> {
    let place = id_of(channel)?.to_string();
    let bare = channel["name"].as_str().unwrap_or_default().to_lowercase();
    let recipients = channel["recipients"].as_array().into_iter().flatten();
    let people: Vec<String> =
        recipients.filter_map(|one| Some(Account::deserialize(one).ok()?.name().to_owned())).collect();
    let name = match (channel["name"].as_str(), guild) {
        (Some(name), "") => format!("#{name}"),
        (Some(name), guild) => channels::channel_in_server(name, guild),
        (None, _) => channels::direct_conversation(people.join(", ")),
    };
    Some((bare, Room { place, name: one_line(&name) }))
}
