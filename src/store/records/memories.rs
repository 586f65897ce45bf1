//! Memories. Each query limits what a person may recall in a place.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::domain::{ConversationId, MemoryId, PersonId};
use crate::store::people::Conversation;
use crate::store::{Batch, Stale, Store, StoreError};

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Six characters, for people to type.
    pub id: MemoryId,
    /// `fact`, `preference`, `person` or `note`.
    pub kind: String,
    /// `private`, or `room` for the room it was said in.
    pub scope: String,
    /// The text.
    pub text: String,
    /// JSON: a list of words.
    pub tags: String,
    /// When it was made.
    pub created_at: i64,
}

/// Adds a person's memory from a conversation.
pub fn insert(batch: &mut Batch, person: &PersonId, conversation: &ConversationId, memory: &MemoryRow) {
    batch.run(
        "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        [
            (&memory.id).into(),
            person.into(),
            (&memory.scope).into(),
            conversation.into(),
            (&memory.kind).into(),
            (&memory.text).into(),
            (&memory.tags).into(),
            memory.created_at.into(),
        ],
    );
}

/// Removes a memory.
pub fn delete(batch: &mut Batch, person: &PersonId, id: &MemoryId) {
    batch.must(
        Stale::MemoryGone,
        "DELETE FROM memories WHERE id = $1 AND person_id = $2",
        [id.into(), person.into()],
    );
}

/// The newest memories that may be recalled here.
pub async fn list(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    kind: &str,
    limit: i64,
) -> Result<Vec<MemoryRow>, StoreError> {
    store
        .all(
            "SELECT id, kind, scope, text, tags, created_at FROM memories WHERE person_id = $1 \
             AND ((scope = 'private' AND $2 = 0) OR (scope = 'room' AND conversation_id = $3)) \
             AND ($4 = '' OR kind = $4) ORDER BY seq DESC LIMIT $5 + 0",
            &[person.into(), here.shared.into(), (&here.id).into(), kind.into(), limit.into()],
        )
        .await
}

/// The memories that may be recalled here and contain any of the words, best match first.
pub async fn search(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    text: &str,
    kind: &str,
    limit: i64,
) -> Result<Vec<MemoryRow>, StoreError> {
    let words = words(text);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    store
        .all(
            store.backend().memory_search_sql(),
            &[
                store.backend().any_of_words(&words),
                person.into(),
                here.shared.into(),
                (&here.id).into(),
                kind.into(),
                limit.into(),
            ],
        )
        .await
}

/// Words too common to tell one memory from another.
const COMMON: [&str; 40] = [
    "the", "and", "that", "this", "what", "when", "where", "who", "why", "how", "for", "with", "about",
    "from", "you", "your", "our", "are", "was", "were", "has", "have", "had", "can", "could", "would",
    "should", "will", "does", "did", "not", "but", "then", "than", "them", "they", "his", "her", "its",
    "please",
];

/// The words of a text that are worth searching for: letters and digits only, so that none is an operator, and none
/// longer than a database allows.
fn words(text: &str) -> Vec<String> {
    let is_accent = |character: &char| ('\u{300}'..='\u{36f}').contains(character);
    let text: String = text.chars().filter(|character| !is_accent(character)).collect();
    let mut words: Vec<String> = text
        .split(|character: char| !character.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| (3..=64).contains(&word.chars().count()) && !COMMON.contains(&word.as_str()))
        .collect();
    words.sort();
    words.dedup();
    words.truncate(32);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_telling_words_are_looked_for() {
        assert_eq!(
            words("What do you know about Bob's \"budget\" OR NEAR(x)?"),
            ["bob", "budget", "know", "near"]
        );
        assert!(words("' * - () \"").is_empty());
        assert_eq!(words("re\u{301}sume\u{301}"), ["resume"]);
        assert!(words(&"x".repeat(5000)).is_empty());
    }
}
