//! Finds memories and what was said by the words of a question, best first.
//!
//! BM25 over the texts that contain any of the words, each of which the store gives by an index, at most [`NEWEST`] a
//! word. What was said right before and after counts half. Of two equal texts the newer comes first.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use adjutant_store::memories::MemoryRow;
use adjutant_store::people::Conversation;
use adjutant_store::search::{self, DocumentId, Posting, SaidRow};
use adjutant_store::{Store, StoreError};
use adjutant_types::PersonId;
use adjutant_types::clock::utc;
use chrono_tz::Tz;

use super::fusion;
use super::index::{self, ANY, catch_up};
use super::question::{Term, terms};
use super::vectors::Vectors;

/// How many texts of a word are looked at: the newest.
const NEWEST: i64 = 2000;
/// Texts are counted up to this number.
const COUNTED: i64 = 10_000;
/// How many texts are ranked with what stands around them.
const AROUND: usize = 100;
/// How much a neighbour's words count.
const NEIGHBOUR: f64 = 0.5;
/// How much a fact counts that has faded, and how much more one that was said again, each time.
const FADED: f64 = 0.5;
const SAID_AGAIN: f64 = 0.02;
/// How many texts may be kept for a search that can't wait.
const CATCH_UP: usize = 512;

/// Who searches, and where.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    pub person: &'a PersonId,
    pub here: &'a Conversation,
    /// The person's zone.
    pub zone: Tz,
    /// What compares meanings, if that is wanted.
    pub vectors: Option<&'a Vectors>,
    /// After how long a fact that was taken from what somebody wrote, and never recalled, comes behind others.
    pub fade: Option<Duration>,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Asker").field("person", self.person).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchIn {
    /// In memories, of one kind if there is one.
    Memories,
    /// In memories, by a message that may ask for none of them: the days and bare numbers in it say nothing.
    MemoriesForMessage,
    /// In what was said.
    Conversations,
    Both,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Memory(MemoryRow),
    /// Something that was said.
    Said(SaidRow),
}

impl Found {
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
    search_in: SearchIn,
    kind: &str,
    limit: usize,
) -> Result<Vec<Found>, StoreError> {
    let memories = search_in != SearchIn::Conversations;
    let conversations = matches!(search_in, SearchIn::Conversations | SearchIn::Both);
    let terms = terms(text, utc(store.now()), asker.zone, search_in != SearchIn::MemoriesForMessage);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    catch_up(store, asker.zone, conversations, CATCH_UP).await?;
    let spaces = index::spaces(asker.person, asker.here, memories, conversations);
    let Scores { mut scores, texts, total } = score(store, &spaces, &terms).await?;
    let share = scores.values().fold(0.0, |best: f64, score| best.max(score.covered)) / total;
    add_neighbours(store, &mut scores).await?;
    let mut ranked: Vec<(DocumentId, f64)> =
        scores.iter().map(|(text, score)| (*text, score.score)).collect();
    ranked.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
    if let Some(vectors) = asker.vectors.filter(|_| texts > 0) {
        let shown = ranked.iter().take(limit).map(|(text, _)| *text);
        let stays = shown.filter(|text| scores[text].covered >= fusion::MAX * total).collect();
        let near = vectors.nearest(store, &asker, &spaces, text).await?;
        ranked = fusion::retain(fusion::fuse(ranked, &near, share), &stays, limit);
    }
    // With a kind, most of them may be of another.
    ranked.truncate(if kind.is_empty() { limit * 2 + 20 } else { 1000 });
    let mut found = read(store, asker, &ranked, kind).await?;
    found.truncate(limit);
    // A fact that was found once doesn't fade any more.
    let fresh: Vec<i64> = found.iter().filter_map(|candidate| candidate.fresh).collect();
    if !fresh.is_empty() {
        store.write(search::recalled(&fresh, store.now())).await?;
    }
    Ok(found.into_iter().map(|candidate| candidate.found).collect())
}

/// How well a text fits the words of a question.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    /// How well it fits.
    score: f64,
    /// The weight of the terms that it has.
    covered: f64,
}

/// How well the texts fit the words of a question.
struct Scores {
    /// The score of each text that contains any of the terms.
    scores: HashMap<DocumentId, Score>,
    /// How many texts there are.
    texts: i64,
    /// The weight of all terms.
    total: f64,
}

async fn score(store: &Store, spaces: &[i64], terms: &[Term]) -> Result<Scores, StoreError> {
    let lookups = || terms.iter().flat_map(|term| &term.lookups);
    let spans: Vec<_> = lookups().map(|lookup| (lookup.word.as_str(), lookup.to.as_str())).collect();
    let found = search::look_up(store, spaces, &spans, NEWEST, (ANY, COUNTED)).await?;
    let mut postings = found.of.into_iter();
    let all = found.texts.max(1) as f64;
    let (mut scores, mut total): (HashMap<DocumentId, Score>, f64) = (HashMap::new(), 0.0);
    for term in terms {
        let impacts = impacts(term, postings.by_ref());
        let with = impacts.len() as f64;
        let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
        let weight = term.weight * rarity;
        total += weight;
        for (text, impact) in impacts {
            let score = scores.entry(text).or_default();
            score.score += weight * impact;
            score.covered += weight;
        }
    }
    Ok(Scores { scores, texts: found.texts, total })
}

/// The texts with a term, each once, with how much the term says about it: what the best of its lookups does.
fn impacts(term: &Term, postings: impl Iterator<Item = Vec<Posting>>) -> Vec<(DocumentId, f64)> {
    let mut impacts = Vec::new();
    for (lookup, postings) in term.lookups.iter().zip(postings) {
        impacts.extend(postings.iter().map(|posting| {
            let weight = if posting.is_exact { lookup.exact } else { lookup.longer };
            (posting.text, weight * posting.impact as f64 / 1000.0)
        }));
    }
    impacts.sort_unstable_by(|(text_a, a), (text_b, b)| text_a.cmp(text_b).then(b.total_cmp(a)));
    impacts.dedup_by_key(|(text, _)| *text);
    impacts
}

/// Adds half of the better neighbour's score to what was said before and after it.
async fn add_neighbours(store: &Store, scores: &mut HashMap<DocumentId, Score>) -> Result<(), StoreError> {
    let turn_scores = scores.iter().filter_map(|(text, score)| Some((text.turn()?, score.score)));
    let mut best: Vec<(i64, f64)> = turn_scores.collect();
    best.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
    best.truncate(AROUND);
    let turns: Vec<i64> = best.iter().map(|(seq, _)| *seq).collect();
    let own: HashMap<i64, f64> = best.into_iter().collect();
    let around = search::neighbours(store, &turns).await?;
    let mut more: HashMap<DocumentId, f64> = HashMap::new();
    for turn in around {
        let score = own.get(&turn.seq).copied().unwrap_or_default();
        for seq in [turn.before, turn.after].into_iter().flatten() {
            let neighbour = DocumentId::of_turn(seq);
            // A text without any word of the question is only found where it answers what has one.
            if scores.contains_key(&neighbour) || (turn.asked && turn.after == Some(seq)) {
                let best = more.entry(neighbour).or_default();
                *best = best.max(NEIGHBOUR * score);
            }
        }
    }
    for (text, score) in more {
        scores.entry(text).or_default().score += score;
    }
    Ok(())
}

/// A text that was found.
struct Candidate {
    at: i64,
    /// How much its score counts.
    weight: f64,
    /// A memory's number if it is recalled for the first time.
    fresh: Option<i64>,
    found: Found,
}

/// Reads the texts, in this order; equal ones newest first.
async fn read(
    store: &Store,
    asker: Asker<'_>,
    ranked: &[(DocumentId, f64)],
    kind: &str,
) -> Result<Vec<Candidate>, StoreError> {
    let memories: Vec<i64> = ranked.iter().filter_map(|(text, _)| text.memory()).collect();
    let turns: Vec<i64> = ranked.iter().filter_map(|(text, _)| text.turn()).collect();
    let (memories, turns) = futures::try_join!(
        search::memories(store, asker.person, asker.here, &memories),
        search::said(store, asker.person, asker.here, &turns),
    )?;
    let mut texts: HashMap<DocumentId, Candidate> = HashMap::new();
    let faded = asker.fade.map(|fade| store.now() - i64::try_from(fade.as_millis()).unwrap_or(i64::MAX));
    for row in memories.into_iter().filter(|row| kind.is_empty() || row.memory.kind == kind) {
        let at = row.memory.created_at;
        let is_faded = row.may_fade && faded.is_some_and(|faded| at < faded);
        let weight = if is_faded { FADED } else { 1.0 + SAID_AGAIN * row.repeated.min(5) as f64 };
        let fresh = row.may_fade.then_some(row.seq);
        texts.insert(
            DocumentId::of_memory(row.seq),
            Candidate { at, weight, fresh, found: Found::Memory(row.memory) },
        );
    }
    for (seq, row) in turns.into_iter().filter(|_| kind.is_empty()) {
        let at = row.started_at;
        texts.insert(
            DocumentId::of_turn(seq),
            Candidate { at, weight: 1.0, fresh: None, found: Found::Said(row) },
        );
    }
    let mut found: Vec<((i64, i64, DocumentId), Candidate)> = Vec::with_capacity(ranked.len());
    for (text, score) in ranked {
        if let Some(candidate) = texts.remove(text) {
            found
                .push((((score * candidate.weight * 1000.0).round() as i64, candidate.at, *text), candidate));
        }
    }
    found.sort_by_key(|(order, _)| Reverse(*order));
    Ok(found.into_iter().map(|(_, candidate)| candidate).collect())
}
