//! Free space returns to the disk.

use adjutant_store::{Batch, Store, space};
use sqlx::{AnyConnection, Connection, Executor};

use crate::outbox::say;
use crate::world::World;

on_both!(what_was_emptied_is_given_back, a_file_of_old_gives_back_once_it_is_written_anew);

/// Eight megabytes of messages.
async fn fill(world: &World) {
    let text = "xyzzy ".repeat(7_000);
    for _ in 0..200 {
        say(world, &text, "i").await;
    }
}

async fn empty(store: &Store) {
    let mut batch = Batch::new();
    batch.run("UPDATE outbox SET text = ''", []);
    store.write(batch).await.unwrap();
}

async fn what_was_emptied_is_given_back(world: World) {
    fill(&world).await;
    if !world.is_embedded() {
        assert_eq!(
            (space::pages(&world.store).await.unwrap(), space::give_back(&world.store).await.unwrap()),
            (None, 0)
        );
        return;
    }
    assert_eq!(space::give_back(&world.store).await.unwrap(), 0, "nothing is spare");
    let full = space::pages(&world.store).await.unwrap().unwrap();
    assert!(full.gives_back && full.all > 2_000, "{full:?}");
    empty(&world.store).await;
    let emptied = space::pages(&world.store).await.unwrap().unwrap();
    assert_eq!(emptied.all, full.all);
    assert!(emptied.spare() > 1_500, "{emptied:?}");
    let given = space::give_back(&world.store).await.unwrap();
    let after = space::pages(&world.store).await.unwrap().unwrap();
    assert_eq!(after.all, full.all - given);
    assert!(after.all < full.all / 3 && after.spare() == 0, "{full:?} {after:?}");
    // The file itself is small.
    let page = u64::try_from(world.store.count("PRAGMA page_size", &[]).await.unwrap()).unwrap();
    let size = std::fs::metadata(world.store.file().unwrap()).unwrap().len();
    assert_eq!(size, u64::try_from(after.all).unwrap() * page);
    let left = world.store.count("SELECT count(*) FROM outbox", &[]).await.unwrap();
    assert_eq!(left, 200);
    assert_eq!(adjutant_store::check::findings(&world.store).await.unwrap(), []);
}

async fn a_file_of_old_gives_back_once_it_is_written_anew(world: World) {
    if !world.is_embedded() {
        return;
    }
    let file = world.folder.path().join("old.db");
    let mut old = AnyConnection::connect(&format!("sqlite://{}?mode=rwc", file.display())).await.unwrap();
    old.execute("PRAGMA journal_mode = WAL; CREATE TABLE old (x TEXT); DROP TABLE old").await.unwrap();
    old.close().await.unwrap();
    let store = Store::open(&format!("sqlite://{}", file.display()), world.clock.clone()).await.unwrap();
    let world = World { store, ..world };
    fill(&world).await;
    empty(&world.store).await;
    let before = space::pages(&world.store).await.unwrap().unwrap();
    assert!(!before.gives_back && before.spare() > 1_500, "{before:?}");
    assert_eq!(space::give_back(&world.store).await.unwrap(), 0);
    world.store.scrub().await.unwrap();
    let after = space::pages(&world.store).await.unwrap().unwrap();
    assert!(after.gives_back && after.all < before.all / 3, "{before:?} {after:?}");
    fill(&world).await;
    empty(&world.store).await;
    assert!(space::give_back(&world.store).await.unwrap() > 1_500);
}
