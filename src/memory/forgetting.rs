//! Forgets memories, and the messages that say them.

use std::collections::{BTreeSet, HashSet};

use chrono_tz::Tz;

use super::days;
use super::index::{ANY, catch_up, said_by};
use super::words::{Word, has_all_words, words};
use crate::domain::PersonId;
use crate::store::memories::{self, MemoryRow};
use crate::store::people::Conversation;
use crate::store::{Batch, Store, StoreError, people, search};

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
/// how many messages [`mentions`] finds.
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
        memories::hide_from_traces(writes, asked.person, &memory.id);
        memories::delete(writes, asked.person, &memory.id);
    }
    for turn in said {
        memories::forget_turn(writes, asked.here, turn, store.now());
    }
    Ok(mentioned)
}

/// The turns that knew a memory and repeat what tells it: a name or a long number of it, or all words if it has neither.
async fn repeated_in(store: &Store, person: &PersonId, memory: &MemoryRow) -> Result<Vec<i64>, StoreError> {
    let knew = memories::turns_that_knew(store, person, &memory.id).await?;
    let own_name: HashSet<String> =
        words(&people::person_by_id(store, person).await?.name).map(|word| word.stem).collect();
    let telling: HashSet<String> = names(&memory.text).filter(|stem| !own_name.contains(stem)).collect();
    let repeats = |said: &str| match telling.is_empty() {
        true => has_all_words(said, &memory.text),
        false => words(said).any(|word| telling.contains(&word.stem)),
    };
    Ok(knew.into_iter().filter(|(_, said)| repeats(said)).map(|(turn, _)| turn).collect())
}

/// The names and long numbers of a text, except those of dates.
fn names(text: &str) -> impl Iterator<Item = String> {
    let is_date = |word: &Word| {
        let is_year = word.plain.parse::<u16>().is_ok_and(|year| (1900..2200).contains(&year));
        is_year || days::english(&word.plain).is_some()
    };
    let is_number = |word: &Word| word.plain.chars().filter(char::is_ascii_digit).count() > 2;
    let telling = words(text).filter(move |word| (word.is_name || is_number(word)) && !is_date(word));
    telling.map(|word| word.stem)
}

/// The turns, by their numbers, that repeat one of these memories, or in which a person said something that has every
/// telling word of one, or of the query.
pub async fn mentions(
    store: &Store,
    asked: Forgetting<'_>,
    memories: &[MemoryRow],
    query: Option<&str>,
) -> Result<BTreeSet<i64>, StoreError> {
    catch_up(store, asked.zone, true, CATCH_UP).await?;
    let mut all = BTreeSet::new();
    for memory in memories {
        all.extend(repeated_in(store, asked.person, memory).await?);
    }
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
