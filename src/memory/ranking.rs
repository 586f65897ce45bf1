//! Finds memories and what was said by the words of a question, best first.
//!
//! BM25 over the texts that contain any of the words, each of which the store gives by an index, at most [`NEWEST`] a
//! word. What was said right before and after counts half. Of two equal texts the newer comes first.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono_tz::Tz;
use futures::future::try_join_all;

use super::index::{self, ANY, catch_up};
use super::question::{Lookup, Term, terms};
use crate::clock::utc;
use crate::domain::PersonId;
use crate::store::memories::MemoryRow;
use crate::store::people::Conversation;
use crate::store::search::{self, SaidRow};
use crate::store::{Store, StoreError};

/// How many texts of a word are looked at: the newest.
const NEWEST: i64 = 2000;
/// As far as texts are counted.
const COUNTED: i64 = 10_000;
/// How many texts are ranked with what stands around them.
const AROUND: usize = 100;
/// How much a neighbour's words count.
const NEIGHBOUR: f64 = 0.5;
/// How many texts may be kept for a search that can't wait.
const CATCH_UP: usize = 512;

/// Who searches, and where.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The person.
    pub person: &'a PersonId,
    /// The conversation.
    pub here: &'a Conversation,
    /// The person's zone.
    pub zone: Tz,
}

/// Where to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchIn {
    /// In memories, of one kind if there is one.
    Memories,
    /// In what was said.
    Conversations,
    /// In both.
    Both,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A memory.
    Memory(MemoryRow),
    /// Something that was said.
    Said(SaidRow),
}

impl Found {
    /// The memory, if it is one.
    pub fn memory(self) -> Option<MemoryRow> {
        match self {
            Self::Memory(row) => Some(row),
            Self::Said(_) => None,
        }
    }
}

/// What a person may see here and has something of the question, best first, at most `limit`. A `kind` limits memories.
pub async fn search(
    store: &Store,
    asker: Asker<'_>,
    text: &str,
    place: SearchIn,
    kind: &str,
    limit: usize,
) -> Result<Vec<Found>, StoreError> {
    let (memories, said) = (place != SearchIn::Conversations, place != SearchIn::Memories);
    let terms = terms(text, utc(store.now()), asker.zone);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    catch_up(store, asker.zone, said, CATCH_UP).await?;
    let spaces = index::spaces(asker.person, asker.here, memories, said);
    let mut scores = score(store, &spaces, &terms).await?;
    add_neighbours(store, &mut scores).await?;
    let mut ranked: Vec<(i64, f64)> = scores.into_iter().collect();
    ranked.sort_unstable_by(|(one, a), (other, b)| b.total_cmp(a).then(other.cmp(one)));
    // With a kind, most of them may be of another.
    ranked.truncate(if kind.is_empty() { limit * 2 + 20 } else { 1000 });
    let mut found = read(store, asker, &ranked, kind).await?;
    found.truncate(limit);
    Ok(found)
}

/// The score of each text that contains any of the terms.
async fn score(store: &Store, spaces: &[i64], terms: &[Term]) -> Result<HashMap<i64, f64>, StoreError> {
    let sizes = try_join_all(spaces.iter().map(|space| search::size(store, *space, ANY, COUNTED))).await?;
    let all: i64 = sizes.into_iter().sum();
    if all == 0 {
        return Ok(HashMap::new());
    }
    let lookups = || terms.iter().flat_map(|term| &term.lookups);
    let wanted = lookups().flat_map(|lookup| spaces.iter().map(move |space| (*space, lookup)));
    let postings = try_join_all(
        wanted.map(|(space, lookup)| search::postings(store, space, (&lookup.word, &lookup.to), NEWEST)),
    );
    let mut postings = postings.await?.into_iter();
    let mut scores = HashMap::new();
    for term in terms {
        let mut impacts: HashMap<i64, f64> = HashMap::new();
        for lookup in &term.lookups {
            for posting in postings.by_ref().take(spaces.len()).flatten() {
                let weight = weight(lookup, &posting.word);
                for (text, impact) in posting.texts {
                    let impact = weight * impact as f64 / 1000.0;
                    let best = impacts.entry(text).or_default();
                    *best = best.max(impact);
                }
            }
        }
        let (all, with) = (all.max(1) as f64, impacts.len() as f64);
        let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
        for (text, impact) in impacts {
            *scores.entry(text).or_default() += term.weight * rarity * impact;
        }
    }
    Ok(scores)
}

/// How much a stored word counts as the one that was looked for.
fn weight(lookup: &Lookup, word: &str) -> f64 {
    if word == lookup.word { lookup.exact } else { lookup.longer }
}

/// Adds half of the better neighbour's score to what was said before and after it.
async fn add_neighbours(store: &Store, scores: &mut HashMap<i64, f64>) -> Result<(), StoreError> {
    let mut best: Vec<(i64, f64)> =
        scores.iter().filter(|(text, _)| **text % 2 == 0).map(|(text, score)| (*text, *score)).collect();
    best.sort_unstable_by(|(one, a), (other, b)| b.total_cmp(a).then(other.cmp(one)));
    best.truncate(AROUND);
    let turns: Vec<i64> = best.iter().map(|(text, _)| text / 2).collect();
    let own: HashMap<i64, f64> = best.into_iter().collect();
    let around = search::neighbours(store, &turns).await?;
    let mut more: HashMap<i64, f64> = HashMap::new();
    for turn in around {
        let score = own.get(&(turn.seq * 2)).copied().unwrap_or_default();
        for neighbour in [turn.before, turn.after].into_iter().flatten().map(|seq| seq * 2) {
            // One without any word of the question is only found where it answers what has one.
            if scores.contains_key(&neighbour) || (turn.asked != 0 && turn.after == Some(neighbour / 2)) {
                let best = more.entry(neighbour).or_default();
                *best = best.max(NEIGHBOUR * score);
            }
        }
    }
    for (text, score) in more {
        *scores.entry(text).or_default() += score;
    }
    Ok(())
}

/// Reads the texts, in this order; equal ones newest first.
async fn read(
    store: &Store,
    asker: Asker<'_>,
    ranked: &[(i64, f64)],
    kind: &str,
) -> Result<Vec<Found>, StoreError> {
    let of = |rest: i64| {
        let numbers = ranked.iter().map(|(text, _)| *text).filter(move |text| text % 2 == rest);
        numbers.map(|text| text / 2).collect::<Vec<_>>()
    };
    let (memories, turns) = (of(1), of(0));
    let (memories, said) = futures::try_join!(
        search::memories(store, asker.person, asker.here, &memories),
        search::said(store, asker.person, asker.here, &turns),
    )?;
    let mut texts: HashMap<i64, (i64, Found)> = HashMap::new();
    for (seq, row) in memories.into_iter().filter(|(_, row)| kind.is_empty() || row.kind == kind) {
        texts.insert(seq * 2 + 1, (row.created_at, Found::Memory(row)));
    }
    for (seq, row) in said.into_iter().filter(|_| kind.is_empty()) {
        texts.insert(seq * 2, (row.started_at, Found::Said(row)));
    }
    let mut found: Vec<(i64, i64, i64, Found)> = Vec::with_capacity(ranked.len());
    for (number, score) in ranked {
        if let Some((at, text)) = texts.remove(number) {
            found.push(((score * 1000.0).round() as i64, at, *number, text));
        }
    }
    found.sort_by_key(|(score, at, number, _)| Reverse((*score, *at, *number)));
    Ok(found.into_iter().map(|(.., text)| text).collect())
}
