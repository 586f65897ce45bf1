//! Everything durable. Every write is a [`Batch`]: statements as data, committed together.

/// The arguments of a statement.
macro_rules! values {
    ($($value:expr),*) => { [$($crate::Value::from($value)),*] };
}

mod budgets;
mod database;
mod journal;
mod messages;
mod processes;
mod records;
#[cfg(debug_assertions)]
pub mod simulation;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{Any, AnyConnection, FromRow};

pub use budgets::{rate_limits, spending, usage};
pub use database::backend::{Backend, Listener};
pub use database::batch::{Batch, Value};
pub use database::stale::Stale;
pub use database::{backups, check, retention, space};
pub use journal::{asked, calls, changes, context, executions, first_messages, runs, timeline, turns};
pub use messages::{dead, inbox, outbox, questions, queues};
pub use processes::{control, instances, leases, sharing};
pub use records::{
    access, attempts, connected, files, known, links, logins, memories, objects, origins, passkeys, people,
    pins, pushes, room_rules, rooms, rules, schedules, search, secrets, settings, taints, tasks, vectors,
    watches, web,
};

use adjutant_types::clock::SharedClock;

use database::backend::explained;
use database::{batch, connections, writer};

/// The store: writers that group waiting batches into one commit, and separate connections for reading.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    reader: connections::Connections,
    writer: writer::Writer,
    clock: SharedClock,
}

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state that this write is based on has changed: the lease is lost, or another process was first.
    #[error("the store changed meanwhile: {0}")]
    Stale(Stale),
    #[error(
        "the store at {url} was last used by a newer adjutant (migration {version}); install that version or restore a backup made before it"
    )]
    Newer {
        /// The store's location, without its password.
        url: String,
        version: i64,
    },
    /// A pooler stands in between that doesn't keep sessions.
    #[error(
        "the store at {url} is behind a pooler in transaction mode, where locks of a session don't last. Set pool_mode = \
         session there, or connect to the server directly"
    )]
    Pooled { url: String },
    #[error("the store at {url} can't be opened: {reason}")]
    Open { url: String, reason: String },
    #[error("the store can't be copied to {to}: {reason}")]
    Backup { to: String, reason: String },
    #[error("the store failed: {}", explained(.0))]
    Database(#[from] sqlx::Error),
    #[error("the store may have made a write whose reply was lost: {0}")]
    Unknown(String),
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// The store was closed while a write waited.
    #[error("the store is closing")]
    Closed,
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl Store {
    /// Opens and migrates the store; an embedded one is created if necessary.
    pub async fn open(url: &str, clock: SharedClock) -> Result<Self> {
        Self::open_telling(url, clock, |_| ()).await
    }

    /// The same. After a second in which another program holds an embedded store, its location is told.
    pub async fn open_telling(url: &str, clock: SharedClock, tell: fn(&str)) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let backend = Backend::from_url(url)?;
        backend.prepare().await?;
        let (writing, reader) = backend.connect(tell).await?;
        let writer = writer::Writer::start(writing, &backend);
        Ok(Self { inner: Arc::new(Inner { backend, reader, writer, clock }) })
    }

    pub fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    /// Whether several machines may have this store, so that what files contain is kept in it, too.
    pub fn shares_files(&self) -> bool {
        self.inner.backend.file().is_none()
    }

    pub fn now(&self) -> i64 {
        self.inner.clock.now_ms()
    }

    pub fn clock(&self) -> &SharedClock {
        &self.inner.clock
    }

    pub fn new_id<T: From<String>>(&self) -> T {
        adjutant_types::clock::new_id(&*self.inner.clock).into()
    }

    /// Commits a batch, whole or not at all, and returns the first column of each returned row. It is
    /// [`StoreError::Stale`] when a statement that must find a row finds none.
    pub async fn write(&self, batch: Batch) -> Result<Vec<Value>> {
        #[cfg(debug_assertions)]
        if let Some(world) = simulation::world() {
            let mut values = Vec::new();
            for batch in world.instead_of(batch).into_iter().filter(|batch| !batch.is_empty()) {
                values.extend(self.inner.writer.write(batch).await?);
            }
            return Ok(values);
        }
        self.inner.writer.write(batch).await
    }

    /// Commits a batch unless the state it is based on has changed. Returns whether it did.
    pub async fn try_write(&self, batch: Batch) -> Result<bool> {
        match self.write(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::Stale(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Rows of a query with text and number arguments.
    ///
    /// Write a limit as `LIMIT $n + 0`: with a bare parameter, the embedded database plans the statement again for
    /// each value, which costs more than most of our queries.
    pub async fn all<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        #[cfg(debug_assertions)]
        simulation::before_read().await?;
        let query = sqlx::query_as_with::<Any, T, _>(sql, batch::arguments(arguments)?);
        let read = async |connection: &mut AnyConnection| Ok(query.fetch_all(connection).await?);
        self.inner.reader.with(read).await
    }

    pub async fn first<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Option<T>>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        #[cfg(debug_assertions)]
        simulation::before_read().await?;
        let query = sqlx::query_as_with::<Any, T, _>(sql, batch::arguments(arguments)?);
        let read = async |connection: &mut AnyConnection| Ok(query.fetch_optional(connection).await?);
        self.inner.reader.with(read).await
    }

    /// The number that a query returns; 0 without a row.
    pub async fn count(&self, sql: &'static str, arguments: &[Value]) -> Result<i64> {
        Ok(self.value(sql, arguments).await?.unwrap_or(0))
    }

    /// The one column of the first row.
    pub async fn value<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Option<T>>
    where
        (T,): for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        Ok(self.first::<(T,)>(sql, arguments).await?.map(|(value,)| value))
    }

    /// The one column of all rows.
    pub async fn column<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Vec<T>>
    where
        (T,): for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        Ok(self.all::<(T,)>(sql, arguments).await?.into_iter().map(|(value,)| value).collect())
    }

    /// Copies the store into a new file while it is in use.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        self.inner.backend.backup(to).await
    }

    /// Rewrites the database's files, so that nothing of deleted rows is left in them. No process may be using the
    /// store. The files don't change if this fails.
    pub async fn scrub(&self) -> Result<()> {
        let scrub = async |connection: &mut AnyConnection| {
            for sql in self.inner.backend.scrub_sql() {
                sqlx::query(*sql).execute(&mut *connection).await?;
            }
            Ok(())
        };
        self.inner.reader.with(scrub).await
    }

    /// Runs a statement that changes no rows.
    async fn run(&self, sql: &'static str) -> Result<()> {
        let run = async |connection: &mut AnyConnection| {
            sqlx::query(sql).execute(connection).await?;
            Ok(())
        };
        self.inner.reader.with(run).await
    }

    /// The embedded store's file; none for a server.
    pub fn file(&self) -> Option<PathBuf> {
        self.inner.backend.file()
    }

    /// Waits for pending writes and closes the connections.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        self.inner.reader.close().await;
    }

    /// Closes the store; this is written after everything else.
    pub(crate) async fn close_with(&self, last: Batch) -> Result<()> {
        let written = self.inner.writer.finish(&self.inner.backend, &last).await;
        self.close().await;
        written
    }
}
