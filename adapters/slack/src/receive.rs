//! Pure: reads what Slack sends.
//!
//! Only the fields in use are read, so that no message is lost over a field that is new or has changed.

pub(crate) mod text;

use adjutant_chat::{
    Address, Attachment, ButtonPress, EventId, IncomingMessage, IncomingReaction, MessageEdit, Received,
    RemoteFile, SenderId, VoiceNote, is_audio, is_command, one_line,
};
use adjutant_l10n::channels;
use serde::Deserialize;
use serde_json::Value;

use crate::place::{SlackPlace, Ts};

/// Who we are: the configured channel and our own account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BotIdentity<'a> {
    pub(crate) channel: &'a str,
    pub(crate) me: &'a str,
}

/// A message event, a message of the history, or a reaction.
/// Sources: <https://docs.slack.dev/reference/events/message>, <https://docs.slack.dev/reference/events/reaction_added>
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageEvent {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    user: Option<String>,
    bot_id: Option<String>,
    /// The app that wrote it for the user.
    app_id: Option<String>,
    text: Option<String>,
    pub(crate) ts: String,
    thread_ts: Option<String>,
    parent_user_id: Option<String>,
    /// Only new messages have it, not those from the history.
    pub(crate) channel: Option<String>,
    channel_type: Option<String>,
    files: Value,
    attachments: Value,
    /// The emoji's name, and the message that it is put under.
    reaction: Value,
    pub(crate) item: Value,
    message: Option<Box<MessageEvent>>,
    previous_message: Option<Box<MessageEvent>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct File {
    name: Option<String>,
    url_private: String,
    size: usize,
    mimetype: String,
    /// `slack_audio` for an audio clip.
    subtype: Value,
    duration_ms: Value,
}

impl File {
    fn attachment(&self) -> Attachment {
        let name = one_line(self.name.as_deref().unwrap_or("a file"));
        let (file, mime_type) = (self.url_private.clone(), self.mimetype.clone());
        let bytes = u64::try_from(self.size).ok();
        // Slack calls a clip that was recorded in a browser a video.
        if self.subtype == "slack_audio" || is_audio(&self.mimetype) {
            let seconds = self.duration_ms.as_u64().map(|length| length.div_ceil(1000));
            let voice = Some(VoiceNote { file, mime_type, seconds, bytes });
            return Attachment { name, voice, ..Attachment::default() };
        }
        let file = Some(RemoteFile { file, mime_type, bytes });
        Attachment { name, file, ..Attachment::default() }
    }
}

/// The most messages that one passes on.
const MAX_SHARED: usize = 10;

/// Subtypes of messages that people write. The others are Slack's own (joins, topics) or bots'.
pub(crate) const BY_PEOPLE: [&str; 3] = ["file_share", "thread_broadcast", "me_message"];

impl MessageEvent {
    pub(crate) fn place(&self, channel: &str) -> SlackPlace {
        let changed = self.message.as_deref().unwrap_or(self);
        let root = changed.thread_ts.as_deref().filter(|root| *root != changed.ts);
        SlackPlace { channel: channel.to_owned(), thread: root.and_then(|root| root.parse().ok()) }
    }

    /// If it begins a thread: its own time stamp and that of the last reply.
    pub(crate) fn thread_of(message: &Value) -> Option<(Ts, Ts)> {
        let ts = |key: &str| message[key].as_str()?.parse::<Ts>().ok();
        Some((ts("ts").filter(|own| ts("thread_ts") == Some(*own))?, ts("latest_reply")?))
    }

    /// Reads it. In a group only a mention, or a reply in a thread that we began, is for us. Texts and names are still in
    /// Slack's form: see [`text::own`].
    pub(crate) fn read(&self, channel: &str, bot: BotIdentity<'_>) -> Received {
        let place = self.place(channel);
        match self.subtype.as_deref() {
            Some("message_changed") => return self.edit(channel, bot),
            Some(subtype) if !BY_PEOPLE.contains(&subtype) => return Received::Ignored,
            _ => {}
        }
        let Some(user) = &self.user else { return Received::Ignored };
        if user == bot.me {
            return Received::Own;
        }
        if let (Some(emoji), Some(ts)) = (self.reaction.as_str(), self.item["ts"].as_str()) {
            let reaction = IncomingReaction::of(emoji, bot.address(&place), user.clone(), ts.to_owned());
            let reaction = reaction.and_then(|one| one.or_gone(self.kind == "reaction_removed"));
            return reaction.map_or(Received::Ignored, Received::Reaction);
        }
        let is_message = matches!(self.kind.as_str(), "message" | "app_mention");
        if !is_message || self.bot_id.is_some() || self.ts.parse::<Ts>().is_err() {
            return Received::Ignored;
        }
        let direct = self.channel_type.as_deref().map_or(place.is_direct(), |kind| kind == "im");
        let root_is_ours = place.thread.is_some() && self.parent_user_id.as_deref() == Some(bot.me);
        let written = self.text.as_deref().unwrap_or_default();
        let is_addressed = direct || root_is_ours || text::mentions(written, bot.me);
        let text = text::without(written, bot.me);
        let files = self.files();
        let mut shared = self.shared();
        // What stands beside words of their own is an enclosure, or else the message itself.
        let passed_on = if text.is_empty() && !shared.is_empty() { Some(shared.remove(0)) } else { None };
        let (text, forwarded_from) = match passed_on {
            Some((author, passed_on)) => (passed_on, Some(author)),
            None => (text, self.app_id.as_ref().map(|_| channels::some_app("Slack"))),
        };
        if text.is_empty() && files.is_empty() {
            return Received::Ignored;
        }
        let enclosure = |(author, text): (String, String)| {
            let text = text::readable(&text, &[]);
            Attachment { name: channels::message_by(author), text: Some(text), ..Attachment::default() }
        };
        let attachments =
            shared.into_iter().map(enclosure).chain(files.iter().map(File::attachment)).collect();
        let message = IncomingMessage {
            event: event(channel, &self.ts),
            reply_to: place.thread.filter(|_| root_is_ours).map(|root| root.to_string()),
            address: bot.address(&place),
            sender: SenderId(user.clone()),
            sender_name: user.clone(),
            direct,
            is_addressed,
            text,
            mentions: Vec::new(),
            forwarded_from,
            attachments,
        };
        Received::Message(message)
    }

    /// Reads an edit. If the text is the same, only a preview or a reply is new.
    fn edit(&self, channel: &str, bot: BotIdentity<'_>) -> Received {
        let Some(message) = self.message.as_deref() else { return Received::Ignored };
        let before = self.previous_message.as_deref().and_then(|before| before.text.as_ref());
        match &message.text {
            _ if message.user.as_deref() == Some(bot.me) => Received::Own,
            Some(text) if message.bot_id.is_none() && message.user.is_some() && before != Some(text) => {
                Received::Edit(MessageEdit {
                    event: event(channel, &message.ts),
                    text: text::without(text, bot.me),
                    mentions: Vec::new(),
                })
            }
            _ => Received::Ignored,
        }
    }

    /// The messages that it passes on: who wrote each, and the text. Other enclosures are previews.
    /// Source: <https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments>
    fn shared(&self) -> Vec<(String, String)> {
        let word = |one: &Value, keys: [&str; 2]| {
            let text = keys.iter().find_map(|key| one[*key].as_str().filter(|text| !text.trim().is_empty()));
            text.map(str::to_owned)
        };
        let read = |one: &Value| {
            let author = word(one, ["author_name", "author_subname"]);
            let author = author.map_or_else(|| channels::somebody("Slack"), |name| one_line(&name));
            Some((author, word(one, ["text", "fallback"])?))
        };
        self.shares().filter_map(read).take(MAX_SHARED).collect()
    }

    /// Its files, and those of the messages that it passes on.
    fn files(&self) -> Vec<File> {
        let shared = self.shares().take(MAX_SHARED).filter_map(|one| one["files"].as_array());
        let files = self.files.as_array().into_iter().chain(shared).flatten();
        files.map(|file| File::deserialize(file).unwrap_or_default()).collect()
    }

    fn shares(&self) -> impl Iterator<Item = &Value> {
        let all = self.attachments.as_array().into_iter().flatten();
        all.filter(|one| one["is_share"] == true || one["is_msg_unfurl"] == true)
    }
}

pub(crate) fn event(channel: &str, ts: &str) -> EventId {
    EventId(format!("{channel}:{ts}"))
}

impl BotIdentity<'_> {
    fn address(self, place: &SlackPlace) -> Address {
        Address { channel: self.channel.to_owned(), place: place.to_string() }
    }
}

/// A slash command. Source: <https://docs.slack.dev/interactivity/implementing-slash-commands>
#[derive(Debug, Deserialize)]
pub(crate) struct Command {
    command: String,
    #[serde(default)]
    text: String,
    channel_id: String,
    user_id: String,
    #[serde(default)]
    user_name: String,
    trigger_id: String,
    response_url: Option<String>,
}

impl Command {
    /// The id of its event, where it is answered, and what was typed.
    pub(crate) fn response(&self) -> Option<(String, &str, String)> {
        let words = format!("{} {}", self.command, self.text);
        let event = EventId::private(&self.user_id, &self.trigger_id);
        Some((event.0, self.response_url.as_deref()?, words))
    }
}

/// Reads a slash command; nothing if it is not understood. Under another name (`/adjutant status`) its text names our
/// command.
pub(crate) fn command(command: Command, channel: &str) -> Option<IncomingMessage> {
    let Command { command, text, channel_id, user_id, user_name, trigger_id, .. } = command;
    let place = channel_id.parse::<SlackPlace>().ok()?;
    let words = match is_command(&command) {
        true => format!("{command} {text}"),
        false if text.trim().is_empty() => "/help".to_owned(),
        false => format!("/{}", text.trim().trim_start_matches('/')),
    };
    let (text, mentions) = text::own(words.trim(), &[]);
    Some(IncomingMessage {
        // There is no message whose id we could take.
        event: EventId::private(&user_id, &trigger_id),
        address: Address { channel: channel.to_owned(), place: place.to_string() },
        sender: SenderId(user_id),
        sender_name: user_name,
        direct: place.is_direct(),
        is_addressed: true,
        text,
        mentions,
        ..IncomingMessage::default()
    })
}

/// Pressed buttons, or another of Slack's interactions.
/// Source: <https://docs.slack.dev/reference/interaction-payloads/block_actions-payload>
#[derive(Debug, Deserialize)]
pub(crate) struct Interaction {
    #[serde(rename = "type")]
    kind: String,
    user: Option<Person>,
    container: Option<Container>,
    #[serde(default)]
    actions: Vec<Value>,
    response_url: Option<String>,
}

impl Interaction {
    /// Where it is answered, if only one person sees the message with the button.
    pub(crate) fn response(&self) -> Option<String> {
        self.response_url.clone().filter(|_| self.container.as_ref().is_some_and(|one| one.is_ephemeral))
    }
}

#[derive(Debug, Deserialize)]
struct Person {
    id: String,
    username: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Container {
    channel_id: String,
    message_ts: String,
    thread_ts: Option<String>,
    #[serde(default)]
    is_ephemeral: bool,
}

/// Reads a press; nothing if it is not understood.
pub(crate) fn press(interaction: Interaction, channel: &str) -> Option<ButtonPress> {
    let Interaction { kind, user, container, actions, .. } = interaction;
    let (user, Container { channel_id, message_ts, thread_ts, is_ephemeral }) = (user?, container?);
    let action = actions.first().filter(|_| kind == "block_actions")?;
    let text = |key: &str| action[key].as_str().filter(|text| !text.is_empty());
    let (button, at) = (text("value").or(text("action_id"))?, text("action_ts")?);
    let root = thread_ts.filter(|root| *root != message_ts);
    let place = root.map_or_else(|| channel_id.clone(), |root| format!("{channel_id}/{root}"));
    let place: SlackPlace = place.parse().ok()?;
    let event = match is_ephemeral {
        // What follows is for this person alone, too.
        true => EventId::private(&user.id, &format!("press:{channel_id}:{message_ts}:{at}")),
        false => EventId(format!("press:{channel_id}:{message_ts}:{}:{at}", user.id)),
    };
    Some(ButtonPress {
        event,
        address: Address { channel: channel.to_owned(), place: place.to_string() },
        sender_name: user.name.or(user.username).unwrap_or_else(|| user.id.clone()),
        sender: SenderId(user.id),
        direct: place.is_direct(),
        button: button.to_owned(),
    })
}

#[cfg(test)]
mod tests;
