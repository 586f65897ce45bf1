//! Pure: what Discord sends, and what it means to us.
//!
//! Only the fields in use are read, so that no message is lost over a field that is new or has changed.

use adjutant_chat::{Address, ButtonPress, EventId, IncomingMessage, MessageEdit, SenderId};
use serde::Deserialize;
use serenity::model::id::{ChannelId, GuildId, InteractionId, MessageId, RoleId, UserId};

/// What something that arrived is.
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

/// An interaction of ours, and what is needed to acknowledge it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InteractionEvent {
    /// A slash command.
    Command(IncomingMessage, InteractionToken),
    /// A button.
    ButtonPress(ButtonPress, InteractionToken),
}

/// Permits to answer one interaction.
#[derive(Clone, PartialEq)]
pub(crate) struct InteractionToken {
    pub(crate) id: InteractionId,
    pub(crate) token: String,
}

impl std::fmt::Debug for InteractionToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "InteractionToken({})", self.id)
    }
}

/// Who reads: the configured channel, our own account, and our own role there, when it was mentioned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) channel: &'a str,
    pub(crate) me: UserId,
    pub(crate) role: Option<RoleId>,
}

/// A message as Discord tells of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Post {
    pub(crate) id: MessageId,
    #[serde(flatten)]
    pub(crate) at: Mentioned,
    author: Account,
    member: Option<Member>,
    #[serde(default)]
    content: String,
    #[serde(default, rename = "type")]
    kind: u64,
    #[serde(default)]
    mentions: Vec<Account>,
    #[serde(default)]
    attachments: Vec<File>,
    referenced_message: Option<Quoted>,
    webhook_id: Option<String>,
}

/// Where a message is, and which roles it mentions.
#[derive(Debug, Deserialize)]
pub(crate) struct Mentioned {
    pub(crate) channel_id: ChannelId,
    /// Told of new messages only, not of those that are read later.
    pub(crate) guild_id: Option<GuildId>,
    #[serde(default)]
    pub(crate) mention_roles: Vec<RoleId>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Account {
    pub(crate) id: UserId,
    #[serde(default)]
    pub(crate) username: String,
    global_name: Option<String>,
    #[serde(default)]
    pub(crate) bot: bool,
}

impl Account {
    /// How people call them where they have no nickname.
    pub(crate) fn name(&self) -> &str {
        self.global_name.as_deref().unwrap_or(&self.username)
    }
}

#[derive(Debug, Deserialize)]
struct Member {
    nick: Option<String>,
    user: Option<Account>,
}

/// A file that hangs on a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct File {
    pub(crate) filename: String,
    pub(crate) url: String,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) content_type: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Quoted {
    id: MessageId,
    author: Account,
}

/// Kinds of messages that people write: an ordinary one and a reply. The others are the platform's own
/// (joins, pins, boosts).
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-types>
const WRITTEN: [u64; 2] = [0, 19];

/// What a message is to us. In company only a mention of us or a reply to us speaks to us.
pub(crate) fn post(post: Post, reader: Reader<'_>, direct: bool) -> Received {
    if post.author.id == reader.me {
        return Received::Own;
    }
    let by_machine = post.author.bot || post.webhook_id.is_some();
    if by_machine || !WRITTEN.contains(&post.kind) {
        return Received::Ignored;
    }
    let answered = post.referenced_message.as_ref().filter(|quoted| quoted.author.id == reader.me);
    if !direct && answered.is_none() && !mentions(&post.content, reader) {
        return Received::Ignored;
    }
    let text = cleaned(&post.content, &post.mentions, reader);
    // A sticker, a poll: nothing that could be read.
    if text.is_empty() && post.attachments.is_empty() {
        return Received::Ignored;
    }
    let said = IncomingMessage {
        event: EventId(post.id.to_string()),
        address: reader.address(post.at.channel_id),
        sender: SenderId(post.author.id.to_string()),
        sender_name: name(&post.author, post.member.as_ref()),
        direct,
        text,
        reply_to: answered.map(|quoted| quoted.id.to_string()),
        attachments: Vec::new(),
    };
    Received::Message(said, post.attachments)
}

/// What the change of a message is to us. One without a text has only got its previews.
pub(crate) fn changed(change: Change, reader: Reader<'_>) -> Received {
    let Some(author) = change.author else { return Received::Ignored };
    match change.content {
        _ if author.id == reader.me => Received::Own,
        Some(content) if !author.bot => Received::Edit(MessageEdit {
            event: EventId(change.id.to_string()),
            text: cleaned(&content, &change.mentions, reader),
        }),
        _ => Received::Ignored,
    }
}

/// A changed message, as far as Discord tells.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    id: MessageId,
    #[serde(flatten)]
    pub(crate) at: Mentioned,
    author: Option<Account>,
    content: Option<String>,
    #[serde(default)]
    mentions: Vec<Account>,
}

/// A slash command or a press.
#[derive(Debug, Deserialize)]
pub(crate) struct Interaction {
    id: InteractionId,
    token: String,
    #[serde(rename = "type")]
    kind: u64,
    channel_id: Option<ChannelId>,
    guild_id: Option<String>,
    member: Option<Member>,
    user: Option<Account>,
    #[serde(default)]
    data: Data,
}

#[derive(Debug, Default, Deserialize)]
struct Data {
    name: Option<String>,
    #[serde(default)]
    options: Vec<Choice>,
    custom_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    value: Option<serde_json::Value>,
}

/// Kinds of interactions.
/// Source: <https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type>
const COMMAND: u64 = 2;
const COMPONENT: u64 = 3;

/// What an interaction is to us; nothing if it is not understood.
pub(crate) fn interaction(interaction: Interaction, reader: Reader<'_>) -> Option<InteractionEvent> {
    let Interaction { id, token, kind, channel_id, guild_id, member, user, data } = interaction;
    let (nick, in_guild) = member.map(|member| (member.nick, member.user)).unwrap_or_default();
    let account = in_guild.or(user)?;
    let sender_name = nick.unwrap_or_else(|| name(&account, None));
    let (address, sender) = (reader.address(channel_id?), SenderId(account.id.to_string()));
    let (direct, ticket) = (guild_id.is_none(), InteractionToken { id, token });
    match kind {
        COMMAND => {
            let words = data.options.iter().filter_map(|option| option.value.as_ref()?.as_str());
            let name = format!("/{}", data.name?);
            let text = std::iter::once(name.as_str()).chain(words).collect::<Vec<_>>().join(" ");
            let event = EventId(id.to_string());
            let (reply_to, attachments) = (None, Vec::new());
            let said =
                IncomingMessage { event, address, sender, sender_name, direct, text, reply_to, attachments };
            Some(InteractionEvent::Command(said, ticket))
        }
        COMPONENT => {
            let (event, button) = (EventId(format!("press:{id}")), data.custom_id?);
            let pressed = ButtonPress { event, address, sender, sender_name, direct, button };
            Some(InteractionEvent::ButtonPress(pressed, ticket))
        }
        _ => None,
    }
}

impl Reader<'_> {
    fn address(self, place: ChannelId) -> Address {
        Address { channel: self.channel.to_owned(), place: place.to_string() }
    }
}

fn name(account: &Account, member: Option<&Member>) -> String {
    let nick = member.and_then(|member| member.nick.clone());
    nick.unwrap_or_else(|| account.name().to_owned())
}

/// Both forms in which a text may mention an account.
fn marks(id: UserId) -> [String; 2] {
    [format!("<@{id}>"), format!("<@!{id}>")]
}

/// What in a text means us: our account in both forms, and our role.
fn our_marks(reader: Reader<'_>) -> impl Iterator<Item = String> {
    marks(reader.me).into_iter().chain(reader.role.map(|role| format!("<@&{role}>")))
}

fn mentions(content: &str, reader: Reader<'_>) -> bool {
    our_marks(reader).any(|mark| content.contains(&mark))
}

/// The text without the mention of us, and with others by their names.
fn cleaned(content: &str, mentioned: &[Account], reader: Reader<'_>) -> String {
    let mut text = content.to_owned();
    for mark in our_marks(reader) {
        // With the space behind it, or a double one would be left.
        text = text.replace(&format!("{mark} "), "").replace(&mark, "");
    }
    let others = mentioned.iter().filter(|account| account.id != reader.me);
    named(&text, others).trim().to_owned()
}

/// The text with those that it mentions by their names.
pub(crate) fn named<'a>(text: &str, mentioned: impl IntoIterator<Item = &'a Account>) -> String {
    let mut text = text.to_owned();
    for account in mentioned {
        for mark in marks(account.id) {
            text = text.replace(&mark, &format!("@{}", account.name()));
        }
    }
    text
}

#[cfg(test)]
mod tests;
