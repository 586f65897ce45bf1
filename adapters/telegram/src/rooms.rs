//! What a bot may know about chats and people: no history, no list of its chats, and of a group's members only the
//! administrators and those asked for by their ids.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId, one_line};
use adjutant_l10n::channels;
use async_trait::async_trait;
use futures::StreamExt;
use moka::future::Cache;
use serde::Deserialize;
use teloxide::payloads::{GetChat, GetChatAdministrators, GetChatMember};
use teloxide::types::{ChatId, Recipient, UserId};

use crate::Telegram;
use crate::api::ApiError;
use crate::place::TelegramPlace;
use crate::receive::message::{Sender, full_name};

/// The most known chats whose titles are compared.
const MAX_CHATS: usize = 50;

/// Titles that are asked for at the same time.
const CONCURRENT: usize = 4;

/// How long titles are cached.
const CACHED: Duration = Duration::from_secs(300);

/// Titles by chat id.
pub(crate) type Titles = Cache<i64, Arc<str>>;

pub(crate) fn titles() -> Titles {
    Cache::builder().time_to_live(CACHED).max_capacity(1_000).build()
}

/// Messages of a 400 for an unknown chat.
const NO_CHAT: [&str; 2] = ["chat not found", "PEER_ID_INVALID"];

/// Messages of a 400 for an unknown person or member.
const NO_MEMBER: [&str; 5] = [
    "user not found",
    "member not found",
    "PARTICIPANT_ID_INVALID",
    "USER_NOT_PARTICIPANT",
    "USER_ID_INVALID",
];

/// A chat. Source: <https://core.telegram.org/bots/api#chatfullinfo>
#[derive(Deserialize)]
struct Chat {
    id: i64,
    title: Option<String>,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
}

/// A member of a chat. Source: <https://core.telegram.org/bots/api#chatmember>
#[derive(Deserialize)]
struct Member {
    status: String,
    /// Only for restricted members.
    #[serde(default)]
    is_member: bool,
    custom_title: Option<String>,
    user: Sender,
}

#[async_trait]
impl Rooms for Telegram {
    async fn find(&self, query: &str, known: &[String]) -> Result<Vec<Room>, RoomError> {
        let query = query.trim();
        if let Ok(place) = query.parse::<TelegramPlace>()
            && let Some(title) = self.title(place.chat).await?
        {
            return Ok(vec![room(place.to_string(), &title)]);
        }
        let public = query.strip_prefix('@').unwrap_or_default();
        if !public.is_empty() && public.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let chat = GetChat::new(Recipient::ChannelUsername(query.to_owned()));
            return match self.api.call::<Chat>(&chat).await {
                Ok(chat) => Ok(vec![room(chat.id.to_string(), &chat.name())]),
                Err(error) if error.says(&NO_CHAT) => Ok(Vec::new()),
                Err(error) => Err(self.room_error(error)),
            };
        }
        let chats =
            known.iter().filter_map(|place| place.parse::<TelegramPlace>().ok()).map(|place| place.chat);
        let chats: BTreeSet<i64> = chats.take(MAX_CHATS).collect();
        let asked = futures::stream::iter(chats).map(|chat| async move { (chat, self.title(chat).await) });
        let titles: Vec<_> = asked.buffered(CONCURRENT).collect().await;
        let mut found = Vec::new();
        for (chat, title) in titles {
            match title {
                Ok(Some(title)) if title.to_lowercase() == query.to_lowercase() => {
                    found.push(room(chat.to_string(), &title));
                }
                // A chat that is closed to us can't be read.
                Ok(_) | Err(RoomError::Closed(_)) => {}
                Err(unread) => return Err(unread),
            }
        }
        Ok(found)
    }

    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let Ok(person) = sender.0.parse::<u64>() else { return Ok(false) };
        // A private chat has the person's id; groups have negative ids.
        if place.chat > 0 {
            return Ok(i64::try_from(person) == Ok(place.chat));
        }
        let member = self.member(place, person).await?;
        Ok(member.is_some_and(|member| match member.status.as_str() {
            "creator" | "administrator" | "member" => true,
            "restricted" => member.is_member,
            _ => false,
        }))
    }

    async fn manages(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let place = parse(place)?;
        let Ok(person) = sender.0.parse::<u64>() else { return Ok(false) };
        // Source: <https://core.telegram.org/bots/api#chatmember>
        let member = self.member(place, person).await?;
        Ok(member.is_some_and(|member| matches!(member.status.as_str(), "creator" | "administrator")))
    }

    async fn read(
        &self,
        place: &str,
        _: Option<&str>,
        _: Option<i64>,
        _: usize,
    ) -> Result<Option<Vec<RoomMessage>>, RoomError> {
        // Bots only receive messages; they can't read them later.
        parse(place).map(|_| None)
    }

    async fn profiles(&self, place: &str, query: &str) -> Result<Vec<Profile>, RoomError> {
        let (place, query) = (parse(place)?, query.trim());
        if let Ok(person) = query.trim_start_matches('@').parse() {
            return Ok(self.member(place, person).await?.map(Profile::from).into_iter().collect());
        }
        let name = query.trim_start_matches('@').to_lowercase();
        let people = match u64::try_from(place.chat) {
            Ok(person) => self.member(place, person).await?.into_iter().collect(),
            Err(_) => {
                let admins = |chat| GetChatAdministrators::new(ChatId(chat));
                let admins = self.in_chat::<Vec<Member>, _>(place, admins).await;
                admins.map_err(|error| self.room_error(error))?
            }
        };
        let is_it = |member: &Member| {
            let (user, full) = (&member.user, member.user.full_name().to_lowercase());
            let username = user.username.as_deref().unwrap_or_default().to_lowercase();
            !name.is_empty()
                && (username == name || full == name || full.split_whitespace().any(|word| word == name))
        };
        Ok(people.into_iter().filter(is_it).map(Profile::from).collect())
    }
}

impl Telegram {
    /// A chat's title; nothing if there is no such chat.
    async fn title(&self, chat: i64) -> Result<Option<Arc<str>>, RoomError> {
        if let Some(title) = self.titles.get(&chat).await {
            return Ok(Some(title));
        }
        let place = TelegramPlace { chat, thread: None };
        match self.in_chat::<Chat, _>(place, |chat| GetChat::new(ChatId(chat))).await {
            Ok(found) => {
                let title: Arc<str> = found.name().into();
                self.titles.insert(chat, Arc::clone(&title)).await;
                Ok(Some(title))
            }
            Err(error) if error.says(&NO_CHAT) => Ok(None),
            Err(error) => Err(self.room_error(error)),
        }
    }

    async fn member(&self, place: TelegramPlace, person: u64) -> Result<Option<Member>, RoomError> {
        let ask = |chat| GetChatMember::new(ChatId(chat), UserId(person));
        match self.in_chat::<Member, _>(place, ask).await {
            // Only the person we asked for counts.
            Ok(member) => Ok(Some(member).filter(|member| member.user.id == person)),
            Err(error) if error.says(&NO_MEMBER) => Ok(None),
            Err(error) => Err(self.room_error(error)),
        }
    }

    /// Why something can't be read, and how to fix it.
    fn room_error(&self, error: ApiError) -> RoomError {
        match error {
            ApiError::Flood(pause) => RoomError::TooMany(Some(pause)),
            _ if error.is_wrong_token() => RoomError::Token(self.wrong_token()),
            ApiError::Unreachable(_) | ApiError::Unclear(_) | ApiError::Moved(_) => {
                RoomError::Unreachable(error.to_string())
            }
            _ if error.says(&["member list is inaccessible", "CHAT_ADMIN_REQUIRED"]) => {
                RoomError::Closed(channels::telegram_hides_members())
            }
            _ if error.says(&NO_CHAT) => RoomError::Closed(channels::telegram_no_chat()),
            ApiError::Refused { code: 403, text } => RoomError::Closed(channels::telegram_not_in_chat(text)),
            ApiError::Refused { text, .. } => RoomError::Closed(channels::telegram_refuses(text)),
        }
    }
}

impl Chat {
    fn name(&self) -> String {
        let person = || full_name(&self.first_name, self.last_name.as_deref());
        let name = self.title.clone().unwrap_or_else(person);
        if name.is_empty() { self.id.to_string() } else { name }
    }
}

impl From<Member> for Profile {
    fn from(member: Member) -> Self {
        let Member { status, custom_title, user, .. } = member;
        let username = user.username.as_ref().map(|username| format!("@{username}")).unwrap_or_default();
        let role = match status.as_str() {
            "creator" => "owner of the group",
            "administrator" => "administrator of the group",
            "left" | "kicked" => "not in the group",
            _ => "",
        };
        let facts = [
            ("user name", one_line(&username)),
            ("title", one_line(&custom_title.unwrap_or_default())),
            ("role", role.to_owned()),
            ("account", if user.is_bot { "a bot's".to_owned() } else { String::new() }),
        ];
        let (id, name) = (user.id.to_string(), one_line(&user.full_name()));
        // A deleted account has no name.
        let name = if name.is_empty() { id.clone() } else { name };
        Self::new(id, name, facts)
    }
}

fn parse(place: &str) -> Result<TelegramPlace, RoomError> {
    place.parse().map_err(|_| RoomError::Closed(channels::telegram_not_a_chat(one_line(place))))
}

fn room(place: String, title: &str) -> Room {
    Room { place, name: one_line(title) }
}
