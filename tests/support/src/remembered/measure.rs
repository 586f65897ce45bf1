//! Puts a set into a store and asks its questions.

use std::collections::BTreeMap;
use std::fmt::Write;

use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_store::people::{self, Conversation};
use adjutant_store::{Batch, Store};

use super::{KINDS, Kind, Set};

/// How many hits count.
const AT: usize = 10;

/// Puts what was said into a conversation of its own, as ended turns `s0`, `s1` and so on.
pub async fn load(store: &Store, set: &Set) -> Conversation {
    let person = people::person(store, "bench", "ada", "Ada").await.expect("a person");
    let here = people::conversation(store, "bench", "ada", &person.id, true).await.expect("a conversation");
    for (chunk, said) in set.said.chunks(500).enumerate() {
        let mut batch = Batch::new();
        for (n, said) in said.iter().enumerate() {
            batch.run(
                "INSERT INTO turns (id, conversation_id, person_id, status, text, answer, answers, instance, \
                 budget_from, started_at, resumed_at, ended_at) \
                 VALUES ($1, $2, $3, 'completed', $4, $5, '[]', 'i', 0, $6, $6, $6)",
                [
                    format!("s{}", chunk * 500 + n).into(),
                    (&here.id).into(),
                    (&person.id).into(),
                    (&said.text).into(),
                    (&said.answer).into(),
                    said.at.into(),
                ],
            );
        }
        store.write(batch).await.expect("written");
    }
    adjutant_memory::index::catch_up(store, chrono_tz::Tz::UTC, true, usize::MAX).await.expect("indexed");
    here
}

/// What was found for each question, in order.
pub async fn ask(
    store: &Store,
    here: &Conversation,
    set: &Set,
    vectors: Option<&Vectors>,
) -> Vec<Vec<usize>> {
    let asker = Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors, fade: None };
    let mut all = Vec::new();
    for question in &set.questions {
        let found =
            adjutant_memory::search(store, asker, &question.text, SearchIn::Conversations, "", AT).await;
        let number = |found| match found {
            Found::Said(said) => said.id[1..].parse().ok(),
            Found::Memory(_) => None,
        };
        all.push(found.expect("a search").into_iter().filter_map(number).collect());
    }
    all
}

/// The share of the evidence that was found, by kind; of what nobody said, the share of questions that found nothing.
pub fn recall(set: &Set, found: &[Vec<usize>]) -> BTreeMap<Kind, f64> {
    let mut all: BTreeMap<Kind, (f64, f64)> = BTreeMap::new();
    for (question, found) in set.questions.iter().zip(found) {
        let hits = question.evidence.iter().filter(|turn| found.contains(turn)).count();
        let recall = match question.kind {
            Kind::Nothing => f64::from(u8::from(found.is_empty())),
            _ => hits as f64 / question.evidence.len().max(1) as f64,
        };
        let (sum, count) = all.entry(question.kind).or_default();
        (*sum, *count) = (*sum + recall, *count + 1.0);
    }
    all.into_iter().map(|(kind, (sum, count))| (kind, sum / count)).collect()
}

/// A line for each kind, and one for all that were said.
pub fn table(set: &Set, recall: &BTreeMap<Kind, f64>) -> String {
    let mut text = String::new();
    let count = |kind| set.questions.iter().filter(|question| question.kind == kind).count();
    let (mut sum, mut all) = (0.0, 0);
    for kind in KINDS {
        let share = recall.get(&kind).copied().unwrap_or_default();
        let _ = writeln!(text, "{kind:?} ({}): {share:.3}", count(kind));
        if kind != Kind::Nothing {
            (sum, all) = (sum + share * count(kind) as f64, all + count(kind));
        }
    }
    let _ =
        writeln!(text, "all that was said ({all}): {:.3}", sum / f64::from(u32::try_from(all).unwrap_or(1)));
    text
}
