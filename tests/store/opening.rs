//! Opening, migrating and copying a store, and the errors.

use std::path::Path;
use std::process::Command;

use adjutant_fakes::pooler::Pooler;
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::{Backend, Batch, Store, StoreError, sharing};
use adjutant_types::clock::{Clock, FixedClock};
use tempfile::TempDir;

use crate::memories::recall;
use crate::world::{World, block_on, on_postgres, on_sqlite, postgres_url};

on_both!(
    opening_again_changes_nothing,
    a_store_from_a_newer_version_is_refused,
    a_store_with_another_history_is_refused,
    the_clock_is_the_stores,
    a_backup_overwrites_nothing,
);

/// An error as people and logs see it.
async fn why_not(url: &str) -> String {
    match Store::open(url, FixedClock::at("")).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => format!("{error}\n{error:?}"),
    }
}

async fn opening_again_changes_nothing(world: World) {
    world.person("ada").await;
    world.store.close().await;
    for _ in 0..2 {
        let store = world.another().await;
        assert_eq!(store.count("SELECT count(*) FROM people", &[]).await.unwrap(), 1);
        store.close().await;
    }
}

async fn a_store_from_a_newer_version_is_refused(world: World) {
    world.person("ada").await;
    let applied = if world.is_embedded() {
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9001, 'from the future', 1, x'00', 0)"
    } else {
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9001, 'from the future', true, '\\x00', 0)"
    };
    world.by_hand(applied).await;
    let Err(error) = Store::open(&world.url, world.clock.clone()).await else { panic!("it was opened") };
    assert!(matches!(error, StoreError::Newer { version: 9001, .. }), "{error:?}");
    let expected = format!(
        "the store at {} was last used by a newer adjutant (migration 9001); install that version or \
         restore a backup made before it",
        world.store.backend().shown()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(world.store.count("SELECT count(*) FROM people", &[]).await.unwrap(), 1);
}

async fn a_store_with_another_history_is_refused(world: World) {
    world.by_hand("UPDATE _sqlx_migrations SET checksum = checksum || checksum").await;
    let why = why_not(&world.url).await;
    assert!(why.contains("can't be opened") && why.contains("migration 1"), "{why}");
}

async fn the_clock_is_the_stores(world: World) {
    assert_eq!(world.store.now(), world.clock.now_ms());
    assert_eq!(world.store.clock().now_ms(), world.clock.now_ms());
    assert_ne!(world.store.new_id::<String>(), world.store.new_id::<String>());
}

#[test]
fn many_processes_open_a_new_store_at_once_sqlite() {
    let folder = TempDir::new().unwrap();
    for n in 0..5 {
        let url = format!("sqlite://{}/{n}/new.db", folder.path().display());
        block_on(open_at_once(url));
    }
}

#[test]
fn many_processes_open_a_new_store_at_once_postgres() {
    if let Some(url) = postgres_url() {
        block_on(open_at_once(url));
    }
}

async fn open_at_once(url: String) {
    let clock = FixedClock::at("2026-01-05T10:00:00Z");
    let opening: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn({
                let (url, clock) = (url.clone(), clock.clone());
                async move { Store::open(&url, clock).await }
            })
        })
        .collect();
    for store in opening {
        let store = store.await.unwrap().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(store.count("SELECT count(*) FROM turns", &[]).await.unwrap(), 0);
    }
}

#[test]
fn every_path_means_itself() {
    let folder = TempDir::new().unwrap();
    for name in ["plain", "with blank", "per%41cent", "ha#sh", "é🙂", "a&b=c+d", "'quoted'", "Up.Per"] {
        let file = folder.path().join(name).join("store.db");
        block_on(async {
            // As in every URL, a percent sign starts an escape.
            let url = format!("sqlite://{}", file.display().to_string().replace('%', "%25"));
            let store = Store::open(&url, FixedClock::at("")).await.unwrap();
            assert_eq!(store.file().as_deref(), Some(file.as_path()));
            assert_eq!(store.backend().shown(), file.display().to_string());
            store.backup(&file.with_file_name("copy of it.db")).await.unwrap();
        });
        assert!(file.is_file() && file.with_file_name("copy of it.db").is_file(), "{name}");
    }
}

#[test]
fn a_place_that_can_not_be_opened_is_named_with_the_mend() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "this is no database, it is a text of some length, and that is all there is")
        .unwrap();
    let check = "Check that [store] url is right and that the place is writable";
    for (place, fix) in [
        (
            file.clone(),
            "its file isn't a database. Check that [store] url is right; if it is, restore a backup",
        ),
        (file.join("below/store.db"), check),
        (folder.path().to_owned(), check),
    ] {
        let why = block_on(why_not(&format!("sqlite://{}", place.display())));
        let start = format!("the store at {} can't be opened: ", place.display());
        assert!(why.starts_with(&start), "{why}");
        assert!(why.contains(fix), "{why}");
        assert!(!why.contains("timed out"), "the reason is the real one: {why}");
    }
    assert!(block_on(why_not("mysql://localhost/x")).contains("neither sqlite:///PATH nor postgres://"));
    assert!(block_on(why_not("")).contains("neither sqlite:///PATH nor postgres://"));
}

#[test]
fn a_store_that_another_program_holds_is_not_called_misplaced() {
    on_sqlite(async |world: World| {
        let mut other = world.connection().await;
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
        let why = why_not(&world.url).await;
        let place = world.store.backend().shown();
        let expected = format!(
            "the store at {place} can't be opened: another program holds its file. Close what else has it open, and try again\n"
        );
        assert!(why.starts_with(&expected), "{why}");
    });
}

#[test]
fn a_full_disk_is_named() {
    on_sqlite(async |world: World| {
        let mut full = Batch::new();
        full.run("PRAGMA max_page_count = 1", []);
        world.store.write(full).await.unwrap();
        let mut large = Batch::new();
        large.run(
            "INSERT INTO people (id, name, created_at) VALUES ('x', $1, 0)",
            ["x".repeat(1_000_000).into()],
        );
        let why = world.store.write(large).await.unwrap_err().to_string();
        assert_eq!(
            why,
            "the store failed: the disk is full or failing. Free some space; if that doesn't help, look into `dmesg`"
        );
    });
}

#[test]
fn no_password_is_ever_shown() {
    for url in [
        "postgres://ada:hunter2@127.0.0.1:1/db",
        "postgresql://ada:hunter2@127.0.0.1:1/db?sslmode=disable",
        "postgres://127.0.0.1:1/db?user=ada&password=hunter2",
        "postgres://127.0.0.1:1/db?password=x@hunter2",
        "postgres://ada:x@hunter2@127.0.0.1:1/db",
        "postgres://ada:x/hunter2@127.0.0.1:1/db",
        "postgres://ada:x?hunter2@127.0.0.1:1/db",
        "postgres://ada:x#hunter2@127.0.0.1:1/db",
        "postgres://ada:1/hunter2@127.0.0.1:1/db",
        "postgres://ada:hunter2",
        "postgres://ada:hunter2%zz@127.0.0.1:1/db?sslmode=nonsense",
        "postgres://ada:%ffhunter2@127.0.0.1:1/db",
        "postgres://ada:hunter2@[::1/db",
        "mysql://ada:hunter2@127.0.0.1:1/db",
        "host=127.0.0.1 password=hunter2",
    ] {
        let why = block_on(why_not(url));
        assert!(!why.contains("hunter2"), "{url}: {why}");
        assert!(why.contains("can't be opened"), "{url}: {why}");
    }
    let backend =
        Backend::Server { url: "postgres://ada:hunter2@db.example.org:5432/adjutant?sslmode=require".into() };
    assert_eq!(backend.shown(), "postgres://db.example.org:5432/adjutant");
    assert_eq!(format!("{backend:?}"), backend.shown());
    assert_eq!(
        Backend::Server { url: "postgres://ada:hunter2@[::1]/adjutant".into() }.shown(),
        "postgres://[::1]/adjutant"
    );
}

#[test]
fn a_missing_database_is_named() {
    on_postgres(async |world: World| {
        let why = why_not(&world.url.replace("/test_", "/no_such_")).await;
        assert!(why.starts_with("the store at postgres://localhost:5432/no_such_"), "{why}");
        assert!(why.contains("does not exist"), "{why}");
    });
}

/// A memory that a backup must contain, full text included.
async fn remember(world: &World) {
    let room = world.room().await;
    let memory = MemoryRow {
        id: "abc234".into(),
        kind: "fact".into(),
        scope: "private".into(),
        text: "Bob prefers mornings".into(),
        tags: "[]".into(),
        topic: String::new(),
        created_at: 1,
    };
    world.write(|batch| memories::insert(batch, &room.person_id, &room.id, &memory)).await.unwrap();
}

/// Opens a copy and compares it with the original.
async fn compare(world: &World, url: &str) {
    let copy = Store::open(url, world.clock.clone()).await.unwrap();
    let room = world.room().await;
    for store in [&world.store, &copy] {
        let found = recall(store, &room, "morning", "", 9).await;
        assert_eq!(found.len(), 1);
    }
    let rows = "SELECT id, name FROM people WHERE id NOT LIKE 'while-%' ORDER BY id";
    let original: Vec<(String, String)> = world.store.all(rows, &[]).await.unwrap();
    assert_eq!(copy.all::<(String, String)>(rows, &[]).await.unwrap(), original);
    let findings = adjutant_store::check::findings(&copy).await.unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let mut batch = Batch::new();
    batch.run("INSERT INTO people (id, name, created_at) VALUES ('new', 'x', 0)", []);
    copy.write(batch).await.unwrap();
}

/// Backs up while others write.
async fn back_up(world: &World, to: &Path) {
    remember(world).await;
    let store = world.store.clone();
    let writing = tokio::spawn(async move {
        for n in 0..50 {
            let mut batch = Batch::new();
            let id = format!("while-{n}");
            batch.run("INSERT INTO people (id, name, created_at) VALUES ($1, 'x', 0)", [id.into()]);
            store.write(batch).await.unwrap();
        }
    });
    world.store.backup(to).await.unwrap();
    writing.await.unwrap();
}

#[test]
fn a_backup_of_a_file_is_a_store() {
    on_sqlite(async |world: World| {
        let to = world.folder.path().join("it's a copy.db");
        back_up(&world, &to).await;
        compare(&world, &format!("sqlite://{}", to.display())).await;
    });
}

#[test]
fn a_backup_of_a_server_can_be_restored() {
    on_postgres(async |world: World| {
        let to = world.folder.path().join("copy.dump");
        back_up(&world, &to).await;
        let url = postgres_url().unwrap();
        let restored = Command::new("pg_restore").arg("--dbname").arg(&url).arg(&to).output().unwrap();
        assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        compare(&world, &url).await;
    });
}

#[test]
fn a_backup_of_a_server_with_a_password_does_not_show_it() {
    on_postgres(async |world: World| {
        for url in [
            world.url.replace("postgres@", "postgres:hunter2%2B+@"),
            format!("{}&password=hunter2%26", world.url),
        ] {
            let store = Store::open(&url, world.clock.clone()).await.unwrap();
            let to = world.folder.path().join(store.new_id::<String>());
            store.backup(&to).await.unwrap();
            assert!(to.is_file());
            let error = store.backup(Path::new("/no/such/folder/copy")).await.unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    });
}

async fn a_backup_overwrites_nothing(world: World) {
    let to = world.folder.path().join("precious");
    std::fs::write(&to, "precious").unwrap();
    let error = world.store.backup(&to).await.unwrap_err().to_string();
    assert!(error.contains("precious") && error.contains("a backup never overwrites"), "{error}");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "precious");
    let nowhere = world.folder.path().join("no/such/folder");
    let error = world.store.backup(&nowhere).await.unwrap_err();
    assert!(matches!(error, StoreError::Backup { .. }), "{error:?}");
}

#[test]
fn a_pooler_that_keeps_no_sessions_is_refused_and_another_one_is_used() {
    let Some(url) = postgres_url() else { return };
    let Some(pooler) = Pooler::start(&url, "transaction").unwrap() else { return };
    let why = block_on(why_not(pooler.url()));
    assert!(why.contains("is behind a pooler in transaction mode"), "{why}");
    assert!(why.contains("pool_mode = session"), "{why}");
    drop(pooler);
    let pooler = Pooler::start(&url, "session").unwrap().unwrap();
    block_on(async {
        let store = Store::open(pooler.url(), FixedClock::at("")).await.unwrap();
        assert_eq!(store.count("SELECT count(*) FROM people", &[]).await.unwrap(), 0);
        let mut listener = sharing::listen(&store, &"a".into()).await.unwrap().unwrap();
        sharing::tell(&store, &[("a".into(), "something".to_owned())]).await.unwrap();
        assert_eq!(listener.next().await.unwrap(), "something");
        store.close().await;
    });
}
