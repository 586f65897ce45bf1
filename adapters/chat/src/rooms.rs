//! What a platform lets a bot read of its rooms, on behalf of a member.

use std::time::Duration;

use async_trait::async_trait;

use crate::SenderId;

/// Reads the rooms of one channel. It decides nothing: the caller asks [`Rooms::is_member`] first, and the answer to
/// that always comes from the platform.
#[async_trait]
pub trait Rooms: Send + Sync {
    /// The rooms that a person may mean by the platform's id, a mention, or a name (`#general`, `general`). Several
    /// may have one name, and none is an empty list. `known` are the places of this channel where somebody wrote
    /// to us, for platforms that list none.
    async fn find(&self, query: &str, known: &[String]) -> Result<Vec<Room>, RoomError>;
    /// Whether this person may read a place now. After an error, treat it as no.
    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError>;
    /// Whether this person may change how a place is set up on the platform. After an error, treat it as no.
    async fn manages(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError>;
    /// The newest messages of a place, or of a thread in it, at most `limit` and none before `since` (milliseconds
    /// since 1970 UTC), the oldest first. `None` where the platform shows bots no history.
    async fn read(
        &self,
        place: &str,
        thread: Option<&str>,
        since: Option<i64>,
        limit: usize,
    ) -> Result<Option<Vec<RoomMessage>>, RoomError>;
    /// The people that a person may mean by the platform's id, a mention or a name, as seen in a place. Nobody is an
    /// empty list.
    async fn profiles(&self, place: &str, query: &str) -> Result<Vec<Profile>, RoomError>;
}

/// A room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// As in an [`crate::Address`].
    pub place: String,
    /// Its name for people: `#general`, a group's title.
    pub name: String,
}

/// A message in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomMessage {
    /// The platform's id of it, as `thread` of [`Rooms::read`] takes it.
    pub id: String,
    /// When it was written, milliseconds since 1970 UTC.
    pub at: i64,
    /// The author's display name.
    pub author: String,
    /// Its text.
    pub text: String,
    /// The number of replies, if it begins a thread.
    pub replies: u64,
}

/// What a platform tells about a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The platform's id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// Further facts, each a name and a value: `title`, `time zone`, `status`, `since`.
    pub facts: Vec<(String, String)>,
}

impl Profile {
    /// A profile with those of the facts that have a value.
    pub fn new(id: String, name: String, facts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let facts = facts.map(|(fact, value)| (fact.to_owned(), value)).collect();
        Self { id, name, facts }
    }
}

/// Why nothing could be read. The texts hold no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoomError {
    /// The platform rejects the token.
    #[error("{0}")]
    Token(String),
    /// The bot may not read this: what it lacks, and how to fix it.
    #[error("{0}")]
    Closed(String),
    /// Too many calls: wait this long, if the platform said so.
    #[error("{}", adjutant_l10n::channels::fewer_calls())]
    TooMany(Option<Duration>),
    /// The platform can't be reached.
    #[error("{0}")]
    Unreachable(String),
}
