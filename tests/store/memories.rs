//! Memories, and who can recall them where.

use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::people::{self, Conversation};
use adjutant_store::{Stale, Store};

use crate::world::{World, refused, stale};

on_both!(
    a_memory_is_kept_as_it_was,
    a_private_memory_is_recalled_only_where_nobody_else_reads,
    a_rooms_memory_is_recalled_only_in_its_room,
    a_memory_is_its_persons_alone,
    words_are_found_whatever_their_ending_case_or_accents,
    the_best_match_comes_first,
    no_text_is_an_order_to_the_search,
    very_long_texts_do_no_harm,
    what_is_forgotten_is_not_found,
);

fn memory(id: &str, scope: &str, text: &str) -> MemoryRow {
    MemoryRow {
        id: id.into(),
        kind: "fact".into(),
        scope: scope.into(),
        text: text.into(),
        tags: "[]".into(),
        topic: String::new(),
        created_at: 5,
    }
}

async fn keep(world: &World, here: &Conversation, memory: &MemoryRow) {
    world.write(|batch| memories::insert(batch, &here.person_id, &here.id, memory)).await.unwrap();
}

/// The memories that are found here.
pub(crate) async fn recall(
    store: &Store,
    here: &Conversation,
    text: &str,
    kind: &str,
    limit: usize,
) -> Vec<MemoryRow> {
    let asker = Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors: None, fade: None };
    let found = adjutant_memory::search(store, asker, text, SearchIn::Memories, kind, limit).await.unwrap();
    found.into_iter().filter_map(Found::memory).collect()
}

async fn search(world: &World, here: &Conversation, text: &str) -> Vec<String> {
    let found = recall(&world.store, here, text, "", 9).await;
    found.into_iter().map(|memory| memory.id.to_string()).collect()
}

async fn list(world: &World, here: &Conversation) -> Vec<String> {
    let found = memories::list(&world.store, &here.person_id, here, "", 9).await.unwrap();
    found.into_iter().map(|memory| memory.id.to_string()).collect()
}

/// A shared room in which Ada spoke first.
async fn shared_room(world: &World, place: &str) -> Conversation {
    let ada = world.person("ada").await;
    people::conversation(&world.store, "slack", place, &ada.id, false).await.unwrap()
}

async fn a_memory_is_kept_as_it_was(world: World) {
    let room = world.room().await;
    let tagged = MemoryRow {
        kind: "preference".into(),
        tags: r#"["coffee"]"#.into(),
        topic: "coffe tast".into(),
        ..memory("a", "private", "no sugar")
    };
    keep(&world, &room, &tagged).await;
    keep(&world, &room, &memory("b", "room", "sugar is in the kitchen")).await;
    let all = memories::list(&world.store, &room.person_id, &room, "", 9).await.unwrap();
    assert_eq!(all, [memory("b", "room", "sugar is in the kitchen"), tagged.clone()], "the newest first");
    let found = recall(&world.store, &room, "coffee", "", 9).await;
    assert_eq!(found, std::slice::from_ref(&tagged), "tags are searched too");
    let of_kind = memories::list(&world.store, &room.person_id, &room, "preference", 9).await.unwrap();
    assert_eq!(of_kind, std::slice::from_ref(&tagged));
    let of_kind = recall(&world.store, &room, "sugar", "preference", 9).await;
    assert_eq!(of_kind, std::slice::from_ref(&tagged));
    assert_eq!(recall(&world.store, &room, "sugar", "", 1).await.len(), 1);
    refused(world.write(|batch| memories::insert(batch, &"p".into(), &"c".into(), &tagged)).await);
    let nonsense = memory("c", "public", "x");
    refused(world.write(|batch| memories::insert(batch, &"p".into(), &"c".into(), &nonsense)).await);
}

async fn a_private_memory_is_recalled_only_where_nobody_else_reads(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("a", "private", "Ada's salary is a secret")).await;
    let elsewhere = people::conversation(&world.store, "telegram", "7", &room.person_id, true).await.unwrap();
    for direct in [&room, &elsewhere] {
        assert_eq!(search(&world, direct, "salary").await, ["a"]);
        assert_eq!(list(&world, direct).await, ["a"]);
    }
    let shared = shared_room(&world, "C1").await;
    keep(&world, &shared, &memory("b", "private", "the salary of Bob")).await;
    assert!(search(&world, &shared, "salary").await.is_empty(), "not even where it was said");
    assert!(list(&world, &shared).await.is_empty());

    let bob = world.person("bob").await;
    let now_shared = people::conversation(&world.store, "console", "main", &bob.id, true).await.unwrap();
    assert!(search(&world, &now_shared, "salary").await.is_empty());
    assert!(list(&world, &now_shared).await.is_empty());
}

async fn a_rooms_memory_is_recalled_only_in_its_room(world: World) {
    let (here, there) = (shared_room(&world, "C1").await, shared_room(&world, "C2").await);
    let direct = world.room().await;
    keep(&world, &here, &memory("a", "room", "the launch is on Friday")).await;
    assert_eq!(search(&world, &here, "launch").await, ["a"]);
    assert_eq!(list(&world, &here).await, ["a"]);
    for other in [&there, &direct] {
        assert!(search(&world, other, "launch").await.is_empty());
        assert!(list(&world, other).await.is_empty());
    }
}

async fn a_memory_is_its_persons_alone(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("a", "private", "the safe's code")).await;
    let bob = world.person("bob").await;
    let bobs = people::conversation(&world.store, "console", "bobs", &bob.id, true).await.unwrap();
    assert!(search(&world, &bobs, "safe code").await.is_empty());
    assert!(list(&world, &bobs).await.is_empty());
    assert_eq!(
        stale(world.write(|batch| memories::delete(batch, &bob.id, &"a".into())).await),
        Stale::MemoryGone
    );
    assert_eq!(list(&world, &room).await, ["a"]);
}

async fn words_are_found_whatever_their_ending_case_or_accents(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("bob", "private", "Bob prefers mornings")).await;
    keep(&world, &room, &memory("cafe", "private", "Meets at the Café Zürich in Évian")).await;
    keep(&world, &room, &memory("plain", "private", "The resume lies in the drawer")).await;
    keep(&world, &room, &memory("москва", "private", "Офис в Москве")).await;
    for (query, found) in [
        ("preferring", "bob"),
        ("PREFERRED", "bob"),
        ("morning", "bob"),
        ("morn", "bob"),
        ("What does Bob like?", "bob"),
        ("bobby bob", "bob"),
        ("cafe", "cafe"),
        ("café", "cafe"),
        ("cafe\u{301}", "cafe"),
        ("zurich", "cafe"),
        ("EVIAN", "cafe"),
        ("résumé", "plain"),
        ("re\u{301}sume\u{301}s", "plain"),
        ("москве", "москва"),
        ("ОФИС", "москва"),
    ] {
        assert_eq!(search(&world, &room, query).await, [found], "{query}");
    }
    for query in ["lunch", "ob", "the of in", "refers"] {
        assert!(search(&world, &room, query).await.is_empty(), "{query}");
    }
}

async fn the_best_match_comes_first(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("one", "private", "the budget is tight this year")).await;
    keep(&world, &room, &memory("both", "private", "the budget report is late")).await;
    keep(&world, &room, &memory("none", "private", "milk is sour")).await;
    assert_eq!(search(&world, &room, "budget report").await, ["both", "one"]);
}

async fn no_text_is_an_order_to_the_search(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("a", "private", "near and or not")).await;
    for hostile in [
        "\" OR * ( ) NEAR '",
        "near\" OR text:*",
        "a AND b NOT c NEAR(x y, 3)",
        "tags: near ^ - +",
        "'; DROP TABLE memories; --",
        "' | !near & <-> \\ :* \\'",
        "near:*:A",
        "\0 \u{202e} \u{fffd}",
        "%_%",
        "",
    ] {
        let found = search(&world, &room, hostile).await;
        assert!(found.is_empty() || found == ["a"], "{hostile}");
    }
    assert_eq!(search(&world, &room, "\" OR * ( ) NEAR '").await, ["a"]);
    assert_eq!(list(&world, &room).await, ["a"]);
}

async fn very_long_texts_do_no_harm(world: World) {
    let room = world.room().await;
    let many = (0..200_000).map(|n| format!("w{n} ")).collect::<String>();
    for (id, text) in [("long", "x".repeat(1 << 20)), ("many", many.clone())] {
        keep(&world, &room, &memory(id, "private", &text)).await;
        let kept = memories::list(&world.store, &room.person_id, &room, "", 1).await.unwrap();
        assert!(kept[0].text == text, "{id}");
    }
    assert_eq!(search(&world, &room, "w17").await, ["many"]);
    assert!(search(&world, &room, &"x".repeat(5000)).await.is_empty());
    assert_eq!(search(&world, &room, &many).await, ["many"]);
    assert!(search(&world, &room, &"🙂é".repeat(1 << 18)).await.is_empty());
}

async fn what_is_forgotten_is_not_found(world: World) {
    let room = world.room().await;
    keep(&world, &room, &memory("a", "private", "the office is in Lyon")).await;
    keep(&world, &room, &memory("b", "private", "the office is in Paris")).await;
    world.write(|batch| memories::delete(batch, &room.person_id, &"a".into())).await.unwrap();
    assert_eq!(search(&world, &room, "office Lyon").await, ["b"]);
    assert!(search(&world, &room, "Lyon").await.is_empty());
    stale(world.write(|batch| memories::delete(batch, &room.person_id, &"a".into())).await);
}
