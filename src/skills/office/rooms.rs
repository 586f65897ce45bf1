//! The places of the chat platforms: read, searched and posted into, for somebody who is in them.
//!
//! - Whether a person is in a place is asked from the platform at each call, by their own account there.
//! - Where a platform shows bots no history, what was journalled of the place is read instead, and that is said.
//! - A post is a row of the outbox, in one commit with the call's. Whoever holds the channel delivers it.

use adjutant_chat::{Room, RoomError, RoomMessage, Rooms, SenderId};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::{Look, Office, Trouble, Work, event, limit, params, text};
use crate::clock::utc;
use crate::skills::{ErrorKind, Output, Risk, SkillError};
use crate::store::{Batch, outbox, people, rooms};

/// So many messages of a place are searched.
const SEARCHED: usize = 500;
/// So many places are searched when none is named.
const PLACES: i64 = 10;
/// So many places that we know are compared with a name.
const KNOWN: i64 = 200;
/// So many places of one name are asked about.
const NAMESAKES: usize = 5;
/// How the place is called that we are talking in.
const HERE: &str = "this place";
/// More of one message is not shown in a list.
const LONGEST: usize = 1_000;

/// A place that the person may read.
struct Entered<'a> {
    channel: &'a str,
    rooms: &'a dyn Rooms,
    room: Room,
}

/// What was found in a place, and whether it is only what we journalled.
struct Lines {
    lines: Vec<RoomMessage>,
    is_journal: bool,
}

impl Office {
    pub(super) async fn rooms_call(&self, work: &Work<'_>, handler: &str) -> Result<Output, Trouble> {
        match handler {
            "chat.read_channel" => self.read_room(work, None).await,
            "chat.read_thread" => self.read_room(work, text(work.arguments, "thread")).await,
            "chat.summarise" => self.digest(work).await,
            "chat.search" => self.search_rooms(work).await,
            "chat.user_info" => self.user_info(work).await,
            other => Err(SkillError::new(ErrorKind::NotFound, format!("there is no handler {other}")).into()),
        }
    }

    /// The channel that is meant, and the rest of what was said: `slack:#general` names it, else it is the one that
    /// we are talking on, or the only one.
    fn channel_of<'a>(&self, work: &Work<'a>, said: &'a str) -> Result<(&str, &dyn Rooms, &'a str), Trouble> {
        let named = said.split_once(':').filter(|(channel, _)| self.rooms.contains_key(*channel));
        let (wanted, said) = named.unwrap_or((&work.scope.conversation.channel, said));
        let found = match (self.rooms.get_key_value(wanted), self.rooms.len()) {
            (Some(found), _) => Some(found),
            (None, 1) => self.rooms.iter().next(),
            (None, _) => None,
        };
        if let Some((channel, rooms)) = found {
            return Ok((channel, rooms.as_ref(), said));
        }
        let message = match self.rooms.len() {
            0 => "no chat platform is connected here".to_owned(),
            _ => {
                let names: Vec<&str> = self.rooms.keys().map(String::as_str).collect();
                format!("/place: say on which channel, such as {}:general ({})", names[0], names.join(", "))
            }
        };
        Err(SkillError::new(ErrorKind::NotFound, message).into())
    }

    /// The person's accounts on a channel.
    async fn accounts_on(&self, work: &Work<'_>, channel: &str) -> Result<Vec<SenderId>, Trouble> {
        let all = people::accounts(&work.scope.store, &work.scope.person.id).await?;
        let own = all.iter().filter_map(|account| account.strip_prefix(channel)?.strip_prefix(':'));
        let own: Vec<SenderId> = own.map(|user| SenderId(user.to_owned())).collect();
        if own.is_empty() {
            let message = format!(
                "I don't know your account on {channel}, so I can't tell what you may read there; write to me \
                 there, and say /link"
            );
            return Err(SkillError::new(ErrorKind::Permission, message).into());
        }
        Ok(own)
    }

    /// The place that a call names, if the person is in it.
    async fn enter<'a>(&'a self, work: &Work<'a>) -> Result<Entered<'a>, Trouble> {
        let said = text(work.arguments, "place").unwrap_or("here");
        let (channel, rooms, name) = self.channel_of(work, said)?;
        let accounts = self.accounts_on(work, channel).await?;
        let here = &work.scope.conversation;
        let candidates = match name {
            "here" if here.channel == channel => {
                vec![Room { place: here.place.clone(), name: "here".into() }]
            }
            "here" => return Err(params("/place: say which place, such as #general").into()),
            _ => {
                let known = rooms::places(&work.scope.store, channel, KNOWN).await?;
                rooms.find(name, &known).await?
            }
        };
        let mut entered = Vec::new();
        for room in candidates.into_iter().take(NAMESAKES) {
            if is_in(rooms, &room.place, &accounts).await? {
                entered.push(room);
            }
        }
        match entered.len() {
            // Whether there is such a place is nothing for those who are not in it.
            0 => {
                let message = format!("there is no place “{name}” on {channel} in which both of us are");
                Err(SkillError::new(ErrorKind::NotFound, message).into())
            }
            1 => Ok(Entered { channel, rooms, room: entered.remove(0) }),
            _ => {
                let all: Vec<String> =
                    entered.iter().map(|room| format!("{} ({})", room.name, room.place)).collect();
                let message = format!("/place: there are several: {}. Say which, by its id", all.join(", "));
                Err(params(message).into())
            }
        }
    }

    async fn read_room(&self, work: &Work<'_>, thread: Option<&str>) -> Result<Output, Trouble> {
        let entered = self.enter(work).await?;
        let found = entered.lines(work, thread, limit(work.arguments)).await?;
        let what = if thread.is_some() { "of the thread " } else { "" };
        let head = match found.lines.len() {
            0 => format!("There are no messages {what}in {}", entered.room.name),
            1 => format!("1 message {what}in {}:", entered.room.name),
            many => format!("{many} messages {what}in {}, the newest last:", entered.room.name),
        };
        Ok(found.tell(head, work.scope.zone))
    }

    /// What a model needs to sum a place up, and what can be counted.
    async fn digest(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let entered = self.enter(work).await?;
        let most = work.arguments.get("limit").and_then(Value::as_u64).unwrap_or(100);
        let most = usize::try_from(most).unwrap_or(SEARCHED).min(SEARCHED);
        let found = entered.lines(work, None, most).await?;
        let (Some(first), Some(last)) = (found.lines.first(), found.lines.last()) else {
            return Ok(
                found.tell(format!("There are no messages in {} then", entered.room.name), work.scope.zone)
            );
        };
        let mut writers: Vec<(&str, usize)> = Vec::new();
        for line in &found.lines {
            match writers.iter_mut().find(|(who, _)| *who == line.author) {
                Some((_, count)) => *count += 1,
                None => writers.push((&line.author, 1)),
            }
        }
        writers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let writers: Vec<String> =
            writers.iter().take(10).map(|(who, count)| format!("{who} {count}")).collect();
        let at = |line: &RoomMessage| spoken(line.at, work.scope.zone);
        let head = format!(
            "{} messages in {}, from {} to {} (by {}):",
            found.lines.len(),
            entered.room.name,
            at(first),
            at(last),
            writers.join(", ")
        );
        Ok(found.tell(head, work.scope.zone))
    }

    async fn search_rooms(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let query = text(work.arguments, "query").unwrap_or_default();
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let all = match text(work.arguments, "place") {
            Some(_) => vec![self.enter(work).await?],
            None => self.own_rooms(work).await?,
        };
        let mut found = Lines { lines: Vec::new(), is_journal: false };
        for entered in &all {
            let mut here = entered.lines(work, None, SEARCHED).await?;
            here.lines.retain(|line| {
                let text = format!("{} {}", line.author, line.text).to_lowercase();
                words.iter().all(|word| text.contains(word.as_str()))
            });
            if all.len() > 1 && !here.lines.is_empty() {
                let name = entered.name().await?;
                here.lines.iter_mut().for_each(|line| line.author.push_str(&format!(" in {name}")));
            }
            found.is_journal |= here.is_journal;
            found.lines.append(&mut here.lines);
        }
        found.lines.sort_by_key(|line| line.at);
        let from = found.lines.len().saturating_sub(limit(work.arguments));
        let head = match found.lines.len() {
            0 => format!("Nobody wrote about “{query}”, as far as I can read"),
            1 => "1 message:".to_owned(),
            many if from > 0 => format!("{many} messages, the last {}:", many - from),
            many => format!("{many} messages, the newest last:"),
        };
        found.lines.drain(..from);
        Ok(found.tell(head, work.scope.zone))
    }

    /// The places of the channel that we are talking on in which we were spoken to, and the person is.
    async fn own_rooms<'a>(&'a self, work: &Work<'a>) -> Result<Vec<Entered<'a>>, Trouble> {
        let (channel, rooms, _) = self.channel_of(work, "")?;
        let accounts = self.accounts_on(work, channel).await?;
        let mut all = Vec::new();
        for place in rooms::places(&work.scope.store, channel, PLACES).await? {
            if is_in(rooms, &place, &accounts).await? {
                let is_here = place == work.scope.conversation.place;
                let name = if is_here { HERE.to_owned() } else { place.clone() };
                all.push(Entered { channel, rooms, room: Room { place, name } });
            }
        }
        Ok(all)
    }

    async fn user_info(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let said = text(work.arguments, "user").unwrap_or_default();
        let (channel, rooms, name) = self.channel_of(work, said)?;
        self.accounts_on(work, channel).await?;
        let here = &work.scope.conversation;
        let place = if here.channel == channel { here.place.as_str() } else { "" };
        let found = rooms.profiles(place, name).await?;
        if found.is_empty() {
            let message = format!("nobody on {channel} is called “{name}”, as far as I can see");
            return Err(SkillError::new(ErrorKind::NotFound, message).into());
        }
        let mut lines = Vec::new();
        for one in found.iter().take(NAMESAKES) {
            let facts = one.facts.iter().map(|(name, value)| format!("\n- {name}: {value}"));
            lines.push(format!("{} ({}){}", one.name, one.id, facts.collect::<String>()));
        }
        let item = |one: &adjutant_chat::Profile| {
            let facts = one.facts.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            json!({"id": one.id, "name": one.name, "facts": facts.collect::<serde_json::Map<_, _>>()})
        };
        let items: Vec<Value> = found.iter().take(NAMESAKES).map(item).collect();
        let data = json!({"count": items.len(), "items": items});
        Ok(Output { summary: lines.join("\n"), data, untrusted: true })
    }

    pub(super) async fn look_at_post(&self, work: &Work<'_>) -> Result<Look, Trouble> {
        let entered = self.enter(work).await?;
        let said = crate::skills::risk::fenced(text(work.arguments, "text").unwrap_or_default());
        let preview = format!("Post into {} on {}:\n- text:\n{said}", entered.room.name, entered.channel);
        Ok(Look { risk: Risk::High, preview: Some(preview) })
    }

    pub(super) async fn post(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let Entered { channel, room, .. } = self.enter(work).await?;
        let store = &work.scope.store;
        let conversation = match people::find_conversation(store, channel, &room.place).await? {
            Some(conversation) => conversation,
            None => people::conversation(store, channel, &room.place, &work.scope.person.id, false).await?,
        };
        let said = text(work.arguments, "text").unwrap_or_default().to_owned();
        let message = outbox::Message { text: said, ..outbox::Message::default() };
        // No process has this name: whichever holds the channel takes it up.
        outbox::say(store, batch, &conversation.id, &outbox::anybody(), &message);
        let data = json!({"place": room.place, "channel": channel});
        Ok(Output { summary: format!("Posted into {} on {channel}", room.name), data, untrusted: false })
    }
}

impl Entered<'_> {
    /// How people call the place; the platform is asked where all that is known is its id.
    async fn name(&self) -> Result<String, Trouble> {
        let Room { place, name } = &self.room;
        if name != place {
            return Ok(name.clone());
        }
        let found = self.rooms.find(place, std::slice::from_ref(place)).await?.into_iter().next();
        Ok(found.map_or_else(|| place.clone(), |room| room.name))
    }

    /// The newest messages: the platform's, with what we journalled before them, or of a thread only the platform's.
    async fn lines(&self, work: &Work<'_>, thread: Option<&str>, most: usize) -> Result<Lines, Trouble> {
        let since = event::moment(work.arguments, "since", work.scope.zone)?;
        let since = since.map(|when| when.instant(work.scope.zone).timestamp_millis());
        let told = self.rooms.read(&self.room.place, thread, since, most).await?;
        if let Some(lines) = told {
            return Ok(Lines { lines, is_journal: false });
        }
        let place = match thread {
            Some(thread) => format!("{}/{thread}", self.room.place),
            None => self.room.place.clone(),
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let turns =
            rooms::said_in(&work.scope.store, (self.channel, &place), since.unwrap_or_default(), most)
                .await?;
        let mut lines = Vec::new();
        for (id, who, said, answer, at) in turns {
            let line =
                |author: String, text: String| RoomMessage { id: id.clone(), at, author, text, replies: 0 };
            lines.push(line(who, said));
            lines.extend(answer.map(|answer| line("I".to_owned(), answer)));
        }
        Ok(Lines { lines, is_journal: true })
    }
}

impl Lines {
    fn tell(&self, head: String, zone: Tz) -> Output {
        let mut summary = head;
        if self.is_journal {
            summary.push_str("\n(This platform shows me no history, so this is only what was said to me.)");
        }
        for line in &self.lines {
            let said: String = line.text.chars().take(LONGEST).collect();
            let cut = if said.len() < line.text.len() { "…" } else { "" };
            let replies = match line.replies {
                0 => String::new(),
                1 => format!(" (1 answer, thread {})", line.id),
                many => format!(" ({many} answers, thread {})", line.id),
            };
            summary.push_str(&format!(
                "\n- {}, {}: {said}{cut}{replies}",
                spoken(line.at, zone),
                line.author
            ));
        }
        let item = |line: &RoomMessage| {
            let at = utc(line.at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string();
            json!({"id": line.id, "at": at, "who": line.author, "text": line.text, "replies": line.replies})
        };
        let items: Vec<Value> = self.lines.iter().map(item).collect();
        let data = json!({"count": items.len(), "items": items});
        Output { summary, data, untrusted: !self.lines.is_empty() }
    }
}

fn spoken(at: i64, zone: Tz) -> String {
    utc(at).with_timezone(&zone).format("%a %-d %b, %H:%M").to_string()
}

async fn is_in(rooms: &dyn Rooms, place: &str, accounts: &[SenderId]) -> Result<bool, Trouble> {
    for account in accounts {
        if rooms.is_member(place, account).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl From<RoomError> for Trouble {
    fn from(why: RoomError) -> Self {
        let (kind, retry_after) = match why {
            RoomError::Token(_) => (ErrorKind::Auth, None),
            RoomError::Closed(_) => (ErrorKind::Permission, None),
            RoomError::TooMany(wait) => (ErrorKind::RateLimit, wait),
            RoomError::Unreachable(_) => (ErrorKind::Network, None),
        };
        Self::Skill(SkillError { retry_after, ..SkillError::new(kind, why.to_string()) })
    }
}
