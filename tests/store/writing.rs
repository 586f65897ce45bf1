//! Batches and the group commit.

use adjutant_fakes::postgres::counted;
use adjutant_fakes::wire::Wire;
use adjutant_store::Stale;
use adjutant_store::{Batch, Store, StoreError, Value};
use adjutant_types::clock::FixedClock;
use futures::future::join_all;

use crate::world::{World, on_postgres, postgres_url, refused, stale};

on_both!(
    every_kind_of_value_is_read_back,
    a_batch_is_whole_or_absent,
    the_first_statement_that_cannot_go_on_says_why,
    what_a_batch_returns_comes_in_order,
    what_was_answered_is_durable,
    a_batch_that_fails_takes_no_neighbour_along,
    writers_that_cross_do_not_fail,
    two_processes_write_side_by_side,
    closing_waits_for_what_is_under_way,
    a_closed_store_says_so,
);

#[test]
fn a_read_of_a_server_is_one_round_trip() {
    on_postgres(read_through_a_proxy);
}

#[test]
fn a_server_that_dropped_all_connections_is_used_again() {
    on_postgres(dropped_by_the_server);
}

#[test]
fn a_group_that_was_committed_but_whose_reply_is_lost_is_not_committed_again() {
    let Some(url) = postgres_url() else { return };
    let wire = Wire::to(&url).unwrap();
    // On one thread, all batches wait before a writer looks: they are one group.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(wire.url(), FixedClock::at("2026-01-05T10:00:00Z")).await.unwrap();
        store.write(person("a")).await.unwrap();
        wire.lose_reply_to("created_at + 1");
        let add = |_| {
            let mut batch = Batch::new();
            batch.run("UPDATE people SET created_at = created_at + 1 WHERE id = 'a'", []);
            store.write(batch)
        };
        for outcome in join_all((0..20).map(add)).await {
            assert!(matches!(outcome, Err(StoreError::Unknown(_))), "{outcome:?}");
        }
        assert_eq!(store.count("SELECT created_at FROM people", &[]).await.unwrap(), 20);
        add(20).await.unwrap();
        assert_eq!(store.count("SELECT created_at FROM people", &[]).await.unwrap(), 21);
        store.close().await;
    });
}

fn person(id: &str) -> Batch {
    let mut batch = Batch::new();
    batch.run("INSERT INTO people (id, name, created_at) VALUES ($1, 'x', 0)", [id.into()]);
    batch
}

async fn people(store: &Store) -> i64 {
    store.count("SELECT count(*) FROM people", &[]).await.unwrap()
}

/// Starts a task for each batch at the same time; returns the results in order.
async fn all_at_once(batches: Vec<(Store, Batch)>) -> Vec<Result<Vec<Value>, StoreError>> {
    let tasks: Vec<_> = batches
        .into_iter()
        .map(|(store, batch)| tokio::spawn(async move { store.write(batch).await }))
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

#[test]
fn batches_can_be_joined() {
    assert!(Batch::new().is_empty());
    assert!(!Batch::new().append(person("a")).is_empty());
}

#[test]
fn only_numbers_are_numbers() {
    assert_eq!(Value::from(true).as_int(), Some(1));
    assert_eq!(Value::from(Some(7)).as_int(), Some(7));
    assert_eq!(Value::from(None::<i64>).as_int(), None);
    assert_eq!(Value::from("7").as_int(), None);
    assert_eq!(Value::from(7.0).as_int(), None);
}

async fn read_through_a_proxy(world: World) {
    let (url, sent) = counted(&world.url).unwrap();
    let store = Store::open(&url, world.clock).await.unwrap();
    people(&store).await;
    people(&store).await;
    let before = sent.so_far().0;
    for _ in 0..20 {
        people(&store).await;
    }
    assert_eq!(sent.so_far().0 - before, 20);
    store.close().await;
}

async fn dropped_by_the_server(world: World) {
    let store = world.another().await;
    store.write(person("first")).await.unwrap();
    people(&store).await;
    let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    world.store.count(all, &[]).await.unwrap();
    // Whoever meets a dead connection is told; nobody meets one twice.
    let mut failures = 0;
    while store.count("SELECT count(*) FROM people", &[]).await.is_err() {
        failures += 1;
        assert!(failures < 2);
    }
    while store.write(person("second")).await.is_err() {
        failures += 1;
        assert!(failures < 3);
    }
    assert_eq!(people(&store).await, 2);
    store.close().await;
}

async fn every_kind_of_value_is_read_back(world: World) {
    type Row = (String, Option<String>, Option<String>, i64, Option<i64>, Option<i64>, f64);
    world
        .by_hand(
            "CREATE TABLE kinds (a TEXT, b TEXT, c TEXT, d BIGINT, e BIGINT, f BIGINT, g DOUBLE PRECISION)",
        )
        .await;
    world
        .write(|batch| {
            batch.run(
                "INSERT INTO kinds (a, b, c, d, e, f, g) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                [
                    "a".into(),
                    Some("b").into(),
                    None::<&str>.into(),
                    i64::MIN.into(),
                    Some(i64::MAX).into(),
                    None::<i64>.into(),
                    0.1.into(),
                ],
            );
        })
        .await
        .unwrap();
    let row: Option<Row> =
        world.store.first("SELECT a, b, c, d, e, f, g FROM kinds WHERE a = $1", &["a".into()]).await.unwrap();
    assert_eq!(row, Some(("a".into(), Some("b".into()), None, i64::MIN, Some(i64::MAX), None, 0.1)));
    assert_eq!(world.store.count("SELECT count(*) FROM kinds WHERE e > $1", &[0.into()]).await.unwrap(), 1);
    refused(world.store.count("SELECT nothing FROM nowhere", &[]).await);
}

async fn a_batch_is_whole_or_absent(world: World) {
    let mut half = person("a");
    half.append(person("b")).must(Stale::PersonGone, "UPDATE people SET name = 'y' WHERE id = 'z'", []);
    assert_eq!(stale(world.store.write(half).await), Stale::PersonGone);
    let mut twice = person("c");
    twice.append(person("c"));
    refused(world.store.write(twice).await);
    assert_eq!(people(&world.store).await, 0);
    assert!(world.store.write(Batch::new()).await.unwrap().is_empty());
}

async fn the_first_statement_that_cannot_go_on_says_why(world: World) {
    world.store.write(person("a")).await.unwrap();
    const NOBODY: &str = "UPDATE people SET name = 'y' WHERE id = 'z'";
    let mut nobody_first = Batch::new();
    nobody_first.must(Stale::PersonGone, NOBODY, []).append(person("a"));
    assert_eq!(stale(world.store.write(nobody_first).await), Stale::PersonGone);
    let mut written_before = person("b");
    written_before.must(Stale::PersonGone, NOBODY, []).must(Stale::TaskGone, NOBODY, []).append(person("a"));
    assert_eq!(stale(world.store.write(written_before).await), Stale::PersonGone);
    let mut refused_first = person("a");
    refused_first.must(Stale::PersonGone, NOBODY, []);
    refused(world.store.write(refused_first).await);
    assert_eq!(people(&world.store).await, 1);
    world.store.write(person("b")).await.unwrap();
}

async fn what_a_batch_returns_comes_in_order(world: World) {
    let mut batch = Batch::new();
    for n in [30, 10, 20] {
        batch.must_return(
            Stale::PersonGone,
            "INSERT INTO people (id, name, created_at) VALUES ($1, 'x', $2) RETURNING created_at",
            [n.to_string().into(), n.into()],
        );
    }
    batch.returning("SELECT created_at FROM people WHERE id = 'nobody'", []);
    assert_eq!(world.store.write(batch).await.unwrap(), [Value::Int(30), Value::Int(10), Value::Int(20)]);
    let mut batch = person("a");
    batch.must_return(Stale::PersonGone, "SELECT created_at FROM people WHERE id = 'z'", []);
    stale(world.store.write(batch).await);
    assert_eq!(people(&world.store).await, 3);
}

async fn what_was_answered_is_durable(world: World) {
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let store = world.store.clone();
            tokio::spawn(async move {
                for n in 0..10 {
                    let id = format!("{task}.{n}");
                    store.write(person(&id)).await.unwrap();
                    let seen = store.count("SELECT count(*) FROM people WHERE id = $1", &[id.into()]).await;
                    assert_eq!(seen.unwrap(), 1, "reading is not behind writing");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let url = world.url.clone();
    // As after a crash: nothing is closed cleanly.
    drop(world.store);
    let store = Store::open(&url, world.clock.clone()).await.unwrap();
    assert_eq!(people(&store).await, 640);
}

async fn a_batch_that_fails_takes_no_neighbour_along(world: World) {
    let batches = (0..256)
        .map(|n| {
            let mut batch = person(&format!("{n}"));
            match n % 4 {
                1 => drop(batch.must(Stale::PersonGone, "UPDATE people SET name = 'y' WHERE id = 'z'", [])),
                3 => drop(batch.append(person(&format!("{n}")))),
                _ => {}
            }
            (world.store.clone(), batch)
        })
        .collect();
    for (n, outcome) in all_at_once(batches).await.into_iter().enumerate() {
        match n % 4 {
            1 => assert_eq!(stale(outcome), Stale::PersonGone, "batch {n}"),
            3 => drop(refused(outcome)),
            _ => assert!(outcome.is_ok(), "batch {n}: {outcome:?}"),
        }
    }
    assert_eq!(people(&world.store).await, 128);
}

async fn writers_that_cross_do_not_fail(world: World) {
    let other = world.another().await;
    for id in ["a", "b"] {
        world.store.write(person(id)).await.unwrap();
    }
    let add = |batch: &mut Batch, id: &str| {
        batch.must(
            Stale::PersonGone,
            "UPDATE people SET created_at = created_at + 1 WHERE id = $1",
            [id.into()],
        );
    };
    let batches = (0..100)
        .map(|n| {
            let mut batch = Batch::new();
            let order = if n % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
            order.iter().for_each(|id| add(&mut batch, id));
            (if n % 3 == 0 { other.clone() } else { world.store.clone() }, batch)
        })
        .collect();
    for outcome in all_at_once(batches).await {
        outcome.unwrap();
    }
    assert_eq!(world.store.count("SELECT min(created_at) FROM people", &[]).await.unwrap(), 100);
}

async fn two_processes_write_side_by_side(world: World) {
    let stores = [world.another().await, world.another().await];
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let store = stores[task % 2].clone();
            tokio::spawn(async move {
                for n in 0..40 {
                    store.write(person(&format!("{task}.{n}"))).await.unwrap();
                    assert!(people(&store).await > n, "what another process wrote is in nobody's way");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for store in &stores {
        assert_eq!(people(store).await, 320);
    }
}

async fn closing_waits_for_what_is_under_way(world: World) {
    let writes: Vec<_> = (0..400)
        .map(|n| {
            let store = world.store.clone();
            let mut batch = person(&n.to_string());
            if n % 20 == 7 {
                // Its neighbours are then written one by one, which is still going on at the end.
                batch.must(Stale::PersonGone, "UPDATE people SET name = 'y' WHERE id = 'z'", []);
            }
            tokio::spawn(async move { store.write(batch).await })
        })
        .collect();
    world.store.write(person("before")).await.unwrap();
    world.store.close().await;
    let mut written = 1;
    for write in writes {
        match write.await.unwrap() {
            Ok(_) => written += 1,
            Err(StoreError::Closed | StoreError::Stale(Stale::PersonGone)) => {}
            Err(error) => panic!("neither written nor refused: {error}"),
        }
    }
    assert_eq!(people(&world.another().await).await, written);
}

async fn a_closed_store_says_so(world: World) {
    world.store.close().await;
    world.store.close().await;
    let error = world.store.write(person("a")).await.unwrap_err();
    assert_eq!(error.to_string(), "the store is closing");
    assert!(world.store.count("SELECT count(*) FROM people", &[]).await.is_err());
}
