//! What a platform lets a bot read of its places, for somebody who is in them.

use std::time::Duration;

use async_trait::async_trait;

use crate::SenderId;

/// The places of one channel, to be read. It decides nothing: whoever reads asks [`Rooms::is_member`] first, and
/// whether one is a member is always asked from the platform.
#[async_trait]
pub trait Rooms: Send + Sync {
    /// The places that somebody may mean: by the platform's id, a mention of it, or a name (`#general`, `general`).
    /// Several may have one name. `known` are the places of this channel in which we were spoken to, for platforms
    /// that list none.
    ///
    /// # Errors
    /// [`Unread`]; what is not there is an empty list.
    async fn find(&self, said: &str, known: &[String]) -> Result<Vec<Room>, Unread>;
    /// Whether this person may read a place now.
    ///
    /// # Errors
    /// [`Unread`]: then nobody may.
    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, Unread>;
    /// The newest messages of a place, or of a thread in it, at most `limit` and none before `since` (milliseconds
    /// since 1970 UTC), the oldest first. None where the platform shows bots no history.
    ///
    /// # Errors
    /// [`Unread`].
    async fn read(
        &self,
        place: &str,
        thread: Option<&str>,
        since: Option<i64>,
        limit: usize,
    ) -> Result<Option<Vec<RoomLine>>, Unread>;
    /// The people that somebody may mean: by the platform's id, a mention or a name, as seen in a place.
    ///
    /// # Errors
    /// [`Unread`]; who is not there is an empty list.
    async fn profiles(&self, place: &str, said: &str) -> Result<Vec<Profile>, Unread>;
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// As in an [`crate::Address`].
    pub place: String,
    /// How people call it: `#general`, a group's title.
    pub name: String,
}

/// A message in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomLine {
    /// The platform's name of it, as `thread` of [`Rooms::read`] takes it.
    pub id: String,
    /// When it was written, milliseconds since 1970 UTC.
    pub at: i64,
    /// How people call the writer.
    pub who: String,
    /// What it says.
    pub text: String,
    /// How many answers hang on it, if it begins a thread.
    pub replies: u64,
}

/// What a platform tells of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The platform's id.
    pub id: String,
    /// How people call them.
    pub name: String,
    /// What else it tells, a name and a value each: `title`, `time zone`, `status`, `since`.
    pub facts: Vec<(String, String)>,
}

impl Profile {
    /// Of these facts those that tell something.
    pub fn new(id: String, name: String, facts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let facts = facts.map(|(fact, value)| (fact.to_owned(), value)).collect();
        Self { id, name, facts }
    }
}

/// Why nothing could be read. Texts hold no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The token is not good.
    #[error("{0}")]
    Token(String),
    /// The bot may not read this: what it lacks, with the mend.
    #[error("{0}")]
    Closed(String),
    /// Too many calls: not before this long, if the platform said so.
    #[error("the platform wants fewer calls")]
    TooMany(Option<Duration>),
    /// The platform could not be asked.
    #[error("{0}")]
    Unreachable(String),
}
