//! What a workspace lets the bot read, for somebody who is in the place.
//!
//! Sources: <https://docs.slack.dev/reference/methods/conversations.list>, and its neighbours.

mod lines;
mod people;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId, one_line};
use async_trait::async_trait;
use moka::future::Cache;
use serde_json::Value;

use self::lines::{is_said, line, people_in, ts};
use self::people::Person;
use crate::Slack;
use crate::api::CallError;
use crate::connect::End;
use crate::place::{Place, Ts};

/// The most messages that are read at once.
const MOST: usize = 500;

/// Messages of a page, and pages that are read of one place.
const PAGE: usize = 200;
const PAGES: usize = 25;

/// Entries of a page of a list; Slack gives fewer than 1,000.
const LIST_PAGE: usize = 999;

/// Pages of the lists of channels and of people.
const LIST_PAGES: usize = 10;

/// Pages of the list of a channel's members.
const MEMBER_PAGES: usize = 20;

/// People that are asked about by their ids for one reading; more are called by these.
const NAMES: usize = 200;

/// How long the lists are kept.
const FRESH: Duration = Duration::from_secs(300);

/// The lists of a workspace.
pub(crate) struct Lists {
    rooms: Cache<(), Arc<Vec<Room>>>,
    people: Cache<(), Arc<Vec<Person>>>,
}

impl Default for Lists {
    fn default() -> Self {
        let rooms = Cache::builder().time_to_live(FRESH).max_capacity(1).build();
        Self { rooms, people: Cache::builder().time_to_live(FRESH).max_capacity(1).build() }
    }
}

#[async_trait]
impl Rooms for Slack {
    async fn find(&self, said: &str, _: &[String]) -> Result<Vec<Room>, RoomError> {
        let said = said.trim();
        if let Some(place) = place_in(said)
            && let Some(room) = self.room(&place).await.map_err(|error| self.unread(error))?
        {
            return Ok(vec![room]);
        }
        let name = format!("#{}", said.trim_start_matches('#').to_lowercase());
        let rooms = self.lists.rooms.try_get_with((), self.list_rooms()).await;
        let rooms = rooms.map_err(|error| self.unread((*error).clone()))?;
        Ok(rooms.iter().filter(|room| room.name.to_lowercase() == name).cloned().collect())
    }

    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let arguments = [("channel", place.channel), ("limit", LIST_PAGE.to_string())];
        let mut cursor = String::new();
        for _ in 0..MEMBER_PAGES {
            let page = self.bot.page("conversations.members", "members", &arguments, &cursor).await;
            let (members, next) = page.map_err(|error| self.unread(error))?;
            if members.iter().any(|member| *member == *sender.0) {
                return Ok(true);
            }
            if next.is_empty() {
                return Ok(false);
            }
            cursor = next;
        }
        Err(RoomError::Closed("this channel has more members than can be looked through".to_owned()))
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
                Some(root.map_err(|_| RoomError::Closed(format!("Slack has no thread “{thread}”")))?);
        }
        let since = since.map(|since| Ts::at(u64::try_from(since).unwrap_or_default()));
        let messages = self.messages(&place, since, limit.min(MOST)).await?;
        let people: BTreeSet<String> = messages.iter().flat_map(people_in).collect();
        let names = self.names(people.into_iter().take(NAMES).collect()).await;
        Ok(Some(messages.iter().filter_map(|message| line(message, &names)).collect()))
    }

    async fn profiles(&self, _: &str, said: &str) -> Result<Vec<Profile>, RoomError> {
        self.people_called(said).await.map_err(|error| self.unread(error))
    }
}

impl Slack {
    /// A place by its id; nothing if Slack shows us none.
    async fn room(&self, place: &Place) -> Result<Option<Room>, CallError> {
        let answer = self.bot.read("conversations.info", &[("channel", place.channel.clone())]).await;
        let channel = match answer {
            Ok(mut answer) => answer["channel"].take(),
            Err(CallError::Closed(why)) if why == "channel_not_found" => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = match channel["user"].as_str().filter(|_| channel["is_im"] == true) {
            Some(user) => {
                let name = self.name(user).await.unwrap_or_else(|| user.to_owned());
                format!("the direct conversation with {}", one_line(&name))
            }
            None => called(&channel).ok_or(CallError::Unclear)?,
        };
        Ok(Some(Room { place: place.to_string(), name }))
    }

    async fn list_rooms(&self) -> Result<Arc<Vec<Room>>, CallError> {
        let arguments = [
            ("types", "public_channel,private_channel".to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", LIST_PAGE.to_string()),
        ];
        let room = |channel: Value| {
            let place: Place = channel["id"].as_str()?.parse().ok()?;
            Some(Room { place: place.to_string(), name: called(&channel)? })
        };
        Ok(Arc::new(self.bot.list("conversations.list", "channels", &arguments, LIST_PAGES, room).await?))
    }

    /// The newest messages of a place that people or machines wrote, oldest first.
    async fn messages(
        &self,
        place: &Place,
        since: Option<Ts>,
        limit: usize,
    ) -> Result<Vec<Value>, RoomError> {
        // A channel is told from its end, a thread from its beginning.
        let from_end = place.thread.is_none();
        let method = if from_end { "conversations.history" } else { "conversations.replies" };
        let mut arguments = vec![("channel", place.channel.clone()), ("limit", PAGE.to_string())];
        arguments.extend(place.thread.map(|thread| ("ts", thread.to_string())));
        if let Some(since) = since {
            arguments.extend([("oldest", since.to_string()), ("inclusive", "true".to_owned())]);
        }
        let (mut all, mut cursor) = (VecDeque::new(), String::new());
        for _ in 0..PAGES {
            let page = self.bot.page(method, "messages", &arguments, &cursor).await;
            let (page, next) = page.map_err(|error| self.unread(error))?;
            // A thread's first message is always there.
            let is_in = |message: &Value| ts(message).is_some_and(|ts| since.is_none_or(|since| ts >= since));
            for message in page.into_iter().filter(|message| is_in(message) && is_said(message)) {
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
                "this thread has more than {} messages, and Slack tells the oldest first; ask for those since a \
                 later time",
                PAGE * PAGES
            ))),
        }
    }

    /// Why something can't be read, with the mend.
    fn unread(&self, error: CallError) -> RoomError {
        match error {
            CallError::TooMany(pause) => RoomError::TooMany(pause),
            CallError::Token(_) | CallError::Scope(_) => {
                let is_token = matches!(error, CallError::Token(_));
                let (End::Final(sentence) | End::Cut(sentence)) = self.end("bot_token", error);
                if is_token { RoomError::Token(sentence) } else { RoomError::Closed(sentence) }
            }
            CallError::Closed(why) => RoomError::Closed(match why.as_str() {
                "not_in_channel" => {
                    "the bot is not in this Slack channel; write /invite and its name there".to_owned()
                }
                "channel_not_found" => {
                    "Slack shows the bot no such place; if it is a private channel, write /invite and the bot's \
                     name there"
                        .to_owned()
                }
                "thread_not_found" => "Slack has no such thread in this channel".to_owned(),
                why => format!("Slack does not let the bot read this place ({why})"),
            }),
            CallError::Refused(why) => RoomError::Closed(format!("Slack refuses to show this ({why})")),
            CallError::Unreachable | CallError::NoMessage | CallError::Unclear => {
                RoomError::Unreachable(error.to_string())
            }
        }
    }
}

fn parse(place: &str) -> Result<Place, RoomError> {
    place.parse().map_err(|_| RoomError::Closed(format!("“{}” is no place of Slack's", one_line(place))))
}

/// The place that is meant by its id, `C1` or `<#C1|name>`.
fn place_in(said: &str) -> Option<Place> {
    let mention = said.strip_prefix("<#").and_then(|inner| inner.strip_suffix('>'));
    let id = mention.map_or(said, |inner| inner.split('|').next().unwrap_or(inner));
    let place: Place = id.parse().ok()?;
    let is_id = place.channel.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    (is_id && place.channel.starts_with(['C', 'G', 'D'])).then_some(place)
}

fn called(channel: &Value) -> Option<String> {
    let name = one_line(channel["name"].as_str()?);
    Some(if channel["is_mpim"] == true { name } else { format!("#{name}") })
}
