//! Finds memories and what was said by the words of a question, best first.
//!
//! BM25 over the texts that contain any of the words, each of which the store gives by an index, at most [`NEWEST`] a
//! word. What was said around it counts by a part. Of two equal texts the newer comes first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use adjutant_store::memories::MemoryRow;
use adjutant_store::people::Conversation;
use adjutant_store::search::{self, DocumentId, Neighbours, Posting, SaidRow};
use adjutant_store::{Result, Store};
use adjutant_types::PersonId;
use adjutant_types::clock::utc;
use chrono_tz::Tz;

use super::fusion;
use super::index::{self, ANY, catch_up};
use super::question::{self, Term, terms};
use super::vectors::Vectors;

/// How many texts of a word are looked at: the newest.
const NEWEST: i64 = 2000;
/// Texts are counted up to this number.
const COUNTED: i64 = 10_000;
/// How many texts are ranked with what stands around them.
const AROUND: usize = 100;
/// How much the words of a text count for the one before it, the one after it, and the next ones.
const NEIGHBOURS: [f32; 4] = [0.4, 0.7, 0.2, 0.5];
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
    pub zone: Tz,
    /// What compares meanings, if that is wanted.
    pub vectors: Option<&'a Vectors>,
    /// After how long a fact that was taken from what somebody wrote, and never recalled, comes behind others.
    pub fade: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchIn {
    /// In memories, of one kind if there is one.
    Memories,
    /// In memories, by a message that may ask for none of them: the days and bare numbers in it say nothing.
    MemoriesForMessage,
    Conversations,
    Both,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Memory(MemoryRow),
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
) -> Result<Vec<Found>> {
    let memories = search_in != SearchIn::Conversations;
    let conversations = matches!(search_in, SearchIn::Conversations | SearchIn::Both);
    let terms = terms(text, utc(store.now()), asker.zone, search_in != SearchIn::MemoriesForMessage);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    catch_up(store, asker.zone, conversations, CATCH_UP).await?;
    let spaces = index::spaces(asker.person, asker.here, memories, conversations);
    let Scores { impacts, weights, texts } = score(store, &spaces, &terms).await?;
    let total: f64 = weights.iter().sum();
    let covered = |text: &DocumentId| impacts.get(text).map_or(0.0, |impacts| covered(&weights, impacts));
    let share = impacts.keys().map(covered).fold(0.0, f64::max) / total;
    let around = with_neighbours(store, &terms, &weights, &impacts, asker.here.shared).await?;
    let fits = around.iter().map(|(text, impacts)| (*text, fit(&weights, impacts)));
    // In a very long text a word says nothing, and still finds it.
    let fits = fits.filter(|(text, fit)| *fit > 0.0 || impacts.contains_key(text));
    // In thousandths, as they are compared in the end: equal ones are the same with vectors and without.
    let mut ranked: Vec<(DocumentId, f64)> =
        fits.map(|(text, fit)| (text, (fit * 1000.0).round() / 1000.0)).collect();
    ranked.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
    if let Some(vectors) = asker.vectors.filter(|_| texts > 0) {
        // Whatever it is where people talk: their names say who wrote it. Elsewhere, what has a word of the question besides
        // names, itself or around it, or most of the question.
        let has_word = |impacts: &Impacts| {
            impacts.iter().zip(&terms).any(|(impact, term)| *impact > 0.0 && !term.is_name)
        };
        let may_stay = |text: &DocumentId| {
            asker.here.shared
                || around.get(text).is_some_and(has_word)
                || covered(text) >= fusion::MAX * total
        };
        let stays = ranked.iter().take(limit).map(|(text, _)| *text).filter(may_stay).collect();
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

/// What was said right before and after each of these, as far as the person may see it here, by the turn's number.
pub async fn around(
    store: &Store,
    asker: Asker<'_>,
    turns: &[i64],
) -> Result<HashMap<i64, [Option<SaidRow>; 2]>> {
    let neighbours = search::neighbours(store, turns).await?;
    let seqs: Vec<i64> = neighbours.iter().flat_map(|turn| [turn.before, turn.after]).flatten().collect();
    let rows = search::said(store, asker.person, asker.here, &seqs).await?;
    let rows: HashMap<i64, SaidRow> = rows.into_iter().map(|row| (row.seq, row)).collect();
    let row = |seq: Option<i64>| rows.get(&seq?).cloned();
    Ok(neighbours.into_iter().map(|turn| (turn.seq, [row(turn.before), row(turn.after)])).collect())
}

/// How much each term of a question says about a text.
type Impacts = [f32; question::MAX];

struct Scores {
    /// Of each text that contains any of the terms.
    impacts: HashMap<DocumentId, Impacts>,
    /// How much each term counts.
    weights: Vec<f64>,
    /// How many texts there are.
    texts: i64,
}

async fn score(store: &Store, spaces: &[i64], terms: &[Term]) -> Result<Scores> {
    let lookups = || terms.iter().flat_map(|term| &term.lookups);
    let spans: Vec<_> = lookups().map(|lookup| (lookup.word.as_str(), lookup.to.as_str())).collect();
    let found = search::look_up(store, spaces, &spans, NEWEST, (ANY, COUNTED)).await?;
    let mut postings = found.of.into_iter();
    let all = found.texts.max(1) as f64;
    let mut scores = Scores { impacts: HashMap::new(), weights: Vec::new(), texts: found.texts };
    for (number, term) in terms.iter().enumerate() {
        let found = impacts(term, postings.by_ref());
        let with = found.len() as f64;
        let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
        scores.weights.push(term.weight * rarity);
        for (text, impact) in found {
            scores.impacts.entry(text).or_default()[number] = impact as f32;
        }
    }
    Ok(scores)
}

/// The weight of the terms that a text has.
fn covered(weights: &[f64], impacts: &Impacts) -> f64 {
    weights.iter().zip(impacts).filter(|(_, impact)| **impact > 0.0).map(|(weight, _)| weight).sum()
}

fn fit(weights: &[f64], impacts: &Impacts) -> f64 {
    weights.iter().zip(impacts).map(|(weight, impact)| weight * f64::from(*impact)).sum()
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

/// The texts with what was said around them, of which each term but names counts by a part: a name there is whom somebody
/// speaks to.
async fn with_neighbours(
    store: &Store,
    terms: &[Term],
    weights: &[f64],
    own: &HashMap<DocumentId, Impacts>,
    is_shared: bool,
) -> Result<HashMap<DocumentId, Impacts>> {
    let turns = own.iter().filter_map(|(text, impacts)| Some((text.turn()?, fit(weights, impacts))));
    let mut best: Vec<(i64, f64)> = turns.collect();
    best.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
    best.truncate(AROUND);
    let turns: Vec<i64> = best.into_iter().map(|(seq, _)| seq).collect();
    let nearest = search::neighbours(store, &turns).await?;
    let beside: HashSet<i64> = nearest.iter().flat_map(|turn| [turn.before, turn.after]).flatten().collect();
    let beside: Vec<i64> = beside.into_iter().collect();
    let next = search::neighbours(store, &beside).await?;
    let next: HashMap<i64, Neighbours> = next.into_iter().map(|turn| (turn.seq, turn)).collect();
    let next_of = |seq: Option<i64>| next.get(&seq?).copied();
    let mut around: HashMap<DocumentId, Impacts> = HashMap::new();
    for turn in nearest {
        let Some(mut impacts) = own.get(&DocumentId::of_turn(turn.seq)).copied() else { continue };
        for (impact, _) in impacts.iter_mut().zip(terms).filter(|(_, term)| term.is_name) {
            *impact = 0.0;
        }
        let seqs = [
            turn.before,
            turn.after,
            next_of(turn.before).and_then(|turn| turn.before),
            next_of(turn.after).and_then(|turn| turn.after),
        ];
        for (seq, part) in seqs.into_iter().zip(NEIGHBOURS) {
            let Some(seq) = seq else { continue };
            let text = DocumentId::of_turn(seq);
            // A text without any word of the question is only found where people talk, or where it answers what has one.
            if is_shared || own.contains_key(&text) || (turn.asked && turn.after == Some(seq)) {
                for (most, impact) in around.entry(text).or_default().iter_mut().zip(impacts) {
                    *most = most.max(part * impact);
                }
            }
        }
    }
    let mut all = own.clone();
    for (text, around) in around {
        for (impact, around) in all.entry(text).or_default().iter_mut().zip(around) {
            *impact += around;
        }
    }
    Ok(all)
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
) -> Result<Vec<Candidate>> {
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
    for row in turns.into_iter().filter(|_| kind.is_empty()) {
        let at = row.started_at;
        texts.insert(
            DocumentId::of_turn(row.seq),
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
