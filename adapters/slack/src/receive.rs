//! Pure: what Slack sends, and what it means to us.
//!
//! Only the fields in use are read, so that no message is lost over a field that is new or has changed.

pub(crate) mod text;

use adjutant_chat::{Address, ButtonPress, EventId, IncomingMessage, MessageEdit, SenderId};
use serde::Deserialize;
use serde_json::Value;

use crate::place::{Place, Ts};

/// What something that arrived is. Texts and names are still Slack's: see [`text::readable`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Received {
    /// A message to us, its files not yet read.
    Message(IncomingMessage, Vec<File>),
    /// A message has a new text.
    Edit(MessageEdit),
    /// What we wrote ourselves comes back.
    Own,
    /// Not for us, or not understood.
    Ignored,
}

/// Who reads: the configured channel and our own account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) channel: &'a str,
    pub(crate) me: &'a str,
}

/// A message as Slack tells of it, at once or later.
/// Source: <https://docs.slack.dev/reference/events/message>
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Post {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    user: Option<String>,
    bot_id: Option<String>,
    text: Option<String>,
    pub(crate) ts: String,
    thread_ts: Option<String>,
    parent_user_id: Option<String>,
    /// Told of new messages only, not of those that are read later.
    pub(crate) channel: Option<String>,
    channel_type: Option<String>,
    files: Value,
    message: Option<Box<Post>>,
    previous_message: Option<Box<Post>>,
}

/// A file that hangs on a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct File {
    pub(crate) name: Option<String>,
    pub(crate) url_private: String,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) mimetype: String,
}

/// Subtypes of messages that people write. The others are Slack's own (joins, topics) or machines'.
pub(crate) const WRITTEN: [&str; 3] = ["file_share", "thread_broadcast", "me_message"];

impl Post {
    /// The place that it belongs to, in this channel.
    pub(crate) fn place(&self, channel: &str) -> Place {
        let changed = self.message.as_deref().unwrap_or(self);
        let root = changed.thread_ts.as_deref().filter(|root| *root != changed.ts);
        Place { channel: channel.to_owned(), thread: root.and_then(|root| root.parse().ok()) }
    }

    /// When its thread, of which it is the first, was last answered in.
    pub(crate) fn own_thread(message: &Value) -> Option<(Ts, Ts)> {
        let ts = |key: &str| message[key].as_str()?.parse::<Ts>().ok();
        Some((ts("ts").filter(|own| ts("thread_ts") == Some(*own))?, ts("latest_reply")?))
    }

    /// What it is to us. In company only a mention of us, or an answer in a thread that we began, speaks to us.
    pub(crate) fn heard(&self, channel: &str, reader: Reader<'_>) -> Received {
        let place = self.place(channel);
        match self.subtype.as_deref() {
            Some("message_changed") => return self.changed(channel, reader),
            Some(subtype) if !WRITTEN.contains(&subtype) => return Received::Ignored,
            _ => {}
        }
        let Some(user) = &self.user else { return Received::Ignored };
        if user == reader.me {
            return Received::Own;
        }
        let is_message = matches!(self.kind.as_str(), "message" | "app_mention");
        if !is_message || self.bot_id.is_some() || self.ts.parse::<Ts>().is_err() {
            return Received::Ignored;
        }
        let direct = self.channel_type.as_deref().map_or(place.is_direct(), |kind| kind == "im");
        let root_is_ours = place.thread.is_some() && self.parent_user_id.as_deref() == Some(reader.me);
        let written = self.text.as_deref().unwrap_or_default();
        if !direct && !root_is_ours && !text::mentions(written, reader.me) {
            return Received::Ignored;
        }
        let text = text::without(written, reader.me);
        let files = self.files();
        if text.is_empty() && files.is_empty() {
            return Received::Ignored;
        }
        let said = IncomingMessage {
            event: event(channel, &self.ts),
            reply_to: place.thread.filter(|_| root_is_ours).map(|root| root.to_string()),
            address: reader.address(&place),
            sender: SenderId(user.clone()),
            sender_name: user.clone(),
            direct,
            text,
            attachments: Vec::new(),
        };
        Received::Message(said, files)
    }

    /// A changed message; one whose text stayed has only got a preview or an answer.
    fn changed(&self, channel: &str, reader: Reader<'_>) -> Received {
        let Some(message) = self.message.as_deref() else { return Received::Ignored };
        let before = self.previous_message.as_deref().and_then(|before| before.text.as_ref());
        match &message.text {
            _ if message.user.as_deref() == Some(reader.me) => Received::Own,
            Some(text) if message.bot_id.is_none() && message.user.is_some() && before != Some(text) => {
                Received::Edit(MessageEdit {
                    event: event(channel, &message.ts),
                    text: text::without(text, reader.me),
                })
            }
            _ => Received::Ignored,
        }
    }

    fn files(&self) -> Vec<File> {
        let files = self.files.as_array().into_iter().flatten();
        files.map(|file| File::deserialize(file).unwrap_or_default()).collect()
    }
}

/// What Slack calls a message.
fn event(channel: &str, ts: &str) -> EventId {
    EventId(format!("{channel}:{ts}"))
}

impl Reader<'_> {
    fn address(self, place: &Place) -> Address {
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
}

/// The commands that are ours by their names; Slack has some of these for itself.
const COMMANDS: [&str; 10] =
    ["/new", "/run", "/draft", "/stop", "/pause", "/status", "/trace", "/help", "/link", "/pair"];

/// What a slash command is to us; nothing if it is not understood. One of another name (`/adjutant status`) says in
/// its text which of ours is meant.
pub(crate) fn command(command: Command, channel: &str) -> Option<IncomingMessage> {
    let Command { command, text, channel_id, user_id, user_name, trigger_id } = command;
    let place = channel_id.parse::<Place>().ok()?;
    let words = match COMMANDS.contains(&command.as_str()) {
        true => format!("{command} {text}"),
        false if text.trim().is_empty() => "/help".to_owned(),
        false => format!("/{}", text.trim().trim_start_matches('/')),
    };
    Some(IncomingMessage {
        // Slack names no message: there is none.
        event: EventId(format!("command:{trigger_id}")),
        address: Address { channel: channel.to_owned(), place: place.to_string() },
        sender: SenderId(user_id),
        sender_name: user_name,
        direct: place.is_direct(),
        text: text::readable(words.trim(), &[]),
        reply_to: None,
        attachments: Vec::new(),
    })
}

/// ButtonPress buttons, or something else that Slack calls interactive.
/// Source: <https://docs.slack.dev/reference/interaction-payloads/block_actions-payload>
#[derive(Debug, Deserialize)]
pub(crate) struct Interaction {
    #[serde(rename = "type")]
    kind: String,
    user: Option<Person>,
    container: Option<Container>,
    #[serde(default)]
    actions: Vec<Value>,
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
}

/// What a press is to us; nothing if it is not understood.
pub(crate) fn press(interaction: Interaction, channel: &str) -> Option<ButtonPress> {
    let Interaction { kind, user, container, actions } = interaction;
    let (user, Container { channel_id, message_ts, thread_ts }) = (user?, container?);
    let action = actions.first().filter(|_| kind == "block_actions")?;
    let text = |key: &str| action[key].as_str().filter(|text| !text.is_empty());
    let (button, at) = (text("value").or(text("action_id"))?, text("action_ts")?);
    let root = thread_ts.filter(|root| *root != message_ts);
    let place: Place = match root {
        Some(root) => format!("{channel_id}/{root}").parse().ok()?,
        None => channel_id.parse().ok()?,
    };
    Some(ButtonPress {
        event: EventId(format!("press:{channel_id}:{message_ts}:{}:{at}", user.id)),
        address: Address { channel: channel.to_owned(), place: place.to_string() },
        sender_name: user.name.or(user.username).unwrap_or_else(|| user.id.clone()),
        sender: SenderId(user.id),
        direct: place.is_direct(),
        button: button.to_owned(),
    })
}

#[cfg(test)]
mod tests;
