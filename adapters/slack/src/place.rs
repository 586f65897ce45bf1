//! Slack's places, a channel or a thread in it, and time stamps, which identify messages.

use std::fmt;
use std::str::FromStr;

/// `CHANNEL` or `CHANNEL/TS`, as in an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SlackPlace {
    pub(crate) channel: String,
    /// The thread's first message.
    pub(crate) thread: Option<Ts>,
}

impl SlackPlace {
    pub(crate) fn top(channel: &str) -> Self {
        Self { channel: channel.to_owned(), thread: None }
    }

    /// Whether it is a direct conversation, as its id says.
    pub(crate) fn is_direct(&self) -> bool {
        self.channel.starts_with('D')
    }
}

impl fmt::Display for SlackPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.channel)?;
        self.thread.map_or(Ok(()), |thread| write!(f, "/{thread}"))
    }
}

/// The text is not a place or time stamp of Slack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidId;

impl FromStr for SlackPlace {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let (channel, thread) =
            text.split_once('/').map_or((text, None), |(channel, ts)| (channel, Some(ts)));
        let thread = thread.map(str::parse::<Ts>).transpose()?;
        let is_id = !channel.is_empty() && channel.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_id.then(|| Self { channel: channel.to_owned(), thread }).ok_or(InvalidId)
    }
}

/// A message's time stamp, which is its id within its channel: `1503435956.000247`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ts {
    seconds: u64,
    micros: u32,
}

impl Ts {
    pub(crate) fn before(self, seconds: u64) -> Self {
        Self { seconds: self.seconds.saturating_sub(seconds), ..self }
    }

    /// The earliest time stamp at a time in milliseconds since 1970 UTC.
    pub(crate) fn at(millis: u64) -> Self {
        let micros = u32::try_from(millis % 1_000).unwrap_or_default() * 1_000;
        Self { seconds: millis / 1_000, micros }
    }

    /// In milliseconds since 1970 UTC.
    pub(crate) fn millis(self) -> i64 {
        let millis = self.seconds.saturating_mul(1_000).saturating_add(u64::from(self.micros / 1_000));
        i64::try_from(millis).unwrap_or(i64::MAX)
    }

    /// The time stamp at the end of an event id, of a message or a press.
    pub(crate) fn of_event(event: &str) -> Option<Self> {
        event.rsplit(':').next()?.parse().ok()
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.seconds, self.micros)
    }
}

impl FromStr for Ts {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let (seconds, micros) = text.split_once('.').ok_or(InvalidId)?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if micros.len() != 6 || !digits(seconds) || !digits(micros) {
            return Err(InvalidId);
        }
        let seconds = seconds.parse().map_err(|_| InvalidId)?;
        Ok(Self { seconds, micros: micros.parse().map_err(|_| InvalidId)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["C0123", "D9", "C0123/1503435956.000247"] {
            assert_eq!(text.parse::<SlackPlace>().unwrap().to_string(), text);
        }
        for text in ["", "/1.000000", "C1/", "C1/2", "C1/1.00", "C 1", "C1/1.000000/2", "C1/+1.000000"] {
            assert!(text.parse::<SlackPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn time_stamps_are_in_the_order_of_time() {
        let ts = |text: &str| text.parse::<Ts>().unwrap();
        assert!(ts("999.000000") < ts("1000.000000") && ts("1000.000009") < ts("1000.000010"));
        assert_eq!(Ts::of_event("C1:1000.000009"), Some(ts("1000.000009")));
        assert_eq!(Ts::of_event("press:C1:1.000000:U1:1000.000009"), Some(ts("1000.000009")));
        assert_eq!(Ts::of_event("command:133.7384.8088930838d88f008e0"), None);
        assert_eq!(ts("70.000009").before(60), ts("10.000009"));
        assert_eq!((Ts::at(1_002), ts("1.002999").millis()), (ts("1.002000"), 1_002));
        assert_eq!(ts("18446744073709551615.000000").millis(), i64::MAX);
    }
}
