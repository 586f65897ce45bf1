//! The chats of the chat platforms: read, searched and posted into, for people who are in them.
//!
//! - Whether a person is in a chat is asked from the platform at each call, by their own account there.
//! - Where a platform shows bots no history, we read what was journalled of the chat instead, and say so.
//! - A post is an outbox row, committed with the call's row. The process that serves the channel delivers it.

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId};
use adjutant_l10n as l10n;
use adjutant_store::{Batch, outbox, people, rooms};
use adjutant_turn::trust::{ActionKind, Target};
use adjutant_types::clock::utc;
use adjutant_types::{FromCall, FromConfig, ours};
use async_trait::async_trait;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::calendar::event;
use super::{
    BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, Resource, has_all_words, under,
};
use crate::risk::fenced;
use crate::{Approved, ErrorKind, Output, Result, Risk, SkillError};

domain! {
    "chat", "../../../../skills/chat.toml", ChatSkill {
        ReadChannel = "chat.read_channel",
        ReadThread = "chat.read_thread",
        Search = "chat.search",
        UserInfo = "chat.user_info",
        Summarise = "chat.summarise",
        Post = "chat.post",
    }
}

/// The most messages of a chat that are searched.
const MAX_SEARCHED: usize = 500;
/// The most chats that are searched when none is named.
const MAX_CHATS: i64 = 10;
/// The most chats that are compared with a name.
const MAX_COMPARED: i64 = 200;
/// The most chats or people of one name.
const NAMESAKES: usize = 5;
/// The most of one message that a list shows.
const MAX_LENGTH: usize = 1_000;

#[async_trait]
impl BuiltinSkill for ChatSkill {
    fn needs(&self) -> Resource {
        Resource::ChatPlatform
    }

    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::on_own_store_if(matches!(self, Self::Post))
    }

    fn action(&self) -> Option<ActionKind> {
        matches!(self, Self::Post).then_some(ActionKind::PostSend)
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        Ok(match self {
            Self::Post => vec![Target::Typed(call.text("place").unwrap_or_default().to_owned())],
            _ => Vec::new(),
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let Self::Post = self else { return Ok(Preview::default()) };
        let chat = JoinedChat::open(call).await?;
        let text = fenced(call.text("text").unwrap_or_default());
        let head = l10n::rooms::post_preview(chat.room.name, chat.channel);
        let text = Some(format!("{head}\n{text}"));
        Ok(Preview { risk: Risk::High, text, ..Preview::default() })
    }

    async fn run(&self, call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::ReadChannel => read(call, None).await,
            Self::ReadThread => read(call, call.text("thread")).await,
            Self::Search => search(call).await,
            Self::UserInfo => user_info(call).await,
            Self::Summarise => summarise(call).await,
            Self::Post => post(call, approved, writes).await,
        }
    }
}

/// The channel that is meant, and the rest of the name: `slack:#general` names it, else it is the one that the call
/// was made on, or the only one.
fn channel_of<'a>(call: &CallContext<'a>, name: &'a str) -> Result<(&'a str, &'a dyn Rooms, &'a str)> {
    let rooms = &call.services.rooms;
    let prefixed = name.split_once(':').filter(|(channel, _)| rooms.contains_key(*channel));
    let (wanted, name) = prefixed.unwrap_or((&call.ctx.turn.conversation.channel, name));
    let only = || rooms.iter().next().filter(|_| rooms.len() == 1);
    if let Some((channel, rooms)) = rooms.get_key_value(wanted).or_else(only) {
        return Ok((channel, rooms.as_ref(), name));
    }
    let names: Vec<&str> = rooms.keys().map(String::as_str).collect();
    let message = match names.first() {
        None => ours!(l10n::rooms::no_platform),
        Some(first) => {
            let (first, all) = (FromConfig(first), FromConfig(names.join(", ")));
            ours!(l10n::rooms::which_platform, first, all)
        }
    };
    Err(SkillError::not_found(message).into())
}

async fn accounts_on(call: &CallContext<'_>, channel: &str) -> Result<Vec<SenderId>> {
    let all = people::accounts(call.store(), &call.ctx.turn.person.id).await?;
    let own = all.iter().filter_map(|account| account.strip_prefix(channel)?.strip_prefix(':'));
    let own: Vec<SenderId> = own.map(|user| SenderId(user.to_owned())).collect();
    if own.is_empty() {
        let message = ours!(l10n::rooms::unknown_account, FromConfig(channel));
        return Err(SkillError::new(ErrorKind::Permission, message).into());
    }
    Ok(own)
}

async fn is_member(rooms: &dyn Rooms, chat: &str, accounts: &[SenderId]) -> Result<bool> {
    for account in accounts {
        if rooms.is_member(chat, account).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A chat that the person and the assistant are both in.
struct JoinedChat<'a> {
    channel: &'a str,
    rooms: &'a dyn Rooms,
    room: Room,
}

impl<'a> JoinedChat<'a> {
    /// The chat that a call names, if the person is in it.
    async fn open(call: &CallContext<'a>) -> Result<Self> {
        let (channel, rooms, name) = channel_of(call, call.text("place").unwrap_or("here"))?;
        let accounts = accounts_on(call, channel).await?;
        let here = &call.ctx.turn.conversation;
        let candidates = match name {
            "here" if here.channel == channel => {
                vec![Room { place: here.place.clone(), name: l10n::rooms::here() }]
            }
            "here" => return Err(SkillError::params(ours!(l10n::rooms::which_chat)).into()),
            _ => rooms.find(name, &self::rooms::places(call.store(), channel, MAX_COMPARED).await?).await?,
        };
        let mut found = Vec::new();
        for room in candidates.into_iter().take(NAMESAKES) {
            if is_member(rooms, &room.place, &accounts).await? {
                found.push(room);
            }
        }
        if found.len() > 1 {
            let names: Vec<String> =
                found.iter().map(|room| format!("{} ({})", room.name, room.place)).collect();
            return Err(SkillError::params(ours!(l10n::rooms::several_chats, names.join(", "))).into());
        }
        // People who aren't in a chat don't learn whether it exists.
        let (name, on) = (FromCall(name), FromConfig(channel));
        let missing = ours!(l10n::rooms::no_chat, name, on);
        let room = found.pop().ok_or_else(|| SkillError::not_found(missing))?;
        Ok(Self { channel, rooms, room })
    }

    /// The chats of the channel we are on in which we were spoken to and the person is, and whether these are all.
    async fn of_person(call: &CallContext<'a>) -> Result<(Vec<Self>, bool)> {
        let (channel, rooms, _) = channel_of(call, "")?;
        let accounts = accounts_on(call, channel).await?;
        let places = self::rooms::places(call.store(), channel, MAX_CHATS).await?;
        let is_all = i64::try_from(places.len()).is_ok_and(|count| count < MAX_CHATS);
        let mut all = Vec::new();
        for chat in places {
            if is_member(rooms, &chat, &accounts).await? {
                let is_here = chat == call.ctx.turn.conversation.place;
                let name = if is_here { l10n::rooms::here() } else { chat.clone() };
                all.push(Self { channel, rooms, room: Room { place: chat, name } });
            }
        }
        Ok((all, is_all))
    }

    /// The name of the chat; the platform is asked where we only have its id.
    async fn name(&self) -> Result<String> {
        let Room { place: chat, name } = &self.room;
        if name != chat {
            return Ok(name.clone());
        }
        let found = self.rooms.find(chat, std::slice::from_ref(chat)).await?.into_iter().next();
        Ok(found.map_or_else(|| chat.clone(), |room| room.name))
    }

    /// The newest messages of the chat or of a thread in it, from the platform or else from our journal.
    async fn messages(&self, call: &CallContext<'_>, thread: Option<&str>, limit: usize) -> Result<Messages> {
        let since = event::moment(call, "since")?;
        let since = since.map(|when| when.instant(call.zone()).timestamp_millis());
        if let Some(lines) = self.rooms.read(&self.room.place, thread, since, limit).await? {
            return Ok(Messages { lines, is_journal: false });
        }
        let chat = match thread {
            Some(thread) => format!("{}/{thread}", self.room.place),
            None => self.room.place.clone(),
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let since = since.unwrap_or_default();
        let turns = rooms::said_in(call.store(), (self.channel, &chat), since, limit).await?;
        let mut lines = Vec::new();
        for (id, who, text, answer, at) in turns {
            let line = |author: String, text: String| RoomMessage {
                id: id.to_string(),
                at,
                author,
                text,
                replies: 0,
            };
            lines.push(line(who, text));
            lines.extend(answer.map(|answer| line(l10n::rooms::me(), answer)));
        }
        Ok(Messages { lines, is_journal: true })
    }
}

struct Messages {
    lines: Vec<RoomMessage>,
    /// Whether they are only what we journalled.
    is_journal: bool,
}

impl Messages {
    fn output(&self, head: String, zone: Tz) -> Output {
        let mut summary = head;
        if self.is_journal {
            summary.push_str(&format!("\n{}", l10n::rooms::no_history()));
        }
        for line in &self.lines {
            let text: String = line.text.chars().take(MAX_LENGTH).collect();
            let cut = if text.len() < line.text.len() { "…" } else { "" };
            let message = format!("\n- {}, {}: {text}{cut}", spoken(line.at, zone), line.author);
            summary.push_str(&match line.replies {
                0 => message,
                replies => l10n::rooms::with_replies(replies, message, &line.id),
            });
        }
        let item = |line: &RoomMessage| {
            let at = utc(line.at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string();
            json!({"id": line.id, "at": at, "who": line.author, "text": line.text, "replies": line.replies})
        };
        let items: Vec<Value> = self.lines.iter().map(item).collect();
        let untrusted = !items.is_empty();
        Output::outside_if(untrusted, summary, json!({"count": items.len(), "items": items}))
    }
}

fn spoken(at: i64, zone: Tz) -> String {
    utc(at).with_timezone(&zone).format("%a %-d %b, %H:%M").to_string()
}

async fn read(call: &CallContext<'_>, thread: Option<&str>) -> Result<Output> {
    let chat = JoinedChat::open(call).await?;
    let found = chat.messages(call, thread, call.limit()).await?;
    let name = &chat.room.name;
    let head = match (found.lines.len(), thread) {
        (0, None) => l10n::rooms::no_messages(name),
        (0, Some(_)) => l10n::rooms::no_thread_messages(name),
        (count, None) => l10n::rooms::messages(count, name),
        (count, Some(_)) => l10n::rooms::thread_messages(count, name),
    };
    Ok(found.output(head, call.zone()))
}

/// The messages of a chat, for a model to summarise, and the counts.
async fn summarise(call: &CallContext<'_>) -> Result<Output> {
    let chat = JoinedChat::open(call).await?;
    let (name, zone) = (&chat.room.name, call.zone());
    let limit = call.arguments.get("limit").and_then(Value::as_u64).unwrap_or(100);
    let limit = usize::try_from(limit).unwrap_or(MAX_SEARCHED).min(MAX_SEARCHED);
    let found = chat.messages(call, None, limit).await?;
    let (Some(first), Some(last)) = (found.lines.first(), found.lines.last()) else {
        return Ok(found.output(l10n::rooms::no_messages_then(name), zone));
    };
    let mut writers: Vec<(&str, usize)> = Vec::new();
    for line in &found.lines {
        match writers.iter_mut().find(|(who, _)| *who == line.author) {
            Some((_, count)) => *count += 1,
            None => writers.push((&line.author, 1)),
        }
    }
    writers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let writers: Vec<String> = writers.iter().take(10).map(|(who, count)| format!("{who} {count}")).collect();
    let (first, last) = (spoken(first.at, zone), spoken(last.at, zone));
    let head = l10n::rooms::messages_from_to(found.lines.len(), name, first, last, writers.join(", "));
    Ok(found.output(head, zone))
}

async fn search(call: &CallContext<'_>) -> Result<Output> {
    let query = call.text("query").unwrap_or_default();
    let (chats, mut is_all) = match call.text("place") {
        Some(_) => (vec![JoinedChat::open(call).await?], true),
        None => JoinedChat::of_person(call).await?,
    };
    let mut found = Messages { lines: Vec::new(), is_journal: false };
    let mut searched = 0;
    for chat in &chats {
        let mut here = chat.messages(call, None, MAX_SEARCHED).await?;
        searched += here.lines.len();
        is_all &= here.lines.len() < MAX_SEARCHED;
        let matches = |line: &RoomMessage| {
            has_all_words(&format!("{} {}", line.author, line.text).to_lowercase(), &query.to_lowercase())
        };
        here.lines.retain(matches);
        if chats.len() > 1 && !here.lines.is_empty() {
            let name = chat.name().await?;
            for line in &mut here.lines {
                line.author = l10n::rooms::author_in(&line.author, &name);
            }
        }
        found.is_journal |= here.is_journal;
        found.lines.append(&mut here.lines);
    }
    found.lines.sort_by_key(|line| line.at);
    let hidden = found.lines.len().saturating_sub(call.limit());
    let head = match found.lines.len() {
        0 => l10n::rooms::found_nothing(query),
        count if hidden > 0 => l10n::rooms::found_last(count, count - hidden),
        count => l10n::rooms::found(count),
    };
    found.lines.drain(..hidden);
    let note = (!is_all).then(|| l10n::rooms::searched(chats.len(), searched));
    Ok(found.output(under(head, note), call.zone()))
}

async fn user_info(call: &CallContext<'_>) -> Result<Output> {
    let (channel, rooms, name) = channel_of(call, call.text("user").unwrap_or_default())?;
    accounts_on(call, channel).await?;
    let here = &call.ctx.turn.conversation;
    let chat = if here.channel == channel { here.place.as_str() } else { "" };
    let mut found = rooms.profiles(chat, name).await?;
    found.truncate(NAMESAKES);
    if found.is_empty() {
        let nobody = ours!(l10n::rooms::nobody, FromCall(name), FromConfig(channel));
        return Err(SkillError::not_found(nobody).into());
    }
    let line = |profile: &Profile| {
        let facts: String =
            profile.facts.iter().map(|(name, value)| format!("\n- {name}: {value}")).collect();
        format!("{} ({}){facts}", profile.name, profile.id)
    };
    let item = |profile: &Profile| {
        let facts = profile.facts.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        json!({"id": profile.id, "name": profile.name, "facts": facts.collect::<serde_json::Map<_, _>>()})
    };
    let lines: Vec<String> = found.iter().map(line).collect();
    let items: Vec<Value> = found.iter().map(item).collect();
    let data = json!({"count": items.len(), "items": items});
    Ok(Output::new(lines.join("\n"), data))
}

async fn post(call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
    let JoinedChat { channel, room, .. } = JoinedChat::open(call).await?;
    let store = call.store();
    let conversation = match people::find_conversation(store, channel, &room.place).await? {
        Some(conversation) => conversation,
        None => people::conversation(store, channel, &room.place, &call.ctx.turn.person.id, false).await?,
    };
    let text = call.text("text").unwrap_or_default().to_owned();
    let message = outbox::Message { text, ..outbox::Message::default() };
    // The process that serves the channel takes it up.
    outbox::say(store, writes, &conversation.id, &outbox::anybody(), &message);
    let data = json!({"place": room.place, "channel": channel});
    Ok(Output::ours(l10n::rooms::posted(room.name, channel), data))
}

impl From<RoomError> for SkillError {
    fn from(error: RoomError) -> Self {
        let (kind, retry_after) = match &error {
            RoomError::Token(_) => (ErrorKind::Auth, None),
            RoomError::Closed(_) => (ErrorKind::Permission, None),
            RoomError::TooMany(wait) => (ErrorKind::RateLimit, *wait),
            RoomError::Unreachable(_) => (ErrorKind::Network, None),
        };
        Self { retry_after, ..Self::new(kind, error.to_string()) }
    }
}
