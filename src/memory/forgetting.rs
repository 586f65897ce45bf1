//! Forgets memories, and the messages that say them.

use std::collections::{BTreeSet, HashSet};

use chrono_tz::Tz;

use super::index::{ANY, catch_up, said_by};
use super::words::words;
use crate::domain::PersonId;
use crate::store::memories::{self, MemoryRow};
use crate::store::people::Conversation;
use crate::store::{Batch, Store, StoreError, search};

/// How many texts may be kept first, and how many texts of a word are looked at.
const CATCH_UP: usize = 5_000;
const MOST: i64 = 100_000;

/// Whose memories are forgotten, and where.
#[derive(Debug, Clone, Copy)]
pub struct Forgetting<'a> {
    /// The person.
    pub person: &'a PersonId,
    /// The conversation in which they ask; in a room, messages of that room alone are forgotten.
    pub here: Option<&'a Conversation>,
    /// The person's zone.
    pub zone: Tz,
}

/// Adds the writes that forget these memories, and the messages that say them or have all words of the query. Returns
/// how many messages have those words.
pub async fn forget(
    store: &Store,
    asked: Forgetting<'_>,
    forgotten: &[MemoryRow],
    query: Option<&str>,
    writes: &mut Batch,
) -> Result<usize, StoreError> {
    let mut said = mentions(store, asked, forgotten, query).await?;
    let mentioned = said.len();
    for memory in forgotten {
        said.extend(memories::turns_about(store, asked.person, &memory.id).await?);
        memories::delete(writes, asked.person, &memory.id);
    }
    for turn in said {
        memories::forget_turn(writes, asked.here, turn, store.now());
    }
    Ok(mentioned)
}

/// The turns, by their numbers, in which a person said something that has every telling word of one of these memories,
/// or of the query.
pub async fn mentions(
    store: &Store,
    asked: Forgetting<'_>,
    memories: &[MemoryRow],
    query: Option<&str>,
) -> Result<BTreeSet<i64>, StoreError> {
    catch_up(store, asked.zone, true, CATCH_UP).await?;
    let mut all = BTreeSet::new();
    for text in memories.iter().map(|memory| &*memory.text).chain(query) {
        let stems: BTreeSet<String> = words(text).map(|word| word.stem).collect();
        let ends: Vec<String> = stems.iter().map(|stem| format!("{stem}\u{1}")).collect();
        let spans: Vec<_> = stems.iter().zip(&ends).map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let found = search::look_up(store, &[said_by(asked.person)], &spans, MOST, (ANY, 0)).await?;
        let turns = found
            .of
            .into_iter()
            .map(|postings| postings.into_iter().map(|posting| posting.text / 2).collect::<HashSet<i64>>());
        let common = turns.reduce(|common, turns| common.intersection(&turns).copied().collect());
        all.extend(common.unwrap_or_default());
    }
    Ok(all)
}
