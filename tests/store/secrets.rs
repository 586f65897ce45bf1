//! Sealed texts: who may change one, and who renews it.

use std::time::Duration;

use adjutant_store::secrets::{self, SecretRow};
use adjutant_store::{Batch, Stale, Store};
use adjutant_types::InstanceId;

use crate::world::{World, stale};

on_both!(
    a_newer_secret_is_not_lost_to_an_older_one,
    one_of_two_instances_renews_a_secret,
    a_lock_ends_by_itself,
    sealing_anew_changes_neither_version_nor_lock,
    what_another_key_sealed_is_found,
);

async fn get(world: &World, name: &str) -> SecretRow {
    secrets::get(&world.store, name).await.unwrap().expect("the secret is there")
}

async fn lock(store: &Store, version: i64, by: &str) -> bool {
    let until = store.now() + 30_000;
    secrets::lock(store, "account/a1", version, &InstanceId::from(by), until).await.unwrap()
}

async fn a_newer_secret_is_not_lost_to_an_older_one(world: World) {
    assert_eq!(secrets::get(&world.store, "oauth/todo").await.unwrap(), None);
    world.write(|batch| secrets::add(batch, "oauth/todo", "1.aa.first")).await.unwrap();
    let again = world.write(|batch| secrets::add(batch, "oauth/todo", "1.aa.again")).await;
    assert_eq!(stale(again), Stale::SecretChanged);
    let first = get(&world, "oauth/todo").await;
    assert_eq!(first, SecretRow { sealed: "1.aa.first".into(), version: 1, locked_until: 0 });
    world.write(|batch| secrets::expect_version(batch, "oauth/todo", 1)).await.unwrap();
    let replace = async |sealed: &str| {
        world.write(|batch| secrets::replace(batch, "oauth/todo", sealed, first.version)).await
    };
    replace("1.aa.second").await.unwrap();
    assert_eq!(stale(replace("1.aa.late").await), Stale::SecretChanged);
    let expects = world.write(|batch| secrets::expect_version(batch, "oauth/todo", 1)).await;
    assert_eq!(stale(expects), Stale::SecretChanged);
    // A new login comes while somebody renews the old one.
    let old = get(&world, "oauth/todo").await.version;
    world.write(|batch| secrets::put(batch, "oauth/todo", "1.aa.new")).await.unwrap();
    let late = world.write(|batch| secrets::replace(batch, "oauth/todo", "1.aa.old", old)).await;
    assert_eq!(stale(late), Stale::SecretChanged);
    assert_eq!(get(&world, "oauth/todo").await.sealed, "1.aa.new");
    world.write(|batch| secrets::delete(batch, "oauth/todo")).await.unwrap();
    assert_eq!(secrets::count(&world.store).await.unwrap(), 0);
}

async fn one_of_two_instances_renews_a_secret(world: World) {
    world.write(|batch| secrets::put(batch, "account/a1", "1.aa.x")).await.unwrap();
    let other = world.another().await;
    let (one, another) = tokio::join!(lock(&world.store, 1, "i1"), lock(&other, 1, "i2"));
    assert!(one != another);
    let (holder, loser) = if one { ("i1", "i2") } else { ("i2", "i1") };
    world.write(|batch| secrets::unlock(batch, "account/a1", &loser.into())).await.unwrap();
    assert!(!lock(&world.store, 1, loser).await, "nobody frees another's lock");
    world.write(|batch| secrets::replace(batch, "account/a1", "1.aa.y", 1)).await.unwrap();
    assert!(!lock(&world.store, 1, loser).await, "it was renewed: what was read before is used up");
    assert!(lock(&world.store, 2, loser).await, "the new one is free");
    world.write(|batch| secrets::unlock(batch, "account/a1", &loser.into())).await.unwrap();
    assert!(lock(&world.store, 2, holder).await);
    assert!(!lock(&world.store, 9, "i3").await);
    other.close().await;
}

async fn a_lock_ends_by_itself(world: World) {
    world.write(|batch| secrets::put(batch, "account/a1", "1.aa.x")).await.unwrap();
    assert!(lock(&world.store, 1, "dead").await);
    world.clock.advance(Duration::from_secs(29));
    assert!(!lock(&world.store, 1, "i1").await);
    world.clock.advance(Duration::from_secs(1));
    assert!(lock(&world.store, 1, "i1").await);
    // Who was taken for dead comes back: the version tells who was first.
    world.write(|batch| secrets::replace(batch, "account/a1", "1.aa.dead", 1)).await.unwrap();
    let late = world.write(|batch| secrets::replace(batch, "account/a1", "1.aa.i1", 1)).await;
    assert_eq!(stale(late), Stale::SecretChanged);
}

async fn sealing_anew_changes_neither_version_nor_lock(world: World) {
    world.write(|batch| secrets::put(batch, "account/a1", "1.aa.x")).await.unwrap();
    assert!(lock(&world.store, 1, "i1").await);
    let before = get(&world, "account/a1").await;
    world.write(|batch| secrets::reseal(batch, "account/a1", "1.bb.x", 1)).await.unwrap();
    assert_eq!(get(&world, "account/a1").await, SecretRow { sealed: "1.bb.x".into(), ..before });
    world.write(|batch| secrets::replace(batch, "account/a1", "1.aa.y", 1)).await.unwrap();
    let late = world.write(|batch| secrets::reseal(batch, "account/a1", "1.bb.x", 1)).await;
    assert_eq!(stale(late), Stale::SecretChanged, "the renewed one isn't lost");
}

async fn what_another_key_sealed_is_found(world: World) {
    let add = |batch: &mut Batch| {
        secrets::put(batch, "account/a1", "1.aa11.x.y");
        secrets::put(batch, "account/a2", "1.bb22.x.y");
        secrets::put(batch, "mcp/files", "1.aa1.x.y");
        secrets::put(batch, "key/salt", "c2FsdA");
    };
    world.write(add).await.unwrap();
    let others = async |key: &str| secrets::names_not_sealed_with(&world.store, key).await.unwrap();
    assert_eq!(others("aa11").await, ["account/a2", "mcp/files"]);
    assert_eq!(others("none").await, ["account/a1", "account/a2", "mcp/files"]);
    assert_eq!(secrets::count(&world.store).await.unwrap(), 3);
}
