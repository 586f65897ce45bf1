//! Pure: reads what Discord sends.
//!
//! Only the fields in use are read, so that no message is lost over a field that is new or has changed.

use adjutant_chat::{
    Address, Attachment, ButtonPress, EventId, Inbound, IncomingMessage, IncomingReaction, Mention,
    MessageEdit, Received, RemoteFile, SenderId, VoiceNote, is_audio, one_line,
};
use adjutant_l10n::channels;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, GuildId, InteractionId, MessageId, RoleId, UserId};

/// The right to respond to one interaction. It can't be printed.
pub(crate) struct InteractionToken {
    pub(crate) id: InteractionId,
    pub(crate) token: String,
}

/// Who we are: the configured channel, our own account, and our own role if it was mentioned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BotIdentity<'a> {
    pub(crate) channel: &'a str,
    pub(crate) me: UserId,
    pub(crate) role: Option<RoleId>,
}

/// A message. Source: <https://discord.com/developers/docs/resources/message#message-object>
#[derive(Debug, Deserialize)]
pub(crate) struct MessageObject {
    pub(crate) id: MessageId,
    #[serde(flatten)]
    pub(crate) at: MessageContext,
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
    /// What the message passes on. Discord doesn't say who wrote it.
    /// Source: <https://discord.com/developers/docs/resources/message#message-snapshot-object>
    #[serde(default)]
    message_snapshots: Vec<Snapshot>,
    webhook_id: Option<String>,
    /// The app that wrote it for the author.
    #[serde(default)]
    application_id: Value,
}

/// The place of a message, and the roles that it mentions.
#[derive(Debug, Deserialize)]
pub(crate) struct MessageContext {
    pub(crate) channel_id: ChannelId,
    /// Only new messages have it, not those from the history.
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
    /// The display name without a guild's nickname.
    pub(crate) fn name(&self) -> &str {
        self.global_name.as_deref().unwrap_or(&self.username)
    }
}

#[derive(Debug, Deserialize)]
struct Member {
    nick: Option<String>,
    user: Option<Account>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct File {
    #[serde(default)]
    id: Value,
    filename: String,
    url: String,
    size: usize,
    content_type: Option<String>,
    /// Only voice messages have it.
    #[serde(default)]
    duration_secs: Value,
}

impl File {
    /// The file as an attachment. Its address is good for a day; the message has a new one.
    fn attachment(&self, channel: ChannelId, message: MessageId) -> Attachment {
        let name = one_line(&self.filename);
        let mime_type = self.content_type.clone().unwrap_or_default();
        let file = format!("{channel}/{message}/{} {}", self.id.as_str().unwrap_or_default(), self.url);
        let (seconds, bytes) = (self.duration_secs.as_f64(), u64::try_from(self.size).ok());
        if is_audio(&mime_type) || seconds.is_some() {
            let seconds = seconds.map(|seconds| seconds.max(0.0).round() as u64);
            let voice = Some(VoiceNote { file, mime_type, seconds, bytes });
            return Attachment { name, voice, ..Attachment::default() };
        }
        let file = Some(RemoteFile { file, mime_type, bytes });
        Attachment { name, file, ..Attachment::default() }
    }
}

#[derive(Debug, Deserialize)]
struct Quoted {
    id: MessageId,
    author: Account,
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    message: Forwarded,
}

#[derive(Debug, Deserialize)]
struct Forwarded {
    #[serde(default)]
    content: String,
    #[serde(default)]
    mentions: Vec<Account>,
    #[serde(default)]
    attachments: Vec<File>,
}

/// The types of messages that people write: ordinary ones and replies. The others are Discord's own (joins, pins,
/// boosts).
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-types>
const BY_PEOPLE: [u64; 2] = [0, 19];

/// Reads a message. In a group only a mention or a reply is for us.
pub(crate) fn message(message: MessageObject, bot: BotIdentity<'_>, direct: bool) -> Received {
    if message.author.id == bot.me {
        return Received::Own;
    }
    let by_bot = message.author.bot || message.webhook_id.is_some();
    if by_bot || !BY_PEOPLE.contains(&message.kind) {
        return Received::Ignored;
    }
    let answered = message.referenced_message.as_ref().filter(|quoted| quoted.author.id == bot.me);
    let is_named = our_mentions(bot).any(|mention| message.content.contains(&mention));
    let is_addressed = direct || answered.is_some() || is_named;
    let (own, mentioned) = cleaned(&message.content, &message.mentions, bot);
    // Only one without words of its own is forwarded.
    let forwarded = message.message_snapshots.into_iter().next().map(|snapshot| snapshot.message);
    let forwarded = forwarded.filter(|_| own.is_empty());
    let passed_on = match (&forwarded, message.application_id.is_null()) {
        (Some(_), _) => Some(channels::somebody("Discord")),
        (None, false) => Some(channels::some_app("Discord")),
        (None, true) => None,
    };
    let ((text, mentions), forwarded_files) = match forwarded {
        Some(forwarded) => (cleaned(&forwarded.content, &forwarded.mentions, bot), forwarded.attachments),
        None => ((own, mentioned), Vec::new()),
    };
    let files = [message.attachments, forwarded_files].concat();
    // A sticker or a poll has nothing to read.
    if text.is_empty() && files.is_empty() {
        return Received::Ignored;
    }
    let incoming = IncomingMessage {
        event: EventId(message.id.to_string()),
        address: bot.address(message.at.channel_id),
        sender: SenderId(message.author.id.to_string()),
        sender_name: name(&message.author, message.member.as_ref()),
        direct,
        is_addressed,
        text,
        mentions,
        forwarded_from: passed_on,
        reply_to: answered.map(|quoted| quoted.id.to_string()),
        attachments: files.iter().map(|file| file.attachment(message.at.channel_id, message.id)).collect(),
    };
    Received::Message(incoming)
}

/// Reads an edit. Discord also updates a message that nobody edited, such as to add previews, and sends it whole:
/// <https://github.com/discord/discord-api-docs/pull/7017>.
pub(crate) fn edit(update: MessageUpdate, bot: BotIdentity<'_>) -> Received {
    let Some(author) = update.author else { return Received::Ignored };
    match update.content.filter(|_| update.edited_timestamp.is_some()) {
        _ if author.id == bot.me => Received::Own,
        Some(content) if !author.bot => {
            let (text, mentions) = cleaned(&content, &update.mentions, bot);
            Received::Edit(MessageEdit { event: EventId(update.id.to_string()), text, mentions })
        }
        _ => Received::Ignored,
    }
}

/// An edited message, with the fields that Discord sends.
#[derive(Debug, Deserialize)]
pub(crate) struct MessageUpdate {
    id: MessageId,
    #[serde(flatten)]
    pub(crate) at: MessageContext,
    author: Option<Account>,
    content: Option<String>,
    edited_timestamp: Option<String>,
    #[serde(default)]
    mentions: Vec<Account>,
}

/// Reads a reaction, or that one is taken away. An emoji of a guild has an id, and means what the guild likes.
/// Source: <https://discord.com/developers/docs/events/gateway-events#message-reaction-add>
pub(crate) fn reaction(told: &Value, is_gone: bool, bot: BotIdentity<'_>) -> Received {
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    if text("user_id") == bot.me.to_string() {
        return Received::Own;
    }
    let emoji = &told["emoji"];
    let emoji = emoji["name"].as_str().filter(|_| emoji["id"].is_null()).unwrap_or_default();
    let address = Address { channel: bot.channel.to_owned(), place: text("channel_id") };
    let reaction = IncomingReaction::of(emoji, address, text("user_id"), text("message_id"));
    reaction.and_then(|one| one.or_gone(is_gone)).map_or(Received::Ignored, Received::Reaction)
}

/// A slash command or a button press.
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
    value: Option<Value>,
}

/// Types of interactions.
/// Source: <https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type>
const COMMAND: u64 = 2;
const COMPONENT: u64 = 3;

/// Reads an interaction, and what is needed to acknowledge it; nothing if it is not understood.
pub(crate) fn interaction(
    interaction: Interaction,
    bot: BotIdentity<'_>,
) -> Option<(Inbound, InteractionToken)> {
    let Interaction { id, token, kind, channel_id, guild_id, member, user, data } = interaction;
    let (nick, in_guild) = member.map(|member| (member.nick, member.user)).unwrap_or_default();
    let account = in_guild.or(user)?;
    let sender_name = nick.unwrap_or_else(|| name(&account, None));
    let (address, sender) = (bot.address(channel_id?), SenderId(account.id.to_string()));
    let (direct, token) = (guild_id.is_none(), InteractionToken { id, token });
    match kind {
        COMMAND => {
            let words = data.options.iter().filter_map(|option| option.value.as_ref()?.as_str());
            let name = format!("/{}", data.name?);
            let text = std::iter::once(name.as_str()).chain(words).collect::<Vec<_>>().join(" ");
            let event = EventId(id.to_string());
            let message = IncomingMessage {
                event,
                address,
                sender,
                sender_name,
                direct,
                is_addressed: true,
                text,
                ..IncomingMessage::default()
            };
            Some((Inbound::Message(message), token))
        }
        COMPONENT => {
            let (event, button) = (EventId(format!("press:{id}")), data.custom_id?);
            let press = ButtonPress { event, address, sender, sender_name, direct, button };
            Some((Inbound::ButtonPress(press), token))
        }
        _ => None,
    }
}

impl BotIdentity<'_> {
    fn address(self, place: ChannelId) -> Address {
        Address { channel: self.channel.to_owned(), place: place.to_string() }
    }
}

fn name(account: &Account, member: Option<&Member>) -> String {
    let nick = member.and_then(|member| member.nick.clone());
    nick.unwrap_or_else(|| account.name().to_owned())
}

/// Both forms of an account's mention.
fn mentions_of(id: UserId) -> [String; 2] {
    [format!("<@{id}>"), format!("<@!{id}>")]
}

/// The mentions of us: our account in both forms, and our role.
fn our_mentions(bot: BotIdentity<'_>) -> impl Iterator<Item = String> {
    mentions_of(bot.me).into_iter().chain(bot.role.map(|role| format!("<@&{role}>")))
}

/// The text without mentions of us, and whom else it mentions by their ids.
fn cleaned(content: &str, mentioned: &[Account], bot: BotIdentity<'_>) -> (String, Vec<Mention>) {
    let mut text = content.to_owned();
    for mention in our_mentions(bot) {
        // With the space after it, or two would be left.
        text = text.replace(&format!("{mention} "), "").replace(&mention, "");
    }
    let others = || mentioned.iter().filter(|account| account.id != bot.me);
    let text = with(&text, others(), |account| account.id.to_string()).trim().to_owned();
    let mention =
        |account: &Account| Mention { id: format!("@{}", account.id), name: account.name().to_owned() };
    let mentions = others().map(mention).filter(|one| text.contains(&one.id)).collect();
    (text, mentions)
}

/// The text with names in place of mentions, for a text that isn't its reader's own.
pub(crate) fn with_names(text: &str, mentioned: &[Account]) -> String {
    with(text, mentioned, |account| account.name().to_owned())
}

fn with<'a>(
    text: &str,
    mentioned: impl IntoIterator<Item = &'a Account>,
    name: impl Fn(&Account) -> String,
) -> String {
    let mut text = text.to_owned();
    for account in mentioned {
        for mention in mentions_of(account.id) {
            text = text.replace(&mention, &format!("@{}", name(account)));
        }
    }
    text
}

#[cfg(test)]
mod tests;
