//! A fact beside the existing memories: new, stored already, or the present state of something that has changed.

use std::collections::HashSet;

use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::origins::{self, DueConversation, OriginRow};
use adjutant_store::{Batch, Result, Store};

use super::Extracted;
use super::check::Checked;
use crate::history::{now_of, with_history};
use crate::words::words;

/// From which part of common words on two texts say the same.
const SAME: f64 = 0.8;

/// Adds the writes for these facts.
pub(super) async fn merge(
    store: &Store,
    due: &DueConversation,
    facts: Vec<Checked>,
    batch: &mut Batch,
    extracted: &mut Extracted,
) -> Result<()> {
    let mut existing = origins::private(store, &due.person_id).await?;
    let mut origins_of = origins::of_person(store, &due.person_id).await?;
    for Checked { fact, message, topic, .. } in facts {
        if let Some(same) = existing.iter().find(|memory| says_the_same(now_of(&memory.text), &fact.fact)) {
            origins::strengthen(batch, &same.id, 1);
            origins::say(batch, &due.person_id, &same.id, &message.row.id);
            extracted.known += 1;
            continue;
        }
        let former = origins_of
            .iter()
            .find(|origin| origin.topic == topic)
            .and_then(|origin| existing.iter().find(|memory| memory.id == origin.memory_id).cloned());
        let text = match &former {
            Some(former) => with_history(&fact.fact, &former.text, message.at, message.zone),
            None => fact.fact.clone(),
        };
        let id = store.new_id();
        if let Some(former) = &former {
            origins::pass_on(batch, (&former.id, now_of(&former.text)), &id);
            memories::delete(batch, &due.person_id, &former.id);
            existing.retain(|memory| memory.id != former.id);
            origins_of.retain(|origin| origin.memory_id != former.id);
        }
        let memory = MemoryRow {
            id,
            // Kinds of facts that memories have had from the beginning; the others are found by their tag.
            kind: if ["preference", "person"].contains(&fact.kind.as_str()) {
                fact.kind.clone()
            } else {
                "fact".into()
            },
            scope: "private".into(),
            text,
            tags: serde_json::to_string(&[&fact.kind, &fact.topic]).unwrap_or_else(|_| "[]".into()),
            topic: topic.clone(),
            created_at: message.at,
        };
        let origin = OriginRow {
            memory_id: memory.id.clone(),
            turn_id: message.row.id.clone(),
            quote: fact.quote.clone(),
            topic,
            strength: 1,
        };
        origins::insert(batch, due, &memory, &origin);
        existing.push(memory);
        origins_of.push(origin);
        extracted.kept += 1;
    }
    Ok(())
}

fn says_the_same(left: &str, right: &str) -> bool {
    let stems = |text: &str| words(text).map(|word| word.stem).collect::<HashSet<_>>();
    let (left, right) = (stems(left), stems(right));
    let common = left.intersection(&right).count() as f64;
    common / (left.union(&right).count() as f64).max(1.0) >= SAME
}
