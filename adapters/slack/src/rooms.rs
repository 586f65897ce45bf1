//! What the bot may read of a workspace, on behalf of a member of the channel.
//!
//! Sources: <https://docs.slack.dev/reference/methods/conversations.list>, and its neighbours.

mod messages;
mod people;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId, one_line};
use adjutant_l10n::channels;
use async_trait::async_trait;
use moka::future::Cache;
use serde_json::Value;

use self::messages::{is_written, people_in, room_message, ts};
use self::people::Person;
use crate::Slack;
use crate::deliver::{history_method, place_arguments};
use crate::events::Disconnect;
use crate::place::{SlackPlace, Ts};
use crate::web_api::ApiError;

const MAX_MESSAGES: usize = 500;

/// Messages in a page, and pages that are read in one place.
const PAGE: usize = 200;
const PAGES: usize = 25;

/// Entries in a page of a list; Slack allows fewer than 1,000.
const LIST_PAGE: usize = 999;

/// Pages of the lists of channels and of people.
const LIST_PAGES: usize = 10;

/// Pages of the list of a channel's members.
const MEMBER_PAGES: usize = 20;

/// People whose names are asked for in one reading; more appear by their ids.
const NAMES: usize = 200;

/// How long the lists are cached.
const CACHED: Duration = Duration::from_secs(300);

pub(crate) struct Lists {
    rooms: Cache<(), Arc<Vec<Room>>>,
    people: Cache<(), Arc<Vec<Person>>>,
}

impl Default for Lists {
    fn default() -> Self {
        let rooms = Cache::builder().time_to_live(CACHED).max_capacity(1).build();
        Self { rooms, people: Cache::builder().time_to_live(CACHED).max_capacity(1).build() }
    }
}

#[async_trait]
impl Rooms for Slack {
    async fn find(&self, query: &str, _: &[String]) -> Result<Vec<Room>, RoomError> {
        let query = query.trim();
        if let Some(place) = place_in(query)
            && let Some(room) = self.room(&place).await.map_err(|error| self.room_error(error))?
        {
            return Ok(vec![room]);
        }
        let name = format!("#{}", query.trim_start_matches('#').to_lowercase());
        let rooms = self.lists.rooms.try_get_with((), self.list_rooms()).await;
        let rooms = rooms.map_err(|error| self.room_error((*error).clone()))?;
        Ok(rooms.iter().filter(|room| room.name.to_lowercase() == name).cloned().collect())
    }

    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let arguments = [("channel", place.channel), ("limit", LIST_PAGE.to_string())];
        let mut cursor = String::new();
        for _ in 0..MEMBER_PAGES {
            let page = self.bot.page("conversations.members", "members", &arguments, &cursor).await;
            let (members, next) = page.map_err(|error| self.room_error(error))?;
            if members.iter().any(|member| *member == *sender.0) {
                return Ok(true);
            }
            if next.is_empty() {
                return Ok(false);
            }
            cursor = next;
        }
        Err(RoomError::Closed(channels::slack_too_many_members()))
    }

    /// Those who made a channel, and admins and owners of the workspace.
    /// Sources: <https://docs.slack.dev/reference/objects/conversation-object>,
    /// <https://docs.slack.dev/reference/objects/user-object>
    async fn manages(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let refused = |error| self.room_error(error);
        let user = self.bot.read("users.info", &[("user", sender.0.clone())]).await.map_err(refused)?;
        let is = |rank: &str| user["user"][rank] == true;
        if is("is_admin") || is("is_owner") || is("is_primary_owner") {
            return Ok(true);
        }
        let info =
            self.bot.read("conversations.info", &[("channel", place.channel)]).await.map_err(refused)?;
        Ok(info["channel"]["creator"] == *sender.0)
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
            let root = thread.parse();
            place.thread =
                Some(root.map_err(|_| RoomError::Closed(channels::slack_no_thread_called(thread)))?);
        }
        let since = since.map(|since| Ts::at(u64::try_from(since).unwrap_or_default()));
        let messages = self.messages(&place, since, limit.min(MAX_MESSAGES)).await?;
        let people: BTreeSet<String> = messages.iter().flat_map(people_in).collect();
        let names = self.names(people.into_iter().take(NAMES).collect()).await;
        Ok(Some(messages.iter().filter_map(|message| room_message(message, &names)).collect()))
    }

    async fn profiles(&self, _: &str, query: &str) -> Result<Vec<Profile>, RoomError> {
        self.find_people(query).await.map_err(|error| self.room_error(error))
    }
}

impl Slack {
    /// A channel by its id; nothing if Slack shows us none.
    async fn room(&self, place: &SlackPlace) -> Result<Option<Room>, ApiError> {
        let answer = self.bot.read("conversations.info", &[("channel", place.channel.clone())]).await;
        let channel = match answer {
            Ok(mut answer) => answer["channel"].take(),
            Err(ApiError::Closed(why)) if why == "channel_not_found" => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = match channel["user"].as_str().filter(|_| channel["is_im"] == true) {
            Some(user) => {
                let name = self.name(user).await.unwrap_or_else(|| user.to_owned());
                channels::direct_conversation(one_line(&name))
            }
            None => channel_name(&channel).ok_or(ApiError::Unclear)?,
        };
        Ok(Some(Room { place: place.to_string(), name }))
    }

    async fn list_rooms(&self) -> Result<Arc<Vec<Room>>, ApiError> {
        let arguments = [
            ("types", "public_channel,private_channel".to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", LIST_PAGE.to_string()),
        ];
        let room = |channel: Value| {
            let place: SlackPlace = channel["id"].as_str()?.parse().ok()?;
            Some(Room { place: place.to_string(), name: channel_name(&channel)? })
        };
        Ok(Arc::new(self.bot.list("conversations.list", "channels", &arguments, LIST_PAGES, room).await?))
    }

    /// The newest messages of a place that people or bots wrote, oldest first.
    async fn messages(
        &self,
        place: &SlackPlace,
        since: Option<Ts>,
        limit: usize,
    ) -> Result<Vec<Value>, RoomError> {
        // Slack lists a channel from its end, a thread from its beginning.
        let from_end = place.thread.is_none();
        let mut arguments = place_arguments(place);
        arguments.push(("limit", PAGE.to_string()));
        if let Some(since) = since {
            arguments.extend([("oldest", since.to_string()), ("inclusive", "true".to_owned())]);
        }
        let (mut all, mut cursor) = (VecDeque::new(), String::new());
        for _ in 0..PAGES {
            let page = self.bot.page(history_method(place), "messages", &arguments, &cursor).await;
            let (page, next) = page.map_err(|error| self.room_error(error))?;
            // Slack always includes a thread's first message.
            let is_in = |message: &Value| ts(message).is_some_and(|ts| since.is_none_or(|since| ts >= since));
            for message in page.into_iter().filter(|message| is_in(message) && is_written(message)) {
                match from_end {
                    true if all.len() < limit => all.push_front(message),
                    true => {}
                    false => all.push_back(message),
                }
            }
            all.drain(..all.len().saturating_sub(limit));
            cursor = next;
            if cursor.is_empty() || from_end && all.len() >= limit {
                return Ok(all.into());
            }
        }
        match from_end {
            true => Ok(all.into()),
            false => Err(RoomError::Closed(format!(
                "this thread has more than {} messages, and Slack lists the oldest first; ask for messages since a \
                 later time",
                PAGE * PAGES
            ))),
        }
    }

    /// Why something can't be read, and how to fix it.
    fn room_error(&self, error: ApiError) -> RoomError {
        match error {
            ApiError::TooMany(pause) => RoomError::TooMany(pause),
            ApiError::Token(_) | ApiError::Scope(_) => {
                let is_token = matches!(error, ApiError::Token(_));
                let (Disconnect::Fatal(sentence) | Disconnect::Retry(sentence)) =
                    self.disconnect("bot_token", error);
                if is_token { RoomError::Token(sentence) } else { RoomError::Closed(sentence) }
            }
            ApiError::Closed(why) => RoomError::Closed(match why.as_str() {
                "not_in_channel" => channels::slack_not_in_channel(),
                "channel_not_found" => channels::slack_no_channel(),
                "thread_not_found" => channels::slack_no_thread(),
                why => channels::slack_refuses(why),
            }),
            ApiError::Refused(why) => RoomError::Closed(channels::not_shown("Slack", why)),
            ApiError::Unreachable | ApiError::NoMessage | ApiError::Unclear => {
                RoomError::Unreachable(error.to_string())
            }
        }
    }
}

fn parse(place: &str) -> Result<SlackPlace, RoomError> {
    place.parse().map_err(|_| RoomError::Closed(channels::not_a_channel(one_line(place), "Slack")))
}

/// The place in an id or a mention, `C1` or `<#C1|name>`.
fn place_in(query: &str) -> Option<SlackPlace> {
    let mention = query.strip_prefix("<#").and_then(|inner| inner.strip_suffix('>'));
    let id = mention.map_or(query, |inner| inner.split('|').next().unwrap_or(inner));
    let place: SlackPlace = id.parse().ok()?;
    let is_id = place.channel.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    (is_id && place.channel.starts_with(['C', 'G', 'D'])).then_some(place)
}

fn channel_name(channel: &Value) -> Option<String> {
    let name = one_line(channel["name"].as_str()?);
    Some(if channel["is_mpim"] == true { name } else { format!("#{name}") })
}
