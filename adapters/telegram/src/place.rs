//! Telegram's places: a chat, or a topic of a forum.

use std::fmt;
use std::str::FromStr;

/// `CHAT` or `CHAT/THREAD`, as in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TelegramPlace {
    pub(crate) chat: i64,
    pub(crate) thread: Option<i32>,
}

impl fmt::Display for TelegramPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.chat)?;
        self.thread.map_or(Ok(()), |thread| write!(f, "/{thread}"))
    }
}

impl FromStr for TelegramPlace {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (chat, thread) = text.split_once('/').map_or((text, None), |(chat, thread)| (chat, Some(thread)));
        Ok(Self { chat: chat.parse()?, thread: thread.map(str::parse::<i32>).transpose()? })
    }
}

/// The id under which a message is journalled.
pub(crate) fn event_of(chat: i64, message: i32) -> String {
    format!("{chat}:{message}")
}

/// The message of this chat with such an id.
pub(crate) fn message_of(event: &str, chat: i64) -> Option<i32> {
    let (of, message) = event.split_once(':')?;
    (of.parse() == Ok(chat)).then(|| message.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["5", "-1001234567890", "-1001234567890/7"] {
            assert_eq!(text.parse::<TelegramPlace>().unwrap().to_string(), text);
        }
        for text in ["", "a", "1/", "1/2/3", "/2", "99999999999999999999"] {
            assert!(text.parse::<TelegramPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_message_is_known_by_its_chat() {
        assert_eq!(message_of(&event_of(-5, 7), -5), Some(7));
        assert_eq!(message_of(&event_of(-5, 7), 5), None);
        assert_eq!(message_of("press:12", 5), None);
    }
}
