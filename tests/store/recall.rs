//! What was said, and who can find it where.

use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_store::people::{self, Conversation};
use adjutant_store::{Batch, known, turns};
use adjutant_types::{Taint, TurnStatus};

use crate::remembered::{self, measure};
use crate::world::World;

on_both!(
    what_was_said_is_found_with_its_place_and_time,
    what_was_said_in_a_room_is_found_in_that_room_and_by_who_said_it,
    the_words_of_neighbours_and_days_count,
    a_speaker_and_a_file_are_found_and_no_word_outlives_its_file,
    of_equal_texts_the_newer_comes_first,
    every_script_is_found,
    no_word_outlives_its_text,
    both_databases_rank_the_same,
);

/// A turn that has ended.
async fn said(world: &World, person: &str, here: &Conversation, id: &str, (text, answer): (&str, &str)) {
    let person = world.person(person).await;
    let turn = turns::TurnRow {
        text: text.into(),
        conversation_id: here.id.clone(),
        person_id: person.id,
        ..world.new_turn(id, "i").await
    };
    let mut batch = Batch::new();
    turns::start(&mut batch, &turn, &[]);
    turns::end(&mut batch, &id.into(), TurnStatus::Completed, answer, world.store.now());
    world.store.write(batch).await.unwrap();
}

async fn find(world: &World, person: &str, here: &Conversation, text: &str) -> Vec<String> {
    let person = world.person(person).await;
    let asker = Asker { person: &person.id, here, zone: chrono_tz::Tz::UTC, vectors: None, fade: None };
    let found =
        adjutant_memory::search(&world.store, asker, text, SearchIn::Conversations, "", 10).await.unwrap();
    let id = |found| match found {
        Found::Memory(row) => panic!("{row:?}"),
        Found::Said(row) => row.id.to_string(),
    };
    found.into_iter().map(id).collect()
}

async fn room(world: &World, place: &str) -> Conversation {
    let ada = world.person("ada").await;
    people::conversation(&world.store, "slack", place, &ada.id, false).await.unwrap()
}

async fn what_was_said_is_found_with_its_place_and_time(world: World) {
    let here = world.room().await;
    said(&world, "ada", &here, "t1", ("We moved to Lyon last week", "Congratulations!")).await;
    said(&world, "ada", &here, "t2", ("The bakery closes at six", "OK.")).await;
    let ada = world.person("ada").await;
    let asker = Asker { person: &ada.id, here: &here, zone: chrono_tz::Tz::UTC, vectors: None, fade: None };
    let found =
        adjutant_memory::search(&world.store, asker, "when did we move to Lyon?", SearchIn::Both, "", 1)
            .await
            .unwrap();
    let [Found::Said(found)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.id.as_str(), found.text.as_str()), ("t1", "We moved to Lyon last week"));
    assert_eq!((found.name.as_str(), found.channel.as_str()), ("ada", "console"));
    assert_eq!((found.answer.as_deref(), found.started_at), (Some("Congratulations!"), world.store.now()));
    assert_eq!(found.taint, Taint::default());
    let memories =
        adjutant_memory::search(&world.store, asker, "Lyon", SearchIn::Memories, "", 5).await.unwrap();
    assert_eq!(memories, []);
}

async fn what_was_said_in_a_room_is_found_in_that_room_and_by_who_said_it(world: World) {
    let (here, there, direct) = (room(&world, "C1").await, room(&world, "C2").await, world.room().await);
    let bob = world.person("bob").await;
    let bobs = people::conversation(&world.store, "console", "bobs", &bob.id, true).await.unwrap();
    said(&world, "ada", &direct, "secret", ("the surprise party is on Friday", "OK.")).await;
    said(&world, "ada", &here, "hers", ("the party is in the garden", "OK.")).await;
    said(&world, "bob", &here, "his", ("I bring a cake to the party", "OK.")).await;
    for who in ["ada", "bob"] {
        let mut found = find(&world, who, &here, "party").await;
        found.sort();
        assert_eq!(found, ["hers", "his"], "in the room, what was said in the room");
        assert_eq!(find(&world, who, &there, "party").await, [""; 0], "and in no other");
    }
    let mut found = find(&world, "ada", &direct, "party").await;
    found.sort();
    assert_eq!(found, ["hers", "secret"]);
    assert_eq!(find(&world, "bob", &bobs, "party").await, ["his"]);
}

async fn the_words_of_neighbours_and_days_count(world: World) {
    let here = world.room().await;
    said(&world, "ada", &here, "a", ("Plan the trip to Porto", "Who comes along?")).await;
    said(&world, "ada", &here, "b", ("Dana and the kids", "OK.")).await;
    for (n, text) in ["milk is sour", "the lamp is broken", "water the plants"].into_iter().enumerate() {
        said(&world, "ada", &here, &format!("c{n}"), (text, "OK.")).await;
    }
    assert_eq!(find(&world, "ada", &here, "who joins the trip to Porto?").await, ["a", "b"]);
    world.clock.advance(chrono::TimeDelta::days(3).to_std().unwrap());
    said(&world, "ada", &here, "d", ("Saw the whale museum", "Nice!")).await;
    assert_eq!(find(&world, "ada", &here, "what did I do on Thursday?").await[0], "d");
    assert_eq!(find(&world, "ada", &here, "what was on 8 January 2026").await[0], "d");
}

async fn a_speaker_and_a_file_are_found_and_no_word_outlives_its_file(world: World) {
    let here = room(&world, "C1").await;
    said(&world, "bob", &here, "his", ("the party is on the roof", "")).await;
    said(&world, "ada", &here, "hers", ("Bob, the party is in the garden", "")).await;
    for (id, text) in [("x", "I see"), ("y", "all right"), ("z", "here you are, signed")] {
        said(&world, "ada", &here, id, (text, "")).await;
    }
    assert_eq!(find(&world, "ada", &here, "what did Bob say about the party?").await[0], "his");
    world
        .by_hand(
            "INSERT INTO inbox (event, conversation_id, person_id, kind, text, state, turn_id, instance, received_at) \
             SELECT 'e', conversation_id, person_id, 'said', text, 'done', id, 'i', 0 FROM turns WHERE id = 'z'",
        )
        .await;
    world
        .by_hand(
            "INSERT INTO attachments (id, person_id, conversation_id, event, number, name, kind, media_type, bytes, content, \
             source, created_at) SELECT 'f', person_id, conversation_id, 'e', 0, 'lease-2026.pdf', 'pdf', 'application/pdf', 1, \
             'notice period of three months', '', 0 FROM turns WHERE id = 'z'",
        )
        .await;
    // As after an upgrade.
    world.by_hand("UPDATE turns SET indexed = 0 WHERE id = 'z'").await;
    for question in ["lease", "which notice period do we have?"] {
        assert_eq!(find(&world, "ada", &here, question).await[0], "z", "{question}");
    }
    let mut batch = Batch::new();
    batch.run("DELETE FROM attachments", []);
    world.store.write(batch).await.unwrap();
    assert_eq!(find(&world, "ada", &here, "lease").await, [""; 0]);
    assert_eq!(find(&world, "ada", &here, "signed").await[0], "z");
}

async fn of_equal_texts_the_newer_comes_first(world: World) {
    let here = world.room().await;
    for id in ["one", "two", "three"] {
        said(&world, "ada", &here, id, ("the code of the gate has changed", "OK.")).await;
        said(&world, "ada", &here, &format!("{id}x"), ("hello", "Hello.")).await;
        world.clock.advance(chrono::TimeDelta::days(7).to_std().unwrap());
    }
    let found = find(&world, "ada", &here, "gate code").await;
    assert_eq!(found[..3], ["three", "two", "one"]);
}

async fn every_script_is_found(world: World) {
    let here = world.room().await;
    for (id, text) in [
        ("greek", "Η διεύθυνση του γραφείου είναι Ερμού 5"),
        ("japanese", "会議は東京タワーの近くで行います"),
        ("german", "Das Gartenhausdach muss gestrichen werden"),
        ("russian", "Офис находится в Москве"),
    ] {
        let place = people::conversation(&world.store, "console", id, &here.person_id, true).await.unwrap();
        said(&world, "ada", &place, id, (text, "OK.")).await;
    }
    for (question, found) in [
        ("διευθυνσεις", "greek"),
        ("ΓΡΑΦΕΙΟ", "greek"),
        ("東京", "japanese"),
        ("会議はどこ?", "japanese"),
        ("Gartenhaus", "german"),
        ("москва", "russian"),
    ] {
        assert_eq!(find(&world, "ada", &here, question).await, [found], "{question}");
    }
}

async fn no_word_outlives_its_text(world: World) {
    let here = world.room().await;
    said(&world, "ada", &here, "t1", ("xyzzy is the word", "xyzzy it is")).await;
    assert_eq!(find(&world, "ada", &here, "xyzzy").await, ["t1"]);
    let words = "SELECT count(*) FROM search_words WHERE word = 'xyzzi'";
    assert_eq!(world.store.count(words, &[]).await.unwrap(), 1);
    let empty = "UPDATE turns SET bodies_emptied_at = 1, text = '', answer = '' WHERE id = 't1'";
    world
        .write(|batch| {
            batch.run(empty, []);
        })
        .await
        .unwrap();
    assert_eq!(world.store.count(words, &[]).await.unwrap(), 0);
    said(&world, "ada", &here, "t2", ("xyzzy again", "OK.")).await;
    assert_eq!(find(&world, "ada", &here, "xyzzy").await, ["t2"]);
    known::erase(&world.store, &here.person_id).await.unwrap();
    assert_eq!(world.store.count("SELECT count(*) FROM search_words", &[]).await.unwrap(), 0);
}

/// The same figures on both databases: `cargo bench --bench memory` has those of the whole set.
async fn both_databases_rank_the_same(world: World) {
    let set = remembered::set(7, 240);
    let here = measure::load(&world.store, &set).await;
    let found = measure::ask(&world.store, &here, &set, None).await;
    let recall = measure::recall(&set, &found);
    let order = found.iter().flatten().fold(0_usize, |sum, turn| sum.wrapping_mul(31).wrapping_add(*turn));
    assert_eq!(format!("{}{order}", measure::table(&set, &recall)), FIGURES);
}

/// The share found of each kind, and a digest of everything that was found, in its order.
const FIGURES: &str = "\
Single (40): 1.000
Several (40): 1.000
Day (40): 1.000
Corrected (40): 1.000
OtherWords (40): 0.900
Nothing (40): 0.000
all that was said (200): 0.980
17318203334594452468";
