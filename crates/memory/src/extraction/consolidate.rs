//! Joins facts that say nearly the same, which different conversations left: once a day.

use std::collections::{HashMap, HashSet};

use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::{Batch, Result, Store, origins};
use adjutant_types::PersonId;

use crate::history::now_of;
use crate::words::words;

/// From which part of common words on two facts are nearly the same.
const NEARLY: f64 = 0.7;

/// A memory that stays, so far.
struct Remaining<'a> {
    memory: &'a MemoryRow,
    /// How often it was said; none if it was told.
    strength: Option<i64>,
    stems: HashSet<String>,
}

/// Joins the near duplicates among everybody's facts. Returns how many memories went.
pub async fn consolidate(store: &Store) -> Result<usize> {
    let mut gone = 0;
    for person in origins::people(store).await? {
        gone += of_person(store, &person).await?;
    }
    Ok(gone)
}

async fn of_person(store: &Store, person: &PersonId) -> Result<usize> {
    let existing = origins::private(store, person).await?;
    let strengths = origins::of_person(store, person).await?.into_iter();
    let strengths: HashMap<_, _> = strengths.map(|row| (row.memory_id, row.strength)).collect();
    // Memories that the person told stay, and of the rest the newest.
    let (explicit, taken): (Vec<_>, Vec<_>) =
        existing.iter().partition(|memory| !strengths.contains_key(&memory.id));
    let mut remaining: Vec<Remaining> = Vec::new();
    let mut with: HashMap<String, Vec<usize>> = HashMap::new();
    let (mut batch, mut gone) = (Batch::new(), 0);
    for memory in explicit.into_iter().chain(taken) {
        let stems: HashSet<String> = words(now_of(&memory.text)).map(|word| word.stem).collect();
        let strength = strengths.get(&memory.id).copied();
        let same =
            strength.and_then(|strength| Some((strength, nearly_the_same(&remaining, &with, &stems)?)));
        // A memory with its history says more than one without.
        let is_better = |other: &Remaining| has_history(memory) && !has_history(other.memory);
        if let Some((strength, at)) = same.filter(|(_, at)| !is_better(&remaining[*at])) {
            origins::pass_on(&mut batch, (&memory.id, now_of(&memory.text)), &remaining[at].memory.id);
            memories::delete(&mut batch, person, &memory.id);
            gone += 1;
            if remaining[at].strength.is_some() {
                origins::strengthen(&mut batch, &remaining[at].memory.id, strength);
            }
            continue;
        }
        for stem in &stems {
            with.entry(stem.clone()).or_default().push(remaining.len());
        }
        remaining.push(Remaining { memory, strength, stems });
    }
    if gone == 0 {
        return Ok(0);
    }
    // If a memory was forgotten meanwhile, tomorrow again.
    Ok(if store.try_write(batch).await? { gone } else { 0 })
}

/// The index of a remaining memory that has nearly the same words.
fn nearly_the_same(
    remaining: &[Remaining],
    with: &HashMap<String, Vec<usize>>,
    stems: &HashSet<String>,
) -> Option<usize> {
    let mut common: HashMap<usize, usize> = HashMap::new();
    for at in stems.iter().filter_map(|stem| with.get(stem)).flatten() {
        *common.entry(*at).or_default() += 1;
    }
    let part =
        |at: usize, common: usize| common as f64 / (remaining[at].stems.len() + stems.len() - common) as f64;
    common.into_iter().filter(|(at, common)| part(*at, *common) >= NEARLY).map(|(at, _)| at).min()
}

fn has_history(memory: &MemoryRow) -> bool {
    now_of(&memory.text).len() < memory.text.len()
}
