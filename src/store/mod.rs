//! What the house remembers. Every write is a [`Batch`]: statements as data, made durable together.

pub mod access;
mod backend;
pub mod backups;
mod batch;
pub mod calls;
pub mod check;
mod columns;
mod connections;
pub mod control;
pub mod executions;
pub mod inbox;
pub mod known;
pub mod leases;
pub mod links;
pub mod memories;
pub mod objects;
pub mod outbox;
pub mod people;
pub mod questions;
pub mod queues;
pub mod retention;
pub mod rooms;
pub mod runs;
pub mod schedules;
pub mod space;
pub mod spending;
mod stale;
pub mod tasks;
pub mod turns;
pub mod usage;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{Any, AnyConnection, FromRow};

pub use backend::Backend;
pub use batch::{Batch, Value};
pub use stale::Stale;

use crate::clock::SharedClock;

/// The store: one writer that groups what waits into one commit, and readers beside it.
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
    /// A row was not as this write needs it: the lease is lost, or somebody else was first.
    #[error("the store changed meanwhile: {0}")]
    Stale(Stale),
    /// The database is newer than this program.
    #[error(
        "the store at {url} was last used by a newer adjutant (migration {version}); install that version or restore a backup made before it"
    )]
    Newer {
        /// Where the store is, without its password.
        url: String,
        /// The migration that this program does not know.
        version: i64,
    },
    /// The database can't be opened.
    #[error(
        "the store at {url} can't be opened: {reason}. Check that [store] url is right and that the place is writable"
    )]
    Open {
        /// Where the store should be, without its password.
        url: String,
        /// What the database or the system says.
        reason: String,
    },
    /// The store can't be copied.
    #[error("the store can't be copied to {to}: {reason}")]
    Backup {
        /// Where the copy should be.
        to: String,
        /// What the database or the system says.
        reason: String,
    },
    /// The database refused or failed.
    #[error("the store failed: {0}")]
    Database(#[from] sqlx::Error),
    /// What was read makes no sense.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// The store was closed while a write waited.
    #[error("the store is closing")]
    Closed,
}

impl Store {
    /// Opens the store, makes it if there is none (embedded), and migrates it.
    ///
    /// # Errors
    /// [`StoreError::Open`] or [`StoreError::Newer`], both with the mend.
    pub async fn open(url: &str, clock: SharedClock) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let backend = Backend::from_url(url)?;
        backend.prepare().await?;
        let (writing, reader) = backend.connect().await?;
        let writer = writer::Writer::start(writing, &backend);
        Ok(Self { inner: Arc::new(Inner { backend, reader, writer, clock }) })
    }

    /// Which database, and where.
    pub fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    /// Now, by the house's clock.
    pub fn now(&self) -> i64 {
        self.inner.clock.now_ms()
    }

    /// The house's clock.
    pub fn clock(&self) -> &SharedClock {
        &self.inner.clock
    }

    /// A fresh id.
    pub fn new_id<T: From<String>>(&self) -> T {
        crate::clock::new_id(&*self.inner.clock).into()
    }

    /// Makes a batch durable, whole or not at all. Returns the first column of every returned row.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when a statement that must find its row does not.
    pub async fn write(&self, batch: Batch) -> Result<Vec<Value>, StoreError> {
        self.inner.writer.write(batch).await
    }

    /// Rows of a query with text and number arguments.
    ///
    /// A limit is written `LIMIT $n + 0`: the embedded database plans a statement anew for each value of a
    /// bare parameter there, which costs more than most of our queries.
    pub async fn all<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        let mut query = sqlx::query_as::<Any, T>(sql);
        for argument in arguments {
            query = argument.bind_as(query);
        }
        let read = async |connection: &mut AnyConnection| Ok(query.fetch_all(connection).await?);
        self.inner.reader.with(read).await
    }

    /// The first row of a query.
    pub async fn first<T>(&self, sql: &'static str, arguments: &[Value]) -> Result<Option<T>, StoreError>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        let mut query = sqlx::query_as::<Any, T>(sql);
        for argument in arguments {
            query = argument.bind_as(query);
        }
        let read = async |connection: &mut AnyConnection| Ok(query.fetch_optional(connection).await?);
        self.inner.reader.with(read).await
    }

    /// A number that a query counts.
    pub async fn count(&self, sql: &'static str, arguments: &[Value]) -> Result<i64, StoreError> {
        Ok(self.first::<(i64,)>(sql, arguments).await?.map_or(0, |row| row.0))
    }

    /// Copies the store into a new file while it is in use.
    ///
    /// # Errors
    /// When the file exists already, or the database can't do it.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.inner.backend.backup(to).await
    }

    /// Takes what was deleted out of the database's files too, by writing them anew. To be called only while no
    /// process is at work on the store.
    ///
    /// # Errors
    /// When the database fails; then the files are as they were.
    pub async fn scrub(&self) -> Result<(), StoreError> {
        let scrub = async |connection: &mut AnyConnection| {
            for sql in self.inner.backend.scrub_sql() {
                sqlx::query(*sql).execute(&mut *connection).await?;
            }
            Ok(())
        };
        self.inner.reader.with(scrub).await
    }

    /// Does something small with the database that is no row.
    async fn run(&self, sql: &'static str) -> Result<(), StoreError> {
        let run = async |connection: &mut AnyConnection| {
            sqlx::query(sql).execute(connection).await?;
            Ok(())
        };
        self.inner.reader.with(run).await
    }

    /// Where the embedded store's file lies; none for a server.
    pub fn file(&self) -> Option<PathBuf> {
        self.inner.backend.file()
    }

    /// Waits for the writes that are under way and closes the connections.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        self.inner.reader.close().await;
    }
}
