//! What can arrive from a platform.

use serde::{Deserialize, Serialize};

use crate::backoff::{self, Backoff};
use crate::{Address, Attachment, ChannelIntake, ConnectionEvent, EventId, IntakeError, SenderId};

/// Something that arrived from a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    /// Somebody wrote a message.
    Message(IncomingMessage),
    /// Somebody pressed one of our buttons.
    ButtonPress(ButtonPress),
}

impl Inbound {
    /// The platform's id of the message or press.
    pub fn event(&self) -> &EventId {
        match self {
            Self::Message(message) => &message.event,
            Self::ButtonPress(press) => &press.event,
        }
    }

    /// Where it happened.
    pub fn address(&self) -> &Address {
        match self {
            Self::Message(message) => &message.address,
            Self::ButtonPress(press) => &press.address,
        }
    }
}

/// A written message or slash command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncomingMessage {
    /// The platform's id of the message.
    pub event: EventId,
    /// Where it was written.
    pub address: Address,
    /// Who wrote it.
    pub sender: SenderId,
    /// The sender's display name.
    pub sender_name: String,
    /// Whether nobody else reads this place.
    pub direct: bool,
    /// Whether it is for us: there alone, or a mention, a reply to us, a command.
    pub is_addressed: bool,
    /// The text as written, with ids in place of names that others chose.
    pub text: String,
    /// Whom and what the text mentions.
    pub mentions: Vec<Mention>,
    /// Who wrote the text, if the sender only passed it on.
    pub forwarded_from: Option<String>,
    /// The receipt of our message that this one replies to.
    pub reply_to: Option<String>,
    /// The files that came with it.
    pub attachments: Vec<Attachment>,
}

/// Somebody, or a place, that a text mentions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// What stands in the text: `@U123`. [`crate::Rooms::profiles`] knows people by it.
    pub id: String,
    /// The name that they gave themselves.
    pub name: String,
}

/// A message whose writer changed its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageEdit {
    /// The platform's id of the message.
    pub event: EventId,
    /// The new text.
    pub text: String,
    /// Whom and what it mentions.
    pub mentions: Vec<Mention>,
}

/// A pressed button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ButtonPress {
    /// The platform's id of the press.
    pub event: EventId,
    /// Where the button is.
    pub address: Address,
    /// Who pressed it.
    pub sender: SenderId,
    /// The sender's display name.
    pub sender_name: String,
    /// Whether nobody else reads this place.
    pub direct: bool,
    /// The [`crate::Choice::id`] of the button.
    pub button: String,
}

/// 👍, 👎 or ❌ that somebody put under a message, perhaps one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingReaction {
    /// The same reaction of the same person is the same event.
    pub event: EventId,
    /// Where the message is; for one in a thread, it may be the chat of that thread.
    pub address: Address,
    /// Who reacted.
    pub sender: SenderId,
    /// The receipt of the message.
    pub receipt: String,
    /// Whether it is 👍.
    pub is_up: bool,
    /// Whether they took it away again.
    pub is_gone: bool,
}

impl IncomingReaction {
    /// Reads an emoji or Slack's name of one; none if it says nothing to us.
    pub fn of(emoji: &str, address: Address, sender: String, receipt: String) -> Option<Self> {
        let has_no_meaning = |char: char| matches!(char, '\u{1f3fb}'..='\u{1f3ff}' | '\u{fe0f}');
        let emoji = emoji.split("::skin-tone").next().unwrap_or(emoji);
        let is_up = match emoji.trim_end_matches(has_no_meaning) {
            "👍" | "+1" | "thumbsup" => true,
            "👎" | "-1" | "thumbsdown" | "❌" | "x" => false,
            _ => return None,
        };
        let event = EventId(format!("press:reaction:{}:{receipt}:{sender}", address.place));
        Some(Self { event, address, sender: SenderId(sender), receipt, is_up, is_gone: false })
    }

    /// The same reaction, there or taken away; none for a 👍 that is taken away: what it approved may be done.
    pub fn or_gone(self, is_gone: bool) -> Option<Self> {
        (!is_gone || !self.is_up).then_some(Self { is_gone, ..self })
    }
}

/// What an adapter has read of something that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A message of somebody; in company it may be for others.
    Message(IncomingMessage),
    /// A new text.
    Edit(MessageEdit),
    /// A reaction.
    Reaction(IncomingReaction),
    /// A message, or a reaction, of our own.
    Own,
    /// Not for us, or not understood.
    Ignored,
}

impl Received {
    /// Whether it is to be journalled: a message if it is for us, or its room wants everything. What isn't is counted.
    pub async fn is_wanted(&self, intake: &dyn ChannelIntake) -> bool {
        let is_wanted = match self {
            Self::Message(message) => message.is_addressed || intake.wants_all(&message.address).await,
            Self::Edit(_) | Self::Reaction(_) => true,
            Self::Own => return false,
            Self::Ignored => false,
        };
        if !is_wanted {
            intake.report(ConnectionEvent::Ignored);
        }
        is_wanted
    }

    /// Hands it over, once.
    pub async fn journal_once(&self, intake: &dyn ChannelIntake) -> Result<(), IntakeError> {
        match self {
            Self::Message(message) => intake.accept(Inbound::Message(message.clone())).await.map(drop),
            Self::Edit(edit) => intake.edit(edit.clone()).await,
            Self::Reaction(reaction) => intake.reacted(reaction.clone()).await,
            Self::Own | Self::Ignored => Ok(()),
        }
    }

    /// Hands it over until it is journalled, however long that takes.
    pub async fn journal(self, intake: &dyn ChannelIntake, backoff: Backoff) {
        for tries in 1.. {
            if self.journal_once(intake).await.is_ok() {
                return;
            }
            intake.report(ConnectionEvent::Error("a message could not be journalled".into()));
            tokio::time::sleep(backoff.after(tries, backoff::random())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumb_is_one_in_each_color_and_by_its_names() {
        let is_up = |emoji: &str| {
            let address = Address { channel: "slack".into(), place: "C1".into() };
            IncomingReaction::of(emoji, address, "U1".into(), "1.2".into()).map(|reaction| reaction.is_up)
        };
        for (up, down) in
            [("👍", "👎"), ("👍🏽", "👎\u{fe0f}"), ("+1", "-1"), ("+1::skin-tone-4", "x"), ("thumbsup", "❌")]
        {
            assert_eq!((is_up(up), is_up(down)), (Some(true), Some(false)), "{up} {down}");
        }
        for other in ["", "👀", "✅", "eyes", "+100", "xx", "🏽"] {
            assert_eq!(is_up(other), None, "{other}");
        }
    }
}
