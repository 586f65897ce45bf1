//! Leases across processes.

use adjutant_store::Stale;
use adjutant_store::instances;
use adjutant_store::leases::{self, Instance, Lease};
use adjutant_store::{Batch, Store, StoreError};
use adjutant_types::InstanceId;
use futures::FutureExt as _;

use crate::world::{World, on_postgres, on_sqlite, stale};

on_both!(
    a_lane_has_one_holder,
    every_taking_has_a_new_epoch,
    a_lost_lease_changes_nothing,
    a_lease_is_given_back_once_and_by_its_holder,
    who_leaves_frees_everything,
    what_nobody_waits_for_any_more_is_given_back,
    what_the_dead_held_is_free,
    the_living_are_not_taken_for_dead,
    of_many_who_want_a_lane_one_gets_it,
    instances_say_what_they_are_and_how_they_differ,
);

#[test]
fn who_was_taken_for_dead_registers_again_as_what_it_is() {
    on_postgres(taken_for_dead);
}

async fn taken_for_dead(world: World) {
    let (ours, other) = (world.instance().await, world.another().await);
    let settings = [("a".to_owned(), "1".to_owned())].into();
    instances::register(&world.store, &ours, &settings).await.unwrap();
    let living = || async { instances::living(&other).await.unwrap() };
    let before = living().await;
    let mut batch = Batch::new();
    batch.run("DELETE FROM instances WHERE id = $1", [(&ours.id).into()]);
    other.write(batch).await.unwrap();
    assert_eq!(living().await.len(), 0);
    ours.heartbeat(&world.store).await.unwrap();
    let again = living().await;
    let told = |all: &[instances::LivingInstance]| {
        (all[0].host.clone(), all[0].version.clone(), all[0].settings.clone())
    };
    assert_eq!((told(&again), &again[0].settings), (told(&before), &settings));
}

#[test]
fn a_silent_process_on_a_server_is_dead_until_it_wakes() {
    on_postgres(silent_on_a_server);
}

#[test]
fn a_process_whose_session_was_cut_is_seen_again() {
    on_postgres(cut_off_from_a_server);
}

#[test]
fn a_silent_process_with_its_file_lock_lives() {
    on_sqlite(silent_beside_a_file);
}

async fn take(store: &Store, instance: &Instance, name: &str) -> Result<Lease, StoreError> {
    let mut batch = Batch::new();
    instance.take(name, &mut batch);
    Ok(instance.taken(name.to_owned(), &store.write(batch).await?))
}

/// A write under a lease.
async fn rename(store: &Store, lease: &Lease, name: &str) -> Result<(), StoreError> {
    let mut batch = lease.fence(store);
    batch.run("UPDATE people SET name = $1", [name.into()]);
    store.write(batch).await.map(|_| ())
}

async fn name(world: &World) -> String {
    world.store.first::<(String,)>("SELECT name FROM people", &[]).await.unwrap().unwrap().0
}

/// Lets an instance check the others until it finds dead ones: a server takes a moment to notice a lost connection.
pub(crate) async fn find_dead(instance: &Instance, store: &Store) -> Vec<InstanceId> {
    for _ in 0..1000 {
        let dead = instance.heartbeat(store).await.unwrap();
        if !dead.is_empty() {
            return dead;
        }
    }
    panic!("nobody was found dead");
}

async fn a_lane_has_one_holder(world: World) {
    let other = world.another().await;
    let (ours, theirs) = (world.instance().await, Instance::register(&other).await.unwrap());
    let lane = leases::lane(&"c1".into(), 0);
    let lease = take(&world.store, &ours, &lane).await.unwrap();
    assert_eq!((lease.name.as_str(), &lease.instance), ("lane:c1", &ours.id));
    assert_eq!(stale(take(&other, &theirs, &lane).await), Stale::LeaseTaken);
    take(&other, &theirs, &leases::lane(&"c2".into(), 0)).await.unwrap();
}

async fn instances_say_what_they_are_and_how_they_differ(world: World) {
    let other = world.another().await;
    let (ours, theirs) = (world.instance().await, Instance::register(&other).await.unwrap());
    let settings = |all: &[(&str, &str)]| all.iter().map(|(key, is)| ((*key).into(), (*is).into())).collect();
    let (own, others) =
        (settings(&[("a", "1"), ("b", "2"), ("d", "1")]), settings(&[("a", "1"), ("b", "3"), ("c", "4")]));
    assert!(instances::living(&other).await.unwrap().iter().all(|one| one.host.is_empty()));
    instances::register(&world.store, &ours, &own).await.unwrap();
    take(&world.store, &ours, &leases::channel("telegram")).await.unwrap();
    let living = instances::living(&other).await.unwrap();
    let find = |id: &InstanceId| living.iter().find(|one| one.id == *id).unwrap();
    assert_eq!(find(&ours.id).differing(find(&theirs.id)), [""; 0], "an earlier version tells nothing");
    instances::register(&other, &theirs, &others).await.unwrap();
    let living = instances::living(&other).await.unwrap();
    let find = |id: &InstanceId| living.iter().find(|one| one.id == *id).unwrap();
    assert_eq!(find(&ours.id).differing(find(&theirs.id)), ["b", "c", "d"]);
    assert_eq!(
        (find(&ours.id).channels.clone(), find(&theirs.id).channels.len()),
        (vec!["telegram".to_owned()], 0)
    );
    assert!(!find(&ours.id).version.is_empty() && find(&ours.id).turns == 0);
    theirs.leave(&other).await.unwrap();
    assert_eq!(instances::living(&other).await.unwrap().len(), 1);
}

async fn what_nobody_waits_for_any_more_is_given_back(world: World) {
    let other = world.another().await;
    let theirs = Instance::register(&other).await.unwrap();
    for number in 0..20 {
        let taking = theirs.acquire(&other, leases::channel(&number.to_string()));
        assert!(taking.now_or_never().is_none(), "it is on its way");
    }
    theirs.leave_and_close(&other).await.unwrap();
    assert_eq!(leases::held(&world.store).await.unwrap(), []);
}

async fn every_taking_has_a_new_epoch(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let first = take(&world.store, &ours, "lane").await.unwrap();
    let second = take(&world.store, &ours, "lane").await.unwrap();
    world.store.write(second.release()).await.unwrap();
    let third = take(&world.store, &theirs, "lane").await.unwrap();
    assert_eq!([first.epoch, second.epoch, third.epoch], [1, 2, 3]);
}

async fn a_lost_lease_changes_nothing(world: World) {
    world.person("ada").await;
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let lost = take(&world.store, &ours, "lane").await.unwrap();
    rename(&world.store, &lost, "Ada").await.unwrap();
    let again = take(&world.store, &ours, "lane").await.unwrap();
    assert_eq!(stale(rename(&world.store, &lost, "Eve").await), Stale::LeaseLost);
    rename(&world.store, &again, "Ada L.").await.unwrap();
    world.store.write(again.release()).await.unwrap();
    stale(rename(&world.store, &again, "Eve").await);
    let held = take(&world.store, &theirs, "lane").await.unwrap();
    stale(rename(&world.store, &again, "Eve").await);
    stale(rename(&world.store, &Lease { epoch: held.epoch, ..again }, "Eve").await);
    assert_eq!(name(&world).await, "Ada L.");
}

async fn a_lease_is_given_back_once_and_by_its_holder(world: World) {
    world.person("ada").await;
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let lease = take(&world.store, &ours, "lane").await.unwrap();
    let mut last = lease.release();
    last.run("UPDATE people SET name = 'last'", []);
    world.store.write(last).await.unwrap();
    assert_eq!(name(&world).await, "last");
    let mut late = lease.release();
    late.run("UPDATE people SET name = 'late'", []);
    assert_eq!(stale(world.store.write(late).await), Stale::LeaseLost);
    assert_eq!(name(&world).await, "last");
    let held = take(&world.store, &theirs, "lane").await.unwrap();
    stale(world.store.write(lease.release()).await);
    rename(&world.store, &held, "held").await.unwrap();
}

async fn who_leaves_frees_everything(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let lost = take(&world.store, &theirs, "lane 1").await.unwrap();
    take(&world.store, &theirs, "lane 2").await.unwrap();
    theirs.leave(&world.store).await.unwrap();
    take(&world.store, &ours, "lane 1").await.unwrap();
    take(&world.store, &ours, "lane 2").await.unwrap();
    stale(rename(&world.store, &lost, "Eve").await);
    assert!(ours.heartbeat(&world.store).await.unwrap().is_empty(), "who left is not dead but gone");
    assert_eq!(world.store.count("SELECT count(*) FROM instances", &[]).await.unwrap(), 1);
}

async fn what_the_dead_held_is_free(world: World) {
    let other = world.another().await;
    let (ours, theirs) = (world.instance().await, Instance::register(&other).await.unwrap());
    let bystander = world.instance().await;
    take(&world.store, &bystander, "lane 2").await.unwrap();
    let lost = take(&other, &theirs, "lane 1").await.unwrap();
    let id = theirs.id.clone();
    drop(theirs);
    assert_eq!(find_dead(&ours, &world.store).await, [id]);
    assert!(ours.heartbeat(&world.store).await.unwrap().is_empty(), "once is enough");
    let lease = take(&world.store, &ours, "lane 1").await.unwrap();
    assert_eq!(lease.epoch, lost.epoch + 1);
    stale(rename(&other, &lost, "Eve").await);
    stale(take(&world.store, &ours, "lane 2").await);
    if let Some(file) = world.store.file() {
        let locks = std::fs::read_dir(file.with_file_name("adjutant.db.instances")).unwrap();
        assert_eq!(locks.count(), 2, "the dead one's lock is cleared away");
    }
}

async fn the_living_are_not_taken_for_dead(world: World) {
    let other = world.another().await;
    let (ours, theirs) = (world.instance().await, Instance::register(&other).await.unwrap());
    let held = take(&other, &theirs, "lane").await.unwrap();
    for _ in 0..5 {
        assert!(ours.heartbeat(&world.store).await.unwrap().is_empty());
        assert!(theirs.heartbeat(&other).await.unwrap().is_empty());
    }
    rename(&other, &held, "still held").await.unwrap();
}

async fn of_many_who_want_a_lane_one_gets_it(world: World) {
    let other = world.another().await;
    let mut tries = Vec::new();
    for n in 0..8 {
        let store = if n % 2 == 0 { world.store.clone() } else { other.clone() };
        let instance = Instance::register(&store).await.unwrap();
        tries.push(tokio::spawn(async move {
            let lease = take(&store, &instance, "lane").await;
            (lease.is_ok(), instance)
        }));
    }
    let mut held = 0;
    let mut instances = Vec::new();
    for attempt in tries {
        let (got_it, instance) = attempt.await.unwrap();
        held += usize::from(got_it);
        instances.push(instance);
    }
    assert_eq!(held, 1);
}

async fn silent_on_a_server(world: World) {
    world.person("ada").await;
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let lost = take(&world.store, &theirs, "lane").await.unwrap();
    let late = i64::try_from(leases::DEAD_AFTER.as_millis()).unwrap() + 5_000;
    let silence = || [late.into(), (&theirs.id).into()];
    world
        .write(|batch| {
            batch.must(
                Stale::PersonGone,
                "UPDATE instances SET beat_at = beat_at - $1 WHERE id = $2",
                silence(),
            );
        })
        .await
        .unwrap();
    assert_eq!(ours.heartbeat(&world.store).await.unwrap(), std::slice::from_ref(&theirs.id));
    stale(rename(&world.store, &lost, "Eve").await);

    assert!(theirs.heartbeat(&world.store).await.unwrap().is_empty(), "it wakes up");
    assert!(ours.heartbeat(&world.store).await.unwrap().is_empty(), "and lives again");
    let held = take(&world.store, &theirs, "lane").await.unwrap();
    rename(&world.store, &held, "Ada").await.unwrap();
    stale(take(&world.store, &ours, "lane").await);
}

async fn cut_off_from_a_server(world: World) {
    let theirs = world.instance().await;
    world
        .by_hand(
            "SELECT pg_terminate_backend(l.pid, 10000) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
             WHERE l.locktype = 'advisory' AND d.datname = current_database()",
        )
        .await;
    theirs.heartbeat(&world.store).await.unwrap();
    let ours = world.instance().await;
    assert!(ours.heartbeat(&world.store).await.unwrap().is_empty(), "its lock is held again");
    take(&world.store, &theirs, "lane").await.unwrap();
    drop(theirs);
    assert_eq!(find_dead(&ours, &world.store).await.len(), 1);
}

async fn silent_beside_a_file(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    take(&world.store, &theirs, "lane").await.unwrap();
    world.by_hand("UPDATE instances SET beat_at = 0").await;
    assert!(ours.heartbeat(&world.store).await.unwrap().is_empty(), "the lock is the truth, not the clock");
    stale(take(&world.store, &ours, "lane").await);
    drop(theirs);
    assert_eq!(ours.heartbeat(&world.store).await.unwrap().len(), 1, "and the truth is seen at once");
}
