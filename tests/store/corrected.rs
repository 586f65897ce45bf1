//! What is forgotten of a memory that was corrected.

use adjutant_memory::{Forgetting, Meant};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::origins;
use adjutant_store::people::Conversation;
use adjutant_types::MemoryId;
use chrono_tz::Tz;

use crate::memories::recall;
use crate::world::World;

on_both!(
    the_turns_of_what_a_memory_was_go_with_it,
    the_past_goes_alone_with_its_words,
    nothing_of_a_former_memory_outlives_the_present_one,
);

fn memory(id: &str, text: &str) -> MemoryRow {
    MemoryRow {
        id: id.into(),
        kind: "fact".into(),
        scope: "private".into(),
        text: text.into(),
        tags: "[]".into(),
        topic: String::new(),
        created_at: 5,
    }
}

/// An ended turn in which Ada said something.
async fn said(world: &World, here: &Conversation, id: &'static str, text: &'static str) {
    world
        .write(|batch| {
            batch.run(
                "INSERT INTO turns (id, conversation_id, person_id, status, text, answer, answers, instance, \
                 budget_from, started_at, resumed_at, ended_at) \
                 VALUES ($1, $2, $3, 'completed', $4, 'OK.', '[]', 'i', 0, 1, 1, 1)",
                [id.into(), (&here.id).into(), (&here.person_id).into(), text.into()],
            );
        })
        .await
        .unwrap();
}

/// A memory that a turn said, in place of a former one.
async fn kept(world: &World, here: &Conversation, new: MemoryRow, turn: &str, former: Option<&MemoryRow>) {
    world
        .write(|batch| {
            if let Some(former) = former {
                let was = adjutant_memory::now_of(&former.text);
                origins::pass_on(batch, (&former.id, was), &new.id);
                memories::delete(batch, &here.person_id, &former.id);
            }
            memories::insert(batch, &here.person_id, &here.id, &new);
            origins::say(batch, &here.person_id, &new.id, &turn.into());
        })
        .await
        .unwrap();
}

/// Ada lived in Paris, then in Lyon, and lives in Rome.
async fn moved(world: &World) -> (Conversation, MemoryRow) {
    let here = world.room().await;
    for (id, text) in [
        ("t1", "we found a flat in Paris"),
        ("t2", "Lyon it is now"),
        ("t3", "so we went to Rome"),
        ("t4", "the lamp is broken"),
    ] {
        said(world, &here, id, text).await;
    }
    let paris = memory("m1", "ada lives in Paris");
    let lyon = memory("m2", &adjutant_memory::with_history("ada lives in Lyon", &paris.text, 0, Tz::UTC));
    let rome = memory("m3", &adjutant_memory::with_history("ada lives in Rome", &lyon.text, 0, Tz::UTC));
    kept(world, &here, paris.clone(), "t1", None).await;
    kept(world, &here, lyon.clone(), "t2", Some(&paris)).await;
    kept(world, &here, rome.clone(), "t3", Some(&lyon)).await;
    (here, rome)
}

async fn forget(world: &World, here: &Conversation, meant: Meant) {
    let mut batch = adjutant_store::Batch::new();
    let asked = Forgetting { person: &here.person_id, here: Some(here), zone: Tz::UTC };
    adjutant_memory::forget(&world.store, asked, &[meant], None, &mut batch).await.unwrap();
    world.store.write(batch).await.unwrap();
}

/// The turns that are forgotten.
async fn forgotten(world: &World) -> Vec<String> {
    let rows: Vec<(String,)> = world
        .store
        .all("SELECT id FROM turns WHERE forgotten_at IS NOT NULL ORDER BY seq", &[])
        .await
        .unwrap();
    rows.into_iter().map(|(id,)| id).collect()
}

async fn the_turns_of_what_a_memory_was_go_with_it(world: World) {
    let (here, rome) = moved(&world).await;
    forget(&world, &here, Meant::all(rome)).await;
    assert_eq!(forgotten(&world).await, ["t1", "t2", "t3"]);
    assert_eq!(world.store.count("SELECT count(*) FROM memory_formers", &[]).await.unwrap(), 0);
}

async fn the_past_goes_alone_with_its_words(world: World) {
    let (here, rome) = moved(&world).await;
    assert_eq!(recall(&world.store, &here, "Paris", "", 9).await, std::slice::from_ref(&rome));
    let meant = adjutant_memory::meant(vec![rome], "lived in Paris").pop().unwrap();
    assert_eq!(meant.past.as_deref(), Some(&["ada lives in Paris".to_owned()][..]));
    forget(&world, &here, meant).await;
    assert_eq!(forgotten(&world).await, ["t1"]);
    assert_eq!(recall(&world.store, &here, "Paris", "", 9).await, []);
    let rest = recall(&world.store, &here, "Lyon", "", 9).await.remove(0);
    assert_eq!(
        rest.text,
        "ada lives in Rome (since 1 January 1970; before: ada lives in Lyon (since 1 January 1970))"
    );
    let formers = origins::formers(&world.store, &here.person_id).await.unwrap();
    let ids: Vec<MemoryId> = formers.into_iter().map(|former| former.former_id).collect();
    assert_eq!(ids, [MemoryId::from("m2")]);
    // All of it, when the present is meant or nothing is meant alone.
    let all = adjutant_memory::meant(vec![rest.clone()], "lives in Rome").pop().unwrap();
    assert_eq!(all, Meant::all(rest));
    forget(&world, &here, all).await;
    assert_eq!(forgotten(&world).await, ["t1", "t2", "t3"]);
}

async fn nothing_of_a_former_memory_outlives_the_present_one(world: World) {
    let (here, rome) = moved(&world).await;
    let formers = origins::formers(&world.store, &here.person_id).await.unwrap();
    let known: Vec<(&str, &str)> =
        formers.iter().map(|former| (former.former_id.as_str(), former.text.as_str())).collect();
    assert_eq!(known, [("m1", "ada lives in Paris"), ("m2", "ada lives in Lyon")]);
    world.write(|batch| memories::delete(batch, &here.person_id, &rome.id)).await.unwrap();
    for left in ["SELECT count(*) FROM memory_formers", "SELECT count(*) FROM memory_turns"] {
        assert_eq!(world.store.count(left, &[]).await.unwrap(), 0, "{left}");
    }
}
