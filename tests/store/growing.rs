//! Facts that were taken from what people wrote: what is nearly the same is joined, and what nobody recalls fades.

use std::time::Duration;

use adjutant_memory::{Asker, Found, SearchIn, extraction};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::origins::{self, DueConversation, OriginRow};
use adjutant_store::people::Conversation;
use adjutant_types::MemoryId;

use crate::world::World;

on_both!(
    near_duplicates_are_joined_and_what_was_told_stays,
    what_was_never_recalled_fades_and_what_was_told_does_not,
);

fn memory(id: &str, text: &str, created_at: i64) -> MemoryRow {
    MemoryRow {
        id: id.into(),
        kind: "fact".into(),
        scope: "private".into(),
        text: text.into(),
        tags: "[]".into(),
        topic: String::new(),
        created_at,
    }
}

async fn told(world: &World, here: &Conversation, id: &str, text: &str) {
    let memory = memory(id, text, world.store.now());
    world.write(|batch| memories::insert(batch, &here.person_id, &here.id, &memory)).await.unwrap();
}

/// A fact that was taken from what somebody wrote, and said so often.
async fn taken(world: &World, here: &Conversation, id: &str, text: &str, strength: i64) {
    let due = DueConversation { id: here.id.clone(), person_id: here.person_id.clone(), extracted_to: 0 };
    let memory = memory(id, text, world.store.now());
    let origin = OriginRow {
        memory_id: MemoryId::from(id),
        turn_id: "t".into(),
        quote: text.into(),
        topic: id.into(),
        strength,
    };
    world.write(|batch| origins::insert(batch, &due, &memory, &origin)).await.unwrap();
}

async fn ids(world: &World, here: &Conversation) -> Vec<String> {
    let all = memories::list(&world.store, &here.person_id, here, "", 99).await.unwrap();
    let mut ids: Vec<String> = all.into_iter().map(|memory| memory.id.to_string()).collect();
    ids.sort();
    ids
}

async fn near_duplicates_are_joined_and_what_was_told_stays(world: World) {
    let here = world.room().await;
    told(&world, &here, "told", "Dana's boat lies in the harbour of Porto").await;
    told(&world, &here, "too", "Dana's boat lies in the harbour of Porto now").await;
    taken(&world, &here, "boat", "Dana's boat lies in the harbour of Porto today", 1).await;
    taken(&world, &here, "old", "Ada leads the Falcon project in Lyon with Bob", 2).await;
    taken(&world, &here, "new", "Ada leads the Falcon project in Lyon with Bob since May", 3).await;
    taken(&world, &here, "other", "Ada leads the Heron project in Paris with Bob", 1).await;
    let (past, now) = (
        "Bob's desk stands at the east window upstairs (since 3 May 2026; before: in the cellar)",
        "Bob's desk stands at the east window upstairs",
    );
    taken(&world, &here, "past", past, 1).await;
    taken(&world, &here, "now", now, 1).await;
    let bob = world.person("bob").await;
    let bobs = adjutant_store::people::conversation(&world.store, "console", "bobs", &bob.id, true);
    let bobs = bobs.await.unwrap();
    taken(&world, &bobs, "bobs", "Ada leads the Falcon project in Lyon with Bob", 1).await;
    assert_eq!(extraction::consolidate(&world.store).await.unwrap(), 2);
    assert_eq!(ids(&world, &here).await, ["new", "now", "other", "past", "told", "too"]);
    assert_eq!(ids(&world, &bobs).await, ["bobs"], "each person's own");
    let rows = origins::of_person(&world.store, &here.person_id).await.unwrap();
    let strength = |id: &str| rows.iter().find(|row| *row.memory_id == *id).map(|row| row.strength);
    assert_eq!((strength("new"), strength("old"), strength("boat")), (Some(5), None, None));
    assert_eq!(extraction::consolidate(&world.store).await.unwrap(), 0, "once");
}

async fn found(world: &World, here: &Conversation, question: &str, limit: usize) -> Vec<String> {
    let fade = Some(Duration::from_hours(24 * 365));
    let asker = Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors: None, fade };
    let found =
        adjutant_memory::search(&world.store, asker, question, SearchIn::Memories, "", limit).await.unwrap();
    found.into_iter().filter_map(Found::memory).map(|memory| memory.id.to_string()).collect()
}

async fn what_was_never_recalled_fades_and_what_was_told_does_not(world: World) {
    let here = world.room().await;
    let year = Duration::from_hours(24 * 366);
    taken(&world, &here, "used", "The code of the cellar door is on the lamp", 1).await;
    assert_eq!(found(&world, &here, "cellar code", 9).await, ["used"]);
    taken(&world, &here, "idle", "The code of the garden gate is on the tree", 1).await;
    taken(&world, &here, "twice", "The code of the attic window is on the beam", 2).await;
    told(&world, &here, "told", "The code of the office safe is on the shelf").await;
    // All are equal hits, and what was said twice counts a little more.
    assert_eq!(found(&world, &here, "code", 1).await, ["twice"]);
    world.clock.advance(year);
    taken(&world, &here, "fresh", "The code of the coach house is on the wall", 1).await;
    let mut order = found(&world, &here, "code", 9).await;
    assert_eq!(order.pop().as_deref(), Some("idle"));
    order.sort();
    assert_eq!(order, ["fresh", "told", "twice", "used"]);
    // Now it was recalled, and doesn't fade any more.
    world.clock.advance(year);
    assert_eq!(found(&world, &here, "garden gate code", 9).await[0], "idle");
    told(&world, &here, "last", "The code of the boat shed is on the oar").await;
    let order = found(&world, &here, "code", 9).await;
    assert!(order.len() == 6 && order.last().unwrap() != "idle", "{order:?}");
}
