//! Nobody finds what another said or had remembered where only they read: over random histories, by words and by meaning.

use std::collections::BTreeSet;

use adjutant_fakes::embeddings::FakeEmbeddings;
use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, Found, SearchIn, index};
use adjutant_models::embeddings::Embedder;
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::{Batch, turns};
use adjutant_types::TurnStatus;

use crate::remembered::Dice;
use crate::world::World;

on_both!(each_person_finds_in_each_place_exactly_what_they_may);

/// What was kept: its one word, who said it, where, and who may find it.
struct Thing {
    word: String,
    person: usize,
    place: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Private,
    OfRoom,
    Said,
}

/// A direct place of each person, another of the first, and two rooms.
const PLACES: [(&str, usize, bool); 6] = [
    ("ada", 0, true),
    ("bob", 1, true),
    ("cleo", 2, true),
    ("ada's other", 0, true),
    ("team", 0, false),
    ("club", 1, false),
];

/// Whether somebody may find a thing in a place, as a person would say it.
fn may_find(thing: &Thing, person: usize, place: usize) -> bool {
    let (is_direct, is_own) = (PLACES[place].2, thing.person == person);
    match thing.kind {
        Kind::Private => is_own && is_direct,
        Kind::OfRoom => is_own && place == thing.place,
        Kind::Said if is_direct => is_own,
        Kind::Said => place == thing.place,
    }
}

async fn each_person_finds_in_each_place_exactly_what_they_may(world: World) {
    let mut people = Vec::new();
    for name in ["ada", "bob", "cleo"] {
        people.push(world.person(name).await);
    }
    let mut places = Vec::new();
    for (name, owner, is_direct) in PLACES {
        let (store, owner) = (&world.store, &people[owner].id);
        places.push(people::conversation(store, "console", name, owner, is_direct).await.unwrap());
    }
    // To it, everything means the same.
    let server = FakeEmbeddings::start(|_| vec![1.0, 2.0, 3.0]);
    let vectors = Vectors::new(Embedder::new("alike", &server.base_url(), None).unwrap());
    let mut things: Vec<Thing> = Vec::new();
    let mut dice = Dice(20);
    for round in 0..6 {
        for _ in 0..12 {
            let thing = random(&mut dice, things.len());
            keep(&world, &people[thing.person], &places[thing.place], &thing).await;
            things.push(thing);
        }
        index::catch_up(&world.store, chrono_tz::Tz::UTC, true, usize::MAX).await.unwrap();
        vectors.catch_up(&world.store).await.unwrap();
        for (place, here) in places.iter().enumerate() {
            // Only its owner is in a direct place.
            let (_, owner, is_direct) = PLACES[place];
            for person in (0..people.len()).filter(|person| !is_direct || *person == owner) {
                for vectors in [None, Some(&vectors)] {
                    let found = everything(&world, &people[person], here, vectors).await;
                    let may = things.iter().filter(|thing| may_find(thing, person, place));
                    let may: BTreeSet<String> = may.map(|thing| thing.word.clone()).collect();
                    assert_eq!(found, may, "round {round}: person {person} in {:?}", PLACES[place]);
                }
            }
        }
    }
}

fn random(dice: &mut Dice, number: usize) -> Thing {
    let place = dice.below(PLACES.len());
    let (_, owner, is_direct) = PLACES[place];
    let person = if is_direct { owner } else { dice.below(3) };
    let kind = match dice.below(3) {
        0 => Kind::Said,
        1 if !is_direct => Kind::OfRoom,
        _ => Kind::Private,
    };
    Thing { word: format!("zx{number}q"), person, place, kind }
}

async fn keep(world: &World, person: &Person, here: &Conversation, thing: &Thing) {
    let text = format!("the lantern {}", thing.word);
    if thing.kind == Kind::Said {
        let turn = turns::TurnRow {
            text,
            conversation_id: here.id.clone(),
            person_id: person.id.clone(),
            ..world.new_turn(&thing.word, "i").await
        };
        let mut batch = Batch::new();
        turns::start(&mut batch, &turn, &[]);
        turns::end(&mut batch, &turn.id, TurnStatus::Completed, "OK.", world.store.now());
        world.store.write(batch).await.unwrap();
        return;
    }
    let memory = MemoryRow {
        id: thing.word.as_str().into(),
        kind: "fact".into(),
        scope: if thing.kind == Kind::Private { "private" } else { "room" }.into(),
        text,
        tags: "[]".into(),
        topic: String::new(),
        created_at: world.store.now(),
    };
    world.write(|batch| memories::insert(batch, &person.id, &here.id, &memory)).await.unwrap();
}

/// The words of all that somebody finds in a place.
async fn everything(
    world: &World,
    person: &Person,
    here: &Conversation,
    vectors: Option<&Vectors>,
) -> BTreeSet<String> {
    let asker = Asker { person: &person.id, here, zone: chrono_tz::Tz::UTC, vectors, fade: None };
    let found =
        adjutant_memory::search(&world.store, asker, "lantern", SearchIn::Both, "", 500).await.unwrap();
    let text = |found| match found {
        Found::Memory(row) => row.text,
        Found::Said(row) => row.text,
    };
    found.into_iter().map(|found| text(found).replace("the lantern ", "")).collect()
}
