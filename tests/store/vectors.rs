//! Vectors of memories and of what was said: never worse than words, never in the way.

use adjutant_fakes::embeddings::{FakeEmbeddings, Reply};
use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, Found, SearchIn, index};
use adjutant_models::embeddings::Embedder;
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::people::Conversation;
use adjutant_store::{known, vectors};

use crate::remembered::{
    self, KINDS, Kind,
    meanings::{direction, meaning},
    measure,
};
use crate::world::World;

on_both!(
    meaning_is_never_worse_than_words,
    meaning_that_is_nonsense_takes_nothing_away,
    another_model_makes_all_vectors_again,
    a_server_in_trouble_changes_nothing,
    a_text_that_the_model_refuses_is_left_out,
    no_vector_outlives_its_text,
    what_was_read_is_kept_and_never_stale,
    linked_accounts_have_their_vectors_together,
    a_question_counts_as_used,
);

fn vectors_of(server: &FakeEmbeddings, name: &str) -> Vectors {
    Vectors::new(Embedder::new(name, &server.base_url(), Some("sk-secret".into())).unwrap())
}

async fn keep(world: &World, here: &Conversation, texts: &[&str]) {
    for text in texts {
        let memory = MemoryRow {
            id: world.store.new_id(),
            kind: "fact".into(),
            scope: "private".into(),
            text: (*text).into(),
            tags: "[]".into(),
            topic: String::new(),
            created_at: 5,
        };
        world.write(|batch| memories::insert(batch, &here.person_id, &here.id, &memory)).await.unwrap();
    }
    index::catch_up(&world.store, chrono_tz::Tz::UTC, true, usize::MAX).await.unwrap();
}

async fn find(world: &World, here: &Conversation, question: &str, vectors: &Vectors) -> Vec<String> {
    let asker =
        Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors: Some(vectors), fade: None };
    let found =
        adjutant_memory::search(&world.store, asker, question, SearchIn::Memories, "", 10).await.unwrap();
    found.into_iter().filter_map(Found::memory).map(|memory| memory.text).collect()
}

/// How many texts have a vector, and how many wait for one.
async fn counts(world: &World) -> (i64, i64) {
    let model = vectors::wanted(&world.store).await.unwrap().unwrap_or_default();
    vectors::counts(&world.store, &model).await.unwrap()
}

async fn meaning_is_never_worse_than_words(world: World) {
    let set = remembered::set(7, 240);
    let here = measure::load(&world.store, &set).await;
    let words = measure::recall(&set, &measure::ask(&world.store, &here, &set, None).await);
    let server = FakeEmbeddings::start(meaning);
    let vectors = vectors_of(&server, "known");
    assert_eq!(vectors.catch_up(&world.store).await.unwrap(), set.said.len());
    let hybrid = measure::recall(&set, &measure::ask(&world.store, &here, &set, Some(&vectors)).await);
    let table = format!("{}\n{}", measure::table(&set, &words), measure::table(&set, &hybrid));
    for kind in KINDS {
        assert!(hybrid[&kind] >= words[&kind], "{kind:?}\n{table}");
    }
    assert!(hybrid[&Kind::OtherWords] > words[&Kind::OtherWords], "{table}");
    // It is found without any word of the question, and only by those who may see it.
    let near = "Who looks after Dana's teeth?";
    keep(&world, &here, &["Dana's dentist is Dr Weiss"]).await;
    vectors.catch_up(&world.store).await.unwrap();
    assert_eq!(find(&world, &here, near, &vectors).await, ["Dana's dentist is Dr Weiss"]);
    let bob = world.person("bob").await;
    let bobs =
        adjutant_store::people::conversation(&world.store, "console", "bobs", &bob.id, true).await.unwrap();
    keep(&world, &bobs, &["The gate is green"]).await;
    assert_eq!(find(&world, &bobs, near, &vectors).await, [""; 0]);
}

/// Vectors by chance change the order, and push out nothing that has most of a question.
async fn meaning_that_is_nonsense_takes_nothing_away(world: World) {
    let set = remembered::set(11, 360);
    let here = measure::load(&world.store, &set).await;
    let words = measure::recall(&set, &measure::ask(&world.store, &here, &set, None).await);
    let server = FakeEmbeddings::start(|text| direction(text, 64));
    let vectors = vectors_of(&server, "nonsense");
    vectors.catch_up(&world.store).await.unwrap();
    let hybrid = measure::recall(&set, &measure::ask(&world.store, &here, &set, Some(&vectors)).await);
    for kind in [Kind::Single, Kind::Several, Kind::Day, Kind::Corrected] {
        assert!(
            hybrid[&kind] >= words[&kind],
            "{kind:?}\n{}\n{}",
            measure::table(&set, &words),
            measure::table(&set, &hybrid)
        );
    }
}

async fn another_model_makes_all_vectors_again(world: World) {
    let here = world.room().await;
    keep(&world, &here, &["Ada lives in Lyon", "Ada likes tea"]).await;
    let server = FakeEmbeddings::start(meaning);
    let one = vectors_of(&server, "one");
    assert!(one.has_work(&world.store).await.unwrap());
    assert_eq!(one.catch_up(&world.store).await.unwrap(), 2);
    assert!(!one.has_work(&world.store).await.unwrap());
    assert_eq!(vectors_of(&server, "one").catch_up(&world.store).await.unwrap(), 0, "they are there");
    assert_eq!(vectors_of(&server, "two").catch_up(&world.store).await.unwrap(), 2);
    server.always(Some(Reply::Length(32)));
    assert_eq!(vectors_of(&server, "two").catch_up(&world.store).await.unwrap(), 2, "of another length");
    assert_eq!(vectors::wanted(&world.store).await.unwrap().as_deref(), Some("two/32"));
    assert_eq!(counts(&world).await, (2, 0));
    let used = adjutant_store::usage::by_person(&world.store, 0, i64::MAX).await.unwrap();
    assert_eq!((used[0].name.as_str(), used[0].calls, used[0].prompt), ("ada", 3, 6));
    vectors::want(&world.store, None).await.unwrap();
    assert_eq!(world.store.count("SELECT count(*) FROM search_vectors", &[]).await.unwrap(), 0);
    keep(&world, &here, &["Ada has a cat"]).await;
    assert_eq!(world.store.count("SELECT count(*) FROM search_vectors", &[]).await.unwrap(), 0);
}

async fn a_server_in_trouble_changes_nothing(world: World) {
    let here = world.room().await;
    keep(&world, &here, &["Dana's dentist is Dr Weiss", "Dana's boat is blue"]).await;
    let server = FakeEmbeddings::start(meaning);
    let vectors = vectors_of(&server, "known");
    vectors.catch_up(&world.store).await.unwrap();
    keep(&world, &here, &["Bob's boat is red"]).await;
    let asked = "Which boat has Dana?";
    let best = find(&world, &here, asked, &vectors).await;
    assert_eq!(best.len(), 3);
    for trouble in [
        Reply::Status(500, "oops"),
        Reply::Status(401, "wrong key"),
        Reply::NotANumber,
        Reply::TooFew,
        Reply::Length(0),
        Reply::Length(7),
        Reply::Hang,
    ] {
        server.always(Some(trouble.clone()));
        if !matches!(trouble, Reply::Hang) {
            let error = vectors.catch_up(&world.store).await.unwrap_err().to_string();
            assert!(!error.contains("sk-secret"), "{error}");
        }
        assert_eq!(counts(&world).await, (2, 1), "{trouble:?}");
        let before = server.asked().len();
        assert_eq!(find(&world, &here, asked, &vectors).await.len(), 3, "{trouble:?}");
        // After a failure it isn't asked for a while.
        assert_eq!(find(&world, &here, asked, &vectors).await.len(), 3, "{trouble:?}");
        assert_eq!(server.asked().len(), before + 1, "{trouble:?}");
        world.clock.advance(std::time::Duration::from_mins(2));
    }
    server.always(None);
    assert_eq!(vectors.catch_up(&world.store).await.unwrap(), 1);
    drop(server);
    assert_eq!(find(&world, &here, asked, &vectors).await.len(), 3, "nobody is there");
}

async fn a_text_that_the_model_refuses_is_left_out(world: World) {
    let here = world.room().await;
    keep(&world, &here, &["Ada lives in Lyon", "Ada likes tea"]).await;
    let server = FakeEmbeddings::start(meaning);
    let vectors = vectors_of(&server, "known");
    vectors.attempt().await.unwrap();
    let long = || Reply::Status(400, "too long");
    // The trial, both together, and then each alone with a trial after the refusal.
    let fine = || Reply::Length(64);
    server.reply([fine(), long(), fine(), long(), fine()]);
    assert_eq!(vectors.catch_up(&world.store).await.unwrap(), 2);
    assert_eq!(counts(&world).await, (2, 0));
    assert_eq!(
        world.store.count("SELECT count(*) FROM search_vectors WHERE vector = ''", &[]).await.unwrap(),
        1
    );
    // What refuses everything leaves nothing out.
    keep(&world, &here, &["Ada has a cat"]).await;
    server.always(Some(Reply::Status(404, "no such model")));
    assert!(vectors.catch_up(&world.store).await.is_err());
    assert_eq!(counts(&world).await, (2, 1));
}

async fn no_vector_outlives_its_text(world: World) {
    let here = world.room().await;
    keep(&world, &here, &["Ada lives in Lyon", "Ada likes tea"]).await;
    let server = FakeEmbeddings::start(meaning);
    vectors_of(&server, "known").catch_up(&world.store).await.unwrap();
    let lyon = memories::list(&world.store, &here.person_id, &here, "", 9).await.unwrap().pop().unwrap();
    world.write(|batch| memories::delete(batch, &here.person_id, &lyon.id)).await.unwrap();
    assert_eq!(counts(&world).await, (1, 0));
    known::erase(&world.store, &here.person_id).await.unwrap();
    assert_eq!(counts(&world).await, (0, 0));
}

/// 60 texts that mean the same as a question, and one that means nearly the same; none has a word of it.
async fn sixty_and_one(world: &World, here: &Conversation) -> FakeEmbeddings {
    let texts: Vec<String> = (0..60).map(|n| format!("nearest {n}")).collect();
    keep(world, here, &["second"]).await;
    keep(world, here, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    FakeEmbeddings::start(|text| match text {
        "second" => vec![1.0, 0.3],
        _ => vec![1.0, 0.0],
    })
}

async fn what_was_read_is_kept_and_never_stale(world: World) {
    let here = world.room().await;
    let server = sixty_and_one(&world, &here).await;
    let vectors = vectors_of(&server, "known");
    vectors.catch_up(&world.store).await.unwrap();
    let found = find(&world, &here, "elsewhere?", &vectors).await;
    assert!(found.len() == 10 && !found.contains(&"second".to_owned()), "{found:?}");
    // They aren't read again: a change that nobody is told of isn't seen.
    world.by_hand("UPDATE search_vectors SET vector = ''").await;
    assert_eq!(find(&world, &here, "elsewhere?", &vectors).await, found);
    // Those that another process makes are read at once, and none of a text that is gone stands in the way of others.
    keep(&world, &here, &["third"]).await;
    vectors_of(&server, "known").catch_up(&world.store).await.unwrap();
    assert_eq!(find(&world, &here, "elsewhere?", &vectors).await[0], "third");
    world.by_hand("UPDATE search_vectors SET vector = 'fyY=' WHERE vector = ''").await;
    let gone = "DELETE FROM memories WHERE text LIKE 'nearest%'";
    world
        .write(|batch| {
            batch.run(gone, []);
        })
        .await
        .unwrap();
    let mut found = find(&world, &here, "elsewhere?", &vectors).await;
    found.sort();
    assert_eq!(found, ["second", "third"]);
}

async fn linked_accounts_have_their_vectors_together(world: World) {
    let here = world.room().await;
    let other = world.person("ada on the phone").await;
    let there = adjutant_store::people::conversation(&world.store, "telegram", "7", &other.id, true);
    let there = there.await.unwrap();
    keep(&world, &there, &["second"]).await;
    keep(&world, &here, &["first"]).await;
    let server = FakeEmbeddings::start(|_| vec![1.0, 0.0]);
    let vectors = vectors_of(&server, "known");
    vectors.catch_up(&world.store).await.unwrap();
    assert_eq!(find(&world, &here, "elsewhere?", &vectors).await, ["first"]);
    adjutant_store::links::offer(&world.store, "AAAA-AAAA", &here.person_id).await.unwrap();
    assert!(adjutant_store::links::join(&world.store, "AAAA-AAAA", &other.id).await.unwrap());
    // Their words are kept again, by and by, and then their vectors.
    assert_eq!(find(&world, &here, "elsewhere?", &vectors).await, ["first"]);
    vectors.catch_up(&world.store).await.unwrap();
    let mut found = find(&world, &here, "elsewhere?", &vectors).await;
    found.sort();
    assert_eq!(found, ["first", "second"]);
}

async fn a_question_counts_as_used(world: World) {
    let here = world.room().await;
    keep(&world, &here, &["Ada lives in Lyon"]).await;
    let server = FakeEmbeddings::start(meaning);
    let vectors = vectors_of(&server, "known");
    vectors.catch_up(&world.store).await.unwrap();
    let used = async || {
        let used = adjutant_store::usage::by_person(&world.store, 0, i64::MAX).await.unwrap();
        (used[0].calls, used[0].prompt)
    };
    assert_eq!(used().await, (1, 1));
    find(&world, &here, "Where does Ada live?", &vectors).await;
    assert_eq!(used().await, (2, 2));
}
