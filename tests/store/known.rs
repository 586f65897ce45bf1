//! Everything known about a person.

use std::collections::BTreeSet;

use adjutant_store::Stale;
use adjutant_store::calls;
use adjutant_store::executions;
use adjutant_store::room_rules::{self, RoomRule};
use adjutant_store::{Batch, Store, check, connected, known, people, turns};
use adjutant_types::{ExecutionStatus, TurnStatus};

use crate::calls::{call, tool_call};
use crate::connected::account;
use crate::outbox::say_in_turn;
use crate::world::{World, execution, stale};

on_both!(
    every_table_that_may_hold_something_is_known,
    who_is_meant_is_found_by_id_account_and_name,
    nothing_of_somebody_is_left_and_all_of_others_is,
    who_they_were_before_is_forgotten_too,
    no_sealed_text_is_left_or_exported,
    a_room_forgets_whom_it_listens_to,
    a_room_is_listed_once,
);

async fn every_table_that_may_hold_something_is_known(world: World) {
    let sql = if world.is_embedded() {
        "SELECT DISTINCT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' \
         AND (c.name IN ('person_id', 'conversation_id', 'turn_id', 'execution_id', 'user_id') \
         OR m.name IN ('people', 'conversations'))"
    } else {
        "SELECT DISTINCT CAST(table_name AS TEXT) FROM information_schema.columns WHERE table_schema = 'public' \
         AND (column_name IN ('person_id', 'conversation_id', 'turn_id', 'execution_id', 'user_id') \
         OR table_name IN ('people', 'conversations'))"
    };
    let rows: Vec<(String,)> = world.store.all(sql, &[]).await.unwrap();
    let there: BTreeSet<String> = rows.into_iter().map(|row| row.0).collect();
    assert!(there.len() >= 16, "{there:?}");
    let known: BTreeSet<String> = known::tables().map(str::to_owned).collect();
    let missing: Vec<_> = there.difference(&known).collect();
    assert!(missing.is_empty(), "`store/known.rs` leaves out {missing:?}");
}

async fn who_is_meant_is_found_by_id_account_and_name(world: World) {
    let ada = world.person("ada").await;
    let other = people::person(&world.store, "work", "7", "ada").await.unwrap();
    let ids = async |who: &str| {
        let found = known::find_people(&world.store, who, 5).await.unwrap();
        found.into_iter().map(|person| person.id).collect::<Vec<_>>()
    };
    for who in [ada.id.as_str(), "console:ada"] {
        assert_eq!(ids(who).await, std::slice::from_ref(&ada.id), "{who}");
    }
    assert_eq!(ids("work:7").await, std::slice::from_ref(&other.id));
    assert_eq!(ids("ada").await, [ada.id, other.id]);
    assert_eq!(ids("nobody").await, [""; 0]);
}

/// Ada's turn, with a secret in each text, and Bob's memory.
async fn fill(world: &World) {
    let room = world.room().await;
    let row = world.said("m1", "xyzzy said", "i").await;
    world.turn("t1", "i", &[row]).await;
    world.execution(execution("t1", "o1", "orchestrator")).await;
    let bob = world.person("bob").await;
    world
        .write(|batch| {
            calls::insert(batch, &call("o1", 0, 1));
            calls::insert_tool_call(batch, &tool_call("o1", 0, 0, Some("xyzzy result")));
            for (id, person, text) in [("k1", &room.person_id, "xyzzy memory"), ("k2", &bob.id, "bob memory")] {
                batch.run(
                    "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
                     VALUES ($1, $2, 'private', $3, 'fact', $4, '', 1)",
                    [id.into(), person.into(), (&room.id).into(), text.into()],
                );
            }
        })
        .await
        .unwrap();
    say_in_turn(world, "xyzzy answer", "i", Some("t1")).await;
    world
        .write(|batch| {
            executions::close_all(batch, &"t1".into(), ExecutionStatus::Completed, 9);
            turns::end(batch, &"t1".into(), TurnStatus::Completed, "xyzzy answer", 9);
        })
        .await
        .unwrap();
}

async fn rows(store: &Store, table: &'static str) -> i64 {
    store.count(table, &[]).await.unwrap()
}

async fn nothing_of_somebody_is_left_and_all_of_others_is(world: World) {
    fill(&world).await;
    let ada = world.person("ada").await;
    let all = known::export(&world.store, &ada.id).await.unwrap();
    assert_eq!(all["people"][0]["name"], "ada");
    assert_eq!(all["turns"][0]["answer"], "xyzzy answer");
    assert_eq!(all["tool_calls"][0]["result"], "xyzzy result");
    assert_eq!(all["calls"][0]["cost_usd"], 0.5);
    assert_eq!(all["memories"].as_array().unwrap().len(), 1, "Bob's is Bob's");
    assert_eq!(all["accounts"][0]["user_id"], "ada");

    known::erase(&world.store, &ada.id).await.unwrap();
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
    for table in [
        "SELECT count(*) FROM turns",
        "SELECT count(*) FROM inbox",
        "SELECT count(*) FROM outbox",
        "SELECT count(*) FROM executions",
        "SELECT count(*) FROM calls",
        "SELECT count(*) FROM conversations",
    ] {
        assert_eq!(rows(&world.store, table).await, 0, "{table}");
    }
    assert_eq!(rows(&world.store, "SELECT count(*) FROM people").await, 1);
    assert_eq!(rows(&world.store, "SELECT count(*) FROM memories").await, 1);
    assert_eq!(stale(known::erase(&world.store, &ada.id).await), Stale::PersonGone);
    world.store.close().await;
    for entry in std::fs::read_dir(world.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(5).any(|found| found == b"xyzzy"), "{} keeps it", path.display());
        }
    }
}

async fn who_they_were_before_is_forgotten_too(world: World) {
    fill(&world).await;
    let (ada, bob) = (world.person("ada").await, world.person("bob").await);
    // As if Ada's account were linked to Bob's.
    for sql in [
        "UPDATE accounts SET person_id = $1 WHERE person_id = $2",
        "UPDATE memories SET person_id = $1 WHERE person_id = $2",
        "UPDATE conversations SET person_id = $1 WHERE person_id = $2",
    ] {
        let add = |batch: &mut Batch| {
            batch.run(sql, [(&bob.id).into(), (&ada.id).into()]);
        };
        world.write(add).await.unwrap();
    }
    assert_eq!(known::export(&world.store, &bob.id).await.unwrap()["turns"][0]["id"], "t1");
    known::erase(&world.store, &bob.id).await.unwrap();
    for table in
        ["SELECT count(*) FROM turns", "SELECT count(*) FROM people", "SELECT count(*) FROM memories"]
    {
        assert_eq!(rows(&world.store, table).await, 0, "{table}");
    }
}

async fn no_sealed_text_is_left_or_exported(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    let mut own = ["a1", "a2"].map(|id| account(id, Some(&ada), id));
    own[0].settings = r#"{"imap":"xyzzy host"}"#.into();
    for row in own.iter().chain(&[account("b1", Some(&bob), "b1"), account("g1", None, "sales")]) {
        world.connect(row).await;
    }
    world.write(|batch| connected::add_person(batch, &"g1".into(), &ada)).await.unwrap();
    world.offers("l1", &ada).await;
    let all = known::export(&world.store, &ada).await.unwrap();
    assert_eq!(all["connected_accounts"].as_array().unwrap().len(), 2);
    assert_eq!(all["connected_accounts"][0]["address"], "a1@home.test");
    assert_eq!(all["account_people"][0]["account_id"], "g1");
    assert_eq!(all["logins"][0]["state"], "offered");
    assert!(!all.to_string().contains("xyzzy"), "{all}");
    assert!(!all.to_string().contains("nonce of"), "{all}");

    known::erase(&world.store, &ada).await.unwrap();
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
    for (left, count) in [
        ("SELECT count(*) FROM connected_accounts", 1),
        ("SELECT count(*) FROM secrets", 1),
        ("SELECT count(*) FROM account_people", 0),
        ("SELECT count(*) FROM logins", 0),
    ] {
        assert_eq!(rows(&world.store, left).await, count, "{left}");
    }
}

async fn a_room_forgets_whom_it_listens_to(world: World) {
    let ada = world.person("ada").await;
    let rule = RoomRule { people: Some(vec!["ada".into(), "bob".into()]), ..RoomRule::default() };
    world.write(|batch| room_rules::set(batch, "console", "C1/7", &rule)).await.unwrap();
    assert_eq!(room_rules::of(&world.store, "console", "C1").await.unwrap(), rule);
    assert_eq!(room_rules::of(&world.store, "work", "C1").await.unwrap(), RoomRule::default());
    // It moves twice, and is set anew where it is now.
    world.write(|batch| room_rules::copy(batch, "console", "C1", "C2")).await.unwrap();
    assert_eq!(room_rules::of(&world.store, "console", "C2/7").await.unwrap(), rule);
    world.write(|batch| room_rules::set(batch, "console", "C2", &RoomRule::default())).await.unwrap();
    world.write(|batch| room_rules::copy(batch, "console", "C1", "C2")).await.unwrap();
    assert_eq!(room_rules::of(&world.store, "console", "C2").await.unwrap(), RoomRule::default());
    known::erase(&world.store, &ada.id).await.unwrap();
    let left = room_rules::of(&world.store, "console", "C1/8").await.unwrap();
    assert!(left.admits("bob", true) && !left.admits("ada", true) && !left.admits("bob", false), "{left:?}");
}

async fn a_room_is_listed_once(world: World) {
    for (place, shared) in
        [("C1/17.25", 1_i64), ("C1", 1), ("-5/17", 1), ("-5/18", 1), ("-17", 1), ("alone", 0)]
    {
        let sql = "INSERT INTO conversations (id, channel, place, person_id, shared, created_at) \
             VALUES ($1, 'console', $1, 'ada', $2, 1)";
        let arguments = [place.into(), shared.into()];
        world.write(|batch| _ = batch.run(sql, arguments)).await.unwrap();
    }
    let found = room_rules::rooms(&world.store, 10).await.unwrap();
    let rooms: Vec<&str> = found.iter().map(|(_, _, room)| room.as_str()).collect();
    assert_eq!(rooms, ["-17", "-5", "C1"]);
    assert!(found.iter().all(|(id, _, room)| id.starts_with(room.as_str())), "{found:?}");
    assert_eq!(room_rules::rooms(&world.store, 1).await.unwrap(), found[..1]);
}
