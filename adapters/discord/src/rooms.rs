//! What Discord lets the bot read, for somebody who may read it too.

mod lines;
mod people;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId, one_line, sanitized};
use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use moka::future::Cache;
use serde::Deserialize;
use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, GuildId, UserId};

use self::lines::{line, millis};
use crate::listen::TOKEN_CLOSE;
use crate::permissions::may_read;
use crate::receive::Account;
use crate::rest::{self, CallError};
use crate::{Discord, deliver, id_of};

/// The most messages that are read at once, and pages that are read for them.
const MOST: usize = 500;
const PAGES: usize = 10;

/// Guilds whose channels are known by name, and of which so many are asked at the same time.
const GUILDS: usize = 20;
const AT_ONCE: usize = 4;

/// How long the channels are kept.
const FRESH: Duration = Duration::from_secs(300);

/// Types of channels, by what is to be known of them here.
/// Source: <https://discord.com/developers/docs/resources/channel#channel-object-channel-types>
const DIRECT: [u64; 2] = [1, 3];
const WITH_MESSAGES: [u64; 4] = [0, 2, 5, 13];
const THREADS: [u64; 3] = [10, 11, PRIVATE_THREAD];
const PRIVATE_THREAD: u64 = 12;

/// Discord's codes for what is not there: a channel; a member of a guild or a thread, or an account.
const UNKNOWN_CHANNEL: isize = 10003;
const UNKNOWN_PERSON: [isize; 2] = [10007, 10013];

/// The channels of the guilds that we are in, each with its name in lower case.
pub(crate) type Guilds = Cache<(), Arc<Vec<(String, Room)>>>;

pub(crate) fn guilds() -> Guilds {
    Cache::builder().time_to_live(FRESH).max_capacity(1).build()
}

#[async_trait]
impl Rooms for Discord {
    async fn find(&self, said: &str, _: &[String]) -> Result<Vec<Room>, RoomError> {
        let said = said.trim();
        let mention = said.strip_prefix("<#").and_then(|inner| inner.strip_suffix('>'));
        if let Ok(place) = parse(mention.unwrap_or(said)) {
            match self.get(Route::Channel { channel_id: place }).await {
                Ok(channel) => return Ok(room(&channel, "").into_iter().map(|(_, room)| room).collect()),
                Err(CallError::Closed(UNKNOWN_CHANNEL, _)) => {}
                Err(error) => return Err(self.unread(error)),
            }
        }
        let name = said.trim_start_matches('#').to_lowercase();
        let rooms = self.guilds.try_get_with((), self.list_rooms()).await;
        let rooms = rooms.map_err(|error| self.unread((*error).clone()))?;
        Ok(rooms.iter().filter(|(called, _)| *called == name).map(|(_, room)| room.clone()).collect())
    }

    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let Some(person) = sender.0.parse().ok().filter(|id| *id > 0).map(UserId::new) else {
            return Ok(false);
        };
        self.may_read(place, person).await.map_err(|error| self.unread(error))
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
        let (limit, mut lines, mut before) = (limit.min(MOST), Vec::new(), None);
        'pages: for _ in 0..PAGES {
            if lines.len() >= limit {
                break;
            }
            let mut params = vec![("limit", deliver::PAGE.to_string())];
            params.extend(before.map(|before: u64| ("before", before.to_string())));
            let page = deliver::page(self, place, params).await.map_err(|error| self.unread(error))?;
            for message in page.iter().rev() {
                let is_before = |at: i64| since.is_some_and(|since| at < since);
                if id_of(message).is_some_and(|id| is_before(millis(id))) || lines.len() >= limit {
                    break 'pages;
                }
                lines.extend(line(message).filter(|line| !is_before(line.at)));
            }
            before = page.first().and_then(id_of).filter(|_| deliver::is_full(&page));
            if before.is_none() {
                break;
            }
        }
        lines.reverse();
        Ok(Some(lines))
    }

    async fn profiles(&self, place: &str, said: &str) -> Result<Vec<Profile>, RoomError> {
        let place = parse(place)?;
        self.people_called(place, said.trim()).await.map_err(|error| self.unread(error))
    }
}

impl Discord {
    async fn get(&self, route: Route<'_>) -> Result<Value, CallError> {
        rest::call(&self.http, LightMethod::Get, route, None).await
    }

    async fn list_rooms(&self) -> Result<Arc<Vec<(String, Room)>>, CallError> {
        let params = vec![("limit", GUILDS.to_string())];
        let guilds = rest::read(&self.http, Route::UserMeGuilds, params).await?;
        let guilds: Vec<&Value> = guilds.as_array().into_iter().flatten().take(GUILDS).collect();
        // Where there is one guild, its name tells nothing.
        let is_one = guilds.len() == 1;
        let guilds = guilds.into_iter().filter_map(|guild| {
            let name = if is_one { String::new() } else { guild["name"].as_str()?.to_owned() };
            Some((GuildId::new(id_of(guild)?), name))
        });
        let guilds: Vec<(GuildId, String)> = guilds.collect();
        let asked = futures::stream::iter(guilds).map(|(guild_id, name)| async move {
            let channels = match self.get(Route::GuildChannels { guild_id }).await {
                // One guild that is closed to us does not close the others.
                Err(CallError::Closed(..)) => return Ok(Vec::new()),
                channels => channels?,
            };
            let channels = channels.as_array().into_iter().flatten();
            let can_be_read =
                |channel: &&Value| channel["type"].as_u64().is_some_and(|it| WITH_MESSAGES.contains(&it));
            Ok(channels.filter(can_be_read).filter_map(|channel| room(channel, &name)).collect())
        });
        let rooms: Vec<Vec<(String, Room)>> = asked.buffered(AT_ONCE).try_collect().await?;
        Ok(Arc::new(rooms.concat()))
    }

    /// A thread may be read by whoever may read its channel, a private one by those in it. Source:
    /// <https://discord.com/developers/docs/topics/threads#permissions>
    async fn may_read(&self, place: ChannelId, person: UserId) -> Result<bool, CallError> {
        let mut channel = self.get(Route::Channel { channel_id: place }).await?;
        let kind = channel["type"].as_u64().ok_or(CallError::Unclear)?;
        if DIRECT.contains(&kind) {
            let mut recipients = channel["recipients"].as_array().into_iter().flatten();
            return Ok(recipients.any(|one| id_of(one) == Some(person.get())));
        }
        if THREADS.contains(&kind) {
            let route = Route::ChannelThreadMember { channel_id: place, user_id: person };
            if kind == PRIVATE_THREAD && known(self.get(route).await)?.is_none() {
                return Ok(false);
            }
            let parent =
                channel["parent_id"].as_str().and_then(|id| parse(id).ok()).ok_or(CallError::Unclear)?;
            channel = self.get(Route::Channel { channel_id: parent }).await?;
        }
        let guild_id = guild_of(&channel).ok_or(CallError::Unclear)?;
        let route = Route::GuildMember { guild_id, user_id: person };
        let Some(member) = known(self.get(route).await)? else { return Ok(false) };
        let guild = self.get(Route::Guild { guild_id }).await?;
        let roles: Vec<&str> =
            member["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        Ok(may_read(&guild, &channel, &person.to_string(), &roles))
    }

    /// A thread of this place. Threads are places themselves, so one of elsewhere, or a private one, must not be read
    /// by the right to read this place.
    async fn thread_of(&self, place: ChannelId, thread: ChannelId) -> Result<ChannelId, RoomError> {
        if place == thread {
            return Ok(thread);
        }
        let channel =
            self.get(Route::Channel { channel_id: thread }).await.map_err(|error| self.unread(error))?;
        let is_open =
            channel["type"].as_u64().is_some_and(|it| it != PRIVATE_THREAD && THREADS.contains(&it));
        match is_open && channel["parent_id"] == *place.to_string() {
            true => Ok(thread),
            false => Err(RoomError::Closed(
                "this place has no such open thread; a private thread is a place of its own, to be named as the place"
                    .to_owned(),
            )),
        }
    }

    /// Why something can't be read, with the mend.
    fn unread(&self, error: CallError) -> RoomError {
        match error {
            CallError::Token => RoomError::Token(self.mend(TOKEN_CLOSE)),
            CallError::TooMany => RoomError::TooMany(None),
            CallError::Closed(UNKNOWN_CHANNEL, _) => {
                RoomError::Closed("Discord has no such place".to_owned())
            }
            CallError::Closed(_, why) => RoomError::Closed(format!(
                "Discord does not let the bot read this ({}); give its role the rights View Channel and Read Message \
                 History there",
                sanitized(&why)
            )),
            CallError::Refused(why) => {
                RoomError::Closed(format!("Discord refuses to show this ({})", sanitized(&why)))
            }
            CallError::Unreachable | CallError::NoMessage | CallError::Unclear => {
                RoomError::Unreachable(error.to_string())
            }
        }
    }
}

fn parse(place: &str) -> Result<ChannelId, RoomError> {
    let id = place.parse().ok().filter(|id| *id > 0).map(ChannelId::new);
    id.ok_or_else(|| RoomError::Closed(format!("“{}” is no place of Discord's", one_line(place))))
}

/// Nothing instead of the error that there is nobody of that id.
fn known(answer: Result<Value, CallError>) -> Result<Option<Value>, CallError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(CallError::Closed(code, _)) if UNKNOWN_PERSON.contains(&code) => Ok(None),
        Err(error) => Err(error),
    }
}

fn guild_of(channel: &Value) -> Option<GuildId> {
    channel["guild_id"].as_str()?.parse().ok().filter(|id| *id > 0).map(GuildId::new)
}

/// A channel of a guild, which is named if there are several; with its bare name.
fn room(channel: &Value, guild: &str) -> Option<(String, Room)> {
    let place = id_of(channel)?.to_string();
    let bare = channel["name"].as_str().unwrap_or_default().to_lowercase();
    let recipients = channel["recipients"].as_array().into_iter().flatten();
    let people: Vec<String> =
        recipients.filter_map(|one| Some(Account::deserialize(one).ok()?.name().to_owned())).collect();
    let name = match (channel["name"].as_str(), guild) {
        (Some(name), "") => format!("#{name}"),
        (Some(name), guild) => format!("#{name} in {guild}"),
        (None, _) => format!("the direct conversation with {}", people.join(", ")),
    };
    Some((bare, Room { place, name: one_line(&name) }))
}
