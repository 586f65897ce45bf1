//! A store per test, and short helpers to fill it.

use std::future::Future;
use std::sync::Arc;

use adjutant_store::Stale;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::inbox::{self, InboxRow, NewRow};
use adjutant_store::leases::Instance;
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Backend, Batch, Store, StoreError};
use adjutant_types::clock::FixedClock;
use adjutant_types::{ExecutionStatus, InboxKind, Taint, TurnStatus};
use sqlx::{AnyConnection, Connection};
use tempfile::TempDir;

/// A store and its clock.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
}

pub(crate) fn on_sqlite<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("adjutant.db");
    let url = format!("sqlite://{}", file.display());
    adjutant_fakes::migrated::copy_to(&file, || async {
        Store::open(&url, FixedClock::at("")).await.unwrap().close().await;
    })
    .unwrap();
    run(test, url, folder);
}

pub(crate) fn on_postgres<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    if let Some(url) = postgres_url() {
        run(test, url, TempDir::new().unwrap());
    }
}

/// A fresh database on the suite's server; none if this machine has no server.
pub(crate) fn postgres_url() -> Option<String> {
    let server = adjutant_fakes::postgres::shared().unwrap_or_else(|error| panic!("{error}"))?;
    Some(server.database().unwrap_or_else(|error| panic!("{error}")))
}

/// Runs a future on its own runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F, url: String, folder: TempDir) {
    block_on(async {
        let clock = FixedClock::at("2026-01-05T10:00:00Z");
        let store = Store::open(&url, clock.clone()).await.unwrap();
        test(World { store, clock, url, folder }).await;
    });
}

impl World {
    /// The same store, opened again as another process would.
    pub(crate) async fn another(&self) -> Store {
        Store::open(&self.url, self.clock.clone()).await.unwrap()
    }

    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.store.backend(), Backend::Embedded { .. })
    }

    /// Changes a row by hand, bypassing the store's functions and foreign keys.
    pub(crate) async fn by_hand(&self, sql: &'static str) {
        let mut connection = self.connection().await;
        let unchained = if self.is_embedded() {
            "PRAGMA foreign_keys = OFF"
        } else {
            "SET session_replication_role = replica"
        };
        sqlx::raw_sql(unchained).execute(&mut connection).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    pub(crate) async fn connection(&self) -> AnyConnection {
        let url = self.url.parse::<sqlx::any::AnyConnectOptions>().unwrap();
        sqlx::ConnectOptions::connect(&url).await.unwrap()
    }

    pub(crate) async fn instance(&self) -> Instance {
        Instance::register(&self.store).await.unwrap()
    }

    pub(crate) async fn person(&self, user: &str) -> Person {
        people::person(&self.store, "console", user, user).await.unwrap()
    }

    pub(crate) async fn room(&self) -> Conversation {
        let ada = self.person("ada").await;
        people::conversation(&self.store, "console", "main", &ada.id, true).await.unwrap()
    }

    /// A message from Ada in her room.
    pub(crate) async fn said(&self, event: &str, text: &str, instance: &str) -> InboxRow {
        self.arrives(InboxKind::Message, event, text, instance).await.expect("the message is new")
    }

    pub(crate) async fn arrives(
        &self,
        kind: InboxKind,
        event: &str,
        text: &str,
        instance: &str,
    ) -> Option<InboxRow> {
        let room = self.room().await;
        let row = NewRow {
            taint: Taint::default(),
            event: format!("console {event}"),
            conversation_id: &room.id,
            person_id: &room.person_id,
            kind,
            text,
            question_id: None,
            instance: &instance.into(),
            voice: None,
            files: Vec::new(),
            mentions: String::new(),
            is_addressed: true,
        };
        inbox::insert(&self.store, &row).await.unwrap()
    }

    /// A turn in Ada's room before it starts.
    pub(crate) async fn new_turn(&self, id: &str, instance: &str) -> TurnRow {
        let room = self.room().await;
        TurnRow {
            text_taint: Taint::default(),
            seq: 0,
            id: id.into(),
            conversation_id: room.id,
            person_id: room.person_id,
            status: TurnStatus::Running,
            text: "what is overdue?".into(),
            answer: None,
            shown_round: -1,
            answers: r#"["m1"]"#.into(),
            instance: instance.into(),
            ending: None,
            budget_from: self.store.now(),
            granted_at: 0,
            failures: 0,
            retry_at: 0,
            background: 0,
            started_at: self.store.now(),
            resumed_at: self.store.now(),
            ended_at: None,
        }
    }

    pub(crate) async fn turn(&self, id: &str, instance: &str, rows: &[InboxRow]) -> TurnRow {
        let turn = self.new_turn(id, instance).await;
        self.write(|batch| turns::start(batch, &turn, rows)).await.unwrap();
        turns::by_id(&self.store, &id.into()).await.unwrap().expect("the turn was started")
    }

    /// A running execution of a turn.
    pub(crate) async fn execution(&self, row: ExecutionRow) {
        let room = self.room().await;
        self.write(|batch| executions::insert(batch, &row, &room.id)).await.unwrap();
    }

    /// Writes a batch that a store function filled.
    pub(crate) async fn write(&self, add: impl FnOnce(&mut Batch)) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        add(&mut batch);
        self.store.write(batch).await.map(|_| ())
    }
}

/// A running execution.
pub(crate) fn execution(turn: &str, id: &str, kind: &str) -> ExecutionRow {
    ExecutionRow {
        status: ExecutionStatus::Running,
        started_at: Some(1),
        ..ExecutionRow::new(id.into(), &turn.into(), kind.parse().unwrap())
    }
}

/// Why a write was stale.
#[track_caller]
pub(crate) fn stale<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> Stale {
    match outcome {
        Err(StoreError::Stale(why)) => why,
        other => panic!("not stale: {other:?}"),
    }
}

/// The database's error for a refused write.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::Database(error)) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}
